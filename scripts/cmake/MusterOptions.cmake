# SPDX-License-Identifier: Apache-2.0
# Options, and the interface target muster_flags that every target of the tree links: language, warnings, sanitizers.
option(MUSTER_TESTS "Build the tests" ON)
option(MUSTER_BENCH "Build the benches" ON)
option(MUSTER_FUZZ "Build libFuzzer targets (clang only)" OFF)
option(MUSTER_WERROR "Warnings are errors" ON)
set(MUSTER_CUDA "AUTO" CACHE STRING "CUDA parts: AUTO, ON (required) or OFF")
set(MUSTER_SANITIZE "" CACHE STRING "Comma list for -fsanitize=, e.g. address,undefined or thread")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
# "-O3" would inline cold paths for nothing; kernels ask for -O3 themselves.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")

find_program(MUSTER_CCACHE ccache)
if(MUSTER_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${MUSTER_CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${MUSTER_CCACHE})
endif()

add_library(muster_flags INTERFACE)
target_include_directories(muster_flags INTERFACE ${CMAKE_SOURCE_DIR})
target_compile_options(muster_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wimplicit-fallthrough -Werror=switch -Werror=unused-result
  $<$<CXX_COMPILER_ID:GNU>:-Wnull-dereference>
  $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
if(MUSTER_WERROR)
  target_compile_options(muster_flags INTERFACE -Werror)
endif()
target_compile_definitions(muster_flags INTERFACE _GLIBCXX_ASSERTIONS)
if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT MUSTER_SANITIZE)
  target_compile_options(muster_flags INTERFACE -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()

# Sanitizers apply to everything but Catch2's own main, which takes a minute to instrument and holds none of our code.
if(MUSTER_SANITIZE)
  target_compile_options(muster_flags INTERFACE -fsanitize=${MUSTER_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(muster_flags INTERFACE -fsanitize=${MUSTER_SANITIZE})
  if(MUSTER_SANITIZE MATCHES "undefined")
    target_compile_options(muster_flags INTERFACE -fno-sanitize-recover=undefined)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      # clang 14 cannot assemble coroutines under -fsanitize=function (llvm issue 49689).
      target_compile_options(muster_flags INTERFACE -fno-sanitize=function)
    elseif(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
      # With these GCC compiles for twice as long; the clang build has them on the same code.
      target_compile_options(muster_flags INTERFACE
        -fno-sanitize=null,alignment,object-size,vptr,pointer-overflow)
      # GCC 12 warns of null dereferences that only its own instrumentation introduces.
      target_compile_options(muster_flags INTERFACE -Wno-null-dereference -Wno-maybe-uninitialized)
    endif()
  endif()
  if(MUSTER_SANITIZE MATCHES "thread" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(muster_flags INTERFACE -Wno-tsan)  # atomic_thread_fence inside Asio
  endif()
endif()
if(MUSTER_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "MUSTER_FUZZ needs clang: GCC has no libFuzzer (use the preset clang or fuzz)")
  endif()
  target_compile_options(muster_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

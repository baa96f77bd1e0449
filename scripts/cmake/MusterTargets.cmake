# SPDX-License-Identifier: Apache-2.0
# The few verbs that the CMakeLists.txt of the folders use. Sources are listed by hand: no globbing.
include(CTest)
if(MUSTER_FUZZ)
  file(WRITE ${CMAKE_BINARY_DIR}/fuzz/targets.txt "")
endif()
if(MUSTER_TESTS)
  include(Catch)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  # What the sanitizer stages of scripts/test build: every test that needs no program of ours.
  add_custom_target(unit_tests)
endif()

# muster_library(NAME SOURCES a.cpp ... [DEPS target ...])
function(muster_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  if(arg_SOURCES)
    add_library(${name} STATIC ${arg_SOURCES})
    target_link_libraries(${name} PUBLIC muster_flags ${arg_DEPS})
  else()
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE muster_flags ${arg_DEPS})
  endif()
endfunction()

# muster_binary(NAME SOURCES ... [DEPS ...]): a program in build/<preset>/bin
function(muster_binary name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE muster_flags ${arg_DEPS})
endfunction()

# muster_bench(NAME SOURCES ... [DEPS ...]): a program that scripts/bench runs
function(muster_bench name)
  if(MUSTER_BENCH)
    muster_binary(${name} ${ARGN})
  endif()
endfunction()

# muster_test(NAME SOURCES ... [DEPS ...] [LABEL unit] [TIMEOUT 60] [LOCK name] [PURE]): Catch2 cases, each registered with CTest.
# PURE: code of pure folders alone, and no thread or coroutine in the test (scripts/check_tests). GCC's sanitizer builds do without it:
# TSan has nothing to see there, ASan nothing that clang's does not see.
function(muster_test name)
  cmake_parse_arguments(arg "PURE" "LABEL;TIMEOUT;LOCK" "SOURCES;DEPS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  if(MUSTER_SANITIZE)
    math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 5")  # a deadline against hanging; TSan makes some tests ten times slower
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE muster_flags catch_main Catch2::Catch2 ${arg_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  if(arg_PURE AND MUSTER_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
    return()
  endif()
  set(properties LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
  if(arg_LOCK)
    list(APPEND properties RESOURCE_LOCK ${arg_LOCK})
  endif()
  catch_discover_tests(${name} TEST_PREFIX "${name}: " PROPERTIES ${properties})
  if(arg_LABEL MATCHES "^(unit|sim)$")
    add_dependencies(unit_tests ${name})
  endif()
endfunction()

# muster_script_test(NAME SCRIPT file [TORCH] [LABEL integration] [TIMEOUT 120] [LOCK name] [ARGS ...]): a Python or shell
# program that exits 0, or 77 after a last line `SKIP: reason`. It finds the programs of this build in MUSTER_BIN_DIR, those of the tests
# in MUSTER_TEST_DIR, the tree in MUSTER_SOURCE_DIR, and tests/support on its PYTHONPATH. Integration and interop tests run
# one at a time (network namespaces, timing of real processes); LOCK is for others that share something. With TORCH the script
# is run by the Python that can import torch, and skipped where there is none.
function(muster_script_test name)
  cmake_parse_arguments(arg "TORCH" "SCRIPT;LABEL;TIMEOUT;LOCK" "ARGS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL integration)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set(command ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPT})
  if(arg_TORCH)
    list(PREPEND command ${Python3_EXECUTABLE} -B ${CMAKE_SOURCE_DIR}/tests/support/with_torch.py)
  elseif(arg_SCRIPT MATCHES "\\.py$")
    list(PREPEND command ${Python3_EXECUTABLE} -B)
  endif()
  add_test(NAME ${name} COMMAND ${command} ${arg_ARGS})
  set(environment MUSTER_BIN_DIR=${CMAKE_BINARY_DIR}/bin MUSTER_TEST_DIR=${CMAKE_BINARY_DIR}/tests
    MUSTER_SOURCE_DIR=${CMAKE_SOURCE_DIR} PYTHONPATH=${CMAKE_SOURCE_DIR}/tests/support PYTHONDONTWRITEBYTECODE=1)
  set_tests_properties(${name} PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT} SKIP_RETURN_CODE 77
    ENVIRONMENT "${environment}")
  if(arg_LABEL MATCHES "^(integration|interop)$")
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
  if(arg_LOCK)
    set_tests_properties(${name} PROPERTIES RESOURCE_LOCK ${arg_LOCK})
  endif()
endfunction()

# muster_fuzz(NAME SOURCE f.cpp CORPUS folder [DEPS ...]): one entry point compiled twice. With MUSTER_FUZZ it is a
# libFuzzer program; always, it is a test that replays the corpus whole and byte by byte.
function(muster_fuzz name)
  cmake_parse_arguments(arg "" "SOURCE;CORPUS" "DEPS" ${ARGN})
  cmake_path(ABSOLUTE_PATH arg_CORPUS BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  set(replay ${name}_replay)
  add_executable(${replay} ${arg_SOURCE} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cpp)
  target_link_libraries(${replay} PRIVATE muster_flags ${arg_DEPS})
  set_target_properties(${replay} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME "${replay}" COMMAND ${replay} ${arg_CORPUS})
  set_tests_properties("${replay}" PROPERTIES LABELS unit TIMEOUT 120)
  add_dependencies(unit_tests ${replay})
  if(MUSTER_FUZZ)
    add_executable(${name} ${arg_SOURCE})
    target_link_libraries(${name} PRIVATE muster_flags ${arg_DEPS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
    # scripts/test reads this list: a target and its corpus on each line.
    file(APPEND ${CMAKE_BINARY_DIR}/fuzz/targets.txt "${name} ${arg_CORPUS}\n")
    if(NOT TARGET fuzzers)
      add_custom_target(fuzzers)
    endif()
    add_dependencies(fuzzers ${name})
  endif()
endfunction()

# SPDX-License-Identifier: Apache-2.0
# The few verbs that the CMakeLists.txt of the folders use. Sources are listed by hand: no globbing.
include(CTest)
include(Catch OPTIONAL RESULT_VARIABLE MUSTER_CATCH_MODULE)

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

# muster_test(NAME SOURCES ... [DEPS ...] [LABEL unit] [TIMEOUT 60]): Catch2 cases, each registered with CTest.
function(muster_test name)
  cmake_parse_arguments(arg "" "LABEL;TIMEOUT" "SOURCES;DEPS" ${ARGN})
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE muster_flags catch_main Catch2::Catch2 ${arg_DEPS})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  catch_discover_tests(${name} TEST_PREFIX "${name}: "
    DISCOVERY_MODE PRE_TEST PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT})
endfunction()

# muster_fuzz(NAME SOURCE f.cpp CORPUS folder [DEPS ...]): one entry point compiled twice. With MUSTER_FUZZ it is a
# libFuzzer program; always, it is a test that replays the corpus whole and byte by byte.
function(muster_fuzz name)
  cmake_parse_arguments(arg "" "SOURCE;CORPUS" "DEPS" ${ARGN})
  set(replay ${name}_replay)
  add_executable(${replay} ${arg_SOURCE} ${CMAKE_SOURCE_DIR}/tests/fuzz/replay_main.cpp)
  target_link_libraries(${replay} PRIVATE muster_flags ${arg_DEPS})
  set_target_properties(${replay} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME "${replay}" COMMAND ${replay} ${arg_CORPUS})
  set_tests_properties("${replay}" PROPERTIES LABELS unit TIMEOUT 120)
  if(MUSTER_FUZZ)
    add_executable(${name} ${arg_SOURCE})
    target_link_libraries(${name} PRIVATE muster_flags ${arg_DEPS})
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
  endif()
endfunction()

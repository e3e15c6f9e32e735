# All tests, and the fuzzers.
#
# A test may say `// labels: concurrent` (in scripts `#`; several with commas), `// timeout: SECONDS`, `//
# slots: N` (it takes the place of N tests among those that run at once; for tests that measure times) and `//
# serial: yes` (no other test at the same time) in comments among its first 20 lines. It exits with 77 when it
# is skipped. Sanitized builds get four times the timeout (default 60 s).
if(BRAID_FUZZ)
    file(GLOB fuzzers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/*_fuzz.c)
    file(GLOB support CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/fuzz/support/*.c)
    add_custom_target(fuzzers)
    foreach(source IN LISTS fuzzers)
        get_filename_component(name ${source} NAME_WE)
        # The disk in memory is for fuzzers of files; the library does not hold the code of programs.
        add_executable(${name} ${source} ${support} ${CMAKE_SOURCE_DIR}/src/io/testing/memory_fs.c
                       ${CMAKE_SOURCE_DIR}/src/cli/frames.c)
        braid_own_code(${name} fuzz)
        braid_program_code(${name})
        target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/fuzz)
        set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
        target_link_libraries(${name} PRIVATE braid_static)
        target_link_options(${name} PRIVATE -fsanitize=fuzzer)
        add_dependencies(fuzzers ${name})
    endforeach()
    return()
endif()
if(NOT BUILD_TESTING)
    return()
endif()

# Environment of every test. Suppressions are for other people's libraries, never for our own files.
# BRAID_SANITIZE in the environment tells a test that times do not count; tests of ops note in BRAID_OP_ROWS
# what they ran (src/ops/testing/op_rows.h).
set(BRAID_OP_ROWS_DIR ${CMAKE_BINARY_DIR}/op_rows)
file(MAKE_DIRECTORY ${BRAID_OP_ROWS_DIR})
set(asan_options "detect_stack_use_after_return=1:allocator_may_return_null=1")
set(BRAID_TEST_ENV
    "BRAID_OP_ROWS=${BRAID_OP_ROWS_DIR}"
    "BRAID_SANITIZE=${BRAID_SANITIZE}"
    "UBSAN_OPTIONS=print_stacktrace=1"
    "ASAN_OPTIONS=${asan_options}"
    "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tools/lsan.supp:print_suppressions=0"
    "TSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tools/tsan.supp:second_deadlock_stack=1:ignore_noninstrumented_modules=1:allocator_may_return_null=1")
if(BRAID_SANITIZE MATCHES "thread")
    list(APPEND BRAID_TEST_ENV "OMP_NUM_THREADS=1")
endif()

# The value of a marker comment `// KEY: VALUE` among the first 10 lines of a file.
function(braid_marker source key out)
    file(STRINGS ${source} lines LIMIT_COUNT 20)
    set(value "")
    foreach(line IN LISTS lines)
        if(line MATCHES "^(//|#) ${key}: *(.*)$")
            set(value "${CMAKE_MATCH_2}")
        endif()
    endforeach()
    set(${out} "${value}" PARENT_SCOPE)
endfunction()

# The programs of the tests that are labelled so, and all programs of Braid.
add_custom_target(concurrent)
get_property(targets DIRECTORY ${CMAKE_SOURCE_DIR} PROPERTY BUILDSYSTEM_TARGETS)
foreach(target IN LISTS targets)
    get_target_property(type ${target} TYPE)
    if(type MATCHES "^(EXECUTABLE|SHARED_LIBRARY|MODULE_LIBRARY)$") # CTest's own targets run tests
        add_dependencies(concurrent ${target})
    endif()
endforeach()

# braid_test_properties(TEST SOURCE [PROGRAM])
function(braid_test_properties test source)
    braid_marker(${source} labels labels)
    string(REGEX REPLACE " *, *" ";" labels "${labels}")
    if(ARGN AND "concurrent" IN_LIST labels)
        add_dependencies(concurrent ${ARGN})
    endif()
    braid_marker(${source} timeout timeout)
    if(NOT timeout)
        set(timeout 60)
    endif()
    if(BRAID_SANITIZE)
        math(EXPR timeout "${timeout} * 4")
    endif()
    braid_marker(${source} slots slots)
    if(NOT slots)
        set(slots 1)
    endif()
    braid_marker(${source} serial serial)
    # Long tests begin first (CTest knows their times only where they ran before): those that would find no
    # place among others, those with a long timeout, those of programs, and then those of single modules.
    math(EXPR cost "${timeout} * ${slots} * ${slots}")
    if(source MATCHES "^${CMAKE_SOURCE_DIR}/tests/")
        math(EXPR cost "${cost} + 30")
    endif()
    set_tests_properties(${test} PROPERTIES COST ${cost} PROCESSORS ${slots}
        SKIP_RETURN_CODE 77 TIMEOUT ${timeout} LABELS "${labels}" ENVIRONMENT "${BRAID_TEST_ENV}")
    if(serial)
        set_tests_properties(${test} PROPERTIES RUN_SERIAL ON)
    endif()
endfunction()

# What tests of sanitized code link instead of the archives of all modules, from the ops on.
if(BRAID_SHARED_TESTS)
    get_property(built GLOBAL PROPERTY BRAID_BUILT)
    set(objects)
    foreach(module IN LISTS built)
        get_property(module_objects GLOBAL PROPERTY BRAID_OBJECTS_${module})
        list(APPEND objects ${module_objects})
    endforeach()
    braid_module_libs(cli libs)
    add_library(braid_modules SHARED ${objects})
    target_link_libraries(braid_modules PRIVATE ${libs})
    set_target_properties(braid_modules PROPERTIES
        OUTPUT_NAME bd_modules LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/modules LINKER_LANGUAGE C)
endif()

# A cmocka program from `source` (and ARGN), linked with `module` and those below.
function(braid_add_test target test module source)
    add_executable(${target} ${source} ${ARGN})
    braid_own_code(${target} test)
    braid_program_code(${target})
    target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/examples/common)
    target_compile_definitions(${target} PRIVATE
        BD_SOURCE_DIR="${CMAKE_SOURCE_DIR}" BD_TEST_DATA_DIR="${CMAKE_SOURCE_DIR}/tests/data"
        BD_BIN_DIR="${CMAKE_RUNTIME_OUTPUT_DIRECTORY}" BD_OP_ROWS_DIR="${BRAID_OP_ROWS_DIR}")
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${BRAID_TEST_DIR} LINKER_LANGUAGE C)
    target_link_libraries(${target} PRIVATE PkgConfig::CMOCKA)
    target_link_options(${target} PRIVATE $<$<BOOL:${BRAID_MOLD}>:-fuse-ld=mold>)
    braid_link_modules(${target} ${module} ON)
    add_test(NAME ${test} COMMAND ${target})
    braid_test_properties(${test} ${source} ${target})
    file(STRINGS ${source} own_ops REGEX "^#include \"runtime/testing/test_ops.h\"")
    if(own_ops AND BRAID_SHARED_TESTS)
        # Its table of ops replaces that of the library.
        set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT
                     "ASAN_OPTIONS=${asan_options}:detect_odr_violation=0")
    endif()
endfunction()

get_property(built GLOBAL PROPERTY BRAID_BUILT)
foreach(module IN LISTS BRAID_MODULES)
    get_property(tests GLOBAL PROPERTY BRAID_TESTS_${module})
    foreach(source IN LISTS tests)
        if(module IN_LIST built)
            get_filename_component(name ${source} NAME_WE)
            string(REGEX REPLACE "_test$" "" name ${name})
            # src/ops/math/range_test.c is the test ops.math.range.
            get_filename_component(dir ${source} DIRECTORY)
            file(RELATIVE_PATH dir ${CMAKE_SOURCE_DIR}/src ${dir})
            string(REPLACE "/" "." test ${dir}.${name})
            string(REPLACE "." "_" target ${test}_test)
            braid_add_test(${target} ${test} ${module} ${source})
            if(module STREQUAL ops)
                set_tests_properties(${test} PROPERTIES FIXTURES_SETUP op_rows)
            endif()
        endif()
    endforeach()
endforeach()

# tests/DIR/NAME_test.c, and tests of what the examples share.
file(GLOB cross_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*/*_test.c)
foreach(source IN LISTS cross_tests)
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" name ${name})
    get_filename_component(dir ${source} DIRECTORY)
    get_filename_component(group ${dir} NAME)
    file(GLOB support CONFIGURE_DEPENDS ${dir}/support/*.c)
    braid_add_test(tests_${group}_${name}_test ${group}.${name} cli ${source} ${support})
    if(group STREQUAL runtime) # ops that call functions run only in sessions
        set_tests_properties(${group}.${name} PROPERTIES FIXTURES_SETUP op_rows)
    endif()
endforeach()
# tests/DIR/NAME_test.cc: programs in C++ over the public interface.
file(GLOB cpp_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/*/*_test.cc)
foreach(source IN LISTS cpp_tests)
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" name ${name})
    get_filename_component(dir ${source} DIRECTORY)
    get_filename_component(group ${dir} NAME)
    set(target tests_${group}_${name}_test)
    add_executable(${target} ${source})
    braid_program_code(${target})
    # Not optimized: that takes half the time.
    target_compile_options(${target} PRIVATE -O0 -Wall -Wextra -Wshadow -Wpedantic -Werror)
    target_link_libraries(${target} PRIVATE braid_shared)
    set_target_properties(${target} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${BRAID_TEST_DIR})
    add_test(NAME ${group}.${name} COMMAND ${target})
    braid_test_properties(${group}.${name} ${source} ${target})
endforeach()
# It reads what all tests of ops have noted.
if(TEST graph.op_rows)
    set_tests_properties(graph.op_rows PROPERTIES FIXTURES_REQUIRED op_rows)
endif()
# tests/interop/leveldb_*_test.c compare with LevelDB, where it is installed.
find_path(LEVELDB_INCLUDE_DIR leveldb/table.h)
find_library(LEVELDB_LIBRARY leveldb)
foreach(target tests_interop_leveldb_sstable_test tests_interop_leveldb_checkpoint_test)
    if(TARGET ${target} AND LEVELDB_INCLUDE_DIR AND LEVELDB_LIBRARY)
        target_sources(${target} PRIVATE ${CMAKE_SOURCE_DIR}/tests/interop/leveldb/table.cc)
        target_compile_definitions(${target} PRIVATE BD_HAVE_LEVELDB)
        target_link_libraries(${target} PRIVATE ${LEVELDB_LIBRARY})
        set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
    endif()
endforeach()
file(GLOB example_tests CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/examples/common/*_test.c)
foreach(source IN LISTS example_tests)
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" name ${name})
    braid_add_test(examples_${name}_test examples.${name} train ${source} ${example_common})
    target_link_libraries(examples_${name}_test PRIVATE PkgConfig::ZLIB)
endforeach()

# tests/DIR/NAME_test.{sh,py}: scripts, called with the directory of the programs.
file(GLOB script_tests CONFIGURE_DEPENDS
     ${CMAKE_SOURCE_DIR}/tests/*/*_test.sh ${CMAKE_SOURCE_DIR}/tests/*/*_test.py)
foreach(source IN LISTS script_tests)
    get_filename_component(name ${source} NAME_WE)
    string(REGEX REPLACE "_test$" "" name ${name})
    get_filename_component(dir ${source} DIRECTORY)
    get_filename_component(group ${dir} NAME)
    set(interpreter bash)
    if(source MATCHES "\\.py$")
        set(interpreter /usr/bin/python3) # the one that apt installs libraries for
    endif()
    set(test ${group}.${name})
    add_test(NAME ${test} COMMAND ${interpreter} ${source} ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    braid_test_properties(${test} ${source})
    if(BRAID_PYTHON_PRELOAD AND group STREQUAL "python")
        # Python itself keeps memory until it ends.
        set_property(TEST ${test} APPEND PROPERTY ENVIRONMENT "LD_PRELOAD=${BRAID_PYTHON_PRELOAD}"
                     "ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1")
    endif()
endforeach()

# Sanitizers have no part in what follows.
if(BRAID_SANITIZE)
    return()
endif()

# Every public header compiles alone, as C17 and as C++17.
file(GLOB public_headers RELATIVE ${CMAKE_SOURCE_DIR}/include CONFIGURE_DEPENDS
     ${CMAKE_SOURCE_DIR}/include/braid/*.h ${CMAKE_SOURCE_DIR}/include/braid/*.hpp)
foreach(header IN LISTS public_headers ITEMS braid/locations.h braid/raw_ops.h)
    string(MAKE_C_IDENTIFIER ${header} name)
    string(REGEX REPLACE "^braid_(.*)_h$" "\\1" name ${name})
    set(languages c cpp)
    if(header MATCHES "\\.hpp$")
        set(languages cpp)
    endif()
    foreach(language IN LISTS languages)
        set(file ${BRAID_GENERATED_DIR}/headers/${name}.${language})
        file(CONFIGURE OUTPUT ${file} CONTENT "#include <${header}>\n#include <${header}>\n")
        if(language STREQUAL c)
            set(command ${CMAKE_C_COMPILER} -std=c17 -Wstrict-prototypes)
        else()
            set(command ${CMAKE_CXX_COMPILER} -std=c++17)
        endif()
        add_test(NAME headers.${name}_${language} COMMAND ${command} -Wall -Wextra -Wshadow -Wpedantic -Werror
                 -fsyntax-only -I ${CMAKE_SOURCE_DIR}/include -I ${BRAID_GENERATED_INCLUDE} ${file})
    endforeach()
endforeach()

# The shared library holds the public API, all of it and nothing else.
add_test(NAME library.exports COMMAND ${CMAKE_SOURCE_DIR}/tools/check_exports.sh $<TARGET_FILE:braid_shared>
         WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})

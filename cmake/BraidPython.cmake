# The Python package: python/braid/, and the extension module braid._native of python/native/*.c, which is
# built for the stable ABI. In build/PRESET/python, as Python finds it with that directory in its path.
#
# Left out where Python's headers are missing, and under sanitizers other than gcc's AddressSanitizer, whose
# library the tests give to Python (BRAID_PYTHON_PRELOAD).
pkg_check_modules(PYTHON python3)
if(NOT PYTHON_FOUND)
    return()
endif()
if(BRAID_SANITIZE)
    if(BRAID_FUZZ OR BRAID_SANITIZE MATCHES "thread" OR NOT CMAKE_C_COMPILER_ID STREQUAL "GNU")
        return()
    endif()
    # The C++ library too, because AddressSanitizer looks for the function that throws when Python begins.
    foreach(library IN ITEMS libasan.so libstdc++.so)
        execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=${library} OUTPUT_VARIABLE path
                        OUTPUT_STRIP_TRAILING_WHITESPACE)
        list(APPEND BRAID_PYTHON_PRELOAD ${path})
    endforeach()
    string(REPLACE ";" ":" BRAID_PYTHON_PRELOAD "${BRAID_PYTHON_PRELOAD}")
endif()

set(BRAID_PYTHON_DIR ${CMAKE_BINARY_DIR}/python)
file(GLOB python_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/python/native/*.c)
add_library(braid_python MODULE ${python_sources})
target_compile_options(braid_python PRIVATE ${BRAID_WARNINGS})
target_include_directories(braid_python SYSTEM PRIVATE ${PYTHON_INCLUDE_DIRS})
target_link_libraries(braid_python PRIVATE braid_shared)
add_dependencies(braid_python braid_locations)
set_target_properties(braid_python PROPERTIES PREFIX "" OUTPUT_NAME _native SUFFIX .abi3.so
    LIBRARY_OUTPUT_DIRECTORY ${BRAID_PYTHON_DIR}/braid)

file(GLOB_RECURSE python_modules RELATIVE ${CMAKE_SOURCE_DIR}/python CONFIGURE_DEPENDS
     ${CMAKE_SOURCE_DIR}/python/braid/*.py ${CMAKE_SOURCE_DIR}/python/braid/*.txt)
list(REMOVE_ITEM python_modules braid/tensorflow/_api.py) # of who runs the package from its sources
set(python_copies)
foreach(module IN LISTS python_modules)
    add_custom_command(OUTPUT ${BRAID_PYTHON_DIR}/${module}
        COMMAND ${CMAKE_COMMAND} -E copy ${CMAKE_SOURCE_DIR}/python/${module} ${BRAID_PYTHON_DIR}/${module}
        DEPENDS ${CMAKE_SOURCE_DIR}/python/${module})
    list(APPEND python_copies ${BRAID_PYTHON_DIR}/${module})
endforeach()

# The table of the public names: tf.nn.relu is in python/ops/gen_nn_ops.
list(TRANSFORM python_modules PREPEND ${CMAKE_SOURCE_DIR}/python/ OUTPUT_VARIABLE python_paths)
add_custom_command(OUTPUT ${BRAID_PYTHON_DIR}/braid/tensorflow/_api.py
    COMMAND /usr/bin/python3 -B ${CMAKE_SOURCE_DIR}/tools/python_api.py
            ${CMAKE_SOURCE_DIR}/python/braid/tensorflow ${BRAID_PYTHON_DIR}/braid/tensorflow/_api.py
    DEPENDS ${python_paths} ${CMAKE_SOURCE_DIR}/tools/python_api.py)
list(APPEND python_copies ${BRAID_PYTHON_DIR}/braid/tensorflow/_api.py)

# TensorFlow's messages as descriptors: braid/protos.py makes classes of them.
add_custom_command(OUTPUT ${BRAID_PYTHON_DIR}/braid/protos.binpb
    COMMAND ${PROTOC_C} --descriptor_set_out=${BRAID_PYTHON_DIR}/braid/protos.binpb --include_imports
            -I ${CMAKE_SOURCE_DIR}/src/proto -I ${GOOGLE_PROTO_DIR} ${proto_files}
    DEPENDS ${proto_paths})
list(APPEND python_copies ${BRAID_PYTHON_DIR}/braid/protos.binpb)
add_custom_target(braid_python_modules ALL DEPENDS ${python_copies})

# The module with the ops of TensorFlow's test library too, for tests/tensorflow/run.py. Built when asked for.
set(test_ops_dir ${CMAKE_BINARY_DIR}/tests/tensorflow)
file(GLOB_RECURSE op_files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/ops/*.c)
list(FILTER op_files EXCLUDE REGEX "_test\\.c$|/testing/")
list(APPEND op_files ${CMAKE_SOURCE_DIR}/tests/tensorflow/test_ops.c)
list(JOIN op_files "|" joined_op_files)
add_custom_command(OUTPUT ${test_ops_dir}/op_table.c
    COMMAND ${CMAKE_COMMAND} -E make_directory ${test_ops_dir}
    COMMAND ${CMAKE_COMMAND} -DMACRO=BD_OP "-DFILES=${joined_op_files}"
            -DOUT=${test_ops_dir}/op_table.c -P ${CMAKE_SOURCE_DIR}/cmake/op_table.cmake
    DEPENDS ${op_files} ${CMAKE_SOURCE_DIR}/cmake/op_table.cmake ${CMAKE_SOURCE_DIR}/cmake/table.cmake
    COMMENT "Generating the table of ops with those of TensorFlow's tests" VERBATIM)
add_library(tensorflow_test_ops MODULE EXCLUDE_FROM_ALL ${python_sources} ${test_ops_dir}/op_table.c
            ${CMAKE_SOURCE_DIR}/tests/tensorflow/test_ops.c)
target_compile_options(tensorflow_test_ops PRIVATE ${BRAID_WARNINGS})
target_include_directories(tensorflow_test_ops PRIVATE
    ${CMAKE_SOURCE_DIR}/include ${BRAID_GENERATED_INCLUDE} ${CMAKE_SOURCE_DIR}/src ${BRAID_GENERATED_DIR})
target_include_directories(tensorflow_test_ops SYSTEM PRIVATE ${PYTHON_INCLUDE_DIRS})
add_dependencies(tensorflow_test_ops braid_locations)
braid_link_modules(tensorflow_test_ops train FALSE)
target_link_options(tensorflow_test_ops PRIVATE LINKER:--exclude-libs,ALL)
set_target_properties(tensorflow_test_ops PROPERTIES PREFIX "" OUTPUT_NAME _native SUFFIX .abi3.so
    LIBRARY_OUTPUT_DIRECTORY ${test_ops_dir})

# protobuf-c code from src/proto/**/*.proto (import paths relative to src/proto) into generated/proto, and
# from the google/protobuf files they import.
file(GLOB_RECURSE proto_files RELATIVE ${CMAKE_SOURCE_DIR}/src/proto CONFIGURE_DEPENDS
     ${CMAKE_SOURCE_DIR}/src/proto/*.proto)
if(NOT proto_files)
    return()
endif()

set(google_files google/protobuf/descriptor.proto) # for src/proto/descriptor_pool.c
foreach(file IN LISTS proto_files)
    file(STRINGS ${CMAKE_SOURCE_DIR}/src/proto/${file} imports REGEX "^import +\"google/protobuf/")
    foreach(line IN LISTS imports)
        string(REGEX REPLACE "^import +\"([^\"]+)\".*" "\\1" import "${line}")
        list(APPEND google_files ${import})
    endforeach()
endforeach()
list(REMOVE_DUPLICATES google_files)

set(proto_out ${BRAID_GENERATED_DIR}/proto)
file(MAKE_DIRECTORY ${proto_out})
set(proto_paths)
foreach(file IN LISTS proto_files)
    list(APPEND proto_paths ${CMAKE_SOURCE_DIR}/src/proto/${file})
endforeach()

set(proto_sources)
foreach(file IN LISTS proto_files google_files)
    string(REGEX REPLACE "\\.proto$" ".pb-c" stem ${file})
    add_custom_command(
        OUTPUT ${proto_out}/${stem}.c ${proto_out}/${stem}.h
        COMMAND ${PROTOC_C} --c_out=${proto_out}
                -I ${CMAKE_SOURCE_DIR}/src/proto -I ${GOOGLE_PROTO_DIR} ${file}
        # A field called `base` would be a second member of this name: it is `base_`.
        COMMAND sed -i -E "/ProtobufC/!s/^(  .*) base;/\\1 base_;/" ${proto_out}/${stem}.h
        COMMAND sed -i -E "s/(offsetof\\(\\w+, base)\\)/\\1_)/" ${proto_out}/${stem}.c
        DEPENDS ${proto_paths} # an import may be what changed
        COMMENT "Generating ${stem}" VERBATIM)
    list(APPEND proto_sources ${proto_out}/${stem}.c ${proto_out}/${stem}.h)
endforeach()
# All messages and services with what they import: server reflection describes them to clients, and the ops
# DecodeProtoV2 and EncodeProto find messages in them.
add_custom_command(
    OUTPUT ${BRAID_GENERATED_DIR}/proto_descriptors.c
    COMMAND ${PROTOC_C} --descriptor_set_out=${BRAID_GENERATED_DIR}/proto_descriptors.bin --include_imports
            -I ${CMAKE_SOURCE_DIR}/src/proto -I ${GOOGLE_PROTO_DIR} ${proto_files}
    COMMAND ${CMAKE_COMMAND} -DIN=${BRAID_GENERATED_DIR}/proto_descriptors.bin
            -DOUT=${BRAID_GENERATED_DIR}/proto_descriptors.c -DNAME=bd_proto_descriptors
            -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${proto_paths} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    COMMENT "Generating proto_descriptors.c" VERBATIM)
list(APPEND proto_sources ${BRAID_GENERATED_DIR}/proto_descriptors.c)

add_custom_target(braid_proto_generate DEPENDS ${proto_sources})

add_library(braid_proto_generated OBJECT ${proto_sources})
target_compile_options(braid_proto_generated PRIVATE -w)
target_include_directories(braid_proto_generated PRIVATE ${proto_out})
target_link_libraries(braid_proto_generated PRIVATE PkgConfig::PROTOBUF_C)
set_property(GLOBAL APPEND PROPERTY BRAID_GENERATED_OBJECTS_proto $<TARGET_OBJECTS:braid_proto_generated>)

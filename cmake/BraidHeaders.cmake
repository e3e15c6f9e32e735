# The public headers that the build makes, in generated/include/braid:
#
#   locations.h  macros that note the line of each call that builds, from the other headers (locations.cmake)
#   raw_ops.h    a typed function for each op, from the registry (raw_ops.c, a program)
set(BRAID_GENERATED_INCLUDE ${BRAID_GENERATED_DIR}/include)
file(MAKE_DIRECTORY ${BRAID_GENERATED_INCLUDE}/braid)

file(GLOB public_headers CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/braid/*.h)
list(JOIN public_headers "|" joined)
set(locations ${BRAID_GENERATED_INCLUDE}/braid/locations.h)
add_custom_command(OUTPUT ${locations}
    COMMAND ${CMAKE_COMMAND} "-DFILES=${joined}" -DOUT=${locations} -P
            ${CMAKE_SOURCE_DIR}/cmake/locations.cmake
    COMMAND ${CMAKE_COMMAND} -E touch ${locations}
    DEPENDS ${public_headers} ${CMAKE_SOURCE_DIR}/cmake/locations.cmake
            ${CMAKE_SOURCE_DIR}/cmake/table.cmake
    COMMENT "Generating braid/locations.h" VERBATIM)
add_custom_target(braid_locations ALL DEPENDS ${locations})

# For code that includes braid.h, as programs do. The library's own code includes single headers.
function(braid_program_code target)
    target_include_directories(${target} PRIVATE ${BRAID_GENERATED_INCLUDE})
    add_dependencies(${target} braid_locations)
    if(TARGET braid_raw_ops)
        get_target_property(sources ${target} SOURCES)
        foreach(source IN LISTS sources)
            file(STRINGS ${source} uses REGEX "include <braid/raw_ops.h>")
            if(uses)
                add_dependencies(${target} braid_raw_ops)
            endif()
        endforeach()
    endif()
endfunction()

# After the modules.
function(braid_add_raw_ops_header)
    set(header ${BRAID_GENERATED_INCLUDE}/braid/raw_ops.h)
    add_executable(braid_raw_ops_generator ${CMAKE_SOURCE_DIR}/cmake/raw_ops.c)
    braid_own_code(braid_raw_ops_generator cmake)
    braid_link_modules(braid_raw_ops_generator ops OFF)
    set_target_properties(braid_raw_ops_generator PROPERTIES
        OUTPUT_NAME raw_ops RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/modules LINKER_LANGUAGE C)
    add_custom_command(OUTPUT ${header}
        COMMAND braid_raw_ops_generator ${header}
        DEPENDS braid_raw_ops_generator COMMENT "Generating braid/raw_ops.h" VERBATIM)
    add_custom_target(braid_raw_ops ALL DEPENDS ${header})
endfunction()

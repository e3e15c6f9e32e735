# Tables of what files define: ops (`BD_OP(Name)` in src/ops), training algorithms (`BD_ALGORITHM(name)` in
# src/train/algorithms) and commands of the program (`BD_COMMAND(name)` in src/cli/cmd_*.c), each at the start
# of a line. A new one needs no other place.
function(braid_table module macro pattern script)
    get_property(built GLOBAL PROPERTY BRAID_BUILT)
    if(NOT module IN_LIST built)
        return()
    endif()
    file(GLOB_RECURSE files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${module}/${pattern})
    list(FILTER files EXCLUDE REGEX "_test\\.c$|/testing/")
    set(out ${BRAID_GENERATED_DIR}/${script}.c)
    list(JOIN files "|" joined)
    add_custom_command(
        OUTPUT ${out}
        COMMAND ${CMAKE_COMMAND} -DMACRO=${macro} "-DFILES=${joined}" -DOUT=${out} -P
                ${CMAKE_SOURCE_DIR}/cmake/${script}.cmake
        DEPENDS ${files} ${CMAKE_SOURCE_DIR}/cmake/${script}.cmake ${CMAKE_SOURCE_DIR}/cmake/table.cmake
        COMMENT "Generating ${script}.c" VERBATIM)
    target_sources(braid_${module} PRIVATE ${out})
    set(BRAID_TABLES ${BRAID_TABLES} ${out} PARENT_SCOPE)
endfunction()

braid_table(ops BD_OP "*.c" op_table)
braid_table(train BD_ALGORITHM "algorithms/*.c" algorithm_table)
braid_table(cli BD_COMMAND "cmd_*.c" command_table)

# Everything generated, for tools that only read the sources.
add_custom_target(braid_generated DEPENDS ${BRAID_TABLES})
if(TARGET braid_proto_generate)
    add_dependencies(braid_generated braid_proto_generate)
endif()

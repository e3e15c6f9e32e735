# Writes <braid/locations.h>: for each public function that builds, a macro of its name that notes the line.
#
# A function builds if its first parameter is a graph, a description of a node, or an object that a graph
# owns: one that a building function returns and no function frees or closes. Call: cmake -DFILES="a.h|b.h"
# -DOUT=FILE -P locations.cmake
cmake_policy(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/table.cmake)

# All declarations, "RESULT*NAME(PARAMETERS" without spaces around `*`, one an item.
set(declarations)
set(includes)
string(REPLACE "|" ";" files "${FILES}")
foreach(file IN LISTS files)
    get_filename_component(name "${file}" NAME)
    if(NOT name STREQUAL "braid.h") # it includes this one
        string(APPEND includes "#include <braid/${name}>\n")
    endif()
    file(READ "${file}" text)
    string(REPLACE ";" "@" text "${text}") # no list
    string(REGEX REPLACE "//[^\n]*" "" text "${text}")
    string(REGEX REPLACE "[ \n\t]+" " " text "${text}")
    string(REPLACE "[" "(" text "${text}") # brackets are special in lists
    string(REPLACE "]" ")" text "${text}")
    string(REGEX MATCHALL "BRAID_API [^@{}]*@" found "${text}")
    foreach(declaration IN LISTS found)
        string(REGEX REPLACE " ?\\* ?" "*" declaration "${declaration}")
        list(APPEND declarations "${declaration}")
    endforeach()
endforeach()

set(types braid_graph braid_op_desc)
set(word "(braid_[a-z0-9_]+)")
set(before)
while(NOT types STREQUAL before)
    set(before ${types})
    foreach(declaration IN LISTS declarations)
        if(declaration MATCHES "^BRAID_API ${word}\\*braid_[a-z0-9_]+\\(${word}\\*")
            set(result ${CMAKE_MATCH_1})
            if(CMAKE_MATCH_2 IN_LIST types AND NOT result IN_LIST types AND NOT result STREQUAL "braid_op")
                set(ends ${declarations})
                list(FILTER ends INCLUDE REGEX "_(free|close|finish)\\(${result}\\*")
                if(NOT ends)
                    list(APPEND types ${result})
                endif()
            endif()
        endif()
    endforeach()
endwhile()

set(text)
string(APPEND text
"// The line of each call that builds, for errors. Generated from the headers; see braid_here in graph.h.
//
// Each macro notes the line before its function gets its first argument. Define BRAID_NO_LOCATIONS to have
// functions alone. A pointer to a function is taken as usual. C++ programs have braid.hpp instead.
#ifndef BRAID_LOCATIONS_H
#define BRAID_LOCATIONS_H

// Macros come after the declarations.
${includes}
#if !defined(__cplusplus) && !defined(BRAID_NO_LOCATIONS)
#define BRAID_HERE(argument) (braid_here(__FILE__, __LINE__), (argument))
")
set(names)
foreach(declaration IN LISTS declarations)
    if(declaration MATCHES "^BRAID_API [^(]*[ *](braid_[a-z0-9_]+)\\((braid_[a-z0-9_]+)\\*([^,]*)(,?)")
        set(name ${CMAKE_MATCH_1})
        set(type ${CMAKE_MATCH_2})
        set(comma "${CMAKE_MATCH_4}")
        if(type IN_LIST types AND NOT name MATCHES "_free$" AND NOT name IN_LIST names)
            list(APPEND names ${name})
            if(comma)
                string(APPEND text "#define ${name}(a, ...) ${name}(BRAID_HERE(a), __VA_ARGS__)\n")
            else()
                string(APPEND text "#define ${name}(a) ${name}(BRAID_HERE(a))\n")
            endif()
        endif()
    endif()
endforeach()
if(NOT names)
    message(FATAL_ERROR "no building functions in ${FILES}")
endif()
string(APPEND text "#endif\n\n#endif\n")
braid_write("${text}")

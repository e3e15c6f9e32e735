# The page of a task's monitoring (src/cluster/monitoring/page.html) as a part of the program.
set(page ${CMAKE_SOURCE_DIR}/src/cluster/monitoring/page.html)
set(embedded ${BRAID_GENERATED_DIR}/monitoring_page.c)
add_custom_command(
    OUTPUT ${embedded}
    COMMAND ${CMAKE_COMMAND} -DIN=${page} -DOUT=${embedded} -DNAME=bd_monitoring_page
            -P ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${page} ${CMAKE_SOURCE_DIR}/cmake/embed.cmake
    COMMENT "Generating monitoring_page.c" VERBATIM)
add_library(braid_monitoring_page OBJECT ${embedded})
set_property(GLOBAL APPEND PROPERTY BRAID_GENERATED_OBJECTS_cluster $<TARGET_OBJECTS:braid_monitoring_page>)

# What `cmake --install` copies.
include(GNUInstallDirs)
install(TARGETS braid_shared braid_static)
if(TARGET braid_program)
    install(TARGETS braid_program)
endif()
install(DIRECTORY include/braid DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

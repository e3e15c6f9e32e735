# What `cmake --install` copies, by component (each a Debian package): runtime (the shared library),
# development (headers, both libraries, pkg-config file, CMake package), program (braid, the examples,
# manual pages, completion), mpi (the plugin for ranks of mpirun) and python (the Python package).
include(CMakePackageConfigHelpers)
set(packaging ${CMAKE_SOURCE_DIR}/packaging)
set(generated ${BRAID_GENERATED_DIR}/packaging)
set(braid_cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Braid)

# ---- Libraries ----

install(TARGETS braid_shared
    LIBRARY COMPONENT runtime NAMELINK_COMPONENT development)
if(TARGET braid_mpi)
    install(TARGETS braid_mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/braid COMPONENT mpi)
endif()
install(TARGETS braid_static ARCHIVE COMPONENT development)
install(DIRECTORY include/braid ${BRAID_GENERATED_INCLUDE}/braid
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development
        FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")

# What the static library needs: packages by pkg-config's names, and libraries that have no such file.
set(BRAID_REQUIRES_PRIVATE)
set(BRAID_LIBS_PRIVATE)
foreach(lib IN LISTS library_libs)
    if(lib MATCHES "^PkgConfig::(.*)$")
        list(APPEND BRAID_REQUIRES_PRIVATE ${${CMAKE_MATCH_1}_MODULE_NAME})
    elseif(NOT lib MATCHES "::")
        string(REGEX REPLACE "^braid_" "" lib ${lib})
        list(APPEND BRAID_LIBS_PRIVATE ${lib})
    endif()
endforeach()
list(JOIN BRAID_REQUIRES_PRIVATE " " requires_private)
list(TRANSFORM BRAID_LIBS_PRIVATE PREPEND -l OUTPUT_VARIABLE libs_private)
list(JOIN libs_private " " libs_private)
file(RELATIVE_PATH braid_prefix_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${packaging}/braid.pc.in ${generated}/braid.pc @ONLY)
configure_package_config_file(${packaging}/BraidConfig.cmake.in ${generated}/BraidConfig.cmake
    INSTALL_DESTINATION ${braid_cmake_dir} PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR)
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${generated}/BraidConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${generated}/braid.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
install(FILES ${generated}/BraidConfig.cmake ${generated}/BraidConfigVersion.cmake
    DESTINATION ${braid_cmake_dir} COMPONENT development)

# ---- Programs ----

if(TARGET braid_program)
    install(TARGETS braid_program RUNTIME COMPONENT program)
endif()
# Examples have the names of their subjects, which would be in the way in PATH: they lie in a directory of
# their own, where `braid run` finds them. The two that have manual pages are programs like others.
get_property(example_targets GLOBAL PROPERTY BRAID_PROGRAM_TARGETS)
foreach(target IN LISTS example_targets)
    set(directory ${BRAID_EXAMPLES_DIR})
    if(target MATCHES "^example_(mnist_replica|deep_mnist)$")
        set(directory ${CMAKE_INSTALL_BINDIR})
    endif()
    file(RELATIVE_PATH libdir /${directory} /${CMAKE_INSTALL_LIBDIR})
    set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN/${libdir}")
    install(TARGETS ${target} RUNTIME DESTINATION ${directory} COMPONENT program)
endforeach()
file(GLOB man_pages CONFIGURE_DEPENDS ${packaging}/man/*.1)
if(NOT BRAID_PACKAGE) # where they are compressed
    install(FILES ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
endif()
install(FILES ${packaging}/completion/braid.bash RENAME braid
    DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT program)
install(FILES ${packaging}/completion/_braid
    DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT program)
install(FILES ${packaging}/completion/braid.fish
    DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT program)

# ---- Python ----

# Where Debian has the packages of all its versions of Python.
if(TARGET braid_python)
    set(python_dir lib/python3/dist-packages)
    file(RELATIVE_PATH libdir /${python_dir}/braid /${CMAKE_INSTALL_LIBDIR})
    set_target_properties(braid_python PROPERTIES INSTALL_RPATH "$ORIGIN/${libdir}")
    install(TARGETS braid_python LIBRARY DESTINATION ${python_dir}/braid COMPONENT python)
    foreach(file IN LISTS python_copies)
        file(RELATIVE_PATH name ${BRAID_PYTHON_DIR} ${file})
        cmake_path(GET name PARENT_PATH directory)
        install(FILES ${file} DESTINATION ${python_dir}/${directory} COMPONENT python)
    endforeach()
endif()

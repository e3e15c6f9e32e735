# Debian packages by CPack: libbraid0, libbraid-dev, braid, braid-mpi and python3-braid, from the components
# that are installed (`./dev package`).
#
# BRAID_PACKAGE lays the installation out as Debian wants it; it is for this and nothing else.
option(BRAID_PACKAGE "Lay the installation out for Debian packages" OFF)
if(NOT BRAID_PACKAGE)
    return()
endif()
# Who makes the packages, by the variables of Debian's own tools; "invalid" is kept free of addresses.
set(maintainer "Braid developers <developers@braid.invalid>")
if(NOT "$ENV{DEBEMAIL}" STREQUAL "")
    set(maintainer "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
endif()
set(braid_deb_release 1)
set(braid_deb_version ${PROJECT_VERSION}-${braid_deb_release})

if(NOT TARGET braid_mpi)
    message(FATAL_ERROR "The package braid-mpi needs Open MPI (apt install libopenmpi-dev)")
endif()

# The Debian package that holds a file.
function(braid_debian_package file out)
    file(REAL_PATH ${file} real)
    execute_process(COMMAND dpkg-query --search ${file} ${real} OUTPUT_VARIABLE found ERROR_QUIET)
    if(NOT found MATCHES "^([^:,]+)")
        message(FATAL_ERROR "No Debian package holds ${file}")
    endif()
    set(${out} ${CMAKE_MATCH_1} PARENT_SCOPE)
endfunction()

# Who links libbraid.a needs what it stands on.
set(development_depends)
foreach(module IN LISTS BRAID_REQUIRES_PRIVATE ITEMS libmicrohttpd gnutls)
    pkg_get_variable(pc_dir ${module} pcfiledir)
    braid_debian_package(${pc_dir}/${module}.pc package)
    list(APPEND development_depends ${package})
endforeach()
foreach(header ${DNNL_INCLUDE_DIR}/oneapi/dnnl/dnnl.h ${LAPACKE_INCLUDE_DIR}/lapacke.h)
    braid_debian_package(${header} package)
    list(APPEND development_depends ${package})
endforeach()
list(JOIN development_depends ", " development_depends)

# ---- Files that only packages have ----

execute_process(COMMAND date -R -d @$ENV{SOURCE_DATE_EPOCH}
                OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE)
configure_file(${packaging}/deb/changelog.in ${generated}/changelog.Debian @ONLY)
# out: NAME.gz in `generated`, the same bytes each time.
function(braid_gzip source name out)
    set(file ${generated}/${name}.gz)
    execute_process(COMMAND gzip -9n -c ${source} OUTPUT_FILE ${file} COMMAND_ERROR_IS_FATAL ANY)
    set(${out} ${file} PARENT_SCOPE)
endfunction()
braid_gzip(${generated}/changelog.Debian changelog.Debian debian_changelog)
braid_gzip(${CMAKE_SOURCE_DIR}/CHANGELOG.md changelog changelog)
foreach(pair runtime:libbraid0 development:libbraid-dev program:braid mpi:braid-mpi python:python3-braid)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 component)
    list(GET pair 1 name)
    install(FILES ${changelog} ${debian_changelog} ${packaging}/deb/copyright
        DESTINATION share/doc/${name} COMPONENT ${component})
endforeach()
# LAPACK, which is linked statically, wants its licence to come along.
braid_debian_package(${LAPACK_LIBRARY} package)
foreach(pair runtime:libbraid0 program:braid)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 component)
    list(GET pair 1 name)
    install(FILES /usr/share/doc/${package}/copyright RENAME copyright.lapack
        DESTINATION share/doc/${name} COMPONENT ${component})
endforeach()
install(DIRECTORY examples DESTINATION share/doc/libbraid-dev COMPONENT development
    FILES_MATCHING PATTERN "*.[ch]" PATTERN "*_test.c" EXCLUDE)
foreach(page IN LISTS man_pages)
    get_filename_component(name ${page} NAME)
    braid_gzip(${page} ${name} zipped)
    install(FILES ${zipped} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program)
endforeach()
set(archive "\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libbraid.a")
install(CODE "execute_process(COMMAND ${CMAKE_STRIP} --strip-debug --remove-section=.comment \"${archive}\")"
    COMPONENT development)

# ---- The packages ----

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME braid)
set(CPACK_PACKAGE_CONTACT "${maintainer}")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_DEBIAN_PACKAGE_RELEASE ${braid_deb_release})
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL runtime development program mpi python)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${CMAKE_LIBRARY_OUTPUT_DIRECTORY})
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=") # before 1.0 the interface changes

set(about "Braid spreads dataflow graphs over parameter servers and workers and trains\n\
models on them, synchronously or asynchronously. Its servers speak TensorFlow's\n\
own gRPC protocol, so programs written for TensorFlow 1.x can use them as they\n\
are.\n.\n")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libbraid0)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
file(WRITE ${generated}/triggers "activate-noawait ldconfig\n") # CPack adds scripts that call it, too
file(CHMOD ${generated}/triggers PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${generated}/triggers)
set(CPACK_DEBIAN_RUNTIME_DESCRIPTION "distributed TensorFlow graphs in C - shared library\n${about}\
This package has the shared library.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libbraid-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libbraid0 (= ${braid_deb_version}), ${development_depends}")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "distributed TensorFlow graphs in C - development files\n${about}\
This package has the headers, the static library, files for pkg-config and\n\
CMake, and the sources of the example programs.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME braid)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "libbraid0 (= ${braid_deb_version})")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "libcairo2") # plots of braid compare
set(CPACK_DEBIAN_PROGRAM_DESCRIPTION "distributed TensorFlow graphs - servers and launcher\n${about}\
This package has the braid program, which runs and serves clusters, and two\n\
example programs that train on images of digits.")
set(CPACK_DEBIAN_MPI_PACKAGE_NAME braid-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SECTION science)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "libbraid0 (= ${braid_deb_version})")
set(CPACK_DEBIAN_MPI_DESCRIPTION "distributed TensorFlow graphs - tensors by MPI\n${about}\
With this package MPI carries large tensors between the ranks of mpirun.")
set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-braid)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
    "libbraid0 (= ${braid_deb_version}), python3 (>= 3.9), python3-numpy (>= 1:1.24), python3-protobuf (>= 3.21)")
set(CPACK_DEBIAN_PYTHON_DESCRIPTION "distributed TensorFlow graphs - Python interface\n${about}\
This package runs programs written for TensorFlow 1 in Python\n\
(python3 -m braid PROGRAM).")
file(WRITE ${generated}/postinst "#!/bin/sh\nset -e\nif command -v py3compile >/dev/null; then py3compile -p python3-braid; fi\n")
file(WRITE ${generated}/prerm "#!/bin/sh\nset -e\nif command -v py3clean >/dev/null; then py3clean -p python3-braid; fi\n")
file(CHMOD ${generated}/postinst ${generated}/prerm
     PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_PYTHON_PACKAGE_CONTROL_EXTRA "${generated}/postinst;${generated}/prerm")
include(CPack)

# The libraries Braid stands on, and which module needs which.
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
pkg_check_modules(GRPC REQUIRED IMPORTED_TARGET grpc)
pkg_check_modules(CRYPTO REQUIRED IMPORTED_TARGET libcrypto)
pkg_check_modules(PROTOBUF_C REQUIRED IMPORTED_TARGET libprotobuf-c)
pkg_check_modules(JANSSON REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(ISAL REQUIRED IMPORTED_TARGET libisal)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)
pkg_check_modules(SNAPPY REQUIRED IMPORTED_TARGET snappy)
pkg_check_modules(SQLITE REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(PNG REQUIRED IMPORTED_TARGET libpng)
pkg_check_modules(JPEG REQUIRED IMPORTED_TARGET libjpeg)
pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)
pkg_check_modules(ICU REQUIRED IMPORTED_TARGET icu-uc)
find_program(PROTOC_C protoc-c REQUIRED)
find_path(GOOGLE_PROTO_DIR google/protobuf/any.proto REQUIRED)

# find_package(dnnl) wants OpenCL, which Debian's package does not need.
find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.h REQUIRED)
find_library(DNNL_LIBRARY dnnl REQUIRED)
add_library(braid_dnnl INTERFACE)
target_include_directories(braid_dnnl SYSTEM INTERFACE ${DNNL_INCLUDE_DIR})
target_link_libraries(braid_dnnl INTERFACE ${DNNL_LIBRARY})

# LAPACK is linked statically, as Debian's reference implementation with the reference BLAS: only the routines
# that are used come with it, and no alternative that a machine has installed (OpenBLAS) starts threads in
# Braid's processes or changes results. Products of matrices are Braid's own, and so are the functions of
# Fortran's runtime library that it calls (src/kernels/lapack.c).
find_path(LAPACKE_INCLUDE_DIR lapacke.h REQUIRED)
find_library(LAPACKE_LIBRARY liblapacke.a REQUIRED)
find_library(LAPACK_LIBRARY liblapack_pic.a REQUIRED)
find_library(BLAS_LIBRARY libblas.a PATH_SUFFIXES blas REQUIRED)
add_library(braid_lapacke INTERFACE)
target_include_directories(braid_lapacke SYSTEM INTERFACE ${LAPACKE_INCLUDE_DIR})
target_link_libraries(braid_lapacke INTERFACE
    ${LAPACKE_LIBRARY} ${LAPACK_LIBRARY} ${BLAS_LIBRARY})

# Not as PkgConfig:: targets, which stand in braid.pc: who links a program with libbraid.a would need the
# development packages of all that these two stand on themselves.
foreach(library microhttpd:libmicrohttpd gnutls:gnutls)
    string(REPLACE ":" ";" library ${library})
    list(GET library 0 name)
    list(GET library 1 module)
    pkg_check_modules(BRAID_${name} REQUIRED ${module})
    add_library(braid_${name} INTERFACE)
    target_include_directories(braid_${name} SYSTEM INTERFACE ${BRAID_${name}_INCLUDE_DIRS})
    target_link_libraries(braid_${name} INTERFACE ${BRAID_${name}_LINK_LIBRARIES})
endforeach()

if(BUILD_TESTING AND NOT BRAID_FUZZ)
    pkg_check_modules(CMOCKA REQUIRED IMPORTED_TARGET cmocka)
endif()

set(braid_base_libs Threads::Threads m)
set(braid_proto_libs PkgConfig::PROTOBUF_C)
# OpenMP's runtime: oneDNN brings it; kernels set its thread count.
set(braid_kernels_libs braid_dnnl gomp braid_lapacke)
set(braid_io_libs PkgConfig::ISAL PkgConfig::ZLIB PkgConfig::SNAPPY PkgConfig::SQLITE
    PkgConfig::PNG PkgConfig::JPEG)
# RE2 is C++; its own part of src/ops is the one file that is.
set(braid_ops_libs PkgConfig::RE2 PkgConfig::ICU PkgConfig::JANSSON stdc++)
set(braid_runtime_libs PkgConfig::JANSSON)
set(braid_cluster_libs PkgConfig::GRPC PkgConfig::JANSSON PkgConfig::CRYPTO braid_microhttpd
    braid_gnutls)

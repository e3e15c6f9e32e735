# Compiler flags and output directories.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
if(NOT CMAKE_BUILD_TYPE)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
# No NDEBUG: assertions stay on.
set(CMAKE_C_FLAGS_RELEASE "-O2 -g")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g")
set(CMAKE_C_FLAGS_DEBUG "-O0 -g")
if(BRAID_SANITIZE)
    # Lines alone, which are what reports need: the tests, hundreds of programs, are half as large.
    set(CMAKE_C_FLAGS_DEBUG "-O1 -g1")
endif()

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(BRAID_TEST_DIR ${CMAKE_BINARY_DIR}/tests)
set(BRAID_GENERATED_DIR ${CMAKE_BINARY_DIR}/generated)

# For our own code; generated code is compiled without.
set(BRAID_WARNINGS -Wall -Wextra -Wshadow -Wstrict-prototypes -Werror)

add_compile_definitions(_GNU_SOURCE BRAID_VERSION="${PROJECT_VERSION}")
add_compile_options(-fno-math-errno -fno-trapping-math)
# gRPC's package names some sixty libraries that gRPC itself links: none of them is loaded on our account.
add_link_options(-Wl,--as-needed)
# Paths in messages and assertions start at the source directory.
add_compile_options(-fmacro-prefix-map=${CMAKE_SOURCE_DIR}/=)
# Where mold is installed it links tests, which are many and hold all of their modules, and all sanitized
# programs: many times as fast as GNU ld.
find_program(BRAID_MOLD mold)
if(BRAID_SANITIZE)
    if(BRAID_MOLD)
        add_link_options(-fuse-ld=mold)
    endif()
    add_compile_options(-fsanitize=${BRAID_SANITIZE} -fno-omit-frame-pointer)
    add_link_options(-fsanitize=${BRAID_SANITIZE})
    if(BRAID_SANITIZE MATCHES "undefined")
        add_compile_options(-fno-sanitize-recover=undefined)
        # What clang checks of C++ needs a run-time library that programs linked as C have not.
        add_compile_options($<$<COMPILE_LANG_AND_ID:CXX,Clang>:-fno-sanitize=function,vptr>)
    endif()
endif()
# Sanitizers make code several times as large. Tests of sanitized code share one library with all modules
# (braid_link_modules), in which every name is visible.
set(BRAID_SHARED_TESTS OFF)
if(BRAID_SANITIZE AND NOT BRAID_FUZZ)
    set(BRAID_SHARED_TESTS ON)
    set(CMAKE_C_VISIBILITY_PRESET default)
    set(CMAKE_CXX_VISIBILITY_PRESET default)
    add_compile_options(-fno-semantic-interposition)
endif()
if(BRAID_FUZZ)
    if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
        message(FATAL_ERROR "BRAID_FUZZ needs clang (preset fuzz)")
    endif()
    add_compile_options(-fsanitize=fuzzer-no-link)
endif()

#!/usr/bin/env bash
# What `cmake --install` copies serves projects in C and C++, by pkg-config and by CMake, shared and static.
# timeout: 300
set -u
build=$(cd "$1/.." && pwd)
project=$PWD/tests/packaging/project
version=$(sed -n 's/^project(braid VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
if grep -q '^BRAID_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then echo "skipped: sanitized libraries are not for others"; exit 77; fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
prefix=$dir/prefix
failures=0
check() { # check WHAT EXPECTED ACTUAL
    if [ "$2" = "$3" ]; then echo "ok: $1"; else
        echo "FAILED: $1"; printf -- '--- expected\n%s\n--- got\n%s\n' "$2" "$3"; failures=$((failures + 1))
    fi
}
needs_shared() { if readelf -d "$1" | grep -q 'NEEDED.*\[libbraid\.so\.0\]'; then echo shared; else echo static; fi; }

cmake --install "$build" --prefix "$prefix" >"$dir/log" 2>&1 || { cat "$dir/log"; exit 1; }
lib=$(dirname "$(find "$prefix" -name libbraid.a)")
check "every public header is there" "$( (ls include/braid; echo locations.h; echo raw_ops.h) | sort)" \
    "$(ls "$prefix/include/braid" | sort)"
check "the shared library has a soname and a version" "libbraid.so libbraid.so.0 libbraid.so.$version" \
    "$(cd "$lib" && echo libbraid.so*)"
check "the program runs from the prefix" "braid $version" "$("$prefix/bin/braid" --version)"
check "an example runs from the prefix" "Usage: mnist_replica" "$("$prefix/bin/mnist_replica" --help | sed -n '1s/ \[.*//p')"
check "braid run finds an example that is not in PATH" "worker/0 | y = 3.00 x + 2.00" \
    "$("$prefix/bin/braid" run --ps 1 --workers 2 linear_regression 2>/dev/null)"
check "nothing tells where it was built" "" "$(grep -rlIF -e "$build" -e "$PWD" "$prefix")"

export PKG_CONFIG_PATH=$lib/pkgconfig LD_LIBRARY_PATH=$lib
check "pkg-config knows the version" "$version" "$(pkg-config --modversion braid)"
warn="-Wall -Wextra -Werror"
compile() { # compile OUT COMPILER SOURCE LIBS...
    local out=$1 compiler=$2 source=$3
    shift 3
    $compiler $warn $(pkg-config --cflags braid) "$source" -o "$dir/$out" "$@" 2>"$dir/log" || head -20 "$dir/log"
}
for source in "gcc $project/app.c" "g++ $project/app.cpp"; do
    name=$(basename "${source#* }")
    compile shared $source $(pkg-config --libs braid)
    check "$name by pkg-config" "Braid $version: 5 shared" "$("$dir/shared") $(needs_shared "$dir/shared")"
    # -l:libbraid.a: this library static, whatever else there is.
    compile static $source $(pkg-config --static --libs braid | sed 's/-lbraid/-l:libbraid.a/') -Wl,--as-needed
    check "$name by pkg-config --static" "Braid $version: 5 static" "$("$dir/static") $(needs_shared "$dir/static")"
done

# A misspelt attribute is the compiler's error; an error of building names the line of the program.
flags="$(pkg-config --cflags braid) -fsyntax-only $warn"
call() { # call ATTRIBUTE: a program that sets it
    printf '#include <braid/raw_ops.h>\nbraid_out f(braid_graph *g, braid_out x);\nbraid_out f(braid_graph *g, braid_out x)\n'
    printf '{\n    return braid_raw_MatMul(g, NULL, x, x, &(braid_raw_MatMul_attrs){.%s = true});\n}\n' "$1"
}
call transpose_b >"$dir/right.c"
call transpose_y >"$dir/wrong.c"
check "an attribute compiles" "" "$(gcc $flags "$dir/right.c" 2>&1)"
check "a misspelt attribute does not" 1 \
    "$(LC_ALL=C gcc $flags "$dir/wrong.c" 2>&1 | grep -c "has no member named .transpose_y")"
compile lines gcc "$project/lines.c" $(pkg-config --libs braid)
check "an error of building names file and line" 1 "$("$dir/lines" | grep -c '(built at [^ ]*lines.c:9)$')"
compile plain "gcc -DBRAID_NO_LOCATIONS" "$project/lines.c" $(pkg-config --libs braid)
check "unless the program forgoes it" 0 "$("$dir/plain" | grep -c 'built at')"
compile pleasant "g++ -std=c++17 -Wpedantic" "$project/pleasant.cpp" $(pkg-config --libs braid)
check "the C++ interface" "Braid: 5" "$("$dir/pleasant")"

unset LD_LIBRARY_PATH # CMake sets the path of what it builds
if cmake -G Ninja -S "$project" -B "$dir/build" -DCMAKE_PREFIX_PATH="$prefix" -DBRAID_WANTED="$version" >"$dir/log" 2>&1 &&
    cmake --build "$dir/build" >"$dir/log" 2>&1; then
    for app in c_braid cpp_braid c_static cpp_static; do
        kind=${app#*_}
        check "app_$app by CMake" "Braid $version: 5 ${kind/braid/shared}" \
            "$("$dir/build/app_$app") $(needs_shared "$dir/build/app_$app")"
    done
else
    check "CMake builds the project" "" "$(tail -20 "$dir/log")"
fi
cmake -G Ninja -S "$project" -B "$dir/other" -DCMAKE_PREFIX_PATH="$prefix" -DBRAID_WANTED=9.0 >"$dir/log" 2>&1
check "CMake refuses another version" 1 "$(grep -c 'not accepted' "$dir/log")"

[ $failures = 0 ]

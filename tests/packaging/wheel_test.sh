#!/usr/bin/env bash
# What tools/wheel.py packs, before auditwheel adds libraries, is a wheel whose package runs.
# timeout: 120
set -u
build=$(cd "$1/.." && pwd)
version=$(sed -n 's/^project(braid VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
if grep -q '^BRAID_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then echo "skipped: sanitized libraries are not for others"; exit 77; fi
if [ ! -e "$build/python" ]; then echo "skipped: the build has no Python package"; exit 77; fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
check() { # check WHAT EXPECTED ACTUAL
    if [ "$2" = "$3" ]; then echo "ok: $1"; else
        echo "FAILED: $1"; printf -- '--- expected\n%s\n--- got\n%s\n' "$2" "$3"; failures=$((failures + 1))
    fi
}

for component in runtime python; do
    cmake --install "$build" --component $component --prefix "$dir/installed" >"$dir/log" 2>&1 ||
        { cat "$dir/log"; exit 1; }
done
install -D --strip "$build/bin/braid" "$dir/installed/bin/braid"
LD_LIBRARY_PATH=$(dirname "$(find "$dir/installed" -name libbraid.so.0)")
export LD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE=1 SOURCE_DATE_EPOCH=1700000000
/usr/bin/python3 tools/wheel.py "$dir/installed" "$version" "$dir" || exit 1
wheel=$dir/braid-$version-cp39-abi3-linux_x86_64.whl
mkdir "$dir/unpacked"
/usr/bin/python3 -m zipfile -e "$wheel" "$dir/unpacked"
info=$dir/unpacked/braid-$version.dist-info

check "RECORD names each file" "$(cd "$dir/unpacked" && find . -type f | sed 's|^\./||' | sort)" \
    "$(sed 's/,.*//' "$info/RECORD" | sort)"
digest='import base64, hashlib, sys
print(base64.urlsafe_b64encode(hashlib.sha256(sys.stdin.buffer.read()).digest()).decode().rstrip("="))'
check "RECORD has the digest of each" "$(/usr/bin/python3 -c "$digest" <"$dir/unpacked/braid/protos.binpb")" \
    "$(sed -n 's/^braid\/protos.binpb,sha256=\([^,]*\),.*/\1/p' "$info/RECORD")"
check "the version is the project's" "Version: $version" "$(grep ^Version: "$info/METADATA")"
check "the licences of libraries come with it" "libdnnl2 libgrpc29 liblapack-dev" \
    "$(cd "$info/licenses" && echo libdnnl* libgrpc[0-9]* liblapack*)"
check "nothing tells where it was built" "" "$(grep -rlIF -e "$build" "$dir/unpacked")"
check "a program for TensorFlow 1 runs" "y = 3.00 x + 2.00" \
    "$(PYTHONPATH=$dir/unpacked /usr/bin/python3 -m braid tests/packaging/project/train.py)"
sed -i '1s|.*|#!/usr/bin/python3|' "$dir/unpacked/braid-$version.data/scripts/braid"
chmod +x "$dir/unpacked/braid-$version.data/scripts/braid" "$dir/unpacked/braid/bin/braid" # as pip does
check "so does the command" "braid $version" \
    "$(PYTHONPATH=$dir/unpacked "$dir/unpacked/braid-$version.data/scripts/braid" --version)"
first=$(sha256sum <"$wheel")
/usr/bin/python3 tools/wheel.py "$dir/installed" "$version" "$dir"
check "the same sources give the same bytes" "$first" "$(sha256sum <"$wheel")"

[ $failures = 0 ]

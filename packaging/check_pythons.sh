#!/usr/bin/env bash
# check_pythons.sh DIR [PYTHON...]: installs the wheel in DIR with each Python and runs tests/python, once
# with the oldest numpy and protobuf that there are for it, once with the newest. Without PYTHON: python3.9,
# python3.10 and so on, as far as PATH has them. TESTS="graph session" runs only these. It takes minutes for
# each, and the network.
set -uo pipefail

fail() {
    echo "check_pythons.sh: $1" >&2
    exit 1
}

[ $# -ge 1 ] || fail "which directory has the wheel?"
wheel=$(ls "$1"/braid-*.whl 2>/dev/null) || fail "no wheel in '$1': ./dev wheel makes it in build/wheel"
wheel=$(realpath "$wheel")
shift
pythons=("$@")
cd "$(dirname "$0")/.."
if [ ${#pythons[@]} = 0 ]; then
    for minor in 9 10 11 12 13 14 15; do
        ! "python3.$minor" -c "" 2>/dev/null || pythons+=("python3.$minor")
    done
fi
[ ${#pythons[@]} -gt 0 ] || fail "PATH has no Python from 3.9 on"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The first releases that run on a Python; it fails for one that is not known here. protobuf before 5.29
# refuses Python 3.14 ("Metaclasses with custom tp_new are not supported").
oldest() {
    case $1 in
    3.9 | 3.10 | 3.11) echo "numpy==1.24.0 protobuf==4.21.*" ;;
    3.12) echo "numpy==1.26.0 protobuf==4.21.*" ;;
    3.13) echo "numpy==2.1.0 protobuf==4.21.*" ;;
    3.14) echo "numpy==2.3.2 protobuf==5.29.*" ;;
    *) return 1 ;;
    esac
}

# run_tests VENV: prints "N passed, N failed, N skipped" and the output of those that fail.
run_tests() {
    local file name passed=0 failed=0 skipped=0 status
    for file in tests/python/*_test.py; do
        name=$(basename "$file" _test.py)
        case " ${TESTS:-$name} " in *" $name "*) ;; *) continue ;; esac
        timeout 600 "$1/bin/python" -W error::SyntaxWarning "$file" "$1/bin" >"$work/log" 2>&1 </dev/null
        status=$?
        case $status in
        0) passed=$((passed + 1)) ;;
        77) skipped=$((skipped + 1)) ;;
        *)
            failed=$((failed + 1))
            echo "---- $name failed ($status):"
            grep -vE "^[0-9-]+ [0-9:.]+ [IWD] " "$work/log" | tail -n 40
            ;;
        esac
    done
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
}

# check PYTHON REQUIREMENT...: in a virtual environment of its own.
check() {
    rm -rf "$work/env"
    "$1" -m venv "$work/env" || return 1
    "$work/env/bin/pip" install -q --only-binary :all: --disable-pip-version-check "$wheel" "${@:2}" \
        >"$work/log" 2>&1 || { tail -n 5 "$work/log"; return 1; }
    "$work/env/bin/python" - <<'EOF'
import platform
import google.protobuf, numpy
print("==", platform.python_implementation(), platform.python_version(),
      "numpy", numpy.__version__, "protobuf", google.protobuf.__version__, flush=True)
EOF
    run_tests "$work/env"
}

status=0
for python in "${pythons[@]}"; do
    version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])') || fail "$python is no Python"
    if requirements=$(oldest "$version"); then
        check "$python" $requirements || status=1
    fi
    check "$python" || status=1
done
exit $status

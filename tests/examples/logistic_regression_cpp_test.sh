#!/usr/bin/env bash
# The example in C++: it learns, saves, goes on from its checkpoint, and tells an error.
set -u
bin=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
check() {
    local what=$1
    shift
    if "$@"; then echo "ok: $what"; else
        echo "FAILED: $what: $*"; cat "$dir/out" "$dir/err"; failures=$((failures + 1))
    fi
}
run() { "$bin/logistic_regression_cpp" "$@" >"$dir/out" 2>"$dir/err"; }

run "$dir/model" 500
check "it learns" awk '/^accuracy: / && $2 >= 0.95 { found = 1 } END { exit !found }' "$dir/out"
check "it saves the last step" test -s "$dir/model/model.ckpt-500.index"
run "$dir/model" 510
check "it goes on from there" grep -q "Restored the checkpoint $dir/model/model.ckpt-500" "$dir/err"
touch "$dir/file"
check "an error is the exit code" test "$(run "$dir/file/model" 10; echo $?)" = 1
[ $failures = 0 ]

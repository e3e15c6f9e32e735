#!/usr/bin/env bash
# The example of an input pipeline: it writes TFRecords, learns from them, and tells of damaged ones.
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
run() { "$bin/tfrecord_input" "$@" >"$dir/out" 2>"$dir/err"; }
exit_code() { run "$@"; echo $?; }

run "$dir/data" 4
check "it learns from all epochs" \
    awk '/^test accuracy after 320 steps: / && $NF >= 0.85 { found = 1 } END { exit !found }' "$dir/out"
ls -i "$dir/data" >"$dir/before"
check "a second run succeeds" test "$(exit_code "$dir/data" 1)" = 0
check "the second run reads the same files" diff "$dir/before" <(ls -i "$dir/data")
truncate -s 5000 "$dir/data/digits-00002-of-00004"
check "a damaged file ends training" test "$(exit_code "$dir/data" 1)" = 1
check "the error names the file" grep -q "truncated record at .*digits-00002-of-00004" "$dir/err"
touch "$dir/file"
check "a directory that cannot be made is an error" test "$(exit_code "$dir/file/data" 1)" = 1
[ $failures = 0 ]

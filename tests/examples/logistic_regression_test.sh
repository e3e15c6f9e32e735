#!/usr/bin/env bash
# The smallest example: it learns, saves, and goes on from its checkpoint.
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
accuracy() { sed -n 's/^accuracy: //p' "$dir/out"; }
at_least() { awk -v a="${1:-}" -v b="$2" 'BEGIN { exit !(a != "" && a + 0 >= b + 0) }'; }

"$bin/logistic_regression" >"$dir/out" 2>"$dir/err"
check "it learns" at_least "$(accuracy)" 0.95
"$bin/logistic_regression" "$dir/model" 100 >"$dir/out" 2>"$dir/err"
check "it saves the last step" test -s "$dir/model/model.ckpt-100.index"
"$bin/logistic_regression" "$dir/model" 150 >"$dir/out" 2>"$dir/err"
check "it goes on from there" grep -q "Restored the checkpoint $dir/model/model.ckpt-100" "$dir/err"
check "and saves again" test -s "$dir/model/model.ckpt-150.index"
check "it writes summaries" grep -qa accuracy "$dir"/model/events.out.tfevents.*
[ $failures = 0 ]

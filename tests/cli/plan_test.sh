#!/usr/bin/env bash
# `braid plan`: a plan from given costs, from a trial, and mistakes of the command line.
# timeout: 60
set -u
bin=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0
check() {
    local what=$1
    shift
    if "$@"; then echo "ok: $what"; else
        echo "FAILED: $what: $*"
        tail -n 20 "$dir/out" "$dir/err"
        failures=$((failures + 1))
    fi
}
plan() { (cd "$dir" && "$bin/braid" plan "$@" >"$dir/out" 2>"$dir/err"); }

plan --compute 0.1 --model 1K --max-workers 8
check "a plan from given costs" test $? = 0
check "a cheap model wants one parameter server for all workers" \
    test "$(awk '$1 ~ /^[1248]$/ && $2 == 1' "$dir/out" | wc -l)" = 4
check "and lets the most workers pay off" grep -q '^Worth it: up to 8 workers with 1 parameter server,' "$dir/out"
plan --compute 0.001 --model 100M --max-ps 1 --max-workers 8
check "a large model on one parameter server keeps it busy" grep -q '^ *8 .* the parameter servers are busy' "$dir/out"
check "and more workers do not pay off" grep -q '^Worth it: up to [12] worker' "$dir/out"
plan --max-workers 2 "$bin/mnist_algorithm" --train_steps=200
check "a plan from a trial" test $? = 0
check "which has measured the model: 318,040 bytes" grep -q 'the model has 0.318 MB' "$dir/out"

plan --compute 0.1
check "nothing to measure is a mistake of usage" test $? = 2
plan --compute soon --model 1M
check "a number that is none is one, too" test $? = 2
check "and is named" grep -q -e '--compute soon: not a positive number' "$dir/err"
plan --algorithm magic --compute 1 --model 1M
check "an unknown algorithm is one, too" test $? = 2
[ $failures = 0 ]

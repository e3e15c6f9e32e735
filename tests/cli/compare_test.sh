#!/usr/bin/env bash
# `braid compare`: the table and the files of a comparison, mistakes of the command line, programs that fail.
# labels: slow
# timeout: 120
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
compare() { (cd "$dir" && "$bin/braid" compare "$@" >"$dir/out" 2>"$dir/err"); }

compare --output curves --algorithms downpour,synchronous "$bin/mnist_algorithm" --train_steps=300
check "a comparison succeeds" test $? = 0
check "a row for each algorithm" test "$(grep -cE '^(downpour|synchronous) +[0-9]+ +[0-9]+ +0 ' "$dir/out")" = 2
check "no gradient of synchronous training is dropped" grep -qE '^synchronous +300 +300 +0 ' "$dir/out"
check "points of both in curves.csv" test "$(cut -d, -f1 "$dir/curves/curves.csv" | sort -u | tr '\n' ' ')" = \
    "algorithm downpour synchronous "
check "the loss falls" awk -F, '$1 == "downpour" { if (!first) first = $6; last = $6 }
    END { exit !(last < first / 2) }' "$dir/curves/curves.csv"
check "the staleness: of synchronous training none, of another some" awk -F, '$1 == "synchronous" && $7 != 0 { bad = 1 }
    $1 == "downpour" { last = $7 } END { exit !(!bad && last > 0) }' "$dir/curves/curves.csv"
check "a plot" test "$(head -c 8 "$dir/curves/loss.png" | od -An -tx1 | tr -d ' ')" = 89504e470d0a1a0a
check "an event file each" test "$(ls "$dir"/curves/{downpour,synchronous}/events.out.tfevents.* | wc -l)" = 2
check "the log of a run has its accuracy" grep -q 'test accuracy' "$dir/curves/downpour/log"

compare --simulate --output simulated --algorithms bounded_staleness,easgd "$bin/mnist_algorithm" --train_steps=100
check "a simulated comparison succeeds" test $? = 0
check "tables of steps, waiting, staleness and time, for 1 to 1,000 workers, and of losses for three sizes" \
    test "$(grep -cE '^easgd ' "$dir/out")" = 7
check "a table of bounds of bounded staleness, for three sizes" \
    test "$(grep -cE '^ +(10|100|1000) +(0|1|2|4|8|16) ' "$dir/out")" = 18
for size in 10 100 1000; do
    check "the losses of $size workers fall, over steps, time and bytes" awk -F, '$1 == "easgd" { n++
        if (!first) first = $6; falls = falls || $2 < seconds || $3 < steps || $5 < bytes
        seconds = $2; steps = $3; bytes = $5; last = $6 }
        END { exit !(n > 20 && !falls && last < first / 20) }' \
        "$dir/simulated/workers-$size/curves.csv"
    check "an event file each for $size workers" \
        test "$(ls "$dir/simulated/workers-$size"/*/events.out.tfevents.* | wc -l)" = 2
done

compare --algorithms downpuor "$bin/mnist_algorithm"
check "an unknown algorithm is a mistake of usage" test $? = 2
check "and is named, with those there are" \
    grep -q "no algorithm 'downpuor'. There are: aeasgd, agn, .* synchronous_rates$" "$dir/err"
compare
check "a missing program is one, too" test $? = 2
compare --algorithms agn "$bin/mnist_algorithm" --no_such_flag
check "a program that fails fails the comparison" test $? = 1
check "whose log is named" grep -q 'agn: failed with exit code .*: see .*/compare/agn/log' "$dir/err"
compare --output curves --algorithms downpour "$bin/logistic_regression"
check "a program without the hook fails it" test $? = 1
[ $failures = 0 ]

#!/usr/bin/env bash
# The smallest example: it learns, saves, and goes on from its checkpoint.
. "$(dirname "$0")/lib.sh"

run logistic_regression
check "it learns" at_least "$(number_after accuracy:)" 0.95
run logistic_regression "$dir/model" 100
check "it saves the last step" test -s "$dir/model/model.ckpt-100.index"
run logistic_regression "$dir/model" 150
check "it goes on from there" grep -q "Restored the checkpoint $dir/model/model.ckpt-100" "$dir/err"
check "and saves again" test -s "$dir/model/model.ckpt-150.index"
check "it writes summaries" grep -qa accuracy "$dir"/model/events.out.tfevents.*
[ $failures = 0 ]

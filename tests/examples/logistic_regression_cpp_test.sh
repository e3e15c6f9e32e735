#!/usr/bin/env bash
# The example in C++: it learns, saves, goes on from its checkpoint, and tells an error.
. "$(dirname "$0")/lib.sh"

run logistic_regression_cpp "$dir/model" 500
check "it learns" at_least "$(number_after accuracy:)" 0.95
check "it saves the last step" test -s "$dir/model/model.ckpt-500.index"
run logistic_regression_cpp "$dir/model" 510
check "it goes on from there" grep -q "Restored the checkpoint $dir/model/model.ckpt-500" "$dir/err"
touch "$dir/file"
check "an error is the exit code" test "$(exit_code logistic_regression_cpp "$dir/file/model" 10)" = 1
[ $failures = 0 ]

#!/usr/bin/env bash
# The example of wide and deep models: alone and on a cluster with an evaluator.
. "$(dirname "$0")/lib.sh"

accuracy() { sed -n 's/.*test accuracy: \([0-9.]*\),.*/\1/p' "$dir/out"; }
check "alone it ends by itself" test "$(exit_code wide_deep --model_dir="$dir/alone")" = 0
check "it learns: $(accuracy)" at_least "$(accuracy)" 0.85
check "a cluster ends by itself" test "$(exit_code braid run --chief --workers 2 --ps 1 --evaluator --timeout 120 \
    wide_deep --model_dir="$dir/cluster")" = 0
check "the chief finds that it has learnt: $(accuracy)" at_least "$(accuracy)" 0.85
check "the evaluator evaluates, too" grep -q '^evaluator/0 | .*Evaluation of .*/model.ckpt-12[0-9][0-9]:' "$dir/err"
check "a cluster without an evaluator ends by itself" test "$(exit_code braid run --ps 1 --workers 2 --timeout 120 \
    wide_deep --model_dir="$dir/plain")" = 0
check "it says what it has learnt: $(accuracy)" at_least "$(accuracy)" 0.85
[ $failures = 0 ]

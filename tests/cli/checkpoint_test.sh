#!/usr/bin/env bash
# `braid checkpoint` lists and prints the tensors of a checkpoint that a program has saved.
. "$(dirname "$0")/../examples/lib.sh"

run logistic_regression "$dir/model" 20
check "a program saves" test -s "$dir/model/model.ckpt-20.index"
check "a directory is listed" test "$(exit_code braid checkpoint "$dir/model")" = 0
check "with names, types and shapes" grep -qE '^global_step +int64 +\[\]$' "$dir/out"
check "and its newest checkpoint is named" grep -qE "^$dir/model/model.ckpt-20: [0-9]+ tensors, [0-9]+ elements$" "$dir/out"
check "a prefix is listed" test "$(exit_code braid checkpoint "$dir/model/model.ckpt-20")" = 0
name=$(sed -nE 's/^([^ ]+) +float +\[[0-9]+,[0-9]+\]$/\1/p' "$dir/out" | head -n 1)
check "a matrix is there" test -n "$name"
check "tensors are printed" test "$(exit_code braid checkpoint --elements 2 "$dir/model" global_step "$name")" = 0
check "a scalar" test "$(sed -n 2p "$dir/out")" = 20
check "and the beginning of a matrix" grep -qE '^ \[[-0-9.e]+ \.\.\.\]\]$' "$dir/out"
check "an unknown name is an error" test "$(exit_code braid checkpoint "$dir/model" nothing)" = 1
check "that names the checkpoint" grep -q "NotFound: Key nothing not found in checkpoint $dir/model/model.ckpt-20" "$dir/err"
check "so is a missing checkpoint" test "$(exit_code braid checkpoint "$dir/nowhere")" = 1
check "that is named" grep -q "NotFound: .*$dir/nowhere" "$dir/err"
check "without an argument it tells its usage" test "$(exit_code braid checkpoint)" = 2
[ $failures = 0 ]

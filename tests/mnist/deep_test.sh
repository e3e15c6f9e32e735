#!/usr/bin/env bash
# deep_mnist on its embedded digits: its own flag, and a short training on a cluster.
# timeout: 120
. "$(dirname "$0")/lib.sh"

TF_CONFIG='{}' timeout 60 "$bin/deep_mnist" --keep_prob=0 >"$dir/out" 2>"$dir/err"
check "--keep_prob=0: exit code 2" test $? = 2
check "--keep_prob=0: says what is right" grep -qF -- 'deep_mnist: --keep_prob must be more than 0' "$dir/err"

"$bin/braid" run --ps 1 --workers 2 deep_mnist >"$dir/out" 2>"$dir/err"
check "exit code 0" test $? = 0
check "its own number of steps: accuracy of at least 0.5" at_least "$(accuracy)" 0.5
check "exactly one line on standard output" test "$(wc -l <"$dir/out")" = 1
check "no process is left" no_process_left
[ $failures = 0 ]

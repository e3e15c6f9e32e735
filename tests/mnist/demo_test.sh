#!/usr/bin/env bash
# The main job on its embedded digits: `./dev demo` as a test.
# labels: slow
# timeout: 240
# serial: yes
. "$(dirname "$0")/lib.sh"

demo=$(sed -n 's/^demo_flags="\(.*\)"$/\1/p' "$(dirname "$0")/../../dev")
check "./dev says what the demo runs" test -n "$demo"
"$bin/braid" run $demo >"$dir/out" 2>"$dir/err"
check "exit code 0" test $? = 0
check "test accuracy of at least 0.95" at_least "$(accuracy)" 0.95
check "exactly one line on standard output" test "$(wc -l <"$dir/out")" = 1
check "each worker says when its first step was" test "$(grep -c 'first step after [0-9.]* s$' "$dir/err")" = 2
check "no process is left" no_process_left

steps=$(grep -oE 'train_steps=[0-9]+' <<<"$demo")
"$bin/braid" run --ps 1 --workers 2 mnist_replica --"$steps" --hidden_units=0 >"$dir/out" 2>"$dir/err"
check "a softmax regression trained equally long stays below 0.90" below "$(accuracy)" 0.90
[ $failures = 0 ]

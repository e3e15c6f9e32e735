#!/usr/bin/env bash
# deep_mnist on real MNIST: its accuracy.
# labels: slow
# timeout: 900
# serial: yes
. "$(dirname "$0")/lib.sh"
[ -d "$shared/mnist" ] || { echo SKIPPED: no "$shared/mnist"; exit 77; }

"$bin/braid" run --ps 1 --workers 2 deep_mnist --data_dir="$shared/mnist" --train_steps=1500 \
    --learning_rate=0.001 >"$dir/out" 2>"$dir/err"
check "exit code 0" test $? = 0
echo "accuracy: $(accuracy)"
check "accuracy of at least 0.98" at_least "$(accuracy)" 0.98
check "no process is left" no_process_left
[ $failures = 0 ]

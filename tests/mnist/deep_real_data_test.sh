#!/usr/bin/env bash
# deep_mnist on real MNIST: its accuracy. 300 steps; BRAID_DEEP=full for the 1500 that it is known for (some
# minutes).
# labels: slow
# timeout: 900
# serial: yes
. "$(dirname "$0")/lib.sh"
need_mnist
if [ "${BRAID_DEEP:-}" = full ]; then steps=1500 least=0.98; else steps=300 least=0.95; fi

"$bin/braid" run --ps 1 --workers 2 deep_mnist --data_dir="$BRAID_MNIST_DIR" --train_steps=$steps \
    --learning_rate=0.001 >"$dir/out" 2>"$dir/err"
check "exit code 0" test $? = 0
echo "accuracy: $(accuracy)"
check "accuracy of at least $least" at_least "$(accuracy)" $least
check "no process is left" no_process_left
[ $failures = 0 ]

#!/usr/bin/env bash
# Synchronous training on real MNIST: the accuracy, and the same final checkpoint, bit for bit, beside load.
# labels: slow
# timeout: 240
# serial: yes
. "$(dirname "$0")/lib.sh"
need_mnist
steps=800

train() { # DIR: trains and saves there
    "$bin/braid" run --ps 1 --workers 2 mnist_replica --sync_replicas --deterministic --learning_rate=0.003 \
        --data_dir="$BRAID_MNIST_DIR" --train_steps=$steps --log_dir="$1" >"$dir/out" 2>"$dir/err"
    check "exit code 0" test $? = 0
    check "test accuracy of at least 0.955: $(accuracy)" at_least "$(accuracy)" 0.955
}

train "$dir/quiet"
set -m
load_cores &
load=$!
set +m
train "$dir/loaded"
kill -KILL -- -$load
for part in index data-00000-of-00001; do
    check "the same $part" cmp "$dir"/{quiet,loaded}/model.ckpt-$steps.$part
done
check "no process is left" no_process_left
[ $failures = 0 ]

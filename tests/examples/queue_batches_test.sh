#!/usr/bin/env bash
# Training fed by a queue that a thread fills (--queue_batches).
. "$(dirname "$0")/lib.sh"

accuracy() { sed -n 's/.*test accuracy: //p' "$dir/out"; }
check "a cluster whose workers have queues ends by itself" test "$(exit_code braid run --ps 1 --workers 2 \
    mnist_replica --train_steps=1000 --learning_rate=0.003 --queue_batches=5)" = 0
check "it learns: $(accuracy)" at_least "$(accuracy)" 0.9
check "a negative number is an error" test "$(exit_code mnist_replica --queue_batches=-1)" = 2
[ $failures = 0 ]

#!/usr/bin/env bash
# A cluster whose tasks listen on sockets in the file system trains, and leaves none.
. "$(dirname "$0")/lib.sh"

unset TF_CONFIG
mkdir "$dir/sockets"
flags=(--ps_hosts="unix:$dir/sockets/ps0" --worker_hosts="unix:$dir/sockets/worker0" --train_steps=50)
timeout 60 "$bin/mnist_replica" --job_name=ps --task_index=0 "${flags[@]}" >"$dir/ps.log" 2>&1 &
ps=$!
timeout 60 "$bin/mnist_replica" --job_name=worker --task_index=0 "${flags[@]}" >"$dir/worker.log" 2>&1
check "the worker trains: exit code 0" test $? = 0
wait "$ps"
check "the parameter server ends: exit code 0" test $? = 0
check "messages name the sockets" grep -q "/job:worker/task:0 at unix:$dir/sockets/worker0 is done" "$dir/ps.log"
check "no socket is left" rmdir "$dir/sockets"
[ $failures = 0 ] || cat "$dir/worker.log" "$dir/ps.log"
[ $failures = 0 ]

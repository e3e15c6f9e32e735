#!/usr/bin/env bash
# The ranks of a real mpirun are a cluster.
. "$(dirname "$0")/lib.sh"
need openmpi-bin mpirun

mpirun=(timeout 120 mpirun --oversubscribe)
[ "$(id -u)" != 0 ] || mpirun+=(--allow-run-as-root)
export BRAID_PORT=21960
"${mpirun[@]}" -n 3 "$bin/mnist_replica" $training >"$dir/out" 2>"$dir/err"
check_training "three ranks" $?
check "a log line says what was found" \
    grep -q ' mpirun: 3 tasks on 1 host, 1 of them parameter servers; this is /job:worker/task:1 at 127.0.0.1:21962$' "$dir/err"

BRAID_PS=3 "${mpirun[@]}" -n 3 "$bin/mnist_replica" $training >"$dir/out" 2>"$dir/err"
check "a malformed variable fails" test $? != 0
check "a malformed variable is named" grep -q "BRAID_PS is '3', not a number from 0 to 2" "$dir/err"
[ $failures = 0 ]

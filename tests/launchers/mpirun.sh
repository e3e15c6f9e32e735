#!/usr/bin/env bash
# The ranks of a real mpirun are a cluster, and MPI carries their large tensors.
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

if [ ! -e "$bin/../lib/braid/mpi.so" ]; then
    echo "not tried: tensors by MPI, for which Braid was built without Open MPI (apt install libopenmpi-dev)"
    [ $failures = 0 ]
    exit
fi
# Ranks that end before MPI has started still end it together.
"${mpirun[@]}" -n 3 "$bin/mnist_replica" $training --train_steps=5 >"$dir/out" 2>"$dir/err"
check "a short training: exit code 0" test $? = 0

# Tasks on one host would read each other's memory.
export BRAID_CROSS_MEMORY=0
sums=$bin/../tests/tests_cluster_collective_sums_test
for ranks in 2 4; do
    BRAID_PS=0 "${mpirun[@]}" -n $ranks "$sums" >"$dir/out" 2>"$dir/err"
    check "sums of $ranks ranks have the bits of their order" test $? = 0
    check "MPI has brought tensors to each of $ranks ranks" \
        test "$(grep -c ' MPI has brought [1-9][0-9]* tensors, ' "$dir/err")" = $ranks
done
"${mpirun[@]}" -n 3 "$bin/mnist_replica" $training --hidden_units=2000 --train_steps=60 >"$dir/out" 2>"$dir/err"
check "training by MPI: exit code 0" test $? = 0
check "training by MPI: variables and gradients" \
    test "$(grep -c ' MPI has brought [1-9][0-9]* tensors, ' "$dir/err")" = 3
BRAID_MPI=0 "${mpirun[@]}" -n 3 "$bin/mnist_replica" $training >"$dir/out" 2>"$dir/err"
check_training "three ranks without MPI" $?
check "BRAID_MPI=0 turns it off" test "$(grep -c 'MPI' "$dir/err")" = 0
[ $failures = 0 ]

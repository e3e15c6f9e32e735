#!/usr/bin/env bash
# A few runs of chaos.py, half as many under sanitizers: killed and stopped processes, with and without
# restarts, also without shared memory and with certificates, and cuts of the network where namespaces can be
# made. The long form is tests/mnist/chaos.py build/release/bin --runs 200.
# timeout: 420
. "$(dirname "$0")/lib.sh"
chaos="$(dirname "$0")/chaos.py"
if [ -n "${BRAID_SANITIZE:-}" ]; then runs=(2 2 1 1); else runs=(4 3 2 2); fi
"$bin/braid" keys new "$dir/keys" >"$dir/out"
"$bin/braid" keys --role task add "$dir/keys" task >"$dir/out"

check "runs with restarts end well" /usr/bin/python3 "$chaos" "$bin" --runs ${runs[0]} --seed 1 --stop-max 3
check "runs without restarts end and name the task" \
    /usr/bin/python3 "$chaos" "$bin" --runs ${runs[1]} --seed 1 --restarts 0 --grace 4 --faults kill
check "runs without shared memory end well" env BRAID_SHARED_MEMORY=0 BRAID_CROSS_MEMORY=0 \
    /usr/bin/python3 "$chaos" "$bin" --runs ${runs[3]} --seed 41 --stop-max 3
check "runs with certificates, through shared memory, end well" env BRAID_TLS_DIR="$dir/keys/task" \
    /usr/bin/python3 "$chaos" "$bin" --runs ${runs[3]} --seed 51 --stop-max 3
if ip netns add "braid-probe-$$" 2>/dev/null; then
    ip netns del "braid-probe-$$"
    check "runs with a cut network end well" \
        /usr/bin/python3 "$chaos" "$bin" --runs ${runs[2]} --seed 21 --faults cut --stop-max 4 --steps 4000
else
    echo "no cuts of the network: network namespaces cannot be made here"
fi
[ $failures = 0 ]

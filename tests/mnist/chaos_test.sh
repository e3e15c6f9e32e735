#!/usr/bin/env bash
# A few runs of chaos.py, half as many under sanitizers: killed and stopped processes, with and without
# restarts, and cuts of the network where namespaces can be made. The long form is tests/mnist/chaos.py
# build/release/bin --runs 200.
# timeout: 300
. "$(dirname "$0")/lib.sh"
chaos="$(dirname "$0")/chaos.py"
if [ -n "${BRAID_SANITIZE:-}" ]; then runs=(2 2 1); else runs=(4 3 2); fi

check "runs with restarts end well" /usr/bin/python3 "$chaos" "$bin" --runs ${runs[0]} --seed 1 --stop-max 3
check "runs without restarts end and name the task" \
    /usr/bin/python3 "$chaos" "$bin" --runs ${runs[1]} --seed 1 --restarts 0 --grace 4 --faults kill
if ip netns add "braid-probe-$$" 2>/dev/null; then
    ip netns del "braid-probe-$$"
    check "runs with a cut network end well" \
        /usr/bin/python3 "$chaos" "$bin" --runs ${runs[2]} --seed 21 --faults cut --stop-max 4 --steps 4000
else
    echo "no cuts of the network: network namespaces cannot be made here"
fi
[ $failures = 0 ]

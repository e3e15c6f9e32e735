#!/usr/bin/env bash
# A few runs of chaos.py: killed and stopped processes, with and without restarts. The long form is
# tests/mnist/chaos.py build/release/bin --runs 200.
# timeout: 300
. "$(dirname "$0")/lib.sh"
chaos="$(dirname "$0")/chaos.py"

check "runs with restarts end well" /usr/bin/python3 "$chaos" "$bin" --runs 4 --seed 1 --stop-max 3
check "runs without restarts end and name the task" \
    /usr/bin/python3 "$chaos" "$bin" --runs 3 --seed 1 --restarts 0 --grace 4 --faults kill
[ $failures = 0 ]

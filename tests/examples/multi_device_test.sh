#!/usr/bin/env bash
# Towers on several devices of one process: each device works, and GPUs are replaced, which the log says.
. "$(dirname "$0")/lib.sh"

# A tower has about 40 nodes.
works_on() { at_least "$(nodes_on "/job:localhost/replica:0/task:0/device:CPU:$1")" 20; }

check "it runs on two devices" run multi_device
check "it learns" at_least "$(number_after accuracy:)" 0.85
for device in 0 1; do check "device $device has a tower" works_on $device; done
check "GPUs are replaced" run multi_device 3 gpu
check "it learns" at_least "$(number_after accuracy:)" 0.85
for device in 0 1 2; do
    check "device $device has a tower" works_on $device
    check "the log says so" grep -q "no device /device:GPU:$device: .* placed on .*CPU:$device (soft" "$dir/err"
done
check "each once" [ "$(grep -c 'soft placement' "$dir/err")" = 3 ]
check "a wrong call is refused" [ "$(exit_code multi_device 0)" = 2 ]
[ $failures = 0 ]

#!/usr/bin/env bash
# The pods of docs/kubernetes/statefulset.yaml make a TF_CONFIG that says which task they are.
. "$(dirname "$0")/../mnist/lib.sh"
manifest=$(dirname "$0")/../../docs/kubernetes/statefulset.yaml

CLUSTER=$(sed -n '/^  cluster: >-$/,/^---$/p' "$manifest" | sed '1d;$d' | tr -d '\n')
export CLUSTER
# task_of JOB: the line of the job's pods that sets TF_CONFIG, and a server in place of the program. The
# server refuses to listen for others.
task_of() {
    { grep "^ *export TF_CONFIG=.*\\\\\"$1\\\\\"" "$manifest"; echo "exec '$bin/braid' server"; } >"$dir/pod.sh"
    sh "$dir/pod.sh" >"$dir/out" 2>"$dir/err"
}
HOSTNAME=braid-ps-0 task_of ps
check "a parameter server is its pod's" grep -q "/job:ps/task:0 would listen on braid-ps-0.braid:2222" "$dir/err"
HOSTNAME=braid-worker-1-x7k2p JOB_COMPLETION_INDEX=1 task_of worker
check "a worker is its pod's" grep -q "/job:worker/task:1 would listen on braid-worker-1.braid:2222" "$dir/err"
[ $failures = 0 ]

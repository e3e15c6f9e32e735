#!/usr/bin/env bash
# In-graph replication: one client trains on the servers of all workers.
. "$(dirname "$0")/lib.sh"

# A tower has about 40 nodes.
works_on() { at_least "$(nodes_on "/job:worker/replica:0/task:$1/device:CPU:0")" 20; }

check "it ends by itself" run braid run --ps 1 --workers 2 --timeout 60 in_graph_replication
check "it learns" at_least "$(sed -n 's/.*| accuracy: //p' "$dir/out")" 0.85
for task in 0 1; do check "worker $task has a tower" works_on $task; done
check "without a cluster it says how to start it" [ "$(exit_code in_graph_replication)" = 1 ]
check "it names the command" grep -q "braid run --ps 1 --workers 2 in_graph_replication" "$dir/err"
[ $failures = 0 ]

#!/usr/bin/env bash
# The tasks of a step of a real Slurm are a cluster. Its controller and the daemons of two nodes run in
# namespaces of their own.
. "$(dirname "$0")/lib.sh"
need slurmctld slurmctld
need slurmd slurmd
need slurm-client srun
need_namespaces

if [ "${2:-}" != inside ]; then
    unshare --mount --net --uts --pid --fork --kill-child --mount-proc bash "$0" "$bin" inside
    exit
fi

hostname controller
ip link set lo up
ip link add net0 type veth peer name net1
for i in 1 2 3; do ip address add 10.77.0.$i/24 dev net0; done
ip link set net0 up
ip link set net1 up
printf '127.0.0.1 localhost\n10.77.0.3 controller\n10.77.0.1 node1\n10.77.0.2 node2\n' >"$dir/hosts"
mount --bind "$dir/hosts" /etc/hosts
mkdir "$dir/state" "$dir/spool-node1" "$dir/spool-node2"
cat >"$dir/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=controller(10.77.0.3)
AuthType=auth/none
CredType=cred/none
SlurmUser=root
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool-%n
SlurmctldPidFile=$dir/controller.pid
SlurmdPidFile=$dir/%n.pid
SlurmctldLogFile=$dir/controller.log
SlurmdLogFile=$dir/%n.log
SlurmdParameters=config_overrides
NodeName=node1 NodeHostname=controller NodeAddr=10.77.0.1 Port=17003 CPUs=4
NodeName=node2 NodeHostname=controller NodeAddr=10.77.0.2 Port=17004 CPUs=4
PartitionName=all Nodes=node[1-2] Default=YES OverSubscribe=FORCE
CONF
export SLURM_CONF=$dir/slurm.conf
touch "$dir/controller.log" "$dir/node1.log" "$dir/node2.log"
slurmctld -D >"$dir/daemons" 2>&1 &
wait_for "Running as primary controller" "$dir/controller.log"
for node in node1 node2; do slurmd -D -N $node >>"$dir/daemons" 2>&1 & done
for node in node1 node2; do wait_for "slurmd started" "$dir/$node.log"; done

# srun waits until the nodes have registered.
timeout 60 srun -N2 -n3 "$bin/mnist_replica" --insecure $training >"$dir/out" 2>"$dir/err"
check_training "a step on two nodes" $?
check "a log line says what was found" \
    grep -q ' Slurm step 1.0: 3 tasks on 2 hosts, 1 of them parameter servers; this is /job:worker/task:1 at node2:2222$' "$dir/err"

timeout 60 srun -N2 -n3 -m cyclic "$bin/mnist_replica" --insecure $training >"$dir/out" 2>"$dir/err"
check_training "a step whose tasks are dealt to the nodes in turn" $?
check "its second task is on the second node" grep -q 'this is /job:worker/task:0 at node2:2222$' "$dir/err"

timeout 60 srun -N1 -n3 "$bin/mnist_replica" $training >"$dir/out" 2>"$dir/err"
check_training "a step on one node needs no --insecure" $?

timeout 60 srun -n1 "$bin/mnist_replica" $training >"$dir/out" 2>"$dir/err"
check "a step of one task is no cluster" grep -q "which task is this?" "$dir/err"

if command -v mpirun >/dev/null; then
    printf '#!/bin/sh\nexec mpirun --allow-run-as-root --oversubscribe -n 3 %s %s\n' "$bin/mnist_replica" "$training" \
        >"$dir/batch.sh"
    timeout 60 sbatch --wait -N2 -n4 -o "$dir/out" -e "$dir/err" "$dir/batch.sh" >/dev/null
    check_training "mpirun within a job of Slurm" $?
    check "its ranks are mpirun's" grep -q ' mpirun: 3 tasks on 1 host' "$dir/err"
fi
[ $failures = 0 ] || for log in "$dir/daemons" "$dir"/*.log; do tail -n 20 "$log"; done
[ $failures = 0 ]

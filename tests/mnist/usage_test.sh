#!/usr/bin/env bash
# The flags of programs that train on digits: what they say when these are wrong, and runs in one process.
# timeout: 180
. "$(dirname "$0")/lib.sh"

# says CODE TEXT FLAGS...: the program ends with CODE and says TEXT, on standard error and without starting
# anything.
program=mnist_replica
says() {
    local code=$1 text=$2
    shift 2
    timeout 60 "$bin/$program" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    check "$program $*: exit code $code" test $? = "$code"
    check "$program $*: says '$text'" grep -qF -- "$text" "$dir/err"
}
unset TF_CONFIG
says 2 'Give --job_name=worker --task_index=0'
says 2 '--job_name needs --task_index' --job_name=worker
says 2 'did you mean --train_steps?' --train_step=5
says 2 '--replicas_to_aggregate belongs to --sync_replicas' --replicas_to_aggregate=2
says 2 '--deterministic belongs to --sync_replicas' --deterministic
says 2 '--replicas_to_aggregate must be 0 to 100000' --sync_replicas --replicas_to_aggregate=-1
says 2 '--num_gpus=0' --num_gpus=1
says 2 '--batch_size' --batch_size=0
says 2 'localhost' --job_name=worker --task_index=0 --worker_hosts=localhost
says 2 '7' --job_name=worker --task_index=7
TF_CONFIG='{"cluster":' says 2 'TF_CONFIG'
TF_CONFIG='{}' says 1 '/nowhere/train-images-idx3-ubyte.gz' --data_dir=/nowhere
program=mnist_algorithm
for rates in x 0.1, 0 ,0.1 -1; do
    TF_CONFIG='{}' says 2 '--worker_rates must be numbers above 0' --worker_rates=$rates
done
TF_CONFIG='{}' says 2 '--staleness must be' --staleness=-2
TF_CONFIG='{}' says 2 '--backup_workers must be' --backup_workers=-2
TF_CONFIG='{}' says 2 '--rho must be' --rho=-1
TF_CONFIG='{}' says 2 '--momentum must be' --momentum=1
TF_CONFIG='{}' says 2 '--threads is for the algorithm hogwild' --threads=2
TF_CONFIG='{}' says 2 '--threads must be 1 to 1000' --algorithm=hogwild --threads=0

"$bin/mnist_replica" --help >"$dir/out" 2>"$dir/err"
check "--help: exit code 0" test $? = 0
check "--help: names each flag" test "$(grep -c '^  --' "$dir/out")" -ge 15

TF_CONFIG='{}' "$bin/mnist_replica" --train_steps 200 --log_dir="$dir/model" >"$dir/out" 2>"$dir/err"
check "one process without a cluster: exit code 0" test $? = 0
check "one process without a cluster: it learns" at_least "$(accuracy)" 0.9
check "the first step is reported" grep -q '^first step after [0-9.]* s$' "$dir/err"

learned=$(accuracy)
check "--log_dir: the last step is saved" grep -q '^model_checkpoint_path: .*model.ckpt-200"' "$dir/model/checkpoint"
check "--log_dir: so is the graph" grep -q 'name: "hid_w"' "$dir/model/graph.pbtxt"
TF_CONFIG='{}' "$bin/mnist_replica" --train_steps 200 --log_dir="$dir/model" >"$dir/out" 2>"$dir/err"
check "--log_dir: training that has ended is not repeated" test "$?,$(accuracy)" = "0,$learned"
TF_CONFIG='{}' "$bin/mnist_replica" --train_steps 300 --log_dir="$dir/model" >"$dir/out" 2>"$dir/err"
check "--log_dir: training goes on" grep -q '^model_checkpoint_path: .*model.ckpt-300"' "$dir/model/checkpoint"
check "--log_dir: no temporary file is left" test -z "$(ls -A "$dir/model" | grep -i -e temp -e tmp)"

TF_CONFIG='{}' "$bin/mnist_replica" --train_steps 50 --sync_replicas --replicas_to_aggregate=3 >"$dir/out" 2>"$dir/err"
check "in step, three gradients to an update: exit code 0" test $? = 0
check "in step, three gradients to an update: it learns" at_least "$(accuracy)" 0.8

TF_CONFIG='{}' "$bin/hogwild" --threads=2 --train_steps=1000 >"$dir/out" 2>"$dir/err"
check "two threads of one process: exit code 0" test $? = 0
check "two threads of one process: they learn" at_least "$(accuracy)" 0.9
check "two threads of one process: some updates were stale" grep -q 'staleness of updates: 0: .* 1: ' "$dir/err"

"$bin/braid" run --ps 1 --workers 2 mnist_algorithm --algorithm=backup_workers --train_steps=100 >"$dir/out" 2>"$dir/err"
check "backup_workers: one of two workers may be late" test $? = 0
check "backup_workers: a gradient came too late" grep -qE '^worker/0 \|  +[01] +[0-9]+ +[0-9]+ +[1-9]' "$dir/err"

# With --learning_rate they would learn.
"$bin/braid" run --ps 1 --workers 2 synchronous_rates --train_steps=200 --worker_rates=1e-9,1e-9 >"$dir/out" 2>"$dir/err"
check "rates of workers: exit code 0" test $? = 0
check "rates of workers: they are what trains" below "$(accuracy)" 0.3

# Every worker's gradient, and the first of three to come.
for aggregate in 0 2; do
    "$bin/braid" run --ps 2 --workers 3 mnist_replica --train_steps=100 --sync_replicas \
        --replicas_to_aggregate=$aggregate >"$dir/out" 2>"$dir/err"
    check "three workers in step, $aggregate to aggregate: exit code 0" test $? = 0
    check "three workers in step, $aggregate to aggregate: they learn" at_least "$(accuracy)" 0.85
done
[ $failures = 0 ]

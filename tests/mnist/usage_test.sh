#!/usr/bin/env bash
# mnist_replica's flags: what it says when they are wrong, and a run in one process.
. "$(dirname "$0")/lib.sh"

# says CODE TEXT FLAGS...: the program ends with CODE and says TEXT, on standard error and without starting
# anything.
says() {
    local code=$1 text=$2
    shift 2
    timeout 60 "$bin/mnist_replica" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    check "mnist_replica $*: exit code $code" test $? = "$code"
    check "mnist_replica $*: says '$text'" grep -qF -- "$text" "$dir/err"
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

# Every worker's gradient, and the first of three to come.
for aggregate in 0 2; do
    "$bin/braid" run --ps 2 --workers 3 mnist_replica --train_steps=100 --sync_replicas \
        --replicas_to_aggregate=$aggregate >"$dir/out" 2>"$dir/err"
    check "three workers in step, $aggregate to aggregate: exit code 0" test $? = 0
    check "three workers in step, $aggregate to aggregate: they learn" at_least "$(accuracy)" 0.85
done
[ $failures = 0 ]

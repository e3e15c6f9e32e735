#!/usr/bin/env bash
# Deterministic synchronous training: a run whose workers are stopped and resumed at random, beside load on
# each core, ends with the variables of an undisturbed one, bit for bit.
# labels: slow
# timeout: 240
. "$(dirname "$0")/lib.sh"
steps=120

# Stops and resumes workers at random while process $1 lives.
disturb() { # RUN WORKERS
    local p
    while kill -0 "$1" 2>/dev/null; do
        p=$(pid_of worker $((RANDOM % $2)))
        [ -n "$p" ] && kill -STOP "$p" 2>/dev/null
        read -rt "0.0$((RANDOM % 6 + 1))" <> <(:)
        [ -n "$p" ] && kill -CONT "$p" 2>/dev/null
    done
}

# train DIR PS WORKERS FLAGS...: in the background, as $run.
train() {
    "$bin/braid" run --ps "$2" --workers "$3" mnist_replica --sync_replicas --deterministic --train_steps=$steps \
        --log_dir="$1" "${@:4}" >"$dir/out" 2>"$dir/err" &
    run=$!
}

same_checkpoints() {
    local f count=0
    for f in "$1/model.ckpt-$steps".*; do
        case $f in *.meta) continue ;; esac
        cmp "$f" "$2/${f##*/}" || return 1
        count=$((count + 1))
    done
    [ $count -ge 2 ] # an index and the data
}

check_equal() { # PS WORKERS FLAGS...
    rm -rf "$dir/quiet" "$dir/disturbed"
    train "$dir/quiet" "$@"
    wait $run
    check "exit code 0" test $? = 0
    train "$dir/disturbed" "$@"
    set -m
    load_cores &
    local load=$!
    set +m
    disturb $run "$2"
    kill -KILL -- -$load
    wait $run
    check "exit code 0, disturbed" test $? = 0
    check "equal variables: $1 ps, $2 workers ${*:3}" same_checkpoints "$dir/quiet" "$dir/disturbed"
}
check_equal 1 2
check_equal 2 3
check_equal 2 2 --replicas_to_aggregate=4
[ $failures = 0 ]

#!/usr/bin/env bash
# The main job when tasks are killed or never start: everything ends, in time, and says why.
# timeout: 120
. "$(dirname "$0")/lib.sh"

# In the background; the log of the tasks is $dir/err.
start() { : >"$dir/err"; "$bin/braid" run "$@" >"$dir/out" 2>"$dir/err" & run=$!; }
seconds_since() { awk -v a="$1" -v b="$(date +%s.%N)" 'BEGIN { print b - a }'; }

start --ps 1 --workers 3 mnist_replica --train_steps=3000
wait_for "worker/2 | .*first step" "$dir/err"
kill -KILL "$(pid_of worker 2)"
wait $run
check "a worker killed: 128 + 9" test $? = 137
check "a worker killed: the rest finish" at_least "$(accuracy)" 0.5
check "a worker killed: it is named" grep -q "worker/2 was killed by signal 9" "$dir/err"
check "a worker killed: no process is left" no_process_left

start --ps 2 --workers 2 mnist_replica --train_steps=1000000
wait_for "worker/1 | .*first step" "$dir/err"
killed=$(date +%s.%N)
kill -KILL "$(pid_of ps 1)"
wait $run
check "a parameter server killed: its exit code" test $? = 137
check "a parameter server killed: all end within 30 s" below "$(seconds_since "$killed")" 30
for w in 0 1; do
    check "worker $w says which task is gone" grep -q "worker/$w | .*Unavailable.*/job:ps/.*task:1" "$dir/err"
done
check "a parameter server killed: no process is left" no_process_left

cat >"$dir/no_ps" <<'EOS'
#!/usr/bin/env bash
[[ $TF_CONFIG == *'"type": "ps", "index": 1'* ]] && exec tail -f /dev/null
exec "$BIN/mnist_replica" --train_steps=100
EOS
chmod +x "$dir/no_ps"
BIN=$bin start --ps 2 --workers 1 --timeout 3 "$dir/no_ps"
wait $run
check "a task that never starts: --timeout ends the run with 124" test $? = 124
check "a task that never starts: it is named, once" test "$(grep -c 'worker/0 | .*CreateSession.*waits for.*/job:ps/.*task:1' "$dir/err")" = 1
check "a task that never starts: no process is left" no_process_left

# On a busy machine the end takes longer, as the begin does. The quickest of three counts.
quickly=
for _ in 1 2 3; do
    begun=$(date +%s.%N)
    start --ps 1 --workers 2 mnist_replica --train_steps=1000000
    wait_for "worker/1 | .*first step" "$dir/err"
    limit=$(seconds_since "$begun" | awk '{ print 1.5 + 2 * $1 }')
    asked=$(date +%s.%N)
    kill -TERM $run
    wait $run
    check "SIGTERM: 128 + 15" test $? = 143
    took=$(seconds_since "$asked")
    below "$took" "$limit" && quickly=yes && break
done
check "SIGTERM ends all about as quickly as they begin: $took s, within $limit s" test "$quickly"
[ $failures = 0 ]

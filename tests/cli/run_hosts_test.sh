#!/usr/bin/env bash
# `braid run --hosts` with a stand-in for ssh, which runs the command here, in a session of its own: killing
# it does not kill what it has started.
# timeout: 120
. "$(dirname "$0")/../mnist/lib.sh"
unset TF_CONFIG

# All that runs on the "hosts" holds the pipe open: its reader sees when nothing is left.
mkfifo "$dir/alive"
cat >"$dir/ssh" <<SSH
#!/bin/sh
exec 9<>"$dir/alive"
echo \$\$ >>"$dir/ssh-\$1"
shift
exec setsid --wait env -u FOO sh -c "\$1"
SSH
chmod +x "$dir/ssh"
export BRAID_SSH=$dir/ssh
# Reads the pipe in the background, before the first one opens it.
watch_alive() { timeout 100 cat "$dir/alive" >/dev/null & watcher=$!; }
nothing_left() { wait "$watcher"; }
run() { timeout 60 "$bin/braid" run "$@" >"$dir/out" 2>"$dir/err"; }

watch_alive
run --hosts 127.0.0.1:2,127.0.0.2:2 --port 21870 mnist_replica --train_steps=300 --learning_rate=0.003
check "a cluster on two hosts trains: exit code 0" test $? = 0
check "test accuracy of at least 0.5" at_least "$(accuracy)" 0.5
listens() { grep -q "/job:$1 at $2 " "$dir/err"; }
check "parameter servers are dealt to the hosts first" listens ps/task:0 127.0.0.1:21870
check "workers take the next hosts in turn" listens worker/task:0 127.0.0.2:21870
check "the tasks of a host have ports in a row" listens worker/task:1 127.0.0.1:21871
check "nothing is left on the hosts" nothing_left

# ---- Certificates of the run ----

run --hosts a,b --ps 0 sh -c 'stat -c %a "$BRAID_TLS_DIR"; ls "$BRAID_TLS_DIR"; cksum <"$BRAID_TLS_DIR/ca.pem"; echo "$BRAID_TLS_DIR" >>"'"$dir"'/key-dirs"'
check "tasks on two hosts get a certificate" test "$(grep -c 'cert.pem\|key.pem\|ca.pem' "$dir/out")" = 6
check "of one authority" test "$(grep -o '| [0-9]* [0-9]*$' "$dir/out" | sort -u | wc -l)" = 1
check "for their user only" test "$(grep -c '| 700$' "$dir/out")" = 2
check "it is removed with the task" test -z "$(xargs ls 2>/dev/null <"$dir/key-dirs")"
run --hosts a,b --ps 0 --insecure sh -c 'echo "dir=$BRAID_TLS_DIR"'
check "--insecure makes none" test "$(grep -c '| dir=$' "$dir/out")" = 2
run --hosts a,b --ps 0 --tls-dir "$dir/mine" sh -c 'echo "dir=$BRAID_TLS_DIR"'
check "--tls-dir names another one" test "$(grep -c "| dir=$dir/mine\$" "$dir/out")" = 2
run --hosts a:2 --ps 0 sh -c 'echo "dir=$BRAID_TLS_DIR"'
check "tasks of one host need none" test "$(grep -c '| dir=$' "$dir/out")" = 2

# ---- What a task gets, and its end ----

watch_alive
cd "$dir" || exit 1
export FOO="it's a \"value\"
in two lines"
run --hosts h:1 --ps 0 sh -c 'printf "%s|" "$PWD" "$FOO" "$TF_CONFIG" "$@"; echo; echo problem >&2' sh "a  b" "" "'"
check "the task runs: exit code 0" test $? = 0
printf 'worker/0 | %s|%s|{"cluster": {"worker": ["127.0.0.1:PORT"]}, "task": {"type": "worker", "index": 0}}|a  b||%s|\n' \
    "$dir" "${FOO//$'\n'/$'\n'worker/0 | }" "'" >"$dir/expected"
check "directory, environment, TF_CONFIG and arguments are the task's" \
    diff "$dir/expected" <(sed 's/127.0.0.1:[0-9]*/127.0.0.1:PORT/' "$dir/out")
check "its standard error is on standard error" grep -qx 'worker/0 | problem' "$dir/err"
check "nothing is left on the host" nothing_left

run --hosts h --ps 0 sh -c 'exit 7'
check "the exit code is the task's" test $? = 7
run --hosts h --ps 0 sh -c 'kill -KILL $$'
check "the signal is the task's" test $? = 137
check "the signal is named" grep -q 'worker/0 was killed by signal 9' "$dir/err"
run --hosts h --ps 0 "$dir/ssh-h"
check "what is no program cannot be run" test $? = 2
run --hosts h --ps 0 --restarts 2 sh -c 'test -e again || { touch again; exit 1; }'
check "a task that fails is restarted" test $? = 0
mkfifo "$dir/up"
"$bin/braid" run --hosts h --ps 0 sh -c 'trap "echo asked; exit 0" TERM; sleep 60 & echo >up; wait' >"$dir/out" 2>"$dir/err" &
run=$!
read -r _ <"$dir/up"
kill -TERM $run
wait $run
check "a signal reaches the task" grep -qx 'worker/0 | asked' "$dir/out"

# ---- One end is gone ----

watch_alive
rm -f "$dir"/ssh-*
"$bin/braid" run --hosts 127.0.0.1:2,127.0.0.2:1 mnist_replica --train_steps=1000000 >"$dir/out" 2>"$dir/err" &
run=$!
wait_for "worker/1 | first step" "$dir/err"
kill -KILL $run
wait $run 2>/dev/null
check "braid run is killed: nothing is left on the hosts" nothing_left

watch_alive
rm -f "$dir"/ssh-*
: >"$dir/err"
"$bin/braid" run --hosts 127.0.0.1:1,127.0.0.2:2 mnist_replica --train_steps=1000000 >"$dir/out" 2>"$dir/err" &
run=$!
wait_for "worker/1 | first step" "$dir/err"
kill -KILL "$(cat "$dir/ssh-127.0.0.1")"
wait $run
check "the connection to the parameter server is lost: exit code 255" test $? = 255
check "the lost task and its host are named" \
    grep -q "ps/0 on host 127.0.0.1 is lost: ssh has ended with signal 9" "$dir/err"
check "nothing is left on the hosts after that" nothing_left

# ---- What does not start ----

printf '#!/bin/sh\necho Welcome\nsleep 60\n' >"$dir/chatty"
chmod +x "$dir/chatty"
run --ssh "$dir/chatty" --hosts h --ps 0 true
check "a shell that prints is no agent" grep -q "worker/0 on host h is lost: what came from there" "$dir/err"
run --ssh "$dir/nowhere" --hosts h --ps 0 true
check "an ssh that cannot be run: exit code 255" test $? = 255
check "an ssh that cannot be run is named" grep -q "nowhere" "$dir/err"

# says WHAT EXPECTED ARGUMENT...: a mistake in the command line.
says() {
    local what=$1 expected=$2
    shift 2
    run "$@"
    check "$what: exit code 2" test $? = 2
    check "$what" grep -qF -- "$expected" "$dir/err"
}
printf '# hosts\na slots=2 max_slots=4\n\nb:2\n' >"$dir/hostfile"
says "a hostfile has slots" "6 tasks, and the hosts have room for 4" --hostfile "$dir/hostfile" --workers 5 true
printf 'a slots=2\nb slots=x\n' >"$dir/hostfile"
says "a mistake in a hostfile is named" "line 2: 'slots=x' is no slots=N" --hostfile "$dir/hostfile" true
says "a host with a dash is refused" "'-oProxyCommand=x' is no name of a host" --hosts -oProxyCommand=x true
says "hosts are given once" "--hosts or --hostfile, not both" --hosts a --hostfile b true
says "one task is no cluster" "leaves no task that trains" --hosts a true
[ $failures = 0 ]

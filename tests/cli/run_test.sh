#!/usr/bin/env bash
# What `braid run` promises, for any program: environment, prefixes, exit codes, the end of everything.
set -u
braid=$1/braid
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

check() { # check WHAT EXPECTED ACTUAL
    if [ "$2" = "$3" ]; then echo "ok: $1"; else
        echo "FAILED: $1"; printf -- '--- expected\n%s\n--- got\n%s\n' "$2" "$3"; failures=$((failures + 1))
    fi
}

# script NAME: a program from standard input. $task is "worker/1".
script() {
    { echo '#!/usr/bin/env bash'
      echo 'task=$(sed -E "s|.*\"type\": \"([a-z]+)\", \"index\": ([0-9]+).*|\1/\2|" <<<"$TF_CONFIG")'
      cat; } >"$dir/$1"
    chmod +x "$dir/$1"
}
run() { "$braid" run "$@" >"$dir/out" 2>"$dir/err"; echo $?; }

script hello <<'EOS'
echo "I am $task with $*"
EOS
code=$(run --ps 1 --workers 2 --chief "$dir/hello" --ps 5 x)
check "exit code 0 when all succeed" 0 "$code"
check "each task has its own TF_CONFIG, its lines a prefix, options end at PROGRAM" \
"chief/0 | I am chief/0 with --ps 5 x
ps/0 | I am ps/0 with --ps 5 x
worker/0 | I am worker/0 with --ps 5 x
worker/1 | I am worker/1 with --ps 5 x" "$(sort "$dir/out")"

script python <<'EOS'
echo "python $*"
EOS
: >"$dir/train.py" # not executable
BRAID_PYTHON=$dir/python run --ps 1 --workers 1 "$dir/train.py" --steps 5 >/dev/null
check "a file of Python finds Braid as its tensorflow" \
"ps/0 | python -m braid $dir/train.py --steps 5
worker/0 | python -m braid $dir/train.py --steps 5" "$(sort "$dir/out" | sed 's/^worker.0 */worker\/0 /;s/^ps.0 */ps\/0 /')"

code=$(run --ps 2 --workers 1 "$dir/hello" --job={job_name} {task_index} {ps_hosts} w={worker_hosts} '{other}')
check "words of a task name it and its cluster" \
"ps/0 | I am ps/0 with --job=ps 0 P,P w=P {other}
ps/1 | I am ps/1 with --job=ps 1 P,P w=P {other}
worker/0 | I am worker/0 with --job=worker 0 P,P w=P {other}" "$(sed -E 's/127\.0\.0\.1:[0-9]+/P/g' "$dir/out" | sort)"

script config <<'EOS'
[ "$task" = worker/0 ] && echo "$TF_CONFIG"
exit 0
EOS
run --ps 2 --workers 1 "$dir/config" >/dev/null
check "TF_CONFIG is JSON with distinct loopback ports" "2 1 3 worker 0" "$(sed 's/^worker.0 | //' "$dir/out" |
    /usr/bin/python3 -c 'import json,sys
c = json.load(sys.stdin); j = c["cluster"]
hosts = [h for v in j.values() for h in v]
assert all(h.startswith("127.0.0.1:") for h in hosts)
print(len(j["ps"]), len(j["worker"]), len(set(hosts)), c["task"]["type"], c["task"]["index"])')"

script shares <<'EOS'
[ "$task" = ps/0 ] || exit 0
[ -d "$BRAID_RUN_DIR" ] && echo "$BRAID_RUN_DIR"
[ $# = 0 ] || echo kept >"$BRAID_RUN_DIR/file"
EOS
mkdir "$dir/tmp"
TMPDIR=$dir/tmp run --ps 1 --workers 1 "$dir/shares" >/dev/null
check "tasks of one host have a directory together, which goes when nothing is in it" "1 0" \
    "$(grep -c "$dir/tmp/braid_run_" "$dir/out") $(ls "$dir/tmp" | wc -l)"
TMPDIR=$dir/tmp run --ps 1 --workers 1 "$dir/shares" keep >/dev/null
check "and stays when something is" kept "$(cat "$dir"/tmp/*/file)"

script evaluates <<'EOS'
[ "$task" = evaluator/0 ] && echo "$TF_CONFIG"
exit 0
EOS
run --ps 1 --workers 1 --evaluator "$dir/evaluates" >/dev/null
check "an evaluator is a task beside the cluster" "ps worker evaluator 0" "$(sed 's/^evaluator.0 | //' "$dir/out" |
    /usr/bin/python3 -c 'import json,sys
c = json.load(sys.stdin)
print(*sorted(c["cluster"]), c["task"]["type"], c["task"]["index"])')"

script files <<'EOS'
[ "$task" = worker/0 ] && echo "$BRAID_FILE_ROOT"
exit 0
EOS
run --file-root /data:/models "$dir/files" >/dev/null
check "--file-root is for the servers of all tasks" "worker/0 | /data:/models" "$(cat "$dir/out")"

script shares <<'EOS'
[ "$task" = worker/0 ] && echo "$BRAID_SHARED_MEMORY $BRAID_CROSS_MEMORY"
exit 0
EOS
run --no-shared-memory "$dir/shares" >/dev/null
check "--no-shared-memory is for all tasks" "worker/0 | 0 0" "$(cat "$dir/out")"

script fails <<'EOS'
case $task in
worker/0) exec 9<"$dir/gate"; echo "still at work"; exit 0 ;;
worker/1) exec 9>"$dir/gate"; exit 3 ;;
esac
EOS
mkfifo "$dir/gate"
code=$(dir=$dir run --workers 2 "$dir/fails")
check "the first failure's code, after the others have finished" "3 worker/0 | still at work" "$code $(cat "$dir/out")"
check "a failure is named" "braid run: worker/1 ended with exit code 3" "$(cat "$dir/err")"

# ps/0.0 is killed; worker/0 ends once braid run has said so.
script replica <<'EOS'
replica=$(sed -nE 's|.*"replica": ([01]).*|\1|p' <<<"$TF_CONFIG")
case $task.$replica in
ps/0.0) kill -KILL $$ ;;
ps/0.1) exec tail -f /dev/null ;;
worker/0.)
    read -r <>"$dir/go"
    sed -E 's/.*"ps": \["([^"]*)".*/\1/' <<<"$TF_CONFIG" | grep -cE '^127.0.0.1:[0-9]+\|127.0.0.1:[0-9]+$' ;;
esac
EOS
mkfifo "$dir/go" "$dir/lines"
exec 8<>"$dir/go"
dir=$dir "$braid" run --ps-replicas 2 "$dir/replica" >"$dir/out" 2>"$dir/lines" &
exec 7<"$dir/lines"
read -r line <&7
echo >&8
wait $!
check "a process of a parameter server that is killed is no failure while its replica runs" \
"0 worker/0 | 1" "$? $(cat "$dir/out")"
check "and the run says which one goes on" \
"braid run: ps/0.0 was killed by signal 9 (Killed); ps/0.1 goes on without a second copy (--restarts N restarts tasks)" \
    "$line$(cat <&7)"

script replicas_killed <<'EOS'
case $task in ps/0) kill -KILL $$ ;; *) exec tail -f /dev/null ;; esac
EOS
code=$(run --ps-replicas 2 "$dir/replicas_killed")
check "when both are killed the parameter server is lost" "137 1" "$code $(grep -c 'without ps/0.[01] the training' "$dir/err")"

script killed <<'EOS'
[ "$task" = worker/0 ] && kill -KILL $$
exit 0
EOS
check "128+N for a task killed by signal N" 137 "$(run --workers 2 "$dir/killed")"

script endless_ps <<'EOS'
[ "${task%/*}" = ps ] && exec tail -f /dev/null
exit 0
EOS
check "parameter servers that never end are ended when the workers have, which is no failure" 0 \
    "$(run --ps 2 --workers 2 "$dir/endless_ps")"

script endless <<'EOS'
tail -f /dev/null & # a child of its own, and one that outlives it in a session of its own
setsid tail -f /dev/null &
echo "$task is up with $! and $$"
wait
EOS
code=$(run --timeout 0.5 "$dir/endless")
check "--timeout ends everything with 124" 124 "$code"
check "and says what was still running" "braid run: not finished after 0.5 s; still running: ps/0, worker/0" \
    "$(grep finished "$dir/err")"
mkfifo "$dir/lines_out"
"$braid" run "$dir/endless" >"$dir/lines_out" 2>/dev/null &
pid=$!
exec 7<"$dir/lines_out"
read -r first <&7
read -r second <&7
kill -TERM $pid
wait $pid
left=0
for pid in $(grep -oE '[0-9]+' <<<"$(sed 's/.*with//' "$dir/out") ${first#*with} ${second#*with}"); do
    [ -e "/proc/$pid" ] && left="$left $pid"
done
check "nothing is left behind, children of tasks included" "0" "$left"

script on_term <<'EOS'
trap 'echo "$task saw TERM"; exit 0' TERM
echo up >"$dir/ready"
read -r <>"$dir/never"
EOS
mkfifo "$dir/ready" "$dir/never"
exec 8<>"$dir/ready"
dir=$dir "$braid" run --workers 2 "$dir/on_term" >"$dir/out" 2>"$dir/err" &
pid=$!
for _ in 1 2 3; do read -r -t 60 <&8; done
kill -TERM $pid
wait $pid
check "a signal is forwarded and makes the exit code" 143 $?
check "to every task" "ps/0 | ps/0 saw TERM
worker/0 | worker/0 saw TERM
worker/1 | worker/1 saw TERM" "$(sort "$dir/out")"

script output <<'EOS'
[ "$task" = worker/0 ] || exit 0
printf 'step 1\rstep 2\rstep 3\n'
printf 'no newline at the end'
EOS
run "$dir/output" >/dev/null
check "a live line shows its last state, an unfinished line is not lost" \
"worker/0 | step 3
worker/0 | no newline at the end" "$(cat "$dir/out")"

script flood <<'EOS'
exec yes
EOS
code=$(run --timeout 0.3 "$dir/flood")
check "output without end keeps nobody from the time limit" 124 "$code"
mkfifo "$dir/unread"
exec 7<>"$dir/unread" # a reader that never reads
timeout 60 "$braid" run --timeout 0.3 --ps 0 "$dir/flood" >&7 2>/dev/null
check "nor does a reader that does not read" 124 $?

script flaky <<'EOS'
[ "$task" = ps/0 ] && exec tail -f /dev/null
n=$(cat "$dir/tries" 2>/dev/null || echo 0)
echo $((n + 1)) >"$dir/tries"
echo "try $n, grace $BRAID_GRACE_SECONDS"
[ "$n" -ge "$fail_times" ] || exit 7
EOS
code=$(dir=$dir fail_times=2 run --restarts 2 --grace 5 "$dir/flaky")
check "a task that fails is restarted" \
"0 worker/0 | try 0, grace 5
worker/0 | try 1, grace 5
worker/0 | try 2, grace 5" "$code $(cat "$dir/out")"
check "each restart is announced, with its reason" \
"braid run: worker/0 ended with exit code 7; restart 1 of 2 in 0.1 s
braid run: worker/0 ended with exit code 7; restart 2 of 2 in 0.2 s" "$(cat "$dir/err")"
rm "$dir/tries"
code=$(dir=$dir fail_times=9 run --restarts 1 "$dir/flaky")
check "a task whose restarts are used up is given up" \
    "7 braid run: worker/0 ended with exit code 7; it has been restarted 1 time and is given up" "$code $(tail -n 1 "$dir/err")"

# ps/0 fails once worker/0 and ps/1 have ended; worker/1 ends when they run a second time.
mkfifo "$dir/worker_ends" "$dir/ps_ends" "$dir/worker_again" "$dir/ps_again"
script finished <<'EOS'
mkdir "$dir/first_$task" 2>/dev/null && first=yes
case $task,$first in
worker/0,yes) exec 3>"$dir/worker_ends" ;;
worker/0,) echo worker/0 again >"$dir/worker_again" ;;
ps/1,yes) exec 3>"$dir/ps_ends" ;;
ps/1,) echo ps/1 again >"$dir/ps_again" ;;
worker/1,*) cat "$dir/worker_again" "$dir/ps_again" ;;
ps/0,yes) cat "$dir/worker_ends" "$dir/ps_ends"; exit 9 ;;
esac
EOS
mkdir "$dir/first_ps" "$dir/first_worker"
code=$(dir=$dir run --ps 2 --workers 2 --restarts 1 --timeout 60 "$dir/finished")
check "after the loss of a parameter server, tasks that had ended are started again for the others" \
"0 worker/1 | worker/0 again
worker/1 | ps/1 again
braid run: ps/0 ended with exit code 9; restart 1 of 1 in 0.1 s
braid run: ps/1 had ended and is started again, because others are not done
braid run: worker/0 had ended and is started again, because a parameter server has lost its variables" \
    "$code $(cat "$dir/out"; sort "$dir/err")"

# worker/0 says that it is done; then ps/0 fails, and worker/0 is killed.
mkfifo "$dir/said" "$dir/ps_is_there"
script said_done <<'EOS'
mkdir "$dir/once_$task" 2>/dev/null || { echo again; exit 5; }
case $task in
worker/0)
    echo "done $task" >&"${BRAID_DONE_NOTICE%%:*}"
    exec 3>"$dir/said" 4<"$dir/ps_is_there"
    echo >&3
    read -r _ <&4
    [ "$is_killed" ] && kill -KILL $$
    exit 0 ;;
ps/0) exec 3<"$dir/said" 4>"$dir/ps_is_there"; read -r _ <&3; exit 9 ;;
esac
EOS
mkdir "$dir/once_ps" "$dir/once_worker"
code=$(dir=$dir is_killed=yes run --restarts 1 --timeout 60 "$dir/said_done")
check "a task whose work is done is not restarted" \
"0 braid run: ps/0 ended with exit code 9 when its work was done: it is not restarted
braid run: worker/0 was killed by signal 9 (Killed) when its work was done: it is not restarted" \
    "$code $(sort "$dir/out" "$dir/err")"
rm -r "$dir/once_ps/0" "$dir/once_worker/0"
code=$(dir=$dir is_killed= run --timeout 60 "$dir/said_done")
check "but without restarts its failure is the run's" 9 "$code"

script says_nothing_of_others <<'EOS'
echo "done worker/1" >&"${BRAID_DONE_NOTICE%%:*}"
exit 3
EOS
code=$(run --ps 0 --restarts 1 "$dir/says_nothing_of_others")
check "what a task says of another one does not count" \
    "3 braid run: worker/0 ended with exit code 3; restart 1 of 1 in 0.1 s" "$code $(head -n 1 "$dir/err")"

script lost_ps <<'EOS'
[ "$task" = ps/0 ] && exit 5
exec tail -f /dev/null
EOS
code=$(run "$dir/lost_ps")
check "the run ends when a parameter server is lost" \
"5 braid run: ps/0 ended with exit code 5
braid run: without ps/0 the training cannot go on: the other tasks are ended (--restarts N restarts tasks)" \
    "$code $(cat "$dir/err")"

check "no such program" "2 braid run: no program 'no-such-program' beside braid, among its examples, or in PATH." \
    "$(run no-such-program) $(cat "$dir/err")"
check "unknown option" "2 braid run: unknown option '--pss'. See 'braid run --help'." \
    "$(run --pss 2 x) $(cat "$dir/err")"
check "bad number" "2 braid run: --ps takes a whole number, not 'two'. See 'braid run --help'." \
    "$(run --ps two x) $(cat "$dir/err")"

[ $failures = 0 ]

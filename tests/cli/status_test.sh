#!/usr/bin/env bash
# `braid status`: the tasks of a cluster, a step that waits, a task that is gone, JSON, a watched terminal.
# timeout: 120
set -u
braid=$1/braid
tests=$(dirname "$0")/..
dir=$(mktemp -d)
failures=0
pids=()
# The tests end what they have started.
trap 'for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done; wait; rm -rf "$dir"' EXIT
unset BRAID_TLS_DIR NO_COLOR

check() { # check WHAT COMMAND...
    local what=$1
    shift
    if "$@" >"$dir/out" 2>&1; then echo "ok: $what"; else
        echo "FAILED: $what: $(cat "$dir/out")"; failures=$((failures + 1))
        return 1
    fi
}
shows() { # shows WHAT PATTERN FILE
    check "$1" grep -E -- "$2" "$3" || { echo "$3 is:"; cat "$3"; }
}
is() { # is WHAT EXPECTED ACTUAL
    check "$1: $3" test "$2" = "$3" || { echo "the last status is:"; cat "$dir/status"; }
}

# read_until FD PATTERN: reads lines until one matches, and leaves it in $line.
read_until() {
    while read -r line <&"$1"; do
        # shellcheck disable=SC2053
        [[ $line == $2 ]] && return 0
    done
    echo "FAILED: the output ended before '$2'"
    failures=$((failures + 1))
    return 1
}

# ---- Servers, of which one is never started and one dies ----

read -r -a ports < <(/usr/bin/python3 "$tests/free_ports.py" 4)
ps=127.0.0.1:${ports[0]} worker0=127.0.0.1:${ports[1]} worker1=127.0.0.1:${ports[2]}
cluster="{\"ps\": [\"$ps\"], \"worker\": [\"$worker0\", \"$worker1\"]}"

# serve JOB INDEX [NAME]: starts a server, $pid, and returns when it listens.
serve() {
    local file=$dir/log.$1.$2.${3-}
    mkfifo "$file"
    "$braid" server --cluster "$cluster" --job "$1" --task "$2" 2>"$file" &
    pid=$!
    pids+=("$pid")
    exec {log}<"$file"
    read_until "$log" "*Serving*"
    cat <&"$log" >/dev/null &
}
status() { # status ARGUMENT...: to $dir/status; the code to $code
    "$braid" status --timeout 20 "$@" >"$dir/status" 2>&1
    code=$?
}

serve ps 0
serve worker 0
worker0_pid=$pid
status "$ps"
is "a task is missing" 1 $code
shows "a task that serves" "^ps/0 +$ps +serving +[0-9.]+ s +[0-9.]+ [kM]B +[0-9]+% +0, 0 B +" "$dir/status"
shows "the others are found through it" "^worker/0 +$worker0 +serving" "$dir/status"
shows "a task that was never there has the reason" "^worker/1 +$worker1 +unseen: .*is unavailable" "$dir/status"
status "$worker0"
shows "any task knows all" "^ps/0 +$ps +serving" "$dir/status"

serve worker 1
status "$ps"
is "all tasks answer" 0 $code
status "$ps" --json
is "all tasks answer" 0 $code
check "it is JSON" /usr/bin/python3 -m json.tool "$dir/status"
is "JSON has what each task says" "ps/0 ps 0, worker/0 worker 0, worker/1 worker 0" "$(/usr/bin/python3 -c '
import json, sys
tasks = json.load(open(sys.argv[1]))["tasks"]
print(", ".join("{} {job} {sessions_open}".format(t["name"], **t["description"]) for t in tasks))' "$dir/status")"
kill -9 "$worker0_pid"
wait "$worker0_pid" 2>/dev/null
status "$ps"
is "a task has died" 1 $code
shows "a task that has died" "^worker/0 +$worker0 +(lost|unreachable): .*is unavailable" "$dir/status"

# ---- A log, and a terminal ----

: >"$dir/watched" # the shell in the background may open it only after `tail`
"$braid" status "$ps" --watch=0.05 >>"$dir/watched" 2>&1 &
watching=$!
mkfifo "$dir/lines"
tail -f -n +1 --pid=$watching "$dir/watched" >"$dir/lines" &
exec {lines}<"$dir/lines"
read_until "$lines" "*2 of 3 tasks answer*" && read_until "$lines" "*worker/0: *" && read_until "$lines" "*2 of 3*"
kill -TERM $watching
wait $watching
is "--watch ends by SIGTERM" 143 $?
shows "a line for a log" '^[0-9]{4}-[0-9-]+ [0-9:]+ 2 of 3 tasks answer, 0 sessions, 0.0 steps/s, 0 steps in progress' "$dir/watched"
check "there are no colours in a log" test "$(grep -c $'\033' "$dir/watched")" = 0
check "the log does not clear a screen" test "$(grep -c TASK "$dir/watched")" = 0

# in_terminal COMMAND: runs it on a terminal of its own, whose keys are $keys and whose output $terminal.
in_terminal() {
    rm -f "$dir/keys" "$dir/terminal"
    mkfifo "$dir/keys" "$dir/terminal"
    script -qefc "stty rows 6 cols 60; $1" "$dir/typescript" <"$dir/keys" >"$dir/terminal" 2>&1 &
    terminal_pid=$!
    exec {keys}>"$dir/keys" {terminal}<"$dir/terminal"
}
esc=$'\033'

in_terminal "exec '$braid' status $ps --watch 0.05"
read_until "$terminal" "*$esc[[]?1049h*TASK*" # the alternate screen
read_until "$terminal" "*more lines*"         # of six lines
read_until "$terminal" "*TASK*"               # it is drawn again
printf q >&"$keys"
cat <&"$terminal" >"$dir/rest"
wait $terminal_pid
is "'q' ends it; a task does not answer" 1 $?
exec {keys}>&-
shows "the screen is given back" "$esc\[\?1049l" "$dir/rest"
shows "there are colours" "$esc\[31m|$esc\[1m" "$dir/typescript"
check "no line is wider than the terminal" /usr/bin/python3 -c '
import re, sys
text = open(sys.argv[1], newline="", errors="replace").read()
frames = re.split("\033\\[H", text[text.index("\033[?1049h"):text.index("\033[?1049l")])[1:]
lines = [l for f in frames for l in re.sub("\033\\[[0-9;?]*[a-zA-Z]", "", f).split("\n")]
assert len(frames) > 1 and max(len(l.rstrip("\r")) for l in lines) == 60
assert max(len(f.split("\n")) for f in frames) == 6
' "$dir/typescript"

in_terminal "echo pid \$\$; export NO_COLOR=1; exec '$braid' status $ps --watch 0.05"
read_until "$terminal" "pid *"
watching=$(tr -dc 0-9 <<<"$line")
read_until "$terminal" "*TASK*"
kill -TERM "$watching"
cat <&"$terminal" >"$dir/rest"
wait $terminal_pid
is "SIGTERM ends it" 143 $?
exec {keys}>&-
shows "the screen is given back, too" "$esc\[\?25h$esc\[\?1049l" "$dir/rest"
check "there are no colours with NO_COLOR" test "$(grep -cE "$esc\[(1|31|33)m" "$dir/typescript")" = 0

# ---- A worker that is stopped: the other one waits for it ----

cat >"$dir/program" <<EOS
#!/usr/bin/env bash
echo "config \$\$ \$TF_CONFIG"
exec "$1/mnist_replica" "\$@"
EOS
chmod +x "$dir/program"
mkfifo "$dir/training"
"$braid" run --ps 1 --workers 2 "$dir/program" --sync_replicas --train_steps=100000000 >"$dir/training" 2>&1 &
pids+=($!)
training=$!
exec {run}<"$dir/training"
begun=0 stopped=
while [ $begun -lt 2 ] && read -r line <&"$run"; do
    echo "$line" >>"$dir/begin"
    case $line in
    "worker/1 | config "*)
        stopped=$(cut -d ' ' -f 4 <<<"$line")
        address=$(grep -oE '127.0.0.1:[0-9]+' <<<"$line" | head -n 1) ;;
    *"first step after"*) begun=$((begun + 1)) ;;
    esac
done
cat <&"$run" >/dev/null &
check "both workers begin: $(cat "$dir/begin")" test $begun = 2
status "$address"
is "the cluster of braid run answers" 0 $code
shows "steps are counted" "^[0-9a-f]{8} +worker/0 +[0-9.]+ s +[0-9]+ +[0-9.]+ +[0-9]+ +[0-9]+ +the server's process" "$dir/status"
kill -STOP "$stopped"
for ((i = 0; i < 20; i++)); do # soon the last step that needed no other worker has ended
    "$braid" status "$address" --timeout 1 >"$dir/status" 2>&1
    grep -qE "worker/0 .*Dequeue" "$dir/status" && break
done
shows "a stopped worker does not answer" "^worker/1 .*does not answer within 1.0 s" "$dir/status"
shows "the other one waits for its tokens" "^[0-9.]+ s +worker/0 +[0-9a-f]{16} +[0-9a-f]{8} +.*Dequeue" "$dir/status"
kill -CONT "$stopped"
kill "$training"

# ---- TLS: a viewer's certificate is enough ----

authority=$dir/authority
"$braid" keys new "$authority" >/dev/null
"$braid" keys add --role task "$authority" ps0 >/dev/null
"$braid" keys add --role viewer "$authority" viewer >/dev/null
ps=127.0.0.1:${ports[3]}
cluster="{\"ps\": [\"$ps\"]}"
BRAID_TLS_DIR=$authority/ps0 serve ps 0 tls
status "$ps" --tls-dir "$authority/viewer"
is "a viewer may look" 0 $code
shows "a viewer may look" "^ps/0 +$ps +serving" "$dir/status"
status "$ps" --timeout 5
is "nobody may look without a certificate" 1 $code

# ---- Mistakes ----

status
is "an address is needed" 2 $code
status 127.0.0.1:1
is "nobody is there" 1 $code
shows "nobody is there" "^braid status: Unavailable: 127.0.0.1:1 is unavailable" "$dir/status"
status nowhere
shows "an address has a port" "^braid status: InvalidArgument: " "$dir/status"
status "$ps" --watch=0
is "an interval is above 0" 2 $code
exit $((failures > 0))

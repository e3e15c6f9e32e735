#!/usr/bin/env bash
# `braid connect`: what it refuses, whose connections it takes, its end. Steps through it: interop.connect.
set -u
braid=$1/braid
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

check() { # check WHAT COMMAND...
    local what=$1
    shift
    if "$@" >"$dir/out" 2>&1; then echo "ok: $what"; else
        echo "FAILED: $what: $(cat "$dir/out")"; failures=$((failures + 1))
    fi
}

fails() { # fails WHAT CODE EXPECTED ARGUMENT...: `braid connect` exits with CODE and says EXPECTED
    local what=$1 expected_code=$2 expected=$3 code
    shift 3
    "$braid" connect "$@" >"$dir/error" 2>&1
    code=$?
    check "$what" test "$code" = "$expected_code"
    check "$what: the error" grep -F -- "$expected" "$dir/error"
}

"$braid" keys new "$dir/keys" >/dev/null
"$braid" keys --role client add "$dir/keys" alice >/dev/null
alice=$dir/keys/alice
unset BRAID_TLS_DIR

fails "a server is named" 2 "the address of one server is expected"
fails "one server is named" 2 "the address of one server is expected" a:1 b:2
fails "a certificate is needed" 1 "named by --tls-dir (tls_dir) or BRAID_TLS_DIR" ps0:2222
fails "it must be there" 1 "cannot open $dir/none/ca.pem" --tls-dir "$dir/none" ps0:2222
BRAID_TLS_DIR=$dir/none fails "the environment is named in errors" 1 "BRAID_TLS_DIR: cannot open $dir/none/ca.pem" \
    ps0:2222
fails "the address of the server is host:port" 1 "The target of a tunnel: 'ps0' is no host:port" --tls-dir "$alice" ps0
fails "other hosts do not reach it" 1 "it is not a loopback address" --tls-dir "$alice" --listen 0.0.0.0:0 ps0:2222
fails "an unknown user cannot be allowed" 1 "no user 'nobody-knows'" \
    --tls-dir "$alice" --allow-user nobody-knows ps0:2222

# begin ARGUMENT...: starts `braid connect` to a port where nothing listens; sets said, pid and port.
begin() {
    : >"$dir/log"
    coproc entrance { exec "$braid" connect --tls-dir "$alice" "$@" 127.0.0.1:1 2>"$dir/log"; }
    pid=$entrance_PID
    read -r -u "${entrance[0]}" said
    port=${said#*grpc://127.0.0.1:}
    port=${port%% *}
}

# answer [USER]: what a connection gets until it is ended.
answer() {
    local as=()
    if [ $# = 1 ]; then as=(setpriv --reuid "$1" --regid "$1" --clear-groups); fi
    "${as[@]}" bash -c "exec 3<>/dev/tcp/127.0.0.1/$port && cat <&3"
}

begin
check "it says where it listens" test "$said" = "Listening: sessions with the target grpc://127.0.0.1:$port reach 127.0.0.1:1"
check "a connection ends when there is no server" test "$(answer)" = ""
check "and the log says why" grep -F "Cannot reach 127.0.0.1:1: Connection refused. Does its server run?" "$dir/log"
if [ "$(id -u)" = 0 ]; then
    check "a connection of another user ends" test "$(answer 65534)" = ""
    check "and the log says whose it was" \
        grep -E "Connections are refused: .* is of the user nobody: .*--allow-user=nobody" "$dir/log"
    check "it is not carried" test "$(grep -c "Cannot reach" "$dir/log")" = 1
fi
kill "$pid"
wait "$pid"
check "SIGTERM ends it" test $? = 0

if [ "$(id -u)" = 0 ]; then
    begin --allow-user nobody
    check "a user may be allowed" test "$(answer 65534)" = ""
    check "its connections are carried" grep -F "Cannot reach 127.0.0.1:1" "$dir/log"
    kill -INT "$pid"
    wait "$pid"
    check "SIGINT ends it" test $? = 0
fi

begin --listen "unix:$dir/socket"
check "a socket in the file system is an entrance" test -S "$dir/socket"
check "it says its target" test "$said" = "Listening: sessions with the target grpc://unix:$dir/socket reach 127.0.0.1:1"
kill "$pid"
wait "$pid"
check "the socket is removed" test ! -e "$dir/socket"
exit $((failures > 0))

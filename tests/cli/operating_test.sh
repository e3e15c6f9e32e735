#!/usr/bin/env bash
# Runs every command of docs/operating.md, in order, with free ports in place of the page's.
# timeout: 120
set -u
bin=$1
page=$(dirname "$0")/../../docs/operating.md
if ! command -v curl >/dev/null; then
    echo "skipped: the page uses curl, which is not installed"
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
unset BRAID_TLS_DIR

read -r a b c d < <(/usr/bin/python3 "$(dirname "$0")/../free_ports.py" 4)

# The blocks of commands, each with its number and an echo of the line on which it begins.
awk '/^```sh$/ { print "echo \"== line " NR "\""; inside = 1; next } /^```$/ { inside = 0 } inside' "$page" |
    sed "s/2222/$a/g; s/2223/$b/g; s/2229/$c/g; s/9090/$d/g" >"$dir/commands"
# The jobs of the page are those of one shell, which ends at the first command that fails. timeout leads a
# process group that has them all.
(cd "$dir" && PATH=$bin:$PATH exec timeout 100 bash -eu commands >out 2>&1) &
shell=$!
trap 'kill -KILL -- -"$shell" 2>/dev/null; rm -rf "$dir"' EXIT
if ! wait "$shell"; then
    echo "FAILED: a command of the page: $(cat "$dir/out")"
    exit 1
fi
failures=0
check() { # check WHAT COMMAND...
    local what=$1
    shift
    if "$@" >/dev/null 2>&1; then echo "ok: $what"; else
        echo "FAILED: $what"; failures=$((failures + 1))
    fi
}
check "there are commands" test "$(grep -c '^== line' "$dir/out")" -ge 10
check "braid status shows both tasks" test "$(grep -cE '^(ps|worker)/0 .* serving ' "$dir/out")" -ge 4
check "its JSON is JSON" /usr/bin/python3 -m json.tool "$dir/status.json"
check "the metrics have the steps" grep -q '^braid_steps_total 0' "$dir/metrics.txt"
check "the revoked certificate is shown" grep -q 'alice .*REVOKED' "$dir/out"
check "the servers have ended well" grep -q 'SIGTERM: stopping' "$dir/worker0.log"
[ "$failures" = 0 ]

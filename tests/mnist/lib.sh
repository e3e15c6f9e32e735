# What the tests of the main job share: running it, reading its output, finding its processes.
set -u
bin=$1
dir=$(mktemp -d)
# Marks every process of this test in its environment.
export BRAID_TEST_MARK="braid-test-$$-$RANDOM"
failures=0

# Processes of this test but those of its own shell: "pid" lines.
marked() {
    local p
    for p in /proc/[0-9]*; do
        p=${p#/proc/}
        [ "$p" = $$ ] || [ "$p" = "$BASHPID" ] && continue
        grep -qz "^BRAID_TEST_MARK=$BRAID_TEST_MARK$" "/proc/$p/environ" 2>/dev/null || continue
        case $(readlink "/proc/$p/exe") in "$bin"/*) echo "$p" ;; esac
    done
}

# The process of a task, by its TF_CONFIG: pid_of worker 1.
pid_of() {
    local p
    for p in $(marked); do
        grep -qzF "\"type\": \"$1\", \"index\": $2}" "/proc/$p/environ" 2>/dev/null && echo "$p" && return
    done
}

finish() {
    local p
    for p in $(marked); do kill -KILL "$p"; done
    rm -rf "$dir"
}
trap finish EXIT

# Ends the test as skipped when BRAID_MNIST_DIR names no directory of MNIST's files.
need_mnist() {
    if [ -z "${BRAID_MNIST_DIR:-}" ]; then
        echo "SKIPPED: needs real MNIST; set BRAID_MNIST_DIR to the directory of its four idx files"
        exit 77
    fi
    [ -d "$BRAID_MNIST_DIR" ] || { echo "FAILED: BRAID_MNIST_DIR=$BRAID_MNIST_DIR is no directory"; exit 1; }
}

ok() { echo "ok: $1"; }
fail() {
    echo "FAILED: $1"
    for f in "$dir"/out "$dir"/err; do [ -f "$f" ] && { echo "--- ${f##*/}"; tail -40 "$f"; }; done
    failures=$((failures + 1))
}
# check WHAT CONDITION...: the condition is a command.
check() {
    local what=$1
    shift
    if "$@"; then ok "$what"; else fail "$what: $*"; fi
}
# at_least A B: A >= B, as decimal numbers; a missing A is less.
at_least() { awk -v a="${1:-}" -v b="$2" 'BEGIN { exit !(a != "" && a + 0 >= b + 0) }'; }
below() { awk -v a="${1:-}" -v b="$2" 'BEGIN { exit !(a != "" && a + 0 < b + 0) }'; }
accuracy() { sed -n 's/^\([a-z]*\/[0-9]* | \)\?test accuracy: \([01]\.[0-9]\{4\}\)$/\2/p' "$dir/out"; }
no_process_left() { [ -z "$(marked)" ]; }
# wait_for TEXT FILE: until a line of it holds the text.
wait_for() { grep -q -m1 -- "$1" < <(exec timeout 60 tail -n +1 -f "$2" 2>/dev/null); }
# Uses up each core until it is killed.
load_cores() {
    for _ in $(seq "$(nproc)"); do while :; do :; done & done
    wait
}

# What the tests of examples share: a directory of their own, and checks whose failures show the output.
set -u
bin=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

# check WHAT CONDITION...: the condition is a command.
check() {
    local what=$1
    shift
    if "$@"; then echo "ok: $what"; else
        echo "FAILED: $what: $*"
        cat "$dir/out" "$dir/err"
        failures=$((failures + 1))
    fi
}
# run PROGRAM ARGS...: an example; its output is in $dir/out and $dir/err.
run() {
    local program=$1
    shift
    "$bin/$program" "$@" >"$dir/out" 2>"$dir/err"
}
exit_code() { run "$@"; echo $?; }
# at_least A B: A >= B, as decimal numbers; a missing A is less.
at_least() { awk -v a="${1:-}" -v b="$2" 'BEGIN { exit !(a != "" && a + 0 >= b + 0) }'; }
# The number behind a text at the beginning of a line of output.
number_after() { sed -n "s/^$1 *//p" "$dir/out"; }
# The number of nodes that ran on a device, of a printed summary of a step.
nodes_on() { awk -v device="$1" '{ sub(/^[^|]*\| /, "") } /^\/job/ { is_it = $1 == device } is_it && $1 == "(all)" { print $2 }' "$dir/out"; }

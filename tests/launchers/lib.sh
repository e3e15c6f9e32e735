# What the tests of launchers share. Each is called with the directory of the programs, and exits with 77 when
# the launcher is missing.
. "$(dirname "$0")/../mnist/lib.sh"
unset TF_CONFIG BRAID_PS BRAID_PORT BRAID_HOSTS

# need PACKAGE PROGRAM...: ends the test as skipped when a program is missing.
need() {
    local package=$1 program
    shift
    for program in "$@"; do
        command -v "$program" >/dev/null && continue
        echo "SKIPPED: needs $program (apt install $package)"
        exit 77
    done
}

# need_namespaces: ends the test as skipped where no namespaces can be made.
need_namespaces() {
    need iproute2 ip
    unshare --mount --net --uts --pid --fork true 2>/dev/null && return
    echo "SKIPPED: needs namespaces of mounts, network and processes (as root)"
    exit 77
}

# Trained on the digits that the program draws, for a few seconds.
training="--train_steps=300 --learning_rate=0.003"

# check_training WHAT: what the launcher has printed to $dir/out and $dir/err, and its exit code.
check_training() {
    check "$1: exit code 0" test "$2" = 0
    check "$1: test accuracy of at least 0.5" at_least "$(sed -n 's/^test accuracy: //p' "$dir/out")" 0.5
    check "$1: two workers and a parameter server train" test "$(grep -c ' is done$' "$dir/err")" -ge 2
}

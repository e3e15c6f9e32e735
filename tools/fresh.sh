#!/usr/bin/env bash
# fresh.sh [TARBALL]: runs the README's two commands, ./dev demo and ./dev test, in a clean Debian on a clone
# of HEAD. Nothing may fail, and nothing may be skipped but tests that need real MNIST, if BRAID_MNIST_DIR
# does not name it. As root, in about ten minutes, over the network; the Debian is made by debootstrap or
# unpacked from TARBALL.
set -euo pipefail
. "$(dirname "$0")/clean_debian.sh"

install_git() {
    apt_get update
    install git ca-certificates
    in_debian git --version >&3
}

clone() {
    git -c safe.directory='*' clone -q --no-hardlinks "$repository" "$root/home/user/braid"
    git -C "$root/home/user/braid" log -1 --format='%h %s' >&3
}

# Without debug information the programs of the tests take a third of the disk.
small="LDFLAGS=-Wl,--strip-debug"

demo() {
    STEP_TIMEOUT=1200 in_debian "$small" sh -c 'cd braid && ./dev demo'
    grep -o 'test accuracy: .*' "$work/log" >&3
}

run_tests() {
    local mnist=''
    if [ -n "${BRAID_MNIST_DIR:-}" ]; then
        mnist=BRAID_MNIST_DIR=/home/user/mnist
        mkdir "$root/home/user/mnist"
        mount --bind -o ro "$BRAID_MNIST_DIR" "$root/home/user/mnist"
    fi
    STEP_TIMEOUT=3000 in_debian "$small" $mnist sh -c 'cd braid && ./dev test' || return 1
    # A skipped test has to name the variable that it misses: BRAID_MNIST_DIR.
    local report=$root/home/user/braid/build/release/tests.xml wrong
    wrong=$(awk '
        /<testcase /                 { name = $0; sub(/.*<testcase name="/, "", name); sub(/".*/, "", name); skipped = 0 }
        /<skipped/                   { skipped = 1; needs_mnist = 0 }
        skipped && /BRAID_MNIST_DIR/ { needs_mnist = 1 }
        /<\/testcase>/               { if (skipped && !(needs_mnist && has_none)) print name; skipped = 0 }' \
        has_none=$([ -n "$mnist" ]; echo $?) "$report")
    [ -z "$wrong" ] || { echo "skipped, but not for want of real MNIST: "$wrong; return 1; }
    grep -E '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$work/log" | tail -n 1 >&3
}

case ${1:-} in
--inside)
    enter_clean_debian "$2" "$3"
    repository=$(realpath "$(dirname "$0")/..")
    make_root
    step "install git" "A download that failed: run it again." install_git
    step "clone" "The clone is of HEAD: commit first." clone
    LOG_LINES=300
    step "./dev demo" "The lines above are the last ones of the command." demo
    step "./dev test" "The lines above are the last ones of the command." run_tests
    echo "A fresh clone builds, trains and passes its tests."
    ;;
*) run_in_clean_debian 6000 "${1:+$(realpath "$1")}" ;;
esac

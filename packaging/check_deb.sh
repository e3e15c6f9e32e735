#!/usr/bin/env bash
# check_deb.sh DIR [TARBALL]: installs the packages in DIR into a clean Debian and uses them there as an
# ordinary user does: manual pages, training on a cluster of processes, programs in C and C++ of one's own;
# then removes them. The Debian is made by debootstrap, or taken from TARBALL. As root, in minutes, over the
# network (MIRROR=URL: from there). It lies in TMPDIR (or /var/tmp) while this runs, and goes however this
# ends; what it mounts and starts is in name spaces of its own.
set -euo pipefail

fail() { # fail WHAT [REMEDY]
    echo "check_deb.sh: $1" >&2
    [ -z "${2:-}" ] || echo "  $2" >&2
    exit 1
}

# ---- Outside: a place, name spaces, and the end of both ----

outside() {
    [ "$(id -u)" = 0 ] || fail "only root can make a Debian to install into" "Run it with sudo."
    [ $# -ge 1 ] && ls "$1"/braid_*.deb >/dev/null 2>&1 || fail "no packages in '${1:-}'" "./dev package makes them in build/package."
    packages=$(realpath "$1")
    tarball=${2:+$(realpath "$2")}
    [ -n "$tarball" ] || command -v debootstrap >/dev/null || fail "debootstrap is not installed" "apt-get install debootstrap"
    unshare --mount --pid --fork true 2>/dev/null || fail "this system gives root no name spaces of its own" \
        "In a container: start it with --privileged."
    work=$(mktemp -d "${TMPDIR:-/var/tmp}/braid-debian-XXXXXX")
    trap 'echo; exit 130' INT
    trap 'echo; exit 143' TERM HUP
    trap clean_up EXIT
    [ "$(df --output=avail -m "$work" | tail -n 1)" -ge 1500 ] || fail "less than 1.5 GB are free at $work" \
        "TMPDIR=DIR names another place."
    echo "In a clean Debian, at $work until this ends:"
    unshare --mount --pid --fork --kill-child --mount-proc bash "$0" --inside "$work" "$packages" "$tarball" \
        2>/dev/null & # unshare's own complaint when what it runs is killed
    inside_pid=$!
    wait "$inside_pid"
}

clean_up() {
    trap '' INT TERM HUP
    if [ -n "${inside_pid:-}" ]; then
        pkill -KILL -P "$inside_pid" || true # the first process in there: all others end with it, and so do the mounts
        wait "$inside_pid" || true
    fi
    rm -rf --one-file-system "$work"
}

# ---- Inside: a step a line ----

# step WHAT REMEDY COMMAND...: runs it. The last line that it prints on descriptor 3 is its result.
step() {
    local what=$1 remedy=$2 start=$SECONDS status
    shift 2
    printf '  %-46s' "$what"
    set +e
    (set -e; "$@") >"$work/log" 2>&1 3>"$work/result" </dev/null
    status=$?
    set -e
    if [ "$status" != 0 ]; then
        printf 'FAILED after %d s\n\n' $((SECONDS - start))
        tail -n 20 "$work/log" | sed 's/^/    /'
        printf '\n  %s\n' "$remedy"
        exit 1
    fi
    printf '%4d s  %s\n' $((SECONDS - start)) "$(cat "$work/result")"
}

in_debian() { # in_debian [--userspec=USER] COMMAND...
    local user=()
    case $1 in --userspec=*) user=("$1"); shift ;; esac
    timeout 600 chroot "${user[@]}" "$root" env -i -C /home/user HOME=/home/user PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@"
}
as_user() { in_debian --userspec=65534:65534 "$@"; }
apt_get() { in_debian apt-get -q -y -o Acquire::Retries=3 -o Acquire::http::Timeout=30 "$@"; }
install() { apt_get install --no-install-recommends "$@"; }
deb() { basename -a "$packages/$1"_*.deb | sed 's|^|/packages/|'; } # its path there

make_debian() {
    if [ -n "$tarball" ]; then
        tar -xf "$tarball" -C "$root"
    else
        timeout 1200 debootstrap --variant=minbase "$suite" "$root" ${MIRROR:+"$MIRROR"}
    fi
    mkdir -p "$root/packages" "$root/home/user"
    cp "$packages"/*.deb "$root/packages/"
    cp -r "$project" "$root/home/user/project"
    chown -R 65534:65534 "$root/home/user"
    cp /etc/resolv.conf "$root/etc/"
    for file in /etc/apt/apt.conf.d/*proxy*; do [ ! -e "$file" ] || cp "$file" "$root/etc/apt/apt.conf.d/"; done
}

install_program() {
    apt_get update
    install "$(deb libbraid0)" "$(deb braid)"
    in_debian dpkg-query -W -f '${Package} ${Version}  ' libbraid0 braid >&3
}

read_help() {
    install man-db
    local page
    for page in braid braid-run braid-server mnist_replica deep_mnist; do
        as_user sh -c "man $page | grep -q ^NAME"
    done
    as_user braid --help
    as_user bash -c '. /usr/share/bash-completion/completions/braid && complete -p braid'
    echo "man braid, braid-run, braid-server, mnist_replica, deep_mnist" >&3
}

# train LEAST PROGRAM ARGUMENT...: on digits that the program draws itself, up to a test accuracy.
train() {
    local least=$1 accuracy
    shift
    as_user braid run --ps 1 --workers 2 --timeout 300 "$@" | tee "$work/train"
    accuracy=$(sed -n 's/.*test accuracy: //p' "$work/train")
    awk -v a="$accuracy" -v least="$least" 'BEGIN { exit !(a >= least) }' || { echo "test accuracy '$accuracy', not $least"; return 1; }
    echo "test accuracy $accuracy" >&3
}

install_development() { install gcc g++ cmake make pkg-config "$(deb libbraid-dev)"; }

# That libraries are found, and what libbraid-dev says it needs is all that it needs.
build_project() {
    as_user sh -euxc 'cd project
        cc app.c -o app $(pkg-config --cflags --libs braid); ./app
        c++ app.cpp -o app $(pkg-config --cflags --libs braid); ./app
        cc app.c -o app $(pkg-config --cflags --static --libs braid | sed s/-lbraid/-l:libbraid.a/) -Wl,--as-needed; ./app
        cmake -B build; cmake --build build
        for app in build/app_*_*; do $app; done'
    echo "pkg-config and CMake, C and C++, shared and static" >&3
}

build_example() {
    as_user sh -euxc 'cp -r /usr/share/doc/libbraid-dev/examples . && cd examples
        cc -Icommon mnist_replica.c common/*.c -o my_mnist $(pkg-config --cflags --libs braid) -lz -lm'
    train 0 ./examples/my_mnist --train_steps=50
}

remove() {
    apt_get purge braid libbraid0 libbraid-dev
    local left
    left=$(in_debian find /usr /etc /var/lib -name '*braid*' -not -path '/var/lib/apt/*')
    [ -z "$left" ] || { echo "left behind: $left"; return 1; }
    echo "nothing is left behind" >&3
}

inside() {
    project=$(realpath "$(dirname "$0")/../tests/packaging/project")
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
    local made="Is there a network, and Debian's mirror on it? MIRROR=URL takes another, TARBALL a Debian that is there."
    [ -z "$tarball" ] || made="TARBALL must hold the root of a Debian, for example what 'debootstrap --variant=minbase' has made."
    step "Debian $suite, ${tarball:-made by debootstrap}" "$made" make_debian
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    local network="A download that failed: run it again. Dependencies that cannot be met: the packages are of another release of Debian."
    local look="Unpack the packages (dpkg-deb -x) and look for the file named above."
    step "install libbraid0 and braid" "$network" install_program
    step "read manual pages and completion" "$look" read_help
    step "train mnist_replica, 3 processes" "The lines above say what a task met." train 0.9 mnist_replica --train_steps=1500
    step "train deep_mnist, 3 processes" "The lines above say what a task met." train 0.2 deep_mnist --train_steps=60
    step "install libbraid-dev and compilers" "$network" install_development
    step "build and run a project of one's own" "$look" build_project
    step "build and run the example in libbraid-dev" "$look" build_example
    step "purge all three" "What a package writes later belongs into its postrm." remove
    echo "The packages install, run and go."
}

case ${1:-} in
--inside)
    exec 2>&1
    work=$2 packages=$3 tarball=$4
    root=$work/debian # $work has the logs, too
    mkdir "$root"
    inside
    ;;
*) outside "$@" ;;
esac

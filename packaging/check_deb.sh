#!/usr/bin/env bash
# check_deb.sh DIR [TARBALL]: installs the packages in DIR into a clean Debian and uses them there as an
# ordinary user does: manual pages, training on a cluster of processes, programs in C and C++ of the user's
# own. Then it removes them. As root, in minutes, over the network; the Debian is made by debootstrap or
# unpacked from TARBALL (tools/clean_debian.sh).
set -euo pipefail
. "$(dirname "$0")/../tools/clean_debian.sh"

as_user() { in_debian --userspec=65534:65534 "$@"; }
deb() { basename -a "$packages/$1"_*.deb | sed 's|^|/packages/|'; } # its path in the Debian

copy_packages() {
    mkdir -p "$root/packages"
    cp "$packages"/*.deb "$root/packages/"
    cp -r "$project" "$root/home/user/project"
    chown -R 65534:65534 "$root/home/user"
    ls -1 "$root/packages" | wc -l | sed 's/$/ packages/' >&3
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
    awk -v a="$accuracy" -v least="$least" 'BEGIN { exit !(a >= least) }' ||
        { echo "test accuracy '$accuracy', not $least"; return 1; }
    echo "test accuracy $accuracy" >&3
}

install_development() { install gcc g++ cmake make pkg-config "$(deb libbraid-dev)"; }

# That libraries are found, and what libbraid-dev says it needs is all that it needs.
build_project() {
    as_user sh -euxc 'cd project
        cc app.c -o app $(pkg-config --cflags --libs braid); ./app
        c++ app.cpp -o app $(pkg-config --cflags --libs braid); ./app
        static=$(pkg-config --cflags --static --libs braid | sed s/-lbraid/-l:libbraid.a/)
        cc app.c -o app $static -Wl,--as-needed; ./app
        cmake -B build; cmake --build build
        for app in build/app_*_*; do $app; done'
    echo "pkg-config and CMake, C and C++, shared and static" >&3
}

build_example() {
    as_user sh -euxc 'cp -r /usr/share/doc/libbraid-dev/examples . && cd examples
        cc -Icommon mnist_replica/mnist_replica.c common/*.c -o my_mnist \
            $(pkg-config --cflags --libs braid) -lz -lm'
    train 0 ./examples/my_mnist --train_steps=50
}

train_in_python() {
    install "$(deb python3-braid)"
    as_user python3 -m braid project/train.py | tee "$work/train"
    grep -x "y = 3.00 x + 2.00" "$work/train" >&3
}

# Hidden units make tensors that are large enough for MPI, once the memory of other tasks is not read.
train_by_mpi() {
    install openmpi-bin "$(deb braid-mpi)"
    as_user env BRAID_CROSS_MEMORY=0 \
        mpirun --oversubscribe -n 3 mnist_replica --hidden_units=2000 --train_steps=60 2>&1 |
        tee "$work/train"
    [ "$(grep -c ' MPI has brought [1-9][0-9]* tensors, ' "$work/train")" = 3 ] ||
        { echo "MPI has brought no tensors to some rank"; return 1; }
    echo "MPI has brought tensors to 3 ranks" >&3
}

remove() {
    apt_get purge braid libbraid0 libbraid-dev braid-mpi python3-braid
    local left
    left=$(in_debian find /usr /etc /var/lib -name '*braid*' -not -path '/var/lib/apt/*')
    [ -z "$left" ] || { echo "left behind: $left"; return 1; }
    echo "nothing is left behind" >&3
}

case ${1:-} in
--inside)
    enter_clean_debian "$2" "$3"
    packages=$4
    project=$(realpath "$(dirname "$0")/../tests/packaging/project")
    network="A download that failed: run it again. Dependencies that cannot be met: the packages are of another release."
    look="Unpack the packages (dpkg-deb -x) and look for the file named above."
    make_root
    step "copy the packages" "$look" copy_packages
    step "install libbraid0 and braid" "$network" install_program
    step "read manual pages and completion" "$look" read_help
    step "train mnist_replica, 3 processes" "The lines above say what failed." train 0.9 mnist_replica --train_steps=1500
    step "train deep_mnist, 3 processes" "The lines above say what failed." train 0.2 deep_mnist --train_steps=60
    step "install libbraid-dev and compilers" "$network" install_development
    step "build and run a project" "$look" build_project
    step "build and run the example in libbraid-dev" "$look" build_example
    step "install python3-braid and train by it" "$look" train_in_python
    step "install braid-mpi and train by it" "$network" train_by_mpi
    step "purge all five" "A file that a package writes at run time belongs into its postrm." remove
    echo "The packages install, run and can be removed."
    ;;
*)
    [ $# -ge 1 ] && ls "$1"/braid_*.deb >/dev/null 2>&1 ||
        fail "no packages in '${1:-}'" "./dev package makes them in build/package."
    run_in_clean_debian 1500 "${2:+$(realpath "$2")}" "$(realpath "$1")"
    ;;
esac

#!/usr/bin/env bash
# check_wheel.sh DIR [TARBALL]: installs the wheel in DIR by pip into a clean Debian, which has none of the
# libraries that Braid needs, and uses it there as an ordinary user does. As root, in minutes, over the
# network; the Debian is made by debootstrap or unpacked from TARBALL (tools/clean_debian.sh).
set -euo pipefail
. "$(dirname "$0")/../tools/clean_debian.sh"

as_user() { in_debian --userspec=65534:65534 "$@"; }

install_python() {
    apt_get update
    install python3 python3-venv ca-certificates
    mkdir "$root/wheel"
    cp "$wheels"/*.whl "$root/wheel/"
    cp "$project/train.py" "$root/home/user/"
    # Whoever names an index or certificates of their own to pip has them here, too.
    local file=${PIP_CERT:-${SSL_CERT_FILE:-}}
    if [ -n "$file" ]; then cp "$file" "$root/home/user/certificates.pem"; fi
    chown -R 65534:65534 "$root/home/user"
    in_debian python3 --version >&3
}

install_wheel() {
    local certificates=()
    if [ -e "$root/home/user/certificates.pem" ]; then certificates=(--cert certificates.pem); fi
    as_user python3 -m venv env
    as_user env/bin/pip install -q "${certificates[@]}" ${PIP_INDEX_URL:+--index-url "$PIP_INDEX_URL"} \
        $(cd "$root" && echo wheel/*.whl | sed 's|^|/|')
    as_user env/bin/pip list 2>/dev/null | sed -n 's/^\(braid\|numpy\|protobuf\)  */\1 /p' | paste -sd ' ' >&3
}

train() {
    as_user env/bin/python -m braid train.py | tee "$work/train"
    grep -x "y = 3.00 x + 2.00" "$work/train" >&3
}

run_cluster() {
    as_user env/bin/braid run --workers 1 --timeout 120 env/bin/python -m braid train.py | tee "$work/train"
    grep -x "worker/0 | y = 3.00 x + 2.00" "$work/train" >&3
}

remove() {
    as_user env/bin/pip uninstall -q -y braid
    local left
    left=$(in_debian find env -name '*braid*')
    [ -z "$left" ] || { echo "left behind: $left"; return 1; }
    echo "nothing is left behind" >&3
}

case ${1:-} in
--inside)
    enter_clean_debian "$2" "$3"
    wheels=$4
    project=$(realpath "$(dirname "$0")/../tests/packaging/project")
    network="A download that failed: run it again."
    look="The lines above say what failed; auditwheel show tells what the wheel expects of the system."
    make_root
    step "install Python" "$network" install_python
    step "install the wheel by pip" "$network" install_wheel
    step "train by a program for TensorFlow 1" "$look" train
    step "the same by braid run" "$look" run_cluster
    step "uninstall" "$look" remove
    echo "The wheel installs, runs and can be removed."
    ;;
*)
    [ $# -ge 1 ] && ls "$1"/braid-*.whl >/dev/null 2>&1 ||
        fail "no wheel in '${1:-}'" "./dev wheel makes it in build/wheel."
    run_in_clean_debian 1500 "${2:+$(realpath "$2")}" "$(realpath "$1")"
    ;;
esac

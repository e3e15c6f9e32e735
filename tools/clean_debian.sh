# Sourced by scripts that try Braid in a clean Debian: makes its root, runs steps in it, and removes it at the
# end.
#
# Outside, the script calls run_in_clean_debian. That starts the script again, as SCRIPT --inside WORK
# ARGUMENT..., in mount and PID namespaces of its own, and removes WORK, all mounts and all processes however
# the script ends. Inside, the script calls enter_clean_debian WORK, make_root, and then step for each of its
# steps. MIRROR=URL names a Debian mirror, TMPDIR=DIR the place of the root (/var/tmp by default).

fail() { # fail WHAT [REMEDY]
    echo "$(basename "$0"): $1" >&2
    [ -z "${2:-}" ] || echo "  $2" >&2
    exit 1
}

# ---- Outside ----

# Prints why a clean Debian cannot be made here; succeeds when it can.
why_no_clean_debian() { # why_no_clean_debian [TARBALL]
    if [ "$(id -u)" != 0 ]; then
        echo "only root can make a clean Debian (run it with sudo)"
    elif [ -z "${1:-}" ] && ! command -v debootstrap >/dev/null; then
        echo "debootstrap is not installed (apt-get install debootstrap)"
    elif ! unshare --mount --pid --fork true 2>/dev/null; then
        echo "this system gives root no namespaces of its own (start a container with --privileged)"
    else
        return 0
    fi
    return 1
}

run_in_clean_debian() { # run_in_clean_debian FREE_MB TARBALL ARGUMENT...
    local free_mb=$1 tarball=$2 why
    shift 2
    why=$(why_no_clean_debian "$tarball") || fail "$why"
    work=$(mktemp -d "${TMPDIR:-/var/tmp}/braid-debian-XXXXXX")
    trap 'echo; exit 130' INT
    trap 'echo; exit 143' TERM HUP
    trap clean_up EXIT
    [ "$(df --output=avail -m "$work" | tail -n 1)" -ge "$free_mb" ] ||
        fail "less than $free_mb MB are free at $work" "TMPDIR=DIR names another place."
    echo "In a clean Debian, at $work until this ends:"
    unshare --mount --pid --fork --kill-child --mount-proc bash "$0" --inside "$work" "$tarball" "$@" \
        2>/dev/null & # hides the complaint of unshare when its child is killed
    inside_pid=$!
    wait "$inside_pid"
}

clean_up() {
    trap '' INT TERM HUP
    if [ -n "${inside_pid:-}" ]; then
        # The first process of the PID namespace: all others end with it, and the mounts go with the last.
        pkill -KILL -P "$inside_pid" || true
        wait "$inside_pid" || true
    fi
    rm -rf --one-file-system "$work"
}

# ---- Inside ----

enter_clean_debian() { # enter_clean_debian WORK TARBALL
    exec 2>&1
    work=$1 tarball=$2
    root=$work/debian # $work holds the logs, too
    suite=$(. /etc/os-release && echo "${VERSION_CODENAME:-bookworm}")
    mkdir "$root"
}

# On a terminal: shows the last line of a step's output while it runs.
show_progress() { # show_progress WHAT
    local line
    if [ -t 1 ]; then
        while IFS= read -r line; do
            printf '\r\033[K  %-46s %s' "$1" "${line:0:$((${COLUMNS:-80} - 50))}"
        done
        printf '\r\033[K  %-46s' "$1"
    else
        cat >/dev/null
    fi
}

# step WHAT REMEDY COMMAND...: runs the command. The last line that it prints on descriptor 3 is its result.
step() {
    local what=$1 remedy=$2 start=$SECONDS status
    shift 2
    printf '  %-46s' "$what"
    set +e
    (set -e; "$@") 2>&1 3>"$work/result" </dev/null | tee "$work/log" | show_progress "$what"
    status=${PIPESTATUS[0]}
    set -e
    if [ "$status" != 0 ]; then
        printf 'FAILED after %d s\n\n' $((SECONDS - start))
        tail -n "${LOG_LINES:-20}" "$work/log" | sed 's/^/    /'
        printf '\n  %s\n' "$remedy"
        exit 1
    fi
    printf '%4d s  %s\n' $((SECONDS - start)) "$(cat "$work/result")"
}

in_debian() { # in_debian [--userspec=USER] COMMAND...
    local user=()
    case $1 in --userspec=*) user=("$1"); shift ;; esac
    timeout "${STEP_TIMEOUT:-600}" chroot "${user[@]}" "$root" env -i -C /home/user HOME=/home/user \
        PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
        ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@"
}
apt_get() { in_debian apt-get -q -y -o Acquire::Retries=3 -o Acquire::http::Timeout=30 "$@"; }
install() { apt_get install --no-install-recommends "$@"; }

unpack_debian() {
    if [ -n "$tarball" ]; then
        tar -xf "$tarball" -C "$root"
    else
        timeout 1200 debootstrap --variant=minbase "$suite" "$root" ${MIRROR:+"$MIRROR"}
    fi
    mkdir -p "$root/home/user"
    cp /etc/resolv.conf "$root/etc/"
    printf '127.0.0.1\tlocalhost\n::1\tlocalhost\n' >"$root/etc/hosts" # as Debian's installer writes it
    local file
    for file in /etc/apt/apt.conf.d/*proxy*; do [ ! -e "$file" ] || cp "$file" "$root/etc/apt/apt.conf.d/"; done
}

# Makes the root, in a step of its own.
make_root() {
    local remedy="A mirror of Debian must be reachable. MIRROR=URL takes another mirror, TARBALL an existing root."
    [ -z "$tarball" ] ||
        remedy="TARBALL must hold the root of a Debian, for example the result of 'debootstrap --variant=minbase'."
    step "Debian $suite, ${tarball:-made by debootstrap}" "$remedy" unpack_debian
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
}

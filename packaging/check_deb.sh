#!/usr/bin/env bash
# check_deb.sh DIR [TARBALL]: installs the packages in DIR into a clean Debian, made by debootstrap or taken from TARBALL, and
# uses them there: trains on a cluster of processes, compiles a program. As root; takes minutes and the network.
set -euo pipefail
if [ "$(id -u)" != 0 ]; then echo "check_deb.sh: only root can make a Debian to install into" >&2; exit 1; fi
# Mounts in a name space of its own: they are gone when this ends, however it ends.
if [ -z "${BRAID_CHECK_DEB:-}" ]; then BRAID_CHECK_DEB=1 exec unshare --mount --propagation private bash "$0" "$@"; fi

packages=$(realpath "$1")
project=$(realpath "$(dirname "$0")/../tests/packaging/project")
root=$(mktemp -d "${TMPDIR:-/var/tmp}/braid-debian-XXXXXX")
trap 'umount -R "$root/proc" "$root/dev" 2>/dev/null || true; rm -rf --one-file-system "$root"' EXIT

if [ -n "${2:-}" ]; then
    tar -xf "$2" -C "$root"
else
    debootstrap --variant=minbase bookworm "$root" >"$root.log" 2>&1 || { tail -20 "$root.log"; exit 1; }
    rm -f "$root.log"
fi
mount --bind /proc "$root/proc"
mount --rbind /dev "$root/dev"
cp /etc/resolv.conf "$root/etc/"
for file in /etc/apt/apt.conf.d/*proxy*; do [ ! -e "$file" ] || cp "$file" "$root/etc/apt/apt.conf.d/"; done
mkdir -p "$root/packages"
cp "$packages"/*.deb "$project"/app.c "$root/packages/"
deb() { basename -a "$packages/$1"_*.deb | sed 's|^|/packages/|'; } # its path there
inside() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    ${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@"; }
install() { inside apt-get install -q -y --no-install-recommends "$@" >"$root/apt.log" 2>&1 || { tail -20 "$root/apt.log"; exit 1; }; }

inside apt-get update -q >"$root/apt.log" 2>&1 || { tail -20 "$root/apt.log"; exit 1; }
install "$(deb libbraid0)" "$(deb braid)"
echo "installed: $(inside dpkg-query -W -f '${Package} ${Version}, ' braid libbraid0) $(inside du -sh /usr | cut -f 1) of Debian in all"
# Digits that the program draws itself.
inside braid run --ps 1 --workers 2 --timeout 120 mnist_replica --train_steps=1500 | tee "$root/train.log"
accuracy=$(sed -n 's/.*test accuracy: //p' "$root/train.log" | tail -1)
awk -v a="$accuracy" 'BEGIN { exit !(a > 0.9) }' || { echo "FAILED: test accuracy '$accuracy'"; exit 1; }

install gcc libc6-dev pkg-config "$(deb libbraid-dev)"
inside sh -euc 'cd /packages; cc app.c -o app $(pkg-config --cflags --libs braid); ./app
    cc app.c -o app $(pkg-config --cflags --static --libs braid | sed s/-lbraid/-l:libbraid.a/) -Wl,--as-needed; ./app'
inside apt-get purge -q -y braid libbraid0 libbraid-dev >"$root/apt.log" 2>&1 || { tail -20 "$root/apt.log"; exit 1; }
left=$(inside sh -c 'find /usr /etc /var/lib -name "*braid*" -not -path "/var/lib/apt/*"')
[ -z "$left" ] || { echo "FAILED: left behind by the purge: $left"; exit 1; }
echo "the packages install, run and go"

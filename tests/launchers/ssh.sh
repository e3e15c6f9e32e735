#!/usr/bin/env bash
# `braid run --hosts` by a real ssh, to hosts that are network namespaces.
. "$(dirname "$0")/lib.sh"
need openssh-server /usr/sbin/sshd
need openssh-client ssh ssh-keygen
need python3 python3
need_namespaces
/usr/bin/python3 "$(dirname "$0")/ssh_hosts.py" "$bin"

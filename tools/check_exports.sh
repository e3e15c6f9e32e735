#!/usr/bin/env bash
# check_exports.sh LIBRARY: the shared library exports the public API, names that begin with braid_, and
# nothing else.
set -u
exported=$(nm -D --defined-only "$1" | awk '{print $3}')
[ -n "$exported" ] || { echo "$1 exports nothing"; exit 1; }
wrong=$(grep -v '^braid_' <<<"$exported")
[ -z "$wrong" ] || { echo "exported, but not named braid_:"; echo "$wrong"; exit 1; }
missing=$(grep -ohE '^BRAID_API .*' include/braid/*.h | sed -nE 's/.*[ *](braid_[a-z0-9_]+)\(.*/\1/p' | sort -u |
    grep -vxFf <(echo "$exported"))
[ -z "$missing" ] || { echo "declared in a public header, but not there:"; echo "$missing"; exit 1; }
echo "$(wc -l <<<"$exported") public functions"

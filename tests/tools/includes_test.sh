#!/usr/bin/env bash
# tools/check_includes.sh accepts includes that point down and names each include that points up or sideways.
set -u
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failures=0

# Starts a tree of sources with one file that keeps the rules.
fresh_tree() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree"/{tools,include/braid,examples/common}
    mkdir -p "$tree"/src/{base,op,cluster/{rpc,master,service},ops/{common,math,array,nn}}
    mkdir -p "$tree"/src/train/{common,sessions,hooks}
    cp tools/check_includes.sh "$tree/tools/"
    echo '#include "cluster/rpc/peers.h"' >"$tree/src/cluster/master/master.h"
    echo '#include "base/map.h"' >"$tree/src/cluster/rpc/peers.h"
    echo '#include "ops/common/element.h"' >"$tree/src/ops/math/cast.h"
}

# accepts NAME: the check passes.
accepts() {
    if out=$("$tree/tools/check_includes.sh" 2>&1); then echo "ok: $1"; else
        echo "FAILED: $1: the check refuses the tree: $out"
        failures=$((failures + 1))
    fi
}

# refuses NAME FILE INCLUDE WORDS: with this include in FILE the check fails, names the file and says WORDS.
refuses() {
    fresh_tree
    printf '// A file.\n#include "%s"\n' "$3" >"$tree/$2"
    if out=$("$tree/tools/check_includes.sh" 2>&1); then
        echo "FAILED: $1: the check accepts $3 in $2"
        failures=$((failures + 1))
    elif ! grep -qF "$2:2: includes $3: $4" <<<"$out"; then
        echo "FAILED: $1: expected '$4' for $2, got: $out"
        failures=$((failures + 1))
    else echo "ok: $1"; fi
}

fresh_tree
accepts "includes that point down"
refuses "a module above" src/base/bad.c cluster/rpc/peers.h "src/base may use include/braid and:"
refuses "a room of the cluster above" src/cluster/rpc/bad.c cluster/master/master.h "src/cluster/rpc may include the rooms"
refuses "the server from a service" src/cluster/service/bad.c cluster/server_internal.h "src/cluster/service may include the rooms"
refuses "a room of ops that the table does not name" src/ops/math/bad.c ops/nn/conv.h "src/ops/math may include the rooms"
refuses "a room from ops/common" src/ops/common/bad.h ops/math/cast.h "src/ops/common may include the rooms"
refuses "a room of the library above" src/train/sessions/bad.c train/hooks/step_timer.h \
    "src/train/sessions may include the rooms"
refuses "the engine from the library" src/train/common/bad.c op/kernel.h "src/train may use include/braid and:"

fresh_tree
mkdir "$tree/src/ops/misc"
echo '// A file.' >"$tree/src/ops/misc/bad.c"
if out=$("$tree/tools/check_includes.sh" 2>&1); then
    echo "FAILED: a room that is not in the table is accepted"
    failures=$((failures + 1))
else echo "ok: a room that is not in the table"; fi

fresh_tree
for i in {1..81}; do echo '// A file.' >"$tree/src/ops/nn/file_$i.c"; done
if out=$("$tree/tools/check_includes.sh" 2>&1); then
    echo "FAILED: a room of 81 files is accepted"
    failures=$((failures + 1))
else echo "ok: a room of more than 80 files"; fi
exit $((failures > 0))

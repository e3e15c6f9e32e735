#!/usr/bin/env bash
# The guides say what works: their programs and commands run, their fragments compile, and each name of the
# library in a document is one that a header declares. A block is reported by its line.
# labels: slow
# timeout: 300
#
# Blocks are told by the word after the language: ```c (or ```c NAME.c) is a whole program, which is run and
# whose source lies beside the commands under that name; ```c fragment is the inside of a function, with the
# variables of fragment.h; ```c functions stands outside of functions; ```cpp fragment is the inside of a
# function of C++, after its includes. ```sh blocks are run one after another in one directory for each
# document, with free ports in place of 2222 and on. ```text exact is what the block before it prints; ```
# alone is output that differs from run to run, and is not checked.
set -u
bin=$(realpath "$1")
build=$(realpath "$1/..")
source=$PWD
if grep -q '^BRAID_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    echo "skipped: sanitized libraries are not for others"
    exit 77
fi
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failures=0

# report WHAT RC: with what was printed, when it has failed.
report() {
    if [ "$2" = 0 ]; then echo "ok: $1"; else
        echo "FAILED: $1 (exit code $2)"
        tail -n 30 "$dir/log"
        failures=$((failures + 1))
    fi
}

# ---- The environment of a reader who has installed Braid ----

mkdir "$dir/pkgconfig"
printf '%s\n' "Name: braid" "Description: Braid" "Version: 0" \
    "Cflags: -I$source/include -I$build/generated/include" "Libs: -L$build/lib -lbraid" >"$dir/pkgconfig/braid.pc"
export PKG_CONFIG_PATH=$dir/pkgconfig LD_LIBRARY_PATH=$build/lib PATH=$bin:$PATH
unset TF_CONFIG
# Fragments leave results unused; a name of their own may stand for one of fragment.h.
flags="-std=c17 -Wall -Wextra -Werror $(pkg-config --cflags braid)"
fragment_flags="$flags -Wno-unused-variable -Wno-unused-but-set-variable -Wno-unused-function"

read -r port0 port1 port2 < <(/usr/bin/python3 "$(dirname "$0")/../free_ports.py" 3)

# ---- Blocks ----

# blocks FILE DIR: writes each block to DIR/LINE.LANGUAGE.WORD, and fails for a block without an end.
blocks() {
    awk -v dir="$2" '
        /^```/ && !open { open = 1; line = NR; language = substr($1, 4); word = NF > 1 ? $2 : "whole"
                          out = dir "/" sprintf("%05d", line) "." language "." word; next }
        /^```/          { open = 0; close(out); next }
        open && (language ~ /^(c|cpp|sh)$/ || word == "exact") { print >out }
        END             { if (open) { print FILENAME ":" line ": the block has no end"; exit 1 } }' "$1"
}

# compile_part KIND FILE: a fragment or functions, in a file of their own.
compile_part() {
    {
        echo '#include "fragment.h"'
        [ "$1" = functions ] || printf 'void fragment(void);\nvoid fragment(void)\n{\n'
        echo "#line $line \"$document\""
        cat "$2"
        [ "$1" = functions ] || echo "}"
    } >"$dir/part.c"
    # shellcheck disable=SC2086
    cc $fragment_flags -Wno-unused-parameter -I"$source/tests/docs" -fsyntax-only "$dir/part.c" >"$dir/log" 2>&1
}

# compile_cpp FILE: a fragment of C++, which has includes of its own.
compile_cpp() {
    {
        grep '^#' "$1"
        printf 'extern const braid::tensor images, labels;\nvoid fragment();\nvoid fragment()\n{\n'
        grep -v '^#' "$1"
        echo "}"
    } >"$dir/part.cc"
    # shellcheck disable=SC2046
    c++ -std=c++17 -Wall -Wextra -Werror $(pkg-config --cflags braid) -fsyntax-only "$dir/part.cc" >"$dir/log" 2>&1
}

# program FILE NAME: compiles and runs a whole program.
program() {
    { echo "#line $line \"$document\""; cat "$1"; } >"$dir/program.c"
    # shellcheck disable=SC2046,SC2086
    cc $flags "$dir/program.c" -o "$dir/program" $(pkg-config --libs braid) -lm >"$dir/log" 2>&1 || return
    [ "$2" = whole ] || cp "$1" "$2"
    timeout 60 "$dir/program" >"$dir/log" 2>&1
}

commands() { # commands FILE
    sed "s/2222/$port0/g; s/2223/$port1/g; s/2224/$port2/g" "$1" >"$dir/commands"
    (exec timeout 120 bash -eu -o pipefail "$dir/commands" </dev/null) &
    local group=$! rc=0
    wait "$group" || rc=$?
    kill -KILL -- -"$group" 2>/dev/null # what a block that failed has left; timeout leads a process group
    return $rc
}

run_block() { # run_block FILE
    local name=${1##*/} rc=0
    line=$((10#${name%%.*} + 1)) what=${name#*.}
    case $what in
    c.fragment | c.functions) compile_part "${what#c.}" "$1" || rc=$? ;;
    cpp.fragment) compile_cpp "$1" || rc=$? ;;
    c.*) program "$1" "${what#c.}" || rc=$? ;;
    text.exact) diff "$1" "$dir/log" >"$dir/difference" || { rc=$?; cp "$dir/difference" "$dir/log"; } ;;
    sh.*) commands "$1" >"$dir/log" 2>&1 || rc=$? ;;
    *) echo "no block of this kind is known" >"$dir/log"; rc=1 ;;
    esac
    report "$document:$((line - 1)): ${what%.whole}" $rc
}

for document in docs/guide.md docs/programming.md docs/algorithms.md docs/coming-from-tensorflow.md; do
    name=$(basename "$document" .md)
    mkdir "$dir/$name" "$dir/$name/work"
    blocks "$document" "$dir/$name" >"$dir/log"
    report "each block of $document has an end" $?
    cd "$dir/$name/work" || exit 1
    for block in "$dir/$name"/*.c.* "$dir/$name"/*.cpp.* "$dir/$name"/*.sh.* "$dir/$name"/*.text.*; do [ ! -f "$block" ] || echo "$block"; done |
        sort >"$dir/$name/list"
    while read -r block <&3; do run_block "$block"; done 3<"$dir/$name/list"
    cd "$source" || exit 1
done
fragments=$(cat "$dir"/*/list | wc -l)
[ "$fragments" -ge 20 ]
report "blocks were found ($fragments)" $?

# ---- Names ----

# Names of the headers, and of the metrics of a server, texts in the sources. A name that ends in '_'
# stands for all that begin so; braid_raw_OP for those of all ops.
cat include/braid/*.h* "$build"/generated/include/braid/*.h >"$dir/headers"
grep -rhoE '"braid_[a-z_]+' src >>"$dir/headers"
grep -oE '\bbraid_[A-Za-z0-9_]+' "$dir/headers" | sort -u >"$dir/known"
grep -noE '\bbraid_[A-Za-z0-9_]+' docs/*.md examples/*.md examples/*/README.md README.md |
    awk -F: 'NR == FNR { known[$1]; for (i = 7; i <= length($1); i++) prefix[substr($1, 1, i)]; next }
        $3 in known || ($3 ~ /_$/ && $3 in prefix) || $3 ~ /_OP$/ { next }
        { print; failed = 1 }
        END { exit failed }' "$dir/known" - >"$dir/log"
report "each braid_... of the documents is in a header" $?

# ---- Links ----

grep -noE '\]\([^):#]+' docs/*.md examples/*.md examples/*/README.md README.md |
    grep -v '(https$' | while IFS=: read -r file line link; do
        [ -e "$(dirname "$file")/${link#*(}" ] || echo "$file:$line: ${link#*(}"
    done >"$dir/log"
[ ! -s "$dir/log" ]
report "each link between documents leads to a file" $?
[ $failures = 0 ]

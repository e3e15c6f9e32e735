#!/usr/bin/env bash
# Manual pages and completion have the commands and options that the program has.
set -u
program=$1/braid
failures=0
check() { # check WHAT EXPECTED ACTUAL
    if [ "$2" = "$3" ]; then echo "ok: $1"; else
        echo "FAILED: $1"; printf -- '--- expected\n%s\n--- got\n%s\n' "$2" "$3"; failures=$((failures + 1))
    fi
}
commands=$("$program" --help | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p')
options() { "$program" "$1" --help | grep -oE '^  --[a-z-]+' | tr -d ' ' | sort; }
[ -n "$commands" ] || { echo "FAILED: braid --help names no commands"; exit 1; }

for command in $commands; do
    check "braid help $command" "$("$program" "$command" --help)" "$("$program" help "$command")"
    check "lines of braid $command --help fit a terminal of 100 columns" "" "$("$program" "$command" --help | grep -E '.{101}')"
done

# ---- Manual pages ----

check "braid.1 has every command" "$commands" "$(sed -n 's/^\.It Cm //p' packaging/man/braid.1)"
for command in $commands; do
    page=packaging/man/braid-$command.1
    check "$page has every option of the program" "$(options "$command")" \
        "$(sed -nE 's/^\.It Fl (-[a-z-]+).*/-\1/p' "$page" 2>&1 | sort)"
done
flags() { "$1/$2" --help | grep -oE '^  --[a-z_]+' | tr -d ' ' | sort; }
page_flags() { sed -nE 's/^\.It Fl (-[a-z_]+).*/-\1/p' "packaging/man/$1.1" | sort; }
check "mnist_replica.1 has every flag of the program" "$(flags "$1" mnist_replica)" "$(page_flags mnist_replica)"
check "deep_mnist.1 has every flag that mnist_replica.1 has not" \
    "$(comm -23 <(flags "$1" deep_mnist) <(flags "$1" mnist_replica))" "$(page_flags deep_mnist)"
if command -v man >/dev/null; then
    for page in packaging/man/*.1; do
        check "man takes $page without a warning" "" \
            "$(LC_ALL=C.UTF-8 MANROFFSEQ= MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)"
    done
fi

# ---- bash ----

. packaging/completion/braid.bash
complete_bash() { # complete_bash WORD...: what bash offers for the last word
    COMP_WORDS=("$program" "$@")
    COMP_CWORD=$#
    _braid "$program" "${!#}"
    printf '%s\n' "${COMPREPLY[@]}" | sort
}
check "bash completes commands" "$(sort <<<"--help
--version
$commands")" "$(complete_bash '')"
for command in $commands; do
    check "bash completes options of $command" "$(options "$command")" "$(complete_bash "$command" --)"
done
check "bash completes behind an option's value" "--workers" "$(complete_bash run --ps 2 --wo)"
check "bash completes programs" "env" "$(complete_bash run --ps 2 env | grep -x env)"
check "bash leaves the program's own arguments alone" "" "$(complete_bash run --ps 2 true --wo)"
check "bash completes files as values" "CMakeLists.txt" "$(complete_bash server --cluster CMakeL)"

# ---- zsh, fish: where they are ----

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
ln -s "$(realpath "$program")" "$dir/braid"
if command -v fish >/dev/null; then
    complete_fish() { PATH=$dir:$PATH fish -c "source packaging/completion/braid.fish; complete -C '$1'" | cut -f 1 | sort; }
    check "fish completes commands" "$commands" "$(complete_fish 'braid ')"
    for command in $commands; do
        check "fish completes options of $command" "$(options "$command")" "$(complete_fish "braid $command --")"
    done
fi
if command -v zsh >/dev/null; then
    check "zsh takes its completion" "" "$(zsh -n packaging/completion/_braid 2>&1)"
    # The specifications that _arguments gets, with stand-ins for the functions of zsh's own.
    complete_zsh() {
        PATH=$dir:$PATH zsh -f -c '
            _arguments() { print -l -- ${@%%[\[]*} | grep "^--" }
            _describe() { print -l -- ${items%%:*} }
            words=("$@"); CURRENT=$#; . packaging/completion/_braid' zsh "$@" | sort
    }
    check "zsh completes commands" "$commands" "$(complete_zsh braid '')"
    for command in $commands; do
        check "zsh completes options of $command" "$(options "$command")" "$(complete_zsh braid "$command" --)"
    done
fi
[ $failures = 0 ]

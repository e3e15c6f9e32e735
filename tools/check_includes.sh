#!/usr/bin/env bash
# Proves that includes point one way: what each module may use, file by file.
set -u
cd "$(dirname "$0")/.."

# Module -> modules it may include (besides itself, the public headers and the system's).
declare -A may=(
    [base]=""
    [proto]="base"
    [tensor]="base proto"
    [graph]="base proto tensor"
    [kernels]="base"
    [io]="base proto tensor"
    [op]="base proto tensor graph io"
    [ops]="base proto tensor graph io kernels op"
    [runtime]="base proto tensor graph io op"
    [cluster]="base proto tensor graph io op runtime"
    [train]="base"
    [cli]="base"
)
# Tests beside the code are linked with what stands before their module, and may use it.
order=(base proto tensor graph kernels io op ops runtime cluster train cli)

failures=0
checked=0
complain() {
    echo "$1:$2: includes $3: $4"
    failures=$((failures + 1))
}

# includes FILE: "LINE KIND NAME", KIND is < or ".
includes() { sed -nE '/^[ \t]*#[ \t]*include[ \t]*[<"]/{=;s/.*include[ \t]*([<"])([^>"]*).*/\1 \2/p}' "$1" | paste -d' ' - -; }

modules_before() {
    local m
    for m in "${order[@]}"; do
        echo "$m"
        [ "$m" = "$1" ] && return
    done
}

# The module a quoted include leads to, "" for a file beside the includer, "?" for neither.
target_of() {
    local dir=$1 name=$2 first=${2%%/*}
    case $name in
    tensorflow/* | google/protobuf/* | braid/*.pb-c.h) echo proto ;;
    *)
        if [ -e "$dir/$name" ]; then echo ""
        elif [ "$first" != "$name" ] && [ -n "${may[$first]+x}" ]; then echo "$first"
        else echo "?"; fi
        ;;
    esac
}

check_module_file() {
    local module=$1 file=$2 allowed line kind name target
    allowed=" $module ${may[$module]} "
    case $file in *_test.c | */testing/*) allowed=" $(modules_before "$module" | tr '\n' ' ') " ;; esac
    while read -r line kind name; do
        target=
        if [ "$kind" = '"' ]; then target=$(target_of "${file%/*}" "$name"); fi
        case $name in *.pb-c.h) target=proto ;; esac
        [ -n "$target" ] || continue
        case $allowed in
        *" $target "*) ;;
        *) complain "$file" "$line" "$name" "src/$module may use include/braid and:${allowed% }" ;;
        esac
    done < <(includes "$file")
}

# Public headers: <braid/...> and the system's. Examples: those, and files of their own.
check_public_file() {
    local file=$1 line kind name
    while read -r line kind name; do
        case $kind$name in
        '<braid/'*) [ -e "include/$name" ] || complain "$file" "$line" "$name" "there is no such public header" ;;
        '<'*) ;;
        *)
            case $file in include/*) complain "$file" "$line" "$name" "a public header includes public headers only" ;; esac
            [ -e "${file%/*}/$name" ] || [ -e "examples/common/$name" ] ||
                complain "$file" "$line" "$name" "an example uses the public headers and its own files"
            ;;
        esac
    done < <(includes "$file")
}

for module in "${order[@]}"; do
    while IFS= read -r file; do
        check_module_file "$module" "$file"
        checked=$((checked + 1))
    done < <(find "src/$module" -name '*.[ch]' 2>/dev/null | sort)
done
while IFS= read -r file; do
    case $file in *_test.c) continue ;; esac
    check_public_file "$file"
    checked=$((checked + 1))
done < <(find include/braid examples -name '*.[ch]' | sort)
for dir in src/*/; do
    module=$(basename "$dir")
    [ -n "${may[$module]+x}" ] || { echo "src/$module: not in the table of tools/check_includes.sh"; failures=$((failures + 1)); }
done

echo "$checked files checked, $failures wrong includes"
[ $failures = 0 ]

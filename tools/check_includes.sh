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
    [mpi]="cluster"
    [train]="base"
    [cli]="base"
)
# Tests beside the code are linked with what stands before their module, and may use it.
order=(base proto tensor graph kernels io op ops runtime cluster train cli)


# Rooms of src/cluster, from the bottom up: a room may include itself and those before it. "top" is
# src/cluster itself.
cluster_rooms=(spec keys transport rpc membership worker replication master session monitoring service top)

# Rooms of src/ops, from the bottom up: ROOM=ROOMS it may include besides itself and ops/common. A room may
# only name those before it, so that no two rooms include each other. ops/common includes no other room.
ops_rooms=(
    "common="
    "state="
    "audio="
    "boosted_trees="
    "gradient_trees=boosted_trees"
    "tensor_forest=boosted_trees"
    "lookup="
    "parsing="
    "io=audio"
    "dataset=io lookup parsing"
    "tensor_array=dataset state"
    "math=tensor_array"
    "control_flow=math state"
    "array=math state tensor_array"
    "data_flow=control_flow state"
    "linalg=math state"
    "sparse=linalg state"
    "ragged=sparse"
    "random=math sparse state"
    "string=sparse"
    "image=math random"
    "nn=image linalg math random sparse"
    "training=state"
)
# Rooms of src/train, in the same form.
train_rooms=(
    "common="
    "variables="
    "ops=variables"
    "optimizers=variables"
    "layers=variables"
    "input=variables"
    "sessions=optimizers variables"
    "hooks=sessions"
    "algorithms=hooks sessions optimizers variables"
    "estimator=hooks sessions input layers optimizers ops variables"
    "strategies=optimizers variables"
)
# A room with more files than this is two subjects.
files_max=80

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

# The room of a path below a module with rooms; "top" for files of the module itself.
room_of() {
    local below=${1#src/}
    below=${below#*/}
    case $below in */*) echo "${below%%/*}" ;; *) echo top ;; esac
}

# room_may MODULE: fills room_allowed (ROOM -> " ROOMS ") from the table of the module.
declare -A room_allowed
room_may() {
    local before="" room entry name table=$1_rooms[@]
    room_allowed=()
    if [ "$1" = cluster ]; then
        for room in "${cluster_rooms[@]}"; do
            before+=" $room"
            room_allowed[$room]="$before "
        done
        return
    fi
    for entry in "${!table}"; do
        room=${entry%%=*}
        for name in ${entry#*=}; do
            case "$before " in
            *" $name "*) ;;
            *) complain tools/check_includes.sh 0 "$name" "$1_rooms: $room may only name rooms that stand before it" ;;
            esac
        done
        before+=" $room"
        room_allowed[$room]=" common $room ${entry#*=} "
    done
}

# check_rooms MODULE: each room of src/MODULE includes what the table allows; tests may include every room.
check_rooms() {
    local module=$1 file room line kind name target count dir
    room_may "$module"
    while IFS= read -r file; do
        case $file in *_test.c | */testing/*) continue ;; esac
        room=$(room_of "$file")
        if [ -z "${room_allowed[$room]+x}" ]; then
            complain "$file" 1 "$room" "src/$module/$room is not in the table of tools/check_includes.sh"
            continue
        fi
        while read -r line kind name; do
            case $name in "$module"/*) target=$(room_of "src/$name") ;; *) continue ;; esac
            case ${room_allowed[$room]} in
            *" $target "*) ;;
            *) complain "$file" "$line" "$name" "src/$module/$room may include the rooms${room_allowed[$room]% }" ;;
            esac
        done < <(includes "$file")
    done < <(find "src/$module" -name '*.[ch]' -o -name '*.cc' | sort)
    for dir in "src/$module"/*/; do
        count=$(find "$dir" -type f | wc -l)
        [ "$count" -le "$files_max" ] || complain "$dir" 0 "$count files" "a room has at most $files_max files"
    done
}

# Public headers: <braid/...> and the system's. Examples: those, and files of their own.
check_public_file() {
    local file=$1 line kind name
    while read -r line kind name; do
        case $kind$name in
        '<braid/locations.h' | '<braid/raw_ops.h') ;; # the build makes them (cmake/BraidHeaders.cmake)
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
done < <(find include/braid examples -name '*.[ch]' -o -name '*.hpp' -o -name '*.cc' | sort)
check_rooms cluster
check_rooms ops
check_rooms train
for dir in src/*/; do
    module=$(basename "$dir")
    [ -n "${may[$module]+x}" ] || { echo "src/$module: not in the table of tools/check_includes.sh"; failures=$((failures + 1)); }
done

echo "$checked files checked, $failures wrong includes"
[ $failures = 0 ]

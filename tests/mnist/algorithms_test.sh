#!/usr/bin/env bash
# The program of each training algorithm (examples/NAME) teaches the network of 784-100-10 units, by two
# workers and a parameter server, to recognize at least 95 % of the test digits: of MNIST where it is there,
# else the program's own. With an argument after the directory of programs it prints the table of
# docs/algorithms.md.
# labels: slow
# timeout: 400
# serial: yes
. "$(dirname "$0")/lib.sh"

# row NAME: a row of the table, from the output.
row() {
    grep -E '^worker/0 \|  +[01] .* %$' "$dir/err" | awk -v name="$1" -v accuracy="$(accuracy)" '
        { steps += $4; updates += $5; dropped += $6; stale += $5 * $7; mb += $9
          if ($10 > s) s = $10
          waiting += $11 / 2 }
        END { printf "| [`%s`](../examples/%s) | %s | %d | %d | %d | %.1f | %.0f | %.2f | %.0f %% |\n", name, name,
                     accuracy, steps, updates, dropped, s, mb, stale / updates, waiting }'
}

data=()
[ -z "${BRAID_MNIST_DIR:-}" ] || { need_mnist && data=(--data_dir="$BRAID_MNIST_DIR"); }
names=$("$bin/mnist_algorithm" --list | awk '{ print $1 }')
check "there are 15 algorithms" test "$(wc -w <<<"$names")" = 15
for name in $names; do
    "$bin/braid" run --ps 1 --workers 2 "$name" ${data[@]+"${data[@]}"} >"$dir/out" 2>"$dir/err"
    check "$name: exit code 0" test $? = 0
    check "$name: test accuracy of at least 0.95: $(accuracy)" at_least "$(accuracy)" 0.95
    check "$name: a row for each worker" test "$(grep -cE '^worker/0 \|  +[01] .* %$' "$dir/err")" = 2
    [ "$name" != asynchronous ] || check "$name: how stale updates were" \
        grep -qE 'staleness of updates: 0: [0-9.]+ %, 1: [0-9.]+ %' "$dir/err"
    row "$name" >>"$dir/table"
done
[ $# -lt 2 ] || cat "$dir/table"
check "no process is left" no_process_left
[ $failures = 0 ]

#!/usr/bin/env bash
# Each training algorithm teaches the network of 784-100-10 units, by two workers and a parameter server, to
# recognize at least 95 % of the test digits: MNIST's where they are there, else the program's own. With an
# argument after the directory of programs it prints the table of docs/algorithms.md, too.
# labels: slow
# timeout: 400
# serial: yes
. "$(dirname "$0")/lib.sh"

# Steps of both workers together, and the options. The batch has 100 images.
settings() {
    cat <<'END'
aeasgd            6000 --learning_rate=0.3 --rho=1.5
agn               6000 --learning_rate=1.0
asynchronous      2000 --learning_rate=0.4
backup_workers    2000 --learning_rate=0.4 --backup_workers=1
bounded_staleness 2000 --learning_rate=0.4
downpour          4500 --learning_rate=0.1
downpour_sgd      3000 --learning_rate=0.3
dynsgd            3000 --learning_rate=0.4
eamsgd            3000 --learning_rate=0.1
easgd             6000 --learning_rate=0.3 --rho=1.5
hogwild           2000 --learning_rate=0.4
model_averaging   3000 --learning_rate=0.4
sagn              6000 --learning_rate=1.0 --period=6
synchronous       2500 --learning_rate=0.5
synchronous_rates 2500 --learning_rate=0.5
END
}

# row NAME OPTIONS ACCURACY: a row of the table, from the output.
row() {
    grep -E '^worker/0 \|  +[01] .* %$' "$dir/err" | awk -v name="$1" -v options="$2" -v accuracy="$3" '
        { steps += $4; updates += $5; dropped += $6; stale += $5 * $7; mb += $9
          if ($10 > s) s = $10
          waiting += $11 / 2 }
        END { gsub(/--/, "", options)
              printf "| `%s` | %s | %s | %d | %d | %d | %.1f | %.0f | %.2f | %.0f %% |", name, options, accuracy,
                     steps, updates, dropped, s, mb, stale / updates, waiting }'
}

data=()
[ -z "${BRAID_MNIST_DIR:-}" ] || { need_mnist && data=(--data_dir="$BRAID_MNIST_DIR"); }
tried=$(settings | awk '{ print $1 }')
check "all algorithms are tried" test "$tried" = "$("$bin/mnist_algorithm" --list | awk '{ print $1 }')"
rows=""
while read -r name steps options; do
    "$bin/braid" run --ps 1 --workers 2 mnist_algorithm --algorithm="$name" --train_steps="$steps" $options \
        ${data[@]+"${data[@]}"} >"$dir/out" 2>"$dir/err"
    check "$name: exit code 0" test $? = 0
    check "$name: test accuracy of at least 0.95: $(accuracy)" at_least "$(accuracy)" 0.95
    check "$name: a row for each worker" test "$(grep -cE '^worker/0 \|  +[01] .* %$' "$dir/err")" = 2
    rows+=$(row "$name" "$options" "$(accuracy)")$'\n'
done < <(settings)
[ $# -lt 2 ] || printf '%s' "$rows"
check "no process is left" no_process_left
[ $failures = 0 ]

#!/usr/bin/env bash
# The example of estimators: alone, resumed, and in every role of a cluster.
. "$(dirname "$0")/lib.sh"

run estimator_mnist --model_dir="$dir/alone"
check "it learns" at_least "$(number_after "test accuracy after 400 steps:")" 0.85
check "it predicts" grep -q "^predicted/shown: [0-9]/[0-9]" "$dir/out"
check "it exports the model when training has ended" test "$(ls "$dir"/alone/export/digits/*/saved_model.pb | wc -l)" = 1
check "it writes the metrics of evaluations" grep -qa accuracy "$dir"/alone/eval/events.out.tfevents.*
check "a second run resumes" test "$(exit_code estimator_mnist --model_dir="$dir/alone" --train_steps=500)" = 0
check "it makes the missing steps" grep -q "test accuracy after 500 steps" "$dir/out"

cluster() { exit_code braid run --chief --workers 2 --ps 1 --evaluator --timeout 120 estimator_mnist "$@"; }
temporary() { sed -n 's/.*The model is kept in the temporary directory //p' "$dir/err"; }
check "a cluster trains and evaluates" test "$(cluster --model_dir="$dir/cluster" --train_steps=600)" = 0
check "the evaluator evaluates the last checkpoint" \
    grep -qE "^evaluator/0 \| .*Evaluation of .*/model.ckpt-6[0-9][0-9]:" "$dir/err"
check "and it exports the model" test "$(ls "$dir"/cluster/export/digits/*/saved_model.pb | wc -l)" = 1
check "the chief says what was learnt" \
    at_least "$(sed -n 's/^chief.*test accuracy after 6[0-9]* steps: //p' "$dir/out")" 0.85
check "a cluster needs no evaluator" \
    test "$(exit_code braid run --ps 1 --workers 2 --timeout 120 estimator_mnist --model_dir="$dir/plain")" = 0
check "to say what was learnt" at_least "$(sed -n 's/^worker.*test accuracy after 4[0-9]* steps: //p' "$dir/out")" 0.8
check "a cluster on this host needs no directory" test "$(TMPDIR=$dir cluster --train_steps=100)" = 0
check "and says where the model is: $(temporary)" test -f "$(temporary)/checkpoint"
env='{"cluster": {"ps": ["h:1"], "worker": ["h:2"]}, "task": {"type": "worker", "index": 0}}'
check "elsewhere it is an error" test "$(TF_CONFIG=$env exit_code estimator_mnist)" = 1
check "the error says what is missing" grep -q "needs a model directory" "$dir/err"
[ $failures = 0 ]

#!/usr/bin/env bash
# The commands of docs/failures.md: a program that is killed in the middle goes on at the saved step.
set -u
bin=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
fail() {
    echo "FAILED: $*"
    cat "$dir"/err*
    exit 1
}
export TF_CONFIG='{}'
train() { exec "$bin/mnist_replica" --log_dir="$dir/model" --save_checkpoint_secs=0.1 --train_steps="$1"; }

saved_step() { sed -n 's/^model_checkpoint_path: .*model.ckpt-\([0-9]*\)"/\1/p' "$dir/model/checkpoint"; }

# A line of progress appears every two seconds; by then checkpoints have been saved, on a busy machine later.
mkfifo "$dir/progress"
(train 1000000000) >/dev/null 2>"$dir/progress" &
pid=$!
while read -r line; do
    echo "$line" >>"$dir/err1"
    case $line in *loss*steps/s*) [ "$(saved_step)" -gt 0 ] && kill -9 $pid && break ;; esac
done <"$dir/progress"
wait $pid 2>/dev/null
[ $? = 137 ] || fail "it was not killed"

saved=$(saved_step)
[ "$saved" -gt 0 ] || fail "nothing was saved: '$saved'"
(train $((saved + 100))) >"$dir/out" 2>"$dir/err2" || fail "the second run: exit code $?"
grep -q "Restored the checkpoint $dir/model/model.ckpt-$saved\$" "$dir/err2" || fail "it did not go on at $saved"
grep -q "model.ckpt-$((saved + 100))\"" "$dir/model/checkpoint" || fail "it did not save the last step"
echo "ok: killed, went on at step $saved"

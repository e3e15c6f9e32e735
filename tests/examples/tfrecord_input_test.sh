#!/usr/bin/env bash
# The example of an input pipeline: it writes TFRecords, learns from them, and tells of damaged ones.
. "$(dirname "$0")/lib.sh"

run tfrecord_input "$dir/data" 8
check "it learns from all epochs" at_least "$(number_after "test accuracy after 640 steps:")" 0.88
ls -i "$dir/data" >"$dir/before"
check "a second run succeeds" test "$(exit_code tfrecord_input "$dir/data" 1)" = 0
check "the second run reads the same files" diff "$dir/before" <(ls -i "$dir/data")
truncate -s 5000 "$dir/data/digits-00002-of-00004"
check "a damaged file ends training" test "$(exit_code tfrecord_input "$dir/data" 1)" = 1
check "the error names the file" grep -q "truncated record at .*digits-00002-of-00004" "$dir/err"
touch "$dir/file"
check "a directory that cannot be made is an error" test "$(exit_code tfrecord_input "$dir/file/data" 1)" = 1

cluster() { exit_code braid run --ps 1 --workers 2 "$bin/tfrecord_input" --work_queue "$@"; }
check "workers share the files" test "$(cluster "$dir/shared" 4)" = 0
# 320 steps in all; when the chief has ended, the other worker may be in its last one.
check "each file is trained once in each epoch" grep -Eq "test accuracy after (319|320) steps" "$dir/out"
check "no unfinished file is left" test "$(ls "$dir/shared" | wc -l)" = 5
truncate -s 5000 "$dir/shared/digits-00002-of-00004"
check "a damaged file ends the workers" test "$(cluster "$dir/shared" 1)" = 1
[ $failures = 0 ]

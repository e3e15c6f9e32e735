#!/usr/bin/env bash
# Model parallelism: a model that one task refuses for its memory is trained by two.
. "$(dirname "$0")/lib.sh"

check "it ends by itself" run braid run --ps 1 --workers 2 --timeout 60 model_parallel
check "one task refuses it" grep -q "on one task: OOM when allocating tensor with shape\[98304,64\]" "$dir/out"
check "two tasks train it" at_least "$(sed -n 's/.*| accuracy: //p' "$dir/out")" 0.4
check "it needs two workers" [ "$(exit_code braid run --ps 1 --workers 1 --timeout 60 model_parallel)" != 0 ]
check "and says so" grep -q "it needs two workers" "$dir/err"
[ $failures = 0 ]

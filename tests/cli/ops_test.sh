#!/usr/bin/env bash
# docs/ops.md is what the program says of its ops.
set -u
braid=$1/braid
if ! difference=$(diff docs/ops.md <("$braid" ops)); then
    echo "FAILED: docs/ops.md differs from what 'braid ops' prints: write it anew by 'braid ops >docs/ops.md'"
    head -n 40 <<<"$difference"
    exit 1
fi
echo "ok: docs/ops.md"
"$braid" ops MatMul | grep -q '^- `MatMul(a: T, b: T) -> (product: T)`$' || { echo "FAILED: braid ops MatMul"; exit 1; }
error=$("$braid" ops NobodyKnows 2>&1)
code=$?
[ "$code" = 1 ] && grep -q "NotFound: No op has the name 'NobodyKnows'" <<<"$error" ||
    { echo "FAILED: exit code $code: $error"; exit 1; }
echo "ok: braid ops NAME"

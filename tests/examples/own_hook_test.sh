#!/usr/bin/env bash
# The example of one's own hook: it ends training long before the last step.
set -u
out=$("$1/own_hook" 2>/dev/null) || { echo "FAILED: exit code $?"; exit 1; }
echo "$out"
step=$(sed -n 's/^stopped at step \([0-9]*\), .*/\1/p' <<<"$out")
[ -n "$step" ] && [ "$step" -gt 10 ] && [ "$step" -lt 500 ] || { echo "FAILED: step '$step'"; exit 1; }

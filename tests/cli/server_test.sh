#!/usr/bin/env bash
# Which address `braid server` listens at: that of its task, or of its process of the task.
set -u
braid=$1/braid
failures=0

# refuses WHAT EXPECTED ARGUMENT...: the server does not start, and says EXPECTED.
refuses() {
    local what=$1 expected=$2 error code
    shift 2
    error=$("$braid" server "$@" 2>&1)
    code=$?
    if [ "$code" = 1 ] && grep -qF -- "$expected" <<<"$error"; then echo "ok: $what"; else
        echo "FAILED: $what: exit code $code: $error"; failures=$((failures + 1))
    fi
}

# Nothing may listen at 10.0.0.1 without --insecure: the error names the address that it would listen at.
pair='{"ps": ["10.0.0.1:1|10.0.0.1:2"], "worker": ["10.0.0.1:3"]}'
task_of_config() { echo "{\"cluster\": $pair, \"task\": {\"type\": \"ps\", \"index\": 0, \"replica\": $1}}"; }
ps=(--cluster "$pair" --job ps --task 0)
refuses "a server is replica 0 by default" "would listen on 10.0.0.1:1," "${ps[@]}"
refuses "--replica 1 has the second address" "would listen on 10.0.0.1:2," "${ps[@]}" --replica 1
TF_CONFIG=$(task_of_config 1) refuses "TF_CONFIG says which replica" "would listen on 10.0.0.1:2,"
TF_CONFIG=$(task_of_config 0) refuses "--replica goes with TF_CONFIG" "would listen on 10.0.0.1:2," --replica 1
refuses "a task has two replicas at most" "/job:ps/task:0 at 10.0.0.1:1|10.0.0.1:2 has no replica 2" \
    "${ps[@]}" --replica 2
refuses "a task of one address has one replica" "/job:worker/task:0 at 10.0.0.1:3 has no replica 1" \
    --cluster "$pair" --job worker --task 0 --replica 1
refuses "an unknown user cannot be allowed" "This host has no user 'nobody-knows'" \
    --cluster '{"ps": ["127.0.0.1:1"]}' --job ps --task 0 --allow-user nobody-knows
refuses "a file root is a directory" "cannot allow the files in $0: it is not a directory" \
    --cluster '{"ps": ["127.0.0.1:1"]}' --job ps --task 0 --file-root "/:$0"
BRAID_FILE_ROOT="$0" refuses "the environment is checked, too" "The environment variable BRAID_FILE_ROOT: cannot" \
    --cluster '{"ps": ["127.0.0.1:1"]}' --job ps --task 0
exit $((failures > 0))

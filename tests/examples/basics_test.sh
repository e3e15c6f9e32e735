#!/usr/bin/env bash
# The first programs: servers, a parameter server, local and global variables, several workers, linear
# regression; each alone and on a cluster.
. "$(dirname "$0")/lib.sh"

together() { exit_code braid run --ps 1 --workers 2 "$bin/$1"; }

for program in servers parameter_server local_then_global multiple_workers linear_regression; do
    check "$program alone ends by itself" test "$(exit_code $program)" = 0
    cp "$dir/out" "$dir/$program.alone"
    check "$program on a cluster ends by itself" test "$(together $program)" = 0
    cp "$dir/out" "$dir/$program.out"
done
says() { grep -qE "$2" "$dir/$1"; }
check "a session greets its process" says servers.alone '^Hello from this process to this process$'
check "a parameter server greets worker 1" says servers.out 'Hello from /job:ps/task:0 to /job:worker/task:1$'
check "a worker counts to 10" says parameter_server.alone '^the sum is 10$'
check "two workers count to 20" says parameter_server.out 'the sum is 20$'
check "what two workers have shared adds up" test "$(sed -n 's/.*variable //p' "$dir/local_then_global.out" | sort -n | tail -n 1)" = 30
check "each piece is done once" says multiple_workers.out 'the sum of the squares is 333833500$'
check "and no piece twice" test "$(awk '/took/ { n += $(NF - 3) } END { print n }' "$dir/multiple_workers.out")" = 40
for run in alone out; do
    check "the line is found" says linear_regression.$run 'y = (2\.9[5-9]|3\.0[0-5]) x \+ (1\.9[5-9]|2\.0[0-5])$'
done
[ $failures = 0 ]

#!/usr/bin/env bash
# The example of a recurrent network: it learns and writes the words of its text, alone and on a cluster.
. "$(dirname "$0")/lib.sh"

# A guess by the frequencies of characters alone has a loss of more than 2.
learnt() {
    local loss
    loss=$(number_after "test loss:")
    check "$1: the loss fell" at_least 0.8 "${loss:-9}"
    sed -n 's/^sample: *//p' "$dir/out" | tr -d . | tr ' ' '\n' | grep . | sed '1d;$d' >"$dir/words"
    local known
    known=$(grep -cxE 'the|a|one|this|that|every|old|small|wise|happy|brave|quiet|king|fox|child|queen|bird|miller|finds|sees|wants|takes|loves|knows|bread|gold|water|music|snow|stories' "$dir/words")
    check "$1: most of the words that it writes are those of its text" \
        at_least "$known" "$(awk 'END { print (NR > 20 ? NR * 0.8 : 1000) }' "$dir/words")"
}

check "it trains alone" test "$(exit_code char_rnn)" = 0
learnt alone
check "it trains on a cluster" test "$(exit_code braid run --ps 1 --workers 2 "$bin/char_rnn")" = 0
sed -i 's/^worker\/0 *| //' "$dir/out"
learnt cluster
echo "too short" >"$dir/short"
check "a text that is too short is an error" test "$(exit_code char_rnn --text="$dir/short")" = 2
check "the error says how much is needed" grep -q "has 10 characters; 8000 are needed" "$dir/err"
[ $failures = 0 ]

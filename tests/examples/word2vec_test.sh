#!/usr/bin/env bash
# The example of word vectors: alone and on a cluster, the nearest words are those of the same topic.
. "$(dirname "$0")/lib.sh"

topics='cat dog horse cow sheep goat
red green blue yellow black white
bread cheese apple soup rice cake
rain snow wind storm fog sun'
# Of the words printed as neighbours, the part that is of the topic of its word.
same_topic() {
    sed 's/^worker.0 | //; s/://' "$dir/out" | awk -v topics="$topics" '
        BEGIN { n = split(topics, lines, "\n"); for (i = 1; i <= n; i++) { k = split(lines[i], w, " ");
                for (j = 1; j <= k; j++) topic[w[j]] = i } }
        { for (j = 2; j <= NF; j++) { all++; right += topic[$j] == topic[$1] } }
        END { if (all == 30) print right / all }'
}

check "it ends by itself" test "$(exit_code word2vec)" = 0
check "neighbours are of one topic" at_least "$(same_topic)" 0.8
check "a cluster ends by itself" test "$(exit_code braid run --ps 1 --workers 2 "$bin/word2vec")" = 0
check "the cluster has learned as well" at_least "$(same_topic)" 0.8
printf 'too few words' >"$dir/text"
check "a text of few words is an error" test "$(exit_code word2vec "$dir/text")" = 1
check "a missing file is an error" test "$(exit_code word2vec "$dir/none")" = 1
[ $failures = 0 ]

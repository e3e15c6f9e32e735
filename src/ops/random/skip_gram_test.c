// Tests of SkipGramGenerateCandidates. Pairs are those of TensorFlow 1.15 with the same seeds.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define SEEDS "seed=1; seed2=2"

static void pairs_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SkipGramGenerateCandidates", SEEDS,
         "int32[6] 0 1 2 3 4 5; int32[] 1; int32[] 2; int32[] 0; int32[] -1; bool[] false",
         "int32[15] 0 0 1 1 1 2 2 3 3 3 3 4 4 4 5; int32[15] 1 2 0 2 3 1 3 1 2 4 5 2 3 5 4"},
        {"SkipGramGenerateCandidates", SEEDS,
         "string[7] a b c d e f g; int32[] 0; int32[] 3; int32[] 2; int32[] 4; bool[] true",
         "string[14] c c c c d d d d e e e e f f; string[14] c d e f c d e f c d e f e f"},
        // The limit ends behind the tokens.
        {"SkipGramGenerateCandidates", SEEDS,
         "int64[4] 0 1 2 3; int32[] 1; int32[] 1; int32[] 1; int32[] 10; bool[] false",
         "int64[4] 1 2 2 3; int64[4] 2 1 3 2"},
        {"SkipGramGenerateCandidates", SEEDS,
         "int16[4] 0 1 2 3; int32[] 0; int32[] 0; int32[] 0; int32[] -1; bool[] true",
         "int16[4] 0 1 2 3; int16[4] 0 1 2 3"},
        {"SkipGramGenerateCandidates", SEEDS,
         "int32[4] 0 1 2 3; int32[] 1; int32[] 1; int32[] 9; int32[] 3; bool[] false", "int32[0]; int32[0]"},
        // Windows reach over both ends, however large they are.
        {"SkipGramGenerateCandidates", SEEDS,
         "int32[2] 7 8; int32[] 2147483647; int32[] 2147483647; int32[] 0; int32[] 2147483647; bool[] false",
         "int32[2] 7 8; int32[2] 8 7"},
        {"SkipGramGenerateCandidates", SEEDS,
         "int32[0]; int32[] 1; int32[] 2; int32[] 0; int32[] -1; bool[] false", "int32[0]; int32[0]"},
        {"SkipGramGenerateCandidates", SEEDS,
         "int32[2] 7 8; int32[] -1; int32[] 1; int32[] 0; int32[] -1; bool[] false",
         "InvalidArgument: Both min_skips and max_skips must be >= 0."},
        {"SkipGramGenerateCandidates", SEEDS,
         "int32[2] 7 8; int32[] 2; int32[] 1; int32[] 0; int32[] -1; bool[] false",
         "InvalidArgument: min_skips must be <= max_skips."},
        {"SkipGramGenerateCandidates", SEEDS,
         "int32[2] 7 8; int32[] 1; int32[] 1; int32[] -1; int32[] -1; bool[] false",
         "InvalidArgument: start must be >= 0, not -1"},
        {"SkipGramGenerateCandidates", SEEDS,
         "int32[2] 7 8; int32[] 1; int32[] 1; int32[] 0; int32[] -1; bool[1] false",
         "InvalidArgument: input_tensor must be a vector and emit_self_as_target a scalar"},
        {"SkipGramGenerateCandidates", SEEDS,
         "int32[1,2] 7 8; int32[] 1; int32[] 1; int32[] 0; int32[] -1; bool[] false", "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pairs_follow_the_definition)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

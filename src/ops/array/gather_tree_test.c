// Tests of GatherTree: the example of TensorFlow's documentation, and values worked out by hand.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define IDS "int32[4,1,3] 1 2 3 4 5 6 7 8 9 -1 -1 -1; "
#define PARENTS "int32[4,1,3] 0 0 0 0 1 1 2 1 2 -1 -1 -1; "

static void sequences_follow_the_parents(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"GatherTree", NULL, IDS PARENTS "int32[1] 3; int32[] 10", "int32[4,1,3] 2 2 2 6 5 6 7 8 9 10 10 10"},
        // cut after the end token
        {"GatherTree", NULL, IDS PARENTS "int32[1] 3; int32[] 6", "int32[4,1,3] 2 2 2 6 5 6 6 8 6 6 6 6"},
        {"GatherTree", NULL, IDS PARENTS "int32[1] -1; int32[] 6", "int32[4,1,3] 6"},
        {"GatherTree", NULL, "int32[1,2,1] 4 5; int32[1,2,1] 7; int32[2] 0 9; int32[] 1", "int32[1,2,1] 1 5"},
        {"GatherTree", NULL, "int32[0,1,3]; int32[0,1,3]; int32[1] 3; int32[] 10", "int32[0,1,3]"},
        {"GatherTree", NULL, IDS PARENTS "int32[1] 4; int32[] 10", "InvalidArgument: Saw invalid parent id"},
        {"GatherTree", NULL, "int32[2,1,1] 4; int32[2,1,1] 1; int32[1] 2; int32[] 10",
         "InvalidArgument: Saw invalid parent id"},
        {"GatherTree", NULL, IDS "int32[4,3,1] 0; int32[1] 3; int32[] 10",
         "InvalidArgument: step_ids.shape must match parent_ids.shape, but: [4,1,3] vs. [4,3,1]"},
        {"GatherTree", NULL, IDS PARENTS "int32[2] 3; int32[] 10",
         "InvalidArgument: batch size dimensions step_ids.shape[1] and max_sequence_lengths.shape[0] must match"},
        {"GatherTree", NULL, "int32[] 4; int32[] 1; int32[] 2; int32[1] 10",
         "InvalidArgument: step_ids must have rank 3, but has shape []"},
    };
    OP_TEST_VALUES(cases);
    static const op_shape_case shapes[] = {
        {"GatherTree", NULL, "int32[?,?,4]; int32[5,?,?]; int32[3]; int32[]", "int32[5,3,4]"},
        {"GatherTree", NULL, "int32?; int32?; int32?; int32?", "int32[?,?,?]"},
        {"GatherTree", NULL, "int32[2,3,4]; int32[2,3,4]; int32[2]; int32[]",
         "InvalidArgument: step_ids and parent_ids must be [time, batch, beam] and agree"},
    };
    OP_TEST_SHAPES(shapes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sequences_follow_the_parents),
    };
    return BD_RUN_TESTS(tests);
}

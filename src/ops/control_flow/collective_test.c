// Tests of the collective ops alone: shapes, errors of a node, and refusal outside of a session. Their
// results are tested over sessions: tests/runtime/collective_test.c, tests/interop/collective_test.py.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define GROUP "group_size=2; group_key=1; instance_key=1"
#define REDUCE GROUP "; merge_op=Add; final_op=Id; subdiv_offsets=[0]"

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"CollectiveReduce", REDUCE, "float[2] 1 2", "Unimplemented: it is not run by a session"},
        {"CollectiveReduce",
         "group_size=0; group_key=1; instance_key=1; merge_op=Add; final_op=Id; subdiv_offsets=[0]",
         "float[2] 1 2", "InvalidArgument: group_size must be positive"},
        {"CollectiveReduce",
         "group_size=2; group_key=3000000000; instance_key=1; merge_op=Add; final_op=Id; subdiv_offsets=[0]",
         "int32[] 1", "InvalidArgument: group_key is out of range"},
        {"CollectiveGather", GROUP "; shape=[2]", "double[] 1", "InvalidArgument: rank"},
        {"CollectiveBcastSend", GROUP "; shape=[3]", "float[2] 1 2",
         "Internal: does not match shape of input"},
        {"CollectiveBcastSend", GROUP "; shape=[2]", "half[2] 1 2",
         "Unimplemented: it is not run by a session"},
        {"CollectiveBcastRecv", GROUP "; shape=[3]; T=float", "",
         "Unimplemented: it is not run by a session"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"CollectiveReduce", REDUCE, "[2,?]", "[2,?]"},
        {"CollectiveGather", GROUP "; shape=[4,3]", "[2,3]", "[4,3]"},
        {"CollectiveGather", GROUP "; shape=[4,3]", "[?,3]", "[?,3]"},
        {"CollectiveGather", GROUP "; shape=[4,3]", "?", "?"},
        {"CollectiveGather", GROUP "; shape=[4,3]", "[]", "InvalidArgument: Shape must be at least rank 1"},
        {"CollectiveBcastSend", GROUP "; shape=[2,3]", "?", "[2,3]"},
        {"CollectiveBcastRecv", GROUP "; shape=[2,3]; T=int64", "", "[2,3]"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}

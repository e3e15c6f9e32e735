// Tests of BroadcastTo, BroadcastArgs, SelectV2, EnsureShape and CheckNumerics. Values are numpy's.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void broadcast_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"BroadcastTo", NULL, "float[2,1] 1 2; int32[3] 2 2 3", "float[2,2,3] 1 1 1 2 2 2 1 1 1 2 2 2"},
        {"BroadcastTo", NULL, "int64[] 7; int64[2] 1 2", "int64[1,2] 7 7"},
        {"BroadcastTo", NULL, "string[2] a b; int32[2] 2 2", "string[2,2] a b a b"},
        {"BroadcastTo", NULL, "float[1] 1; int32[1] 0", "float[0]"},
        {"BroadcastTo", NULL, "float[2] 1 2; int32[1] 2", "float[2] 1 2"},
        {"BroadcastTo", NULL, "float[1,2] 1 2; int32[1] 2", "InvalidArgument: Rank of input (2)"},
        {"BroadcastTo", NULL, "float[2] 1 2; int32[1] 3",
         "InvalidArgument: Incompatible shapes: [2] vs. [3]"},
        {"BroadcastTo", NULL, "float[2] 1 2; int32[1] 1",
         "InvalidArgument: Incompatible shapes: [2] vs. [1]"},
        {"BroadcastTo", NULL, "float[1] 1; int32[1] -1", "InvalidArgument: "},
        {"BroadcastTo", NULL, "float[1] 1; int64[2] 4611686018427387904 4", "InvalidArgument: "},
        {"BroadcastTo", NULL, "float[1] 1; int64[1] 1000000000000000", "ResourceExhausted: "},
        {"BroadcastArgs", NULL, "int32[3] 2 1 3; int32[2] 4 1", "int32[3] 2 4 3"},
        {"BroadcastArgs", NULL, "int64[0]; int64[1] 5", "int64[1] 5"},
        {"BroadcastArgs", NULL, "int32[1] 2; int32[1] 3",
         "InvalidArgument: Incompatible shapes: [2] vs. [3]"},
        {"BroadcastArgs", NULL, "int32[] 2; int32[1] 3", "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

static void select_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SelectV2", NULL, "bool[2] true false; float[2] 1 2; float[2] 3 4", "float[2] 1 4"},
        {"SelectV2", NULL, "bool[2,1] true false; float[2] 1 2; float[] 9", "float[2,2] 1 2 9 9"},
        {"SelectV2", NULL, "bool[] false; int32[2] 1 2; int32[2,1] 3 4", "int32[2,2] 3 3 4 4"},
        {"SelectV2", NULL, "bool[2] true false; string[] a; string[2] x y", "string[2] a y"},
        {"SelectV2", NULL, "bool[0]; float[1] 1; float[1] 2", "float[0]"},
        {"SelectV2", NULL, "bool[2] true; float[3] 1; float[1] 2", "InvalidArgument: must be broadcastable"},
        {"SelectV2", NULL, "bool[] true; float[3] 1; float[2] 2", "InvalidArgument: must be broadcastable"},
    };
    OP_TEST_VALUES(cases);
}

static void looks(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"EnsureShape", "shape=[2,?]", "float[2,3] 1 2 3 4 5 6", "float[2,3] 1 2 3 4 5 6"},
        {"EnsureShape", "shape=?", "string[1] a", "string[1] a"},
        {"EnsureShape", "shape=[]", "int32[] 4", "int32[] 4"},
        {"EnsureShape", "shape=[?,3]", "int32[0,3]", "int32[0,3]"},
        {"EnsureShape", "shape=[2]", "float[3] 1",
         "InvalidArgument: [3] is not compatible with expected shape [2]."},
        {"CheckNumerics", "message=here", "float[2] 1 2", "float[2] 1 2"},
        {"CheckNumericsV2", "message=here", "float[2] 1 2", "float[2] 1 2"},
        {"CheckNumericsV2", "message=here", "half[2] 0xfc00 0x3c00",
         "InvalidArgument: here : Tensor had -Inf values"},
        {"CheckNumericsV2", "message=here", "double[2] inf nan",
         "InvalidArgument: here : Tensor had +Inf and NaN values"},
        {"CheckNumericsV2", "message=here", "float[3] inf nan -inf",
         "InvalidArgument: here : Tensor had -Inf, +Inf, and NaN values"},
        {"CheckNumerics", "message=here", "float[2] 1 nan", "InvalidArgument: here : Tensor had NaN values"},
        {"CheckNumerics", "message=here", "double[2] -inf 2",
         "InvalidArgument: here : Tensor had Inf values"},
        {"CheckNumerics", "message=here", "double[2] inf nan",
         "InvalidArgument: Tensor had Inf and NaN values"},
        {"CheckNumerics", "message=here", "half[3] 0x3c00 0x7bff 0xfbff", "half[3] 0x3c00 0x7bff 0xfbff"},
        {"CheckNumerics", "message=here", "half[1] 0xfc00", "InvalidArgument: Tensor had Inf values"},
        {"CheckNumerics", "message=here", "bfloat16[1] 0x7fc0", "InvalidArgument: Tensor had NaN values"},
        {"CheckNumerics", "message=here", "float[0]", "float[0]"},
        {"CheckNumerics", "message=here", "double[] 1", "double[] 1"},
        {"CheckNumericsV2", "message=here", "double[] 1", "double[] 1"},
        {"CheckNumericsV2", "message=here", "float[2,0]", "float[2,0]"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"BroadcastTo", NULL, "[2,1]; int32[3] 5 2 3", "[5,2,3]"},
        {"BroadcastTo", NULL, "[2,1]; int32[3]", "[?,2,?]"},
        {"BroadcastTo", NULL, "[2,1]; int32[1] 3", "InvalidArgument: Rank of input (2)"},
        {"BroadcastTo", NULL, "[2]; int32[1] 3", "InvalidArgument: Incompatible shapes"},
        {"BroadcastTo", NULL, "?; int32[2] 3 4", "[3,4]"},
        {"BroadcastArgs", NULL, "int32[3]; int32[2]", "[3]"},
        {"BroadcastArgs", NULL, "int32[3]; int32[?]", "[?]"},
        {"SelectV2", NULL, "bool[2,1]; [3]; []", "[2,3]"},
        {"SelectV2", NULL, "bool[2]; [3]; []", "InvalidArgument: broadcastable"},
        {"EnsureShape", "shape=[2,?]", "[?,3]", "[2,3]"},
        {"EnsureShape", "shape=[2,?]", "[3,3]", "InvalidArgument: "},
        {"CheckNumerics", "message=m", "[?,3]", "[?,3]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"BroadcastTo", NULL, "double[2,1] 1 2; int32[3] 2 2 3"},
        {"BroadcastTo", NULL, "double[] 1; int64[1] 3"},
        {"SelectV2", NULL, "bool[2,1] true false; double[2] 1 2; double[] 9"},
        {"EnsureShape", "shape=[2]", "double[2] 1 2"},
        {"CheckNumerics", "message=m", "double[2] 1 2"},
        {"CheckNumericsV2", "message=m", "double[2] 1 2"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(broadcast_follows_its_definition),
        cmocka_unit_test(select_follows_its_definition),
        cmocka_unit_test(looks),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}

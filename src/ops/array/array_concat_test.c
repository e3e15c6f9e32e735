// Tests of ConcatV2, Concat, ConcatOffset, Pack, Unpack, Split and SplitV.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void concat_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "ConcatV2",
         .inputs = "float[1,2] 1 2; float[2,2] 3 4 5 6; int32[] 0",
         .want = "float[3,2] 1 2 3 4 5 6"},
        {.op = "ConcatV2",
         .inputs = "float[2,1] 1 2; float[2,2] 3 4 5 6; int32[] 1",
         .want = "float[2,3] 1 3 4 2 5 6"},
        {.op = "ConcatV2",
         .inputs = "int32[1] 1; int32[0]; int32[2] 2 3; int64[] -1",
         .want = "int32[3] 1 2 3"},
        {.op = "ConcatV2",
         .inputs = "string[1] ab; string[2] c def; int32[] 0",
         .want = "string[3] ab c def"},
        {.op = "ConcatV2", .inputs = "float[0,2]; float[0,2]; int32[] 0", .want = "float[0,2]"},
        {.op = "ConcatV2", .inputs = "bool[1] true; bool[1] false; int32[] 0", .want = "bool[2] true false"},
        {.op = "ConcatV2",
         .inputs = "float[1] 1; float[1] 2; int32[] 1",
         .want =
             "InvalidArgument: ConcatOp : Expected concatenating dimensions in the range [-1, 1), but got 1"},
        {.op = "ConcatV2",
         .inputs = "float[1] 1; float[1,1] 2; int32[] 0",
         .want =
             "InvalidArgument: ConcatOp : Ranks of all input tensors should match: shape[0] = [1] vs. shape[1] = [1,1]"},
        {.op = "ConcatV2",
         .inputs = "float[1,2] 1; float[1,3] 2; int32[] 0",
         .want =
             "InvalidArgument: ConcatOp : Dimensions of inputs should match: shape[0] = [1,2] vs. shape[1] = [1,3]"},
        {.op = "Concat", .inputs = "int32[] 1; float[1,1] 1; float[1,2] 2 3", .want = "float[1,3] 1 2 3"},
        {.op = "Concat", .inputs = "int32[] 1; half[2,0]; half[2,0]", .want = "half[2,0]"},
        {.op = "Concat", .inputs = "int32[] 0; int64[0,2]; int64[1,2] 1 2", .want = "int64[1,2] 1 2"},
        {.op = "ConcatOffset",
         .inputs = "int32[] 1; int32[2] 2 3; int32[2] 2 4; int32[2] 2 5",
         .want = "int32[2] 0 0; int32[2] 0 3; int32[2] 0 7"},
        {.op = "ConcatOffset",
         .inputs = "int32[] -1; int64[2] 2 30000000000; int64[2] 2 30000000000; int64[2] 2 5",
         .want = "int64[2] 0 0; int64[2] 0 30000000000; int64[2] 0 60000000000"},
        {.op = "ConcatOffset",
         .inputs = "int32[] 2; int32[2] 2 3; int32[2] 2 4",
         .want = "InvalidArgument: Concat dim is out of range: 2 vs. 2"},
        {.op = "ConcatOffset",
         .inputs = "int32[] 0; int32[2] 2 3; int32[2] 2 4",
         .want =
             "InvalidArgument: All dimensions except 0 must match. Input 1 has shape [2 4] and doesn't match input 0 with shape [2 3]."},
        {.op = "ConcatOffset",
         .inputs = "int32[1] 0; int32[1] 2; int32[1] 2",
         .want = "InvalidArgument: Concat dim tensor should be a scalar integer, but got shape [1]"},
        {.op = "ConcatOffset",
         .inputs = "int32[] 0; int32[] 2; int32[] 2",
         .want = "InvalidArgument: input 1 should be a vector, but got shape []"},
        {.op = "ConcatOffset",
         .inputs = "int32[] 0; int32[2] 2; int32[1] 2",
         .want = "InvalidArgument: input 1 should contain 2 elements, but got 1"},
        {.op = "ConcatOffset",
         .inputs = "int32[] 0; int32[0]; int32[0]",
         .want = "InvalidArgument: Concat dim is out of range: 0 vs. 0"},
    };
    OP_TEST_VALUES(cases);
}

static void pack_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Pack", .inputs = "float[2] 1 2; float[2] 3 4", .want = "float[2,2] 1 2 3 4"},
        {.op = "Pack",
         .inputs = "float[2] 1 2; float[2] 3 4",
         .attrs = "axis=1",
         .want = "float[2,2] 1 3 2 4"},
        {.op = "Pack",
         .inputs = "float[2] 1 2; float[2] 3 4",
         .attrs = "axis=-1",
         .want = "float[2,2] 1 3 2 4"},
        {.op = "Pack", .inputs = "bool[] true; bool[] false", .want = "bool[2] true false"},
        {.op = "Pack", .inputs = "string[] a; string[] bcd", .want = "string[2] a bcd"},
        {.op = "Pack", .inputs = "int32[0]; int32[0]", .want = "int32[2,0]"},
        {.op = "Pack",
         .inputs = "float[2] 1; float[3] 2",
         .want =
             "InvalidArgument: Shapes of all inputs must match: values[0].shape = [2] != values[1].shape = [3]"},
        {.op = "Pack",
         .inputs = "float[2] 1",
         .attrs = "axis=2",
         .want = "InvalidArgument: axis = 2 not in [-2, 2)"},
        {.op = "Unpack",
         .attrs = "num=2",
         .inputs = "float[2,2] 1 2 3 4",
         .want = "float[2] 1 2; float[2] 3 4"},
        {.op = "Unpack",
         .attrs = "num=3; axis=1",
         .inputs = "int32[2,3] 1 2 3 4 5 6",
         .want = "int32[2] 1 4; int32[2] 2 5; int32[2] 3 6"},
        {.op = "Unpack",
         .attrs = "num=2; axis=-1",
         .inputs = "string[2] a bc",
         .want = "string[] a; string[] bc"},
        {.op = "Unpack", .attrs = "num=0", .inputs = "float[0,2]", .want = ""},
        {.op = "Unpack",
         .attrs = "num=2",
         .inputs = "float[3] 1",
         .want = "InvalidArgument: Input shape axis 0 must equal 2, got shape [3]"},
        {.op = "Unpack",
         .attrs = "num=1",
         .inputs = "float[] 1",
         .want = "InvalidArgument: axis = 0 not in [0, 0)"},
    };
    OP_TEST_VALUES(cases);
}

static void split_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Split",
         .attrs = "num_split=2",
         .inputs = "int32[] 0; float[4] 1 2 3 4",
         .want = "float[2] 1 2; float[2] 3 4"},
        {.op = "Split",
         .attrs = "num_split=2",
         .inputs = "int32[] -1; float[2,2] 1 2 3 4",
         .want = "float[2,1] 1 3; float[2,1] 2 4"},
        {.op = "Split",
         .attrs = "num_split=2",
         .inputs = "int32[] 0; bool[0,3]",
         .want = "bool[0,3]; bool[0,3]"},
        {.op = "Split",
         .attrs = "num_split=2",
         .inputs = "int32[] 1; string[0,4]",
         .want = "string[0,2]; string[0,2]"},
        {.op = "Split",
         .attrs = "num_split=2",
         .inputs = "int32[1] 0; float[4] 1",
         .want = "InvalidArgument: split_dim must be a scalar but has rank 1"},
        {.op = "Split",
         .attrs = "num_split=1",
         .inputs = "int32[] 0; float[] 1",
         .want = "InvalidArgument: -input rank(-0) <= split_dim < input rank (0), but got 0"},
        {.op = "Split",
         .attrs = "num_split=3",
         .inputs = "int32[] 0; float[4] 1",
         .want = "InvalidArgument: Number of ways to split should evenly divide the split dimension"},
        {.op = "Split",
         .attrs = "num_split=1",
         .inputs = "int32[] 1; float[4] 1",
         .want = "InvalidArgument: -input rank(-1) <= split_dim < input rank (1), but got 1"},
        {.op = "SplitV",
         .attrs = "num_split=3",
         .inputs = "int32[5] 1 2 3 4 5; int64[3] 1 -1 2; int32[] 0",
         .want = "int32[1] 1; int32[2] 2 3; int32[2] 4 5"},
        {.op = "SplitV",
         .attrs = "num_split=2",
         .inputs = "string[2,2] a b c d; int32[2] 0 2; int32[] 1",
         .want = "string[2,0]; string[2,2] a b c d"},
        {.op = "SplitV",
         .attrs = "num_split=2",
         .inputs = "float[3] 1; int32[2] 1 1; int32[] 0",
         .want = "InvalidArgument: Determined shape must either match input shape"},
        {.op = "SplitV",
         .attrs = "num_split=2",
         .inputs = "float[3] 1; int32[2] -1 -1; int32[] 0",
         .want = "InvalidArgument: Split size at index 1 must be >= 0"},
        {.op = "ConcatV2",
         .inputs = "float[0,4611686018427387904]; float[0,4611686018427387904]; int32[] 1",
         .want = "InvalidArgument: The sizes along dimension 1 have no sum in 64 bits"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"ConcatV2", NULL, "[2,3]; [4,3]; int32[] 0", "[6,3]"},
        {"ConcatV2", NULL, "[?,3]; [4,?]; int32[] 0", "[?,3]"},
        {"ConcatV2", NULL, "?; [4,3]; int32[] 1", "[4,?]"},
        {"ConcatV2", NULL, "[2,3]; [4,3]; int32[]", "[?,?]"},
        {"ConcatV2", NULL, "?; ?; int32[] 0", "?"},
        {"ConcatV2", NULL, "[0,4611686018427387904]; [0,4611686018427387904]; int32[] 1", "[0,?]"},
        {"ConcatV2", NULL, "[2,3]; [4,4]; int32[] 0",
         "InvalidArgument: Dimension 1 in both shapes must be equal, but are 3 and 4"},
        {"ConcatV2", NULL, "[]; []; int32[] 0", "InvalidArgument: Can't concatenate scalars"},
        {"Concat", NULL, "int32[] 0; [2,3]; [4,3]", "[6,3]"},
        {"ConcatOffset", NULL, "int32[]; int32[3]; int32[3]", "[3]; [3]"},
        {"Pack", NULL, "[2,?]; [?,3]", "[2,2,3]"},
        {"Pack", "axis=-1", "[2]; [2]; [2]", "[2,3]"},
        {"Pack", NULL, "?; ?", "?"},
        {"Pack", NULL, "[2]; [3]", "InvalidArgument: Shapes must be equal"},
        {"Unpack", "num=2; axis=1", "[3,2,?]", "[3,?]; [3,?]"},
        {"Unpack", "num=3", "[2]", "InvalidArgument: Dimension must be 3 but is 2"},
        {"Split", "num_split=2", "int32[] 0; [4,?]", "[2,?]; [2,?]"},
        {"Split", "num_split=2", "int32[]; [4,?]", "[?,?]; [?,?]"},
        {"Split", "num_split=2", "int32[] 0; [5]",
         "InvalidArgument: Dimension size must be evenly divisible by 2 but is 5\n\tNumber of ways"},
        {"SplitV", "num_split=2", "[4,3]; int32[2] 1 3; int32[] 0", "[1,3]; [3,3]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"ConcatV2", NULL, "double[1,2] 1 2; double[2,2] 3 4 5 6; int32[] 0", NULL},
        {"ConcatV2", NULL, "double[2,1] 1 2; double[2,2] 3 4 5 6; int32[] -1", NULL},
        {"ConcatV2", NULL,
         "double[1] 1; double[1] 2; double[1] 3; double[1] 4; double[1] 5; double[1] 6; double[1] 7; double[1] 8; "
         "double[1] 9; double[1] 1; double[1] 2; double[1] 3; double[1] 4; double[1] 5; double[1] 6; double[2] 7 8; "
         "double[1] 8; int32[] 0",
         NULL},
        {"Concat", NULL, "int32[] 0; double[1] 1; double[2] 3 4", NULL},
        {"Pack", "axis=1", "double[2] 1 2; double[2] 3 4", NULL},
        {"Unpack", "num=2", "double[2,2] 1 2 3 4", NULL},
        {"Split", "num_split=2", "int32[] 0; double[4] 1 2 3 4", NULL},
        {"Split", "num_split=1", "int32[] 0; double[2] 1 2", NULL},
        {"SplitV", "num_split=2", "double[3] 1 2 3; int32[2] 1 2; int32[] 0", NULL},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(concat_follows_its_definition),      cmocka_unit_test(pack_follows_its_definition),
        cmocka_unit_test(split_follows_its_definition),       cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}

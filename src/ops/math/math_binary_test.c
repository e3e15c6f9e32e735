// Tests of element-wise arithmetic and its broadcasting.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Add", NULL, "float[3] 1 2 3; float[3] 10 20 30", "float[3] 11 22 33"},
        {"AddV2", NULL, "double[2] 1 2; double[2] 0.5 -2", "double[2] 1.5 0"},
        {"Add", NULL, "int32[2] 2147483647 1; int32[2] 1 1", "int32[2] -2147483648 2"},
        {"Sub", NULL, "int64[2] 1 5; int64[2] 3 2", "int64[2] -2 3"},
        {"Mul", NULL, "float[2] 1.5 -2; float[2] 2 3", "float[2] 3 -6"},
        {"Mul", NULL, "int32[1] 65536; int32[1] 65536", "int32[1] 0"},
        {"RealDiv", NULL, "float[3] 1 -1 0; float[3] 4 0 0", "float[3] 0.25 -inf nan"},
        {"Div", NULL, "float[2] 7 -7; float[2] 2 2", "float[2] 3.5 -3.5"},
        {"Div", NULL, "int32[4] 7 -7 7 -7; int32[4] 2 2 -2 -2", "int32[4] 3 -3 -3 3"},
        {"Div", NULL, "int32[2] -2147483648 9; int32[] -1", "int32[2] -2147483648 -9"},
        {"TruncateDiv", NULL, "int64[2] -7 7; int64[] 2", "int64[2] -3 3"},
        {"FloorDiv", NULL, "int32[4] 7 -7 7 -7; int32[4] 2 2 -2 -2", "int32[4] 3 -4 -4 3"},
        {"FloorDiv", NULL, "float[2] 7 -7; float[] 2", "float[2] 3 -4"},
        {"FloorDiv", NULL, "int64[1] -9223372036854775808; int64[] -1", "int64[1] -9223372036854775808"},
        {"FloorMod", NULL, "int32[4] 7 -7 7 -7; int32[4] 3 3 -3 -3", "int32[4] 1 2 -2 -1"},
        {"FloorMod", NULL, "float[4] 7 -7 7 -7; float[4] 3 3 -3 -3", "float[4] 1 2 -2 -1"},
        {"FloorMod", NULL, "int32[1] -2147483648; int32[] -1", "int32[1] 0"},
        {"Mod", NULL, "int32[4] 7 -7 7 -7; int32[4] 3 3 -3 -3", "int32[4] 1 -1 1 -1"},
        {"TruncateMod", NULL, "double[2] 7.5 -7.5; double[] 2", "double[2] 1.5 -1.5"},
        {"Maximum", NULL, "float[3] 1 5 -1; float[3] 2 4 -3", "float[3] 2 5 -1"},
        {"Minimum", NULL, "int64[3] 1 5 -1; int64[3] 2 4 -3", "int64[3] 1 4 -3"},
        {"Pow", NULL, "float[3] 2 9 0.5; float[3] 10 0.5 -2", "float[3] 1024 3 4"},
        {"Pow", NULL, "int32[3] 3 -2 7; int32[3] 4 3 0", "int32[3] 81 -8 1"},
        {"SquaredDifference", NULL, "float[2] 1 5; float[2] 4 3", "float[2] 9 4"},
        {"SquaredDifference", NULL, "int32[2] 1 5; int32[2] 4 3", "int32[2] 9 4"},
        // Scalars and broadcasting.
        {"Sub", NULL, "float[] 3; float[] 1", "float[] 2"},
        {"Sub", NULL, "float[2,2] 1 2 3 4; float[] 1", "float[2,2] 0 1 2 3"},
        {"Sub", NULL, "float[] 1; float[2,2] 1 2 3 4", "float[2,2] 0 -1 -2 -3"},
        {"Sub", NULL, "float[1,1] 1; float[2] 5 6", "float[1,2] -4 -5"},
        {"Sub", NULL, "float[2,3] 1 2 3 4 5 6; float[3] 1 2 3", "float[2,3] 0 0 0 3 3 3"},
        {"Sub", NULL, "float[3] 1 2 3; float[2,3] 1 2 3 4 5 6", "float[2,3] 0 0 0 -3 -3 -3"},
        {"Sub", NULL, "float[2,3] 1 2 3 4 5 6; float[2,1] 1 2", "float[2,3] 0 1 2 2 3 4"},
        {"Sub", NULL, "float[2,1] 10 20; float[1,3] 1 2 3", "float[2,3] 9 8 7 19 18 17"},
        {"Sub", NULL, "float[2,1,2] 1 2 3 4; float[3,1] 10 20 30",
         "float[2,3,2] -9 -8 -19 -18 -29 -28 -7 -6 -17 -16 -27 -26"},
        {"Sub", NULL, "int32[2,2,1,2] 1 2 3 4 5 6 7 8; int32[2,1,2,1] 0 1 2 3",
         "int32[2,2,2,2] 1 2 0 1 3 4 2 3 3 4 2 3 5 6 4 5"},
        {"Add", NULL, "float[0,3]; float[3] 1 2 3", "float[0,3]"},
        {"Add", NULL, "float[2,0]; float[1,1] 1", "float[2,0]"},
        {"Add", NULL, "float[5,7] 1; float[7] 2", "float[5,7] 3"},
        // Strings.
        {"Add", NULL, "string[3] a bc ''; string[3] x y ''", "string[3] ax bcy ''"},
        {"Add", NULL, "string[] a; string[2] x y", "string[2] ax ay"},
        {"Add", NULL, "string[2,1] a b; string[1,3] x y z", "string[2,3] ax ay az bx by bz"},
        {"Add", NULL, "string[0]; string[1] a", "string[0]"},
        {"Add", NULL, "string[2] a b; string[3] a b c", "InvalidArgument: Incompatible shapes: [2] vs. [3]"},
        // Errors at run time.
        {"Add", NULL, "float[2] 1 2; float[3] 1 2 3", "InvalidArgument: Incompatible shapes: [2] vs. [3]"},
        {"Add", NULL, "float[1,9223372036854775807,0]; float[9,1,1] 1",
         "InvalidArgument: has too many elements"},
        {"Mul", NULL, "float[2,2] 1; float[3,2] 1", "InvalidArgument: Incompatible shapes: [2,2] vs. [3,2]"},
        {"Div", NULL, "int32[2] 1 2; int32[2] 1 0", "InvalidArgument: Integer division by zero"},
        {"FloorMod", NULL, "int64[2] 1 2; int64[] 0", "InvalidArgument: Integer division by zero"},
        {"FloorMod", NULL, "int32[0]; int32[] 0", "int32[0]"}, // no element is divided
        {"Pow", NULL, "int32[2] 1 2; int32[2] 1 -1",
         "InvalidArgument: Integers to negative integer powers are not allowed"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Add", NULL, "[2,3];[3]", "[2,3]"},
        {"Add", NULL, "[2,1];[3]", "[2,3]"},
        {"Add", NULL, "[1,2,3];[4,5,6]", "InvalidArgument: Dimensions must be equal, but are 2 and 5"},
        {"Add", NULL, "[3,0];[7,3,4]", "InvalidArgument: Dimensions must be equal, but are 0 and 4"},
        {"Add", NULL, "[?,3];[2,1]", "[2,3]"},
        {"Add", NULL, "?;[3]", "?"},
        {"Mul", NULL, "[2];[3]",
         "InvalidArgument: Dimensions must be equal, but are 2 and 3 for 'Mul' (op: 'Mul') with input shapes: [2], [3]."},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"Add", NULL, "double[2] 1 2; double[2] 3 4"},
        {"Add", NULL, "double[2,3] 1 2 3 4 5 6; double[3] 3 4 5"},
        {"Add", NULL, "double[] 1; double[2,3] 1 2 3 4 5 6"},
        {"AddV2", NULL, "double[2,1] 1 2; double[1,3] 3 4 5"},
        {"Sub", NULL, "double[2,1] 1 2; double[3] 3 4 5"},
        {"Mul", NULL, "double[2,3] 1 2 3 4 5 6; double[3] 3 4 5"},
        {"Mul", NULL, "double[2] 1 2; double[] -3"},
        {"RealDiv", NULL, "double[2,2] 1 2 3 4; double[2] 3 -4"},
        {"Div", NULL, "double[2] 1 2; double[2,1] 3 -4"},
        {"FloorDiv", NULL, "double[2] 7.5 2.5; double[2] 2 3", "01"},
        {"FloorMod", NULL, "double[2] 7.5 -2.5; double[2] 2 3"},
        {"Maximum", NULL, "double[3] 1 5 -1; double[3] 2 4 -3"},
        {"Minimum", NULL, "double[2,2] 1 5 -1 0; double[] 0.5"},
        {"Pow", NULL, "double[3] 2 9 0.5; double[3] 3 0.5 -2"},
        {"Pow", NULL, "double[2,2] 2 9 0.5 1; double[] 3"},
        {"SquaredDifference", NULL, "double[2,2] 1 5 2 7; double[2] 4 3"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}

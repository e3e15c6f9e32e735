// Tests of ops on several diagonals of matrices. Values are those of a numpy model that handles one diagonal
// at a time (numpy.diagonal).
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void left_aligned_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MatrixDiagPartV2", NULL, "float[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] -1 2; float[] 9",
         "float[4,3] 3 8 9 2 7 12 1 6 11 5 10 9"},
        {"MatrixDiagV2", NULL,
         "float[4,3] 3 8 9 2 7 12 1 6 11 5 10 9; int32[2] -1 2; int32[] 3; int32[] 4; float[] 7",
         "float[3,4] 1 2 3 7 5 6 7 8 7 10 11 12"},
        {"MatrixSetDiagV2", NULL, "float[3,4] 7; float[4,3] 3 8 9 2 7 12 1 6 11 5 10 9; int32[2] -1 2",
         "float[3,4] 1 2 3 7 5 6 7 8 7 10 11 12"},
        {"MatrixDiagPartV2", NULL, "float[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] 0 1; float[] 9",
         "float[2,3] 2 7 12 1 6 11"},
        {"MatrixDiagV2", NULL, "float[2,3] 2 7 12 1 6 11; int32[2] 0 1; int32[] 3; int32[] 4; float[] 7",
         "float[3,4] 1 2 7 7 7 6 7 7 7 7 11 12"},
        {"MatrixSetDiagV2", NULL, "float[3,4] 7; float[2,3] 2 7 12 1 6 11; int32[2] 0 1",
         "float[3,4] 1 2 7 7 7 6 7 7 7 7 11 12"},
        {"MatrixDiagPartV2", NULL, "float[2,2,3] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] -1 1; float[] 9",
         "float[2,3,2] 2 6 1 5 4 9 8 12 7 11 10 9"},
        {"MatrixDiagV2", NULL,
         "float[2,3,2] 2 6 1 5 4 9 8 12 7 11 10 9; int32[2] -1 1; int32[] 2; int32[] 3; float[] 7",
         "float[2,2,3] 1 2 7 4 5 6 7 8 7 10 11 12"},
        {"MatrixSetDiagV2", NULL, "float[2,2,3] 7; float[2,3,2] 2 6 1 5 4 9 8 12 7 11 10 9; int32[2] -1 1",
         "float[2,2,3] 1 2 7 4 5 6 7 8 7 10 11 12"},
        {"MatrixDiagPartV2", NULL, "float[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[] 3; float[] 9",
         "float[1] 4"},
        {"MatrixDiagV2", NULL, "float[1] 4; int32[] 3; int32[] 3; int32[] 4; float[] 7",
         "float[3,4] 7 7 7 4 7 7 7 7 7 7 7 7"},
        {"MatrixSetDiagV2", NULL, "float[3,4] 7; float[1] 4; int32[] 3",
         "float[3,4] 7 7 7 4 7 7 7 7 7 7 7 7"},
        {"MatrixDiagPartV2", NULL, "float[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] -2 -1; float[] 9",
         "float[2,2] 5 10 9 9"},
        {"MatrixDiagV2", NULL, "float[2,2] 5 10 9 9; int32[2] -2 -1; int32[] 3; int32[] 4; float[] 7",
         "float[3,4] 7 7 7 7 5 7 7 7 9 10 7 7"},
        {"MatrixSetDiagV2", NULL, "float[3,4] 7; float[2,2] 5 10 9 9; int32[2] -2 -1",
         "float[3,4] 7 7 7 7 5 7 7 7 9 10 7 7"},
    };
    OP_TEST_VALUES(cases);
}

static void right_left_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MatrixDiagPartV3", "align=RIGHT_LEFT",
         "float[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] -1 2; float[] 9",
         "float[4,3] 9 3 8 2 7 12 1 6 11 5 10 9"},
        {"MatrixDiagV3", "align=RIGHT_LEFT",
         "float[4,3] 9 3 8 2 7 12 1 6 11 5 10 9; int32[2] -1 2; int32[] 3; int32[] 4; float[] 7",
         "float[3,4] 1 2 3 7 5 6 7 8 7 10 11 12"},
        {"MatrixSetDiagV3", "align=RIGHT_LEFT",
         "float[3,4] 7; float[4,3] 9 3 8 2 7 12 1 6 11 5 10 9; int32[2] -1 2",
         "float[3,4] 1 2 3 7 5 6 7 8 7 10 11 12"},
        {"MatrixDiagPartV3", "align=RIGHT_LEFT",
         "float[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] 0 1; float[] 9", "float[2,3] 2 7 12 1 6 11"},
        {"MatrixDiagV3", "align=RIGHT_LEFT",
         "float[2,3] 2 7 12 1 6 11; int32[2] 0 1; int32[] 3; int32[] 4; float[] 7",
         "float[3,4] 1 2 7 7 7 6 7 7 7 7 11 12"},
        {"MatrixSetDiagV3", "align=RIGHT_LEFT", "float[3,4] 7; float[2,3] 2 7 12 1 6 11; int32[2] 0 1",
         "float[3,4] 1 2 7 7 7 6 7 7 7 7 11 12"},
        {"MatrixDiagPartV3", "align=RIGHT_LEFT",
         "float[2,2,3] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] -1 1; float[] 9",
         "float[2,3,2] 2 6 1 5 4 9 8 12 7 11 10 9"},
        {"MatrixDiagV3", "align=RIGHT_LEFT",
         "float[2,3,2] 2 6 1 5 4 9 8 12 7 11 10 9; int32[2] -1 1; int32[] 2; int32[] 3; float[] 7",
         "float[2,2,3] 1 2 7 4 5 6 7 8 7 10 11 12"},
        {"MatrixSetDiagV3", "align=RIGHT_LEFT",
         "float[2,2,3] 7; float[2,3,2] 2 6 1 5 4 9 8 12 7 11 10 9; int32[2] -1 1",
         "float[2,2,3] 1 2 7 4 5 6 7 8 7 10 11 12"},
        {"MatrixDiagPartV3", "align=RIGHT_LEFT",
         "float[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[] 3; float[] 9", "float[1] 4"},
        {"MatrixDiagV3", "align=RIGHT_LEFT", "float[1] 4; int32[] 3; int32[] 3; int32[] 4; float[] 7",
         "float[3,4] 7 7 7 4 7 7 7 7 7 7 7 7"},
        {"MatrixSetDiagV3", "align=RIGHT_LEFT", "float[3,4] 7; float[1] 4; int32[] 3",
         "float[3,4] 7 7 7 4 7 7 7 7 7 7 7 7"},
        {"MatrixDiagPartV3", "align=RIGHT_LEFT",
         "float[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] -2 -1; float[] 9", "float[2,2] 5 10 9 9"},
        {"MatrixDiagV3", "align=RIGHT_LEFT",
         "float[2,2] 5 10 9 9; int32[2] -2 -1; int32[] 3; int32[] 4; float[] 7",
         "float[3,4] 7 7 7 7 5 7 7 7 9 10 7 7"},
        {"MatrixSetDiagV3", "align=RIGHT_LEFT", "float[3,4] 7; float[2,2] 5 10 9 9; int32[2] -2 -1",
         "float[3,4] 7 7 7 7 5 7 7 7 9 10 7 7"},
    };
    OP_TEST_VALUES(cases);
}

static void left_right_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MatrixDiagPartV3", "align=LEFT_RIGHT",
         "float[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] -1 2; float[] 9",
         "float[4,3] 3 8 9 2 7 12 1 6 11 9 5 10"},
        {"MatrixDiagV3", "align=LEFT_RIGHT",
         "float[4,3] 3 8 9 2 7 12 1 6 11 9 5 10; int32[2] -1 2; int32[] 3; int32[] 4; float[] 7",
         "float[3,4] 1 2 3 7 5 6 7 8 7 10 11 12"},
        {"MatrixSetDiagV3", "align=LEFT_RIGHT",
         "float[3,4] 7; float[4,3] 3 8 9 2 7 12 1 6 11 9 5 10; int32[2] -1 2",
         "float[3,4] 1 2 3 7 5 6 7 8 7 10 11 12"},
        {"MatrixDiagPartV3", "align=LEFT_RIGHT",
         "float[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] 0 1; float[] 9", "float[2,3] 2 7 12 1 6 11"},
        {"MatrixDiagV3", "align=LEFT_RIGHT",
         "float[2,3] 2 7 12 1 6 11; int32[2] 0 1; int32[] 3; int32[] 4; float[] 7",
         "float[3,4] 1 2 7 7 7 6 7 7 7 7 11 12"},
        {"MatrixSetDiagV3", "align=LEFT_RIGHT", "float[3,4] 7; float[2,3] 2 7 12 1 6 11; int32[2] 0 1",
         "float[3,4] 1 2 7 7 7 6 7 7 7 7 11 12"},
        {"MatrixDiagPartV3", "align=LEFT_RIGHT",
         "float[2,2,3] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] -1 1; float[] 9",
         "float[2,3,2] 2 6 1 5 9 4 8 12 7 11 9 10"},
        {"MatrixDiagV3", "align=LEFT_RIGHT",
         "float[2,3,2] 2 6 1 5 9 4 8 12 7 11 9 10; int32[2] -1 1; int32[] 2; int32[] 3; float[] 7",
         "float[2,2,3] 1 2 7 4 5 6 7 8 7 10 11 12"},
        {"MatrixSetDiagV3", "align=LEFT_RIGHT",
         "float[2,2,3] 7; float[2,3,2] 2 6 1 5 9 4 8 12 7 11 9 10; int32[2] -1 1",
         "float[2,2,3] 1 2 7 4 5 6 7 8 7 10 11 12"},
        {"MatrixDiagPartV3", "align=LEFT_RIGHT",
         "float[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[] 3; float[] 9", "float[1] 4"},
        {"MatrixDiagV3", "align=LEFT_RIGHT", "float[1] 4; int32[] 3; int32[] 3; int32[] 4; float[] 7",
         "float[3,4] 7 7 7 4 7 7 7 7 7 7 7 7"},
        {"MatrixSetDiagV3", "align=LEFT_RIGHT", "float[3,4] 7; float[1] 4; int32[] 3",
         "float[3,4] 7 7 7 4 7 7 7 7 7 7 7 7"},
        {"MatrixDiagPartV3", "align=LEFT_RIGHT",
         "float[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] -2 -1; float[] 9", "float[2,2] 5 10 9 9"},
        {"MatrixDiagV3", "align=LEFT_RIGHT",
         "float[2,2] 5 10 9 9; int32[2] -2 -1; int32[] 3; int32[] 4; float[] 7",
         "float[3,4] 7 7 7 7 5 7 7 7 9 10 7 7"},
        {"MatrixSetDiagV3", "align=LEFT_RIGHT", "float[3,4] 7; float[2,2] 5 10 9 9; int32[2] -2 -1",
         "float[3,4] 7 7 7 7 5 7 7 7 9 10 7 7"},
    };
    OP_TEST_VALUES(cases);
}

static void right_right_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MatrixDiagPartV3", "align=RIGHT_RIGHT",
         "float[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] -1 2; float[] 9",
         "float[4,3] 9 3 8 2 7 12 1 6 11 9 5 10"},
        {"MatrixDiagV3", "align=RIGHT_RIGHT",
         "float[4,3] 9 3 8 2 7 12 1 6 11 9 5 10; int32[2] -1 2; int32[] 3; int32[] 4; float[] 7",
         "float[3,4] 1 2 3 7 5 6 7 8 7 10 11 12"},
        {"MatrixSetDiagV3", "align=RIGHT_RIGHT",
         "float[3,4] 7; float[4,3] 9 3 8 2 7 12 1 6 11 9 5 10; int32[2] -1 2",
         "float[3,4] 1 2 3 7 5 6 7 8 7 10 11 12"},
        {"MatrixDiagPartV3", "align=RIGHT_RIGHT",
         "float[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] 0 1; float[] 9", "float[2,3] 2 7 12 1 6 11"},
        {"MatrixDiagV3", "align=RIGHT_RIGHT",
         "float[2,3] 2 7 12 1 6 11; int32[2] 0 1; int32[] 3; int32[] 4; float[] 7",
         "float[3,4] 1 2 7 7 7 6 7 7 7 7 11 12"},
        {"MatrixSetDiagV3", "align=RIGHT_RIGHT", "float[3,4] 7; float[2,3] 2 7 12 1 6 11; int32[2] 0 1",
         "float[3,4] 1 2 7 7 7 6 7 7 7 7 11 12"},
        {"MatrixDiagPartV3", "align=RIGHT_RIGHT",
         "float[2,2,3] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] -1 1; float[] 9",
         "float[2,3,2] 2 6 1 5 9 4 8 12 7 11 9 10"},
        {"MatrixDiagV3", "align=RIGHT_RIGHT",
         "float[2,3,2] 2 6 1 5 9 4 8 12 7 11 9 10; int32[2] -1 1; int32[] 2; int32[] 3; float[] 7",
         "float[2,2,3] 1 2 7 4 5 6 7 8 7 10 11 12"},
        {"MatrixSetDiagV3", "align=RIGHT_RIGHT",
         "float[2,2,3] 7; float[2,3,2] 2 6 1 5 9 4 8 12 7 11 9 10; int32[2] -1 1",
         "float[2,2,3] 1 2 7 4 5 6 7 8 7 10 11 12"},
        {"MatrixDiagPartV3", "align=RIGHT_RIGHT",
         "float[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[] 3; float[] 9", "float[1] 4"},
        {"MatrixDiagV3", "align=RIGHT_RIGHT", "float[1] 4; int32[] 3; int32[] 3; int32[] 4; float[] 7",
         "float[3,4] 7 7 7 4 7 7 7 7 7 7 7 7"},
        {"MatrixSetDiagV3", "align=RIGHT_RIGHT", "float[3,4] 7; float[1] 4; int32[] 3",
         "float[3,4] 7 7 7 4 7 7 7 7 7 7 7 7"},
        {"MatrixDiagPartV3", "align=RIGHT_RIGHT",
         "float[3,4] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] -2 -1; float[] 9", "float[2,2] 5 10 9 9"},
        {"MatrixDiagV3", "align=RIGHT_RIGHT",
         "float[2,2] 5 10 9 9; int32[2] -2 -1; int32[] 3; int32[] 4; float[] 7",
         "float[3,4] 7 7 7 7 5 7 7 7 9 10 7 7"},
        {"MatrixSetDiagV3", "align=RIGHT_RIGHT", "float[3,4] 7; float[2,2] 5 10 9 9; int32[2] -2 -1",
         "float[3,4] 7 7 7 7 5 7 7 7 9 10 7 7"},
    };
    OP_TEST_VALUES(cases);
}

static void sizes_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // The size of the matrices is computed when it is not given.
        {"MatrixDiagV2", NULL, "float[2] 1 2; int32[] 1; int32[] -1; int32[] -1; float[] 0",
         "float[3,3] 0 1 0 0 0 2 0 0 0"},
        {"MatrixDiagV2", NULL, "float[2] 1 2; int32[1] -1; int32[] -1; int32[] 2; float[] 0",
         "float[3,2] 0 0 1 0 0 2"},
        {"MatrixDiagV2", NULL, "string[1] a; int32[] 0; int32[] 1; int32[] 2; string[] -", "string[1,2] a -"},
        {"MatrixDiagV2", NULL, "float[2] 1 2; int32[] 1; int32[] 1; int32[] -1; float[] 0",
         "InvalidArgument: The number of rows is too small."},
        {"MatrixDiagV2", NULL, "float[2] 1 2; int32[] 1; int32[] -1; int32[] 2; float[] 0",
         "InvalidArgument: The number of columns is too small."},
        {"MatrixDiagV2", NULL, "float[2] 1 2; int32[] 0; int32[] 3; int32[] 3; float[] 0",
         "InvalidArgument: not consistent"},
        {"MatrixDiagV2", NULL, "float[2] 1 2; int32[2] 0 1; int32[] 3; int32[] 3; float[] 0",
         "InvalidArgument: "},
        {"MatrixDiagV2", NULL, "float[] 1; int32[] 0; int32[] 3; int32[] 3; float[] 0", "InvalidArgument: "},
        {"MatrixDiagV2", NULL, "float[2] 1; int32[2] 1 0; int32[] 3; int32[] 3; float[] 0",
         "InvalidArgument: must not be larger"},
        {"MatrixDiagV2", NULL, "float[2] 1; int32[] 2147483647; int32[] -1; int32[] -1; float[] 0",
         "ResourceExhausted: "},
        {"MatrixDiagV2", NULL, "float[2] 1; int32[3] 0; int32[] -1; int32[] -1; float[] 0",
         "InvalidArgument: one or two elements"},
        {"MatrixDiagV2", NULL, "float[0]; int32[] 0; int32[] -1; int32[] -1; float[] 0", "float[0,0]"},
        {"MatrixDiagV3", NULL, "float[0,2]; int32[] 1; int32[] -1; int32[] -1; float[] 0", "float[0,3,3]"},
        {"MatrixDiagV3", NULL, "float[2] 1; int32[0]; int32[] -1; int32[] -1; float[] 0",
         "InvalidArgument: one or two elements, received 0"},
        {"MatrixDiagPartV3", NULL, "float[0,2,3]; int32[2] -1 1; float[] 0", "float[0,3,2]"},
        {"MatrixDiagPartV3", NULL, "float[2,3] 1; int32[0]; float[] 0",
         "InvalidArgument: one or two elements, received 0"},
        {"MatrixSetDiagV2", NULL, "float[0,2,3]; float[0,2]; int32[] 0", "float[0,2,3]"},
        {"MatrixSetDiagV3", NULL, "float[0,2,3]; float[0,2,2]; int32[2] 0 1", "float[0,2,3]"},
        {"MatrixSetDiagV3", NULL, "float[2,3] 1; float[] 1; int32[] 0",
         "InvalidArgument: diagonal must be at least 1-dim"},
        {"MatrixDiagPartV2", NULL, "float[0,3]; int32[] 0; float[] 0", "float[0]"},
        {"MatrixDiagPartV2", NULL, "float[2,3] 1; int32[] 3; float[] 0", "InvalidArgument: out of bound"},
        {"MatrixDiagPartV2", NULL, "float[2,3] 1; int32[2] -2 1; float[] 0", "InvalidArgument: out of bound"},
        {"MatrixDiagPartV2", NULL, "float[3] 1; int32[] 0; float[] 0", "InvalidArgument: "},
        {"MatrixDiagPartV2", NULL, "float[2,3] 1; int32[1,1] 0; float[] 0", "InvalidArgument: "},
        {"MatrixDiagPartV2", NULL, "float[2,3] 1; int32[] 0; float[2] 0",
         "InvalidArgument: padding_value must be a scalar"},
        {"MatrixSetDiagV2", NULL, "float[2,3] 1; float[3] 1; int32[] 0", "InvalidArgument: "},
        {"MatrixSetDiagV2", NULL, "float[2,3] 1; float[2] 1; int32[2] 0 1", "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"MatrixDiagPartV2", NULL, "[5,3,4]; int32[2] -1 1; []", "[5,3,3]"},
        {"MatrixDiagPartV2", NULL, "[5,3,?]; int32[] 1; []", "[5,?]"},
        {"MatrixDiagPartV2", NULL, "[5,3,4]; int32[]; []", "?"},
        {"MatrixDiagPartV2", NULL, "[3,4]; int32[] 4; []", "InvalidArgument: out of bound"},
        {"MatrixDiagPartV3", NULL, "[4]; int32[] 0; []", "InvalidArgument: rank"},
        {"MatrixSetDiagV2", NULL, "[5,3,4]; [5,3]; int32[] 0", "[5,3,4]"},
        {"MatrixSetDiagV2", NULL, "[5,3,4]; [5,4]; int32[] 0", "InvalidArgument: "},
        {"MatrixDiagV2", NULL, "[5,3]; int32[] 1; int32[] -1; int32[] -1; []", "[5,4,4]"},
        {"MatrixDiagV2", NULL, "[5,3]; int32[2] -1 3; int32[] -1; int32[] -1; []", "[3,3]"},
        {"MatrixDiagV2", NULL, "[5,3]; int32[] 1; int32[]; int32[] -1; []", "[5,?,?]"},
        {"MatrixDiagV2", NULL, "[4,3]; int32[2] -1 3; int32[] -1; int32[] -1; []", "InvalidArgument: "},
        {"MatrixDiagV3", NULL, "[5,3]; int32[]; int32[]; int32[] -1; []", "?"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"MatrixDiagV2", NULL, "double[2] 1 2; int32[] 1; int32[] -1; int32[] -1; double[] 0", "4"},
        {"MatrixDiagPartV2", NULL, "double[2,3] 1 2 3 4 5 6; int32[2] -1 1; double[] 0", "2"},
        {"MatrixSetDiagV2", NULL, "double[2,3] 1 2 3 4 5 6; double[2] 7 8; int32[] 1"},
        {"MatrixDiagV3", "align=RIGHT_RIGHT",
         "double[2,2] 1 2 3 4; int32[2] 0 1; int32[] -1; int32[] -1; double[] 0", "4"},
        {"MatrixDiagPartV3", NULL, "double[2,3] 1 2 3 4 5 6; int32[2] -1 1; double[] 0", "2"},
        {"MatrixSetDiagV3", NULL, "double[2,3] 1 2 3 4 5 6; double[2,2] 7 8 9 10; int32[2] 0 1"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(left_aligned_follows_its_definition),
        cmocka_unit_test(right_left_follows_its_definition),
        cmocka_unit_test(left_right_follows_its_definition),
        cmocka_unit_test(right_right_follows_its_definition),
        cmocka_unit_test(sizes_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}

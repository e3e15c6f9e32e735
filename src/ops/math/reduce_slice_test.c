// Tests of the ReduceSlice ops; values are those of TensorFlow 1.15.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define DATA "float[4,3] 1 20 3 400 5 60 70 8 900 1000 2000 3000"
#define SLICES "; int32[4,2] 0 1 1 1 0 2 2 99; int64[] 0"

static void slices_are_joined(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"ReduceSliceSum", NULL, DATA SLICES, "float[4,3] 1 20 3 0 0 0 401 25 63 1070 2008 3900"},
        {"ReduceSliceProd", NULL, DATA SLICES, "float[4,3] 1 20 3 1 1 1 400 100 180 70000 16000 2700000"},
        {"ReduceSliceMax", NULL, DATA SLICES, "float[4,3] 1 20 3 -inf -inf -inf 400 20 60 1000 2000 3000"},
        {"ReduceSliceMin", NULL, DATA SLICES, "float[4,3] 1 20 3 inf inf inf 1 5 3 70 8 900"},
        // From each element of a vector to the next one; also along the last axis.
        {"ReduceSliceSum", NULL, DATA "; int64[3] 0 1 3; int64[] 1",
         "float[4,2] 1 23 400 65 70 908 1000 5000"},
        {"ReduceSliceSum", NULL, "int64[3,1,2] 1 2 3 4 5 6; int32[3] 0 2 3; int64[] 0",
         "int64[2,1,2] 4 6 5 6"},
        {"ReduceSliceSum", NULL, "complex64[2] 1+2i 3-1i; int32[1,2] 0 2; int64[] 0", "complex64[1] 4+1i"},
        // The ends of narrow types.
        {"ReduceSliceMax", NULL, "int32[2] 1 2; int32[2,2] 0 2 1 0; int64[] 0", "int32[2] 2 -2147483648"},
        {"ReduceSliceMin", NULL, "uint8[3] 1 3 2; int32[2,2] 0 2 2 2; int64[] 0", "uint8[2] 1 255"},
        {"ReduceSliceMax", NULL, "int8[3] 1 3 2; int32[2,2] 0 2 2 2; int64[] 0", "int8[2] 3 -128"},
        {"ReduceSliceMax", NULL, "double[5] 1 nan 2 nan 3; int32[3,2] 0 5 0 2 1 2; int64[] 0",
         "double[3] 3 nan nan"},
        {"ReduceSliceSum", NULL, "float[2,3] 1 2 3 4 5 6; int64[0]; int64[] 0", "float[0,3]"},
        {"ReduceSliceSum", NULL, "float[2,0]; int64[1,2] 0 2; int64[] 0", "float[1,0]"},
        {"ReduceSliceProd", NULL, "float[0,2]; int64[1,2] 0 2; int64[] 0", "float[1,2] 1 1"},
        {"ReduceSliceSum", NULL, "float[2] 1 2; int32[1,2] -1 2; int64[] 0",
         "InvalidArgument: the start of slice 0 is -1, below 0"},
        {"ReduceSliceSum", NULL, "float[2] 1 2; int32[1,2] 0 2; int64[] 1",
         "InvalidArgument: axis must be in [0, 1), but is 1"},
        {"ReduceSliceSum", NULL, "float[2] 1 2; int32[1,3] 0 1 2; int64[] 0", "InvalidArgument: "},
        {"ReduceSliceSum", NULL, "float[] 1; int32[1,2] 0 1; int64[] 0", "InvalidArgument: axis must be in"},
        {"ReduceSliceProd", NULL, "float[] 1; int32[1,2] 0 1; int64[] 0", "InvalidArgument: axis must be in"},
        {"ReduceSliceMax", NULL, "float[] 1; int32[1,2] 0 1; int64[] 0", "InvalidArgument: axis must be in"},
        {"ReduceSliceMin", NULL, "float[] 1; int32[1,2] 0 1; int64[] 0", "InvalidArgument: axis must be in"},
        {"ReduceSliceMax", NULL, "float[0]; int32[1] 0; int64[] 0", "float[0]"},
        {"ReduceSliceMin", NULL, "float[0]; int32[1,2] 0 1; int64[] 0", "float[1] inf"},
        {"ReduceSliceMax", NULL, "complex64[1] 1; int32[1,2] 0 1; int64[] 0", "NotFound: "},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_follow_from_the_indices(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"ReduceSliceSum", NULL, "[10,20]; int32[100,2]; int64[] 1", "[10,100]"},
        {"ReduceSliceSum", NULL, "[10,20]; int32[5]; int64[] 0", "[4,20]"},
        {"ReduceSliceSum", NULL, "[10,20]; int32[0]; int64[] 0", "[0,20]"},
        {"ReduceSliceSum", NULL, "[10,?]; int32[?,2]; int64[]", "[?,?]"},
        {"ReduceSliceSum", NULL, "[10,?]; int32[3,?]; int64[] 0", "[?,?]"},
        {"ReduceSliceSum", NULL, "?; int32[3,2]; int64[] 0", "?"},
        {"ReduceSliceSum", NULL, "[10]; int32[3,2]; int64[1]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
        {"ReduceSliceSum", NULL, "[10]; int32[]; int64[]",
         "InvalidArgument: Shape must be at least rank 1 but is rank 0"},
        {"ReduceSliceSum", NULL, "[10]; int32[1,2,3]; int64[]",
         "InvalidArgument: Shape must be at most rank 2 but is rank 3"},
        {"ReduceSliceSum", NULL, "[10]; int32[?,1]; int64[]",
         "InvalidArgument: Dimensions must be equal, but are 1 and 2"},
        {"ReduceSliceSum", NULL, "[10]; int32[?,2]; int64[] 5",
         "InvalidArgument: Out of range dim_index 5 for shape with 1 dimensions"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(slices_are_joined),
                                       cmocka_unit_test(shapes_follow_from_the_indices)};
    return BD_RUN_TESTS(tests);
}

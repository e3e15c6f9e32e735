// Tests of counts as sparse tensors. Counts by hand.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define COUNT "binary_output=false; output_type=int32"
#define SUM "binary_output=false; output_type=float"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"DenseCountSparseOutput", COUNT, "int32[5] 3 1 3 -1 5; int32[0]",
         "int64[3,1] 1 3 5; int32[3] 1 2 1; int64[1] 6"},
        {"DenseCountSparseOutput", COUNT "; maxlength=4", "int32[5] 3 1 3 -1 5; int32[0]",
         "int64[2,1] 1 3; int32[2] 1 2; int64[1] 4"},
        {"DenseCountSparseOutput", COUNT "; minlength=10", "int64[1] 3; int32[0]",
         "int64[1,1] 3; int32[1] 1; int64[1] 10"},
        {"DenseCountSparseOutput", SUM, "int64[2,2] 1 1 0 2; float[2,2] 0.5 1 2 3",
         "int64[3,2] 0 1 1 0 1 2; float[3] 1.5 2 3; int64[2] 2 3"},
        {"DenseCountSparseOutput", "binary_output=true; output_type=double", "int32[4] 7 7 2 7; double[0]",
         "int64[2,1] 2 7; double[2] 1; int64[1] 8"},
        {"DenseCountSparseOutput", "binary_output=true; output_type=int64", "int32[1,2] 7 7; int64[1,2] 5",
         "int64[1,2] 0 7; int64[1] 1; int64[2] 1 8"},
        {"DenseCountSparseOutput", COUNT, "int32[0]; int32[0]", "int64[0,1]; int32[0]; int64[1] 1"},
        {"DenseCountSparseOutput", COUNT, "int32[3,0]; int32[0]", "int64[0,2]; int32[0]; int64[2] 3 1"},
        {"SparseCountSparseOutput", COUNT, "int64[3,2] 0 0 1 0 1 5; int32[3] 1 0 0; int64[2] 2 6; int32[0]",
         "int64[2,2] 0 1 1 0; int32[2] 1 2; int64[2] 2 2"},
        {"SparseCountSparseOutput", SUM, "int64[2,1] 0 3; int64[2] 4 4; int64[1] 9; float[2] 0.5 2",
         "int64[1,1] 4; float[1] 2.5; int64[1] 5"},
        {"RaggedCountSparseOutput", COUNT, "int64[4] 0 2 2 3; int32[3] 1 1 0; int32[0]",
         "int64[2,2] 0 1 2 0; int32[2] 2 1; int64[2] 3 2"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"DenseCountSparseOutput", COUNT, "int32[] 1; int32[0]",
         "InvalidArgument: Input must be a 1 or 2-dimensional tensor"},
        {"DenseCountSparseOutput", COUNT, "int32[2] 1; int32[3] 1",
         "InvalidArgument: Weights and data must have the same shape"},
        {"DenseCountSparseOutput", COUNT, "int32[0,2]; int32[0]",
         "InvalidArgument: Invalid input: Shapes dimension cannot be 0."},
        {"RaggedCountSparseOutput", COUNT, "int64[2] 0 1; int32[1] 1; int32[2] 1",
         "InvalidArgument: Weights and values must have the same shape"},
        {"RaggedCountSparseOutput", COUNT, "int64[2] 0 1; int32[1] 1; int32[] 1",
         "InvalidArgument: Weights and values must have the same shape"},
        {"RaggedCountSparseOutput", COUNT, "int64[] 0; int32[1] 1; int32[0]", "InvalidArgument: plits"},
        {"SparseCountSparseOutput", COUNT, "int64[1,1] 0; int32[1] 1; int64[1] 2; int32[] 1",
         "InvalidArgument: Weights and values must have the same shape"},
        {"SparseCountSparseOutput", COUNT, "int64[] 0; int32[1] 1; int64[1] 2; int32[0]",
         "InvalidArgument: Input indices must be a 2-dimensional tensor. Got: []"},
        {"SparseCountSparseOutput", COUNT, "int64[1,2] 2 0; int32[1] 1; int64[2] 2 6; int32[0]",
         "InvalidArgument: Invalid index value at 0: dimension 0 has value 2 which is not in [0, 2)"},
        {"SparseCountSparseOutput", COUNT, "int64[1,2] 0 0; int32[1] 1; int64[2] -2 6; int32[0]",
         "InvalidArgument: Cannot allocate -2 batches, is the dense shape too wide?"},
        {"SparseCountSparseOutput", COUNT, "int64[1,1] -1; int32[1] 1; int64[1] 2; int32[0]",
         "InvalidArgument: Invalid index value at 0: dimension 0 has value -1"},
        {"SparseCountSparseOutput", COUNT, "int64[1,2] 0 0; int32[2] 1; int64[2] 2 6; int32[0]",
         "InvalidArgument: Number of values must match first dimension of indices"},
        {"SparseCountSparseOutput", COUNT, "int64[1,2] 0 0; int32[1] 1; int64[3] 2 6 1; int32[0]",
         "InvalidArgument: Number of dimensions must match second dimension of indices"},
        {"SparseCountSparseOutput", COUNT, "int64[1,0]; int32[1] 1; int64[0]; int32[0]",
         "InvalidArgument: The shape argument requires at least one element."},
        {"RaggedCountSparseOutput", COUNT, "int64[1] 0; int32[0]; int32[0]",
         "InvalidArgument: Must provide at least 2 elements for the splits argument"},
        {"RaggedCountSparseOutput", COUNT, "int64[2] 1 3; int32[3] 1 1 0; int32[0]",
         "InvalidArgument: Splits must start with 0, not with 1"},
        {"RaggedCountSparseOutput", COUNT, "int64[2] 0 2; int32[3] 1 1 0; int32[0]",
         "InvalidArgument: Splits must end with the number of values, got 2 instead of 3"},
        {"RaggedCountSparseOutput", COUNT, "int64[4] 0 3 1 3; int32[3] 1 1 0; int32[0]",
         "InvalidArgument: Splits must not decrease"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"DenseCountSparseOutput", COUNT, "int32[?]; int32?", "[?,1]; [?]; [1]"},
        {"DenseCountSparseOutput", COUNT, "int32?; int32?", "[?,?]; [?]; [?]"},
        {"DenseCountSparseOutput", COUNT, "int32[1,2,3]; int32?", "InvalidArgument: of rank 3"},
        {"SparseCountSparseOutput", COUNT, "int64[?,2]; int32[?]; int64[2]; int32?", "[?,2]; [?]; [2]"},
        {"RaggedCountSparseOutput", COUNT, "int64[4]; int32[?]; int32?", "[?,2]; [?]; [2]"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_follow_the_definition),
                                       cmocka_unit_test(wrong_inputs_are_errors),
                                       cmocka_unit_test(shapes_are_inferred)};
    return BD_RUN_TESTS(tests);
}

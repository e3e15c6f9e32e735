// Tests of MatrixSolveLs. Values are small enough to be checked by hand.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define TALL "double[3,2] 1 0 0 2 0 0; double[3,1] 3 4 9"
#define WIDE "double[1,2] 3 4; double[1,1] 25"
#define DEFICIENT "double[2,2] 1 0 1 0; double[2,1] 1 3"
#define NONE "; double[] 0"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MatrixSolveLs", NULL, TALL NONE, "double[2,1] 3 2"},
        {"MatrixSolveLs", "fast=false", TALL NONE, "double[2,1] 3 2"},
        {"MatrixSolveLs", NULL, TALL "; double[] 4", "double[2,1] 0.6 1"},
        {"MatrixSolveLs", "fast=false", TALL "; double[] 4", "double[2,1] 3 2"}, // not regularized
        {"MatrixSolveLs", NULL, WIDE NONE, "double[2,1] 3 4"},
        {"MatrixSolveLs", "fast=false", WIDE NONE, "double[2,1] 3 4"},
        {"MatrixSolveLs", NULL, WIDE "; double[] 25", "double[2,1] 1.5 2"},
        {"MatrixSolveLs", NULL, "float[2,2,1] 1 1 0 2; float[2,2,2] 1 2 3 4 5 6 8 2; double[] 0",
         "float[2,1,2] 2 3 4 1"},
        {"MatrixSolveLs", NULL, "complex128[2,1] 1 1j; complex128[2,1] 2 4; double[] 0",
         "complex128[1,1] 1-2j"},
        {"MatrixSolveLs", "fast=false", "complex64[2,1] 1 1j; complex64[2,1] 2 4; double[] 0",
         "complex64[1,1] 1-2j"},
        {"MatrixSolveLs", NULL, "complex128[1,2] 1 1j; complex128[1,1] 4; double[] 2",
         "complex128[2,1] 1 -1j"},
        {"MatrixSolveLs", NULL, DEFICIENT NONE,
         "InvalidArgument: Input matrix was rank deficient or ill-conditioned."},
        {"MatrixSolveLs", NULL, DEFICIENT "; double[] 2", "double[2,1] 1 0"},
        {"MatrixSolveLs", "fast=false", DEFICIENT NONE, "double[2,1] 2 0"},
        // Dependent in float, not in double.
        {"MatrixSolveLs", "fast=false", "float[2,2] 1 1 1 1.0000001; float[2,1] 1 3; double[] 0",
         "float[2,1] 1 1"},
        {"MatrixSolveLs", "fast=false", "float[1,1] nan; float[1,2] 1 2; double[] 0", "float[1,2] nan"},
        {"MatrixSolveLs", NULL, "float[1,1] 1; float[1,1] 1; double[] -1",
         "InvalidArgument: l2_regularizer must be >= 0"},
        {"MatrixSolveLs", NULL, "float[1,1] 1; float[1,1] 1; double[1] 0",
         "InvalidArgument: l2_regularizer must be scalar, got shape [1]"},
        {"MatrixSolveLs", NULL, "float[2,2] 1; float[3,1] 1" NONE,
         "InvalidArgument: Input matrix and rhs are incompatible."},
        {"MatrixSolveLs", NULL, "float[1,1,1] 1; float[2,1,1] 1" NONE,
         "InvalidArgument: All input tensors must have the same outer dimensions."},
        {"MatrixSolveLs", NULL, "float[1,1] 1; float[] 1" NONE,
         "InvalidArgument: All input tensors must have the same rank."},
        {"MatrixSolveLs", NULL, "float[0,2]; float[0,3]" NONE, "float[2,3] 0"},
        {"MatrixSolveLs", "fast=false", "float[2,0]; float[2,3] 1" NONE, "float[0,3]"},
        {"MatrixSolveLs", NULL, "float[2,3] 1; float[2,0]" NONE, "float[3,0]"},
        {"MatrixSolveLs", NULL, "float[0,2,3]; float[0,2,1]" NONE, "float[0,3,1]"},
        {"MatrixSolveLs", "fast=false", "float[0,100000,100000]; float[0,100000,1]" NONE,
         "InvalidArgument: Matrices of 100000 by 100000 numbers are too large for LAPACK"},
        {"BatchMatrixSolveLs", NULL, "double[2,1,1] 2 4; double[2,1,1] 8" NONE, "double[2,1,1] 4 2"},
        {"BatchMatrixSolveLs", NULL, "double[0,1,1]; double[0,1,1]" NONE, "double[0,1,1]"},
        {"BatchMatrixSolveLs", NULL, "double[] 1; double[] 1" NONE,
         "InvalidArgument: must have rank >= 2, got 0"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"MatrixSolveLs", NULL, "[?,4,3]; [5,4,?]; double[]", "[5,3,?]"},
        {"MatrixSolveLs", NULL, "[?,3]; [4,2]; double[]", "[3,2]"},
        {"MatrixSolveLs", NULL, "?; [4,2]; double[]", "?"},
        {"MatrixSolveLs", NULL, "[3,3]; [4,1]; double[]", "InvalidArgument: Dimensions must be equal"},
        {"MatrixSolveLs", NULL, "[3]; [3]; double[]",
         "InvalidArgument: Shape must be at least rank 2 but is rank 1"},
        {"MatrixSolveLs", NULL, "[3,3]; [3,1]; double[2]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"MatrixSolveLs", NULL, "double[3,2] 1 2 4 6 -1 3; double[3,2] 1 2 3 4 5 6" NONE, "2",
         .known_shapes_only = true},
        {"MatrixSolveLs", NULL, "double[3,2] 1 2 4 6 -1 3; double[3,1] 1 2 3; double[] 0.5", "2",
         .known_shapes_only = true},
        {"MatrixSolveLs", NULL, "double[2,3] 1 2 4 6 -1 3; double[2,1] 1 2" NONE, "2",
         .known_shapes_only = true},
        {"MatrixSolveLs", NULL, "double[1,2,3] 1 2 4 6 -1 3; double[1,2,1] 1 2; double[] 0.5", "2",
         .known_shapes_only = true},
        {"MatrixSolveLs", NULL, "complex128[2,1] 1 2+1j; complex128[2,1] 1j 3; double[] 0.5", "2",
         .known_shapes_only = true},
        {"MatrixSolveLs", NULL, "complex128[1,2] 1 2+1j; complex128[1,1] 1j; double[] 0.5", "2",
         .known_shapes_only = true},
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

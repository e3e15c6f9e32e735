// Tests of eigenvalues. Values are small enough to be checked by hand; signs of vectors are LAPACK's.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define ROOT "0.7071067811865476"
#define SYMMETRIC "double[2,2] 2 99 1 2" // what is above the diagonal is not read
#define NOT_FINITE "InvalidArgument: Self-adjoint eigen decomposition was not successful."

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SelfAdjointEigV2", NULL, SYMMETRIC, "double[2] 1 3; double[2,2] -" ROOT " " ROOT " " ROOT " " ROOT},
        {"SelfAdjointEigV2", "compute_v=false", SYMMETRIC, "double[2] 1 3; double[0]"},
        {"SelfAdjointEigV2", NULL, "float[2,2,2] 3 0 0 1 4 0 0 5",
         "float[2,2] 1 3 4 5; float[2,2,2] 0 1 1 0 1 0 0 1"},
        {"SelfAdjointEigV2", NULL, "float[2,1,1] 3 -2", "float[2,1] 3 -2; float[2,1,1] 1 1"},
        {"SelfAdjointEigV2", NULL, "complex128[2,2] 2 99 1j 2",
         "complex128[2] 1 3; complex128[2,2] -" ROOT "j -" ROOT "j -" ROOT " " ROOT},
        {"SelfAdjointEigV2", "compute_v=false", "complex64[2,2] 2 99 3-4j 2",
         "complex64[2] -3 7; complex64[0]"},
        {"SelfAdjointEigV2", NULL, "double[2,2] 1 nan 0 2", "double[2] 1 2; double[2,2] 1 0 0 1"},
        {"SelfAdjointEigV2", NULL, "double[2,2] 1 0 nan 2", NOT_FINITE},
        {"SelfAdjointEigV2", NULL, "float[1,1] inf", NOT_FINITE},
        {"SelfAdjointEigV2", NULL, "float[2,3] 1", "InvalidArgument: Input matrix must be square. Got [2,3]"},
        {"SelfAdjointEigV2", NULL, "float[0,0]", "float[0]; float[0,0]"},
        {"SelfAdjointEigV2", "compute_v=false", "float[0,2,2]", "float[0,2]; float[0]"},
        {"SelfAdjointEigV2", NULL, "float[2,0,0]", "float[2,0]; float[2,0,0]"},
        {"SelfAdjointEigV2", NULL, "float[] 1", "InvalidArgument: Input tensor 0 must have rank >= 2, got 0"},
        {"SelfAdjointEigV2", NULL, "float[0,100000,100000]",
         "InvalidArgument: Matrices of 100000 by 100000 numbers are too large for LAPACK"},

        {"SelfAdjointEig", NULL, SYMMETRIC, "double[3,2] 1 3 -" ROOT " " ROOT " " ROOT " " ROOT},
        {"SelfAdjointEig", NULL, "float[1,1] 3", "float[2,1] 3 1"},
        {"SelfAdjointEig", NULL, "float[0,0]", "float[1,0]"},
        {"SelfAdjointEig", NULL, "float[1,1] nan", NOT_FINITE},
        {"SelfAdjointEig", NULL, "float[] 1", "InvalidArgument: Input tensor 0 must have rank >= 2, got 0"},
        {"BatchSelfAdjointEig", NULL, "double[2,1,1] 3 4", "double[2,2,1] 3 1 4 1"},
        {"BatchSelfAdjointEig", NULL, "double[0,1,1]", "double[0,2,1]"},
        {"BatchSelfAdjointEig", NULL, "double[] 1", "InvalidArgument: must have rank >= 2, got 0"},
        {"BatchSelfAdjointEigV2", NULL, "double[2,1,1] 3 4", "double[2,1] 3 4; double[2,1,1] 1"},
        {"BatchSelfAdjointEigV2", NULL, "double[0,1,1]", "double[0,1]; double[0,1,1]"},
        {"BatchSelfAdjointEigV2", NULL, "double[] 1", "InvalidArgument: must have rank >= 2, got 0"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"SelfAdjointEigV2", NULL, "[5,3,3]", "[5,3]; [5,3,3]"},
        {"SelfAdjointEigV2", NULL, "[?,3,?]", "[?,3]; [?,3,3]"},
        {"SelfAdjointEigV2", "compute_v=false", "[5,?,3]", "[5,3]; [0]"},
        {"SelfAdjointEigV2", NULL, "?", "?; ?"},
        {"SelfAdjointEigV2", NULL, "[2,3]", "InvalidArgument: Dimensions must be equal"},
        {"SelfAdjointEigV2", NULL, "[3]", "InvalidArgument: Shape must be at least rank 2 but is rank 1"},
        {"SelfAdjointEig", NULL, "[5,3,3]", "[5,4,3]"},
        {"SelfAdjointEig", NULL, "[?,?]", "[?,?]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"SelfAdjointEigV2", NULL, "double[3,3] 1 9 9 2 4 9 3 0.5 7"},
        {"SelfAdjointEigV2", NULL, "double[3,3] 1 9 9 2 4 9 3 0.5 7", .output = 1},
        {"SelfAdjointEigV2", NULL, "double[2,2,2] 1 9 2 4 3 9 0.5 7", .output = 1},
        {"SelfAdjointEigV2", "compute_v=false", "double[2,2,2] 1 9 2 4 3 9 0.5 7"},
        {"SelfAdjointEigV2", "compute_v=false", "complex128[2,2] 1 9 2-1j 4"},
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

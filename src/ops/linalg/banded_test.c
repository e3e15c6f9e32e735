// Tests of BandedTriangularSolve. Values are those of numpy's solve for the dense matrices.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"BandedTriangularSolve", NULL,
         "double[3,4] 0.5 -1.25 0.5 -2 0.5 0.75 0.25 0.5 -0.5 -2 1 -0.25; double[4,2] 1.5 -1.5 -1.5 -1.75 -0.75 0 1.5 -1.75",
         "double[4,2] 3.0000000000000009 -2.9999999999999996 3.0000000000000004 -0.3999999999999998 -9.0000000000000018 6.1999999999999993 -3.375 2.4749999999999996"},
        {"BandedTriangularSolve", "adjoint=true",
         "double[3,4] 0.5 -0.25 0.75 -1.75 1.75 2 -0.75 1.5 -2 -2 0.25 -0.75; double[4,2] -0.25 -0.75 1.5 -1.75 -1.75 0.5 0.75 -1",
         "double[4,2] 1.3809523809523805 -28.119047619047617 -0.28571428571428559 6.7142857142857135 -1.4761904761904763 -0.47619047619047611 -0.42857142857142855 0.5714285714285714"},
        {"BandedTriangularSolve", "lower=false",
         "double[3,4] -1.25 2 2 -2 2 0.75 -2 1.25 -0.75 2 -1.75 -1.5; double[4,2] -1 0 1 2 0.5 2 -1 0",
         "double[4,2] 3.6825396825396823 5.7142857142857144 0.22619047619047628 1.4285714285714286 -1.0476190476190477 -1.1428571428571428 0.66666666666666663 0"},
        {"BandedTriangularSolve", "lower=false; adjoint=true",
         "double[3,4] -0.25 -2 2 0.25 -1.75 1.75 0.75 0.5 2 2 1 -1; double[4,2] 1 1 2 -1.5 -0.25 -1.75 -1.25 1.25",
         "double[4,2] 0.5 0.5 1.4375 -0.3125 -2.640625 -1.078125 -3.60546875 -1.43359375"},
        {"BandedTriangularSolve", "adjoint=true",
         "complex128[2,3] -1.75+0.75j -1.5-2j -1.25+2j 0.75+0.75j -0.25+0j -1.75+0j; complex128[3,1] 1.5+0.25j 1-0.75j -1+0.25j",
         "complex128[3,1] -0.68088337853545144+0.15479271600154978j -0.76943820224719106-0.040898876404494328j 0.1348314606741573-0.4157303370786517j"},
        // Batches are broadcast against each other.
        {"BandedTriangularSolve", "lower=false",
         "double[2,1,2,2] 0.5 0.25 -2 1.25 1 -0.25 -1 0.5; double[2,2,1] 0 1 -2 -0.25",
         "double[2,2,2,1] 0.20000000000000001 0.80000000000000004 0.94999999999999996 -0.20000000000000001 2 2 1.5 -0.5"},
        // One band is the diagonal.
        {"BandedTriangularSolve", NULL, "float[1,2] 2 4; float[2,1] 2 2", "float[2,1] 1 0.5"},
        // Elements outside of the matrix are not read; bands that lie outside altogether have no effect.
        {"BandedTriangularSolve", NULL, "float[2,2] 2 4 nan 1; float[2,1] 2 2", "float[2,1] 1 0.25"},
        {"BandedTriangularSolve", NULL, "complex64[1,1] 2j; complex64[1,2] 4 2j", "complex64[1,2] -2j 1"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"BandedTriangularSolve", NULL, "float[] 1; float[1,1] 1",
         "InvalidArgument: In[0] ndims must be >= 2: 0"},
        {"BandedTriangularSolve", NULL, "float[1,1] 1; float[] 1",
         "InvalidArgument: In[1] ndims must be >= 2: 0"},
        {"BandedTriangularSolve", NULL, "float[0,2]; float[2,1] 1",
         "InvalidArgument: In[0] must not be an empty tensor: [0,2]"},
        {"BandedTriangularSolve", NULL, "float[1,2] 1; float[2,0]",
         "InvalidArgument: In[1] must not be an empty tensor: [2,0]"},
        {"BandedTriangularSolve", NULL, "float[1,2] 1; float[3,1] 1",
         "InvalidArgument: In[0] mismatch In[1] shape: 2 vs. 3: [1,2] [3,1] 1 0"},
        {"BandedTriangularSolve", NULL, "float[2,1,1] 1; float[3,1,1] 1",
         "InvalidArgument: In[0] and In[1] must have compatible batch dimensions: [2,1,1] vs. [3,1,1]"},
        {"BandedTriangularSolve", NULL, "float[2,1,2] 1 1 1 0; float[2,1] 1",
         "InvalidArgument: Input matrix is not invertible."},
        {"BandedTriangularSolve", "lower=false", "complex64[2,2] 1 1 1 0; complex64[2,1] 1",
         "InvalidArgument: Input matrix is not invertible."},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"BandedTriangularSolve", NULL, "[5,1,2,3]; [4,3,?]", "[5,4,3,?]"},
        {"BandedTriangularSolve", NULL, "[?,?]; [4,1]", "[4,1]"},
        {"BandedTriangularSolve", NULL, "?; [4,1]", "?"},
        {"BandedTriangularSolve", NULL, "[0,3]; ?",
         "InvalidArgument: Number of bands must be positive, but is 0"},
        {"BandedTriangularSolve", NULL, "[4,3]; ?",
         "InvalidArgument: Number of bands 4 cannot exceed the size of the matrix 3"},
        {"BandedTriangularSolve", NULL, "[2,3]; [4,1]",
         "InvalidArgument: Dimensions must be equal, but are 3 and 4"},
        {"BandedTriangularSolve", NULL, "[3]; [3,1]",
         "InvalidArgument: Shape must be at least rank 2 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"BandedTriangularSolve", NULL, "double[2,3] 2 4 3 9 1 -2; double[3,2] 1 2 3 4 5 6"},
        {"BandedTriangularSolve", "adjoint=true", "double[2,3] 2 4 3 9 1 -2; double[3,1] 1 2 3"},
        {"BandedTriangularSolve", "lower=false", "double[2,1,2,2] 1 9 2 3 -1 9 4 2; double[2,2,1] 1 2 3 4"},
        {"BandedTriangularSolve", "lower=false; adjoint=true", "double[2,3] 1 2 9 2 3 4; double[3,1] 1 2 3"},
        {"BandedTriangularSolve", NULL, "double[1,2] 2 4; double[3,2,1] 1 2 3 4 5 6"},
        {"BandedTriangularSolve", NULL, "complex128[2,2] 2+1j 4j 0 1-1j; complex128[2,1] 1 2j"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}

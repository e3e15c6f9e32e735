// Tests of linear systems, inverses and determinants. Values are small enough to be checked by hand.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define A "double[2,2] 0 2 4 6" // needs a row exchange

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MatrixSolve", NULL, A "; double[2,1] 2 14", "double[2,1] 2 1"},
        {"MatrixSolve", "adjoint=true", A "; double[2,2] 4 0 8 2", "double[2,2] 1 1 1 0"},
        {"MatrixSolve", NULL, "float[2,1,1] 2 4; float[2,1,2] 2 4 8 12", "float[2,1,2] 1 2 2 3"},
        {"MatrixSolve", NULL, "float[2,2] 1 2 2 4; float[2,1] 1 1",
         "InvalidArgument: Input matrix is not invertible."},
        {"MatrixSolve", NULL, "float[2,3] 1; float[2,1] 1",
         "InvalidArgument: First input (lhs) must be a square matrix."},
        {"MatrixSolve", NULL, "float[2,2] 1; float[3,1] 1",
         "InvalidArgument: Input matrix and rhs are incompatible."},
        {"MatrixSolve", NULL, "float[1,1] 1; float[] 1",
         "InvalidArgument: All input tensors must have the same rank."},
        {"MatrixSolve", NULL, "float[2,1,1] 1; float[1,1,1] 1",
         "InvalidArgument: All input tensors must have the same outer dimensions."},
        {"MatrixSolve", NULL, "float[0,0]; float[0,3]", "float[0,3]"},
        {"MatrixTriangularSolve", NULL, "double[2,2] 2 99 1 4; double[2,1] 4 10", "double[2,1] 2 2"},
        {"MatrixTriangularSolve", "lower=false", "double[2,2] 2 1 99 4; double[2,1] 6 8", "double[2,1] 2 2"},
        {"MatrixTriangularSolve", "adjoint=true", "double[2,2] 2 99 1 4; double[2,1] 6 8", "double[2,1] 2 2"},
        {"MatrixTriangularSolve", NULL, "float[2,2] 1 0 2 0; float[2,1] 1 1",
         "InvalidArgument: Input matrix is not invertible."},
        {"MatrixTriangularSolve", NULL, "float[0,2,2]; float[0,2,1]", "float[0,2,1]"},
        {"MatrixTriangularSolve", NULL, "float[] 1; float[1,1] 1",
         "InvalidArgument: Input tensor 0 must have rank >= 2, got 0"},
        {"MatrixInverse", NULL, A, "double[2,2] -0.75 0.25 0.5 0"},
        {"MatrixInverse", "adjoint=true", A, "double[2,2] -0.75 0.5 0.25 0"},
        {"MatrixInverse", NULL, "float[2,1,1] 2 4", "float[2,1,1] 0.5 0.25"},
        {"MatrixInverse", NULL, "float[1,1] nan", "InvalidArgument: not invertible"},
        {"MatrixInverse", NULL, "float[0,0]", "float[0,0]"},
        {"MatrixInverse", NULL, "float[] 1", "InvalidArgument: Input tensor 0 must have rank >= 2, got 0"},
        {"MatrixDeterminant", NULL, A, "double[] -8"},
        {"MatrixDeterminant", NULL, "float[2,3,3] 1 0 0 0 2 0 0 0 3 1 2 3 4 5 6 7 8 9", "float[2] 6 0", NULL,
         1e-5},
        {"MatrixDeterminant", NULL, "float[0,0]", "float[] 1"},
        {"MatrixDeterminant", NULL, "float[2] 1",
         "InvalidArgument: Input tensor 0 must have rank >= 2, got 1"},

        {"SparseTensorDenseAdd", NULL, "int64[2,2] 0 1 1 0; float[2] 10 20; int64[2] 2 2; float[2,2] 1 2 3 4",
         "float[2,2] 1 12 23 4"},
        {"SparseTensorDenseAdd", NULL, "int32[1,1] 2; float[1] 10; int32[1] 2; float[2] 1 2",
         "InvalidArgument: Sparse tensor has some invalid index on dimension 0: 2; dense tensor shape: [2]"},
        {"SparseTensorDenseAdd", NULL, "int32[1,1] 1; float[1] 10; int32[1] 3; float[2] 1 2",
         "InvalidArgument: Dimension 0 does not equal (no broadcasting is supported): sparse side 3 vs dense side 2"},
        {"SparseTensorDenseAdd", NULL, "int64[0,2]; double[0]; int64[2] 1 2; double[1,2] 1 2",
         "double[1,2] 1 2"},
        {"SparseTensorDenseAdd", NULL, "int64[0,2]; int32[0]; int64[2] 0 3; int32[0,3]", "int32[0,3]"},
        {"SparseTensorDenseAdd", NULL, "int64[0,1]; float[0]; int64[1] 2; float[] 1",
         "InvalidArgument: Two operands have different ranks; received: 1 and 0"},
        {"SparseTensorDenseAdd", NULL, "int64[1,1] 0; float[] 1; int64[1] 2; float[2] 1",
         "InvalidArgument: Inputs a_values and a_shape should be vectors but received shapes: [] and [1]"},
    };
    OP_TEST_VALUES(cases);
}

#define COMPLEX_A "complex128[2,2] 1+1j 2 0.5j 3-1j"
#define COMPLEX_B "; complex128[2,1] 1 2j"

// Values are numpy's.
static void complex_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MatrixInverse", NULL, COMPLEX_A,
         "complex128[2,2] 0.6470588235294118-0.4117647058823529j -0.4705882352941176+0.1176470588235294j "
         "-0.02941176470588236-0.1176470588235294j 0.2941176470588235+0.1764705882352941j"},
        {"MatrixInverse", "adjoint=true", COMPLEX_A,
         "complex128[2,2] 0.6470588235294118+0.4117647058823529j -0.02941176470588235+0.1176470588235294j "
         "-0.4705882352941177-0.1176470588235294j 0.2941176470588235-0.1764705882352941j"},
        {"MatrixSolve", NULL, COMPLEX_A COMPLEX_B,
         "complex128[2,1] 0.4117647058823529-1.352941176470588j -0.3823529411764706+0.4705882352941177j"},
        {"MatrixSolve", "adjoint=true", COMPLEX_A COMPLEX_B,
         "complex128[2,1] 0.4117647058823529+0.3529411764705882j -0.1176470588235294+0.4705882352941177j"},
        {"MatrixSolve", NULL, "complex64[1,1] 2j; complex64[1,2] 4 2j", "complex64[1,2] -2j 1"},
        {"MatrixSolve", NULL, "complex64[2,2] 1j 2j 2j 4j; complex64[2,1] 1 1",
         "InvalidArgument: Input matrix is not invertible."},
        {"MatrixTriangularSolve", NULL, COMPLEX_A COMPLEX_B, "complex128[2,1] 0.5-0.5j -0.25+0.5j"},
        {"MatrixTriangularSolve", "adjoint=true", COMPLEX_A COMPLEX_B, "complex128[2,1] 0.3+0.4j 0.2+0.6j"},
        {"MatrixTriangularSolve", "lower=false", COMPLEX_A COMPLEX_B, "complex128[2,1] 0.1-1.3j -0.2+0.6j"},
        {"MatrixDeterminant", NULL, COMPLEX_A, "complex128[] 4+1j"},
        {"MatrixDeterminant", NULL, "complex64[2,1,1] 2j -3", "complex64[2] 2j -3"},
        {"LogMatrixDeterminant", NULL, COMPLEX_A,
         "complex128[] 0.9701425001453318+0.242535625036333j; complex128[] 1.416606672028108"},
        {"LogMatrixDeterminant", NULL, "complex64[1,1] 0", "complex64[] 0; complex64[] -inf"},
        {"Cholesky", NULL, "complex128[2,2] 4 99 1+1j 3", "complex128[2,2] 2 0 0.5+0.5j 1.58113883008419"},
        {"Cholesky", NULL, "complex64[1,1] 1j",
         "InvalidArgument: Cholesky decomposition was not successful."},
        {"TridiagonalSolve", NULL, "complex128[3,3] 2j 1 0 1 0 1j 0 1+1j 2; complex128[3,1] 1 2 3j",
         "complex128[3,1] 2j -1-0.5j 4-2j"},
        {"TridiagonalMatMul", NULL,
         "complex128[1,3] 2j 1 0; complex128[1,3] 1 0 1j; complex128[1,3] 0 1+1j 2; complex128[3,1] 1 2 3j",
         "complex128[3,1] 1+4j 1+4j 1"},
        {"TridiagonalMatMul", NULL,
         "complex64[1,1] 0; complex64[1,1] 2j; complex64[1,1] 0; complex64[1,1] 1j", "complex64[1,1] -2"},
    };
    OP_TEST_VALUES(cases);
    static const op_grad_case gradients[] = {
        {"MatrixInverse", NULL, COMPLEX_A},
        {"MatrixInverse", "adjoint=true", COMPLEX_A},
        {"MatrixSolve", NULL, COMPLEX_A COMPLEX_B},
        {"MatrixSolve", "adjoint=true", COMPLEX_A COMPLEX_B},
        {"MatrixTriangularSolve", NULL, COMPLEX_A COMPLEX_B},
        {"TridiagonalSolve", NULL, "complex128[3,2] 1+1j 9 2 3-1j 9 1j; complex128[2,1] 1 2-2j"},
        {"TridiagonalMatMul", NULL,
         "complex128[1,2] 1+1j 9; complex128[1,2] 2 3-1j; complex128[1,2] 9 1j; complex128[2,1] 1 2-2j"},
    };
    OP_TEST_GRADIENTS(gradients);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"MatrixSolve", NULL, "[?,3,3]; [5,3,?]", "[5,3,?]"},
        {"MatrixSolve", NULL, "[3,3]; [4,1]", "InvalidArgument: "},
        {"MatrixInverse", NULL, "[5,3,3]", "[5,3,3]"},
        {"MatrixInverse", NULL, "[5,3,4]", "InvalidArgument: "},
        {"MatrixDeterminant", NULL, "[5,3,3]", "[5]"},
        {"SparseTensorDenseAdd", NULL, "int64[2,2]; [2]; int64[2]; [3,4]", "[3,4]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"MatrixSolve", NULL, "double[2,2] 1 2 4 6; double[2,3] 1 2 3 4 5 6"},
        {"MatrixSolve", "adjoint=true", "double[2,2] 1 2 4 6; double[2,1] 1 2"},
        {"MatrixTriangularSolve", NULL, "double[2,2] 2 9 1 4; double[2,2] 4 10 3 5"},
        {"MatrixTriangularSolve", "lower=false; adjoint=true", "double[2,2] 2 1 9 4; double[2,1] 4 10"},
        {"MatrixInverse", NULL, "double[2,2] 1 2 4 6"},
        {"MatrixInverse", "adjoint=true", "double[1,2,2] 1 2 4 6"},
        {"MatrixDeterminant", NULL, "double[2,2,2] 1 2 4 6 3 1 1 2"},
        {"TridiagonalSolve", NULL, "double[3,3] 1 2 9 4 5 3 9 1 2; double[3,2] 1 2 3 4 5 6"},
        {"TridiagonalSolve", "partial_pivoting=false",
         "double[2,3,2] 1 9 4 5 9 1 2 9 5 6 9 -1; double[2,2,1] 1 2 3 4"},
        {"TridiagonalSolve", NULL, "double[3,1] 9 4 9; double[1,2] 1 2"},
        {"TridiagonalMatMul", NULL,
         "double[1,3] 1 2 9; double[1,3] 4 5 3; double[1,3] 9 1 2; double[3,2] 1 2 3 4 5 6"},
        {"TridiagonalMatMul", NULL,
         "double[2,1,2] 1 9 2 9; double[2,1,2] 1 2 3 4; double[2,1,2] 9 5 9 6; double[2,2,1] 1 2 3 4"},
        {"SparseTensorDenseAdd", NULL,
         "int64[2,2] 0 1 1 0; double[2] 10 20; int64[2] 2 2; double[2,2] 1 2 3 4"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(complex_follows_its_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}

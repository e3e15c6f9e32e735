// Tests of determinants, Cholesky, tridiagonal systems, the older names of matrix ops, and Fingerprint.
// Values are numpy's (slogdet, cholesky, solve); fingerprints are those of Debian's libfarmhash and of
// TensorFlow's own tests.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define SYMMETRIC "double[3,3] 4 1 -2 1 3 0.5 -2 0.5 5"

static void determinants_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"LogMatrixDeterminant", NULL, "double[3,3] 0 2 1 4 6 -1 1 0 3",
         "double[] -1; double[] 3.465735902799726"},
        {"LogMatrixDeterminant", NULL, "float[2,1,1] 2 -4", "float[2] 1 -1; float[2] 0.693147181 1.38629436"},
        {"LogMatrixDeterminant", NULL, "float[2,2] 1 2 2 4", "float[] 0; float[] -inf"},
        {"LogMatrixDeterminant", NULL, "float[0,0]", "float[] 1; float[] 0"},
        {"LogMatrixDeterminant", NULL, "float[0,2,2]", "float[0]; float[0]"},
        {"LogMatrixDeterminant", NULL, "float[1,1] nan", "float[] nan; float[] nan"},
        // The product would overflow.
        {"LogMatrixDeterminant", NULL, "double[2,2] 1e200 0 0 1e200",
         "double[] 1; double[] 921.0340371976183"},
        {"LogMatrixDeterminant", NULL, "float[2,3] 1",
         "InvalidArgument: Input matrix must be square. Got [2,3]"},
        {"LogMatrixDeterminant", NULL, "float[] 1",
         "InvalidArgument: Input tensor 0 must have rank >= 2, got 0"},
        {"MatrixDeterminant", NULL, "float[] 1",
         "InvalidArgument: Input tensor 0 must have rank >= 2, got 0"},
        {"MatrixDeterminant", NULL, "float[0,1000000000,1000000000]", "float[0]"},
        {"MatrixDeterminant", NULL, "float[1,1] nan", "float[] nan"},
        {"Cholesky", NULL, SYMMETRIC,
         "double[3,3] 2 0 0 0.5 1.6583123951777 0 -1 0.6030226891555273 1.9069251784911847"},
        {"Cholesky", NULL, "float[2,1,1] 4 9", "float[2,1,1] 2 3"},
        {"Cholesky", NULL, "float[2,2] 4 99 2 2", "float[2,2] 2 0 1 1"}, // only the lower triangle is read
        {"Cholesky", NULL, "float[0,0]", "float[0,0]"},
        {"Cholesky", NULL, "float[2,2] 1 2 2 1",
         "InvalidArgument: Cholesky decomposition was not successful."},
        {"Cholesky", NULL, "float[3,3] 4 0 0 2 2 0 nan 0 1", "float[3,3] 2 0 0 1 1 0 nan nan nan"},
        {"Cholesky", NULL, "float[3,3] nan 0 0 0 -1 0 0 0 1", "float[3,3] nan 0 0 nan nan 0 nan nan nan"},
        {"Cholesky", NULL, "float[1,2] 1", "InvalidArgument: Input matrix must be square. Got [1,2]"},
        {"Cholesky", NULL, "float[] 1", "InvalidArgument: Input tensor 0 must have rank >= 2, got 0"},
    };
    OP_TEST_VALUES(cases);
}

// Values follow from the formula, with numpy's matrices; elements above the diagonals are not used.
static void cholesky_grad_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"CholeskyGrad", NULL, "double[3,3] 2 0 0 0.5 1.5 0 -1 0.25 3; double[3,3] 1 9 9 2 3 9 -1 0.5 4",
         "double[3,3] 0.2146990740740741 0.2800925925925926 0.0694444444444444 0.2800925925925926 "
         "0.9907407407407407 0.0555555555555556 0.0694444444444444 0.0555555555555556 0.6666666666666666"},
        {"CholeskyGrad", NULL, "float[2,1,1] 2 4; float[2,1,1] 8 8", "float[2,1,1] 2 1"},
        {"CholeskyGrad", NULL, "float[0,0]; float[0,0]", "float[0,0]"},
        {"CholeskyGrad", NULL, "float[1,1] 1; float[2,1,1] 1",
         "InvalidArgument: All input tensors must have the same rank."},
        {"CholeskyGrad", NULL, "float[1,1,1] 1; float[2,1,1] 1",
         "InvalidArgument: All input tensors must have the same outer dimensions."},
        {"CholeskyGrad", NULL, "float[1,1] 1; float[2,2] 1",
         "InvalidArgument: Inputs (L and grad) must have the same shape."},
        {"CholeskyGrad", NULL, "float[1,2] 1; float[1,2] 1",
         "InvalidArgument: Inputs must be a square matrices."},
        {"CholeskyGrad", NULL, "float[] 1; float[1,1] 1",
         "InvalidArgument: Input tensor 0 must have rank >= 2, got 0"},
        {"BatchCholeskyGrad", NULL, "double[1,1] 2; double[1,1] 8", "double[1,1] 2"},
    };
    OP_TEST_VALUES(cases);
}

static void tridiagonal_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"TridiagonalSolve", NULL, "double[3,4] 1 2 -1 0 4 5 3 2 0 -1 2 1; double[4,2] 1 2 3 4 5 6 7 8",
         "double[4,2] 0.34782608695652173 0.5739130434782609 -0.39130434782608686 -0.29565217391304344 "
         "2.652173913043478 3.026086956521739 2.1739130434782608 2.4869565217391307"},
        {"TridiagonalSolve", "perturb_singular=true", "double[3,1] 0; double[1,1] 1",
         "Unimplemented: perturb"},
        {"TridiagonalSolve", "perturb_singular=true; partial_pivoting=false", "double[3,1] 0; double[1,1] 1",
         "InvalidArgument: Setting perturb_singular requires"},
        {"TridiagonalSolve", "partial_pivoting=false",
         "double[3,4] 1 2 -1 0 4 5 3 2 0 -1 2 1; double[4,1] 1 3 5 7",
         "double[4,1] 0.34782608695652173 -0.39130434782608686 2.652173913043478 2.1739130434782608"},
        // The system needs row exchanges; elements outside of the matrix are not read.
        {"TridiagonalSolve", NULL, "double[3,4] 1 2 1 nan 0 1 1 2 nan 3 1 1; double[4,2] 1 2 3 4 5 6 7 8",
         "double[4,2] 0 0.6666666666666666 1 2 1 0 3 4"},
        {"TridiagonalSolve", "partial_pivoting=false", "float[3,2] 1 0 0 1 0 1; float[2,1] 1 2",
         "InvalidArgument: The matrix is either not invertible, or requires pivoting. Try setting "
         "partial_pivoting = True."},
        {"TridiagonalSolve", NULL, "float[3,2] 0; float[2,1] 1",
         "InvalidArgument: The matrix is not invertible."},
        {"TridiagonalSolve", NULL, "float[3,1] 0; float[1,1] 1",
         "InvalidArgument: The matrix is not invertible: it is a scalar with value zero."},
        {"TridiagonalSolve", NULL, "float[2,3,1] 0 2 0 0 4 0; float[2,1,1] 4 4", "float[2,1,1] 2 1"},
        {"TridiagonalSolve", NULL, "float[3,0]; float[0,2]", "float[0,2]"},
        {"TridiagonalSolve", NULL, "float[3,2] 1; float[3,2] 1",
         "InvalidArgument: Expected the same number of left-hand sides and right-hand sides, got 2 and 3."},
        {"TridiagonalSolve", NULL, "float[2,2] 1; float[2,2] 1",
         "InvalidArgument: Expected diagonals to be provided as a matrix with 3 rows, got 2 rows."},
        {"TridiagonalSolve", NULL, "float[3,1] 1; float[] 1",
         "InvalidArgument: All input tensors must have the same rank."},
        {"TridiagonalMatMul", NULL,
         "double[1,4] 1 2 -1 nan; double[1,4] 4 5 3 2; double[1,4] nan -1 2 1; double[4,2] 1 2 3 4 5 6 7 8",
         "double[4,2] 7 12 24 30 14 18 19 22"},
        {"TridiagonalMatMul", NULL, "float[2,1,1] 9; float[2,1,1] 2 3; float[2,1,1] 9; float[2,1,1] 4 5",
         "float[2,1,1] 8 15"},
        {"TridiagonalMatMul", NULL, "float[1,0]; float[1,0]; float[1,0]; float[0,2]", "float[0,2]"},
        {"TridiagonalMatMul", NULL, "float[1,2] 1; float[1,2] 1; float[1,2] 1; float[3,2] 1",
         "InvalidArgument: Invalid superdiagonal shape."},
        {"TridiagonalMatMul", NULL, "float[1,3] 1; float[2,3] 1; float[1,3] 1; float[3,2] 1",
         "InvalidArgument: Invalid main diagonal shape."},
        {"TridiagonalMatMul", NULL, "float[1,1] 1; float[1,1] 1; float[1,1] 1; float[] 1",
         "InvalidArgument: All input tensors must have the same rank."},
    };
    OP_TEST_VALUES(cases);
}

static void older_names_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"BatchMatrixDeterminant", NULL, "double[2,2] 0 2 4 6", "double[] -8"},
        {"BatchMatrixInverse", NULL, "double[2,2] 0 2 4 6", "double[2,2] -0.75 0.25 0.5 0"},
        {"BatchMatrixSolve", NULL, "double[2,2] 0 2 4 6; double[2,1] 2 14", "double[2,1] 2 1"},
        {"BatchMatrixTriangularSolve", NULL, "double[2,2] 2 99 1 4; double[2,1] 4 10", "double[2,1] 2 2"},
        {"BatchMatrixTriangularSolve", NULL, "double[4000000000,0,0]; double[4000000000,0,1]",
         "double[4000000000,0,1]"},
        {"BatchCholesky", NULL, "double[1,1] 4", "double[1,1] 2"},
        {"BatchMatrixDiag", NULL, "float[2] 1 2", "float[2,2] 1 0 0 2"},
        {"BatchMatrixDiagPart", NULL, "float[2,2] 1 2 3 4", "float[2] 1 4"},
        {"BatchMatrixSetDiag", NULL, "float[2,2] 1 2 3 4; float[2] 5 6", "float[2,2] 5 2 3 6"},
        {"BatchMatrixBandPart", NULL, "float[2,2] 1 2 3 4; int64[] 0; int64[] -1", "float[2,2] 1 2 0 4"},
        {"TopK", "k=0", "float[4000000000,0]", "float[4000000000,0]; int32[4000000000,0]"},
        {"TopK", "k=1", "float[] 1", "InvalidArgument: input must be >= 1-D, got shape []"},
    };
    OP_TEST_VALUES(cases);
}

// The older names give empty results, and the errors of the newer names.
static void edges_of_older_names_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"BatchMatrixDeterminant", NULL, "float[2,0,0]", "float[2] 1"},
        {"BatchMatrixDeterminant", NULL, "float[] 1", "InvalidArgument: must have rank >= 2, got 0"},
        {"BatchMatrixInverse", NULL, "float[2,0,0]", "float[2,0,0]"},
        {"BatchMatrixInverse", NULL, "float[] 1", "InvalidArgument: must have rank >= 2, got 0"},
        {"BatchMatrixSolve", NULL, "double[0,2,2]; double[0,2,1]", "double[0,2,1]"},
        {"BatchMatrixSolve", NULL, "double[1,1] 1; double[] 1", "InvalidArgument: must have the same rank."},
        {"BatchMatrixTriangularSolve", NULL, "double[] 1; double[1,1] 1",
         "InvalidArgument: must have rank >= 2, got 0"},
        {"BatchCholesky", NULL, "double[0,0]", "double[0,0]"},
        {"BatchCholesky", NULL, "double[] 1", "InvalidArgument: must have rank >= 2, got 0"},
        {"BatchCholeskyGrad", NULL, "double[0,1,1]; double[0,1,1]", "double[0,1,1]"},
        {"BatchCholeskyGrad", NULL, "double[1,1] 1; double[] 1", "InvalidArgument: must have the same rank."},
        {"BatchMatrixDiag", NULL, "float[3,0]", "float[3,0,0]"},
        {"BatchMatrixDiag", NULL, "float[] 1", "InvalidArgument: diagonal must be at least 1-dim"},
        {"BatchMatrixDiagPart", NULL, "float[0,3]", "float[0]"},
        {"BatchMatrixDiagPart", NULL, "float[] 1", "InvalidArgument: input must be at least 2-dim"},
        {"BatchMatrixSetDiag", NULL, "float[3,0]; float[0]", "float[3,0]"},
        {"BatchMatrixSetDiag", NULL, "float[1,1] 1; float[] 1",
         "InvalidArgument: diagonal must be at least 1-dim"},
        {"BatchMatrixBandPart", NULL, "float[0,3]; int64[] 0; int64[] 0", "float[0,3]"},
        {"BatchMatrixBandPart", NULL, "float[] 1; int64[] 0; int64[] 0",
         "InvalidArgument: input must be at least 2-dim"},
    };
    OP_TEST_VALUES(cases);
}

static void fingerprints_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Fingerprint", NULL, "uint8[1] 5; string[] farmhash64", "uint8[1,8] 226 207 216 199 110 145 32 208"},
        {"Fingerprint", NULL, "string[2] a b; string[] farmhash64",
         "uint8[2,8] 227 117 223 182 101 66 69 179 22 241 200 94 33 96 178 163"},
        {"Fingerprint", NULL, "float[0,2]; string[] farmhash64", "uint8[0,8]"},
        {"Fingerprint", NULL, "float[] 1; string[] farmhash64", "InvalidArgument: at least one dimension"},
        {"Fingerprint", NULL, "float[1] 1; string[] md5", "InvalidArgument: Unsupported"},
        {"Fingerprint", NULL, "float[1] 1; string[1] farmhash64", "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"LogMatrixDeterminant", NULL, "[5,2,?]", "[5]; [5]"},
        {"LogMatrixDeterminant", NULL, "[5,2,3]", "InvalidArgument: Dimensions must be equal"},
        {"Cholesky", NULL, "[5,2,2]", "[5,2,2]"},
        {"Cholesky", NULL, "[2]", "InvalidArgument: rank"},
        {"TridiagonalSolve", NULL, "[3,?]; [4,2]", "[4,2]"},
        {"TridiagonalSolve", NULL, "[3,5]; [4,2]", "InvalidArgument: "},
        {"TridiagonalMatMul", NULL, "[1,4]; [1,4]; [1,4]; [4,2]", "[4,2]"},
        {"TridiagonalMatMul", NULL, "[1,4]; [1,5]; [1,4]; [4,2]", "InvalidArgument: "},
        {"Fingerprint", NULL, "[7,3]; string[] farmhash64", "[7,8]"},
        {"Fingerprint", NULL, "[7,3]; string[]", "[7,?]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"LogMatrixDeterminant", NULL, "double[2,2,2] 0 2 4 6 1 2 3 5"},
        {"Cholesky", NULL, "double[2,1,1] 4 9"},
    };
    OP_TEST_GRADIENTS(cases);
}

// The gradient of a symmetric matrix is symmetric, so finite differences of single elements cannot check it.
// The expected values are numpy's for changes of both elements at once, half for each.
static void the_gradient_of_cholesky_matches_finite_differences(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    op_binding bind[2] = {0};
    braid_out in[2];
    for (int i = 0; i < 2; i++) {
        braid_op_desc *d = braid_op_begin(g, "Placeholder", NULL);
        braid_op_attr_type(d, "dtype", BRAID_DOUBLE);
        in[i] = braid_op_end_out(d);
        bind[i].op = in[i].op;
    }
    op_test_tensor(&bind[0].value.tensor, SYMMETRIC);
    op_test_tensor(&bind[1].value.tensor, "double[3,3] 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8 0.9");
    braid_out l = {op_test_node(g, "Cholesky", NULL, in, 1), 0}, grad;
    braid_gradients(g, &l, 1, in, 1, &in[1], &grad);
    braid_tensor got;
    op_test_eval(bind, 2, &grad, 1, &got, st);
    assert_ok(st);
    op_test_expect(
        &got,
        "double[3,3] 0.11353660651017093 0.15413684348184886 0.2541416347617036 0.15413684348184886 "
        "0.0942475113326765 0.15539744263007108 0.2541416347617036 0.15539744263007108 0.23598199083806565",
        1e-9, "Cholesky's gradient");
    bd_tensor_fini(&got);
    for (int i = 0; i < 2; i++)
        bd_value_fini(&bind[i].value);
    braid_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(determinants_follow_the_definition),
        cmocka_unit_test(cholesky_grad_follows_its_definition),
        cmocka_unit_test(tridiagonal_follows_its_definition),
        cmocka_unit_test(older_names_follow_the_definition),
        cmocka_unit_test(edges_of_older_names_follow_the_definition),
        cmocka_unit_test(fingerprints_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(the_gradient_of_cholesky_matches_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}

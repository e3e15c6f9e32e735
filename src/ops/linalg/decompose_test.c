// Tests of Qr and Lu. Values are numpy's and scipy's (both LAPACK's, whose signs TensorFlow's kernels share).
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define TALL "double[3,2] 1 2 3 4 5 6"

static void qr_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Qr", NULL, TALL,
         "double[3,2] -0.1690308509457032 0.8970852271450607 -0.50709255283711 0.2760262237369414 "
         "-0.8451542547285166 -0.345032779671177; "
         "double[2,2] -5.916079783099616 -7.437357441610946 0 0.828078671210825"},
        {"Qr", "full_matrices=true", TALL,
         "double[3,3] -0.1690308509457032 0.8970852271450607 0.4082482904638627 -0.50709255283711 "
         "0.2760262237369414 -0.8164965809277263 -0.8451542547285166 -0.345032779671177 0.4082482904638631; "
         "double[3,2] -5.916079783099616 -7.437357441610946 0 0.828078671210825 0 0"},
        {"Qr", NULL, "double[2,3] 1 3 5 2 4 6",
         "double[2,2] -0.4472135954999579 -0.8944271909999157 -0.8944271909999157 0.4472135954999581; "
         "double[2,3] -2.23606797749979 -4.919349550499537 -7.602631123499284 0 -0.8944271909999149 "
         "-1.788854381999831"},
        {"Qr", NULL, "complex128[2,2] 1j 2 1+1j 3",
         "complex128[2,2] -0.5773502691896258j 0.2581988897471612-0.7745966692414835j "
         "-0.5773502691896258-0.5773502691896258j 0.2581988897471613+0.5163977794943221j; "
         "complex128[2,2] -1.732050807568877 -1.732050807568877+2.886751345948129j 0 1.290994448735806"},
        {"Qr", NULL, "complex64[1,1] 3-4j", "complex64[1,1] -0.6+0.8j; complex64[1,1] -5"},
        // A column that is upper triangular already is not reflected.
        {"Qr", NULL, "float[2,1,1] 3 -4", "float[2,1,1] 1 1; float[2,1,1] 3 -4"},
        {"Qr", NULL, "float[2,2] 0", "float[2,2] 1 0 0 1; float[2,2] 0"},
        {"Qr", NULL, "float[0,2]", "float[0,0]; float[0,2]"},
        {"Qr", "full_matrices=true", "float[2,0]", "float[2,2] 1 0 0 1; float[2,0]"},
        {"Qr", NULL, "float[4000000000,2,0]", "float[4000000000,2,0]; float[4000000000,0,0]"},
        {"Qr", "full_matrices=true", "float[8000000000,0]", "InvalidArgument: too many elements"},
        {"Qr", NULL, "float[1,1] nan", "float[1,1] nan; float[1,1] nan"},
        {"Qr", NULL, "float[] 1", "InvalidArgument: Input tensor 0 must have rank >= 2, got 0"},
    };
    OP_TEST_VALUES(cases);
}

static void lu_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Lu", NULL, "double[3,3] 0 2 1 4 6 -1 1 0 3",
         "double[3,3] 4 6 -1 0 2 1 0.25 -0.75 4; int32[3] 1 0 2"},
        {"Lu", "output_idx_type=int64", "float[2,1,1] 3 -4", "float[2,1,1] 3 -4; int64[2,1] 0"},
        {"Lu", NULL, "complex128[2,2] 1 2 2j 0", "complex128[2,2] 2j 0 -0.5j 2; int32[2] 1 0"},
        {"Lu", NULL, "float[0,0]", "float[0,0]; int32[0]"},
        {"Lu", NULL, "float[2,2] 1 2 2 4", "InvalidArgument: Input is not invertible."},
        {"Lu", NULL, "float[2,3] 1", "InvalidArgument: Input matrix must be square."},
        {"Lu", NULL, "float[] 1", "InvalidArgument: must have rank >= 2, got 0"},
    };
    OP_TEST_VALUES(cases);
}

static void gradients_of_qr_agree_with_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"Qr", NULL, TALL, .known_shapes_only = true},
        {"Qr", NULL, TALL, .output = 1, .known_shapes_only = true},
        {"Qr", NULL, "double[2,2,2] 1 2 3 -4 0.5 1 -1 1", .known_shapes_only = true},
        {"Qr", "full_matrices=true", "double[2,2] 1 2 3 -4", .output = 1, .known_shapes_only = true},
    };
    OP_TEST_GRADIENTS(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Qr", NULL, "[5,4,3]", "[5,4,3]; [5,3,3]"},
        {"Qr", NULL, "[?,3,4]", "[?,3,3]; [?,3,4]"},
        {"Qr", "full_matrices=true", "[4,3]", "[4,4]; [4,3]"},
        {"Qr", NULL, "[?,3]", "[?,?]; [?,3]"},
        {"Qr", NULL, "?", "?; ?"},
        {"Qr", NULL, "[3]", "InvalidArgument: Shape must be at least rank 2 but is rank 1"},
        {"Lu", NULL, "[5,3,3]", "[5,3,3]; int32[5,3]"},
        {"Lu", NULL, "[2,3]", "InvalidArgument: Dimensions must be equal"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(qr_follows_its_definition),
        cmocka_unit_test(lu_follows_its_definition),
        cmocka_unit_test(gradients_of_qr_agree_with_differences),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}

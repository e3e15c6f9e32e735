// Tests of functions of matrices. Values without a comment are scipy's, which uses other algorithms for
// logarithms and exponentials.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define A "double[3,3] 1 2 0 -3 1 4 2 0 5"
#define PAIRS "double[4,4] 0 -1 2 0 1 0 0 3 0 0 -1 -4 0 0 1 -1" // eigenvalues +-i and -1 +- 2i
#define C "complex128[2,2] 1+1j 2 0.5j 3-1j"
#define NOT_SQUARE "InvalidArgument: Input matrix must be square. Got [2,3]"
#define SCALAR "InvalidArgument: Input tensor 0 must have rank >= 2, got 0"
#define TOO_LARGE "InvalidArgument: Matrices of 100000 by 100000 numbers are too large for LAPACK"

static void square_roots_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MatrixSquareRoot", NULL, A,
         "double[3,3] 1.406970272154553 0.7040208277440073 -0.19456232303853177 -1.2505935646545454 "
         "1.4069702721545527 1.0189170094109523 0.5094585047054767 -0.09728116151926565 2.279965539286607"},
        {"MatrixSquareRoot", NULL, PAIRS,
         "double[4,4] 0.7071067811865475 -0.7071067811865476 0.5715931051753393 1.2377385745928573 "
         "0.7071067811865476 0.7071067811865475 -0.5080562762757665 0.5573527407975811 0 0 0.7861513777574233 "
         "-2.544039299028138 0 0 0.6360098247570345 0.7861513777574233"},
        {"MatrixSquareRoot", NULL, C,
         "complex128[2,2] 1.0760980106485376+0.40700326300710615j 0.7047481268875636-0.021751679172363862j "
         "0.0054379197930909395+0.17618703172189096j 1.7590944583637376-0.31949654305282116j"},
        {"MatrixSquareRoot", NULL, "double[2,2] 4 1 0 4", "double[2,2] 2 0.25 0 2"}, // one vector only
        {"MatrixSquareRoot", NULL, "float[2,1,1] 9 4", "float[2,1,1] 3 2"},
        {"MatrixSquareRoot", NULL, "float[3,3] 0", "float[3,3] 0"},
        {"MatrixSquareRoot", NULL, "complex64[2,2] -4 0 0 9", "complex64[2,2] 2j 0 0 3"},
        // No real root, no root at all, and not a number: TensorFlow gives NaN.
        {"MatrixSquareRoot", NULL, "double[2,2] -4 0 0 9", "double[2,2] nan"},
        {"MatrixSquareRoot", NULL, "double[2,2] 0 1 0 0", "double[2,2] nan"},
        {"MatrixSquareRoot", NULL, "complex64[2,2] 0 1 0 0", "complex64[2,2] nan+nanj"},
        {"MatrixSquareRoot", NULL, "float[2,2] 1 inf 0 1", "float[2,2] nan"},
        {"MatrixSquareRoot", NULL, "float[2,3] 1", NOT_SQUARE},
        {"MatrixSquareRoot", NULL, "float[2,0,0]", "float[2,0,0]"},
        {"MatrixSquareRoot", NULL, "float[] 1", SCALAR},
        {"MatrixSquareRoot", NULL, "float[0,100000,100000]", TOO_LARGE},
    };
    OP_TEST_VALUES(cases);
}

static void logarithms_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MatrixLogarithm", NULL, "complex128[3,3] 1 2 0 -3 1 4 2 0 5",
         "complex128[3,3] 1.1056385035410052 0.8509603235326282 -0.39527655453234384 -1.671717039831288 "
         "1.1056385035410052 0.9113675380005701 0.45568376900028473 -0.19763827726617195 1.7205486256423161"},
        {"MatrixLogarithm", NULL, C,
         "complex128[2,2] 0.25493833033951896+0.6570404280437733j 0.9879161021548761-0.08118609080580688j "
         "0.020296522701451616+0.24697902553871906j 1.1616683416885887-0.4120617649169094j"},
        {"MatrixLogarithm", NULL, "complex128[2,2] 2 1 0 2",
         "complex128[2,2] 0.6931471805599453 0.5 0 0.6931471805599453"},
        {"MatrixLogarithm", NULL, "complex128[2,1,1] -1 1e200",
         "complex128[2,1,1] 3.141592653589793j 460.51701859880916"},
        // log [x y; 0 x] has y / x above the diagonal
        {"MatrixLogarithm", NULL, "complex128[2,2] 1e8 1 0 1e8",
         "complex128[2,2] 18.420680743952367 1e-8 0 18.420680743952367"},
        {"MatrixLogarithm", NULL, "complex64[2,2] 1 0 0 1", "complex64[2,2] 0"},
        {"MatrixLogarithm", NULL, "complex64[2,2] 0 1 0 0", "complex64[2,2] nan+nanj"},
        {"MatrixLogarithm", NULL, "complex64[1,1] inf", "complex64[1,1] nan+nanj"},
        {"MatrixLogarithm", NULL, "complex64[2,3] 1", NOT_SQUARE},
        {"MatrixLogarithm", NULL, "complex64[0,0]", "complex64[0,0]"},
        {"MatrixLogarithm", NULL, "complex64[] 1", SCALAR},
        {"MatrixLogarithm", NULL, "complex64[0,100000,100000]", TOO_LARGE},
    };
    OP_TEST_VALUES(cases);
}

static void exponentials_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MatrixExponential", NULL, A,
         "double[3,3] 20.536421353700625 10.071375217940187 66.27928601900331 51.172223192093035 "
         "20.536421353700625 152.70132247388705 76.3506612369435 33.13964300950165 222.9472083418401"},
        {"MatrixExponential", NULL, C,
         "complex128[2,2] 0.9839044662270287+4.873276937187821j 14.655001985021473-2.4600869047364915j "
         "0.615021726184123+3.6637504962553673j 13.178819546512006-12.241811952570144j"},
        {"MatrixExponential", NULL, "double[2,2] 0 30 -30 0", // cos 30, sin 30
         "double[2,2] 0.15425144988758405 -0.9880316240928618 0.9880316240928618 0.15425144988758405", NULL,
         1e-12},
        {"MatrixExponential", NULL, "double[2,2] 0 1e-9 0 0", "double[2,2] 1 1e-9 0 1"},
        {"MatrixExponential", NULL, "float[2,1,1] 0 1", "float[2,1,1] 1 2.7182818"},
        {"MatrixExponential", NULL, "complex64[1,1] 1.5707964j", "complex64[1,1] 1j"},
        {"MatrixExponential", NULL, "double[1,1] 1e4", "double[1,1] inf"},
        {"MatrixExponential", NULL, "double[1,1] -1e300", "double[1,1] 0"},
        {"MatrixExponential", NULL, "float[2,2] 1 inf 0 1", "float[2,2] nan"},
        {"MatrixExponential", NULL, "float[2,3] 1", NOT_SQUARE},
        {"MatrixExponential", NULL, "float[0,0]", "float[0,0]"},
        {"MatrixExponential", NULL, "float[] 1", SCALAR},
        {"MatrixExponential", NULL, "float[0,100000,100000]", TOO_LARGE},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"MatrixSquareRoot", NULL, "[5,3,3]", "[5,3,3]"},
        {"MatrixSquareRoot", NULL, "[2,3]", "InvalidArgument: Dimensions must be equal"},
        {"MatrixExponential", NULL, "[?,?]", "[?,?]"},
        {"MatrixLogarithm", NULL, "complex64[3]",
         "InvalidArgument: Shape must be at least rank 2 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"MatrixSquareRoot", NULL, A},
        {"MatrixSquareRoot", NULL, PAIRS},
        {"MatrixSquareRoot", NULL, C},
        {"MatrixSquareRoot", NULL, "double[2,1,1] 2 3"},
        {"MatrixExponential", NULL, "double[2,2,2] 1 2 -1 0.5 0 1 2 3"},
        {"MatrixExponential", NULL, C},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(square_roots_follow_the_definition),
        cmocka_unit_test(logarithms_follow_the_definition),
        cmocka_unit_test(exponentials_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}

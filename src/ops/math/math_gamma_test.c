// Tests of incomplete gamma and beta functions, zeta, polygamma and scaled Bessel functions. Values are
// scipy's; the derivative of the incomplete gamma function is computed from scipy's by Richardson
// extrapolation.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Igamma", NULL, "double[6] 0.5 1.0 3.0 10.0 100.0 0.01; double[6] 0.25 2.0 1.0 12.0 90.0 1e-05",
         "double[6] 0.5204998778130466 0.8646647167633873 0.08030139707139418 0.7576078383294875 0.15822098918643007 0.8963367982671969",
         NULL, 1e-12},
        {"Igammac", NULL, "double[6] 0.5 1.0 3.0 10.0 100.0 0.01; double[6] 0.25 2.0 1.0 12.0 90.0 1e-05",
         "double[6] 0.47950012218695337 0.1353352832366127 0.9196986029286058 0.24239216167051245 0.84177901081357 0.10366320173280281",
         NULL, 1e-12},
        {"IgammaGradA", NULL, "double[5] 0.5 1.0 3.0 10.0 100.0; double[5] 0.25 2.0 1.0 12.0 90.0",
         "double[5] -0.7979473167829412 -0.22082542621184278 -0.10645935294394909 -0.09717797203716141 -0.02461191684398006",
         NULL, 1e-10},
        {"Betainc", NULL,
         "double[5] 0.5 2.0 10.0 1.0 80.0; double[5] 0.5 3.0 0.25 1.0 20.0; double[5] 0.2 0.9 0.5 0.3 0.81",
         "double[5] 0.29516723530086664 0.9963 7.501643278090813e-05 0.3 0.5801782306817194", NULL, 1e-12},
        {"Zeta", NULL, "double[5] 2.0 1.5 3.0 10.0 30.0; double[5] 1.0 0.25 12.0 2.0 0.5",
         "double[5] 1.6449340668482266 10.213055360466601 0.003773602684499457 0.0009945751278180857 1073741824.0000052",
         NULL, 1e-13},
        {"Polygamma", NULL, "double[5] 0.0 1.0 2.0 3.0 10.0; double[5] 1.5 0.5 3.0 20.0 2.0",
         "double[5] 0.03648997397857652 4.93480220054468 -0.15411380631918856 0.00026937422133963896 -1793.3116066287137",
         NULL, 1e-12},
        {"BesselI0e", NULL, "double[6] 0.0 0.5 -3.0 29.9 30.1 -500.0",
         "double[6] 1.0 0.64503527044915 0.24300035416182536 0.07326921904600191 0.07302329413106094 0.017845706500153165",
         NULL, 1e-13},
        {"BesselI1e", NULL, "double[6] 0.0 0.5 -3.0 29.9 30.1 -500.0",
         "double[6] 0.0 0.15642080318487173 -0.19682671329730084 0.0720333749118688 0.07179985435101434 -0.017827851852898053",
         NULL, 1e-13},
        {"Igamma", NULL, "double[5] 1 -1 nan 2 0; double[5] -1 1 1 inf 1", "double[5] nan nan nan 1 nan"},
        {"Igammac", NULL, "double[3] 1 2 3; double[3] 0 inf 1e300", "double[3] 1 0 0"},
        {"IgammaGradA", NULL, "double[2] 1 2; double[2] 0 -1", "double[2] 0 nan"},
        {"Betainc", NULL, "float[] 2; float[3] 3 1 -1; float[3] 0.5 1 0.5", "float[3] 0.6875 1 nan"},
        {"Betainc", NULL, "double[2] 1 2; double[] 1; double[] 0.5", "double[2] 0.5 0.25"},
        {"Betainc", NULL, "double[] 1; double[] 1; double[0]", "double[0]"},
        {"Betainc", NULL, "double[2] 1; double[3] 1; double[] 0.5", "InvalidArgument: "},
        {"Zeta", NULL, "double[6] 1 0.5 2 2 2.5 2; double[6] 2 2 0 -1 -0.5 -0.5",
         "double[6] inf nan inf inf nan 8.934802200544679"},
        {"Polygamma", NULL, "double[4] 0.5 -1 1 0; double[4] 1 1 0 0", "double[4] nan nan inf nan"},
        {"Polygamma", NULL, "float[2,1] 0 1; float[2] 1 2",
         "float[2,2] -0.577215665 0.422784335 1.644934067 0.644934067"},
        {"Igamma", NULL, "float[2] 1; float[3] 1", "InvalidArgument: Incompatible shapes"},
        {"BesselI0e", NULL, "float[3] 0 inf nan", "float[3] 1 0 nan"},
        {"BesselI1e", NULL, "half[1] 0", "half[1] 0"},
        {"BesselI1e", NULL, "float[0]", "float[0]"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Igamma", NULL, "[2,1]; [3]", "[2,3]"},
        {"Zeta", NULL, "[2]; [3]", "InvalidArgument: "},
        {"Betainc", NULL, "[]; [2,?]; [?,3]", "[2,3]"},
        {"Betainc", NULL, "[2]; [3]; []", "InvalidArgument: "},
        {"Betainc", NULL, "?; []; []", "?"},
        {"BesselI0e", NULL, "[2,?]", "[2,?]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"Igamma", NULL, "double[3] 0.5 3 20; double[3] 0.25 4 15"},
        {"Igammac", NULL, "double[2,1] 0.5 3; double[2] 0.25 4"},
        {"Betainc", NULL, "double[2] 0.5 3; double[2] 2 4; double[2] 0.25 0.5", "01"},
        {"Betainc", NULL, "double[] 0.5; double[] 2; double[2] 0.25 0.5", "01"},
        {"Zeta", NULL, "double[2] 2 3.5; double[2] 1 4", "0"},
        {"Polygamma", NULL, "double[2] 0 1; double[2] 1 4", "0"},
        {"BesselI0e", NULL, "double[3] 0.5 -2 7"},
        {"BesselI1e", NULL, "double[3] 0.5 -2 7"},
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

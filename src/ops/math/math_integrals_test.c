// Tests of special functions of TensorFlow 2. Values are those of scipy.special 1.10.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Erfinv", NULL, "double[8] 0.0 0.1 -0.5 0.75 -0.999999 1.0 1e-10 2.0",
         "double[8] 0.0 0.08885599049425769 -0.4769362762044699 0.8134198475976185 -3.458910737275499 inf 8.862269254527581e-11 nan"},
        {"Ndtri", NULL, "double[8] 0.0 1e-20 0.025 0.3 0.5 0.975 1.0 1.5",
         "double[8] -inf -9.262340089798409 -1.9599639845400545 -0.5244005127080409 0.0 1.959963984540054 inf nan"},
        {"Dawsn", NULL, "double[8] 0.0 0.1 -0.5 1.0 3.5 -24.9 25.1 1000000.0",
         "double[8] 0.0 0.0993359923978529 -0.4244363835020223 0.5380795069127684 0.14962159308075645 -0.020096554167613776 0.019936166042254323 5.000000000002501e-07"},
        {"Expint", NULL, "double[8] 0.0 0.01 0.5 1.0 10.0 39.9 40.1 100.0",
         "double[8] -inf -4.017929465426669 0.45421990486317343 1.8951178163559368 2492.2289762418773 5479032048901892.0 6657825191606925.0 2.71555274485388e+41"},
        {"FresnelCos", NULL, "double[7] 0.0 0.1 -1.0 2.4 2.6 10.0 -1000.5",
         "double[7] 0.0 0.09999753262708506 -0.779893400376823 0.5549614058564282 0.38893749619196905 0.49989869420551575 -0.5001217509507722"},
        {"FresnelSin", NULL, "double[7] 0.0 0.1 -1.0 2.4 2.6 10.0 -1000.5",
         "double[7] 0.0 0.0005235895476122108 -0.4382591473903547 0.6196899649456836 0.5499893231527195 0.46816997858488224 -0.4997060669389385"},
        {"Spence", NULL, "double[7] 0.0 0.1 0.5 1.0 1.4 1.6 100.0",
         "double[7] 1.6449340668482264 1.2997147230049588 0.5822405264650135 0.0 -0.3658325775124495 -0.5281071740446668 -12.192421669033168"},
        {"BesselI0", NULL, "double[4] 0.0 0.5 -3.0 12.5",
         "double[4] 1.0 1.0634833707413234 4.880792585865024 30596.335155785157"},
        {"BesselI1", NULL, "double[4] 0.0 0.5 -3.0 12.5",
         "double[4] 0.0 0.25789430539089636 -3.9533702174026093 29345.74964207113"},
        {"BesselJ0", NULL, "double[4] 0.0 0.5 -3.0 12.5",
         "double[4] 1.0 0.938469807240813 -0.2600519549019335 0.14688405470042093"},
        {"BesselJ1", NULL, "double[4] 0.0 0.5 -3.0 12.5",
         "double[4] 0.0 0.24226845767487387 -0.33905895852593654 -0.16548380461475956"},
        {"BesselY0", NULL, "double[5] 0.0 0.001 0.5 3.0 50.0",
         "double[5] -inf -4.471416611375923 -0.4445187335067066 0.3768500100127906 -0.09806499547007692"},
        {"BesselY1", NULL, "double[5] 0.0 0.001 0.5 3.0 50.0",
         "double[5] -inf -636.6221672311395 -1.4714723926702433 0.3246744247918001 -0.05679566856201487"},
        {"BesselK0", NULL, "double[5] 0.0 0.001 0.5 3.0 50.0",
         "double[5] inf 7.0236888005623825 0.9244190712276656 0.03473950438627925 3.410167749789495e-23"},
        {"BesselK0e", NULL, "double[5] 0.0 0.001 0.5 3.0 50.0",
         "double[5] inf 7.030716002378253 1.5241093857739092 0.6977615980438517 0.17680715585742932"},
        {"BesselK1", NULL, "double[5] 0.0 0.001 0.5 3.0 50.0",
         "double[5] inf 999.9962381560855 1.6564411200033007 0.04015643112819419 3.4441022267175555e-23"},
        {"BesselK1e", NULL, "double[5] 0.0 0.001 0.5 3.0 50.0",
         "double[5] inf 1000.9967345590684 2.7310097082117855 0.806563480128787 0.17856655855881556"},
        {"Erfinv", NULL, "float[3] 0.1 -0.5 nan", "float[3] 0.08885599 -0.47693628 nan"},
        {"Ndtri", NULL, "half[1] 0x3800", "half[1] 0"},
        {"Dawsn", NULL, "float[3] 0.5 inf nan", "float[3] 0.4244364 0 nan"},
        {"Expint", NULL, "float[4] 1 inf -1 nan", "float[4] 1.8951178 inf nan nan"},
        {"FresnelCos", NULL, "float[3] inf -inf nan", "float[3] 0.5 -0.5 nan"},
        {"FresnelSin", NULL, "double[3] 1e20 -inf nan", "double[3] 0.5 -0.5 nan"},
        {"Spence", NULL, "double[3] -1 inf nan", "double[3] nan -inf nan"},
        {"BesselK0", NULL, "float[4] 0.5 inf -1 nan", "float[4] 0.92441905 0 nan nan"},
        {"BesselI1", NULL, "float[0,2]", "float[0,2]"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Erfinv", NULL, "[2,?]", "[2,?]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"Erfinv", NULL, "double[3] 0 0.5 -0.9"},     {"Ndtri", NULL, "double[3] 0.5 0.1 0.9"},
        {"Dawsn", NULL, "double[3] 0 0.5 -3"},        {"Expint", NULL, "double[3] 0.1 1 3"},
        {"FresnelCos", NULL, "double[3] 0 0.5 -1.2"}, {"FresnelSin", NULL, "double[3] 0 0.5 -1.2"},
        {"Spence", NULL, "double[3] 0.5 1 3"},        {"BesselI0", NULL, "double[3] 0 0.5 -2"},
        {"BesselI1", NULL, "double[3] 0 0.5 -2"},     {"BesselJ0", NULL, "double[3] 0 0.5 -2"},
        {"BesselJ1", NULL, "double[3] 0 0.5 -2"},     {"BesselY0", NULL, "double[2] 0.5 3"},
        {"BesselY1", NULL, "double[2] 0.5 3"},        {"BesselK0", NULL, "double[2] 0.5 3"},
        {"BesselK0e", NULL, "double[2] 0.5 3"},       {"BesselK1", NULL, "double[2] 0.5 3"},
        {"BesselK1e", NULL, "double[2] 0.5 3"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_follow_the_definition),
                                       cmocka_unit_test(shapes_are_inferred),
                                       cmocka_unit_test(gradients_match_finite_differences)};
    return BD_RUN_TESTS(tests);
}

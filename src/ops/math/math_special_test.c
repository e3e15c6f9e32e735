// Tests of trigonometric, hyperbolic, error and gamma functions. Values are those of Python's math module;
// for Digamma they follow from Euler's constant.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Tan", NULL, "double[3] -0.6 0.3 0.9",
         "double[3] -0.6841368083416923 0.30933624960962325 1.2601582175503392"},
        {"Asin", NULL, "double[3] -0.6 0.3 0.9",
         "double[3] -0.6435011087932844 0.3046926540153975 1.1197695149986342"},
        {"Acos", NULL, "double[3] -0.6 0.3 0.9",
         "double[3] 2.214297435588181 1.2661036727794992 0.45102681179626236"},
        {"Atan", NULL, "double[3] -3.0 0.0 7.5", "double[3] -1.2490457723982544 0.0 1.4382447944982226"},
        {"Sinh", NULL, "double[3] -0.6 0.3 0.9",
         "double[3] -0.6366535821482412 0.3045202934471426 1.0265167257081753"},
        {"Cosh", NULL, "double[3] -0.6 0.3 0.9",
         "double[3] 1.1854652182422676 1.0453385141288605 1.4330863854487745"},
        {"Asinh", NULL, "double[3] -3.0 0.25 7.5",
         "double[3] -1.8184464592320668 0.24746646154726346 2.712465305184344"},
        {"Acosh", NULL, "double[3] 1.0 1.5 7.5", "double[3] 0.0 0.9624236501192069 2.703575830931402"},
        {"Atanh", NULL, "double[3] -0.6 0.3 0.9",
         "double[3] -0.6931471805599453 0.30951960420311175 1.4722194895832204"},
        {"Erf", NULL, "double[3] -2.0 0.1 3.0",
         "double[3] -0.9953222650189527 0.1124629160182849 0.9999779095030014"},
        {"Erfc", NULL, "double[3] -2.0 0.1 3.0",
         "double[3] 1.9953222650189528 0.8875370839817152 2.2090496998585438e-05"},
        {"Lgamma", NULL, "double[4] -0.5 0.25 1.0 12.5",
         "double[4] 1.265512123484645 1.2880225246980772 0.0 18.73434751193645"},
        {"Digamma", NULL, "double[5] 1 0.5 2 10 -0.5",
         "double[5] -0.5772156649015329 -1.9635100260214235 0.42278433509846713 2.251752589066721 0.03648997397857645"},
        {"Acos", NULL, "float[3] 2 -2 nan", "float[3] nan"},
        {"Erf", NULL, "float[3] inf -inf nan", "float[3] 1 -1 nan"},
        {"Lgamma", NULL, "float[3] 0 -1 inf", "float[3] inf"},
        {"Digamma", NULL, "float[2] 0 -3", "float[2] nan"},
    };
    OP_TEST_VALUES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"Tan", NULL, "double[3] -0.6 0.3 0.9"},   {"Asin", NULL, "double[3] -0.6 0.3 0.9"},
        {"Acos", NULL, "double[3] -0.6 0.3 0.9"},  {"Atan", NULL, "double[3] -0.6 0.3 0.9"},
        {"Sinh", NULL, "double[3] -0.6 0.3 0.9"},  {"Cosh", NULL, "double[3] -0.6 0.3 0.9"},
        {"Asinh", NULL, "double[3] -0.6 0.3 0.9"}, {"Acosh", NULL, "double[3] 1.6 3 9"},
        {"Atanh", NULL, "double[3] -0.6 0.3 0.8"}, {"Erf", NULL, "double[3] -0.6 0.3 0.9"},
        {"Erfc", NULL, "double[3] -0.6 0.3 0.9"},  {"Lgamma", NULL, "double[3] -0.6 0.3 9"},
        {"Digamma", NULL, "double[3] 0.6 0.3 9"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}

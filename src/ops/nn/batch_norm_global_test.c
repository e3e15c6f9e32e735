// Tests of BatchNormWithGlobalNormalization and its gradient. Values computed with numpy in double: from the
// definition, and by central differences.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define ATTRS "variance_epsilon=0.1; scale_after_normalization=true"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"BatchNormWithGlobalNormalization", "variance_epsilon=0.001; scale_after_normalization=true",
         "float[1,2,2,2] -1.25 0.25 -0.75 0 0 2 1.25 0.5; float[2] 1 1.25; float[2] 0.5 2; float[2] -1.5 1.5; float[2] -0.5 0.25",
         "float[1,2,2,2] 0.08940164985 1.323267482 -0.2637987168 1.279084353 -0.7935992667 1.632549388 -1.676600183 1.367450612"},
        {"BatchNormWithGlobalNormalizationGrad", "variance_epsilon=0.001; scale_after_normalization=true",
         "float[1,2,2,2] -1.25 0.25 -0.75 0 0 2 1.25 0.5; float[2] 1 1.25; float[2] 0.5 2; float[2] -0.5 0.25; float[1,2,2,2] -1 -0.25 0.5 0.25 -1.5 -0.5 0.25 -0.75",
         "float[1,2,2,2] 0.7064007334 -0.04418312938 -0.3532003666 0.04418312949 1.0596011 -0.08836625887 -0.1766001834 -0.1325493881; float[2] -1.236201283 0.2209156471; float[2] 2.070910333 -0.005520131241; float[2] -1.75 -1.25; float[2] 4.150104308 0.08836625887",
         .tolerance = 1e-5},
        {"BatchNormWithGlobalNormalization", "variance_epsilon=0.25; scale_after_normalization=false",
         "double[1,2,2,2] 1.5 0.75 1.75 0.75 1.25 0 1.75 0.5; double[2] -2 -0.25; double[2] 1.5 1.75; double[2] -0.5 -0.25; double[2] -1 -0.5",
         "double[1,2,2,2] 2.1457513110645903 0.45710678118654746 2.3347335475692041 0.45710678118654746 1.9567690745599768 -0.073223304703363135 2.3347335475692041 0.2803300858899106"},
        {"BatchNormWithGlobalNormalizationGrad", "variance_epsilon=0.25; scale_after_normalization=false",
         "double[1,2,2,2] 1.5 0.75 1.75 0.75 1.25 0 1.75 0.5; double[2] -2 -0.25; double[2] 1.5 1.75; double[2] -1 -0.5; double[1,2,2,2] -1 -0.75 0.75 -1.5 -0.5 -0.25 1.5 0.25",
         "double[1,2,2,2] -0.75592894610565509 -0.53033008606817589 0.56694670957924131 -1.0606601719143072 -0.37796447305282754 -0.17677669528204376 1.1338934191584826 0.17677669528204376; double[2] -0.56694670957924131 1.5909902578714608; double[2] -0.71543275215191215 0.37565047728005396; double[2] 0.75000000032687808 -2.2500000000924558; double[2] 0 0",
         .tolerance = 1e-5},
        {"BatchNormWithGlobalNormalization", "variance_epsilon=0.5; scale_after_normalization=true",
         "double[1,2,2,2] -0.5 -2 0.25 -1.5 -0.25 0.25 -1.5 -0.5; double[2] 0.5 2; double[2] 0.5 2.25; double[2] 2 1.5; double[2] 0.25 -1.5",
         "double[1,2,2,2] 1.75 5.1181361349331631 1.9375 4.6658691180665182 1.8125 3.0829345590332591 1.5 3.7613350843332269"},
        {"BatchNormWithGlobalNormalizationGrad", "variance_epsilon=0.5; scale_after_normalization=true",
         "double[1,2,2,2] -0.5 -2 0.25 -1.5 -0.25 0.25 -1.5 -0.5; double[2] 0.5 2; double[2] 0.5 2.25; double[2] 0.25 -1.5; double[1,2,2,2] -1.5 -0.5 -0.75 -1.5 -1.25 0.75 0.75 1.5",
         "double[1,2,2,2] -0.37499999905321602 0.45226701672618219 -0.18749999952660801 1.356801051066725 -0.31250000009919177 -0.6784005255333625 0.18749999952660801 -1.3568010501785466; double[2] 0.68749999915240778 0.2261335083630911; double[2] -0.1406249992008668 0.35975785506181523; double[2] -2.7499999997182556 0.24999999803654305; double[2] 1.1249999993800941 1.3191121328581801",
         .tolerance = 1e-5},
        {"BatchNormWithGlobalNormalization", ATTRS,
         "float[0,1,1,2]; float[2] 1; float[2] 1; float[2] 1; float[2] 1", "float[0,1,1,2]"},
        {"BatchNormWithGlobalNormalizationGrad", ATTRS,
         "float[0,1,1,2]; float[2] 1; float[2] 1; float[2] 1; float[0,1,1,2]",
         "float[0,1,1,2]; float[2] 0; float[2] 0; float[2] 0; float[2] 0"},
        {"BatchNormWithGlobalNormalization", ATTRS,
         "float[1,1,2] 1; float[2] 1; float[2] 1; float[2] 1; float[2] 1",
         "InvalidArgument: input must be 4-dimensional"},
        {"BatchNormWithGlobalNormalization", ATTRS,
         "float[1,1,1,2] 1; float[1,2] 1; float[2] 1; float[2] 1; float[2] 1",
         "InvalidArgument: mean must be 1-dimensional"},
        {"BatchNormWithGlobalNormalization", ATTRS,
         "float[1,1,1,2] 1; float[2] 1; float[2] 1; float[2] 1; float[3] 1",
         "InvalidArgument: gamma must have as many elements"},
        {"BatchNormWithGlobalNormalizationGrad", ATTRS,
         "float[1,1,1,2] 1; float[2] 1; float[2] 1; float[2] 1; float[2] 1",
         "InvalidArgument: out_backprop must be 4-dimensional"},
        {"BatchNormWithGlobalNormalization", ATTRS,
         "float[] 1; float[2] 1; float[2] 1; float[2] 1; float[2] 1",
         "InvalidArgument: input must be 4-dimensional"},
        {"BatchNormWithGlobalNormalizationGrad", ATTRS,
         "float[1,1,1,2] 1; float[2] 1; float[2] 1; float[] 1; float[1,1,1,2] 1",
         "InvalidArgument: gamma must be 1-dimensional"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"BatchNormWithGlobalNormalization", ATTRS, "[?,2,3,?]; [4]; ?; ?; ?", "[?,2,3,4]"},
        {"BatchNormWithGlobalNormalization", ATTRS, "[?,2,3,3]; [4]; ?; ?; ?",
         "InvalidArgument: Dimensions must be equal, but are 3 and 4"},
        {"BatchNormWithGlobalNormalizationGrad", ATTRS, "[?,2,3,?]; ?; ?; [4]; [1,?,?,?]",
         "[1,2,3,4]; [4]; [4]; [4]; [4]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"BatchNormWithGlobalNormalization", ATTRS,
         "double[1,1,2,2] 1 -2 3 0.5; double[2] 0.25 1; double[2] 1 2; double[2] 0.5 -1; double[2] 2 3"},
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

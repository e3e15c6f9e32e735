// Tests of pooling with windows larger than the image, and strides larger than the window. Values computed
// with numpy from the definition.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MaxPool", "ksize=[1,7,6,1]; strides=[1,1,1,1]; padding=SAME",
         "float[1,2,3,2] 0.5 -0.25 1 1.5 -0.5 1.75 0 0.25 0.75 -0.75 -1 1.25",
         "float[1,2,3,2] 1 1.75 1 1.75 1 1.75 1 1.75 1 1.75 1 1.75"},
        {"AvgPool", "ksize=[1,7,6,1]; strides=[1,1,1,1]; padding=SAME",
         "float[1,2,3,2] 0.5 -0.25 1 1.5 -0.5 1.75 0 0.25 0.75 -0.75 -1 1.25",
         "float[1,2,3,2] 0.125 0.625 0.125 0.625 0.125 0.625 0.125 0.625 0.125 0.625 0.125 0.625"},
        {"MaxPoolGrad", "ksize=[1,7,6,1]; strides=[1,1,1,1]; padding=SAME",
         "float[1,2,3,2] 0.5 -0.25 1 1.5 -0.5 1.75 0 0.25 0.75 -0.75 -1 1.25; float[1,2,3,2] 1 1.75 1 1.75 1 1.75 1 1.75 1 1.75 1 1.75; float[1,2,3,2] 2 -2 1.25 1 -1 -1.5 1 -1.75 0.5 -0.75 -0.25 -1.25",
         "float[1,2,3,2] 0 0 3.5 0 0 -6.25 0 0 0 0 0 0"},
        {"AvgPoolGrad", "ksize=[1,7,6,1]; strides=[1,1,1,1]; padding=SAME",
         "int32[4] 1 2 3 2; float[1,2,3,2] 2 -2 1.25 1 -1 -1.5 1 -1.75 0.5 -0.75 -0.25 -1.25",
         "float[1,2,3,2] 0.5833333333 -1.041666667 0.5833333333 -1.041666667 0.5833333333 -1.041666667 0.5833333333 -1.041666667 0.5833333333 -1.041666667 0.5833333333 -1.041666667"},
        {"MaxPool", "ksize=[1,5,5,1]; strides=[1,3,3,1]; padding=SAME",
         "double[2,3,2,1] 1.75 0 1.25 0.75 -0.75 -0.25 1 0.25 -1 1.5 -0.5 0.5", "double[2,1,1,1] 1.75 1.5"},
        {"AvgPool", "ksize=[1,5,5,1]; strides=[1,3,3,1]; padding=SAME",
         "double[2,3,2,1] 1.75 0 1.25 0.75 -0.75 -0.25 1 0.25 -1 1.5 -0.5 0.5",
         "double[2,1,1,1] 0.45833333333333331 0.29166666666666669"},
        {"MaxPoolGrad", "ksize=[1,5,5,1]; strides=[1,3,3,1]; padding=SAME",
         "double[2,3,2,1] 1.75 0 1.25 0.75 -0.75 -0.25 1 0.25 -1 1.5 -0.5 0.5; double[2,1,1,1] 1.75 1.5; double[2,1,1,1] 1 1.5",
         "double[2,3,2,1] 1 0 0 0 0 0 0 0 0 1.5 0 0"},
        {"AvgPoolGrad", "ksize=[1,5,5,1]; strides=[1,3,3,1]; padding=SAME",
         "int32[4] 2 3 2 1; double[2,1,1,1] 1 1.5",
         "double[2,3,2,1] 0.16666666666666666 0.16666666666666666 0.16666666666666666 0.16666666666666666 0.16666666666666666 0.16666666666666666 0.25 0.25 0.25 0.25 0.25 0.25"},
        {"MaxPool", "ksize=[1,1,6,5]; strides=[1,1,2,1]; padding=SAME; data_format=NCHW",
         "float[1,2,2,2] -0.5 0 0.25 -1 -0.75 -0.25 0.5 0.75", "float[1,2,1,2] 0.25 0.25 0.75 0.75"},
        {"AvgPool", "ksize=[1,1,6,5]; strides=[1,1,2,1]; padding=SAME; data_format=NCHW",
         "float[1,2,2,2] -0.5 0 0.25 -1 -0.75 -0.25 0.5 0.75",
         "float[1,2,1,2] -0.3125 -0.3125 0.0625 0.0625"},
        {"MaxPoolGrad", "ksize=[1,1,6,5]; strides=[1,1,2,1]; padding=SAME; data_format=NCHW",
         "float[1,2,2,2] -0.5 0 0.25 -1 -0.75 -0.25 0.5 0.75; float[1,2,1,2] 0.25 0.25 0.75 0.75; float[1,2,1,2] -0.75 -1.25 -0.25 -1.75",
         "float[1,2,2,2] 0 0 -2 0 0 0 0 -2"},
        {"AvgPoolGrad", "ksize=[1,1,6,5]; strides=[1,1,2,1]; padding=SAME; data_format=NCHW",
         "int32[4] 1 2 2 2; float[1,2,1,2] -0.75 -1.25 -0.25 -1.75",
         "float[1,2,2,2] -0.5 -0.5 -0.5 -0.5 -0.5 -0.5 -0.5 -0.5"},
        {"MaxPool", "ksize=[1,1,2,1]; strides=[1,3,4,1]; padding=VALID",
         "float[1,5,4,1] 2.75 3.75 0.75 1.75 2.25 1.5 2.5 2 -0.75 0.5 0.25 1.25 3.5 -1 -0.5 3.25 0 1 -0.25 3",
         "float[1,2,1,1] 3.75 3.5"},
        {"AvgPool", "ksize=[1,1,2,1]; strides=[1,3,4,1]; padding=VALID",
         "float[1,5,4,1] 2.75 3.75 0.75 1.75 2.25 1.5 2.5 2 -0.75 0.5 0.25 1.25 3.5 -1 -0.5 3.25 0 1 -0.25 3",
         "float[1,2,1,1] 3.25 1.25"},
        {"MaxPoolGrad", "ksize=[1,1,2,1]; strides=[1,3,4,1]; padding=VALID",
         "float[1,5,4,1] 2.75 3.75 0.75 1.75 2.25 1.5 2.5 2 -0.75 0.5 0.25 1.25 3.5 -1 -0.5 3.25 0 1 -0.25 3; float[1,2,1,1] 3.75 3.5; float[1,2,1,1] 1 0",
         "float[1,5,4,1] 0 1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"},
        {"AvgPoolGrad", "ksize=[1,1,2,1]; strides=[1,3,4,1]; padding=VALID",
         "int32[4] 1 5 4 1; float[1,2,1,1] 1 0",
         "float[1,5,4,1] 0.5 0.5 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"},
        {"MaxPool", "ksize=[1,4,4,1]; strides=[1,1,1,1]; padding=SAME", "half[1,1,2,1] 0x3c00 0x4000",
         "half[1,1,2,1] 0x4000"},
        {"AvgPool", "ksize=[1,4,4,1]; strides=[1,1,1,1]; padding=SAME", "half[1,1,2,1] 0x3c00 0x4000",
         "half[1,1,2,1] 0x3e00"},
    };
    OP_TEST_VALUES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
    };
    return BD_RUN_TESTS(tests);
}

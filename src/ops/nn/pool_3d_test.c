// Tests of MaxPool3D, AvgPool3D and their gradient ops. The values are TensorFlow 2.15's.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define POOL2 "ksize=[1,2,2,2,1]; strides=[1,2,2,2,1]; padding=VALID"

static void values_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MaxPool3D", "ksize=[1,2,2,2,1]; strides=[1,2,2,2,1]; padding=VALID",
         "float[1,2,2,4,1] 1.5 3 1.75 2.25 1 2 1 3.5 2.75 1 1 3.75 2.5 3.25 1 1.25",
         "float[1,1,1,2,1] 3.25 3.75"},
        {"MaxPool3DGrad", "ksize=[1,2,2,2,1]; strides=[1,2,2,2,1]; padding=VALID",
         "float[1,2,2,4,1] 1.5 3 1.75 2.25 1 2 1 3.5 2.75 1 1 3.75 2.5 3.25 1 1.25; float[1,1,1,2,1] 3.25 3.75; float[1,1,1,2,1] -4 -3",
         "float[1,2,2,4,1] 0 0 0 0 0 0 0 0 0 0 0 -3 0 -4 0 0"},
        {"MaxPool3DGradGrad", "ksize=[1,2,2,2,1]; strides=[1,2,2,2,1]; padding=VALID",
         "float[1,2,2,4,1] 1.5 3 1.75 2.25 1 2 1 3.5 2.75 1 1 3.75 2.5 3.25 1 1.25; float[1,1,1,2,1] 3.25 3.75; float[1,2,2,4,1] 3 -4 -1 3 -1 1 2 -3 1 -1 2 4 1 2 3 -4",
         "float[1,1,1,2,1] 2 4"},
        {"AvgPool3D", "ksize=[1,2,2,2,1]; strides=[1,2,2,2,1]; padding=VALID",
         "float[1,2,2,4,1] 1.5 3 1.75 2.25 1 2 1 3.5 2.75 1 1 3.75 2.5 3.25 1 1.25",
         "float[1,1,1,2,1] 2.125 1.9375"},
        {"AvgPool3DGrad", "ksize=[1,2,2,2,1]; strides=[1,2,2,2,1]; padding=VALID",
         "int32[5] 1 2 2 4 1; float[1,1,1,2,1] -4 -3",
         "float[1,2,2,4,1] -0.5 -0.5 -0.375 -0.375 -0.5 -0.5 -0.375 -0.375 -0.5 -0.5 -0.375 -0.375 -0.5 -0.5 -0.375 -0.375"},
        {"MaxPool3D", "ksize=[1,2,1,2,1]; strides=[1,1,1,2,1]; padding=SAME",
         "float[1,3,2,3,2] 6 1.25 2 3.75 1 1.5 3.25 2.25 2.75 4 5.5 8.25 6.25 7 4.75 5 7.5 3.5 8.75 1 6.75 8 1 2.5 1.75 1 4.25 5.75 3 6.5 5.25 7.75 7.25 4.5 1 8.5",
         "float[1,3,2,2,2] 6.25 7 7.5 3.5 8.75 8 5.5 8.25 6.25 7 7.5 6.5 8.75 8 1 8.5 4.25 5.75 3 6.5 7.25 7.75 1 8.5"},
        {"MaxPool3DGrad", "ksize=[1,2,1,2,1]; strides=[1,1,1,2,1]; padding=SAME",
         "float[1,3,2,3,2] 6 1.25 2 3.75 1 1.5 3.25 2.25 2.75 4 5.5 8.25 6.25 7 4.75 5 7.5 3.5 8.75 1 6.75 8 1 2.5 1.75 1 4.25 5.75 3 6.5 5.25 7.75 7.25 4.5 1 8.5; float[1,3,2,2,2] 6.25 7 7.5 3.5 8.75 8 5.5 8.25 6.25 7 7.5 6.5 8.75 8 1 8.5 4.25 5.75 3 6.5 7.25 7.75 1 8.5; float[1,3,2,2,2] 2 1 3 -3 -1 -1 1 -4 3 -2 2 -4 -3 -4 0 2 1 2 0 3 -4 0 -2 4",
         "float[1,3,2,3,2] 0 0 0 0 0 0 0 0 0 0 1 -4 5 -1 0 0 5 -3 -4 0 0 -5 0 0 0 0 1 2 0 -1 0 0 -4 0 -2 6"},
        {"MaxPool3DGradGrad", "ksize=[1,2,1,2,1]; strides=[1,1,1,2,1]; padding=SAME",
         "float[1,3,2,3,2] 6 1.25 2 3.75 1 1.5 3.25 2.25 2.75 4 5.5 8.25 6.25 7 4.75 5 7.5 3.5 8.75 1 6.75 8 1 2.5 1.75 1 4.25 5.75 3 6.5 5.25 7.75 7.25 4.5 1 8.5; float[1,3,2,2,2] 6.25 7 7.5 3.5 8.75 8 5.5 8.25 6.25 7 7.5 6.5 8.75 8 1 8.5 4.25 5.75 3 6.5 7.25 7.75 1 8.5; float[1,3,2,3,2] 4 -2 4 4 0 4 -4 0 3 1 2 0 2 -1 -4 2 -1 -3 0 -3 1 -3 4 -1 -4 -3 0 4 1 0 -1 1 -4 4 3 0",
         "float[1,3,2,2,2] 2 -1 -1 -3 0 -3 2 0 2 -1 -1 0 0 -3 4 0 0 4 1 0 -4 1 3 0"},
        {"AvgPool3D", "ksize=[1,2,1,2,1]; strides=[1,1,1,2,1]; padding=SAME",
         "float[1,3,2,3,2] 6 1.25 2 3.75 1 1.5 3.25 2.25 2.75 4 5.5 8.25 6.25 7 4.75 5 7.5 3.5 8.75 1 6.75 8 1 2.5 1.75 1 4.25 5.75 3 6.5 5.25 7.75 7.25 4.5 1 8.5",
         "float[1,3,2,2,2] 4.75 4.25 4.25 2.5 5.375 3.8125 3.25 5.375 4.25 4.6875 5.25 5 7 5.3125 1 5.5 3 3.375 3 6.5 6.25 6.125 1 8.5"},
        {"AvgPool3DGrad", "ksize=[1,2,1,2,1]; strides=[1,1,1,2,1]; padding=SAME",
         "int32[5] 1 3 2 3 2; float[1,3,2,2,2] 2 1 3 -3 -1 -1 1 -4 3 -2 2 -4 -3 -4 0 2 1 2 0 3 -4 0 -2 4",
         "float[1,3,2,3,2] 0.5 0.25 0.5 0.25 1.5 -1.5 -0.25 -0.25 -0.25 -0.25 0.5 -2 1.25 -0.25 1.25 -0.25 2.5 -3.5 -1 -1.25 -1 -1.25 0.5 -1 1.25 0.5 1.25 0.5 1 1 -2.75 -1 -2.75 -1 -2 5"},
        {"MaxPool3D", "ksize=[1,3,2,1,1]; strides=[1,2,1,1,1]; padding=SAME",
         "float[2,3,2,2,1] 2.75 1 2 5.5 5 2.5 1.5 4 1.25 4.75 1.75 1 5.25 4.5 1 3 3.5 3.25 3.75 1 2.25 4.25 5.75 1",
         "float[2,2,2,2,1] 5 5.5 2 5.5 5 4.75 1.75 4 5.25 4.5 3.75 3 5.75 4.25 5.75 1"},
        {"MaxPool3DGrad", "ksize=[1,3,2,1,1]; strides=[1,2,1,1,1]; padding=SAME",
         "float[2,3,2,2,1] 2.75 1 2 5.5 5 2.5 1.5 4 1.25 4.75 1.75 1 5.25 4.5 1 3 3.5 3.25 3.75 1 2.25 4.25 5.75 1; float[2,2,2,2,1] 5 5.5 2 5.5 5 4.75 1.75 4 5.25 4.5 3.75 3 5.75 4.25 5.75 1; float[2,2,2,2,1] 0 -1 4 -4 2 4 -1 3 -3 4 -2 4 -4 0 4 4",
         "float[2,3,2,2,1] 0 0 4 -5 2 0 0 3 0 4 -1 0 -3 4 0 4 0 0 -2 4 0 0 0 4"},
        {"MaxPool3DGradGrad", "ksize=[1,3,2,1,1]; strides=[1,2,1,1,1]; padding=SAME",
         "float[2,3,2,2,1] 2.75 1 2 5.5 5 2.5 1.5 4 1.25 4.75 1.75 1 5.25 4.5 1 3 3.5 3.25 3.75 1 2.25 4.25 5.75 1; float[2,2,2,2,1] 5 5.5 2 5.5 5 4.75 1.75 4 5.25 4.5 3.75 3 5.75 4.25 5.75 1; float[2,3,2,2,1] 2 0 -1 -4 0 -4 1 -2 -2 2 -2 -4 0 -3 1 1 2 1 1 0 2 -2 -3 -3",
         "float[2,2,2,2,1] 0 -4 -1 -4 0 2 -2 -2 0 -3 1 1 -3 -2 -3 0"},
        {"AvgPool3D", "ksize=[1,3,2,1,1]; strides=[1,2,1,1,1]; padding=SAME",
         "float[2,3,2,2,1] 2.75 1 2 5.5 5 2.5 1.5 4 1.25 4.75 1.75 1 5.25 4.5 1 3 3.5 3.25 3.75 1 2.25 4.25 5.75 1",
         "float[2,2,2,2,1] 2.8125 3.25 1.75 4.75 2.375 3.0625 1.625 2.5 3.375 2.9375 2.375 2 3.8125 2.375 4.75 1"},
        {"AvgPool3DGrad", "ksize=[1,3,2,1,1]; strides=[1,2,1,1,1]; padding=SAME",
         "int32[5] 2 3 2 2 1; float[2,2,2,2,1] 0 -1 4 -4 2 4 -1 3 -3 4 -2 4 -4 0 4 4",
         "float[2,3,2,2,1] 0 -0.25 2 -2.25 0.5 0.75 2 0.25 0.5 1 0 2.5 -0.75 1 -1.75 3 -1.75 1 -0.75 5 -1 0 1 2"},
    };
    OP_TEST_VALUES(cases);
}

// Unlike MaxPoolGrad, where the first of the equal elements gets it.
static void all_greatest_elements_get_the_gradient(void **state)
{
    (void)state;
#define TIED "float[1,2,2,4,1] 1 3 3 2 3 3 0 0 5 5 1 1 5 5 5 5; float[1,1,1,2,1] 5 5; "
    static const op_case cases[] = {
        {"MaxPool3DGrad", POOL2, TIED "float[1,1,1,2,1] 10 20",
         "float[1,2,2,4,1] 0 0 0 0 0 0 0 0 10 10 0 0 10 10 20 20"},
        {"MaxPool3DGradGrad", POOL2, TIED "float[1,2,2,4,1] 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15",
         "float[1,1,1,2,1] 8 14"},
    };
    OP_TEST_VALUES(cases);
}

static void other_formats_and_types_give_the_same(void **state)
{
    (void)state;
#define FIRST "ksize=[1,1,1,1,2]; strides=[1,1,1,1,2]; padding=VALID; data_format=NCDHW"
#define LAST "ksize=[1,1,1,2,1]; strides=[1,1,1,2,1]; padding=VALID"
    static const op_case cases[] = {
        {"MaxPool3D", FIRST, "float[1,2,1,1,2] 1 2 4 3", "float[1,2,1,1,1] 2 4"},
        {"AvgPool3D", FIRST, "float[1,2,1,1,2] 1 2 4 3", "float[1,2,1,1,1] 1.5 3.5"},
        {"MaxPool3DGrad", FIRST, "float[1,2,1,1,2] 1 2 3 3; float[1,2,1,1,1] 2 3; float[1,2,1,1,1] 5 6",
         "float[1,2,1,1,2] 0 5 6 6"},
        {"MaxPool3DGradGrad", FIRST,
         "float[1,2,1,1,2] 1 2 3 3; float[1,2,1,1,1] 2 3; float[1,2,1,1,2] 5 6 7 8", "float[1,2,1,1,1] 6 7"},
        {"AvgPool3D", LAST, "double[1,1,1,2,1] 1 2", "double[1,1,1,1,1] 1.5"},
        {"AvgPool3D", LAST, "half[1,1,1,2,1] 0x3c00 0x4000", "half[1,1,1,1,1] 0x3e00"},
        {"MaxPool3D", LAST, "bfloat16[1,1,1,2,1] 0x3f80 0x4000", "bfloat16[1,1,1,1,1] 0x4000"},
        {"MaxPool3DGradGrad", LAST, "int32[1,1,1,2,1] 1 2; int32[1,1,1,1,1] 2; int32[1,1,1,2,1] 5 6",
         "int32[1,1,1,1,1] 6"},
    };
    OP_TEST_VALUES(cases);
}

static void empty_tensors_stay_empty(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MaxPool3D", POOL2, "float[0,4,4,4,3]", "float[0,2,2,2,3]"},
        {"AvgPool3D", POOL2, "float[0,4,4,4,3]", "float[0,2,2,2,3]"},
        {"MaxPool3DGrad", POOL2, "float[0,4,4,4,3]; float[0,2,2,2,3]; float[0,2,2,2,3]", "float[0,4,4,4,3]"},
        {"MaxPool3DGradGrad", POOL2, "float[0,4,4,4,3]; float[0,2,2,2,3]; float[0,4,4,4,3]",
         "float[0,2,2,2,3]"},
        {"AvgPool3DGrad", POOL2, "int32[5] 0 4 4 4 3; float[0,2,2,2,3]", "float[0,4,4,4,3]"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MaxPool3D", POOL2, "float[] 1", "InvalidArgument: tensor_in must be 5-dimensional"},
        {"MaxPool3D", "ksize=[2,1,1,1,1]; strides=[1,1,1,1,1]; padding=VALID", "float[2,1,1,1,1] 1",
         "Unimplemented: Pooling is not yet supported on the batch or depth dimension."},
        {"MaxPool3D", "ksize=[1,1,0,1,1]; strides=[1,1,1,1,1]; padding=VALID", "float[2,1,1,1,1] 1",
         "InvalidArgument: Window size must be > 0, but got 0"},
        {"MaxPool3DGrad", POOL2, "float[] 1; float[] 1; float[] 1",
         "InvalidArgument: tensor_in must be 5-dimensional"},
        {"MaxPool3DGrad", POOL2, "float[1,2,2,2,1] 1; float[1,1,1,2,1] 1; float[1,1,1,1,1] 1",
         "InvalidArgument: Expected orig_output shape to be [1,1,1,1,1], but got [1,1,1,2,1]"},
        {"MaxPool3DGrad", POOL2, "float[1,2,2,2,1] 1; float[1,1,1,1,1] 1; float[1,1,1,1] 1",
         "InvalidArgument: out_backprop must be 5-dimensional"},
        {"MaxPool3DGradGrad", POOL2, "float[] 1; float[] 1; float[] 1",
         "InvalidArgument: tensor_in must be 5-dimensional"},
        {"MaxPool3DGradGrad", POOL2, "float[1,2,2,2,1] 1; float[1,1,1,1,1] 1; float[1,1,1,1,1] 1",
         "InvalidArgument: Expected grad shape to be [1,2,2,2,1], but got [1,1,1,1,1]"},
        {"AvgPool3D", POOL2, "float[] 1", "InvalidArgument: tensor_in must be 5-dimensional"},
        {"AvgPool3D", "ksize=[1,3,1,1,1]; strides=[1,1,1,1,1]; padding=VALID", "float[1,1,1,1,1] 1",
         "InvalidArgument: Computed output size would be negative"},
        {"AvgPool3DGrad", POOL2, "int32[] 1; float[1,1,1,1,1] 1",
         "InvalidArgument: orig_input_shape must be a vector"},
        {"AvgPool3DGrad", POOL2, "int32[5] 1 2 2 2 1; float[1,1,2,1,1] 1",
         "InvalidArgument: Expected out_backprop shape to be [1,1,1,1,1], but got [1,1,2,1,1]"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"MaxPool3D", POOL2, "[?,4,5,6,3]", "[?,2,2,3,3]"},
        {"MaxPool3D", POOL2, "?", "[?,?,?,?,?]"},
        {"AvgPool3D", "ksize=[1,1,2,3,1]; strides=[1,1,2,3,1]; padding=SAME", "[2,4,5,?,3]", "[2,4,3,?,3]"},
        {"AvgPool3D", POOL2, "[1,2,3,4]", "InvalidArgument: Shape must be rank 5 but is rank 4"},
        {"MaxPool3DGrad", POOL2, "[?,4,5,6,3]; ?; ?", "[?,4,5,6,3]"},
        {"MaxPool3DGradGrad", POOL2, "?; [?,4,5,6,3]; ?", "[?,4,5,6,3]"},
        {"AvgPool3DGrad", POOL2, "int32[5] 1 2 3 4 5; ?", "[1,2,3,4,5]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {.op = "AvgPool3D",
         .attrs = "ksize=[1,2,2,1,1]; strides=[1,1,1,1,1]; padding=SAME",
         .inputs = "double[1,2,3,1,1] 1 -2 3 0.5 4 -1"},
        {.op = "AvgPool3DGrad",
         .attrs = "ksize=[1,2,2,1,1]; strides=[1,1,1,1,1]; padding=VALID",
         .inputs = "int32[5] 1 2 3 1 1; double[1,1,2,1,1] 1 2"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_tensorflow),
        cmocka_unit_test(all_greatest_elements_get_the_gradient),
        cmocka_unit_test(other_formats_and_types_give_the_same),
        cmocka_unit_test(empty_tensors_stay_empty),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}

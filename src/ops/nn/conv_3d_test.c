// Tests of Conv3D and its gradient ops. The values are TensorFlow 2.15's.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define VALID "strides=[1,1,1,1,1]; padding=VALID"
#define SAME "strides=[1,1,1,1,1]; padding=SAME"

static void values_are_those_of_tensorflow(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Conv3D", "strides=[1,1,1,1,1]; padding=VALID",
         "float[1,2,3,3,1] 0.5 -1.25 0 -2 0.5 0.75 0.25 0.5 -0.5 -2 1 -0.25 1.5 -1.5 -1.5 -1.75 -0.75 0; "
         "float[2,2,2,1,2] 1.5 -1.75 0.5 -0.25 0.75 -1.75 1.75 2 -0.75 1.5 -2 -2 0.25 -0.75 -0.25 -0.75",
         "float[1,1,2,2,2] -0.25 -1.0625 -0.4375 7.0625 -0.0625 11.0625 4.5625 -1.625"},
        {"Conv3DBackpropInputV2", "strides=[1,1,1,1,1]; padding=VALID",
         "int32[5] 1 2 3 3 1; float[2,2,2,1,2] 1.5 -1.75 0.5 -0.25 0.75 -1.75 1.75 2 -0.75 1.5 -2 -2 0.25 "
         "-0.75 -0.25 -0.75; float[1,1,2,2,2] 1.5 -1.75 -1.75 0.5 0.75 -1 -1.25 2",
         "float[1,2,3,3,1] 5.3125 -2.3125 -1 7.0625 -7.8125 -3.1875 2.3125 -5.125 1.8125 -3.75 2.5625 2.5 "
         "-0.375 4.5625 -1.4375 0.9375 -1.25 -1.1875"},
        {"Conv3DBackpropFilterV2", "strides=[1,1,1,1,1]; padding=VALID",
         "float[1,2,3,3,1] 0.5 -1.25 0 -2 0.5 0.75 0.25 0.5 -0.5 -2 1 -0.25 1.5 -1.5 -1.5 -1.75 -0.75 0; "
         "int32[5] 2 2 2 1 2; float[1,1,2,2,2] 1.5 -1.75 -1.75 0.5 0.75 -1 -1.25 2",
         "float[2,2,2,1,2] 0.8125 1.5 -2.4375 3.1875 -4.3125 4.5 0.4375 -2 -1.75 -0.5 2.6875 -3.375 4.5 "
         "-3.125 -0.1875 2.625"},
        {"Conv3D", "strides=[1,1,1,1,1]; padding=SAME",
         "float[1,2,2,3,2] 2 -2 2 0.75 -2 1.25 -0.75 2 -1.75 -1.5 -1 0 1 2 0.5 2 -1 0 -0.25 -2 2 0.25 "
         "-1.75 1.75; float[1,2,2,2,2] 0.75 0.5 2 2 1 -1 1 1 2 -1.5 -0.25 -1.75 -1.25 1.25 -1.75 -1.5",
         "float[1,2,2,3,2] 3.0625 -6.5625 0.375 9.75 -1 3 0.1875 3.875 -5.3125 -2.875 -0.75 -0.5 4.3125 "
         "12 6.4375 -3 -4.6875 -0.9375 -1.9375 -5.875 2 5 2.1875 2.625"},
        {"Conv3DBackpropInputV2", "strides=[1,1,1,1,1]; padding=SAME",
         "int32[5] 1 2 2 3 2; float[1,2,2,2,2] 0.75 0.5 2 2 1 -1 1 1 2 -1.5 -0.25 -1.75 -1.25 1.25 -1.75 "
         "-1.5; float[1,2,2,3,2] -1.25 0.75 -0.25 -1.75 0.75 -2 2 0.75 0 0 1.5 1 -1 0.25 -0.75 0.25 0.5 "
         "0.25 -2 1.25 1 -0.25 -1 0.5",
         "float[1,2,2,3,2] -0.5625 -1 -3.0625 -4.5 1.0625 -4.5 -1.75 4.5 5.875 6.9375 4.25 11.375 -0.625 "
         "-1.5 -1.6875 -1.75 -0.5 1 -3.25 -1.6875 -2.9375 1.875 2.625 0.125"},
        {"Conv3DBackpropFilterV2", "strides=[1,1,1,1,1]; padding=SAME",
         "float[1,2,2,3,2] 2 -2 2 0.75 -2 1.25 -0.75 2 -1.75 -1.5 -1 0 1 2 0.5 2 -1 0 -0.25 -2 2 0.25 "
         "-1.75 1.75; int32[5] 1 2 2 2 2; float[1,2,2,3,2] -1.25 0.75 -0.25 -1.75 0.75 -2 2 0.75 0 0 1.5 "
         "1 -1 0.25 -0.75 0.25 0.5 0.25 -2 1.25 1 -0.25 -1 0.5",
         "float[1,2,2,2,2] -5.125 -1.125 6.25 -4.5 -11 6.5 -5 -2.375 -1.5 4.5 0.5625 4.125 1.75 0.5 "
         "0.3125 -0.625"},
        {"Conv3D", "strides=[1,2,1,2,1]; padding=SAME",
         "float[2,3,2,2,1] 0 1 -2 -0.25 -2 -1.75 1.75 0.75 0.25 -0.25 1.25 -1 0.25 1.25 1.25 -2 1.75 -1 "
         "0.5 -0.5 1 1.75 1.5 0.5; float[2,1,2,1,1] 0.75 -1.25 0 -1.5",
         "float[2,2,2,1,1] 1.375 -2.3125 0.5 2.1875 0.125 4.1875 -1.4375 0.5"},
        {"Conv3DBackpropInputV2", "strides=[1,2,1,2,1]; padding=SAME",
         "int32[5] 2 3 2 2 1; float[2,1,2,1,1] 0.75 -1.25 0 -1.5; float[2,2,2,1,1] 0.75 -1 -2 1.25 -0.25 "
         "-1.75 -1.5 -1.5",
         "float[2,3,2,2,1] 0.5625 -0.9375 -0.75 1.25 0 -1.125 0 1.5 -1.5 2.5 0.9375 -1.5625 -0.1875 "
         "0.3125 -1.3125 2.1875 0 0.375 0 2.625 -1.125 1.875 -1.125 1.875"},
        {"Conv3DBackpropFilterV2", "strides=[1,2,1,2,1]; padding=SAME",
         "float[2,3,2,2,1] 0 1 -2 -0.25 -2 -1.75 1.75 0.75 0.25 -0.25 1.25 -1 0.25 1.25 1.25 -2 1.75 -1 "
         "0.5 -0.5 1 1.75 1.5 0.5; int32[5] 2 1 2 1 1; float[2,2,2,1,1] 0.75 -1 -2 1.25 -0.25 -1.75 -1.5 "
         "-1.5",
         "float[2,1,2,1,1] -2.9375 0.0625 -4.5625 -0.9375"},
        {"Conv3DBackpropInput", "strides=[1,2,1,2,1]; padding=SAME",
         "float[2,3,2,2,1] 0 1 -2 -0.25 -2 -1.75 1.75 0.75 0.25 -0.25 1.25 -1 0.25 1.25 1.25 -2 1.75 -1 "
         "0.5 -0.5 1 1.75 1.5 0.5; float[2,1,2,1,1] 0.75 -1.25 0 -1.5; float[2,2,2,1,1] 0.75 -1 -2 1.25 "
         "-0.25 -1.75 -1.5 -1.5",
         "float[2,3,2,2,1] 0.5625 -0.9375 -0.75 1.25 0 -1.125 0 1.5 -1.5 2.5 0.9375 -1.5625 -0.1875 "
         "0.3125 -1.3125 2.1875 0 0.375 0 2.625 -1.125 1.875 -1.125 1.875"},
        {"Conv3DBackpropFilter", "strides=[1,2,1,2,1]; padding=SAME",
         "float[2,3,2,2,1] 0 1 -2 -0.25 -2 -1.75 1.75 0.75 0.25 -0.25 1.25 -1 0.25 1.25 1.25 -2 1.75 -1 "
         "0.5 -0.5 1 1.75 1.5 0.5; float[2,1,2,1,1] 0.75 -1.25 0 -1.5; float[2,2,2,1,1] 0.75 -1 -2 1.25 "
         "-0.25 -1.75 -1.5 -1.5",
         "float[2,1,2,1,1] -2.9375 0.0625 -4.5625 -0.9375"},
        {"Conv3D", "strides=[1,1,1,1,1]; padding=SAME",
         "double[1,3,2,2,1] 1.5 0.5 -0.25 1 0.75 -0.25 -0.25 1 1 0.25 -0.25 -1.5; double[2,2,1,1,2] 1.75 "
         "1.25 -1 0 0.25 0 -0.75 1",
         "double[1,3,2,2,2] 3.25 1.625 -0.9375 1.625 -0.5 -0.3125 2 1.25 2 0.6875 -0.25 -1.8125 -0.5 "
         "-0.3125 1.375 1.25 2 1.25 1.9375 0.3125 -0.4375 -0.3125 -2.625 -1.875"},
        {"Conv3DBackpropInputV2", "strides=[1,1,1,1,1]; padding=SAME",
         "int32[5] 1 3 2 2 1; double[2,2,1,1,2] 1.75 1.25 -1 0 0.25 0 -0.75 1; double[1,3,2,2,2] -1.25 "
         "-1.5 0.75 -2 -0.25 -2 1.5 -1.25 -0.75 1.5 1.25 1 -1.5 -0.5 -0.5 1.25 -0.25 1.25 -0.25 -2 1 0 -1 "
         "0.5",
         "double[1,3,2,2,1] -4.0625 -1.1875 -1.6875 0.3125 0.25 3.625 -3.125 -2.75 0.9375 -2.625 3.6875 "
         "-0.9375"},
        {"Conv3DBackpropFilterV2", "strides=[1,1,1,1,1]; padding=SAME",
         "double[1,3,2,2,1] 1.5 0.5 -0.25 1 0.75 -0.25 -0.25 1 1 0.25 -0.25 -1.5; int32[5] 2 2 1 1 2; "
         "double[1,3,2,2,2] -1.25 -1.5 0.75 -2 -0.25 -2 1.5 -1.25 -0.75 1.5 1.25 1 -1.5 -0.5 -0.5 1.25 "
         "-0.25 1.25 -0.25 -2 1 0 -1 0.5",
         "double[2,2,1,1,2] 0 -1.75 2.9375 1.6875 1.125 -1.375 -0.625 -3.5"},
    };
    OP_TEST_VALUES(cases);
}

// oneDNN computes floats, plain loops compute doubles.
static void channels_may_be_first_dilated_and_in_groups(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Conv3D", VALID "; data_format=NCDHW", "float[1,2,1,1,3] 1 2 3 4 5 6; float[1,1,2,2,1] 1 2 10 20",
         "float[1,1,1,1,2] 129 162"},
        {"Conv3D", VALID "; dilations=[1,2,1,1,1]", "float[1,3,1,1,1] 1 2 3; float[2,1,1,1,1] 1 10",
         "float[1,1,1,1,1] 31"},
        {"Conv3D", VALID, "double[1,1,1,1,2] 2 3; double[1,1,1,1,2] 10 20", "double[1,1,1,1,2] 20 60"},
        {"Conv3D", VALID, "half[1,1,1,1,1] 0x4000; half[1,1,1,1,1] 0x4200", "half[1,1,1,1,1] 0x4600"},
        {"Conv3DBackpropInputV2", VALID, "int64[5] 1 1 1 2 1; float[1,1,1,1,1] 3; float[1,1,1,2,1] 1 2",
         "float[1,1,1,2,1] 3 6"},
    };
    OP_TEST_VALUES(cases);
}

static void empty_tensors_give_zeros(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Conv3D", VALID, "float[0,3,3,3,2]; float[2,2,2,2,4] 1", "float[0,2,2,2,4]"},
        {"Conv3DBackpropInputV2", VALID, "int32[5] 0 3 3 3 2; float[2,2,2,2,4] 1; float[0,2,2,2,4]",
         "float[0,3,3,3,2]"},
        {"Conv3DBackpropFilterV2", VALID, "float[0,3,3,3,1]; int32[5] 1 1 2 1 1; float[0,3,3,2,1]",
         "float[1,1,2,1,1] 0 0"},
        {"Conv3DBackpropInput", VALID, "float[0,3,3,3,2]; float[2,2,2,2,4] 1; float[0,2,2,2,4]",
         "float[0,3,3,3,2]"},
        {"Conv3DBackpropFilter", VALID, "float[0,3,3,3,1]; float[1,1,2,1,1] 1; float[0,3,3,2,1]",
         "float[1,1,2,1,1] 0 0"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"Conv3D", VALID, "float[] 1; float[] 1", "InvalidArgument: input must be 5-dimensional"},
        {"Conv3D", VALID, "float[1,3,3,1] 1; float[1,1,1,1,1] 1",
         "InvalidArgument: input must be 5-dimensional"},
        {"Conv3D", VALID, "float[1,3,3,3,1] 1; float[1,1,1,1] 1",
         "InvalidArgument: filter must be 5-dimensional"},
        {"Conv3D", VALID, "float[1,3,3,3,3] 1; float[1,1,1,2,1] 1",
         "InvalidArgument: input depth must be evenly divisible by filter depth: 3 vs 2"},
        {"Conv3D", VALID, "float[1,3,3,3,1] 1; float[4,5,1,1,1] 1", "InvalidArgument: "},
        {"Conv3D", "strides=[1,1,1,1,1,1]; padding=VALID", "float[1,3,3,3,1] 1; float[1,1,1,1,1] 1",
         "InvalidArgument: Conv3D requires the stride attribute to contain 5 values, but got: 6"},
        {"Conv3D", "strides=[1,0,1,1,1]; padding=VALID", "float[1,3,3,3,1] 1; float[1,1,1,1,1] 1",
         "InvalidArgument: Stride must be > 0, but got 0"},
        {"Conv3D", "strides=[2,1,1,1,1]; padding=VALID", "float[1,3,3,3,1] 1; float[1,1,1,1,1] 1",
         "InvalidArgument: Current implementation does not yet support strides in the batch and depth"},
        {"Conv3D", VALID "; dilations=[1,1,1,1,2]", "float[1,3,3,3,1] 1; float[1,1,1,1,1] 1",
         "InvalidArgument: Current implementation does not yet support dilations in the batch and depth"},
        {"Conv3DBackpropInputV2", VALID, "int32[] 1; float[1,1,1,1,1] 1; float[1,2,2,2,1] 1",
         "InvalidArgument: input_sizes must be a vector"},
        {"Conv3DBackpropInputV2", VALID, "int32[5] 1 3 3 3 1; float[1,1,1,1,1] 1; float[1,3,3,2,1] 1",
         "InvalidArgument: Conv3DBackpropInputV2: Size of out_backprop doesn't match computed"},
        {"Conv3DBackpropFilterV2", VALID, "float[1,3,3,3,1] 1; int32[] 1; float[1,2,2,2,1] 1",
         "InvalidArgument: filter_sizes must be a vector"},
        {"Conv3DBackpropFilterV2", VALID, "float[1,3,3,3,1] 1; int32[4] 1 1 1 1; float[1,3,3,3,1] 1",
         "InvalidArgument: filter must be 5-dimensional"},
        {"Conv3DBackpropInput", VALID, "float[] 1; float[1,1,1,1,1] 1; float[1,3,3,3,1] 1",
         "InvalidArgument: input must be 5-dimensional"},
        {"Conv3DBackpropFilter", VALID, "float[1,3,3,3,1] 1; float[] 1; float[1,3,3,3,1] 1",
         "InvalidArgument: filter must be 5-dimensional"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Conv3D", "strides=[1,2,2,1,1]; padding=SAME", "[?,5,6,7,2]; [3,3,3,2,8]", "[?,3,3,7,8]"},
        {"Conv3D", VALID "; data_format=NCDHW", "[4,2,5,6,7]; [3,2,1,2,8]", "[4,8,3,5,7]"},
        {"Conv3D", VALID, "?; ?", "[?,?,?,?,?]"},
        {"Conv3D", VALID, "[1,2,3,4]; ?", "InvalidArgument: Shape must be rank 5 but is rank 4"},
        {"Conv3DBackpropInputV2", SAME, "int32[5] 1 2 3 4 5; ?; ?", "[1,2,3,4,5]"},
        {"Conv3DBackpropInputV2", SAME, "int32[5]; ?; ?", "[?,?,?,?,?]"},
        {"Conv3DBackpropFilterV2", SAME, "?; int32[5] 1 2 3 4 5; ?", "[1,2,3,4,5]"},
        {"Conv3DBackpropInput", SAME, "[1,2,3,4,5]; ?; ?", "[1,2,3,4,5]"},
        {"Conv3DBackpropFilter", SAME, "?; [1,2,3,4,5]; ?", "[1,2,3,4,5]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {.op = "Conv3D",
         .attrs = "strides=[1,1,2,1,1]; padding=SAME",
         .inputs = "double[1,2,2,1,2] 1 -2 3 0.5 1 -1 2 0.25; double[2,1,1,2,1] 1 2 -1 0.5"},
        {.op = "Conv3DBackpropInputV2",
         .attrs = VALID,
         .inputs = "int32[5] 1 2 1 2 1; double[2,1,1,1,1] 1 2; double[1,1,1,2,1] 2 -3"},
        {.op = "Conv3DBackpropFilterV2",
         .attrs = VALID,
         .inputs = "double[1,2,1,2,1] 1 -2 3 0.5; int32[5] 2 1 1 1 1; double[1,1,1,2,1] 2 -3"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_those_of_tensorflow),
        cmocka_unit_test(channels_may_be_first_dilated_and_in_groups),
        cmocka_unit_test(empty_tensors_give_zeros),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}

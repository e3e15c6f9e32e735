// Tests of MaxPoolWithArgmax and its gradients.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define POOL2 "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID"

// ---- Values, computed with numpy from the definition ----

static void places_in_an_image_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "MaxPoolWithArgmax",
         .attrs = "ksize=[1,2,2,1]; strides=[1,1,2,1]; padding=SAME",
         .inputs = "float[2,3,3,2] 1.125 0.5 0.375 0.125 1.25 -0.875 -0.125 0.375 -1.625 1.25 -0.75 -0.125 "
                   "2.125 -0.875 -0.5 1.5 -1.125 -0.375 0.5 0.5 0.625 0.375 1.375 1 0.625 -0.625 -0.75 "
                   "-1.875 0.625 -1.875 0.875 1.875 -1 -0.625 -0.5 0.875",
         .want = "float[2,3,2,2] 1.125 1.25 1.25 -0.125 2.125 1.5 -0.75 -0.125 2.125 1.5 -1.125 -0.375 "
                 "0.625 0.5 1.375 1 0.875 1.875 0.625 0.875 0.875 1.875 -0.5 0.875; int64[2,3,2,2] 0 9 4 "
                 "11 12 15 10 11 12 15 16 17 2 1 4 5 12 13 10 17 12 13 16 17"},
        {.op = "MaxPoolGradWithArgmax",
         .attrs = "ksize=[1,2,2,1]; strides=[1,1,2,1]; padding=SAME",
         .inputs = "float[2,3,3,2] 1.125 0.5 0.375 0.125 1.25 -0.875 -0.125 0.375 -1.625 1.25 -0.75 -0.125 "
                   "2.125 -0.875 -0.5 1.5 -1.125 -0.375 0.5 0.5 0.625 0.375 1.375 1 0.625 -0.625 -0.75 "
                   "-1.875 0.625 -1.875 0.875 1.875 -1 -0.625 -0.5 0.875; float[2,3,2,2] -0.875 -0.125 -0.5 "
                   "-0.25 1.25 -1 0.125 0.25 0.875 -1.25 1.125 0.375 0.875 0.125 -1.625 -0.625 0.875 0 -0 "
                   "1.75 2.25 -0 1.875 -2; int64[2,3,2,2] 0 9 4 11 12 15 10 11 12 15 16 17 2 1 4 5 12 13 10 "
                   "17 12 13 16 17",
         .want = "float[2,3,3,2] -0.875 0 0 0 -0.5 0 0 0 0 -0.125 0.125 0 2.125 0 0 -2.25 1.125 0.375 0 "
                 "0.125 0.875 0 -1.625 -0.625 0 0 0 0 0 0 3.125 0 0 0 1.875 -0.25"},
        {.op = "MaxPoolGradGradWithArgmax",
         .attrs = "ksize=[1,2,2,1]; strides=[1,1,2,1]; padding=SAME",
         .inputs = "float[2,3,3,2] 1.125 0.5 0.375 0.125 1.25 -0.875 -0.125 0.375 -1.625 1.25 -0.75 -0.125 "
                   "2.125 -0.875 -0.5 1.5 -1.125 -0.375 0.5 0.5 0.625 0.375 1.375 1 0.625 -0.625 -0.75 "
                   "-1.875 0.625 -1.875 0.875 1.875 -1 -0.625 -0.5 0.875; float[2,3,3,2] -2 0.875 -0.25 "
                   "0.625 0.5 -0.125 0.625 0.125 -1.5 0.25 0.125 1.875 -1.125 0 -0.375 -0.125 1.625 0.375 "
                   "-0.5 0.125 0.75 -1 -0.25 1.5 0.875 -0 -0.5 -0.125 -1.5 1 0.375 0.125 -1.25 -0.75 0.5 "
                   "0.25; int64[2,3,2,2] 0 9 4 11 12 15 10 11 12 15 16 17 2 1 4 5 12 13 10 17 12 13 16 17",
         .want = "float[2,3,2,2] -2 0.25 0.5 1.875 -1.125 -0.125 0.125 1.875 -1.125 -0.125 1.625 0.375 "
                 "0.75 0.125 -0.25 1.5 0.375 0.125 -1.5 0.25 0.375 0.125 0.5 0.25"},
    };
    OP_TEST_VALUES(cases);
}

static void places_in_the_batch_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "MaxPoolWithArgmax",
         .attrs =
             "ksize=[1,2,3,1]; strides=[1,2,1,1]; padding=VALID; include_batch_in_index=true; Targmax=int32",
         .inputs = "double[2,3,4,1] -0.5 0.5 1 -0.625 -0.5 -0.875 -1.125 0.75 0.5 0.375 -1.125 -1 -0.125 "
                   "-0.375 0.125 -0.75 0.625 1.75 1.5 1.625 0.125 0.875 -0.375 0.875",
         .want = "double[2,1,2,1] 1 1 1.75 1.75; int32[2,1,2,1] 2 2 17 17"},
        {.op = "MaxPoolGradWithArgmax",
         .attrs = "ksize=[1,2,3,1]; strides=[1,2,1,1]; padding=VALID; include_batch_in_index=true",
         .inputs = "double[2,3,4,1] -0.5 0.5 1 -0.625 -0.5 -0.875 -1.125 0.75 0.5 0.375 -1.125 -1 -0.125 "
                   "-0.375 0.125 -0.75 0.625 1.75 1.5 1.625 0.125 0.875 -0.375 0.875; double[2,1,2,1] -0.375 "
                   "-0.5 -0.625 0.75; int32[2,1,2,1] 2 2 17 17",
         .want = "double[2,3,4,1] 0 0 -0.875 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0.125 0 0 0 0 0 0"},
        {.op = "MaxPoolGradGradWithArgmax",
         .attrs = "ksize=[1,2,3,1]; strides=[1,2,1,1]; padding=VALID; include_batch_in_index=true",
         .inputs = "double[2,3,4,1] -0.5 0.5 1 -0.625 -0.5 -0.875 -1.125 0.75 0.5 0.375 -1.125 -1 -0.125 "
                   "-0.375 0.125 -0.75 0.625 1.75 1.5 1.625 0.125 0.875 -0.375 0.875; double[2,3,4,1] 0.25 "
                   "0.125 -1.125 0.125 -1.5 1.5 -0.125 0.25 -0.125 -1.625 -1.375 -0 1.5 -1.125 -0.75 -0 "
                   "-1.625 -1.75 -0.375 -0 -0.375 1.5 -0.125 0.375; int32[2,1,2,1] 2 2 17 17",
         .want = "double[2,1,2,1] -1.125 -1.125 -1.75 -1.75"},
    };
    OP_TEST_VALUES(cases);
}

static void integers_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "MaxPoolWithArgmax",
         .attrs = "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=SAME",
         .inputs = "int32[1,4,3,1] -2 3 -4 -1 1 -4 -3 -5 1 0 4 -1",
         .want = "int32[1,2,2,1] 3 -4 4 1; int64[1,2,2,1] 1 2 10 8"},
        {.op = "MaxPoolGradWithArgmax",
         .attrs = "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=SAME",
         .inputs = "int32[1,4,3,1] -2 3 -4 -1 1 -4 -3 -5 1 0 4 -1; int32[1,2,2,1] 0 2 4 1; int64[1,2,2,1] 1 "
                   "2 10 8",
         .want = "int32[1,4,3,1] 0 0 2 0 0 0 0 0 1 0 4 0"},
        {.op = "MaxPoolGradGradWithArgmax",
         .attrs = "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=SAME",
         .inputs = "int32[1,4,3,1] -2 3 -4 -1 1 -4 -3 -5 1 0 4 -1; int32[1,4,3,1] 1 0 5 3 0 -4 -4 0 -2 -4 2 "
                   "2; int64[1,2,2,1] 1 2 10 8",
         .want = "int32[1,2,2,1] 0 5 2 -2"},
        {.op = "MaxPoolWithArgmax",
         .attrs = POOL2,
         .inputs = "uint8[1,2,2,1] 7 200 3 1",
         .want = "uint8[1,1,1,1] 200; int64[1,1,1,1] 1"},
    };
    OP_TEST_VALUES(cases);
}

// ---- Ties, sizes and errors ----

// Of equal elements the first wins. NaN after a number is ignored; NaN before it stays.
static void ties_and_nan_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "MaxPoolWithArgmax",
         .attrs = POOL2,
         .inputs = "float[1,2,2,1] 7",
         .want = "float[1,1,1,1] 7; int64[1,1,1,1] 0"},
        {.op = "MaxPoolWithArgmax",
         .attrs = POOL2,
         .inputs = "float[1,2,2,1] -inf nan -inf -inf",
         .want = "float[1,1,1,1] -inf; int64[1,1,1,1] 0"},
    };
    OP_TEST_VALUES(cases);
}

static void empty_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "MaxPoolWithArgmax",
         .attrs = POOL2,
         .inputs = "float[576460752303423488,2,2,0]",
         .want = "float[576460752303423488,1,1,0]; int64[576460752303423488,1,1,0]"},
        {.op = "MaxPoolWithArgmax",
         .attrs = POOL2,
         .inputs = "float[0,2,2,1]",
         .want = "float[0,1,1,1]; int64[0,1,1,1]"},
        {.op = "MaxPoolGradWithArgmax",
         .attrs = POOL2,
         .inputs = "float[0,2,2,1]; float[0,1,1,1]; int64[0,1,1,1]",
         .want = "float[0,2,2,1]"},
        {.op = "MaxPoolGradGradWithArgmax",
         .attrs = POOL2,
         .inputs = "float[0,2,2,1]; float[0,2,2,1]; int32[0,1,1,1]",
         .want = "float[0,1,1,1]"},
        {.op = "MaxPoolGradWithArgmax",
         .attrs = POOL2,
         .inputs = "float[1,1,2,1] 1; float[1,0,1,1]; int64[1,0,1,1]",
         .want = "float[1,1,2,1] 0"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "MaxPoolWithArgmax",
         .attrs = POOL2,
         .inputs = "float[2,2] 1",
         .want = "InvalidArgument: tensor_in must be 4-dimensional"},
        {.op = "MaxPoolWithArgmax",
         .attrs = "ksize=[1,2,2,2]; strides=[1,2,2,1]; padding=VALID",
         .inputs = "float[1,2,2,2] 1",
         .want = "Unimplemented: Pooling is not yet supported on the batch or depth dimension."},
        {.op = "MaxPoolGradWithArgmax",
         .attrs = POOL2,
         .inputs = "float[1,2,2,1] 1; float[1,1,1,1] 1; int64[1,1,1,1] 4",
         .want = "InvalidArgument: Invalid input argmax index: 4"},
        {.op = "MaxPoolGradWithArgmax",
         .attrs = POOL2,
         .inputs = "float[2,2,2,1] 1; float[2,1,1,1] 1; int64[2,1,1,1] 3 7",
         .want = "InvalidArgument: Invalid input argmax index: 7"},
        {.op = "MaxPoolGradWithArgmax",
         .attrs = POOL2,
         .inputs = "float[2,2,2,1] 1; float[2,1,1,1] 1; int64[2,1,1,1] 3 9223372036854775807",
         .want = "InvalidArgument: Invalid input argmax index: 9223372036854775807"},
        {.op = "MaxPoolGradGradWithArgmax",
         .attrs = POOL2,
         .inputs = "float[1,2,2,1] 1; float[1,2,2,1] 1; int32[1,1,1,1] -1",
         .want = "InvalidArgument: Invalid input argmax index: -1"},
        {.op = "MaxPoolGradWithArgmax",
         .attrs = POOL2,
         .inputs = "float[1,2,2,1] 1; float[1,1,2,1] 1; int64[1,1,1,1] 0",
         .want = "InvalidArgument: Expected grad shape to be [1,1,1,1], but got [1,1,2,1]"},
        {.op = "MaxPoolGradGradWithArgmax",
         .attrs = POOL2,
         .inputs = "float[1,2,2,1] 1; float[1,2,2,1] 1; int64[2,1,1,1] 0",
         .want = "InvalidArgument: Expected argmax shape to be [1,1,1,1], but got [2,1,1,1]"},
        {.op = "MaxPoolWithArgmax",
         .attrs = POOL2,
         .inputs = "float[] 1",
         .want = "InvalidArgument: tensor_in must be 4-dimensional"},
        {.op = "MaxPoolGradWithArgmax",
         .attrs = POOL2,
         .inputs = "float[1,2,2,1] 1; float[1,1,1,1] 1; int64[] 0",
         .want = "InvalidArgument: argmax must be 4-dimensional"},
        {.op = "MaxPoolGradGradWithArgmax",
         .attrs = POOL2,
         .inputs = "float[1,2,2,1] 1; float[] 1; int64[1,1,1,1] 0",
         .want = "InvalidArgument: grad must be 4-dimensional"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"MaxPoolWithArgmax", POOL2, "[?,5,4,3]", "[?,2,2,3]; [?,2,2,3]"},
        {"MaxPoolWithArgmax", POOL2, "?", "[?,?,?,?]; [?,?,?,?]"},
        {"MaxPoolGradWithArgmax", POOL2, "[1,2,2,3]; ?; int64?", "[1,2,2,3]"},
        {"MaxPoolGradGradWithArgmax", POOL2, "[1,2,2,3]; ?; int64?", "[1,1,1,3]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {.op = "MaxPoolWithArgmax",
         .attrs = "ksize=[1,2,2,1]; strides=[1,1,2,1]; padding=SAME",
         .inputs = "double[2,3,3,1] 1 -2 3 0.5 1.5 -1 2 0.25 1.25 1.75 -3 2.5 4 5 6 7 8 9"},
        {.op = "MaxPoolWithArgmax",
         .attrs = "ksize=[1,2,2,1]; strides=[1,1,2,1]; padding=VALID; include_batch_in_index=true",
         .inputs = "double[2,3,3,1] 1 -2 3 0.5 1.5 -1 2 0.25 1.25 1.75 -3 2.5 4 5 6 7 8 9"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_in_an_image_follows_its_definition),
        cmocka_unit_test(places_in_the_batch_follows_its_definition),
        cmocka_unit_test(integers_follow_the_definition),
        cmocka_unit_test(ties_and_nan_follow_the_definition),
        cmocka_unit_test(empty_follows_its_definition),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}

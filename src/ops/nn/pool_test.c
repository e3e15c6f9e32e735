// Tests of pooling ops and their gradients.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

// ---- Values, computed with PyTorch 1.13 (torch.nn.functional.max_pool2d, avg_pool2d and their autograd, in
// double) ----

#define EXPLICIT "ksize=[1,2,2,1]; strides=[1,1,1,1]; padding=EXPLICIT; "

static void max_valid_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "MaxPool",
         .attrs = "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID",
         .inputs = "float[1,4,4,1] -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 -1 0.75 -0.25 -1.25 0.5 -0.5 "
                   "1.25 0.25",
         .want = "float[1,2,2,1] 0.5 1.25 0.75 1.25"},
        {.op = "MaxPoolGrad",
         .attrs = "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID",
         .inputs = "float[1,4,4,1] -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 -1 0.75 -0.25 -1.25 0.5 -0.5 "
                   "1.25 0.25; float[1,2,2,1] 0.5 1.25 0.75 1.25; float[1,2,2,1] -2.5 -1 0.5 2",
         .want = "float[1,4,4,1] 0 -2.5 0 -1 0 0 0 0 0 0.5 0 0 0 0 2 0"},
        {.op = "MaxPoolGradGrad",
         .attrs = "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID",
         .inputs = "float[1,4,4,1] -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 -1 0.75 -0.25 -1.25 0.5 -0.5 "
                   "1.25 0.25; float[1,2,2,1] 0.5 1.25 0.75 1.25; float[1,4,4,1] -2.5 0 2.5 -0.5 2 "
                   "-1 1.5 -1.5 1 -2 0.5 -2.5 0 2.5 -0.5 2",
         .want = "float[1,2,2,1] 0 -0.5 -2 -0.5"},
    };
    OP_TEST_VALUES(cases);
}

static void max_same_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "MaxPool",
         .attrs = "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=SAME",
         .inputs = "float[1,3,3,2] -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 -1 0.75 -0.25 -1.25 0.5 -0.5 "
                   "1.25 0.25 -0.75 1",
         .want = "float[1,2,2,2] 1 1.25 0.25 -0.75 1.25 0.25 -0.75 1"},
        {.op = "MaxPoolGrad",
         .attrs = "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=SAME",
         .inputs = "float[1,3,3,2] -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 -1 0.75 -0.25 -1.25 0.5 -0.5 "
                   "1.25 0.25 -0.75 1; float[1,2,2,2] 1 1.25 0.25 -0.75 1.25 0.25 -0.75 1; "
                   "float[1,2,2,2] -2.5 -1 0.5 2 -2 -0.5 1 2.5",
         .want = "float[1,3,3,2] 0 0 0 -1 0.5 2 -2.5 0 0 0 0 0 0 0 -2 -0.5 1 2.5"},
        {.op = "MaxPoolGradGrad",
         .attrs = "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=SAME",
         .inputs = "float[1,3,3,2] -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 -1 0.75 -0.25 -1.25 0.5 -0.5 "
                   "1.25 0.25 -0.75 1; float[1,2,2,2] 1 1.25 0.25 -0.75 1.25 0.25 -0.75 1; "
                   "float[1,3,3,2] -2.5 0 2.5 -0.5 2 -1 1.5 -1.5 1 -2 0.5 -2.5 0 2.5 -0.5 2 -1 1.5",
         .want = "float[1,2,2,2] 1.5 -0.5 2 -1 -0.5 2 -1 1.5"},
        {.op = "MaxPool",
         .attrs = "ksize=[1,3,3,1]; strides=[1,1,2,1]; padding=SAME",
         .inputs = "float[1,4,4,1] -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 -1 0.75 -0.25 -1.25 0.5 -0.5 "
                   "1.25 0.25",
         .want = "float[1,4,2,1] 1 1.25 1 1.25 1.25 1.25 1.25 1.25"},
        {.op = "MaxPoolGrad",
         .attrs = "ksize=[1,3,3,1]; strides=[1,1,2,1]; padding=SAME",
         .inputs = "float[1,4,4,1] -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 -1 0.75 -0.25 -1.25 0.5 -0.5 "
                   "1.25 0.25; float[1,4,2,1] 1 1.25 1 1.25 1.25 1.25 1.25 1.25; float[1,4,2,1] "
                   "-2.5 -1 0.5 2 -2 -0.5 1 2.5",
         .want = "float[1,4,4,1] 0 0 0 1 0 0 -2 0 0 0 0 0 0 0 1 0"},
        {.op = "MaxPoolGradGrad",
         .attrs = "ksize=[1,3,3,1]; strides=[1,1,2,1]; padding=SAME",
         .inputs = "float[1,4,4,1] -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 -1 0.75 -0.25 -1.25 0.5 -0.5 "
                   "1.25 0.25; float[1,4,2,1] 1 1.25 1 1.25 1.25 1.25 1.25 1.25; float[1,4,4,1] "
                   "-2.5 0 2.5 -0.5 2 -1 1.5 -1.5 1 -2 0.5 -2.5 0 2.5 -0.5 2",
         .want = "float[1,4,2,1] 1.5 -0.5 1.5 -0.5 -0.5 -0.5 -0.5 -0.5"},
    };
    OP_TEST_VALUES(cases);
}

static void max_channels_first_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "MaxPool",
         .attrs = "ksize=[1,1,2,2]; strides=[1,1,1,2]; padding=VALID; data_format=NCHW",
         .inputs = "float[1,2,3,4] -1.25 -0.5 0.25 1 -1 -0.25 0.5 1.25 -0.75 0 0.75 -1.25 0.5 1.25 "
                   "-0.75 0 0.75 -1.25 -0.5 0.25 1 -1 -0.25 0.5",
         .want = "float[1,2,2,2] -0.25 1.25 0 1.25 1.25 0.25 1 0.5"},
        {.op = "MaxPoolGrad",
         .attrs = "ksize=[1,1,2,2]; strides=[1,1,1,2]; padding=VALID; data_format=NCHW",
         .inputs = "float[1,2,3,4] -1.25 -0.5 0.25 1 -1 -0.25 0.5 1.25 -0.75 0 0.75 -1.25 0.5 1.25 "
                   "-0.75 0 0.75 -1.25 -0.5 0.25 1 -1 -0.25 0.5; float[1,2,2,2] -0.25 1.25 0 1.25 "
                   "1.25 0.25 1 0.5; float[1,2,2,2] -2.5 0.5 -2 1 -1 2 -0.5 2.5",
         .want = "float[1,2,3,4] 0 0 0 0 0 -2.5 0 1.5 0 -2 0 0 0 -1 0 0 0 0 0 2 -0.5 0 0 2.5"},
        {.op = "MaxPoolGradGrad",
         .attrs = "ksize=[1,1,2,2]; strides=[1,1,1,2]; padding=VALID; data_format=NCHW",
         .inputs = "float[1,2,3,4] -1.25 -0.5 0.25 1 -1 -0.25 0.5 1.25 -0.75 0 0.75 -1.25 0.5 1.25 "
                   "-0.75 0 0.75 -1.25 -0.5 0.25 1 -1 -0.25 0.5; float[1,2,2,2] -0.25 1.25 0 1.25 "
                   "1.25 0.25 1 0.5; float[1,2,3,4] -2.5 0 2.5 -0.5 2 -1 1.5 -1.5 1 -2 0.5 -2.5 0 "
                   "2.5 -0.5 2 -1 1.5 -1.5 1 -2 0.5 -2.5 0",
         .want = "float[1,2,2,2] -1 -1.5 -2 -1.5 2.5 1 -2 0"},
    };
    OP_TEST_VALUES(cases);
}

// Sums of integers wrap around.
static void max_of_integers_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "MaxPool",
         .attrs = "ksize=[1,2,2,1]; strides=[1,1,1,1]; padding=SAME",
         .inputs = "int64[1,2,2,1] 9007199254740993 -5 9007199254740992 7",
         .want = "int64[1,2,2,1] 9007199254740993 7 9007199254740992 7"},
        {.op = "MaxPool",
         .attrs = "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID",
         .inputs = "uint8[1,2,2,2] 1 200 3 4 5 6 255 8",
         .want = "uint8[1,1,1,2] 255 200"},
        {.op = "MaxPool",
         .attrs = "ksize=[1,1,1,2]; strides=[1,1,1,2]; padding=VALID",
         .inputs = "int32[1,1,2,2] -7 -9 3 4",
         .want = "int32[1,1,2,1] -7 4"},
        {.op = "MaxPoolGrad",
         .attrs = "ksize=[1,1,2,1]; strides=[1,1,1,1]; padding=VALID",
         .inputs = "int32[1,1,3,1] 1 5 2; int32[1,1,2,1] 5; int32[1,1,2,1] 2147483647 1",
         .want = "int32[1,1,3,1] 0 -2147483648 0"},
    };
    OP_TEST_VALUES(cases);
}

// Values computed by hand.
static void explicit_padding_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "MaxPool",
         .attrs = EXPLICIT "explicit_paddings=[0,0,1,0,1,0,0,0]",
         .inputs = "float[1,2,2,1] -1 -2 -3 -4",
         .want = "float[1,2,2,1] -1"},
        {.op = "MaxPoolGrad",
         .attrs = EXPLICIT "explicit_paddings=[0,0,1,0,1,0,0,0]",
         .inputs = "float[1,2,2,1] -1 -2 -3 -4; float[1,2,2,1] -1; float[1,2,2,1] 1 2 3 4",
         .want = "float[1,2,2,1] 10 0 0 0"},
        {.op = "MaxPoolGradGrad",
         .attrs = EXPLICIT "explicit_paddings=[0,0,1,0,1,0,0,0]",
         .inputs = "float[1,2,2,1] -1 -2 -3 -4; float[1,2,2,1] -1; float[1,2,2,1] 1 2 3 4",
         .want = "float[1,2,2,1] 1"},
        {.op = "MaxPool",
         .attrs = EXPLICIT "explicit_paddings=[0,0,2,0,0,0,0,0]",
         .inputs = "float[1,2,2,1] 1",
         .want = "InvalidArgument: explicit_paddings must be less than the window"},
        {.op = "MaxPool",
         .attrs = EXPLICIT "explicit_paddings=[0,0,1,1,1,1,0,0]",
         .inputs = "float[1,0,2,1]",
         .want = "InvalidArgument: explicit_paddings must be less than the window"},
    };
    OP_TEST_VALUES(cases);
}

static void mean(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "AvgPool",
         .attrs = "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=SAME",
         .inputs = "float[1,3,3,2] -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 -1 0.75 -0.25 -1.25 0.5 -0.5 "
                   "1.25 0.25 -0.75 1",
         .want = "float[1,2,2,2] -0.4375 0.625 0 -1 0.875 -0.125 -0.75 1"},
        {.op = "AvgPoolGrad",
         .attrs = "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=SAME",
         .inputs = "int32[4] 1 3 3 2; float[1,2,2,2] -2.5 -1 0.5 2 -2 -0.5 1 2.5",
         .want = "float[1,3,3,2] -0.625 -0.25 -0.625 -0.25 0.25 1 -0.625 -0.25 -0.625 -0.25 0.25 "
                 "1 -1 -0.25 -1 -0.25 1 2.5"},
        {.op = "AvgPool",
         .attrs = "ksize=[1,3,2,1]; strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[1,4,4,1] -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 -1 0.75 -0.25 -1.25 0.5 -0.5 "
                   "1.25 0.25",
         .want = "float[1,2,3,1] -0.25 0.125 0.04166667 -0.125 0.25 0.1666667"},
        {.op = "AvgPoolGrad",
         .attrs = "ksize=[1,3,2,1]; strides=[1,1,1,1]; padding=VALID",
         .inputs = "int32[4] 1 4 4 1; float[1,2,3,1] -2.5 -1 0.5 2 -2 -0.5",
         .want = "float[1,4,4,1] -0.4166667 -0.5833333 -0.08333333 0.08333333 -0.08333333 "
                 "-0.5833333 -0.5 0 -0.08333333 -0.5833333 -0.5 0 0.3333333 0 -0.4166667 "
                 "-0.08333333"},
        {.op = "AvgPool",
         .attrs = "ksize=[1,1,2,2]; strides=[1,1,2,2]; padding=SAME; data_format=NCHW",
         .inputs = "float[1,2,3,3] -1.25 -0.5 0.25 1 -1 -0.25 0.5 1.25 -0.75 0.5 1.25 -0.75 0 0.75 "
                   "-1.25 -0.5 0.25 1",
         .want = "float[1,2,2,2] -0.4375 0 0.875 -0.75 0.625 -1 -0.125 1"},
        {.op = "AvgPoolGrad",
         .attrs = "ksize=[1,1,2,2]; strides=[1,1,2,2]; padding=SAME; data_format=NCHW",
         .inputs = "int32[4] 1 2 3 3; float[1,2,2,2] -2.5 0.5 -2 1 -1 2 -0.5 2.5",
         .want = "float[1,2,3,3] -0.625 -0.625 0.25 -0.625 -0.625 0.25 -1 -1 1 -0.25 -0.25 1 "
                 "-0.25 -0.25 1 -0.25 -0.25 2.5"},
    };
    OP_TEST_VALUES(cases);
}

// ---- Ties, types, sizes and errors ----

#define POOL2 "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID"

static void ties_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // Of equal elements the first one, in row-major order, gets the gradient.
        {.op = "MaxPoolGrad",
         .attrs = POOL2,
         .inputs = "float[1,2,2,1] 1 2 2 2; float[1,1,1,1] 2; float[1,1,1,1] 5",
         .want = "float[1,2,2,1] 0 5 0 0"},
        {.op = "MaxPoolGrad",
         .attrs = POOL2,
         .inputs = "float[1,2,2,1] 0; float[1,1,1,1] 0; float[1,1,1,1] 5",
         .want = "float[1,2,2,1] 5 0 0 0"},
        {.op = "MaxPoolGrad",
         .attrs = POOL2,
         .inputs = "double[1,2,2,1] 1 2 2 2; double[1,1,1,1] 2; double[1,1,1,1] 5",
         .want = "double[1,2,2,1] 0 5 0 0"},
        {.op = "MaxPoolGradGrad",
         .attrs = POOL2,
         .inputs = "float[1,2,2,1] 1 2 2 2; float[1,1,1,1] 2; float[1,2,2,1] 5 6 7 8",
         .want = "float[1,1,1,1] 6"},
    };
    OP_TEST_VALUES(cases);
}

static void more_values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "MaxPool",
         .attrs = POOL2,
         .inputs = "float[1,2,2,2] -1 -20 -3 -4 -5 -6 -7 -8",
         .want = "float[1,1,1,2] -1 -4"},
        {.op = "MaxPool", .attrs = POOL2, .inputs = "float[0,4,4,3]", .want = "float[0,2,2,3]"},
        {.op = "MaxPool", .attrs = POOL2, .inputs = "double[1,2,2,1] 1 4 3 2", .want = "double[1,1,1,1] 4"},
        {.op = "MaxPoolV2",
         .attrs = "padding=VALID",
         .inputs = "float[1,2,3,1] 1 5 3 4 2 6; int32[4] 1 2 2 1; int32[4] 1 1 1 1",
         .want = "float[1,1,2,1] 5 6"},
        {.op = "MaxPoolGradV2",
         .attrs = "padding=VALID",
         .inputs = "float[1,2,3,1] 1 5 3 4 2 6; float[1,1,2,1] 5 6; float[1,1,2,1] 1 10; int32[4] 1 2 2 1; "
                   "int32[4] 1 1 1 1",
         .want = "float[1,2,3,1] 0 1 0 0 0 10"},
        {.op = "MaxPoolGrad",
         .attrs = POOL2,
         .inputs = "float[0,4,4,3]; float[0,2,2,3]; float[0,2,2,3]",
         .want = "float[0,4,4,3]"},
        {.op = "AvgPoolGrad",
         .attrs = POOL2,
         .inputs = "int32[4] 0 4 4 1; float[0,2,2,1]",
         .want = "float[0,4,4,1]"},
        {.op = "AvgPool", .attrs = POOL2, .inputs = "double[1,2,2,1] 1 4 3 2", .want = "double[1,1,1,1] 2.5"},
    };
    OP_TEST_VALUES(cases);
}

static void narrow_types_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MaxPoolGrad", "ksize=[1,1,2,1]; strides=[1,1,2,1]; padding=VALID",
         "half[1,1,4,1] 0x3c00 0x4200 0xc000 0xc400; half[1,1,2,1] 0x4200 0xc000; half[1,1,2,1] 0x4500 0x4700",
         "half[1,1,4,1] 0x0000 0x4500 0x4700 0x0000"},
        {"MaxPoolGradV2", "padding=VALID",
         "half[1,1,4,1] 0x3c00 0x4200 0xc000 0xc400; half[1,1,2,1] 0x4200 0xc000; half[1,1,2,1] 0x4500 0x4700; int32[4] 1 1 2 1; int32[4] 1 1 2 1",
         "half[1,1,4,1] 0x0000 0x4500 0x4700 0x0000"},
        {"MaxPoolGradGrad", "ksize=[1,1,2,1]; strides=[1,1,2,1]; padding=VALID",
         "half[1,1,4,1] 0x3c00 0x4200 0xc000 0xc400; half[1,1,2,1] 0x4200 0xc000; half[1,1,4,1] 0x3c00 0x4000 0x4200 0x4400",
         "half[1,1,2,1] 0x4000 0x4200"},
        {"MaxPoolGradGrad", "ksize=[1,1,2,1]; strides=[1,1,2,1]; padding=VALID",
         "int16[1,1,4,1] 1 3 -2 -4; int16[1,1,2,1] 3 -2; int16[1,1,4,1] 1 2 3 4", "int16[1,1,2,1] 2 3"},
        {"MaxPoolV2", "padding=VALID",
         "bfloat16[1,1,4,1] 0x3f80 0x4040 0xc000 0xc080; int32[4] 1 1 2 1; int32[4] 1 1 2 1",
         "bfloat16[1,1,2,1] 0x4040 0xc000"},
        {"AvgPool", "ksize=[1,1,2,1]; strides=[1,1,2,1]; padding=VALID",
         "bfloat16[1,1,4,1] 0x3f80 0x4040 0xc000 0xc080", "bfloat16[1,1,2,1] 0x4000 0xc040"},
        {"AvgPoolGrad", "ksize=[1,1,2,1]; strides=[1,1,2,1]; padding=VALID",
         "int32[4] 1 1 4 1; half[1,1,2,1] 0x4500 0x4700", "half[1,1,4,1] 0x4100 0x4100 0x4300 0x4300"},
    };
    OP_TEST_VALUES(cases);
}

static void empty_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"AvgPool", POOL2, "float[0,4,4,3]", "float[0,2,2,3]"},
        {"AvgPool", POOL2, "double[2,4,4,0]", "double[2,2,2,0]"},
        {"AvgPool", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=SAME", "float[2,0,4,3]", "float[2,0,2,3]"},
        {"AvgPoolGrad", POOL2, "int32[4] 2 4 4 0; float[2,2,2,0]", "float[2,4,4,0]"},
        {"MaxPool", POOL2, "int8[2,4,4,0]", "int8[2,2,2,0]"},
        {"MaxPoolV2", "padding=VALID", "float[0,4,4,3]; int32[4] 1 2 2 1; int32[4] 1 2 2 1",
         "float[0,2,2,3]"},
        {"MaxPoolGradV2", "padding=VALID",
         "float[0,4,4,3]; float[0,2,2,3]; float[0,2,2,3]; int32[4] 1 2 2 1; int32[4] 1 2 2 1",
         "float[0,4,4,3]"},
        {"MaxPoolGradGradV2", "padding=VALID",
         "float[0,4,4,3]; float[0,2,2,3]; float[0,4,4,3]; int32[4] 1 2 2 1; int32[4] 1 2 2 1",
         "float[0,2,2,3]"},
        {"MaxPoolGradGrad", POOL2, "float[0,4,4,3]; float[0,2,2,3]; float[0,4,4,3]", "float[0,2,2,3]"},
        // In an empty tensor another size may be large.
        {"AvgPool", POOL2, "double[1000000000,1000000000,2,0]", "double[1000000000,500000000,1,0]"},
        {"MaxPool", POOL2, "float[1000000000,1000000000,2,0]", "float[1000000000,500000000,1,0]"},
        {"AvgPoolGrad", POOL2, "int32[4] 1000000000 1000000000 2 0; double[1000000000,500000000,1,0]",
         "double[1000000000,1000000000,2,0]"},
        // A window larger than the image has no valid position.
        {"MaxPool", "ksize=[1,3,2,1]; strides=[1,1,1,1]; padding=VALID", "float[1,1,4,1] 1",
         "InvalidArgument: Computed output size would be negative"},
        {"MaxPoolGrad", POOL2, "float[1,1,2,1] 1; float[1,0,1,1]; float[1,0,1,1]", "float[1,1,2,1] 0"},
        {"AvgPoolGrad", POOL2, "int32[4] 1 1 2 1; float[1,0,1,1]", "float[1,1,2,1] 0"},
    };
    OP_TEST_VALUES(cases);
}

static void scalars_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"MaxPool", POOL2, "float[] 1", "InvalidArgument: tensor_in must be 4-dimensional"},
        {"AvgPool", POOL2, "float[] 1", "InvalidArgument: tensor_in must be 4-dimensional"},
        {"AvgPoolGrad", POOL2, "int32[] 1; float[1,1,1,1] 1", "InvalidArgument: orig_input_shape"},
        {"AvgPoolGrad", POOL2, "int32[4] 1 2 2 1; float[] 1",
         "InvalidArgument: out_backprop must be 4-dimensional"},
        {"MaxPoolV2", "padding=VALID", "float[1,2,2,1] 1; int32[] 1; int32[4] 1",
         "InvalidArgument: Sliding window ksize field must specify 4 dimensions"},
        {"MaxPoolV2", "padding=VALID", "float[1,2,2,1] 1; int32[4] 1; int32[] 1",
         "InvalidArgument: Sliding window strides field must specify 4 dimensions"},
        {"MaxPoolGrad", POOL2, "float[1,2,2,1] 1; float[1,1,1,1] 1; float[] 1",
         "InvalidArgument: out_backprop must be 4-dimensional"},
        {"MaxPoolGradV2", "padding=VALID",
         "float[1,2,2,1] 1; float[1,1,1,1] 1; float[] 1; int32[4] 1 2 2 1; int32[4] 1 2 2 1",
         "InvalidArgument: out_backprop must be 4-dimensional"},
        {"MaxPoolGradGrad", POOL2, "float[1,2,2,1] 1; float[1,1,1,1] 1; float[] 1",
         "InvalidArgument: out_grad_backprop must be 4-dimensional"},
        {"MaxPoolGradGrad", POOL2, "float[1,2,2,1] 1; float[1,1,1,1] 1; float[1,1,1,1] 1",
         "InvalidArgument: Expected grad shape to be [1,2,2,1], but got [1,1,1,1]"},
        {"MaxPoolGradGradV2", "padding=VALID",
         "float[] 1; float[1,1,1,1] 1; float[1,2,2,1] 1; int32[4] 1 2 2 1; int32[4] 1 2 2 1",
         "InvalidArgument: tensor_in must be 4-dimensional"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "MaxPool",
         .attrs = "ksize=[2,1,1,1]; strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[2,2,2,1] 1",
         .want = "Unimplemented: Pooling is not yet supported on the batch"},
        {.op = "MaxPool",
         .attrs = POOL2,
         .inputs = "float[2,2] 1",
         .want = "InvalidArgument: must be 4-dimensional"},
        {.op = "MaxPoolGrad",
         .attrs = POOL2,
         .inputs = "float[1,2,2,1] 1; float[1,1,1,1] 1; float[1,2,1,1] 1",
         .want = "InvalidArgument: Expected grad shape to be [1,1,1,1], but got [1,2,1,1]"},
        {.op = "MaxPoolGrad",
         .attrs = POOL2,
         .inputs = "float[1,2,2,1] 1; float[1,1,1] 1; float[1,1,1,1] 1",
         .want = "InvalidArgument: tensor_out must be 4-dimensional"},
        {.op = "AvgPoolGrad",
         .attrs = POOL2,
         .inputs = "int32[4] 1 2 2 1; float[1,2,2,1] 1",
         .want = "InvalidArgument: Expected out_backprop shape"},
        {.op = "AvgPoolGrad",
         .attrs = POOL2,
         .inputs = "int32[3] 1 2 2; float[1,1,1,1] 1",
         .want = "InvalidArgument: must be 4-dimensional"},
        {.op = "MaxPoolV2",
         .attrs = "padding=VALID",
         .inputs = "float[1,2,3,1] 1; int32[3] 1 2 2; int32[4] 1 1 1 1",
         .want = "InvalidArgument: Sliding window ksize field must specify 4 dimensions"},
        {.op = "MaxPoolV2",
         .attrs = "padding=VALID",
         .inputs = "float[1,2,3,1] 1; int32[4] 1 2 2 1; int32[4] 1 0 1 1",
         .want = "InvalidArgument: Sliding window strides must be > 0, but got 0"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"MaxPool", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=SAME", "[?,7,28,32]", "[?,4,14,32]"},
        {"MaxPool", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=VALID", "[?,7,?,32]", "[?,3,?,32]"},
        {"MaxPool", "ksize=[1,1,2,2]; strides=[1,1,2,2]; padding=SAME; data_format=NCHW", "[?,3,28,28]",
         "[?,3,14,14]"},
        {"AvgPool", "ksize=[1,3,3,1]; strides=[1,1,1,1]; padding=VALID", "?", "[?,?,?,?]"},
        {"AvgPool", "ksize=[1,3,3,1]; strides=[1,1,1,1]; padding=VALID", "[1,2,2,1]",
         "InvalidArgument: Negative dimension size caused by subtracting 3 from 2"},
        {"AvgPool", "ksize=[1,3,3,1]; strides=[1,1,1,1]; padding=VALID", "[1,2,2]",
         "InvalidArgument: Shape must be rank 4 but is rank 3"},
        {"MaxPool", "ksize=[1,2,2,1,1]; strides=[1,2,2,1]; padding=SAME", "?",
         "InvalidArgument: MaxPool requires the ksize attribute to contain 4 values, but got: 5"},
        {"MaxPoolV2", "padding=SAME", "[1,7,7,2]; int32[4] 1 2 2 1; int32[4] 1 2 2 1", "[1,4,4,2]"},
        {"MaxPoolV2", "padding=SAME", "[1,7,7,2]; int32[4]; int32[4]", "[?,?,?,?]"},
        {"MaxPoolGrad", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=SAME", "[?,7,7,2]; ?; ?", "[?,7,7,2]"},
        {"MaxPoolGradGradV2", "padding=SAME", "?; [1,4,4,2]; ?; int32[4]; int32[4]", "[1,4,4,2]"},
        {"AvgPoolGrad", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=SAME", "int32[4] 1 2 3 4; ?",
         "[1,2,3,4]"},
        {"AvgPoolGrad", "ksize=[1,2,2,1]; strides=[1,2,2,1]; padding=SAME", "int32[3] 1 2 3; ?",
         "InvalidArgument: Shape must be rank 4 but is rank 3"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {.op = "MaxPool",
         .attrs = "ksize=[1,2,2,1]; strides=[1,1,2,1]; padding=SAME",
         .inputs = "double[1,3,3,2] 1 -2 3 0.5 1.5 -1 2 0.25 1.25 1.75 -3 2.5 4 5 6 7 8 9"},
        {.op = "MaxPoolV2",
         .attrs = "padding=VALID",
         .inputs = "double[1,3,3,1] 1 -2 3 0.5 1.5 -1 2 0.25 1.25; int32[4] 1 2 2 1; int32[4] 1 1 1 1"},
        {.op = "AvgPool",
         .attrs = "ksize=[1,2,3,1]; strides=[1,2,1,1]; padding=SAME",
         .inputs = "double[1,3,3,2] 1 -2 3 0.5 1.5 -1 2 0.25 1.25 1.75 -3 2.5 4 5 6 7 8 9"},
        {.op = "MaxPoolGrad",
         .attrs = "ksize=[1,2,2,1]; strides=[1,1,1,1]; padding=VALID",
         .inputs = "double[1,2,3,1] 1 5 3 4 2 6; double[1,1,2,1] 5 6; double[1,1,2,1] 1 10"},
        {.op = "MaxPoolGradV2",
         .attrs = "padding=VALID",
         .inputs =
             "double[1,2,3,1] 1 5 3 4 2 6; double[1,1,2,1] 5 6; double[1,1,2,1] 1 10; int32[4] 1 2 2 1; int32[4] 1 1 1 1"},
        {.op = "AvgPoolGrad", .attrs = POOL2, .inputs = "int32[4] 1 4 2 1; double[1,2,1,1] 1 10"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(max_valid_follows_its_definition),
        cmocka_unit_test(max_same_follows_its_definition),
        cmocka_unit_test(max_channels_first_follows_its_definition),
        cmocka_unit_test(max_of_integers_follow_the_definition),
        cmocka_unit_test(explicit_padding_follows_its_definition),
        cmocka_unit_test(empty_follows_its_definition),
        cmocka_unit_test(scalars_follow_the_definition),
        cmocka_unit_test(mean),
        cmocka_unit_test(ties_follow_the_definition),
        cmocka_unit_test(more_values_follow_the_definition),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(narrow_types_follow_the_definition),
    };
    return BD_RUN_TESTS(tests);
}

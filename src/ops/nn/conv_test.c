// Tests of the values and shapes of Conv2D and its gradient ops.
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

// ---- Values, computed with PyTorch 1.13 (torch.nn.functional.conv2d and its autograd, in double) ----

// A convolution and both its gradients; float tensors as text.
typedef struct conv_case {
    const char *attrs;
    const char *input, *filter, *output;
    const char *grad; // the gradient of the output
    const char *input_grad, *filter_grad;
} conv_case;

// Runs one of the three ops on two or three inputs.
static void expect(const char *op, const conv_case *c, const char *a, const char *b, const char *last,
                   const char *want)
{
    bd_strbuf inputs = {0};
    bd_strbuf_appendf(&inputs, "%s; %s", a, b);
    if (last) bd_strbuf_appendf(&inputs, "; %s", last);
    op_case row = {.op = op, .attrs = c->attrs, .inputs = inputs.data, .want = want};
    op_test_values(&row, 1);
    bd_strbuf_fini(&inputs);
}

// Converts "float[1,3,3,1] ..." to "int32[4] 1 3 3 1".
static const char *sizes_of(const char *tensor, bd_strbuf *text)
{
    bd_strbuf_append(text, "int32[4] ");
    for (const char *p = strchr(tensor, '[') + 1; *p != ']'; p++)
        bd_strbuf_append_char(text, *p == ',' ? ' ' : *p);
    return text->data;
}

static void test_convolutions(const conv_case *cases, size_t count)
{
    for (const conv_case *c = cases; c < cases + count; c++) {
        bd_strbuf input_sizes = {0}, filter_sizes = {0};
        expect("Conv2D", c, c->input, c->filter, NULL, c->output);
        expect("Conv2DBackpropInput", c, sizes_of(c->input, &input_sizes), c->filter, c->grad, c->input_grad);
        expect("Conv2DBackpropFilter", c, c->input, sizes_of(c->filter, &filter_sizes), c->grad,
               c->filter_grad);
        bd_strbuf_fini(&input_sizes);
        bd_strbuf_fini(&filter_sizes);
    }
}
#define CONV_TEST(cases) test_convolutions(cases, BD_COUNTOF(cases))

static void padding_follows_the_definition(void **state)
{
    (void)state;
    static const conv_case cases[] = {
        {.attrs = "strides=[1,1,1,1]; padding=VALID",
         .input = "float[1,3,3,1] -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 -1",
         .filter = "float[2,2,1,1] -2.5 0 2.5 -0.5",
         .output = "float[1,2,2,1] 6.125 -0.25 -0.625 -0.125",
         .grad = "float[1,2,2,1] -2.5 -1 0.5 2",
         .input_grad = "float[1,3,3,1] 6.25 2.5 0 -7.5 -6.25 0.5 1.25 4.75 -1",
         .filter_grad = "float[2,2,1,1] 3.75 -2.125 -2.875 -1.875"},
        {.attrs = "strides=[1,1,1,1]; padding=SAME",
         .input = "float[1,3,3,1] -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 -1",
         .filter = "float[2,2,1,1] -2.5 0 2.5 -0.5",
         .output = "float[1,3,3,1] 6.125 -0.25 -0.625 -0.625 -0.125 -0.625 -2.5 0 2.5",
         .grad = "float[1,3,3,1] -2.5 -1 0.5 2 -2 -0.5 1 2.5 -1.5",
         .input_grad = "float[1,3,3,1] 6.25 2.5 -1.25 -11.25 3.75 3 2.5 -12.25 3.5",
         .filter_grad = "float[2,2,1,1] 7.25 -1.25 -1.25 2.125"},
        {.attrs = "strides=[1,2,2,1]; padding=EXPLICIT; explicit_paddings=[0,0,1,0,0,1,0,0]",
         .input = "float[1,3,3,1] -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 -1",
         .filter = "float[2,2,1,1] -2.5 0 2.5 -0.5",
         .output = "float[1,2,2,1] -3.375 -1.25 -0.625 -0.625",
         .grad = "float[1,2,2,1] -2.5 -1 0.5 2",
         .input_grad = "float[1,3,3,1] -6.25 1.25 -2.5 -1.25 0 -5 1.25 -0.25 5",
         .filter_grad = "float[2,2,1,1] -0.875 0.125 2.125 -1.25"},
    };
    CONV_TEST(cases);
}

static void strides_follow_the_definition(void **state)
{
    (void)state;
    static const conv_case cases[] = {
        {.attrs = "strides=[1,2,1,1]; padding=SAME",
         .input = "float[2,3,3,2] -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 -1 0.75 -0.25 -1.25 0.5 "
                  "-0.5 1.25 0.25 -0.75 1 0 -1 0.75 -0.25 -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 "
                  "-1 0.75 -0.25 -1.25 0.5 -0.5",
         .filter = "float[2,3,2,3] -2.5 0 2.5 -0.5 2 -1 1.5 -1.5 1 -2 0.5 -2.5 0 2.5 -0.5 2 "
                   "-1 1.5 -1.5 1 -2 0.5 -2.5 0 2.5 -0.5 2 -1 1.5 -1.5 1 -2 0.5 -2.5 0 2.5",
         .output = "float[2,2,3,3] -0.75 1.125 3 -3.75 6.875 -16.875 5 -2.875 3 2.25 1.875 "
                   "1.5 2.375 -5.625 4.25 -6.375 2.125 -0.375 1.125 3.25 -2.875 6.875 -13.75 "
                   "6.875 -2.875 3.25 1.125 -5.5 2.5 -4.625 3.25 3 -1.375 3 -3.5 2.375",
         .grad = "float[2,2,3,3] -2.5 -1 0.5 2 -2 -0.5 1 2.5 -1.5 0 1.5 -2.5 -1 0.5 2 -2 -0.5 "
                 "1 2.5 -1.5 0 1.5 -2.5 -1 0.5 2 -2 -0.5 1 2.5 -1.5 0 1.5 -2.5 -1 0.5",
         .input_grad = "float[2,3,3,2] -8 -1.25 -3.5 -1 -8.5 8.25 -8.75 6.25 8.75 -2.5 4 "
                       "-1.25 2.75 6.5 12.25 -9 -1 1.75 -0.25 -10.5 -5 10.5 -10 9 4.25 2.25 "
                       "13.75 -14.75 2.25 -0.75 7.75 -5.5 8 -0.25 -2.5 2.5",
         .filter_grad = "float[2,3,2,3] -3.5 2.625 0.5 2.625 5 -0.875 2.75 -1.25 -1.125 "
                        "-1.625 -1.625 2.5 1.875 3.25 -3.625 -4.125 -1 -2 0.375 -2.75 1 2.25 "
                        "-2.75 -0.875 -5.125 2.5 -0.875 2.25 -4.625 2.25 4.125 -1.375 -1.375 "
                        "-6.25 2.875 1"},
        {.attrs = "strides=[1,1,2,1]; padding=VALID",
         .input = "float[1,2,3,2] -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 -1 0.75 -0.25 -1.25",
         .filter = "float[1,1,2,2] -2.5 0 2.5 -0.5",
         .output = "float[1,2,2,2] 4.375 -0.25 -2.5 0.375 -2.5 0 -2.5 0.625",
         .grad = "float[1,2,2,2] -2.5 -1 0.5 2 -2 -0.5 1 2.5",
         .input_grad = "float[1,2,3,2] 6.25 -5.75 0 0 -1.25 0.25 5 -4.75 0 0 -2.5 1.25",
         .filter_grad = "float[1,1,2,2] 1 0.625 -2.875 -5.125"},
    };
    CONV_TEST(cases);
}

static void dilations_follow_the_definition(void **state)
{
    (void)state;
    static const conv_case cases[] = {
        {.attrs = "strides=[1,1,1,1]; padding=VALID; dilations=[1,2,2,1]",
         .input = "float[1,5,5,1] -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 -1 0.75 -0.25 -1.25 0.5 "
                  "-0.5 1.25 0.25 -0.75 1 0 -1 0.75 -0.25 -1.25 0.5 -0.5",
         .filter = "float[2,2,1,1] -2.5 0 2.5 -0.5",
         .output = "float[1,3,3,1] 2.25 -4.125 1.875 2 -4.375 3 3.125 2.25 -4.125",
         .grad = "float[1,3,3,1] -2.5 -1 0.5 2 -2 -0.5 1 2.5 -1.5",
         .input_grad = "float[1,5,5,1] 6.25 2.5 -1.25 0 0 -5 5 1.25 0 0 -8.75 -8.75 6.25 0.5 "
                       "-0.25 5 -5 -2.25 1 0.25 2.5 6.25 -4.25 -1.25 0.75",
         .filter_grad = "float[2,2,1,1] -5.25 -0.875 5.625 3.125"},
    };
    CONV_TEST(cases);
}

static void the_channels_may_come_first(void **state)
{
    (void)state;
    static const conv_case cases[] = {
        {.attrs = "strides=[1,1,1,1]; padding=SAME; data_format=NCHW",
         .input = "float[1,2,3,3] -1.25 -0.5 0.25 1 -1 -0.25 0.5 1.25 -0.75 0.5 1.25 -0.75 0 "
                  "0.75 -1.25 -0.5 0.25 1",
         .filter = "float[2,2,2,2] -2.5 0 2.5 -0.5 2 -1 1.5 -1.5 1 -2 0.5 -2.5 0 2.5 -0.5 2",
         .output = "float[1,2,3,3] 5.875 3.75 -3.375 -3.25 2.875 -2.75 0.375 -2.5 4.375 "
                   "-4.625 -2.75 4 3.75 -1.25 -0.375 -1.375 -0.875 -0.5",
         .grad = "float[1,2,3,3] -2.5 0.5 -2 1 -1.5 1.5 -1 2 -0.5 -1 2 -0.5 2.5 0 -2.5 0.5 -2 "
                 "1",
         .input_grad = "float[1,2,3,3] 6.25 -5.25 4 -3 -2.75 -2.75 -1.5 -2.75 13.75 -5.75 -2 "
                       "-7 2.5 -11.5 6.75 -8.5 7.5 12",
         .filter_grad = "float[2,2,2,2] 6.875 0.25 -1.625 5.75 -2 0.625 0.875 -2.75 -5 0.25 "
                        "3.5 -1.625 4.75 3.625 -3.75 -2.625"},
    };
    CONV_TEST(cases);
}

static void numbers_of_channels_may_be_odd(void **state)
{
    (void)state;
    static const conv_case cases[] = {
        {.attrs = "strides=[1,1,1,1]; padding=SAME",
         .input = "float[1,2,3,5] -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0 -1 0.75 -0.25 -1.25 0.5 "
                  "-0.5 1.25 0.25 -0.75 1 0 -1 0.75 -0.25 -1.25 0.5 -0.5 1.25 0.25 -0.75 1 0",
         .filter = "float[2,2,5,2] -2.5 0 2.5 -0.5 2 -1 1.5 -1.5 1 -2 0.5 -2.5 0 2.5 -0.5 2 "
                   "-1 1.5 -1.5 1 -2 0.5 -2.5 0 2.5 -0.5 2 -1 1.5 -1.5 1 -2 0.5 -2.5 0 2.5 "
                   "-0.5 2 -1 1.5",
         .output = "float[1,2,3,2] 8.25 -1.125 -1 -3.25 -4 -1.625 -0.25 -3.375 -4.75 -0.875 "
                   "-2.5 -0.875",
         .grad = "float[1,2,3,2] -2.5 -1 0.5 2 -2 -0.5 1 2.5 -1.5 0 1.5 -2.5",
         .input_grad = "float[1,2,3,5] 6.25 -5.75 -4 -2.25 -0.5 0 -2.25 -1.75 -1.25 -0.75 "
                       "0.25 0.25 0.25 0.25 0.25 2 7.5 -6.25 -6.25 -6.25 -2.5 2.5 -0.75 -1.25 "
                       "-1.75 -4.25 5.25 6.5 7.75 9",
         .filter_grad = "float[2,2,5,2] 4.25 -2.625 1.75 -0.375 2 4.625 -1.875 -5.5 -3 -1.875 "
                        "0.625 2.125 -3.75 -4.125 0.125 -2.125 1.25 1.25 -1.75 0.5 -2.75 "
                        "0.625 1.25 0.125 -1.625 -3.125 -1.75 0.5 2.25 0 -1.25 1.75 0.75 0.75 "
                        "2.75 -0.25 -0.75 1.5 1.25 0.5"},
    };
    CONV_TEST(cases);
}

// Values computed with numpy from the definition.
static void groups_follow_the_definition(void **state)
{
    (void)state;
    static const conv_case cases[] = {
        {.attrs = "strides=[1,1,1,1]; padding=VALID",
         .input = "float[1,3,3,4] -1.25 1.5 1.75 -0.5 2 0.25 0 -1 -0.25 2 2 -0.25 1 1.75 -0.25 "
                  "2 1 1.25 0.75 -1.75 1.75 0.25 0.5 0.25 0.25 -1.75 -0.25 2 1.5 -0.75 -2 2 -1 "
                  "1.5 -1 0.25",
         .filter = "float[2,2,2,2] -1.5 -1 -0.5 0.25 -0.25 -1 1 1.25 0.75 0.75 -1.25 -1.75 -1.25 "
                   "1.5 -1.75 -0.25",
         .output = "float[1,2,2,2] -4 -5.25 -4.5 1.75 0.4375 -9.375 -1.625 -7.9375",
         .grad = "float[1,2,2,2] 2 1.5 0.25 -0.5 1.75 2 -0.75 -1.5",
         .input_grad = "float[1,3,3,4] -3 -1 -1.5 0.375 -0.875 1.875 -1 1.75 -0.0625 0.25 0.5 -0.625 "
                       "-1.125 -3.375 -0.875 -2.125 -1.625 -1.6875 1.375 2.625 -0.125 -1.1875 0.75 "
                       "-1.75 1.3125 -2.1875 1.5 -3.5 -2.75 -2.125 1.875 2.125 0.9375 1.3125 -2.25 "
                       "0.375",
         .filter_grad = "float[2,2,2,2] -1 1 5.1875 6.375 4.375 -0.25 3 -5.25 1.5625 1.75 1.3125 "
                        "4.875 5.8125 -1.625 0.125 0.875"},
        {.attrs = "strides=[1,2,2,1]; padding=SAME",
         .input = "float[1,3,3,3] 1.25 1.25 0.75 0 -2 1 1 -0.75 1.5 1.75 -2 -0.25 -0.25 2 -2 0 "
                  "1 -0.75 0.75 -0.75 0.25 -0.75 -1.75 1.75 -0.5 -1.25 1.75",
         .filter = "float[2,2,1,3] 0 -2 1.25 1.75 0.75 -1 -1 0.25 -2 0.5 1.75 -0.5",
         .output = "float[1,2,2,3] -1.875 -1 1.4375 0 1.75 3.375 -1.3125 0.1875 -1.4375 0 2.5 "
                   "2.1875",
         .grad = "float[1,2,2,3] 0.25 1.5 -1.5 -2 0 0 -0.25 1 0 0.5 0 -2",
         .input_grad = "float[1,3,3,3] 0 -3 -1.875 0.4375 1.125 1.5 0 0 0 -0.25 0.375 3 0.125 2.625 "
                       "0.75 2 0 0 0 -2 0 -0.4375 0.75 0 0 0 -2.5",
         .filter_grad = "float[2,2,1,3] -2.125 1.125 -4.625 0.1875 -4.75 -1.5 0.4375 -3 0.375 -0.0625 "
                        "3 3"},
    };
    CONV_TEST(cases);
}

// ---- Other types, sizes and errors ----

static void double_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Conv2D",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "double[1,2,2,1] 1 2 3 4; double[2,2,1,2] 1 10 2 20 3 30 4 40",
         .want = "double[1,1,1,2] 30 300"},
        {.op = "Conv2DBackpropInput",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "int32[4] 1 2 2 1; double[2,2,1,2] 1 10 2 20 3 30 4 40; double[1,1,1,2] 1 2",
         .want = "double[1,2,2,1] 21 42 63 84"},
        {.op = "Conv2DBackpropFilter",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "double[1,2,2,1] 1 2 3 4; int32[4] 2 2 1 2; double[1,1,1,2] 1 2",
         .want = "double[2,2,1,2] 1 2 2 4 3 6 4 8"},
    };
    OP_TEST_VALUES(cases);
}

// Values computed with numpy from the definition.
static void filters_may_be_larger_than_the_image(void **state)
{
    (void)state;
    static const conv_case cases[] = {
        {.attrs = "strides=[1,1,1,1]; dilations=[1,1,1,1]; padding=SAME",
         .input = "float[1,2,2,1] 0 -1 -1.75 -1.75",
         .filter =
             "float[5,4,1,2] 0.25 0.75 -1.5 0 -2 1.25 0 -0.5 -0.25 -1.5 -1 -1 1.25 -1.75 0.5 1.75 -1 0.5 1.5 -0.25 -1.25 -1.25 -1.25 -0.5 0 -1.75 -0.25 -1 0 -0.75 -0.75 1.75 0.5 -2 2 0.75 1 -1 -1.5 -1",
         .output = "float[1,2,2,2] 1.6875 4.3125 -1.0625 5.0625 -1.6875 4.375 0.125 0.5625",
         .grad = "float[1,2,2,2] 1 -1.5 1 -1.75 -1.25 1.5 -1.5 2",
         .input_grad = "float[1,2,2,1] -2.875 -2.125 4.5625 -0.4375",
         .filter_grad =
             "float[5,4,1,2] 0 0 0 0 0 0 0 0 0 0 1.5 -2 1.25 -1.5 0 0 2.625 -3.5 3.8125 -4.375 1.1875 -1.125 0 0 -1.75 3.0625 -3.5 5.6875 -1.75 2.625 0 0 0 0 0 0 0 0 0 0"},
        {.attrs = "strides=[1,2,1,1]; dilations=[1,3,2,1]; padding=SAME",
         .input =
             "float[2,2,3,2] 0.75 1.75 -2 0.75 0.25 -0.25 1.25 -1.5 1 1.25 0.5 0.5 1 0.75 0.75 -0.5 -1.75 -0.5 0.25 1.5 1.75 1.75 -1.25 -1",
         .filter =
             "float[3,3,2,1] -0.75 -1.75 0.5 1 -1.5 -2 -0.25 -1.75 2 2 1.5 -1.5 -1.5 -1.25 -1.75 0.75 0.5 0.75",
         .output = "float[2,1,3,1] -0.5 4.5 4.3125 3.125 7 -7.1875",
         .grad = "float[2,1,3,1] 2 -2 -1.75 0.75 -0.25 1.25",
         .input_grad =
             "float[2,2,3,2] 0 0 0 0 0 0 4.4375 7.0625 -4 -4 -0.5 -6.5 0 0 0 0 0 0 1.1875 -0.6875 -0.5 -0.5 3.625 1.375",
         .filter_grad = "float[3,3,2,1] 0 0 0 0 0 0 -1.875 4.5 -2.1875 -6.9375 0.0625 0.25 0 0 0 0 0 0"},
        {.attrs = "strides=[1,1,1,2]; dilations=[1,1,1,1]; padding=SAME; data_format=NCHW",
         .input = "float[1,2,2,2] 1.5 -1.75 -0.5 -0.25 -2 0.25 -0.25 -0.75",
         .filter =
             "float[4,5,2,1] 2 0.25 -1.25 1.25 1.5 -1.75 -1 0.75 0.75 0.75 2 -1.25 1.5 2 -1.25 0.25 -1.75 -1.25 -0.75 1.75 -1.75 1.5 1 -1.5 -1 1.25 1 2 1.75 -1.75 -0.75 -1.25 0.75 0 0.25 0.5 1.5 -1 -0.5 0.75",
         .output = "float[1,1,2,1] -0.3125 -8.5625",
         .grad = "float[1,1,2,1] -2 -1.25",
         .input_grad = "float[1,2,2,2] -1.4375 0.625 -3.875 3.5625 -5.5625 1.6875 0.5 -2.8125",
         .filter_grad =
             "float[4,5,2,1] 0 0 -1.875 2.5 2.1875 -0.3125 0 0 0 0 0 0 -2.375 4.3125 3.8125 0.4375 0 0 0 0 0 0 1 0.5 0.5 1.5 0 0 0 0 0 0 0 0 0 0 0 0 0 0"},
        {.attrs = "strides=[1,3,2,1]; dilations=[1,1,1,1]; padding=SAME",
         .input = "float[1,4,3,1] 1.5 -0.75 0.75 1.25 -1 -1.5 -0.5 0 2 1.25 -0.25 0.25",
         .filter = "float[1,1,1,2] -1 0.25",
         .output = "float[1,2,2,2] -1.5 0.375 -0.75 0.1875 -1.25 0.3125 -0.25 0.0625",
         .grad = "float[1,2,2,2] -1.5 0 -0.25 0.75 1.75 -1.5 -0.25 -1.5",
         .input_grad = "float[1,4,3,1] 1.5 0 0.4375 0 0 0 0 0 0 -2.125 0 -0.125",
         .filter_grad = "float[1,1,1,2] -0.3125 -1.6875"},
    };
    CONV_TEST(cases);
}

static void a_run_without_fetches_and_targets_succeeds(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Conv2D",
         .attrs = "strides=[1,1,1,1]; padding=SAME",
         .inputs = "float[0,4,4,2]; float[3,3,2,5] 1",
         .want = "float[0,4,4,5]"},
        {.op = "Conv2D",
         .attrs = "strides=[1,1,1,1]; padding=SAME",
         .inputs = "float[1,2,2,0]; float[3,3,0,1]",
         .want = "float[1,2,2,1] 0"},
        {.op = "Conv2DBackpropInput",
         .attrs = "strides=[1,1,1,1]; padding=SAME",
         .inputs = "int32[4] 0 4 4 2; float[3,3,2,5] 1; float[0,4,4,5]",
         .want = "float[0,4,4,2]"},
        {.op = "Conv2DBackpropFilter",
         .attrs = "strides=[1,1,1,1]; padding=SAME",
         .inputs = "float[0,4,4,1]; int32[4] 1 2 1 1; float[0,4,4,1]",
         .want = "float[1,2,1,1] 0"},
    };
    OP_TEST_VALUES(cases);
}

// Values computed by hand.
static void half_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Conv2D",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "half[1,1,2,1] 0x4000 0x4200; half[1,1,1,2] 0x4400 0xbc00",
         .want = "half[1,1,2,2] 0x4800 0xc000 0x4a00 0xc200"},
        {.op = "Conv2DBackpropInput",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "int32[4] 1 1 2 1; half[1,1,1,2] 0x4400 0xbc00; half[1,1,2,2] 0x3c00 0x4000 0x4200 0x4400",
         .want = "half[1,1,2,1] 0x4000 0x4800"},
        {.op = "Conv2DBackpropFilter",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "half[1,1,2,1] 0x4000 0x4200; int32[4] 1 1 1 2; half[1,1,2,2] 0x3c00 0x4000 0x4200 0x4400",
         .want = "half[1,1,1,2] 0x4980 0x4c00"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "Conv2D",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[1,2,2,2] 1; float[1,1,3,1] 1",
         .want = "InvalidArgument: input depth must be evenly divisible by filter depth: 2 vs 3"},
        {.op = "Conv2D",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[1,2,2,2] 1; float[1,1,0,1]",
         .want = "InvalidArgument: input depth must be evenly divisible by filter depth: 2 vs 0"},
        {.op = "Conv2D",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[1,2,2,4] 1; float[1,1,2,3] 1",
         .want = "InvalidArgument: output depth must be evenly divisible by number of groups: 3 vs 2"},
        {.op = "Conv2D",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[2,2] 1; float[1,1,3,1] 1",
         .want = "InvalidArgument: input must be 4-dimensional: [2,2]"},
        {.op = "Conv2D",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[1,2,2,1] 1; float[9,1,1,1] 1",
         .want = "InvalidArgument: Computed output size would be negative: -6 [input_size: 2, "
                 "effective_filter_size: 9, stride: 1]"},
        {.op = "Conv2D",
         .attrs = "strides=[2,1,1,1]; padding=VALID",
         .inputs = "float[1,2,2,1] 1; float[1,1,1,1] 1",
         .want = "InvalidArgument: does not yet support strides in the batch and depth dimensions."},
        {.op = "Conv2D",
         .attrs = "strides=[1,1,1,1]; padding=EXPLICIT; explicit_paddings=[0,0,1,0,0,1,1,0]",
         .inputs = "float[1,2,2,1] 1; float[1,1,1,1] 1",
         .want =
             "InvalidArgument: Nonzero explicit padding in the batch or depth dimensions is not supported"},
        {.op = "Conv2D",
         .attrs = "strides=[1,1,1,1]; padding=VALID; dilations=[1,1,1,2]",
         .inputs = "float[1,2,2,1] 1; float[1,1,1,1] 1",
         .want = "InvalidArgument: does not yet support dilations in the batch and depth dimensions."},
        {.op = "Conv2DBackpropInput",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "int32[4] 1 3 3 1; float[2,2,1,1] 1; float[1,3,2,1] 1",
         .want =
             "InvalidArgument: Conv2DBackpropInput: Size of out_backprop doesn't match computed: actual = "
             "[1,3,2,1], computed = [1,2,2,1]"},
        {.op = "Conv2DBackpropFilter",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[1,3,3,1] 1; int32[4] 2 2 1 1; float[2,2,2,1] 1",
         .want = "InvalidArgument: Conv2DBackpropFilter: Size of out_backprop doesn't match computed"},
        {.op = "Conv2DBackpropInput",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "int32[1,4] 1 3 3 1; float[2,2,1,1] 1; float[1,2,2,1] 1",
         .want = "InvalidArgument: input_sizes must be a vector"},
        {.op = "Conv2DBackpropInput",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "int32[4] 1 -3 3 1; float[2,2,1,1] 1; float[1,2,2,1] 1",
         .want = "InvalidArgument: must be >= 0"},
        {.op = "Conv2DBackpropInput",
         .attrs = "strides=[1,1,1,1]; padding=SAME",
         .inputs = "int32[4] 2147483647 2147483647 2147483647 1; float[2,2,1,1] 1; float[1,2,2,1] 1",
         .want = "InvalidArgument: "},
        {.op = "Conv2D",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[] 1; float[1,1,1,1] 1",
         .want = "InvalidArgument: input must be 4-dimensional: []"},
        {.op = "Conv2D",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[1,1,1,1] 1; float[] 1",
         .want = "InvalidArgument: filter must be 4-dimensional: []"},
        {.op = "Conv2DBackpropInput",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "int32[] 4; float[1,1,1,1] 1; float[1,1,1,1] 1",
         .want = "InvalidArgument: input_sizes must be"},
        {.op = "Conv2DBackpropInput",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "int32[4] 1; float[1,1,1,1] 1; float[] 1",
         .want = "InvalidArgument: out_backprop must be 4-dimensional"},
        {.op = "Conv2DBackpropFilter",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[1,1,1,1] 1; int32[] 4; float[1,1,1,1] 1",
         .want = "InvalidArgument: filter_sizes must be"},
        {.op = "Conv2DBackpropFilter",
         .attrs = "strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[] 1; int32[4] 1; float[1,1,1,1] 1",
         .want = "InvalidArgument: input must be 4-dimensional"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"Conv2D", "strides=[1,1,1,1]; padding=SAME", "[?,28,28,1]; [5,5,1,32]", "[?,28,28,32]"},
        {"Conv2D", "strides=[1,2,3,1]; padding=SAME", "[8,7,7,1]; [5,5,1,32]", "[8,4,3,32]"},
        {"Conv2D", "strides=[1,2,3,1]; padding=VALID", "[8,7,?,1]; [5,5,1,?]", "[8,2,?,?]"},
        {"Conv2D", "strides=[1,1,1,1]; padding=VALID; dilations=[1,2,2,1]", "[8,7,7,1]; [3,3,1,2]",
         "[8,3,3,2]"},
        {"Conv2D", "strides=[1,1,1,1]; padding=SAME; data_format=NCHW", "[?,1,28,28]; [5,5,1,32]",
         "[?,32,28,28]"},
        {"Conv2D", "strides=[1,1,1,1]; padding=SAME", "?; ?", "[?,?,?,?]"},
        {"Conv2D", "strides=[1,1,1,1]; padding=EXPLICIT; explicit_paddings=[0,0,1,0,0,2,0,0]",
         "[1,4,4,1]; [2,2,1,1]", "[1,4,5,1]"},
        {"Conv2D", "strides=[1,1,1,1]; padding=VALID", "[1,2,2,1]; [3,3,1,1]",
         "InvalidArgument: Negative dimension size caused by subtracting 3 from 2 for 'Conv2D' (op: 'Conv2D') with "
         "input shapes: [1,2,2,1], [3,3,1,1]."},
        {"Conv2D", "strides=[1,1,1,1]; padding=VALID", "[1,2,2]; [3,3,1,1]",
         "InvalidArgument: Shape must be rank 4 but is rank 3"},
        {"Conv2D", "strides=[1,1,1,1]; padding=VALID", "[1,2,2,3]; [3,3,4,1]",
         "InvalidArgument: Depth of input (3) is not a multiple of input depth of filter (4)"},
        {"Conv2D", "strides=[1,1,1,1]; padding=VALID", "[1,4,4,4]; [3,3,2,6]", "[1,2,2,6]"},
        {"Conv2D", "strides=[1,1,1,1]; padding=VALID", "[1,4,4,4]; [3,3,2,5]",
         "InvalidArgument: Depth of output (5) is not a multiple of the number of groups (2)"},
        {"Conv2D", "strides=[1,1,1,1]; padding=VALID", "[1,4,4,4]; [3,3,0,5]",
         "InvalidArgument: Depth of filter must not be 0"},
        {"Conv2D", "strides=[1,1,1]; padding=VALID", "?; ?",
         "InvalidArgument: Conv2D requires the stride attribute to contain 4 values, but got: 3"},
        {"Conv2D", "strides=[1,0,1,1]; padding=VALID", "?; ?",
         "InvalidArgument: Stride must be > 0, but got 0"},
        {"Conv2D", "strides=[1,4294967296,1,1]; padding=VALID", "?; ?",
         "InvalidArgument: out of range for an int32"},
        {"Conv2D", "strides=[1,1,1,1]; padding=SAME; explicit_paddings=[0,0,1,1,1,1,0,0]", "?; ?",
         "InvalidArgument: explicit_paddings attribute must be empty"},
        {"Conv2DBackpropInput", "strides=[1,1,1,1]; padding=SAME", "int32[4] 1 2 3 4; ?; ?", "[1,2,3,4]"},
        {"Conv2DBackpropInput", "strides=[1,1,1,1]; padding=SAME", "int32[4]; ?; ?", "[?,?,?,?]"},
        {"Conv2DBackpropInput", "strides=[1,1,1,1]; padding=SAME", "int32[3] 1 2 3; ?; ?",
         "InvalidArgument: Shape must be rank 4 but is rank 3"},
        {"Conv2DBackpropFilter", "strides=[1,1,1,1]; padding=SAME", "?; int32[4] 5 5 1 32; ?", "[5,5,1,32]"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(padding_follows_the_definition),
        cmocka_unit_test(strides_follow_the_definition),
        cmocka_unit_test(dilations_follow_the_definition),
        cmocka_unit_test(the_channels_may_come_first),
        cmocka_unit_test(numbers_of_channels_may_be_odd),
        cmocka_unit_test(groups_follow_the_definition),
        cmocka_unit_test(double_follows_its_definition),
        cmocka_unit_test(a_run_without_fetches_and_targets_succeeds),
        cmocka_unit_test(filters_may_be_larger_than_the_image),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(half_follows_its_definition),
    };
    return BD_RUN_TESTS(tests);
}

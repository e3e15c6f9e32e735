// Tests of FusedPadConv2D and FusedResizeAndPadConv2D. Values were computed with numpy, which resized, padded
// and convolved in separate steps.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define IMAGE(T) T "[2,2,3,1] 1 -2 3 0 5 2 -1 4 2 0 1 3"
#define FILTER(T) T "[2,2,1,2] 1 2 -1 0.5 3 0 2 -2"
#define NO_PADDING "int32[4,2] 0"
#define ATTRS(MODE, STEP, PADDING) "mode=" MODE "; strides=[1," STEP "," STEP ",1]; padding=" PADDING

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"FusedResizeAndPadConv2D", ATTRS("REFLECT", "1", "SAME"),
         "float[1,3,4,1] 1 2 3 4 5 6 7 8 9 10 11 12; int32[2] 3 4; " NO_PADDING
         "; float[3,3,1,1] 1 4 7 2 5 8 3 6 9",
         "float[1,3,4,1] 105 150 183 95 235 312 357 178 187 234 261 121"},
        {"FusedPadConv2D", ATTRS("REFLECT", "1", "VALID"),
         IMAGE("float") "; int32[4,2] 0 0 1 0 1 2 0 0; " FILTER("float"),
         "float[2,2,5,2] 1 8 -6 6.5 3 5 2 10.5 1 8 12 -3.5 13 -9 14 -6.5 21 -5 12 -3.5 11 4 4 -7.5 14 -0.5 16 "
         "-1.5 11 4 8 7.5 -3 -2 11 3 9 4 8 7.5"},
        {"FusedPadConv2D", ATTRS("SYMMETRIC", "2", "SAME"),
         IMAGE("double") "; int32[4,2] 0 0 2 1 0 3 0 0; " FILTER("double"),
         "double[2,3,3,2] -6 6.5 15 -1 1 8 13 -9 10 3.5 12 -3.5 -5 2.5 0 5 5 10 4 -7.5 10 3.5 11 4 -3 -2 15 -1 "
         "8 7.5 -1 0.5 0 7.5 1 2"},
        {"FusedResizeAndPadConv2D", ATTRS("REFLECT", "2", "VALID"),
         IMAGE("float") "; int32[2] 4 2; int32[4,2] 0 0 1 0 0 1 0 0; " FILTER("float"),
         "float[2,2,1,2] 2.5 1 5.5 -5 0 -5.75 1 -3.75"},
        {"FusedResizeAndPadConv2D", ATTRS("SYMMETRIC", "2", "SAME") "; resize_align_corners=true",
         IMAGE("double") "; int32[2] 3 5; int32[4,2] 0 0 0 2 1 0 0 0; " FILTER("double"),
         "double[2,3,3,2] 2.5 1.5 7.5 -5 8.5 -2.5 0 0 15 -2.5 16 4 0 1.25 -0.5 2.75 -0.5 5.25 -2.5 -1.5 5.5 0 "
         "13.5 2 0 0 3 -0.5 11 -0.5 0 -1.25 -1.5 3.25 0 6.25"},
        {"FusedPadConv2D", ATTRS("REFLECT", "1", "SAME"), IMAGE("float") "; " NO_PADDING "; float[0,2,1,1]",
         "*"},
        {"FusedPadConv2D", ATTRS("REFLECT", "1", "VALID"),
         "half[1,1,1,1] 0x4000; " NO_PADDING "; half[1,1,1,1] 0x4000", "half[1,1,1,1] 0x4400"},
    };
    OP_TEST_VALUES(cases);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    static const char valid[] = ATTRS("REFLECT", "1", "VALID");
    static const op_case cases[] = {
        {"FusedPadConv2D", valid, "float[0,2,3,1]; " NO_PADDING "; " FILTER("float"),
         "InvalidArgument: Input tensor can't be empty"},
        {"FusedPadConv2D", valid, "float[2,3,1] 1; " NO_PADDING "; " FILTER("float"),
         "InvalidArgument: input must be 4-dimensional"},
        {"FusedPadConv2D", valid, IMAGE("float") "; int32[3,2] 0; " FILTER("float"),
         "InvalidArgument: paddings must be a matrix with 2 columns"},
        {"FusedPadConv2D", valid, IMAGE("float") "; int32[4,2] 0 0 -1 0 0 0 0 0; " FILTER("float"),
         "InvalidArgument: paddings must be non-negative: -1 0"},
        {"FusedPadConv2D", valid, IMAGE("float") "; int32[4,2] 0 0 2 0 0 0 0 0; " FILTER("float"),
         "InvalidArgument: paddings must be less than the dimension size: 2, 0 for 2"},
        {"FusedPadConv2D", ATTRS("SYMMETRIC", "1", "VALID"),
         IMAGE("float") "; int32[4,2] 0 0 3 0 0 0 0 0; " FILTER("float"),
         "InvalidArgument: paddings must be no greater than the dimension size: 3, 0 for 2"},
        {"FusedPadConv2D", valid, IMAGE("float") "; int32[4,2] 1 0 0 0 0 0 0 0; " FILTER("float"),
         "InvalidArgument: Fused mirror padding only support spatial padding, not batches"},
        {"FusedPadConv2D", ATTRS("SYMMETRIC", "1", "VALID"),
         IMAGE("float") "; int32[4,2] 0 0 0 0 0 0 0 1; " FILTER("float"),
         "InvalidArgument: Fused mirror padding only support spatial padding, not channels"},
        {"FusedPadConv2D", valid, IMAGE("float") "; " NO_PADDING "; float[2,2,2,2] 1",
         "InvalidArgument: input and filter must have the same depth: 1 vs 2"},
        {"FusedPadConv2D", valid, IMAGE("float") "; " NO_PADDING "; float[2,2,1] 1",
         "InvalidArgument: filter must be 4-dimensional"},
        {"FusedPadConv2D", valid, IMAGE("float") "; " NO_PADDING "; float[2,2,1,0]",
         "InvalidArgument: Output tensor can't be empty"},
        {"FusedPadConv2D", valid, IMAGE("float") "; " NO_PADDING "; float[3,2,1,1] 1", "InvalidArgument: "},
        {"FusedPadConv2D", "mode=REFLECT; strides=[2,1,1,1]; padding=VALID",
         IMAGE("float") "; " NO_PADDING "; " FILTER("float"), "InvalidArgument: batch and depth dimensions"},
        {"FusedResizeAndPadConv2D", valid, IMAGE("float") "; int32[2] 0 2; " NO_PADDING "; " FILTER("float"),
         "InvalidArgument: output dimensions must be positive"},
        {"FusedResizeAndPadConv2D", valid,
         IMAGE("float") "; int32[2] 2147483647 2147483647; " NO_PADDING "; " FILTER("float"),
         "ResourceExhausted: "},
        {"FusedResizeAndPadConv2D", valid, IMAGE("float") "; int32[1] 2; " NO_PADDING "; " FILTER("float"),
         "InvalidArgument: shape_t must have two elements"},
        {.op = "FusedPadConv2D",
         .attrs = "mode=REFLECT; strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[] 1; int32[4,2] 0; float[1,1,1,1] 1",
         .want = "InvalidArgument: input must be 4-dimensional"},
        {.op = "FusedPadConv2D",
         .attrs = "mode=REFLECT; strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[1,1,1,1] 1; int32[4,2] 0; float[] 1",
         .want = "InvalidArgument: filter must be 4-dimensional"},
        {.op = "FusedResizeAndPadConv2D",
         .attrs = "mode=REFLECT; strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[1,0,2,1]; int32[2] 2 2; int32[4,2] 0; float[1,1,1,1] 1",
         .want = "InvalidArgument: Input tensor can't be empty"},
        {.op = "FusedResizeAndPadConv2D",
         .attrs = "mode=REFLECT; strides=[1,1,1,1]; padding=VALID",
         .inputs = "float[1,2,2,1] 1; int32[] 2; int32[4,2] 0; float[1,1,1,1] 1",
         .want = "InvalidArgument: shape_t must be 1-dimensional"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const char same[] = ATTRS("REFLECT", "2", "SAME");
    static const op_shape_case cases[] = {
        {"FusedPadConv2D", same, "[2,6,?,1]; int32[4,2] 0 0 1 2 0 0 0 0; [2,2,1,5]", "[2,5,?,5]"},
        {"FusedPadConv2D", same, "[2,6,6,1]; int32[4,2]; [2,2,1,5]", "[?,?,?,5]"},
        {"FusedPadConv2D", same, "?; int32[4,2]; ?", "[?,?,?,?]"},
        {"FusedResizeAndPadConv2D", same, "[2,?,?,1]; int32[2] 6 4; int32[4,2] 0 0 1 2 0 0 0 0; [2,2,1,5]",
         "[2,5,2,5]"},
        {"FusedPadConv2D", same, "[2,6,6,3]; " NO_PADDING "; [2,2,1,5]",
         "InvalidArgument: Dimensions must be equal, but are 3 and 1"},
        {"FusedPadConv2D", same, "[2,6,6]; " NO_PADDING "; [2,2,1,5]", "InvalidArgument: must be rank 4"},
        {"FusedPadConv2D", same, "[2,6,6,1]; int32[4,2] -1; [2,2,1,5]",
         "InvalidArgument: Paddings must be non-negative"},
        {"FusedPadConv2D", same, "[2,6,6,1]; int32[3,2]; [2,2,1,5]",
         "InvalidArgument: Dimension must be 4 but is 3"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(values_follow_the_definition),
                                       cmocka_unit_test(wrong_inputs_are_errors),
                                       cmocka_unit_test(shapes_are_inferred)};
    return BD_RUN_TESTS(tests);
}

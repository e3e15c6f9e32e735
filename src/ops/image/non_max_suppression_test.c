// Tests of non-maximum suppression. Values by its definition in Python: repeatedly the best score.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

// Three groups of boxes that overlap, in the last of them one upside down; one box without area; their
// scores.
#define EIGHT_BOXES                                                                                          \
    "float[8,4] 0 0 1 1 0 0.1 1 1.1 0 -0.1 1 0.9 0 10 1 11 0 10.1 1 11.1 "                                   \
    "0 100 1 101 1 101 0 100.5 2 2 2 3; float[8] 0.9 0.75 0.6 0.95 0.5 0.3 0.31 0.2"

static void suppression_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "NonMaxSuppression", .inputs = EIGHT_BOXES "; int32[] 3", .want = "int32[3] 3 0 6"},
        {.op = "NonMaxSuppression",
         .attrs = "iou_threshold=0.9",
         .inputs = EIGHT_BOXES "; int32[] 30",
         .want = "int32[8] 3 0 1 2 4 6 5 7"},
        {.op = "NonMaxSuppressionV2",
         .inputs = EIGHT_BOXES "; int32[] 30; float[] 0.4",
         .want = "int32[4] 3 0 6 7"},
        {.op = "NonMaxSuppressionV3",
         .inputs = EIGHT_BOXES "; int32[] 30; float[] 0.5; float[] 0.4",
         .want = "int32[2] 3 0"},
        {.op = "NonMaxSuppressionV4",
         .inputs = EIGHT_BOXES "; int32[] 30; float[] 0.5; float[] 0.4",
         .want = "int32[2] 3 0; int32[] 2"},
        {.op = "NonMaxSuppressionV4",
         .attrs = "pad_to_max_output_size=true",
         .inputs = EIGHT_BOXES "; int32[] 5; float[] 0.5; float[] 0.4",
         .want = "int32[5] 3 0 0 0 0; int32[] 2"},
        // Boxes without area do not overlap; of equal scores the first one is selected first.
        {.op = "NonMaxSuppression", .inputs = "float[3,4] 0; float[3] 1; int32[] 2", .want = "int32[2] 0 1"},
        {.op = "NonMaxSuppression",
         .inputs = "float[3,4] 0; float[3] nan 1 -inf; int32[] 3",
         .want = "int32[1] 1"},
    };
    OP_TEST_VALUES(cases);
}

static void soft_suppression_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "NonMaxSuppressionV5",
         .inputs = EIGHT_BOXES "; int32[] 30; float[] 0.5; float[] 0; float[] 0.5",
         .want = "int32[8] 3 0 1 6 4 5 7 2; float[8] 0.95 0.9 0.38400352 0.31 0.25600235 0.23364023 0.2 "
                 "0.19697242; int32[] 8"},
        {.op = "NonMaxSuppressionV5",
         .attrs = "pad_to_max_output_size=true",
         .inputs = EIGHT_BOXES "; int32[] 4; float[] 0.5; float[] 0.3; float[] 0.2",
         .want = "int32[4] 3 0 6 0; float[4] 0.95 0.9 0.31 0; int32[] 3"},
        {.op = "NonMaxSuppressionV5",
         .inputs = EIGHT_BOXES "; int32[] 30; float[] 0.5; float[] 0; float[] 0",
         .want = "int32[5] 3 0 6 5 7; float[5] 0.95 0.9 0.31 0.3 0.2; int32[] 5"},
        {.op = "NonMaxSuppressionV5",
         .inputs = "float[20,4] 0.234375 0.078125 0.6875 0.484375 0.515625 0.546875 0.59375 0.90625 0.703125 "
                   "0.421875 0.203125 0.453125 0.078125 0.578125 0.609375 1 0.53125 0.140625 0.578125 "
                   "0.328125 0.40625 0.734375 0.046875 0.578125 0.921875 0.59375 0.34375 0.671875 0.5 "
                   "0.15625 0.3125 0.59375 0.984375 0.765625 0.71875 0.375 0.96875 0.15625 0.40625 0.1875 "
                   "0.96875 0.8125 0.125 0.875 0.4375 0.0625 0.640625 0.796875 0.59375 0.21875 0.328125 "
                   "0.046875 0.578125 0.6875 0.3125 0.84375 0.140625 0.296875 0.078125 0.078125 0.453125 "
                   "0.421875 0.765625 0.53125 0.40625 0.71875 0.1875 0.4375 0.8125 0.828125 0.40625 0.6875 0 "
                   "0.34375 0.0625 0.515625 0.921875 0.828125 0.4375 0.046875; float[20] 0.926 0.14 0.528 "
                   "0.988 0.68 0.665 0.164 0.23 0.204 0.119 0.657 0.168 0.239 0.975 0.317 0.32 0.453 0.922 "
                   "0.347 0.93; int32[] 10; float[] 0.5; float[] 0.1; float[] 0.3",
         .want = "int32[10] 3 0 13 19 17 4 10 5 2 16; float[10] 0.988 0.926 0.92083563 0.84587448 "
                 "0.73364244 0.67681256 0.62654055 0.60944515 0.52249618 0.35653136; int32[] 10",
         .tolerance = 1e-05},
        // A score that becomes no number is no score.
        {.op = "NonMaxSuppressionV5",
         .inputs =
             "float[2,4] 0 0 inf inf 0 0 inf inf; float[2] 0.5 1; int32[] 2; float[] 0.5; float[] 0; float[] 0.5",
         .want = "int32[1] 1; float[1] 1; int32[] 1"},
    };
    OP_TEST_VALUES(cases);
}

static void suppression_by_overlaps(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "NonMaxSuppressionWithOverlaps",
         .inputs = "float[5,5] 0.875 0.75 0.625 0.375 0.625 0.75 0.375 0.875 0.375 0.375 0.875 0 0.625 0.75 "
                   "0.5 0.5 0.375 0.25 0.75 0 0.5 0.5 0.875 1 0; float[5] 0.5 0.4 0.5 0.3 0.2; int32[] 4; "
                   "float[] 0.5; float[] 0.25",
         .want = "int32[2] 0 3"},
    };
    OP_TEST_VALUES(cases);
}

static void half_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "NonMaxSuppressionV2",
         .inputs =
             "half[2,4] 0x0000 0x0000 0x3c00 0x3c00 0x0000 0x0000 0x3c00 0x3c00; half[2] 0x3800 0x3c00; int32[] 2; "
             "half[] 0x3800",
         .want = "int32[1] 1"},
        {.op = "NonMaxSuppressionV3",
         .inputs =
             "half[3,4] 0x0000 0x0000 0x3c00 0x3c00 0x0000 0x0000 0x3c00 0x3c00 0x4000 0x4000 0x4200 0x4200; half[3] 0x3800 0x3a00 0x3400; int32[] 3; half[] 0x3800; half[] 0x3000",
         .want = "int32[2] 1 2"},
        {.op = "NonMaxSuppressionV3",
         .inputs =
             "half[3,4] 0x0000 0x0000 0x3c00 0x3c00 0x0000 0x0000 0x3c00 0x3c00 0x4000 0x4000 0x4200 0x4200; half[3] 0x3800 0x3a00 0x3400; int32[] 3; float[] 0.5; float[] 0.3",
         .want = "int32[1] 1"},
        {.op = "NonMaxSuppressionV4",
         .attrs = "pad_to_max_output_size=true",
         .inputs =
             "half[3,4] 0x0000 0x0000 0x3c00 0x3c00 0x0000 0x0000 0x3c00 0x3c00 0x4000 0x4000 0x4200 0x4200; half[3] 0x3800 0x3a00 0x3400; int32[] 3; half[] 0x3800; half[] 0x3000",
         .want = "int32[3] 1 2 0; int32[] 2"},
        {.op = "NonMaxSuppressionV5",
         .inputs =
             "half[3,4] 0x0000 0x0000 0x3c00 0x3c00 0x0000 0x0000 0x3c00 0x3c00 0x4000 0x4000 0x4200 0x4200; half[3] 0x3800 0x3a00 0x3400; int32[] 3; half[] 0x3800; half[] 0x3000; half[] 0",
         .want = "int32[2] 1 2; half[2] 0x3a00 0x3400; int32[] 2"},
    };
    OP_TEST_VALUES(cases);
}

static void suppression_of_no_boxes_is_empty(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "NonMaxSuppression", .inputs = "float[0,4]; float[0]; int32[] 3", .want = "int32[0]"},
        {.op = "NonMaxSuppression", .inputs = "float[1,4] 0; float[1] 1; int32[] 0", .want = "int32[0]"},
        {.op = "NonMaxSuppressionV2",
         .inputs = "float[0,4]; float[0]; int32[] 3; float[] 0.5",
         .want = "int32[0]"},
        {.op = "NonMaxSuppressionV3",
         .inputs = "float[0,4]; float[0]; int32[] 3; float[] 0.5; float[] 0",
         .want = "int32[0]"},
        {.op = "NonMaxSuppressionV4",
         .inputs = "float[0,4]; float[0]; int32[] 3; float[] 0.5; float[] 0",
         .want = "int32[0]; int32[] 0"},
        {.op = "NonMaxSuppressionV5",
         .inputs = "float[0,4]; float[0]; int32[] 3; float[] 0.5; float[] 0; float[] 0",
         .want = "int32[0]; float[0]; int32[] 0"},
        {.op = "NonMaxSuppressionWithOverlaps",
         .inputs = "float[0,0]; float[0]; int32[] 3; float[] 0.5; float[] 0",
         .want = "int32[0]"},
        {.op = "NonMaxSuppressionV4",
         .attrs = "pad_to_max_output_size=true",
         .inputs = "float[0,4]; float[0]; int32[] 3; float[] 0.5; float[] 0",
         .want = "int32[3] 0; int32[] 0"},
    };
    OP_TEST_VALUES(cases);
}

static void refused_numbers_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "NonMaxSuppression",
         .inputs = "float[3,4] 0; float[3] 1; int32[] -1",
         .want = "InvalidArgument: output size must be non-negative, got -1"},
        {.op = "NonMaxSuppression",
         .attrs = "iou_threshold=1.5",
         .inputs = "float[3,4] 0; float[3] 1; int32[] 1",
         .want = "InvalidArgument: iou_threshold must be in [0, 1]"},
        {.op = "NonMaxSuppressionV2",
         .inputs = "float[3,4] 0; float[3] 1; int32[] 1; float[] nan",
         .want = "InvalidArgument: iou_threshold must be in [0, 1]"},
        {.op = "NonMaxSuppressionV5",
         .inputs = "float[3,4] 0; float[3] 1; int32[] 1; float[] 0.5; float[] 0; float[] -1",
         .want = "InvalidArgument: soft_nms_sigma_val must be >= 0"},
    };
    OP_TEST_VALUES(cases);
}

static void suppression_errors_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "NonMaxSuppression",
         .inputs = "float[3,4] 0; float[3] 1; int32[1] 1",
         .want = "InvalidArgument: max_output_size must be 0-D, got shape [1]"},
        {.op = "NonMaxSuppressionV2",
         .inputs = "float[] 1; float[1] 1; int32[] 3; float[] 0.5",
         .want = "InvalidArgument: boxes must be 2-D"},
        {.op = "NonMaxSuppressionV2",
         .inputs = "float[1,4] 0; float[] 1; int32[] 3; float[] 0.5",
         .want = "InvalidArgument: scores must be 1-D"},
        {.op = "NonMaxSuppressionV2",
         .inputs = "float[1,4] 0; float[1] 1; int32[] 3; float[1] 0.5",
         .want = "InvalidArgument: iou_threshold must be 0-D, got shape [1]"},
        {.op = "NonMaxSuppressionV3",
         .inputs = "float[] 1; float[1] 1; int32[] 3; float[] 0.5; float[] 0",
         .want = "InvalidArgument: boxes must be 2-D"},
        {.op = "NonMaxSuppressionV3",
         .inputs = "float[1,4] 0; float[] 1; int32[] 3; float[] 0.5; float[] 0",
         .want = "InvalidArgument: scores must be 1-D"},
        {.op = "NonMaxSuppressionV3",
         .inputs = "float[1,4] 0; float[1] 1; int32[] 3; float[1] 0.5; float[] 0",
         .want = "InvalidArgument: iou_threshold must be 0-D, got shape [1]"},
        {.op = "NonMaxSuppressionV3",
         .inputs = "float[3,3] 0; float[3] 1; int32[] 1; float[] 0.5; float[] 0",
         .want = "InvalidArgument: boxes must have 4 columns"},
        {.op = "NonMaxSuppressionV3",
         .inputs = "float[3,4] 0; float[2] 1; int32[] 1; float[] 0.5; float[] 0",
         .want = "InvalidArgument: scores has incompatible shape"},
        {.op = "NonMaxSuppressionV4",
         .inputs = "float[] 1; float[1] 1; int32[] 3; float[] 0.5; float[] 0",
         .want = "InvalidArgument: boxes must be 2-D"},
        {.op = "NonMaxSuppressionV4",
         .inputs = "float[1,4] 0; float[] 1; int32[] 3; float[] 0.5; float[] 0",
         .want = "InvalidArgument: scores must be 1-D"},
        {.op = "NonMaxSuppressionV4",
         .inputs = "float[1,4] 0; float[1] 1; int32[] 3; float[1] 0.5; float[] 0",
         .want = "InvalidArgument: iou_threshold must be 0-D, got shape [1]"},
        {.op = "NonMaxSuppressionV5",
         .inputs = "float[] 1; float[1] 1; int32[] 3; float[] 0.5; float[] 0; float[] 0",
         .want = "InvalidArgument: boxes must be 2-D"},
        {.op = "NonMaxSuppressionV5",
         .inputs = "float[1,4] 0; float[] 1; int32[] 3; float[] 0.5; float[] 0; float[] 0",
         .want = "InvalidArgument: scores must be 1-D"},
        {.op = "NonMaxSuppressionV5",
         .inputs = "float[1,4] 0; float[1] 1; int32[] 3; float[1] 0.5; float[] 0; float[] 0",
         .want = "InvalidArgument: iou_threshold must be 0-D, got shape [1]"},
        {.op = "NonMaxSuppressionWithOverlaps",
         .inputs = "float[] 1; float[1] 1; int32[] 3; float[] 0.5; float[] 0",
         .want = "InvalidArgument: overlaps must be 2-D"},
        {.op = "NonMaxSuppressionWithOverlaps",
         .inputs = "float[1,1] 0; float[] 1; int32[] 3; float[] 0.5; float[] 0",
         .want = "InvalidArgument: scores must be 1-D"},
        {.op = "NonMaxSuppressionWithOverlaps",
         .inputs = "float[1,1] 0; float[1] 1; int32[] 3; float[1] 0.5; float[] 0",
         .want = "InvalidArgument: overlap_threshold must be 0-D, got shape [1]"},
        {.op = "NonMaxSuppressionWithOverlaps",
         .inputs = "float[3,2] 0; float[3] 1; int32[] 1; float[] 0.5; float[] 0",
         .want = "InvalidArgument: overlaps must be square"},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"NonMaxSuppression", NULL, "[5,4]; [5]; int32[]", "[?]"},
        {"NonMaxSuppressionV2", NULL, "[5,4]; [6]; int32[]; []",
         "InvalidArgument: Dimensions must be equal, but are 5 and 6"},
        {"NonMaxSuppressionV3", NULL, "[5,3]; [5]; int32[]; []; []",
         "InvalidArgument: Dimension must be 4 but is 3"},
        {"NonMaxSuppressionV4", "pad_to_max_output_size=true", "?; ?; int32[] 7; []; []", "[7]; []"},
        {"NonMaxSuppressionV5", NULL, "?; ?; int32[] 7; []; []; []", "[?]; [?]; []"},
        {"NonMaxSuppressionWithOverlaps", NULL, "[5,5]; [5]; int32[]; []; []", "[?]"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(suppression_follows_its_definition),
        cmocka_unit_test(soft_suppression_follows_its_definition),
        cmocka_unit_test(suppression_by_overlaps),
        cmocka_unit_test(half_follows_its_definition),
        cmocka_unit_test(suppression_of_no_boxes_is_empty),
        cmocka_unit_test(refused_numbers_follow_the_definition),
        cmocka_unit_test(suppression_errors_follow_the_definition),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}

// Tests of SegmentX and UnsortedSegmentX. Values are those of numpy's sum, prod, mean, min and max over the
// rows of each segment.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"
#include <stdio.h>

static void sorted_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "SegmentSum",
         .inputs = "float[3,2] 1 2 3 4 5 6; int32[3] 0 0 2",
         .want = "float[3,2] 4 6 0 0 5 6"},
        {.op = "SegmentSum", .inputs = "int64[3] 1 2 3; int64[3] 1 1 1", .want = "int64[2] 0 6"},
        {.op = "SegmentSum", .inputs = "float[0,2]; int32[0]", .want = "float[0,2]"},
        {.op = "SegmentSum",
         .inputs = "float[2] 1; int32[2] 1 0",
         .want = "InvalidArgument: segment ids are not increasing"},
        {.op = "SegmentSum",
         .inputs = "float[2] 1; int32[2] -1 0",
         .want = "InvalidArgument: Segment id -1 out of range [0, 1)"},
        {.op = "SegmentSum",
         .inputs = "float[2] 1; int32[3] 0 0 0",
         .want = "InvalidArgument: same size as dimension 0"},
        {.op = "SegmentSum",
         .inputs = "float[2] 1; int64[2] 0 9223372036854775807",
         .want = "InvalidArgument: segment ids must be >= 0"},

        {"SegmentMean", NULL, "float[4,2] 1 2 3 4 5 6 7 9; int64[4] 0 0 2 2", "float[3,2] 2 3 0 0 6 7.5"},
        {"SegmentMean", NULL, "int32[2] 1 4; int32[2] 0 0", "int32[1] 2"},
        {"SegmentProd", NULL, "double[3] 2 3 4; int32[3] 0 0 2", "double[3] 6 1 4"},
        {"SegmentMin", NULL, "int64[4] 5 -3 7 2; int32[4] 0 0 2 2", "int64[3] -3 0 2"},
        {"SegmentMax", NULL, "float[4] -5 -3 7 2; int32[4] 0 0 2 2", "float[3] -3 0 7"},
        {"SegmentMax", NULL, "float[2] 1; int32[2] 1 0", "InvalidArgument: segment ids are not increasing"},
        // In a segment of several rows NaN is never the extreme (Eigen's MaxReducer and MinReducer).
        {"SegmentMax", NULL, "float[6] nan 1 2 nan nan nan; int32[6] 0 0 1 1 2 2", "float[3] 1 2 -inf"},
        {"SegmentMin", NULL, "double[4] nan 1 2 nan; int32[4] 0 0 1 1", "double[2] 1 2"},
        {"SegmentMin", NULL, "float[2] nan 1; int32[2] 0 1", "float[2] nan 1"},
        {"SegmentMax", NULL, "half[3] 0x7e00 0xbc00 0xc000; int32[3] 0 0 0", "half[1] 0xbc00"},
    };
    OP_TEST_VALUES(cases);
}

static void unsorted_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {.op = "SegmentSumV2",
         .inputs = "float[3] 1 2 3; int32[3] 0 0 2; int32[] 4",
         .want = "float[4] 3 0 3 0"},
        {.op = "SegmentProdV2",
         .inputs = "int64[3,1] 2 3 4; int64[3] 0 0 1; int64[] 3",
         .want = "int64[3,1] 6 4 1"},
        {.op = "SegmentMinV2",
         .inputs = "double[3] 1 -2 3; int32[3] 0 0 1; int32[] 2",
         .want = "double[2] -2 3"},
        {.op = "SegmentMaxV2",
         .inputs = "int32[3] 1 -2 3; int32[3] 0 0 2; int32[] 3",
         .want = "int32[3] 1 -2147483648 3"},
        {.op = "SegmentSumV2",
         .inputs = "float[2] 1 2; int32[2] 0 2; int32[] 2",
         .want = "InvalidArgument: segment_ids[1] = 2 is out of range [0, 2)"},
        {.op = "UnsortedSegmentSum",
         .inputs = "float[3,2] 1 2 3 4 5 6; int32[3] 2 0 2; int32[] 3",
         .want = "float[3,2] 3 4 0 0 6 8"},
        {.op = "UnsortedSegmentSum",
         .inputs = "int64[2,2] 1 2 3 4; int64[2,2] 0 1 -1 1; int32[] 2",
         .want = "int64[2] 1 6"},
        {.op = "UnsortedSegmentSum",
         .inputs = "float[1] 1; int32[1] 2; int32[] 2",
         .want = "InvalidArgument: segment_ids[0] = 2 is out of range [0, 2)"},
        {.op = "UnsortedSegmentSum",
         .inputs = "float[2] 1; int32[1] 0; int32[] 2",
         .want = "InvalidArgument: does not start with segment_ids.shape"},
        {.op = "UnsortedSegmentSum",
         .inputs = "float[1] 1; int32[1] 0; int32[] -2",
         .want = "InvalidArgument: must not be negative"},
        {"UnsortedSegmentProd", NULL, "float[4] 2 3 4 5; int32[4] 2 0 2 -1; int32[] 3", "float[3] 3 1 8"},
        {"UnsortedSegmentMin", NULL, "int32[3] 5 -3 7; int64[3] 1 1 1; int32[] 2", "int32[2] 2147483647 -3"},
        {"UnsortedSegmentMax", NULL, "double[3] 5 -3 7; int64[3] 1 1 1; int32[] 2",
         "double[2] -1.7976931348623157e308 7"},
        {"UnsortedSegmentMax", NULL, "float[2] 5 -3; int32[2] 0 1; int32[] 1",
         "InvalidArgument: segment_ids[1] = 1 is out of range [0, 1)"},
        // A number after NaN becomes the extreme, as in Eigen's max(data, output).
        {"UnsortedSegmentMax", NULL, "float[5] 5 nan 1 2 nan; int32[5] 0 0 0 1 1; int32[] 2",
         "float[2] 1 nan"},
        {"UnsortedSegmentMin", NULL, "double[5] 5 nan 7 2 nan; int32[5] 0 0 0 1 1; int32[] 2",
         "double[2] 7 nan"},
    };
    OP_TEST_VALUES(cases);
}

// "TYPE[3] A B C" from small integers; for half, their bit patterns.
static void put_numbers(char out[64], const char *type, const int *numbers, int count)
{
    static const int halves[] = {0,      0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600, 0x4700,
                                 0x4800, 0x4880, 0x4900, 0x4980, 0x4a00, 0x4a80, 0x4b00, 0x4b80};
    int len = snprintf(out, 64, "%s[%d]", type, count);
    for (int i = 0; i < count; i++)
        len += snprintf(out + len, (size_t)(64 - len), " %d",
                        strcmp(type, "half") == 0 ? halves[numbers[i]] : numbers[i]);
}

static const char *const types[] = {"float", "double", "int32",  "int64", "int8",
                                    "int16", "uint8",  "uint16", "half"};

static void sorted_segments_take_each_type(void **state)
{
    (void)state;
    static const struct {
        const char *op;
        int want[3];
    } ops[] = {{"SegmentSum", {8, 0, 8}},
               {"SegmentMean", {4, 0, 4}},
               {"SegmentProd", {15, 1, 7}},
               {"SegmentMin", {3, 0, 1}},
               {"SegmentMax", {5, 0, 7}}};
    for (size_t i = 0; i < BD_COUNTOF(ops); i++) {
        const char *op = ops[i].op;
        for (size_t k = 0; k < BD_COUNTOF(types); k++) {
            char data[64], inputs[96], want[64];
            put_numbers(data, types[k], (int[]){5, 3, 7, 1}, 4);
            snprintf(inputs, sizeof inputs, "%s; int32[4] 0 0 2 2", data);
            put_numbers(want, types[k], ops[i].want, 3);
            op_test_values(&(op_case){op, NULL, inputs, want}, 1);
        }
        const op_case cases[] = {
            {op, NULL, "float[0,2]; int32[0]", "float[0,2]"},
            {op, NULL, "int32[2,0]; int64[2] 0 3", "int32[4,0]"},
            {op, NULL, "float[] 1; int32[1] 0", "InvalidArgument: input must be at least 1-D"},
            {op, NULL, "float[1] 1; int32[] 0", "InvalidArgument: segment_ids should be a vector."},
            {op, NULL, "float[1] 1; int32[1] 2147483647", "InvalidArgument: segment ids must be >= 0"},
            {op, NULL, "float[2] 1; int32[2] 1 0", "InvalidArgument: segment ids are not increasing"},
            {op, NULL, "float[2] 1; int64[1] 0",
             "InvalidArgument: segment_ids should be the same size as dimension 0 of input."},
        };
        OP_TEST_VALUES(cases);
    }
}

static void unsorted_segments_take_each_type(void **state)
{
    (void)state;
    static const struct {
        const char *op, *v2;
        int want[2];
        const char *nothing; // the result of an empty segment
    } ops[] = {{"UnsortedSegmentSum", "SegmentSumV2", {8, 8}, "0"},
               {"UnsortedSegmentProd", "SegmentProdV2", {15, 7}, "1"},
               {"UnsortedSegmentMin", "SegmentMinV2", {3, 1}, "3.4028234663852886e38"},
               {"UnsortedSegmentMax", "SegmentMaxV2", {5, 7}, "-3.4028234663852886e38"}};
    for (size_t i = 0; i < 2 * BD_COUNTOF(ops); i++) {
        const char *op = i % 2 ? ops[i / 2].v2 : ops[i / 2].op;
        char data[64], inputs[96], want[64], nothing[64];
        for (size_t k = 0; k < BD_COUNTOF(types); k++) {
            put_numbers(data, types[k], (int[]){5, 3, 7, 1}, 4);
            snprintf(inputs, sizeof inputs, "%s; int32[4] 0 0 1 1; int64[] 2", data);
            put_numbers(want, types[k], ops[i / 2].want, 2);
            op_test_values(&(op_case){op, NULL, inputs, want}, 1);
        }
        snprintf(nothing, sizeof nothing, "float[3,2] %s", ops[i / 2].nothing);
        const op_case cases[] = {
            {op, NULL, "float[0,2]; int32[0]; int32[] 3", nothing},
            {op, NULL, "float[3]  1; int64[3] 0; int32[] 0",
             "InvalidArgument: segment_ids[0] = 0 is out of range [0, 0)"},
            // Without data the ids are not checked.
            {op, NULL, "int32[2,0]; int32[2] 0 99; int32[] 3", "int32[3,0]"},
            {op, NULL, "int32[] 7; int32[] 0; int32[] 1", "int32[1] 7"},
            {op, NULL, "float[2] 1; int32[2] 0 2; int32[] 2",
             "InvalidArgument: segment_ids[1] = 2 is out of range [0, 2)"},
            {op, NULL, "float[2] 1; int32[3] 0; int32[] 2",
             "InvalidArgument: data.shape = [2] does not start with segment_ids.shape = [3]"},
            {op, NULL, "float[1] 1; int32[1] 0; int32[1] 2",
             "InvalidArgument: num_segments should be a scalar, not shape [1]"},
            {op, NULL, "float[1] 1; int32[1] 0; int64[] -2",
             "InvalidArgument: Input num_segments == -2 must not be negative."},
        };
        OP_TEST_VALUES(cases);
    }
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"SegmentSum", NULL, "[4,3]; int32[4]", "[?,3]"},
        {"SegmentSum", NULL, "[4,3]; int32[]", "InvalidArgument: Shape must be rank 1 but is rank 0"},
        {"UnsortedSegmentSum", NULL, "[4,3]; int32[4]; int32[] 7", "[7,3]"},
        {"UnsortedSegmentSum", NULL, "[4,3]; int32[4]; int32[]", "[?,3]"},
        {"UnsortedSegmentSum", NULL, "[4,3]; int32[4,3,1]; int32[]",
         "InvalidArgument: Shape must be at least rank 3 but is rank 2"},
        {"UnsortedSegmentMax", NULL, "[4,?,3]; int32[?,2]; int32[] 7", "[7,3]"},
        {"UnsortedSegmentSum", NULL, "[4,3]; int32[5]; int32[]",
         "InvalidArgument: Dimensions must be equal, but are 4 and 5"},
        {"UnsortedSegmentSum", NULL, "[4,3]; int32[4]; int32[] -2",
         "InvalidArgument: Dimension size, given by scalar input 2, must be non-negative but is -2"},
        {"SegmentSumV2", NULL, "[4,3]; int32[4]; int32[1]",
         "InvalidArgument: Shape must be rank 0 but is rank 1"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {.op = "SegmentSum", .inputs = "double[3,2] 1 2 3 4 5 6; int32[3] 0 0 2"},
        {.op = "SegmentMean", .inputs = "double[3,2] 1 2 3 4 5 6; int32[3] 0 0 1"},
        {.op = "SegmentMin", .inputs = "double[3,2] 1 2 3 -4 5 6; int32[3] 0 0 1"},
        {.op = "SegmentMax", .inputs = "double[3,2] 1 2 3 -4 5 6; int32[3] 0 0 1"},
        {.op = "UnsortedSegmentMax", .inputs = "double[3,2] 1 2 3 -4 5 6; int32[3] 1 0 1; int32[] 2"},
        {.op = "UnsortedSegmentMin", .inputs = "double[4] 1 5 3 2; int32[4] 1 0 1 0; int32[] 2"},
        {.op = "UnsortedSegmentProd", .inputs = "double[3,2] 2 3 0 5 4 0; int32[3] 1 0 1; int32[] 2"},
        // Dropped rows have no gradient.
        {.op = "UnsortedSegmentSum", .inputs = "double[3,2] 1 2 3 4 5 6; int32[3] 2 -1 0; int32[] 3"},
        {.op = "UnsortedSegmentSum", .inputs = "double[2,2] 1 2 3 4; int64[2,2] 1 -1 -5 1; int32[] 2"},
        {.op = "UnsortedSegmentMax", .inputs = "double[4,2] 1 2 0 -4 5 6 3 7; int32[4] 1 -1 1 0; int32[] 2"},
        {.op = "UnsortedSegmentMin", .inputs = "double[4] 1 5 0 2; int32[4] 1 0 -1 0; int32[] 2"},
        {.op = "UnsortedSegmentProd", .inputs = "double[4] 2 3 0 5; int32[4] 1 0 -1 1; int32[] 2"},
        {.op = "UnsortedSegmentSum", .inputs = "double[3,2] 1 2 3 4 5 6; int32[3] 2 0 2; int32[] 3"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sorted_follows_its_definition),
        cmocka_unit_test(sorted_segments_take_each_type),
        cmocka_unit_test(unsorted_follows_its_definition),
        cmocka_unit_test(unsorted_segments_take_each_type),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}

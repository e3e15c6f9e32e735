// Tests of SparseSegmentSum, SparseSegmentMean and SparseSegmentSqrtN, with and without a number of segments,
// and of their gradient ops. Values follow from the definition.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#include <stdio.h>

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"SparseSegmentSum", NULL, "float[3,2] 1 2 3 4 5 6; int32[3] 2 0 2; int32[3] 0 0 1",
         "float[2,2] 6 8 5 6"},
        {"SparseSegmentSum", NULL, "float[3] 1 2 3; int64[1] 3; int32[1] 0",
         "InvalidArgument: indices[0] == 3 out of range [0, 3)"},
        {"SparseSegmentSum", NULL, "float[3] 1 2 3; int64[2] 1; int32[1] 0",
         "InvalidArgument: segment_ids and indices should have same size."},
        {"SparseSegmentSum", NULL, "int32[3,2] 1 2 3 4 5 6; int32[3] 2 0 2; int32[3] 0 0 2",
         "int32[3,2] 6 8 0 0 5 6"},
        {"SparseSegmentSum", NULL, "float[3] 1 2 3; int32[1] -1; int32[1] 0",
         "InvalidArgument: indices[0] == -1"},
        {"SparseSegmentSum", NULL, "float[3] 1 2 3; int32[2] 0 1; int32[2] 1 0",
         "InvalidArgument: not increasing"},
        {"SparseSegmentSum", NULL, "float[3] 1 2 3; int32[2] 0 1; int32[2] -1 0",
         "InvalidArgument: Segment id -1 out of range [0, 1)"},
        {"SparseSegmentSumWithNumSegments", NULL, "int64[3] 1 2 3; int64[2] 2 1; int32[2] 1 1; int32[] 4",
         "int64[4] 0 5 0 0"},
        {"SparseSegmentSumWithNumSegments", NULL, "uint8[3] 100 200 3; int32[2] 0 1; int32[2] 0 0; int64[] 1",
         "uint8[1] 44"},
        {"SparseSegmentSumWithNumSegments", NULL, "float[3] 1; int32[0]; int32[0]; int32[] 2", "float[2] 0"},
        {"SparseSegmentSumWithNumSegments", NULL, "float[3] 1; int32[1] 0; int32[1] 2; int32[] 2",
         "InvalidArgument: segment ids must be < num_segments"},
        {"SparseSegmentSumWithNumSegments", NULL, "float[3] 1; int32[0]; int32[0]; int32[] -2",
         "InvalidArgument: segment ids must be >= 0"},
        {"SparseSegmentSumWithNumSegments", NULL, "float[3] 1; int32[1] 0; int32[1] 0; int32[1] 2",
         "InvalidArgument: num_segments should be a scalar, not shape [1]"},
        {"SparseSegmentSum", NULL, "float[3] 1; int32[1] 0; int32[1] 2147483647",
         "InvalidArgument: Last segment id must be < kintmax, got 2147483647 limit 2147483647"},
        {"SparseSegmentSumWithNumSegments", NULL,
         "float[3] 1; int32[0]; int32[0]; int64[] 4611686018427387904", "ResourceExhausted: "},
        {"SparseSegmentMean", "sparse_gradient=true", "half[2] 0x3c00 0x4200; int64[2] 0 1; int64[2] 0",
         "half[1] 0x4000"},
        {"SparseSegmentSum", NULL, "int32[2] 1 2; int32[3] 0 1 1; int64[3] 0 1 1", "int32[2] 1 4"},
        {"SparseSegmentSumGradV2", NULL, "float[2,1] 10 20; int32[3] 5 2 5; int32[3] 0 0 1; int32[] 7",
         "float[2,1] 10 30; int32[2] 2 5"},
        {"SparseSegmentMeanGradV2", NULL, "double[2,1] 10 20; int64[3] 5 2 5; int64[3] 0 0 1; int32[] 7",
         "double[2,1] 5 25; int64[2] 2 5"},
        {"SparseSegmentSqrtNGradV2", NULL, "float[2,1] 10 20; int32[3] 5 2 5; int32[3] 0 0 1; int32[] 7",
         "float[2,1] 7.0710678 27.0710678; int32[2] 2 5"},
        {"SparseSegmentSumGradV2", NULL, "float[2,3] 1; int32[0]; int32[0]; int32[] 7",
         "float[0,3]; int32[0]"},
        {"SparseSegmentSumGradV2", NULL, "float[2,1] 10 20; int32[1] 7; int32[1] 0; int32[] 7",
         "InvalidArgument: indices[0] == 7 out of range [0, 7)"},
        {"SparseSegmentMeanGradV2", NULL, "float[2,1] 10 20; int32[1] 6; int32[1] 2; int32[] 7",
         "InvalidArgument: Invalid number of segments: the last id is 2"},
        {"SparseSegmentSumGradV2", NULL, "float[2,1] 10 20; int32[1] 6; int32[1] 1; int32[] -7",
         "InvalidArgument: dense_output_dim0"},
        {"SparseSegmentMean", NULL, "float[3,2] 1 2 3 4 5 6; int32[4] 2 0 2 1; int32[4] 0 0 0 2",
         "float[3,2] 3.66666667 4.66666667 0 0 3 4"},
        {"SparseSegmentMeanWithNumSegments", NULL, "double[3] 1 2 3; int32[2] 2 1; int32[2] 1 1; int32[] 3",
         "double[3] 0 2.5 0"},
        {"SparseSegmentSqrtN", NULL, "double[3] 1 2 3; int32[4] 2 0 2 1; int32[4] 0 0 0 0", "double[1] 4.5"},
        {"SparseSegmentSqrtNWithNumSegments", NULL, "float[3] 1 2 3; int32[1] 2; int32[1] 1; int32[] 2",
         "float[2] 0 3"},
        {"SparseSegmentSumGrad", NULL, "double[2,1] 6 5; int32[4] 2 0 2 1; int32[4] 0 0 0 1; int32[] 4",
         "double[4,1] 6 5 12 0"},
        {"SparseSegmentSumGrad", NULL, "half[1] 0x3c00; int64[2] 1 1; int32[2] 0 0; int32[] 2",
         "half[2] 0 0x4000"},
        {"SparseSegmentSumGrad", NULL, "float[1] 6; int32[1] 2; int32[1] 0; int32[] 2",
         "InvalidArgument: Index 2 out of range"},
        {"SparseSegmentMeanGrad", NULL, "double[2,1] 6 5; int32[4] 2 0 2 1; int32[4] 0 0 0 1; int32[] 4",
         "double[4,1] 2 5 4 0"},
        {"SparseSegmentSqrtNGrad", NULL, "double[1] 6; int32[4] 2 0 2 1; int32[4] 0 0 0 0; int32[] 3",
         "double[3] 3 3 6"},
        {"SparseSegmentMeanGrad", NULL, "double[1] 6; int32[1] 3; int32[1] 0; int32[] 3",
         "InvalidArgument: Index 3 out of range"},
        {"SparseSegmentMeanGrad", NULL, "double[1] 6; int32[1] 1; int32[1] 1; int32[] 3",
         "InvalidArgument: Invalid number of segments: the last id is 1"},
        {"SparseSegmentMeanGrad", NULL, "double[1] 6; int32[1] 0; int32[1] 0; int32[] -3",
         "InvalidArgument: output_dim0"},
        {"SparseSegmentMeanGrad", NULL, "double[] 6; int32[1] 0; int32[1] 0; int32[] 3", "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

typedef struct sized_case {
    const char *inputs, *want;
} sized_case;

// Runs each case for the forms Sum, Mean and SqrtN of SparseSegmentX.
static void run_forms(const char *form, const sized_case *cases, size_t count)
{
    static const char *const names[] = {"Sum", "Mean", "SqrtN"};
    for (size_t i = 0; i < 3 * count; i++) {
        char op[64];
        snprintf(op, sizeof op, "SparseSegment%s%s", names[i % 3], form);
        op_case one = {op, NULL, cases[i / 3].inputs, cases[i / 3].want};
        op_test_values(&one, 1);
    }
}
#define RUN_FORMS(form, cases) run_forms(form, cases, BD_COUNTOF(cases))

// Segments of one row, empty segments, and invalid sizes: the same for all forms.
static void segments_may_be_empty(void **state)
{
    (void)state;
    static const sized_case sums[] = {
        {"double[2,2] 1 2 3 4; int64[2] 1 0; int32[2] 0 1", "double[2,2] 3 4 1 2"},
        {"float[3,2] 1; int32[0]; int32[0]", "float[0,2]"},
        {"half[0]; int32[0]; int32[0]", "half[0]"},
        {"float[2,0]; int32[1] 1; int32[1] 1", "float[2,0]"},
        {"float[0]; int32[1] 0; int32[1] 0", "InvalidArgument: indices[0] == 0 out of range [0, 0)"},
        {"float[] 1; int32[1] 0; int32[1] 0", "InvalidArgument: "},
        {"float[3] 1; int32[] 0; int32[1] 0", "InvalidArgument: indices should be a vector."},
        {"float[3] 1; int32[1] 0; int32[] 0", "InvalidArgument: segment_ids should be a vector."},
        {"float[3] 1; int32[2] 0; int32[1] 0",
         "InvalidArgument: segment_ids and indices should have same size."},
    };
    RUN_FORMS("", sums);
    static const sized_case counted[] = {
        {"double[2,2] 1 2 3 4; int64[2] 1 0; int32[2] 0 2; int32[] 4", "double[4,2] 3 4 0 0 1 2 0 0"},
        {"float[3,2] 1; int32[0]; int32[0]; int32[] 1", "float[1,2] 0"},
        {"float[0,2]; int32[0]; int32[0]; int32[] 0", "float[0,2]"},
        {"float[] 1; int32[1] 0; int32[1] 0; int32[] 1", "InvalidArgument: "},
        {"float[3] 1; int32[1] 0; int32[1] 0; int32[] 0",
         "InvalidArgument: segment ids must be < num_segments"},
        {"float[3] 1; int32[1] 0; int32[1] 0; int32[] -1", "InvalidArgument: segment ids must be >= 0"},
        {"float[3] 1; int32[1] 0; int32[1] 0; int32[1] 2",
         "InvalidArgument: num_segments should be a scalar, not shape [1]"},
        {"float[3] 1; int32[] 0; int32[1] 0; int32[] 1", "InvalidArgument: indices should be a vector."},
        {"float[3] 1; int32[1] 0; int32[] 0; int32[] 1", "InvalidArgument: segment_ids should be a vector."},
    };
    RUN_FORMS("WithNumSegments", counted);
    static const sized_case gradients[] = {
        {"double[2,2] 3 4 1 2; int64[2] 1 0; int32[2] 0 1; int32[] 3", "double[3,2] 1 2 3 4 0 0"},
        {"float[2,1] 1; int32[0]; int32[0]; int32[] 2", "float[2,1] 0"},
        {"float[0]; int32[0]; int32[0]; int32[] 0", "float[0]"},
        {"float[0]; int32[1] 0; int32[1] 0; int32[] 1", "InvalidArgument: Invalid number of segments"},
        {"float[1] 1; int32[] 0; int32[1] 0; int32[] 1", "InvalidArgument: indices should be a vector."},
        {"float[1] 1; int32[1] 0; int32[] 0; int32[] 1", "InvalidArgument: segment_ids should be a vector."},
        {"float[1] 1; int32[1] 0; int32[1] 0; int32[1] 1",
         "InvalidArgument: output_dim0 should be a scalar."},
        {"float[1] 1; int32[2] 0; int32[1] 0; int32[] 1",
         "InvalidArgument: segment_ids and indices should have same size."},
    };
    RUN_FORMS("Grad", gradients);
    static const sized_case rows[] = {
        {"double[2,2] 3 4 1 2; int64[2] 1 0; int32[2] 0 1; int32[] 3", "double[2,2] 1 2 3 4; int64[2] 0 1"},
        {"float[2,1] 1; int32[0]; int32[0]; int32[] 2", "float[0,1]; int32[0]"},
        {"float[0]; int32[1] 0; int32[1] 0; int32[] 1", "InvalidArgument: Invalid number of segments"},
        {"float[1] 1; int32[] 0; int32[1] 0; int32[] 1", "InvalidArgument: indices should be a vector."},
        {"float[1] 1; int32[1] 0; int32[1] 0; int32[1] 1",
         "InvalidArgument: dense_output_dim0 should be a scalar."},
    };
    RUN_FORMS("GradV2", rows);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"SparseSegmentMean", NULL, "[3,?]; int32[4]; int32[4]", "[?,?]"},
        {"SparseSegmentMean", NULL, "[3,?]; int32[4]; int32[3]", "InvalidArgument: "},
        {"SparseSegmentSumWithNumSegments", NULL, "[3,2]; int32[4]; int32[4]; int32[] 7", "[7,2]"},
        {"SparseSegmentSqrtNGrad", NULL, "[3,2]; int32[4]; int32[4]; int32[] 7", "[7,2]"},
    };
    OP_TEST_SHAPES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {.op = "SparseSegmentSum", .inputs = "double[3,2] 1 2 3 4 5 6; int32[3] 2 0 2; int32[3] 0 0 1"},
        {"SparseSegmentSumWithNumSegments", NULL,
         "double[3,2] 1 2 3 4 5 6; int32[3] 2 0 2; int32[3] 0 0 1; int32[] 3"},
        {"SparseSegmentMean", NULL, "double[3,2] 1 2 3 4 5 6; int32[3] 2 0 2; int32[3] 0 0 1"},
        {"SparseSegmentMeanWithNumSegments", NULL,
         "double[3,2] 1 2 3 4 5 6; int32[3] 2 0 2; int32[3] 0 0 1; int32[] 3"},
        {"SparseSegmentSqrtN", NULL, "double[3,2] 1 2 3 4 5 6; int32[3] 2 0 2; int32[3] 0 0 1"},
        {"SparseSegmentSqrtNWithNumSegments", NULL,
         "double[3,2] 1 2 3 4 5 6; int32[3] 2 0 2; int32[3] 0 0 1; int32[] 3"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(segments_may_be_empty),
        cmocka_unit_test(shapes_are_inferred),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}

// Tests of the ops of TensorFlow's debugger.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void values_follow_the_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {"DebugIdentity", NULL, "string[2] a b", "string[2] a b"},
        {"DebugIdentity", NULL, "ref float[2] 1 2", "float[2] 1 2"},
        {"DebugIdentity", NULL, "ref float?", "float[0]"},
        {"DebugIdentity", NULL, "int32[] 7", "int32[] 7"},
        {"DebugIdentity", "debug_urls=[ftp:///tmp/x]", "float[2] 1 2",
         "Unavailable: Invalid debug target URL: ftp:///tmp/x"},
        {"DebugIdentity", "tensor_name=x:y; debug_urls=[file:///tmp/x]", "float[2] 1 2",
         "InvalidArgument: Invalid string value for output_slot"},
        {"DebugNanCount", NULL, "float[2,2] nan 1 nan inf", "int64[1] 2"},
        {"DebugNanCount", NULL, "half[2] 0x7e00 0x7c00", "int64[1] 1"},
        {"DebugNanCount", NULL, "int16[3] 1 2 3", "int64[1] 0"},
        {"DebugNanCount", NULL, "double[1500] nan", "int64[1] 1500"},
        {"DebugNanCount", NULL, "float[] nan", "int64[1] 1"},
        {"DebugNanCount", NULL, "float[0,2]", "int64[1] 0"},
        {"DebugNanCount", NULL, "ref float[2]", "int64[1] 0"},
        {"DebugNanCount", "gated_grpc=true", "float[] nan", "int64[0]"},
        {"DebugNanCount", "debug_urls=[grpc://h:1]", "float[1] 1",
         "Unimplemented: Braid does not send to debug URL 'grpc://h:1'"},
        {"DebugGradientIdentity", NULL, "float[2] 1 2", "float[2] 1 2"},
        {"DebugGradientRefIdentity", NULL, "ref float[2] 1 2", "float[2] 1 2"},
        {"DebugGradientIdentity", NULL, "float[] 1", "float[] 1"},
        {"DebugGradientIdentity", NULL, "float[0]", "float[0]"},
        {"DebugGradientRefIdentity", NULL, "ref float[] 1", "float[] 1"},
        {"DebugGradientRefIdentity", NULL, "ref float[0] empty", "float[0]"},
        {"DebugGradientRefIdentity", NULL, "float[1] 1",
         "InvalidArgument: incompatible with expected float_ref"},
    };
    OP_TEST_VALUES(cases);
}

static void numeric_summary_follows_its_definition(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // Value?, elements, nan, -inf, negative, 0, positive, inf; least, greatest, mean, variance (numpy's);
        // type, rank, sizes.
        {"DebugNumericSummary", NULL, "double[2,4] 1 -2 nan inf 0 3 -inf 0.5",
         "double[16] 1 8 1 1 1 1 3 1 -2 3 0.5 2.6 2 2 2 4"},
        {"DebugNumericSummary", NULL, "bool[3] true false true",
         "double[15] 1 3 0 0 0 1 2 0 0 1 0.6666666666666666 0.2222222222222222 10 1 3"},
        {"DebugNumericSummary", NULL, "int8[] -5", "double[14] 1 1 0 0 1 0 0 0 -5 -5 -5 0 6 0"},
        {"DebugNumericSummary", "lower_bound=-1.0; upper_bound=2.0", "float[5] -1 -3 0 2 1.5",
         "double[15] 1 5 0 2 0 1 1 1 -3 2 -0.1 3.24 1 1 5"},
        {"DebugNumericSummary", NULL, "float[2] nan nan",
         "double[15] 1 2 2 0 0 0 0 0 inf -inf nan nan 1 1 2"},
        {"DebugNumericSummary", NULL, "float[0]", "double[15] 1 0 0 0 0 0 0 0 inf -inf nan nan 1 1 0"},
        {"DebugNumericSummary", "gated_grpc=true", "float[2] 1 2", "double[0]"},
        {"DebugNumericSummary", NULL, "ref float?", "double[14] 0 0 0 0 0 0 0 0 inf -inf nan nan 1 0"},
        {"DebugNumericSummary", "debug_urls=[grpc://h:1]", "float[1] 1",
         "Unimplemented: Braid does not send to debug URL 'grpc://h:1'"},
        {"DebugNumericSummary", NULL, "string[1] a",
         "NotFound: No OpKernel was registered to support Op 'DebugNumericSummary'"},
    };
    OP_TEST_VALUES(cases);
}

static void gradients_match_finite_differences(void **state)
{
    (void)state;
    static const op_grad_case cases[] = {
        {"DebugGradientIdentity", NULL, "double[2] 1 2"},
    };
    OP_TEST_GRADIENTS(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_follow_the_definition),
        cmocka_unit_test(numeric_summary_follows_its_definition),
        cmocka_unit_test(gradients_match_finite_differences),
    };
    return BD_RUN_TESTS(tests);
}

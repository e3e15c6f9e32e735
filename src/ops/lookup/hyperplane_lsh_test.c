// Tests of HyperplaneLSHProbes; values are those of TensorFlow 1.15.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

#define OP "HyperplaneLSHProbes"
#define POINTS "double[2,4] 1.2 0.5 -0.9 -1 2 -3 1 -1.5"

static void near_buckets_come_first(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {OP, NULL, POINTS "; int32[] 2; int32[] 2; int32[] 4",
         "int32[2,4] 3 0 2 2 2 2 0 3; int32[2,4] 0 1 0 1 0 1 1 1"},
        {OP, NULL, POINTS "; int32[] 2; int32[] 2; int32[] 8",
         "int32[2,8] 3 0 2 2 1 1 0 3 2 2 0 3 1 0 3 1; int32[2,8] 0 1 0 1 1 0 0 1 0 1 1 1 1 0 0 0"},
        {OP, NULL, POINTS "; int32[] 1; int32[] 4; int32[] 11",
         "int32[2,11] 12 8 14 13 10 9 4 0 15 11 6 10 8 11 9 2 0 3 1 14 12 15; "
         "int32[2,11] 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0"},
        // Fewer probes than tables.
        {OP, NULL, "float[2,4] 1.2 0.5 -0.9 -1 2 -3 1 -1.5; int32[] 4; int32[] 1; int32[] 2",
         "int32[2,2] 1 1 1 0; int32[2,2] 0 1 0 1"},
        {OP, NULL, "float[0,4]; int32[] 2; int32[] 2; int32[] 4", "int32[0,4]; int32[0,4]"},
        {OP, NULL, POINTS "; int32[] 2; int32[] 2; int32[] 9",
         "Internal: Failed to get probe number 8 for point number 0."},
        {OP, NULL, "double[4] 1 2 3 4; int32[] 2; int32[] 2; int32[] 4",
         "InvalidArgument: Need a two-dimensional products tensor, got 1 dimensions."},
        {OP, NULL, POINTS "; int32[1] 2; int32[] 2; int32[] 4",
         "InvalidArgument: Need a scalar num_tables tensor, got 1 dimensions."},
        {OP, NULL, POINTS "; int32[] 0; int32[] 2; int32[] 4",
         "InvalidArgument: num_tables must be at least 1 but got 0."},
        {OP, NULL, POINTS "; int32[] 1001; int32[] 2; int32[] 4",
         "InvalidArgument: Need num_tables <= 1000, got 1001."},
        {OP, NULL, POINTS "; int32[] 1; int32[] 31; int32[] 4",
         "InvalidArgument: Need num_hyperplanes_per_table <= 30, got 31."},
        {OP, NULL, POINTS "; int32[] 2; int32[] 2; int32[] 0",
         "InvalidArgument: num_probes must be at least 1"},
        {OP, NULL, POINTS "; int32[] 3; int32[] 2; int32[] 4",
         "InvalidArgument: Expected number of hyperplanes is 6 but received 4 inner products per point."},
    };
    OP_TEST_VALUES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(near_buckets_come_first)};
    return BD_RUN_TESTS(tests);
}

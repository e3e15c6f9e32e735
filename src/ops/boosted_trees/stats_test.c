// Tests of the statistics of boosted trees and of the splits that are made of them. Values are those of
// TensorFlow 1.15.
#include "base/testing/test.h"
#include "ops/testing/op_test.h"

static void gradients_are_summed_by_node_and_bucket(void **state)
{
    (void)state;
#define MAKE "BoostedTreesMakeStatsSummary", "max_splits=2; num_buckets=3; num_features=2"
#define GH "float[3,1] 0.1 0.2 0.3; float[3,1] 1 2 3; "
    static const op_case cases[] = {
        {MAKE, "int32[3] 0 1 1; " GH "int32[3] 0 1 2; int32[3] 1 1 0",
         "float[2,2,3,2] 0.1 1 0 0 0 0  0 0 0.2 2 0.3 3  0 0 0.1 1 0 0  0.3 3 0.2 2 0 0"},
        {MAKE, "int32[0]; float[0,1]; float[0,1]; int32[0]; int32[0]", "float[2,2,3,2] 0"},
        {MAKE, "int32[] 0; " GH "int32[3] 0 1 2; int32[3] 1 1 0", "InvalidArgument: "},
        {MAKE, "int32[3] 0 1 2; " GH "int32[3] 0 1 2; int32[3] 1 1 0",
         "InvalidArgument: node_ids[2] = 2 is not in [0, 2)"},
        {MAKE, "int32[3] 0 -1 1; " GH "int32[3] 0 1 2; int32[3] 1 1 0",
         "InvalidArgument: node_ids[1] = -1 is not in [0, 2)"},
        {MAKE, "int32[3] 0 1 1; " GH "int32[3] 0 1 2; int32[3] 1 3 0",
         "InvalidArgument: Row 1 of feature 1 is in bucket 3, but there are 3 buckets"},
        {MAKE, "int32[3] 0 1 1; " GH "int32[3] 0 1 2; int32[3] 1 -1 0", "InvalidArgument: in bucket -1"},
        {MAKE, "int32[3] 0 1 1; " GH "int32[3] 0 1 2; int32[2] 1 1", "InvalidArgument: "},
        {MAKE, "int32[3] 0 1 1; " GH "int32[3] 0 1 2; int32[] 1", "InvalidArgument: "},
        {MAKE, "int32[3] 0 1 1; float[] 1; float[3,1] 1; int32[3] 0; int32[3] 0", "InvalidArgument: "},
        {MAKE, "int32[3] 0 1 1; float[3,1] 1; float[3,2] 1; int32[3] 0; int32[3] 0", "InvalidArgument: "},
        {"BoostedTreesMakeStatsSummary", "max_splits=2147483648; num_buckets=3; num_features=1",
         "int32[1] 0; float[1,1] 1; float[1,1] 1; int32[1] 0", "InvalidArgument: more than an int32"},
        {"BoostedTreesMakeStatsSummary", "max_splits=2147483647; num_buckets=2147483646; num_features=1",
         "int32[1] 0; float[1,1] 1; float[1,1] 1; int32[1] 0", "ResourceExhausted: "},
    };
    OP_TEST_VALUES(cases);
}

static void columns_of_a_matrix_have_a_bucket_for_what_is_missing(void **state)
{
    (void)state;
#define AGGREGATE "BoostedTreesAggregateStats", "max_splits=2; num_buckets=2"
    static const op_case cases[] = {
        {AGGREGATE, "int32[3] 0 1 1; float[3,1] 0.5 1 2; float[3,1] 1 2 3; int32[3,2] 0 -1 1 0 1 1",
         "float[2,2,3,2] 0.5 1 0 0 0 0  0 0 0 0 0.5 1  0 0 3 5 0 0  1 2 2 3 0 0"},
        {AGGREGATE, "int32[1] 0; float[1,2] 1 2; float[1,2] 3 4; int32[1,1] 1",
         "float[2,1,3,4] 0 0 0 0 1 2 3 4 0 0 0 0  0 0 0 0 0 0 0 0 0 0 0 0"},
        {AGGREGATE, "int32[0]; float[0,1]; float[0,1]; int32[0,1]", "float[2,1,3,2] 0"},
        {AGGREGATE, "int32[1] 0; float[1,1] 1; float[1,1] 1; int32[1,0]", "float[2,0,3,2]"},
        {AGGREGATE, "int32[1] 0; float[1,1] 1; float[1,1] 1; int32[1,1] 3", "InvalidArgument: in bucket 3"},
        {AGGREGATE, "int32[1] 0; float[1,1] 1; float[1,1] 1; int32[1,1] -2", "InvalidArgument: in bucket -2"},
        {AGGREGATE, "int32[] 0; float[1,1] 1; float[1,1] 1; int32[1,1] 0", "InvalidArgument: "},
        {AGGREGATE, "int32[1] 7; float[1,1] 1; float[1,1] 1; int32[1,1] 0",
         "InvalidArgument: node_ids[0] = 7"},
    };
    OP_TEST_VALUES(cases);
}

static void a_sparse_matrix_lacks_what_it_does_not_name(void **state)
{
    (void)state;
#define SPARSE "BoostedTreesSparseAggregateStats", "max_splits=2; num_buckets=3"
#define ROWS "int32[3] 0 1 1; float[3,1] 0.1 0.2 0.3; float[3,1] 1 2 3; "
    static const op_case cases[] = {
        {SPARSE, ROWS "int32[2,2] 0 0 1 1; int32[2] 2 0; int32[2] 3 2",
         "int32[10,4] 0 0 2 0  0 0 2 1  0 1 3 0  0 1 3 1  1 0 3 0  1 0 3 1  1 1 0 0  1 1 0 1  1 1 3 0  1 1 3 1; "
         "float[10] 0.1 1 0.1 1 0.5 5 0.2 2 0.3 3; int32[4] 2 2 4 2"},
        {SPARSE, "int32[0]; float[0,1]; float[0,1]; int32[0,2]; int32[0]; int32[2] 0 2",
         "int32[0,4]; float[0]; int32[4] 2 2 4 2"},
        {SPARSE, ROWS "int32[1,2] 3 0; int32[1] 0; int32[2] 3 2", "InvalidArgument: is not within [3,2]"},
        {SPARSE, ROWS "int32[1,2] 0 2; int32[1] 0; int32[2] 3 2", "InvalidArgument: is not within [3,2]"},
        {SPARSE, ROWS "int32[1,2] -1 0; int32[1] 0; int32[2] 3 2", "InvalidArgument: is not within [3,2]"},
        {SPARSE, ROWS "int32[2,2] 1 0 0 0; int32[2] 0; int32[2] 3 2", "InvalidArgument: is not behind [1,0]"},
        {SPARSE, ROWS "int32[2,2] 1 0 1 0; int32[2] 0; int32[2] 3 2", "InvalidArgument: is not behind [1,0]"},
        {SPARSE, ROWS "int32[1,2] 0 0; int32[1] 4; int32[2] 3 2", "InvalidArgument: in bucket 4"},
        {SPARSE, ROWS "int32[1,2] 0 0; int32[1] 0; int32[2] 3 -1", "InvalidArgument: -1 columns"},
        {SPARSE, ROWS "int32[1,2] 0 0; int32[1] 0; int32[3] 3 2 1", "InvalidArgument: "},
        {SPARSE, ROWS "int32[1,2] 0 0; int32[2] 0; int32[2] 3 2", "InvalidArgument: "},
        {SPARSE, "int32[] 0; float[3,1] 1; float[3,1] 1; int32[1,2] 0; int32[1] 0; int32[2] 3 2",
         "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

// ---- Splits ----

// Sums [node][bucket][gradient, hessian] of two features.
#define GAINS "BoostedTreesCalculateBestGainsPerFeature", "max_splits=2; num_features=1"
#define TWO_NODES "float[2,3,2] 0 0 0.08 0.09 0 0  0 0 0.15 0.36 0.06 0.07; "

static void each_feature_splits_after_its_best_bucket(void **state)
{
    (void)state;
    static const op_case cases[] = {
        {GAINS, "int32[2] 1 2; " TWO_NODES "float[] 0; float[] 0; float[] 0; float[] 0",
         "int32[1] 1; float[1] 0.0113704; int32[1] 1; float[1,1] -0.416667; float[1,1] -0.857143",
         .tolerance = 1e-5},
        // l1 is more than what the right has of gradients: no bucket gains, and the first one is taken
        {GAINS, "int32[2] 1 2; " TWO_NODES "float[] 0.1; float[] 1; float[] 0.5; float[] 0",
         "int32[1] 1; float[1] -0.5; int32[1] 0; float[1,1] 0; float[1,1] -0.0769231", .tolerance = 1e-5},
        {GAINS, "int32[2] 0 2; " TWO_NODES "float[] 0; float[] 0; float[] 0; float[] 0.1",
         "int32[1] 1; *; *; *; *"}, // node 0 is too light
        {GAINS, "int32[2] 0 0; " TWO_NODES "float[] 0; float[] 0; float[] 0; float[] 0",
         "int32[0]; float[0]; int32[0]; float[0,1]; float[0,1]"},
        {GAINS, "int32[2] 0 3; " TWO_NODES "float[] 0; float[] 0; float[] 0; float[] 0",
         "InvalidArgument: node_id_range [0, 3) is not within the 2 nodes"},
        {GAINS, "int32[2] -1 1; " TWO_NODES "float[] 0; float[] 0; float[] 0; float[] 0",
         "InvalidArgument: node_id_range [-1, 1)"},
        {GAINS, "int32[] 0; " TWO_NODES "float[] 0; float[] 0; float[] 0; float[] 0", "InvalidArgument: "},
        {GAINS, "int32[2] 0 1; float[] 1; float[] 0; float[] 0; float[] 0; float[] 0", "InvalidArgument: "},
        {GAINS, "int32[2] 0 1; " TWO_NODES "float[1] 0; float[] 0; float[] 0; float[] 0",
         "InvalidArgument: "},
        {GAINS, "int32[2] 0 1; float[2,3,3] 0; float[] 0; float[] 0; float[] 0; float[] 0",
         "InvalidArgument: "},
        {"BoostedTreesCalculateBestGainsPerFeature", "max_splits=1; num_features=2",
         "int32[2] 0 1; float[1,2,2] 0; float[1,3,2] 0; float[] 0; float[] 0; float[] 0; float[] 0",
         "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

#define DENSE "BoostedTreesCalculateBestFeatureSplit"
#define SUMS "float[1,1,3,2] -2 1 1 1 3 2; " // two buckets, and what is missing

static void what_is_missing_goes_where_it_gains_more(void **state)
{
    (void)state;
    static const op_case cases[] = {
        // left: 2^2/1 = 4, right: 4^2/3; the node: 2^2/4
        {DENSE, "logits_dimension=1", "int32[2] 0 1; " SUMS "float[] 0; float[] 0; float[] 0; float[] 0",
         "int32[1] 0; float[1] 8.33333; int32[1] 0; int32[1] 0; float[1,1] 2; float[1,1] -1.33333; string[1] "
         "INEQUALITY_DEFAULT_RIGHT",
         .tolerance = 1e-5},
        {DENSE, "logits_dimension=1; split_type=equality",
         "int32[2] 0 1; " SUMS "float[] 0; float[] 0; float[] 1; float[] 0",
         "int32[1] 0; float[1] 7.33333; int32[1] 0; int32[1] 0; float[1,1] 2; float[1,1] -1.33333; string[1] "
         "EQUALITY_DEFAULT_RIGHT",
         .tolerance = 1e-5},
        {DENSE, "logits_dimension=1", "int32[2] 0 1; " SUMS "float[] 0; float[] 0; float[] 0; float[] 5",
         "int32[0]; float[0]; int32[0]; int32[0]; float[0,1]; float[0,1]; string[0]"},
        // two logits, and the diagonal of their hessian, then the whole of it
        {DENSE, "logits_dimension=2",
         "int32[2] 0 1; float[1,1,3,4] -2 1 1 1 1 2 1 2 0 0 0 0; float[] 0; float[] 0; float[] 0; float[] 0",
         "int32[1] 0; float[1] 4.5; int32[1] 0; int32[1] 0; float[1,2] 2 -1; float[1,2] -1 -1; string[1] "
         "INEQUALITY_DEFAULT_LEFT"},
        {DENSE, "logits_dimension=2",
         "int32[2] 0 1; float[1,1,3,6] -2 1 1 0 0 1 1 2 1 0 0 2 0 0 0 0 0 0; float[] 0; float[] 0; float[] 0; float[] 0",
         "int32[1] 0; float[1] 4.5; int32[1] 0; int32[1] 0; float[1,2] 2 -1; float[1,2] -1 -1; string[1] "
         "INEQUALITY_DEFAULT_LEFT",
         .tolerance = 1e-5},
        {DENSE, "logits_dimension=1",
         "int32[2] 0 1; float[1,0,3,2]; float[] 0; float[] 0; float[] 0; float[] 0",
         "int32[0]; float[0]; int32[0]; int32[0]; float[0,1]; float[0,1]; string[0]"},
        {DENSE, "logits_dimension=2", "int32[2] 0 1; " SUMS "float[] 0; float[] 0; float[] 0; float[] 0",
         "InvalidArgument: hessian dim should be 2 or its square, got 0"},
        {DENSE, "logits_dimension=1", "int32[2] 0 2; " SUMS "float[] 0; float[] 0; float[] 0; float[] 0",
         "InvalidArgument: node_id_range [0, 2)"},
        {DENSE, "logits_dimension=1", "int32[] 0; " SUMS "float[] 0; float[] 0; float[] 0; float[] 0",
         "InvalidArgument: "},
        {DENSE, "logits_dimension=1", "int32[2] 0 1; float[] 1; float[] 0; float[] 0; float[] 0; float[] 0",
         "InvalidArgument: "},
        {DENSE, "logits_dimension=1",
         "int32[2] 0 1; float[1,1,0,2]; float[] 0; float[] 0; float[] 0; float[] 0",
         "InvalidArgument: has no bucket for what is missing"},
        {DENSE, "logits_dimension=1", "int32[2] 0 1; " SUMS "float[2] 0; float[] 0; float[] 0; float[] 0",
         "InvalidArgument: "},
        {DENSE, "logits_dimension=9223372036854775807",
         "int32[2] 0 1; " SUMS "float[] 0; float[] 0; float[] 0; float[] 0", "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

static void sparse_statistics_split_as_dense_ones(void **state)
{
    (void)state;
#define SPARSE_SPLIT "BoostedTreesSparseCalculateBestFeatureSplit"
#define ENTRIES                                                                                              \
    "int32[6,4] 0 0 0 0  0 0 0 1  0 0 1 0  0 0 1 1  0 0 2 0  0 0 2 1; float[6] -2 1 1 1 3 2; int32[4] 1 1 3 2; "
    static const op_case cases[] = {
        {SPARSE_SPLIT, "logits_dimension=1",
         "int32[2] 0 1; " ENTRIES "float[] 0; float[] 0; float[] 0; float[] 0",
         "int32[1] 0; float[1] 8.33333; int32[1] 0; int32[1] 0; float[1,1] 2; float[1,1] -1.33333; string[1] "
         "INEQUALITY_DEFAULT_RIGHT",
         .tolerance = 1e-5},
        {SPARSE_SPLIT, "logits_dimension=1",
         "int32[2] 0 1; int32[0,4]; float[0]; int32[4] 1 1 3 2; float[] 0; float[] 0; float[] 0; float[] 0",
         "int32[0]; float[0]; int32[0]; int32[0]; float[0,1]; float[0,1]; string[0]"},
        {SPARSE_SPLIT, "logits_dimension=1",
         "int32[2] 1 2; " ENTRIES "float[] 0; float[] 0; float[] 0; float[] 0",
         "InvalidArgument: is of node 0, which is not in [1, 2)"},
        {SPARSE_SPLIT, "logits_dimension=2",
         "int32[2] 0 1; " ENTRIES "float[] 0; float[] 0; float[] 0; float[] 0",
         "InvalidArgument: one dimensional"},
        {SPARSE_SPLIT, "logits_dimension=1",
         "int32[2] 0 1; int32[1,4] 0 0 0 2; float[1] 1; int32[4] 1 1 3 2; float[] 0; float[] 0; float[] 0; float[] 0",
         "InvalidArgument: is of statistic 2, but there are 2"},
        {SPARSE_SPLIT, "logits_dimension=1",
         "int32[2] 0 1; int32[1,4] 0; float[1] 1; int32[3] 1 1 3; float[] 0; float[] 0; float[] 0; float[] 0",
         "InvalidArgument: "},
        {SPARSE_SPLIT, "logits_dimension=1",
         "int32[] 0; int32[1,4] 0; float[1] 1; int32[4] 1 1 3 2; float[] 0; float[] 0; float[] 0; float[] 0",
         "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

static void shapes_follow_from_attrs_and_inputs(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"BoostedTreesMakeStatsSummary", "max_splits=7; num_buckets=3; num_features=2",
         "int32[?]; [?,1]; [?,1]; int32[?]; int32[?]", "[2,7,3,2]"},
        {"BoostedTreesMakeStatsSummary", "max_splits=7; num_buckets=3; num_features=1",
         "int32[3]; [3,1]; [3,1]; int32[4]", "InvalidArgument: Dimensions must be equal, but are 3 and 4"},
        {"BoostedTreesAggregateStats", "max_splits=7; num_buckets=3", "int32[?]; [?,2]; [?,?]; int32[?,5]",
         "[7,5,4,?]"},
        {"BoostedTreesSparseAggregateStats", "max_splits=7; num_buckets=3",
         "int32[?]; [?,2]; [?,2]; int32[?,2]; int32[?]; int32[2]", "[?,4]; [?]; [4]"},
        {GAINS, "int32[2]; [?,?,?]; []; []; []; []", "[?]; [?]; [?]; [?,1]; [?,1]"},
        {GAINS, "int32[3]; [?,?,?]; []; []; []; []", "InvalidArgument: node_id_range must have shape [2]"},
        {DENSE, "logits_dimension=3", "int32[2]; ?; []; []; []; []", "[?]; [?]; [?]; [?]; [?,3]; [?,3]; [?]"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_are_summed_by_node_and_bucket),
        cmocka_unit_test(columns_of_a_matrix_have_a_bucket_for_what_is_missing),
        cmocka_unit_test(a_sparse_matrix_lacks_what_it_does_not_name),
        cmocka_unit_test(each_feature_splits_after_its_best_bucket),
        cmocka_unit_test(what_is_missing_goes_where_it_gains_more),
        cmocka_unit_test(sparse_statistics_split_as_dense_ones),
        cmocka_unit_test(shapes_follow_from_attrs_and_inputs),
    };
    return BD_RUN_TESTS(tests);
}

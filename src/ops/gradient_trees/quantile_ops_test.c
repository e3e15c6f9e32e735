// Tests of quantiles. Values are those of TensorFlow 1.15.
#include "base/account.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

static const op_case values[] = {
    {"MakeQuantileSummaries", "num_dense_features=1; num_sparse_features=1; epsilon=0.1",
     "float[6,1] 5 1 2 2 9 4; int64[3,2] 0 0 2 1 5 0; float[3] 3 1 2; int64[2] 6 2; float[6,1] 1 1 3 1 1 1",
     "string[] \\x0a\\x0f\\x0d\\x00\\x00\\x80\\x3f\\x15\\x00\\x00\\x80\\x3f\\x25\\x00\\x00\\x80\\x3f\\x0a\\x14\\x0d\\x00\\x00\\x00\\x40\\x15\\x00\\x00\\x80\\x40\\x1d\\x00\\x00\\x80\\x3f\\x25\\x00\\x00\\xa0\\x40\\x0a\\x14\\x0d\\x00\\x00\\x80\\x40\\x15\\x00\\x00\\x80\\x3f\\x1d\\x00\\x00\\xa0\\x40\\x25\\x00\\x00\\xc0\\x40\\x0a\\x14\\x0d\\x00\\x00\\xa0\\x40\\x15\\x00\\x00\\x80\\x3f\\x1d\\x00\\x00\\xc0\\x40\\x25\\x00\\x00\\xe0\\x40\\x0a\\x14\\x0d\\x00\\x00\\x10\\x41\\x15\\x00\\x00\\x80\\x3f\\x1d\\x00\\x00\\xe0\\x40\\x25\\x00\\x00\\x00\\x41; string[] \\x0a\\x0f\\x0d\\x00\\x00\\x80\\x3f\\x15\\x00\\x00\\x40\\x40\\x25\\x00\\x00\\x40\\x40\\x0a\\x14\\x0d\\x00\\x00\\x00\\x40\\x15\\x00\\x00\\x80\\x3f\\x1d\\x00\\x00\\x40\\x40\\x25\\x00\\x00\\x80\\x40\\x0a\\x14\\x0d\\x00\\x00\\x40\\x40\\x15\\x00\\x00\\x80\\x3f\\x1d\\x00\\x00\\x80\\x40\\x25\\x00\\x00\\xa0\\x40"},
    {"Quantiles", "num_dense_features=1; num_sparse_features=1",
     "float[2,1] 1.5 9; float[2] 2 0; float[3] 1 2 3; float[3] 0 2 4; int64[2,2] 0 0 1 3",
     "int32[2,2] 1 0 2 0; int32[2,2] 1 0 0 3"},
    {"BucketizeWithInputBoundaries", "T=int32", "int32[3,2] -5 10000 150 10 5 100; float[3] 0 10 100",
     "int32[3,2] 0 3 3 2 1 3"},
    {"QuantileBuckets",
     "num_dense_features=1; num_sparse_features=1; dense_config=[\\x09\\x7b\\x14\\xae\\x47\\xe1\\x7a\\x84\\x3f\\x10\\x02]; sparse_config=[\\x09\\x7b\\x14\\xae\\x47\\xe1\\x7a\\x84\\x3f\\x10\\x02]",
     "float[6,1] 5 1 2 2 9 4; int64[3,2] 0 0 2 1 5 0; float[3] 3 1 2; int64[2] 6 2; float[6,1] 1 1 3 1 1 1",
     "float[3] 1 4 9; float[2] 1 3"},
    {"MakeQuantileSummaries", "num_dense_features=1; num_sparse_features=1; epsilon=0.1",
     "float[2,1] 5 1; int64[1,2] 7 0; float[1] 3; int64[2] 2 1; float[2,1] 1",
     "InvalidArgument: A sparse feature is of example 7 of 2"},
    {"MakeQuantileSummaries", "num_dense_features=1; num_sparse_features=1; epsilon=0.1",
     "float[2,1] 5 1; int64[1,2] 0 0; float[1] 3; int64[2] 3 1; float[2,1] 1",
     "InvalidArgument: Sparse column shape doesn't match the batch size."},
    {"MakeQuantileSummaries", "num_dense_features=1; num_sparse_features=1; epsilon=0.1",
     "float[3,1] 5; int64[1,2] 0 0; float[1] 3; int64[2] 2 1; float[2,1] 1",
     "InvalidArgument: Dense feature 0 has 3 values"},
    {"MakeQuantileSummaries", "num_dense_features=1; num_sparse_features=1; epsilon=0",
     "float[2,1] 5 1; int64[1,2] 0 0; float[1] 3; int64[2] 2 1; float[2,1] 1",
     "InvalidArgument: An epsilon value of zero is not allowed."},
    {"MakeQuantileSummaries", "num_dense_features=1; num_sparse_features=1; epsilon=0.1",
     "float[0,1]; int64[0,2]; float[0]; int64[2] 0 1; float[0,1]", "string[] ''; string[] ''"},
    {"QuantileBuckets",
     "num_dense_features=1; num_sparse_features=1; dense_config=[\\x09\\x7b\\x14\\xae\\x47\\xe1\\x7a\\x84\\x3f\\x10\\x02]; sparse_config=[\\x09\\x7b\\x14\\xae\\x47\\xe1\\x7a\\x84\\x3f\\x10\\x02]",
     "float[2,1] 5 1; int64[1,2] -7 0; float[1] 3; int64[2] 2 1; float[2,1] 1",
     "InvalidArgument: A sparse feature is of example -7 of 2"},
    {"QuantileBuckets",
     "num_dense_features=1; num_sparse_features=1; dense_config=[\\x09\\x7b\\x14\\xae\\x47\\xe1\\x7a\\x84\\x3f\\x10\\x02]; sparse_config=[\\x09\\x7b\\x14\\xae\\x47\\xe1\\x7a\\x84\\x3f\\x10\\x02]",
     "float[0,1]; int64[0,2]; float[0]; int64[2] 0 1; float[0,1]", "float[0]; float[0]"},
    {"QuantileBuckets",
     "num_dense_features=1; num_sparse_features=1; dense_config=[\\x09\\x7b\\x14\\xae\\x47\\xe1\\x7a\\x84\\x3f\\x10\\x02]; sparse_config=[\\x09\\x7b\\x14\\xae\\x47\\xe1\\x7a\\x84\\x3f\\x10\\x02]",
     "float[] 3; int64[1,2] 0 0; float[] 3; int64[2] 1 1; float[] 1", "float[1] 3; float[1] 3"},
    {"MakeQuantileSummaries", "num_dense_features=1; num_sparse_features=1; epsilon=0.1",
     "float[] 3; int64[] 0; float[] 0; int64[] 1; float[] 1",
     "InvalidArgument: Sparse feature 0 must have indices of two columns"},
    {"Quantiles", "num_dense_features=1; num_sparse_features=1",
     "float[1] 1; float[1] 1; float[0]; float[1] 1; int64[1,2] 0",
     "InvalidArgument: Feature 0 must have one value in each row"},
    {"Quantiles", "num_dense_features=1; num_sparse_features=1",
     "float[1] 1; float[1] 1; float[1] 1; float[1] 1; int64[1,1] 0",
     "InvalidArgument: Sparse feature 1 must have indices"},
    {"Quantiles", "num_dense_features=1; num_sparse_features=1",
     "float[] 1; float[] 1; float[] 1; float[1] 1; int64[] 0",
     "InvalidArgument: Feature 0 must have one value in each row"},
    {"Quantiles", "num_dense_features=1; num_sparse_features=1",
     "float[0]; float[0]; float[0]; float[0]; int64[0,2]", "int32[0,2]; int32[0,2]"},
    {"BucketizeWithInputBoundaries", NULL, "float[1] 1; float[2] 2 1",
     "InvalidArgument: Expected sorted boundaries"},
    {"BucketizeWithInputBoundaries", NULL, "float[] 1.5; float[2] 1 2", "int32[] 1"},
    {"BucketizeWithInputBoundaries", NULL, "double[0]; float[2] 1 2", "int32[0]"},
    {"BucketizeWithInputBoundaries", NULL, "int64[2] 1 2; float[] 2", "int32[2] 0 1"},
};

static void features_become_summaries_and_buckets(void **state)
{
    (void)state;
    OP_TEST_VALUES(values);
}

typedef struct accumulator {
    op_live *live;
    braid_out handle;
} accumulator;

// A node over the handle and placeholders of the types in `letters`: l int64, s string, b bool, f float.
static braid_op *use(const accumulator *a, const char *op, const char *attrs, const char *letters)
{
    braid_out inputs[8] = {a->handle};
    int count = 1;
    for (; *letters; letters++)
        inputs[count++] = op_live_placeholder(a->live, *letters == 'l'   ? BRAID_INT64
                                                       : *letters == 's' ? BRAID_STRING
                                                       : *letters == 'b' ? BRAID_BOOL
                                                                         : BRAID_FLOAT);
    return op_test_node(a->live->graph, op, attrs, inputs, count);
}

#define RUN(NODE, FEEDS, WANT) op_live_run(a.live, NODE, FEEDS, WANT)
// Values 1 and 2 of weight 1: the second has ranks 1 and 2.
#define SUMMARY                                                                                                           \
    "\\x0a\\x0f\\x0d\\x00\\x00\\x80\\x3f\\x15\\x00\\x00\\x80\\x3f\\x25\\x00\\x00\\x80\\x3f\\x0a\\x14\\x0d\\x00\\x00\\x00" \
    "\\x40\\x15\\x00\\x00\\x80\\x3f\\x1d\\x00\\x00\\x80\\x3f\\x25\\x00\\x00\\x00\\x40"

static void an_accumulator_makes_buckets_at_a_flush(void **state)
{
    (void)state;
    accumulator a = {.live = op_live_new()};
    a.handle.op = op_test_node(a.live->graph, "QuantileStreamResourceHandleOp", "shared_name=e", NULL, 0);
    braid_op *create = use(&a, "CreateQuantileAccumulator", "epsilon=0.3; num_quantiles=2", "l");
    braid_op *bad = use(&a, "CreateQuantileAccumulator", "epsilon=0; num_quantiles=2", "l");
    braid_op *none = use(&a, "CreateQuantileAccumulator", "epsilon=0.3; num_quantiles=0", "l");
    braid_op *is_there = use(&a, "QuantileAccumulatorIsInitialized", NULL, "");
    braid_op *add = use(&a, "QuantileAccumulatorAddSummaries", "num_resource_handles=1", "ls");
    braid_op *get = use(&a, "QuantileAccumulatorGetBuckets", "num_resource_handles=1", "l");
    braid_op *flush = use(&a, "QuantileAccumulatorFlush", NULL, "ll");
    braid_op *summary = use(&a, "QuantileAccumulatorFlushSummary", NULL, "ll");
    braid_op *save = use(&a, "QuantileAccumulatorSerialize", NULL, "");
    braid_op *restore = use(&a, "QuantileAccumulatorDeserialize", NULL, "lsbf");
    RUN(is_there, "", "bool[] false");
    RUN(get, "int64[] 0", "NotFound: ");
    RUN(save, "", "NotFound: ");
    RUN(bad, "int64[] 0", "InvalidArgument: An epsilon value of zero is not allowed.");
    RUN(none, "int64[] 0", "InvalidArgument: num_quantiles must be 1 to");
    RUN(create, "int64[0]", "InvalidArgument: stamp_token must be a scalar");
    RUN(create, "int64[] 0", "");
    RUN(is_there, "", "bool[] true");
    RUN(save, "", "int64[] 0; string[] \\x0a\\x00; bool[] false; float[0]");
    RUN(add, "int64[] 0; string[] " SUMMARY, "");
    RUN(add, "int64[] 5; string[] " SUMMARY, "");
    RUN(add, "int64[] 0; string[] rubbish", "InvalidArgument: Unable to parse quantile summary");
    RUN(add, "int64[] 0; string[0]", "InvalidArgument: summaries must be a scalar");
    RUN(add, "int64[2] 0; string[] ''", "InvalidArgument: stamp_token must be a scalar");
    RUN(get, "int64[] 0", "bool[] false; float[0]");
    RUN(get, "int64[0]", "InvalidArgument: stamp_token must be a scalar");
    RUN(flush, "int64[] 1; int64[] 2", "InvalidArgument: Invalid stamp token");
    RUN(flush, "int64[0]; int64[] 2", "InvalidArgument: stamp_token must be a scalar");
    RUN(flush, "int64[] 0; int64[] 1", "");
    RUN(get, "int64[] 1", "bool[] true; float[2] 1 2");
    RUN(get, "int64[] 0", "bool[] false; float[0]");
    RUN(summary, "int64[] 1; int64[0]", "InvalidArgument: next_stamp_token must be a scalar");
    RUN(summary, "int64[] 1; int64[] 2", "string[] ''");
    RUN(add, "int64[] 2; string[] " SUMMARY, "");
    RUN(summary, "int64[] 2; int64[] 3", "string[] " SUMMARY);
    RUN(restore, "int64[1] 7; string[1] \\x0a\\x00; bool[1] true; float[1] 4", "");
    RUN(restore, "int64[] 7; string[] ''; bool[] true; float[1] 4",
        "InvalidArgument: The quantile stream state");
    RUN(restore, "int64[] 7; string[0]; bool[] true; float[] 4",
        "InvalidArgument: stream_state must be a scalar");
    RUN(get, "int64[] 7", "bool[] true; float[1] 4");
    a.handle.op =
        op_test_node(a.live->graph, "DecisionTreeEnsembleResourceHandleOp", "shared_name=e", NULL, 0);
    RUN(use(&a, "QuantileAccumulatorIsInitialized", NULL, ""), "", "InvalidArgument: ");
    op_live_free(a.live);
}

static void quantiles_are_of_equal_weight(void **state)
{
    (void)state;
    accumulator a = {.live = op_live_new()};
    a.handle.op = op_test_node(a.live->graph, "QuantileStreamResourceHandleOp", "shared_name=e", NULL, 0);
    RUN(use(&a, "CreateQuantileAccumulator", "epsilon=0.3; num_quantiles=3; generate_quantiles=true", "l"),
        "int64[] 0", "");
    RUN(use(&a, "QuantileAccumulatorAddSummaries", "num_resource_handles=1", "ls"),
        "int64[] 0; string[] " SUMMARY, "");
    RUN(use(&a, "QuantileAccumulatorFlush", NULL, "ll"), "int64[] 0; int64[] 1", "");
    RUN(use(&a, "QuantileAccumulatorGetBuckets", "num_resource_handles=1", "l"), "int64[] 1",
        "bool[] true; float[4] 1 1 2 2");
    op_live_free(a.live);
}

static void a_stream_that_is_too_large_for_the_client_changes_nothing(void **state)
{
    (void)state;
    accumulator a = {.live = op_live_new()};
    bd_strbuf feeds = {0};
    bd_strbuf_appendf(&feeds, "int64[] 7; string[] \\x0a\\xd0\\x0f"); // a summary of 2000 bytes
    for (int i = 0; i < 1000; i++)
        bd_strbuf_appendf(&feeds, "\\x0a\\x00"); // an entry, which takes 16 bytes of memory
    bd_strbuf_appendf(&feeds, "\\x0a\\x00; bool[] true; float[1] 4");
    a.handle.op = op_test_node(a.live->graph, "QuantileStreamResourceHandleOp", "shared_name=e", NULL, 0);
    RUN(use(&a, "CreateQuantileAccumulator", "epsilon=0.3; num_quantiles=3", "l"), "int64[] 0", "");
    braid_op *restore = use(&a, "QuantileAccumulatorDeserialize", NULL, "lsbf");
    bd_account *account = bd_account_new("c", 15000, 0);
    const bd_account_turn turn = bd_account_enter(account);
    RUN(restore, feeds.data, "ResourceExhausted: The quantiles of a feature");
    bd_account_leave(turn);
    bd_account_unref(account);
    RUN(use(&a, "QuantileAccumulatorSerialize", NULL, ""), "",
        "int64[] 0; string[] \\x0a\\x00; bool[] false; float[0]");
    bd_strbuf_fini(&feeds);
    op_live_free(a.live);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(features_become_summaries_and_buckets),
        cmocka_unit_test(an_accumulator_makes_buckets_at_a_flush),
        cmocka_unit_test(quantiles_are_of_equal_weight),
        cmocka_unit_test(a_stream_that_is_too_large_for_the_client_changes_nothing),
    };
    return BD_RUN_TESTS(tests);
}

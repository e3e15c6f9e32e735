// Tests of quantile summaries, streams and buckets. Values of ops are those of TensorFlow 1.15.
#include "base/random.h"
#include "base/testing/test.h"
#include "ops/boosted_trees/quantile_sketch.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"
#include <math.h>
#include <stdlib.h>

// ---- The sketch ----

static int compare_floats(const void *left, const void *right)
{
    const float *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

// The ranks of all boundaries are right but for the error that was asked for, whatever the number of values.
static void boundaries_are_at_even_ranks(void **state)
{
    (void)state;
    enum {
        COUNT = 20000,
        BATCH = 500,
        BUCKETS = 20
    };
    static float all[COUNT];
    BD_STATUS(st);
    bd_rng rng = bd_rng_init(5);
    bd_quantile_stream stream;
    assert_int_equal(bd_quantile_stream_init(&stream, 0.01, INT64_C(1) << 40, st), BRAID_OK);
    for (int from = 0; from < COUNT; from += BATCH) {
        bd_quantile_stream batch;
        bd_quantile_summary summary = {0};
        assert_int_equal(bd_quantile_stream_init(&batch, 0.01, BATCH + 1, st), BRAID_OK);
        for (int i = from; i < from + BATCH; i++) {
            const double u = (double)(bd_rng_next(&rng) >> 11) / 9007199254740992.0;
            all[i] = (float)(u * u * u);
            bd_quantile_stream_add(&batch, all[i], 1);
        }
        assert_int_equal(bd_quantile_stream_finish(&batch, &summary, st), BRAID_OK);
        bd_quantile_stream_add_summary(&stream, summary.items, (int64_t)summary.len);
        bd_array_free(&summary);
    }
    bd_quantile_summary summary = {0};
    assert_int_equal(bd_quantile_stream_finish(&stream, &summary, st), BRAID_OK);
    float quantiles[BUCKETS + 1];
    assert_int_equal(bd_quantile_values(&summary, BUCKETS, quantiles), BUCKETS + 1);
    qsort(all, COUNT, sizeof *all, compare_floats);
    for (int i = 0; i <= BUCKETS; i++) {
        int rank = 0;
        while (rank < COUNT && all[rank] < quantiles[i])
            rank++;
        assert_true(abs(rank - i * COUNT / BUCKETS) <= (int)(0.02 * COUNT)); // of a batch, and of the stream
    }
    bd_array_free(&summary);
}

static void values_that_are_no_numbers_are_behind_all_others(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_quantile_stream stream;
    bd_quantile_summary summary = {0};
    assert_int_equal(bd_quantile_stream_init(&stream, 0.1, 100, st), BRAID_OK);
    const float values[] = {NAN, 3, -INFINITY, NAN, 1, INFINITY};
    for (int i = 0; i < 6; i++)
        bd_quantile_stream_add(&stream, values[i], 1);
    assert_int_equal(bd_quantile_stream_finish(&stream, &summary, st), BRAID_OK);
    assert_true(summary.items[0].value == -INFINITY && summary.items[1].value == 1);
    assert_true(isnan(summary.items[summary.len - 1].value));
    bd_array_free(&summary);
}

// ---- Ops ----

static void summaries_have_values_weights_and_ranks(void **state)
{
    (void)state;
#define SUMMARIES "BoostedTreesMakeQuantileSummaries"
    static const op_case cases[] = {
        {SUMMARIES, "num_features=2", "float[5] 1 3 2 2 5; float[5] 9; float[5] 1 2 1 1 1; float[] 0.3",
         "float[4,4] 1 1 0 1  2 2 1 3  3 2 3 5  5 1 5 6; float[1,4] 9 6 0 6"},
        {SUMMARIES, "num_features=1", "float[3] 2 1 3; float[1] 2; float[] 0.5",
         "float[2,4] 1 2 0 2  3 2 4 6"},
        {SUMMARIES, "num_features=1", "float[2] 2 1; float[2] 0 -1; float[] 0.5", "float[0,4]"},
        {SUMMARIES, "num_features=1", "float[2] 2 1; float[2] nan inf; float[] 0.5", "float[0,4]"},
        {SUMMARIES, "num_features=1", "float[0]; float[0]; float[] 0.5", "float[0,4]"},
        {SUMMARIES, "num_features=1", "float[3] 2 1 3; float[2] 2; float[] 0.5",
         "InvalidArgument: Weights should be a single value or same size as features."},
        {SUMMARIES, "num_features=1", "float[3] 2 1 3; float[1] 2; float[] 0",
         "InvalidArgument: An epsilon value of zero is not allowed."},
        {SUMMARIES, "num_features=1", "float[3] 2 1 3; float[1] 2; float[] 1", "InvalidArgument: below 1"},
        {SUMMARIES, "num_features=1", "float[3] 2 1 3; float[1] 2; float[] nan", "InvalidArgument: epsilon"},
        {SUMMARIES, "num_features=1", "float[] 2; float[1] 2; float[] 0.5", "InvalidArgument: "},
        {SUMMARIES, "num_features=1", "float[1] 2; float[] 2; float[] 0.5", "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

static void values_are_in_the_bucket_of_the_first_boundary_that_is_not_below(void **state)
{
    (void)state;
#define BUCKETIZE "BoostedTreesBucketize", "num_features=1"
    static const op_case cases[] = {
        {BUCKETIZE, "float[6] -1 0 1 2 3 99; float[3] 0 1 3", "int32[6] 0 0 1 2 2 2"},
        {BUCKETIZE, "float[2] 5 nan; float[0]", "int32[2] 0 0"},
        {BUCKETIZE, "float[0]; float[2] 0 1", "int32[0]"},
        {BUCKETIZE, "float[3] 1 5 9; float[3] 3 2 1", "*"}, // boundaries that are not sorted
        {BUCKETIZE, "float[] 1; float[1] 0", "InvalidArgument: "},
        {BUCKETIZE, "float[1] 1; float[] 0", "InvalidArgument: "},
    };
    OP_TEST_VALUES(cases);
}

// ---- Streams ----

// A node over the handle, and placeholders of the types in `letters`: f float, l int64.
static braid_op *use(op_live *l, const char *op, const char *attrs, braid_out handle, const char *letters)
{
    braid_out inputs[8] = {handle};
    int count = 1;
    for (; *letters; letters++)
        inputs[count++] = op_live_placeholder(l, *letters == 'f' ? BRAID_FLOAT : BRAID_INT64);
    braid_op *node = op_test_node(l->graph, op, attrs, inputs, count);
    BD_STATUS(st);
    if (braid_graph_status(l->graph, st)) fail_msg("%s", braid_status_message(st));
    return node;
}

static braid_out new_handle(op_live *l, const char *op)
{
    return (braid_out){op_test_node(l->graph, op, "shared_name=s", NULL, 0), 0};
}

static void streams_make_boundaries_of_summaries(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    const braid_out h = new_handle(l, "BoostedTreesQuantileStreamResourceHandleOp");
    braid_op *is_there = use(l, "IsBoostedTreesQuantileStreamResourceInitialized", NULL, h, "");
    braid_op *create = use(l, "BoostedTreesCreateQuantileStreamResource", NULL, h, "fl");
    braid_op *add = use(l, "BoostedTreesQuantileStreamResourceAddSummaries", "num_features=2", h, "ff");
    braid_op *flush = use(l, "BoostedTreesQuantileStreamResourceFlush", NULL, h, "l");
    braid_op *flush_quantiles =
        use(l, "BoostedTreesQuantileStreamResourceFlush", "generate_quantiles=true", h, "l");
    braid_op *flush_summaries = use(l, "BoostedTreesFlushQuantileSummaries", "num_features=2", h, "");
    braid_op *boundaries =
        use(l, "BoostedTreesQuantileStreamResourceGetBucketBoundaries", "num_features=2", h, "");
    braid_op *restore = use(l, "BoostedTreesQuantileStreamResourceDeserialize", "num_streams=2", h, "ff");

    op_live_run(l, is_there, "", "bool[] false");
    op_live_run(l, boundaries, "", "NotFound: ");
    op_live_run(l, flush, "int64[] 3", "NotFound: ");
    op_live_run(l, flush_summaries, "", "NotFound: ");
    op_live_run(l, create, "float[] 0; int64[] 2",
                "InvalidArgument: An epsilon value of zero is not allowed.");
    op_live_run(l, create, "float[] 0.1; int64[] -1", "InvalidArgument: Num_streams");
    op_live_run(l, create, "float[] 0.1; int64[] 4000000000", "InvalidArgument: Num_streams");
    op_live_run(l, create, "float[] 0.1; int64[0]", "InvalidArgument: num_streams must be a scalar");
    op_live_run(l, create, "float[] 0.1; int64[] 2", "");
    op_live_run(l, create, "float[] 0.1; int64[] 5", ""); // they exist, and stay
    op_live_run(l, is_there, "", "bool[] true");
    op_live_run(l, boundaries, "", "float[0]; float[0]");

    op_live_run(l, add, "float[3,4] 1 1 0 1  2 1 1 2  4 1 2 3; float[0,4]", "");
    op_live_run(l, add, "float[2,4] 2 1 0 1  3 1 1 2; float[1,4] 7 1 0 1", "");
    op_live_run(l, add, "float[2,3] 1; float[0,4]", "InvalidArgument: 4 columns");
    op_live_run(l, add, "float[] 1; float[0,4]", "InvalidArgument: summaries must be a matrix");
    op_live_run(l, flush, "int64[] 0", "InvalidArgument: num_buckets must be 1 to");
    op_live_run(l, flush, "int64[0]", "InvalidArgument: num_buckets must be a scalar");
    op_live_run(l, flush, "int64[] 10", "");
    op_live_run(l, boundaries, "", "float[4] 1 2 3 4; float[1] 7");

    op_live_run(l, add, "float[3,4] 1 1 0 1  2 1 1 2  4 1 2 3; float[1,4] 7 1 0 1", "");
    op_live_run(l, flush_quantiles, "int64[] 2", "InvalidArgument: num_buckets must be 3 to");
    op_live_run(l, flush_quantiles, "int64[] 2147483648", "InvalidArgument: num_buckets must be");
    op_live_run(l, flush_quantiles, "int64[] 3", "");
    op_live_run(l, boundaries, "", "float[3] 1 2 4; float[3] 7 7 7");

    op_live_run(l, add, "float[1,4] 5 1 0 1; float[0,4]", "");
    op_live_run(l, flush_summaries, "", "float[1,4] 5 1 0 1; float[0,4]");
    op_live_run(l, flush_summaries, "", "float[0,4]; float[0,4]");

    op_live_run(l, restore, "float[2] 0.5 1; float[0]", "");
    op_live_run(l, boundaries, "", "float[2] 0.5 1; float[0]");
    op_live_run(l, restore, "float[] 1; float[0]", "InvalidArgument: bucket_boundaries must be a vector");
    braid_op *other =
        use(l, "BoostedTreesQuantileStreamResourceGetBucketBoundaries", "num_features=3", h, "");
    op_live_run(l, other, "", "InvalidArgument: The resource has 2 quantile streams, but the op 3 features");
    braid_op *mistaken = use(l, "IsBoostedTreesQuantileStreamResourceInitialized", NULL,
                             new_handle(l, "BoostedTreesEnsembleResourceHandleOp"), "");
    op_live_run(l, mistaken, "", "InvalidArgument: ");
    op_live_free(l);
}

// Summaries of a peer need not be sorted, nor their numbers be finite.
static void hostile_summaries_make_some_boundaries(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    const braid_out h = new_handle(l, "BoostedTreesQuantileStreamResourceHandleOp");
    op_live_run(l, use(l, "BoostedTreesCreateQuantileStreamResource", "max_elements=10", h, "fl"),
                "float[] 0.5; int64[] 1", "");
    braid_op *add = use(l, "BoostedTreesQuantileStreamResourceAddSummaries", "num_features=1", h, "f");
    for (int i = 0; i < 9; i++)
        op_live_run(
            l, add,
            "float[7,4] 9 -1 5 1  nan nan nan nan  inf inf -inf inf  -inf 0 0 0  3 1e38 1e38 1e38  2 1 1 1  1 1 1 1",
            "");
    op_live_run(l, use(l, "BoostedTreesQuantileStreamResourceFlush", NULL, h, "l"), "int64[] 3", "");
    op_live_run(l, use(l, "BoostedTreesQuantileStreamResourceGetBucketBoundaries", "num_features=1", h, ""),
                "", "*");
    braid_op *bad = use(l, "BoostedTreesCreateQuantileStreamResource", "max_elements=-1", h, "fl");
    op_live_run(l, bad, "float[] 0.5; int64[] 1", "InvalidArgument: max_elements must be positive, got -1");
    op_live_free(l);
}

static void shapes_follow_from_attrs_and_inputs(void **state)
{
    (void)state;
    static const op_shape_case cases[] = {
        {"BoostedTreesQuantileStreamResourceHandleOp", NULL, "", "[]"},
        {SUMMARIES, "num_features=2", "[?]; [?]; [?]; []", "[?,4]; [?,4]"},
        {SUMMARIES, "num_features=1", "[?,1]; [?]; []",
         "InvalidArgument: Shape must be rank 1 but is rank 2"},
        {BUCKETIZE, "[5]; ?", "[5]"},
        {"BoostedTreesFlushQuantileSummaries", "num_features=2", "resource[]", "[?,4]; [?,4]"},
        {"BoostedTreesQuantileStreamResourceGetBucketBoundaries", "num_features=2", "resource[]", "[?]; [?]"},
    };
    OP_TEST_SHAPES(cases);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boundaries_are_at_even_ranks),
        cmocka_unit_test(values_that_are_no_numbers_are_behind_all_others),
        cmocka_unit_test(summaries_have_values_weights_and_ranks),
        cmocka_unit_test(values_are_in_the_bucket_of_the_first_boundary_that_is_not_below),
        cmocka_unit_test(streams_make_boundaries_of_summaries),
        cmocka_unit_test(hostile_summaries_make_some_boundaries),
        cmocka_unit_test(shapes_follow_from_attrs_and_inputs),
    };
    return BD_RUN_TESTS(tests);
}

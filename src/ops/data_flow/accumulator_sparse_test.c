// Tests of accumulators of sparse gradients. Values follow TensorFlow's own tests and its definition,
// computed by hand.
// labels: concurrent
#include "base/testing/test.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

#include <stdio.h>

typedef struct accumulator_nodes {
    op_live *live;
    braid_op *apply, *take, *set_step, *count;
} accumulator_nodes;

typedef struct options {
    const char *shared_name, *reduction;
    bool has_known_shape;
} options;

static accumulator_nodes make_nodes(op_live *l, braid_dtype dtype, braid_shape shape, options o)
{
    braid_op_desc *d = braid_op_begin(l->graph, "SparseConditionalAccumulator", NULL);
    braid_op_attr_type(d, "dtype", dtype);
    braid_op_attr_shape(d, "shape", shape);
    if (o.shared_name) braid_op_attr_string(d, "shared_name", o.shared_name);
    if (o.reduction) braid_op_attr_string(d, "reduction_type", o.reduction);
    braid_out a = braid_op_end_out(d), step = op_live_placeholder(l, BRAID_INT64),
              number = op_live_placeholder(l, BRAID_INT32);
    braid_out inputs[5] = {a, step, op_live_placeholder(l, BRAID_INT64), op_live_placeholder(l, dtype),
                           op_live_placeholder(l, BRAID_INT64)};
    accumulator_nodes n = {.live = l};
    n.apply = op_test_node(l->graph, "SparseAccumulatorApplyGradient",
                           o.has_known_shape ? "has_known_shape=true" : "has_known_shape=false", inputs, 5);
    d = braid_op_begin(l->graph, "SparseAccumulatorTakeGradient", NULL);
    braid_op_input(d, a);
    braid_op_input(d, number);
    braid_op_attr_type(d, "dtype", dtype);
    n.take = braid_op_end(d);
    n.set_step = op_test_node(l->graph, "AccumulatorSetGlobalStep", NULL, (braid_out[]){a, step}, 2);
    n.count = op_test_node(l->graph, "AccumulatorNumAccumulated", NULL, &a, 1);
    BD_STATUS(st);
    if (braid_graph_status(l->graph, st)) fail_msg("%s", braid_status_message(st));
    return n;
}

#define RUN(NODE, FEEDS, WANT) op_live_run(n.live, n.NODE, FEEDS, WANT)
#define START(NODE, FEEDS) op_live_start(n.live, n.NODE, FEEDS)
#define NO_SHAPE "; int64[0]"

// Each row is divided by the number of gradients that had it.
static void mean(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    accumulator_nodes n = make_nodes(l, BRAID_FLOAT, bd_shape2(3, 2), (options){0});
    RUN(apply, "int64[] 0; int64[2] 0 2; float[2,2] 0 0 3 0" NO_SHAPE, "");
    RUN(apply, "int64[] 0; int64[2] 0 1; float[2,2] 1 0 0 2" NO_SHAPE, "");
    RUN(count, "", "int32[] 2");
    RUN(take, "int32[] 1", "int64[3] 0 1 2; float[3,2] 0.5 0 0 2 3 0; int64[2] 3 2");
    RUN(count, "", "int32[] 0");
    RUN(apply, "int64[] 1; int64[2] 0 2; float[2,2] 10 0 0 30" NO_SHAPE, "");
    RUN(apply, "int64[] 1; int64[1] 2; float[1,2] 6 6" NO_SHAPE, "");
    RUN(apply, "int64[] 1; int64[1] 2; float[1,2] 3 3" NO_SHAPE, "");
    RUN(take, "int32[] 3", "int64[2] 0 2; float[2,2] 10 0 3 13; int64[2] 3 2");
    op_live_free(l);
}

static void gradients_are_averaged_or_summed(void **state)
{
    (void)state;
    static const struct {
        braid_dtype dtype;
        const char *reduction, *first, *second, *want;
    } cases[] = {
        {BRAID_DOUBLE, "MEAN", "int64[1] 5; double[1] 1", "int64[1] 5; double[1] 2",
         "int64[1] 5; double[1] 1.5; int64[1] -1"},
        {BRAID_INT32, "MEAN", "int64[2] 1 3; int32[2,1,1] 4 1", "int64[1] 1; int32[1,1,1] 3",
         "int64[2] 1 3; int32[2,1,1] 3 1; int64[3] -1 1 1"},
        {BRAID_INT64, "SUM", "int64[1] 0; int64[1] 4", "int64[1] 0; int64[1] 3",
         "int64[1] 0; int64[1] 7; int64[1] -1"},
        {BRAID_FLOAT, "MEAN", "int64[0]; float[0,3]", "int64[1] 7; float[1,3] 1 2 3",
         "int64[1] 7; float[1,3] 1 2 3; int64[2] -1 3"},
        {BRAID_FLOAT, "SUM", "int64[2] 0 1; float[2,0]", "int64[2] 1 2; float[2,0]",
         "int64[3] 0 1 2; float[3,0]; int64[2] -1 0"},
        // Unsorted indices are merged in their order, and an index that occurs twice in one gradient stays
        // twice.
        {BRAID_FLOAT, "MEAN", "int64[2] 3 1; float[2] 1 2", "int64[2] 1 1; float[2] 10 20",
         "int64[4] 1 1 3 1; float[4] 10 20 1 2; int64[1] -1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        op_live *l = op_live_new();
        char feed[200];
        accumulator_nodes n =
            make_nodes(l, cases[i].dtype, BD_SHAPE_UNKNOWN, (options){.reduction = cases[i].reduction});
        snprintf(feed, sizeof feed, "int64[] 0; %s" NO_SHAPE, cases[i].first);
        RUN(apply, feed, "");
        snprintf(feed, sizeof feed, "int64[] 0; %s" NO_SHAPE, cases[i].second);
        RUN(apply, feed, "");
        RUN(take, "int32[] 1", cases[i].want);
        op_live_free(l);
    }
}

static void steps_and_waits(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    accumulator_nodes n = make_nodes(l, BRAID_FLOAT, BD_SHAPE_UNKNOWN, (options){0});
    RUN(set_step, "int64[] 5", "");
    RUN(apply, "int64[] 4; int64[1] 0; float[1] 1" NO_SHAPE, "");
    RUN(apply, "int64[] 4; int64[] 0; float[] 1" NO_SHAPE, ""); // dropped before its content is checked
    RUN(count, "", "int32[] 0");
    op_execution *waiting = START(take, "int32[] 2");
    RUN(apply, "int64[] 5; int64[1] 0; float[1] 1" NO_SHAPE, "");
    assert_false(op_execution_has_ended(waiting));
    RUN(apply, "int64[] 5; int64[1] 1; float[1] 2" NO_SHAPE, "");
    op_execution_expect(waiting, "int64[2] 0 1; float[2] 1 2; int64[1] -1");
    waiting = START(take, "int32[] 1");
    op_execution_cancel(waiting);
    op_execution_expect(waiting, "Cancelled: TakeGrad operation was cancelled");
    RUN(apply, "int64[] 6; int64[1] 0; float[1] 1" NO_SHAPE, ""); // left behind
    op_live_free(l);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    accumulator_nodes n =
        make_nodes(l, BRAID_FLOAT, bd_shape2(3, -1), (options){.shared_name = "s", .has_known_shape = true});
    RUN(apply, "int64[] 0; int64[] 0; float[1,2] 1; int64[2] 3 2",
        "InvalidArgument: Input indices should be vector but received shape: []");
    RUN(apply, "int64[] 0; int64[1] 0; float[] 1; int64[2] 3 2",
        "InvalidArgument: Values cannot be 0-dimensional.");
    RUN(apply, "int64[] 0; int64[1] 0; float[2,2] 1; int64[2] 3 2",
        "InvalidArgument: Expected 1 non-empty input values, got 2");
    RUN(apply, "int64[] 0; int64[1] 0; float[1,2] 1; int64[1] 3",
        "InvalidArgument: Shape mismatch: expected shape rank at least 2, got 1");
    RUN(apply, "int64[] 0; int64[1] 0; float[1,2] 1; int64[2] 4 2",
        "InvalidArgument: Shape mismatch: expected shape dim 0 to be 3, got 4");
    RUN(apply, "int64[] 0; int64[1] 3; float[1,2] 1; int64[2] 3 2",
        "InvalidArgument: Shape mismatch: index of slice 0 exceeded limits of shape; index is 3 exceeded 3");
    RUN(apply, "int64[] 0; int64[1] 0; float[1] 1; int64[2] 3 2",
        "InvalidArgument: Shape mismatch: expected values rank at least 2, got 1");
    RUN(apply, "int64[] 0; int64[1] 0; float[1,2] 1; int64[2] 3 2", "");
    RUN(apply, "int64[] 0; int64[1] 0; float[1,2,1] 1; int64[2] 3 2",
        "InvalidArgument: Shape mismatch: expected values rank 2, got 3");
    RUN(apply, "int64[] 0; int64[1] 0; float[1,3] 1; int64[2] 3 3",
        "InvalidArgument: Shape mismatch: expected values dim 1 to be 2, got 3");
    RUN(count, "", "int32[] 1");
    accumulator_nodes other = make_nodes(l, BRAID_DOUBLE, bd_shape2(3, -1), (options){.shared_name = "s"});
    op_live_run(l, other.count, "", "InvalidArgument: Shared accumulator 's' has type float");
    op_live_free(l);
}

// An accumulator of the other kind is an error for the op that makes one and for the ops that use one.
static void dense_ops_refuse_a_sparse_accumulator(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    accumulator_nodes n = make_nodes(l, BRAID_FLOAT, BD_SHAPE_UNKNOWN, (options){.shared_name = "s"});
    RUN(count, "", "int32[] 0");
    braid_out handle = n.count->inputs[0], step = op_live_placeholder(l, BRAID_INT64);
    braid_op *dense = op_test_node(l->graph, "AccumulatorApplyGradient", NULL,
                                   (braid_out[]){handle, step, op_live_placeholder(l, BRAID_FLOAT)}, 3);
    op_live_run(l, dense, "int64[] 0; float[1] 1", "InvalidArgument: accumulator 's' is sparse, not dense");
    braid_op_desc *d = braid_op_begin(l->graph, "AccumulatorTakeGradient", NULL);
    braid_op_input(d, handle);
    braid_op_input(d, op_live_placeholder(l, BRAID_INT32));
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    op_live_run(l, braid_op_end(d), "int32[] 1", "InvalidArgument: accumulator 's' is sparse, not dense");
    d = braid_op_begin(l->graph, "ConditionalAccumulator", NULL);
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", BD_SHAPE_UNKNOWN);
    braid_op_attr_string(d, "shared_name", "s");
    op_live_run(l, braid_op_end(d), "",
                "InvalidArgument: Shared accumulator 's' is sparse, but a dense one was requested");
    op_live_free(l);
}

// A taken value must not change when more gradients arrive.
static void a_taken_gradient_is_not_shared(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    accumulator_nodes n = make_nodes(l, BRAID_FLOAT, BD_SHAPE_UNKNOWN, (options){0});
    op_execution *first = START(apply, "int64[] 0; int64[2] 0 1; float[2] 1 2" NO_SHAPE); // holds its inputs
    RUN(apply, "int64[] 0; int64[2] 0 1; float[2] 3 4" NO_SHAPE, "");
    op_execution *taken = START(take, "int32[] 2");
    assert_true(bd_tensor_f32(&first->ctx.inputs[3].tensor)[0] == 1);
    op_execution_expect(first, "");
    RUN(apply, "int64[] 1; int64[2] 0 1; float[2] 9 9" NO_SHAPE, "");
    RUN(apply, "int64[] 1; int64[2] 0 1; float[2] 9 9" NO_SHAPE, "");
    op_execution_expect(taken, "int64[2] 0 1; float[2] 2 3; int64[1] -1");
    op_live_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean),
        cmocka_unit_test(gradients_are_averaged_or_summed),
        cmocka_unit_test(steps_and_waits),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(dense_ops_refuse_a_sparse_accumulator),
        cmocka_unit_test(a_taken_gradient_is_not_shared),
    };
    return BD_RUN_TESTS(tests);
}

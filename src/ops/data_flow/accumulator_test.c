// Tests of accumulators: means of fresh gradients, waiting, sharing.
// labels: concurrent
#include "base/alloc.h"
#include "base/testing/test.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

#include <stdio.h>

typedef struct accumulator_nodes {
    op_live *live;
    braid_op *apply, *take, *set_step, *count;
} accumulator_nodes;

// The names of the ops on an accumulator by reference, and by resource.
typedef struct accumulator_ops {
    const char *source, *apply, *take, *set_step, *count;
} accumulator_ops;

static const accumulator_ops by_reference = {"ConditionalAccumulator", "AccumulatorApplyGradient",
                                             "AccumulatorTakeGradient", "AccumulatorSetGlobalStep",
                                             "AccumulatorNumAccumulated"},
                             by_resource = {
                                 "ResourceConditionalAccumulator", "ResourceAccumulatorApplyGradient",
                                 "ResourceAccumulatorTakeGradient", "ResourceAccumulatorSetGlobalStep",
                                 "ResourceAccumulatorNumAccumulated"};

static accumulator_nodes make_nodes_of(op_live *l, const accumulator_ops *ops, braid_dtype dtype,
                                       braid_shape shape, const char *shared_name, const char *reduction)
{
    braid_op_desc *d = braid_op_begin(l->graph, ops->source, NULL);
    braid_op_attr_type(d, "dtype", dtype);
    braid_op_attr_shape(d, "shape", shape);
    braid_op_attr_string(d, "shared_name", shared_name);
    braid_op_attr_string(d, "reduction_type", reduction);
    braid_out a = braid_op_end_out(d), step = op_live_placeholder(l, BRAID_INT64),
              number = op_live_placeholder(l, BRAID_INT32);
    accumulator_nodes n = {.live = l};
    n.apply =
        op_test_node(l->graph, ops->apply, NULL, (braid_out[]){a, step, op_live_placeholder(l, dtype)}, 3);
    d = braid_op_begin(l->graph, ops->take, NULL);
    braid_op_input(d, a);
    braid_op_input(d, number);
    braid_op_attr_type(d, "dtype", dtype);
    n.take = braid_op_end(d);
    n.set_step = op_test_node(l->graph, ops->set_step, NULL, (braid_out[]){a, step}, 2);
    n.count = op_test_node(l->graph, ops->count, NULL, &a, 1);
    BD_STATUS(st);
    if (braid_graph_status(l->graph, st)) fail_msg("%s", braid_status_message(st));
    return n;
}

static accumulator_nodes make_nodes(op_live *l, braid_dtype dtype, braid_shape shape, const char *shared_name,
                                    const char *reduction)
{
    return make_nodes_of(l, &by_reference, dtype, shape, shared_name, reduction);
}

#define RUN(NODE, FEEDS, WANT) op_live_run(n.live, n.NODE, FEEDS, WANT)
#define START(NODE, FEEDS) op_live_start(n.live, n.NODE, FEEDS)

static void mean(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    accumulator_nodes n = make_nodes(l, BRAID_FLOAT, bd_shape1(2), "", "MEAN");
    RUN(apply, "int64[] 0; float[2] 1 2", "");
    RUN(apply, "int64[] 0; float[2] 3 5", "");
    RUN(apply, "int64[] 7; float[2] 5 8", ""); // of a later step: counts
    RUN(count, "", "int32[] 3");
    RUN(take, "int32[] 2", "float[2] 3 5"); // all three
    RUN(count, "", "int32[] 0");
    RUN(apply, "int64[] 1; float[2] 4 6", "");
    RUN(take, "int32[] 1", "float[2] 4 6");
    op_live_free(l);
}

static void accumulators_work_by_resource_handle(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    accumulator_nodes n = make_nodes_of(l, &by_resource, BRAID_FLOAT, bd_shape1(2), "", "MEAN");
    RUN(apply, "int64[] 0; float[2] 1 2", "");
    RUN(apply, "int64[] 0; float[2] 3 5", "");
    RUN(count, "", "int32[] 2");
    RUN(take, "int32[] 2", "float[2] 2 3.5");
    RUN(set_step, "int64[] 5", "");
    RUN(apply, "int64[] 4; float[2] 4 6", "");
    RUN(count, "", "int32[] 0");
    op_live_free(l);
}

static void gradients_are_averaged_or_summed(void **state)
{
    (void)state;
    static const struct sum_case {
        braid_dtype dtype;
        const char *reduction, *first, *second, *want;
    } cases[] = {
        {BRAID_DOUBLE, "MEAN", "int64[] 0; double[] 1", "int64[] 0; double[] 2", "double[] 1.5"},
        {BRAID_HALF, "MEAN", "int64[] 0; half[2] 0x3c00 0x4000", "int64[] 0; half[2] 0x4000 0xc000",
         "half[2] 0x3e00 0"},
        {BRAID_INT32, "MEAN", "int64[] 0; int32[] 4", "int64[] 0; int32[] 3", "int32[] 3"},
        {BRAID_INT64, "SUM", "int64[] 0; int64[] 4", "int64[] 0; int64[] 3", "int64[] 7"},
        {BRAID_FLOAT, "SUM", "int64[] 0; float[0]", "int64[] 0; float[0]", "float[0]"},
    };
    for (size_t i = 0; i < 2 * BD_COUNTOF(cases); i++) {
        op_live *l = op_live_new();
        const struct sum_case *c = &cases[i % BD_COUNTOF(cases)];
        const accumulator_ops *ops = i < BD_COUNTOF(cases) ? &by_reference : &by_resource;
        accumulator_nodes n = make_nodes_of(l, ops, c->dtype, BD_SHAPE_UNKNOWN, "", c->reduction);
        RUN(apply, c->first, "");
        RUN(apply, c->second, "");
        RUN(take, "int32[] 1", c->want);
        op_live_free(l);
    }
}

// A gradient computed before the last take, or before the step that was set, is dropped without an error.
static void stale_gradients_are_dropped(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    accumulator_nodes n = make_nodes(l, BRAID_FLOAT, BD_SCALAR, "", "MEAN");
    RUN(apply, "int64[] 0; float[] 1", "");
    RUN(take, "int32[] 1", "float[] 1"); // the accumulator is at step 1 now
    RUN(apply, "int64[] 0; float[] 2", "");
    RUN(count, "", "int32[] 0");
    RUN(set_step, "int64[] 5", "");
    RUN(apply, "int64[] 4; float[] 2", "");
    RUN(apply, "int64[] 4; float[3] 2", "");
    RUN(count, "", "int32[] 0");
    RUN(apply, "int64[] 5; float[] 3", "");
    RUN(count, "", "int32[] 1");
    op_live_free(l);
}

// ---- Gradients of named replicas ----

enum {
    NAMED = 3
};

// The same accumulator, to which replica i applies its gradients by apply[i].
typedef struct named_nodes {
    accumulator_nodes n;
    braid_op *apply[NAMED], *dropped;
} named_nodes;

static named_nodes make_named(op_live *l, int share)
{
    named_nodes named = {.n = make_nodes(l, BRAID_FLOAT, bd_shape1(-1), "", "SUM")};
    const braid_out a = {named.n.apply->inputs[0].op, 0};
    for (int i = 0; i < NAMED; i++) {
        braid_op_desc *d = braid_op_begin(l->graph, "AccumulatorApplyGradient", NULL);
        braid_op_input(d, a);
        braid_op_input(d, op_live_placeholder(l, BRAID_INT64));
        braid_op_input(d, op_live_placeholder(l, BRAID_FLOAT));
        braid_op_attr_int(d, "_replica", i);
        braid_op_attr_int(d, "_replica_share", share);
        named.apply[i] = braid_op_end(d);
    }
    braid_op_desc *d = braid_op_begin(l->graph, "AccumulatorNumAccumulated", NULL);
    braid_op_input(d, a);
    braid_op_attr_bool(d, "_dropped", true);
    named.dropped = braid_op_end(d);
    return named;
}

// In float 1e8 + 1 - 1e8 is 0, and 1e8 - 1e8 + 1 is 1.
static void gradients_of_named_replicas_are_added_in_their_order(void **state)
{
    (void)state;
    static const char *const gradients[NAMED] = {"float[1] 1e8", "float[1] -1e8", "float[1] 1"};
    static const int orders[][NAMED] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    for (size_t i = 0; i < BD_COUNTOF(orders); i++) {
        op_live *l = op_live_new();
        named_nodes named = make_named(l, 1);
        accumulator_nodes n = named.n;
        for (int k = 0; k < NAMED; k++) {
            char feeds[64];
            snprintf(feeds, sizeof feeds, "int64[] 0; %s", gradients[orders[i][k]]);
            op_live_run(l, named.apply[orders[i][k]], feeds, "");
        }
        RUN(count, "", "int32[] 3");
        RUN(take, "int32[] 3", "float[1] 1");
        RUN(count, "", "int32[] 0");
        op_live_free(l);
    }
}

static void a_named_replica_gives_its_share_to_a_step(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    named_nodes named = make_named(l, 2);
    accumulator_nodes n = named.n;
    op_execution *taken = START(take, "int32[] 4");
    op_live_run(l, named.apply[1], "int64[] 0; float[1] -1e8", "");
    op_live_run(l, named.apply[1], "int64[] 0; float[1] 1", "");
    op_live_run(l, named.apply[1], "int64[] 0; float[1] 7", ""); // one too many
    op_live_run(l, named.apply[0], "int64[] 0; float[1] 5e7", "");
    op_live_run(l, named.dropped, "", "int32[] 1");
    assert_false(op_execution_has_ended(taken));
    op_live_run(l, named.apply[0], "int64[] 0; float[1] 5e7", "");
    op_execution_expect(taken, "float[1] 1");
    op_live_run(l, named.apply[1], "int64[] 0; float[1] 7", ""); // stale
    op_live_run(l, named.dropped, "", "int32[] 2");
    op_live_free(l);
}

static void wrong_replicas_and_shapes_of_named_replicas_are_errors(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    named_nodes named = make_named(l, 1);
    op_live_run(l, named.apply[0], "int64[] 0; float[2] 1 2", "");
    op_live_run(l, named.apply[1], "int64[] 0; float[3] 1 2 3",
                "InvalidArgument: Shape mismatch: expected [2], got [3]");
    named = make_named(l, 0);
    op_live_run(l, named.apply[0], "int64[] 0; float[1] 1", "InvalidArgument: AccumulatorApplyGradient");
    op_live_free(l);
}

static void takers_wait_in_turn(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    accumulator_nodes n = make_nodes(l, BRAID_FLOAT, BD_SCALAR, "", "MEAN");
    op_execution *a = START(take, "int32[] 2"), *b = START(take, "int32[] 1"), *c = START(take, "int32[] 1");
    RUN(apply, "int64[] 0; float[] 1", ""); // enough for b, but a is first
    assert_false(op_execution_has_ended(b));
    RUN(apply, "int64[] 0; float[] 3", "");
    op_execution_expect(a, "float[] 2");
    assert_false(op_execution_has_ended(b));
    op_execution_cancel(b);
    op_execution_expect(b, "Cancelled: TakeGrad operation was cancelled");
    RUN(apply, "int64[] 1; float[] 4", "");
    op_execution_expect(c, "float[] 4");
    op_execution *d = START(take, "int32[] 1");
    bd_resources_clear(l->resources, "");
    op_execution_expect(d, "Cancelled: TakeGrad operation was cancelled");
    op_live_free(l);
}

static accumulator_nodes shared_vectors(op_live *l, const accumulator_ops *ops, braid_dtype dtype)
{
    return make_nodes_of(l, ops, dtype, bd_shape1(-1), "shared", "MEAN");
}

static void check_errors(const accumulator_ops *ops)
{
    op_live *l = op_live_new();
    accumulator_nodes n = shared_vectors(l, ops, BRAID_FLOAT);
    RUN(apply, "int64[] 0; float[2,1] 1", "InvalidArgument: Shape mismatch: expected [?], got [2,1]");
    RUN(apply, "int64[] 0; float[] 1", "InvalidArgument: Shape mismatch: expected [?], got []");
    RUN(apply, "int64[] 0; float[2] 1", "");
    RUN(apply, "int64[] 0; float[3] 1", "InvalidArgument: Shape mismatch: expected [2], got [3]");
    RUN(apply, "int64[1] 0; float[2] 1",
        "InvalidArgument: Argument local_step must be scalar, but had bad shape [1]");
    RUN(apply, "int64[0]; float[2] 1",
        "InvalidArgument: Argument local_step must be scalar, but had bad shape [0]");
    RUN(take, "int32[] 0", "InvalidArgument: Argument num_required must be positive, but was 0");
    RUN(take, "int32[2] 1 1", "InvalidArgument: Argument num_required must be scalar, but had bad shape [2]");
    RUN(take, "int32[0]", "InvalidArgument: Argument num_required must be scalar, but had bad shape [0]");
    RUN(set_step, "int64[2] 1 1",
        "InvalidArgument: Argument new_global_step must be scalar, but had bad shape [2]");
    RUN(set_step, "int64[0]",
        "InvalidArgument: Argument new_global_step must be scalar, but had bad shape [0]");
    RUN(count, "", "int32[] 1");
    accumulator_nodes other = shared_vectors(l, ops, BRAID_DOUBLE);
    op_live_run(l, other.count, "", "InvalidArgument: Shared accumulator 'shared' has type float");
    accumulator_nodes same = shared_vectors(l, ops, BRAID_FLOAT);
    op_live_run(l, same.count, "", "int32[] 1");
    op_live_free(l);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    check_errors(&by_reference);
    check_errors(&by_resource);
}

// A taken or held value must not change when the owner of its memory writes again.
static void a_taken_gradient_is_not_shared(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    accumulator_nodes n = make_nodes(l, BRAID_FLOAT, bd_shape1(2), "", "MEAN");
    op_execution *first = START(apply, "int64[] 0; float[2] 1 2"); // holds its inputs until it is freed
    RUN(apply, "int64[] 0; float[2] 3 4", "");
    assert_true(bd_tensor_f32(&first->ctx.inputs[2].tensor)[0] == 1);
    op_execution *taken = START(take, "int32[] 2");
    op_execution_expect(first, "");
    RUN(apply, "int64[] 1; float[2] 9 9", "");
    RUN(apply, "int64[] 1; float[2] 9 9", "");
    op_execution_expect(taken, "float[2] 2 3");
    op_live_free(l);
}

// ---- Synchronous replicas ----

#define REPLICAS 4
#define STEPS 100

typedef struct replica {
    accumulator_nodes n;
    int number;
    atomic_int *step; // the chief's
    bd_mutex *mu;
    bd_cond *changed;
} replica;

// Applies one gradient of value 1 + its number at each step, and waits for the chief to go on.
static void work(void *arg)
{
    replica *r = arg;
    accumulator_nodes n = r->n;
    for (int step = 0; step < STEPS; step++) {
        char feed[64];
        snprintf(feed, sizeof feed, "int64[] %d; float[] %d", step, 1 + r->number);
        RUN(apply, feed, "");
        snprintf(feed, sizeof feed, "int64[] %d; float[] 1000", step - 1);
        if (step > 0) RUN(apply, feed, ""); // too late
        bd_mutex_lock(r->mu);
        while (atomic_load(r->step) <= step)
            bd_cond_wait(r->changed, r->mu);
        bd_mutex_unlock(r->mu);
    }
}

static void synchronous_replicas_share_an_accumulator(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    accumulator_nodes n = make_nodes(l, BRAID_FLOAT, BD_SCALAR, "grads", "MEAN");
    atomic_int step = 0;
    bd_mutex mu;
    bd_cond changed;
    bd_mutex_init(&mu);
    bd_cond_init(&changed);
    bd_thread threads[REPLICAS];
    replica replicas[REPLICAS];
    BD_STATUS(st);
    for (int i = 0; i < REPLICAS; i++) {
        replicas[i] = (replica){n, i, &step, &mu, &changed};
        bd_thread_start(&threads[i], "replica", work, &replicas[i], st);
        assert_ok(st);
    }
    for (int i = 0; i < STEPS; i++) {
        RUN(take, "int32[] 4", "float[] 2.5");
        bd_mutex_lock(&mu);
        atomic_store(&step, i + 1);
        bd_cond_broadcast(&changed);
        bd_mutex_unlock(&mu);
    }
    for (int i = 0; i < REPLICAS; i++)
        bd_thread_join(&threads[i]);
    bd_cond_fini(&changed);
    bd_mutex_fini(&mu);
    op_live_free(l);
}

static void shapes_are_inferred(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    accumulator_nodes n = make_nodes(l, BRAID_FLOAT, bd_shape2(3, -1), "", "MEAN");
    char text[BD_SHAPE_STR_MAX];
    assert_string_equal(bd_shape_str(&n.apply->inputs[0].op->output_shapes[0], text), "[2]");
    assert_string_equal(bd_shape_str(&n.take->output_shapes[0], text), "[3,?]");
    assert_string_equal(bd_shape_str(&n.count->output_shapes[0], text), "[]");
    op_live_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mean),
        cmocka_unit_test(accumulators_work_by_resource_handle),
        cmocka_unit_test(gradients_are_averaged_or_summed),
        cmocka_unit_test(stale_gradients_are_dropped),
        cmocka_unit_test(gradients_of_named_replicas_are_added_in_their_order),
        cmocka_unit_test(a_named_replica_gives_its_share_to_a_step),
        cmocka_unit_test(wrong_replicas_and_shapes_of_named_replicas_are_errors),
        cmocka_unit_test(takers_wait_in_turn),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(a_taken_gradient_is_not_shared),
        cmocka_unit_test(synchronous_replicas_share_an_accumulator),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}

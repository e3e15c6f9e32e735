// Tests of queues: order, waiting, closing, cancelling, sharing.
// labels: concurrent
#include "base/testing/test.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"
#include "ops/testing/queue_nodes.h"

#define assert_waits(E) assert_false(op_execution_has_ended(E))
#define assert_ended(E) assert_true(op_execution_has_ended(E))

// ---- Order and waiting ----

static void check_order(const char *op)
{
    op_live *l = op_live_new();
    queue_nodes n = queue_nodes_make(l, (queue_spec){.op = op, .capacity = 3});
    RUN(enqueue, "int32[] 1", "");
    RUN(enqueue_many, "int32[2] 2 3", "");
    RUN(size, "", "int32[] 3");
    RUN(is_closed, "", "bool[] false");
    RUN(dequeue, "", "int32[] 1");
    RUN(dequeue_many, "int32[] 2", "int32[2] 2 3");
    RUN(dequeue_many, "int32[] 0", "int32[0]");
    RUN(enqueue_many, "int32[0]", "");
    RUN(size, "", "int32[] 0");
    RUN(close, "", "");
    RUN(is_closed, "", "bool[] true");
    op_live_free(l);
}

static void elements_leave_first_in_first_out(void **state)
{
    (void)state;
    check_order("FIFOQueueV2");
    check_order("FIFOQueue"); // the same through references
}

static void callers_wait_in_turn(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    queue_nodes n = queue_nodes_make(l, (queue_spec){.capacity = 2});
    op_execution *a = START(dequeue, ""), *b = START(dequeue_many, "int32[] 3"), *c = START(dequeue, "");
    assert_waits(a);
    RUN(enqueue, "int32[] 1", ""); // goes to the first waiter
    assert_ended(a);
    RUN(enqueue_many, "int32[2] 2 3", ""); // b has two, c may not overtake it
    assert_waits(b);
    RUN(size, "", "int32[] 0");
    // wants no element, so it does not wait
    op_execution_expect(START(dequeue_many, "int32[] 0"), "int32[0]");
    RUN(enqueue_many, "int32[2] 4 5", "");
    op_execution_expect(a, "int32[] 1");
    op_execution_expect(b, "int32[3] 2 3 4");
    op_execution_expect(c, "int32[] 5");

    // Enqueues of more than the capacity go in piece by piece; the next one waits behind.
    op_execution *d = START(enqueue_many, "int32[4] 1 2 3 4"), *e = START(enqueue, "int32[] 5");
    assert_waits(d);
    RUN(dequeue, "", "int32[] 1");
    RUN(size, "", "int32[] 2");
    RUN(dequeue, "", "int32[] 2");
    assert_ended(d);
    assert_waits(e);
    RUN(dequeue_many, "int32[] 3", "int32[3] 3 4 5");
    op_execution_expect(d, "");
    op_execution_expect(e, "");
    op_live_free(l);
}

static void elements_may_be_tuples(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_dtype types[] = {BRAID_STRING, BRAID_FLOAT};
    braid_shape shapes[] = {BD_SCALAR, bd_shape1(2)};
    queue_nodes n = queue_nodes_make(l, (queue_spec){.types = types, .count = 2, .shapes = shapes});
    RUN(enqueue, "string[] a; float[2] 1 2", "");
    RUN(enqueue_many, "string[2] b c; float[2,2] 3 4 5 6", "");
    RUN(dequeue, "", "string[] a; float[2] 1 2");
    RUN(dequeue_many, "int32[] 2", "string[2] b c; float[2,2] 3 4 5 6");
    RUN(enqueue, "string[] a; float[3] 1",
        "InvalidArgument: Shape mismatch in tuple component 1. Expected [2], got [3]");
    RUN(enqueue_many, "string[2] b c; float[3,2] 1",
        "InvalidArgument: Shape mismatch in tuple component 1. Expected [2,2], got [3,2]");
    RUN(enqueue_many, "string[] b; float[1,2] 1", "InvalidArgument: must have at least one dimension");
    op_live_free(l);
}

static void elements_may_have_any_shape(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_dtype types[] = {BRAID_INT32, BRAID_INT32};
    queue_nodes n = queue_nodes_make(l, (queue_spec){.types = types, .count = 2, .no_shapes = true});
    RUN(enqueue, "int32[2] 1 2; int32[] 3", "");
    RUN(enqueue, "int32[0]; int32[1] 4", "");
    RUN(dequeue, "", "int32[2] 1 2; int32[] 3");
    RUN(dequeue, "", "int32[0]; int32[1] 4");
    RUN(enqueue_many, "int32[2] 1 2; int32[3] 1",
        "InvalidArgument: must have the same size in the 0th dimension");
    RUN(dequeue_many, "int32[] 1",
        "InvalidArgument: FIFOQueue's DequeueMany and DequeueUpTo require the components to have specified shapes.");
    op_live_free(l);
}

// ---- Closing ----

static void a_closed_queue_refuses_elements(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    queue_nodes n = queue_nodes_make(l, (queue_spec){.shared_name = "q"});
    RUN(enqueue_many, "int32[3] 1 2 3", "");
    RUN(close, "", "");
    RUN(enqueue, "int32[] 4", "Cancelled: FIFOQueue 'q' is closed.");
    RUN(enqueue_many, "int32[2] 4 5", "Cancelled: FIFOQueue 'q' is closed.");
    RUN(dequeue, "", "int32[] 1");
    RUN(dequeue_many, "int32[] 3",
        "OutOfRange: FIFOQueue 'q' is closed and has insufficient elements (requested 3, current size 2)");
    RUN(dequeue_up_to, "int32[] 5", "int32[2] 2 3");
    RUN(dequeue, "",
        "OutOfRange: FIFOQueue 'q' is closed and has insufficient elements (requested 1, current size 0)");
    RUN(dequeue_up_to, "int32[] 5",
        "OutOfRange: FIFOQueue 'q' is closed and has insufficient elements (requested 5, current size 0)");
    RUN(dequeue_up_to, "int32[] 0", "int32[0]");
    RUN(close, "", "Cancelled: Queue 'q' is already closed.");
    RUN(cancel, "", "");
    op_live_free(l);
}

static void closing_ends_waits(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    queue_nodes n = queue_nodes_make(l, (queue_spec){0});
    op_execution *many = START(dequeue_many, "int32[] 3"), *up_to = START(dequeue_up_to, "int32[] 5"),
                 *one = START(dequeue, "");
    RUN(enqueue_many, "int32[2] 1 2", ""); // `many` holds both
    RUN(size, "", "int32[] 0");
    RUN(close, "", "");
    op_execution_expect(many, "OutOfRange: insufficient elements (requested 3, current size 2)");
    op_execution_expect(up_to, "int32[2] 1 2"); // the elements that `many` returned, in order
    op_execution_expect(one, "OutOfRange: insufficient elements (requested 1, current size 0)");
    op_live_free(l);
}

static void a_reset_queue_is_empty_and_open(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    queue_nodes n = queue_nodes_make(l, (queue_spec){.capacity = 2});
    op_execution *many = START(enqueue_many, "int32[3] 1 2 3");
    assert_waits(many);
    RUN(reset, "", "int32[] 2");
    op_execution_expect(many, ""); // there is room for the third
    RUN(close, "", "");
    RUN(reset, "", "int32[] 1");
    RUN(is_closed, "", "bool[] false");
    op_execution *one = START(dequeue, "");
    assert_waits(one);
    RUN(reset, "", "int32[] 0"); // the caller waits on
    RUN(enqueue, "int32[] 4", "");
    op_execution_expect(one, "int32[] 4");
    op_live_free(l);
}

// Enqueues that were waiting before the close still pass.
static void closing_waits_for_enqueues(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    queue_nodes n = queue_nodes_make(l, (queue_spec){.capacity = 1});
    op_execution *before = START(enqueue_many, "int32[3] 1 2 3"), *close = START(close, ""),
                 *after = START(enqueue, "int32[] 4");
    assert_waits(close);
    RUN(is_closed, "", "bool[] false");
    RUN(dequeue_many, "int32[] 2", "int32[2] 1 2");
    op_execution_expect(before, "");
    op_execution_expect(close, "");
    op_execution_expect(after, "Cancelled: is closed.");
    RUN(dequeue, "", "int32[] 3");
    op_live_free(l);

    l = op_live_new();
    n = queue_nodes_make(l, (queue_spec){.capacity = 1});
    before = START(enqueue_many, "int32[3] 1 2 3");
    RUN(cancel, "", "");
    op_execution_expect(before, "Cancelled: Enqueue operation was cancelled");
    RUN(dequeue, "", "int32[] 1");
    RUN(dequeue, "", "OutOfRange: is closed and has insufficient elements");
    op_live_free(l);
}

// ---- Cancelling ----

static void a_cancelled_caller_leaves_the_queue(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    queue_nodes n = queue_nodes_make(l, (queue_spec){.capacity = 2});
    op_execution *a = START(dequeue_many, "int32[] 3"), *b = START(dequeue, "");
    RUN(enqueue_many, "int32[2] 1 2", "");
    assert_waits(b);
    op_execution_cancel(a); // returns its elements, and b is served
    op_execution_expect(a, "Cancelled: Dequeue operation was cancelled");
    op_execution_expect(b, "int32[] 1");
    RUN(size, "", "int32[] 1");

    op_execution *c = START(enqueue_many, "int32[3] 3 4 5"), *d = START(enqueue, "int32[] 6"),
                 *e = START(close, "");
    op_execution_cancel(c);
    op_execution_expect(c, "Cancelled: Enqueue operation was cancelled");
    op_execution_cancel(e);
    op_execution_expect(e, "Cancelled: Enqueue operation was cancelled");
    RUN(dequeue_many, "int32[] 3", "int32[3] 2 3 6");
    op_execution_expect(d, "");
    RUN(is_closed, "", "bool[] false");
    op_live_free(l);
}

static void clearing_the_container_ends_the_waits(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    queue_nodes n = queue_nodes_make(l, (queue_spec){0});
    op_execution *a = START(dequeue, "");
    bd_resources_clear(l->resources, "");
    op_execution_expect(a, "Cancelled: Dequeue operation was cancelled");
    RUN(enqueue, "int32[] 1", ""); // the node makes a new queue
    RUN(dequeue, "", "int32[] 1");
    op_live_free(l);
}

// ---- Making and sharing ----

static void queues_are_shared_by_name(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    queue_nodes n = queue_nodes_make(l, (queue_spec){.shared_name = "tokens", .capacity = 7});
    queue_nodes same = queue_nodes_make(l, (queue_spec){.shared_name = "tokens", .capacity = 7});
    RUN(enqueue, "int32[] 1", "");
    op_live_run(l, same.dequeue, "", "int32[] 1");
    braid_dtype types[] = {BRAID_INT32, BRAID_INT32};
    struct {
        queue_spec spec;
        const char *want;
    } others[] = {
        {{.capacity = 8},
         "InvalidArgument: Shared queue 'tokens' has capacity 7 but requested capacity was 8"},
        {{.capacity = 7, .types = types, .count = 2},
         "InvalidArgument: has component types int32 but requested component types were int32, int32"},
        {{.capacity = 7, .no_shapes = true},
         "InvalidArgument: has component shapes [[]] but requested component shapes were []"},
        {{.capacity = 7, .op = "RandomShuffleQueueV2"}, "InvalidArgument: has type 'FIFOQueue'"},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        others[i].spec.shared_name = "tokens";
        queue_nodes other = queue_nodes_make(l, others[i].spec);
        op_live_run(l, other.size, "", others[i].want);
    }
    op_live_free(l);
}

// A queue without seeds shares a queue with any seeds.
static void a_shared_shuffle_queue_needs_the_same_seeds(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    queue_spec spec = {.op = "RandomShuffleQueueV2", .shared_name = "shuffled", .capacity = 7, .seed = 3};
    queue_nodes n = queue_nodes_make(l, spec);
    RUN(size, "", "int32[] 0");
    spec.seed = 0;
    n = queue_nodes_make(l, spec);
    RUN(size, "", "int32[] 0");
    spec.seed2 = 3;
    n = queue_nodes_make(l, spec);
    RUN(size, "",
        "InvalidArgument: Shared queue 'shuffled' has random seeds (3, 0) but requested seeds are (0, 3).");
    op_live_free(l);
}

// Without a shared name each session has its own.
static void private_queues_are_not_shared(void **state)
{
    (void)state;
    op_live *a = op_live_new(), *b = op_live_new();
    bd_resources *resources = b->resources;
    b->resources = a->resources; // two sessions on one device
    queue_nodes n = queue_nodes_make(a, (queue_spec){.name = "q"}),
                m = queue_nodes_make(b, (queue_spec){.name = "q"});
    RUN(enqueue, "int32[] 1", "");
    op_live_run(b, m.size, "", "int32[] 0");
    op_execution *waits = op_live_start(b, m.dequeue, "");
    op_execution_cancel(waits);
    op_execution_expect(waits, "Cancelled: ");
    b->resources = resources;
    op_live_free(b); // takes its queue along
    RUN(size, "", "int32[] 1");
    op_live_free(a);
}

static void wrong_inputs_are_errors(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_shape unknown = bd_shape1(-1), two[] = {BD_SCALAR, BD_SCALAR};
    queue_nodes n = queue_nodes_make(l, (queue_spec){.shapes = &unknown});
    RUN(size, "", "InvalidArgument: is not fully known");
    n = queue_nodes_make(l, (queue_spec){.op = "RandomShuffleQueueV2", .min_after_dequeue = -1});
    RUN(size, "", "InvalidArgument: min_after_dequeue -1 must be >= 0");
    n = queue_nodes_make(l, (queue_spec){.op = "RandomShuffleQueue", .min_after_dequeue = -1});
    RUN(size, "", "InvalidArgument: min_after_dequeue -1 must be >= 0");
    n = queue_nodes_make(l,
                         (queue_spec){.op = "RandomShuffleQueueV2", .min_after_dequeue = 5, .capacity = 5});
    RUN(size, "", "InvalidArgument: min_after_dequeue 5 must be < capacity 5");
    n = queue_nodes_make(l, (queue_spec){0});
    RUN(dequeue_many, "int32[] -1", "InvalidArgument: requested -1 < 0 elements");
    RUN(enqueue, "float[] 1",
        "InvalidArgument: Type mismatch in tuple component 0. Expected int32, got float");

    braid_dtype types[] = {BRAID_INT32, BRAID_INT32};
    braid_out q = queue_make(l, (queue_spec){0});
    queue_spec pair = {.types = types, .count = 2, .shapes = two};
    op_live_run(l, queue_enqueue_node(l, "QueueEnqueueV2", q, pair), "int32[] 1; int32[] 2",
                "InvalidArgument: Wrong number of components in tuple. Expected 1, got 2");
    op_live_run(l, queue_dequeue_node(l, "QueueDequeueV2", q, pair, false), "",
                "InvalidArgument: Signature mismatch");

    braid_op_desc *d = braid_op_begin(l->graph, "QueueDequeueV2", NULL);
    braid_op_input(d, q);
    braid_op_attr_type_list(d, "component_types", types, 1);
    braid_op_attr_int(d, "timeout_ms", 10);
    op_live_run(l, braid_op_end(d), "", "InvalidArgument: Timeout not supported yet.");
    op_live_free(l);
}

// A later update of the variable must not change the enqueued value.
static void variables_are_enqueued_by_value(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_out q = queue_make(l, (queue_spec){0});
    braid_op_desc *d = braid_op_begin(l->graph, "VariableV2", "v");
    braid_op_attr_type(d, "dtype", BRAID_INT32);
    braid_op_attr_shape(d, "shape", BD_SCALAR);
    braid_out v = braid_op_end_out(d);
    braid_op *assign =
        op_test_node(l->graph, "Assign", NULL, (braid_out[]){v, op_live_placeholder(l, BRAID_INT32)}, 2);
    op_execution *e = op_live_start(l, assign, "int32[] 1");
    op_execution_wait(e);
    braid_op *enqueue = op_test_node(l->graph, "QueueEnqueueV2", NULL, (braid_out[]){q, v}, 2);
    op_live_run(l, enqueue, "", "");
    op_execution *again = op_live_start(l, assign, "int32[] 2");
    op_execution_wait(again);
    op_live_run(l, queue_dequeue_node(l, "QueueDequeueV2", q, (queue_spec){0}, false), "", "int32[] 1");
    bd_value_fini(&e->ctx.outputs[0]);
    bd_value_fini(&again->ctx.outputs[0]);
    op_execution_expect(e, "*");
    op_execution_expect(again, "*");
    op_live_free(l);
}

// ---- Random order ----

static void a_shuffle_queue_draws_at_random(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    queue_nodes n = queue_nodes_make(
        l, (queue_spec){.op = "RandomShuffleQueueV2", .min_after_dequeue = 2, .seed = 3, .seed2 = 5});
    RUN(enqueue_many, "int32[6] 0 1 2 3 4 5", "");
    // TensorFlow's choice: each takes the next word of Philox(3, 5), modulo the size, and the last element
    // goes to its place. The order was computed with the rounds of Philox written out in Python.
    RUN(dequeue, "", "int32[] 3");
    RUN(dequeue, "", "int32[] 5");
    RUN(dequeue, "", "int32[] 0");
    RUN(dequeue, "", "int32[] 1");
    op_execution *e = START(dequeue_many, "int32[] 2"); // two stay while the queue is open
    assert_waits(e);
    RUN(size, "", "int32[] 2");
    RUN(close, "", "");
    op_execution_wait(e);
    assert_int_equal(
        bd_tensor_i32(&e->ctx.outputs[0].tensor)[0] + bd_tensor_i32(&e->ctx.outputs[0].tensor)[1], 6);
    op_execution_expect(e, "*");
    RUN(dequeue, "", "OutOfRange: RandomShuffleQueue '");
    op_live_free(l);
}

// ---- Shapes ----

static void shapes_are_inferred(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    braid_dtype types[] = {BRAID_STRING, BRAID_FLOAT};
    braid_shape shapes[] = {BD_SCALAR, bd_shape1(2)};
    queue_spec spec = {.types = types, .count = 2, .shapes = shapes};
    braid_out q = queue_make(l, spec);
    assert_int_equal(q.op->output_shapes[0].rank, 0);
    braid_op *one = queue_dequeue_node(l, "QueueDequeueV2", q, spec, false);
    assert_int_equal(one->output_shapes[1].dims[0], 2);
    braid_out three = op_test_node(l->graph, "Const", "dtype=int32; value=int32[] 3", NULL, 0)->output_count
                          ? braid_output(l->graph->nodes.items[l->graph->nodes.len - 1], 0)
                          : (braid_out){0};
    braid_op *many = op_test_node(l->graph, "QueueDequeueManyV2", "component_types=[string,float]",
                                  (braid_out[]){q, three}, 2);
    assert_int_equal(many->output_shapes[1].rank, 2);
    assert_int_equal(many->output_shapes[1].dims[0], 3);
    assert_int_equal(many->output_shapes[1].dims[1], 2);
    braid_op *up_to = op_test_node(l->graph, "QueueDequeueUpToV2", "component_types=[string,float]",
                                   (braid_out[]){q, three}, 2);
    assert_int_equal(up_to->output_shapes[0].rank, 1);
    assert_int_equal(up_to->output_shapes[0].dims[0], -1);
    op_live_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_leave_first_in_first_out),
        cmocka_unit_test(callers_wait_in_turn),
        cmocka_unit_test(elements_may_be_tuples),
        cmocka_unit_test(elements_may_have_any_shape),
        cmocka_unit_test(a_closed_queue_refuses_elements),
        cmocka_unit_test(closing_ends_waits),
        cmocka_unit_test(a_reset_queue_is_empty_and_open),
        cmocka_unit_test(closing_waits_for_enqueues),
        cmocka_unit_test(a_cancelled_caller_leaves_the_queue),
        cmocka_unit_test(clearing_the_container_ends_the_waits),
        cmocka_unit_test(queues_are_shared_by_name),
        cmocka_unit_test(a_shared_shuffle_queue_needs_the_same_seeds),
        cmocka_unit_test(private_queues_are_not_shared),
        cmocka_unit_test(wrong_inputs_are_errors),
        cmocka_unit_test(variables_are_enqueued_by_value),
        cmocka_unit_test(a_shuffle_queue_draws_at_random),
        cmocka_unit_test(shapes_are_inferred),
    };
    return BD_RUN_TESTS(tests);
}

// Tests of barriers: elements are taken when they are complete, in the order of their first components.
// labels: concurrent
#include "base/testing/test.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"

typedef struct barrier_nodes {
    op_live *live;
    braid_op *make, *first, *second, *take, *take_some, *close, *cancel, *ready, *incomplete;
} barrier_nodes;

static const braid_dtype types[] = {BRAID_FLOAT, BRAID_STRING};

static braid_op *inserting(op_live *l, braid_out b, int component)
{
    braid_op_desc *d = braid_op_begin(l->graph, "BarrierInsertMany", NULL);
    braid_op_input(d, b);
    braid_op_input(d, op_live_placeholder(l, BRAID_STRING));
    braid_op_input(d, op_live_placeholder(l, types[component]));
    braid_op_attr_int(d, "component_index", component);
    return braid_op_end(d);
}

static braid_op *taking(op_live *l, braid_out b, bool some)
{
    braid_op_desc *d = braid_op_begin(l->graph, "BarrierTakeMany", NULL);
    braid_op_input(d, b);
    braid_op_input(d, op_live_placeholder(l, BRAID_INT32));
    braid_op_attr_type_list(d, "component_types", types, 2);
    braid_op_attr_bool(d, "allow_small_batch", some);
    return braid_op_end(d);
}

static braid_op *plain(op_live *l, const char *op, braid_out b, bool cancels)
{
    braid_op_desc *d = braid_op_begin(l->graph, op, NULL);
    braid_op_input(d, b);
    if (cancels) braid_op_attr_bool(d, "cancel_pending_enqueues", true);
    return braid_op_end(d);
}

static barrier_nodes barrier_make(op_live *l, int64_t capacity)
{
    const braid_shape shapes[] = {bd_shape1(2), BD_SCALAR};
    barrier_nodes n = {.live = l};
    braid_op_desc *d = braid_op_begin(l->graph, "Barrier", NULL);
    braid_op_attr_type_list(d, "component_types", types, 2);
    braid_op_attr_shape_list(d, "shapes", shapes, 2);
    braid_op_attr_int(d, "capacity", capacity);
    braid_op_attr_string(d, "shared_name", "b");
    const braid_out b = braid_op_end_out(d);
    n.first = inserting(l, b, 0);
    n.second = inserting(l, b, 1);
    n.take = taking(l, b, false);
    n.take_some = taking(l, b, true);
    n.close = plain(l, "BarrierClose", b, false);
    n.cancel = plain(l, "BarrierClose", b, true);
    n.ready = plain(l, "BarrierReadySize", b, false);
    n.incomplete = plain(l, "BarrierIncompleteSize", b, false);
    BD_STATUS(st);
    if (braid_graph_status(l->graph, st)) fail_msg("%s", braid_status_message(st));
    return n;
}

#define RUN(NODE, FEEDS, WANT) op_live_run(n.live, n.NODE, FEEDS, WANT)
#define START(NODE, FEEDS) op_live_start(n.live, n.NODE, FEEDS)
#define FIRST_INDEX "-9223372036854775808"
#define SECOND_INDEX "-9223372036854775807"

static void elements_are_taken_when_they_are_complete(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    barrier_nodes n = barrier_make(l, -1);
    op_execution *taken = START(take, "int32[] 2");
    RUN(first, "string[3] a b c; float[3,2] 1 2 3 4 5 6", "");
    RUN(incomplete, "", "int32[] 3");
    RUN(second, "string[1] b; string[1] B", "");
    assert_false(op_execution_has_ended(taken));
    RUN(incomplete, "", "int32[] 2");
    RUN(second, "string[1] a; string[1] A", "");
    op_execution_expect(taken,
                        "int64[2] " FIRST_INDEX " " FIRST_INDEX // of one insertion: as they became complete
                        "; string[2] b a; float[2,2] 3 4 1 2; string[2] B A");
    RUN(second, "string[1] c; string[1] C", "");
    RUN(ready, "", "int32[] 1");
    RUN(take, "int32[] 0", "int64[0]; string[0]; float[0,2]; string[0]");
    op_live_free(l);
}

static void the_oldest_element_leaves_first(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    barrier_nodes n = barrier_make(l, -1);
    RUN(first, "string[1] a; float[1,2] 1 2", "");
    RUN(first, "string[1] b; float[1,2] 3 4", "");
    RUN(second, "string[2] b a; string[2] B A", "");
    RUN(take, "int32[] 2",
        "int64[2] " FIRST_INDEX " " SECOND_INDEX "; string[2] a b; float[2,2] 1 2 3 4; string[2] A B");
    op_live_free(l);
}

static void mismatched_arguments_are_refused(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    barrier_nodes n = barrier_make(l, -1);
    RUN(first, "string[1] a; float[1,2] 1 2", "");
    RUN(first, "string[1] a; float[1,2] 1 2",
        "InvalidArgument: Key a already has a value for component 0 in barrier b");
    RUN(first, "string[2] a b; float[1,2] 1 2",
        "InvalidArgument: keys must be a vector with one value for each");
    RUN(first, "string[2] a b; float[2,0]",
        "InvalidArgument: Tensors with no elements are not supported b: received shape [2,0]");
    RUN(first, "string[1] a; float[1,3] 1 2 3",
        "InvalidArgument: Shape mismatch in component 0 of barrier b. Expected [1,2]");
    RUN(first, "string[] a; float[1,2] 1 2",
        "InvalidArgument: keys must be a vector with one value for each");
    RUN(first, "string[0]; float[0,2]", ""); // inserts no element
    RUN(incomplete, "", "int32[] 1");
    RUN(take, "int32[] -1", "InvalidArgument: num_elements must be >= 0, got -1");
    RUN(take, "int32[1] 1", "InvalidArgument: num_elements must be a scalar.");
    RUN(take, "int32[0]", "InvalidArgument: num_elements must be a scalar.");
    braid_op_desc *d = braid_op_begin(l->graph, "Barrier", NULL);
    braid_op_attr_type_list(d, "component_types", types, 2);
    braid_op_attr_string(d, "shared_name", "b");
    op_live_run(l, braid_op_end(d), "",
                "InvalidArgument: Shared barrier 'b' has component shapes other than those requested");
    op_live_free(l);
    l = op_live_new();
    n = barrier_make(l, 5);
    RUN(ready, "", "InvalidArgument: Barrier only accepts capacity=-1.");
    op_live_free(l);
}

static void a_closed_barrier_completes_its_elements(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    barrier_nodes n = barrier_make(l, -1);
    RUN(first, "string[2] a b; float[2,2] 1 2 3 4", "");
    RUN(second, "string[1] a; string[1] A", "");
    RUN(close, "", "");
    RUN(close, "", "Cancelled: Barrier 'b' is already closed.");
    RUN(first, "string[1] new; float[1,2] 1 2", "Cancelled: attempted to insert a brand new key: new.");
    RUN(take_some, "int32[] 5", "int64[1] " FIRST_INDEX "; string[1] a; float[1,2] 1 2; string[1] A");
    RUN(take_some, "int32[] 5",
        "OutOfRange: Barrier 'b' is closed and has insufficient elements (requested 0, total size 0)");
    RUN(take, "int32[] 2",
        "OutOfRange: Barrier 'b' is closed and has insufficient elements (requested 2, total size 1)");
    op_execution *taken = START(take, "int32[] 1");
    assert_false(op_execution_has_ended(taken));
    RUN(second, "string[1] b; string[1] B", "");
    op_execution_expect(taken, "int64[1] " FIRST_INDEX "; string[1] b; float[1,2] 3 4; string[1] B");
    RUN(take_some, "int32[] 1", "OutOfRange: is closed and has insufficient elements");
    RUN(first, "string[1] a; float[1,2] 1 2", "Cancelled: Barrier b is closed.");
    op_live_free(l);
}

static void a_cancelled_barrier_drops_incomplete_elements(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    barrier_nodes n = barrier_make(l, -1);
    RUN(first, "string[2] a b; float[2,2] 1 2 3 4", "");
    RUN(second, "string[1] a; string[1] A", "");
    RUN(close, "", "");
    RUN(cancel, "", "");
    RUN(incomplete, "", "int32[] 0");
    RUN(second, "string[1] b; string[1] B", "Cancelled: Barrier b is closed.");
    RUN(take, "int32[] 2", "OutOfRange: is closed and has insufficient elements");
    RUN(take, "int32[] 1", "int64[1] " FIRST_INDEX "; string[1] a; float[1,2] 1 2; string[1] A");
    op_live_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_taken_when_they_are_complete),
        cmocka_unit_test(the_oldest_element_leaves_first),
        cmocka_unit_test(mismatched_arguments_are_refused),
        cmocka_unit_test(a_closed_barrier_completes_its_elements),
        cmocka_unit_test(a_cancelled_barrier_drops_incomplete_elements),
    };
    return BD_RUN_TESTS(tests);
}

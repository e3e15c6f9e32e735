// Tests of padding queues and priority queues. queue_test.c has the tests that hold for all queues.
// labels: concurrent
#include "base/random.h"
#include "base/testing/test.h"
#include "ops/testing/op_live.h"
#include "ops/testing/op_test.h"
#include "ops/testing/queue_nodes.h"
#include <stdio.h>

// ---- Padding ----

static const braid_shape padded[] = {{.rank = 2, .dims = {-1, 2}}, {.rank = 1, .dims = {-1}}};
static const braid_dtype padded_types[] = {BRAID_INT32, BRAID_STRING};

static queue_nodes padding_queue(op_live *l, const char *op)
{
    return queue_nodes_make(l, (queue_spec){.op = op, .types = padded_types, .count = 2, .shapes = padded});
}

static void check_padding(const char *op)
{
    op_live *l = op_live_new();
    queue_nodes n = padding_queue(l, op);
    RUN(enqueue, "int32[1,2] 1 2; string[2] a b", "");
    RUN(enqueue, "int32[3,2] 3 4 5 6 7 8; string[0]", "");
    RUN(enqueue, "int32[0,2]; string[1] c", "");
    RUN(dequeue_many, "int32[] 2", "int32[2,3,2] 1 2 0 0 0 0 3 4 5 6 7 8; string[2,2] a b '' ''");
    RUN(dequeue, "", "int32[0,2]; string[1] c");
    RUN(dequeue_many, "int32[] 0", "int32[0,0,2]; string[0,0]");
    RUN(enqueue_many, "int32[2,1,2] 1 2 3 4; string[2,1] a b", "");
    RUN(close, "", "");
    RUN(dequeue_up_to, "int32[] 5", "int32[2,1,2] 1 2 3 4; string[2,1] a b");
    op_live_free(l);
}

static void elements_of_a_batch_are_padded(void **state)
{
    (void)state;
    check_padding("PaddingFIFOQueueV2");
    check_padding("PaddingFIFOQueue");
}

static void known_dimensions_are_checked(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    queue_nodes n = padding_queue(l, "PaddingFIFOQueueV2");
    RUN(enqueue, "int32[1,3] 1; string[0]",
        "InvalidArgument: Shape mismatch in tuple component 0. Expected [?,2], got [1,3]");
    RUN(enqueue, "int32[2] 1; string[0]",
        "InvalidArgument: Shape mismatch in tuple component 0. Expected [?,2], got [2]");
    RUN(enqueue_many, "int32[2,1,2] 1; string[3,1] a",
        "InvalidArgument: Shape mismatch in tuple component 1. Expected [2,?], got [3,1]");
    op_live_free(l);
}

static void elements_large_in_different_directions_do_not_crash(void **state)
{
    (void)state;
    static const braid_dtype type = BRAID_INT32;
    static const braid_shape any = {.rank = 3, .dims = {-1, -1, -1}};
    op_live *l = op_live_new();
    queue_nodes n = queue_nodes_make(
        l, (queue_spec){.op = "PaddingFIFOQueueV2", .types = &type, .count = 1, .shapes = &any});
    RUN(enqueue, "int32[4194304,0,1]", "");
    RUN(enqueue, "int32[0,4194304,1]", "");
    RUN(enqueue, "int32[0,1,4194304]", "");
    op_execution *e = START(dequeue_many, "int32[] 3");
    op_execution_expect(e, "InvalidArgument: ");
    op_live_free(l);
}

static void a_padding_queue_must_know_ranks(void **state)
{
    (void)state;
    static const braid_dtype type = BRAID_INT32;
    static const braid_shape unknown = {.rank = -1};
    op_live *l = op_live_new();
    queue_nodes n = queue_nodes_make(
        l, (queue_spec){.op = "PaddingFIFOQueueV2", .types = &type, .count = 1, .shapes = &unknown});
    RUN(size, "", "InvalidArgument: must have known rank");
    op_live_free(l);
    l = op_live_new();
    n = queue_nodes_make(
        l, (queue_spec){.op = "PaddingFIFOQueueV2", .types = &type, .count = 1, .no_shapes = true});
    RUN(size, "",
        "InvalidArgument: Shapes must be provided for all components, but received 1 dtypes and 0 shapes.");
    op_live_free(l);
}

// ---- Priority ----

static const braid_dtype ranked_types[] = {BRAID_INT64, BRAID_STRING};
static const braid_shape ranked_shapes[] = {{.rank = 0}, {.rank = 0}};

static queue_nodes priority_queue(op_live *l, const char *op, int64_t capacity)
{
    return queue_nodes_make(
        l, (queue_spec){
               .op = op, .capacity = capacity, .types = ranked_types, .count = 2, .shapes = ranked_shapes});
}

static void check_priority(const char *op)
{
    op_live *l = op_live_new();
    queue_nodes n = priority_queue(l, op, 0);
    RUN(enqueue_many, "int64[4] 3 1 2 1; string[4] late first middle second", "");
    RUN(enqueue, "int64[] -7; string[] urgent", "");
    RUN(dequeue, "", "int64[] -7; string[] urgent");
    RUN(dequeue_many, "int32[] 3", "int64[3] 1 1 2; string[3] first second middle");
    RUN(size, "", "int32[] 1");
    RUN(close, "", "");
    RUN(dequeue_up_to, "int32[] 3", "int64[1] 3; string[1] late");
    op_live_free(l);
}

static void a_priority_queue_gives_the_least_and_then_the_oldest(void **state)
{
    (void)state;
    check_priority("PriorityQueueV2");
    check_priority("PriorityQueue");
}

static void a_batch_waits_until_it_is_whole(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    queue_nodes n = priority_queue(l, "PriorityQueueV2", 4);
    op_execution *e = START(dequeue_many, "int32[] 3");
    RUN(enqueue_many, "int64[2] 5 4; string[2] a b", "");
    RUN(size, "", "int32[] 2");
    RUN(enqueue, "int64[] 3; string[] c", "");
    op_execution_expect(e, "int64[3] 3 4 5; string[3] c b a");
    e = START(dequeue_many, "int32[] 5"); // more than there is room for, so in parts
    RUN(enqueue_many, "int64[5] 5 4 3 2 1; string[5] a b c d e", "");
    op_execution_expect(e, "int64[5] 2 3 4 5 1; string[5] d c b a e");
    op_live_free(l);
}

static void elements_that_a_dequeue_returns_keep_their_place(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    queue_nodes n = priority_queue(l, "PriorityQueueV2", 0);
    op_execution *e = START(dequeue_many, "int32[] 4");
    RUN(enqueue_many, "int64[3] 5 5 4; string[3] a b c", "");
    RUN(close, "", "");
    op_execution_expect(e, "OutOfRange: PriorityQueue");
    RUN(dequeue_many, "int32[] 3", "int64[3] 4 5 5; string[3] c a b");
    op_live_free(l);
}

static void the_priority_is_a_scalar(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    queue_nodes n = priority_queue(l, "PriorityQueueV2", 0);
    RUN(enqueue, "int64[1] 1; string[] a",
        "InvalidArgument: Shape mismatch in tuple component 0. Expected [], got [1]");
    RUN(enqueue_many, "int64[1,1] 1; string[1] a",
        "InvalidArgument: Shape mismatch in tuple component 0. Expected [1], got [1,1]");
    op_live_free(l);
    l = op_live_new();
    n = queue_nodes_make(
        l, (queue_spec){.op = "PriorityQueueV2", .types = ranked_types, .count = 2, .no_shapes = true});
    RUN(enqueue, "int64[1] 1; string[] a", "InvalidArgument: Expected the priority element to be a scalar");
    RUN(enqueue_many, "int64[1,1] 1; string[1] a",
        "InvalidArgument: Expected the priority element to be a vector");
    op_live_free(l);
}

static void many_elements_leave_in_order(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    queue_nodes n = priority_queue(l, "PriorityQueueV2", 0);
    bd_rng rng = bd_rng_init(7);
    int count[10] = {0};
    for (int i = 0; i < 500; i++) {
        const int priority = (int)(bd_rng_next(&rng) % 10);
        char text[64];
        snprintf(text, sizeof text, "int64[] %d; string[] %d", priority, count[priority]++);
        RUN(enqueue, text, "");
    }
    for (int priority = 0; priority < 10; priority++) {
        for (int i = 0; i < count[priority]; i++) {
            char text[64];
            snprintf(text, sizeof text, "int64[] %d; string[] %d", priority, i);
            RUN(dequeue, "", text);
        }
    }
    op_live_free(l);
}

// ---- Shapes ----

static void inferred_shapes(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    queue_nodes p = padding_queue(l, "PaddingFIFOQueueV2"), r = priority_queue(l, "PriorityQueueV2", 0);
    char text[BD_SHAPE_STR_MAX];
    const struct {
        braid_op *op;
        int output;
        const char *want;
    } cases[] = {{p.dequeue, 0, "[?,2]"},    {p.dequeue_many, 0, "[?,?,2]"}, {p.dequeue_up_to, 1, "[?,?]"},
                 {r.dequeue, 0, "[]"},       {r.dequeue, 1, "[]"},           {r.dequeue_many, 0, "[?]"},
                 {r.dequeue_up_to, 1, "[?]"}};
    for (size_t i = 0; i < BD_COUNTOF(cases); i++) {
        const braid_shape shape = braid_out_shape(braid_output(cases[i].op, cases[i].output));
        assert_string_equal(bd_shape_str(&shape, text), cases[i].want);
    }
    op_live_free(l);
}

static void older_ops_take_newer_queues(void **state)
{
    (void)state;
    op_live *l = op_live_new();
    queue_spec spec = {.shared_name = "q"};
    braid_out queue = queue_make(l, spec);
    op_live_run(l, queue_enqueue_node(l, "QueueEnqueueV2", queue, spec), "int32[] 7", "");
    braid_out fake = {op_test_node(l->graph, "FakeQueue", NULL, &queue, 1), 0};
    op_live_run(l, op_test_node(l->graph, "QueueSize", NULL, &fake, 1), "", "int32[] 1");
    op_live_run(l, queue_dequeue_node(l, "QueueDequeue", fake, spec, false), "", "int32[] 7");
    op_live_free(l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_of_a_batch_are_padded),
        cmocka_unit_test(known_dimensions_are_checked),
        cmocka_unit_test(elements_large_in_different_directions_do_not_crash),
        cmocka_unit_test(a_padding_queue_must_know_ranks),
        cmocka_unit_test(a_priority_queue_gives_the_least_and_then_the_oldest),
        cmocka_unit_test(a_batch_waits_until_it_is_whole),
        cmocka_unit_test(elements_that_a_dequeue_returns_keep_their_place),
        cmocka_unit_test(the_priority_is_a_scalar),
        cmocka_unit_test(many_elements_leave_in_order),
        cmocka_unit_test(older_ops_take_newer_queues),
        cmocka_unit_test(inferred_shapes),
    };
    return BD_RUN_TESTS(tests);
}

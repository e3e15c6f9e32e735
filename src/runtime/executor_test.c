// The executor: dataflow, dead values, errors, statistics of a step.
// labels: concurrent
#include "runtime/testing/test_ops.h"

#include "runtime/plan.h"
#include "runtime/step_stats_collector.h"
#include "runtime/testing/test_graph.h"

// ---- Dataflow ----

static void a_chain_and_a_diamond_give_their_values(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = tg_placeholder(g, "x", BRAID_FLOAT), y = x;
    for (int i = 0; i < 1000; i++)
        y = tg1(g, "Identity", NULL, y);
    braid_out left = tg2(g, "Add", NULL, y, tg_float(g, NULL, 1)),
              right = tg2(g, "Mul", NULL, y, tg_float(g, NULL, 3));
    braid_out z = tg2(g, "Add", NULL, left, right);
    braid_session *s = tg_session(g, NULL);
    for (int i = 0; i < 3; i++) {
        braid_feed feed = {x, braid_tensor_float((float)i)};
        tg_assert_fetch(s, z, &feed, 4 * i + 1);
        braid_tensor_free((braid_tensor *)feed.value);
    }
    tg_close(s, g);
}

static void a_node_may_have_one_consumer_many_times_or_no_consumer(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = tg1(g, "Identity", "x", tg_float(g, NULL, 5));
    braid_out square = tg2(g, "Mul", NULL, x, x); // both inputs from one output
    braid_out unused = tg1(g, "TestCount", "unused", x);
    braid_op *all = tg_after(g, "NoOp", "all", 2, (braid_op *[]){square.op, unused.op});
    braid_session *s = tg_session(g, NULL);
    BD_STATUS(st);
    tg_run(s, all, st);
    assert_ok(st);
    assert_int_equal(test_count("unused"), 1);
    tg_assert_fetch(s, square, NULL, 25);
    assert_int_equal(test_count("unused"), 0); // pruned
    tg_close(s, g);
}

static void a_constant_is_never_overwritten(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out c = tg_float(g, "c", 2);
    braid_out negated = tg1(g, "Neg", NULL, c);
    braid_session *s = tg_session(g, NULL);
    for (int i = 0; i < 3; i++)
        tg_assert_fetch(s, negated, NULL, -2);
    tg_assert_fetch(s, c, NULL, 2);
    tg_close(s, g);
}

static void expensive_nodes_run_at_the_same_time(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = tg1(g, "Identity", "x", tg_float(g, NULL, 1));
    braid_out sum = tg1(g, "TestMeet", NULL, x);
    for (int i = 0; i < 2; i++)
        sum = tg2(g, "Add", NULL, sum, tg1(g, "TestMeet", NULL, x));
    braid_session *s = tg_session(g, &(braid_session_options){.inter_op_threads = 3});
    for (int i = 0; i < 20; i++) {
        test_meet_expect(3);
        tg_assert_fetch(s, sum, NULL, 3);
    }
    tg_close(s, g);
}

// ---- Conditionals ----

typedef struct conditional {
    braid_graph *graph;
    braid_out pred, merged, index;
    braid_op *on_true; // runs after the true branch
    braid_op *trigger; // ControlTrigger after the true branch
} conditional;

// pred ? x + 1 : x * 10, for x = 4, with the branches counted.
static conditional make_conditional(void)
{
    braid_graph *g = braid_graph_new();
    conditional c = {.graph = g, .pred = tg_placeholder(g, "pred", BRAID_BOOL)};
    braid_out sw = tg2(g, "Switch", "switch", tg_float(g, "x", 4), c.pred);
    braid_out on_true = tg1(g, "TestCount", "true", (braid_out){.op = sw.op, .index = 1});
    braid_out on_false = tg1(g, "TestCount", "false", sw);
    on_true = tg2(g, "Add", NULL, on_true, tg_float(g, NULL, 1));
    on_false = tg2(g, "Mul", NULL, on_false, tg_float(g, NULL, 10));
    braid_op_desc *d = braid_op_begin(g, "Merge", "merge");
    braid_op_input_list(d, (braid_out[]){on_false, on_true}, 2);
    c.merged = braid_op_end_out(d);
    c.index = (braid_out){.op = c.merged.op, .index = 1};
    c.on_true = tg1(g, "TestCount", "after_true", on_true).op;
    c.trigger = tg_after(g, "ControlTrigger", "trigger", 1, &c.on_true);
    return c;
}

static void only_the_branch_that_is_taken_runs(void **state)
{
    (void)state;
    conditional c = make_conditional();
    braid_session *s = tg_session(c.graph, NULL);
    test_count("true"); // of tests before
    test_count("false");
    for (int i = 0; i < 4; i++) {
        braid_feed feed = {c.pred, braid_tensor_bool(i % 2)};
        tg_assert_fetch(s, c.merged, &feed, i % 2 ? 5 : 40);
        assert_int_equal(test_count("true"), i % 2);
        assert_int_equal(test_count("false"), !(i % 2));
        tg_assert_fetch(s, c.index, &feed, i % 2);
        test_count("true");
        test_count("false");
        braid_tensor_free((braid_tensor *)feed.value);
    }
    tg_close(s, c.graph);
}

static void consumers_of_a_dead_node_are_dead_except_a_control_trigger(void **state)
{
    (void)state;
    conditional c = make_conditional();
    braid_graph *g = c.graph;
    braid_out after = tg_identity_after(g, "after", tg_float(g, NULL, 7), c.on_true);
    braid_out counted = tg1(g, "TestCount", "dead", after);
    braid_out triggered = tg_identity_after(g, "triggered", tg_float(g, NULL, 8), c.trigger);
    braid_session *s = tg_session(g, NULL);
    braid_feed feed = {c.pred, braid_tensor_bool(false)};
    BD_STATUS(st);
    braid_tensor *value;
    tg_try(s, counted, &feed, &value, st);
    assert_null(value);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Retval[0] does not have value");
    assert_int_equal(test_count("dead"), 0);
    tg_assert_fetch(s, triggered, &feed, 8);
    braid_tensor_free((braid_tensor *)feed.value);
    feed.value = braid_tensor_bool(true);
    tg_assert_fetch(s, counted, &feed, 7);
    assert_int_equal(test_count("dead"), 1);
    braid_tensor_free((braid_tensor *)feed.value);
    tg_close(s, g);
}

// ---- Errors ----

static void an_error_names_its_node_and_the_session_lives_on(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = tg_float(g, "x", 1);
    braid_out bad = tg1(g, "TestFail", "bad", x),
              lack = braid_output(tg_after(g, "TestLack", "lack", 0, NULL), 0);
    braid_session *s = tg_session(g, NULL);
    BD_STATUS(st);
    braid_tensor *value;
    for (int i = 0; i < 3; i++) {
        tg_try(s, tg1(g, "Identity", NULL, bad), NULL, &value, st);
        assert_error(
            st, BRAID_INVALID_ARGUMENT,
            "told to fail (TestFail on /job:localhost/replica:0/task:0/device:CPU:0) [[{{node bad}}]]");
        assert_null(value);
        tg_assert_fetch(s, x, NULL, 1);
    }
    tg_try(s, lack, NULL, &value, st);
    assert_error(st, BRAID_INTERNAL, "Missing 0-th output from op TestLack");
    tg_close(s, g);
}

static void an_unknown_op_is_an_error_only_when_a_run_reaches_it(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = tg_float(g, "x", 1);
    BD_STATUS(st);
    braid_op *unknown;
    bd_graph_add(g, &(bd_node_spec){.name = "strange", .op_type = "Nope", .inputs = &x, .input_count = 1},
                 &unknown, st);
    assert_ok(st);
    braid_out strange = {.op = unknown};
    braid_op *used = NULL;
    bd_named_attr type = {.name = "T", .value = {.kind = BD_ATTR_TYPE, .type = BRAID_FLOAT}};
    bd_graph_add(g,
                 &(bd_node_spec){.name = "y",
                                 .op_type = "Identity",
                                 .inputs = &strange,
                                 .input_count = 1,
                                 .attrs = &type,
                                 .attr_count = 1},
                 &used, st);
    assert_ok(st);
    braid_session *s = tg_session(g, NULL);
    braid_tensor *value;
    tg_assert_fetch(s, x, NULL, 1);
    tg_try(s, (braid_out){.op = used}, NULL, &value, st);
    assert_error(st, BRAID_NOT_FOUND, "Op type not registered 'Nope' in this process (node 'strange')");
    braid_feed feed = {strange, braid_tensor_float(6)};
    tg_assert_fetch(s, (braid_out){.op = used}, &feed, 6); // a feed takes its place
    braid_tensor_free((braid_tensor *)feed.value);
    tg_close(s, g);
}

// ---- Steps ----

static void a_traced_step_records_each_node_that_ran(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_device *device = bd_device_new("/job:localhost/replica:0/task:0", "CPU", 0, NULL);
    braid_graph g;
    bd_graph_init(&g);
    braid_out x = tg1(&g, "Identity", "x", tg_float(&g, "c", 1)), y = tg1(&g, "TestAsync", "y", x);
    tg2(&g, "Add", "z", x, y);
    bd_plan *plan;
    bd_plan_compile(&g, device, NULL, &plan, st);
    assert_ok(st);
    bd_step_stats_collector *stats = bd_step_stats_collector_new();
    bd_step step = {.id = 1, .resources = device->resources, .container = "step", .stats = stats};
    bd_plan_run_wait(plan, &step, st);
    assert_ok(st);
    static const char *const labels[] = {"c = Const()", "x = Identity(c)", "y = TestAsync(x)",
                                         "z = Add(x, y)"};
    int count;
    bd_node_stats *items = bd_step_stats_collector_items(stats, &count);
    assert_int_equal(count, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(items[i].label, labels[i]);
        assert_string_equal(items[i].device, "/job:localhost/replica:0/task:0/device:CPU:0");
        assert_true(items[i].start_ns <= items[i].end_ns);
        if (i) assert_true(items[i - 1].end_ns <= items[i].start_ns);
    }
    bd_free(items);
    bd_step_stats_collector_unref(stats);
    bd_plan_unref(plan);
    bd_graph_fini(&g);
    bd_device_free(device);
}

static void a_repeated_step_asks_for_no_memory(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = tg1(g, "Identity", NULL, tg_float(g, NULL, 3));
    for (int i = 0; i < 200; i++)
        x = tg1(g, i % 3 ? "Neg" : "TestAsync", NULL, x);
    braid_op *end = tg_after(g, "NoOp", "end", 1, &x.op);
    braid_session *s = tg_session(g, &(braid_session_options){.inter_op_threads = 1, .intra_op_threads = 1});
    BD_STATUS(st);
    for (int i = 0; i < 3; i++)
        tg_run(s, end, st);
    assert_ok(st);
    enum {
        STEPS = 100
    };
    uint64_t before = bd_alloc_count(), pool_before = bd_buffer_pool_get_stats().system_allocs;
    for (int i = 0; i < STEPS; i++)
        tg_run(s, end, st);
    assert_ok(st);
    assert_true(bd_alloc_count() - before <= STEPS); // the cancellation token of each step
    assert_int_equal(bd_buffer_pool_get_stats().system_allocs, pool_before);
    tg_close(s, g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_and_a_diamond_give_their_values),
        cmocka_unit_test(a_node_may_have_one_consumer_many_times_or_no_consumer),
        cmocka_unit_test(a_constant_is_never_overwritten),
        cmocka_unit_test(expensive_nodes_run_at_the_same_time),
        cmocka_unit_test(only_the_branch_that_is_taken_runs),
        cmocka_unit_test(consumers_of_a_dead_node_are_dead_except_a_control_trigger),
        cmocka_unit_test(an_error_names_its_node_and_the_session_lives_on),
        cmocka_unit_test(an_unknown_op_is_an_error_only_when_a_run_reaches_it),
        cmocka_unit_test(a_traced_step_records_each_node_that_ran),
        cmocka_unit_test(a_repeated_step_asks_for_no_memory),
    };
    return TG_RUN_TESTS_WITH_AND_WITHOUT_REWRITES(tests);
}

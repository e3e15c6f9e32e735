// The executor: dataflow, dead values, loops, errors, asynchronous nodes, cancellation, variables by reference.
// labels: concurrent
#include "runtime/testing/test_ops.h"

#include "runtime/plan.h"
#include "runtime/stats.h"
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

static void a_node_with_one_consumer_many_times_and_none_is_fine(void **state)
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

static void what_waits_for_a_dead_node_is_dead_but_for_a_control_trigger(void **state)
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

// ---- Loops ----

typedef struct sum_loop {
    braid_graph *graph;
    braid_out limit; // placeholder
    braid_out count, sum, scaled;
} sum_loop;

// i, sum, scaled = 0, 0, 1; while i < limit: i, sum, scaled = i + 1, sum + i, scaled * 2 (2 is a constant of the loop).
static sum_loop make_sum_loop(int parallel_iterations)
{
    braid_graph *g = braid_graph_new();
    sum_loop s = {.graph = g, .limit = tg_placeholder(g, "limit", BRAID_INT32)};
    braid_out init[] = {tg_int(g, NULL, 0), tg_int(g, NULL, 0), tg_float(g, NULL, 1)};
    tg_loop l = tg_loop_begin(g, "loop", parallel_iterations, 3, init);
    braid_out limit = tg_enter(&l, s.limit, true);
    braid_out two = tg_enter(&l, tg_float(g, NULL, 2), true);
    tg_loop_condition(&l, tg2(g, "Less", NULL, l.merge[0], limit));
    braid_out i = tg1(g, "TestCount", "body", l.body[0]);
    braid_op_desc *d = braid_op_begin(g, "Const", "one");
    braid_tensor *one = braid_tensor_int32(1);
    braid_op_attr_type(d, "dtype", BRAID_INT32);
    braid_op_attr_tensor(d, "value", one);
    braid_op_control(d, i.op); // how Python puts constants into a loop
    braid_out next[] = {tg2(g, "Add", NULL, i, braid_op_end_out(d)), tg2(g, "Add", NULL, l.body[1], i),
                        tg2(g, "Mul", NULL, l.body[2], two)};
    braid_tensor_free(one);
    tg_loop_end(&l, next);
    s.count = l.exit[0];
    s.sum = l.exit[1];
    s.scaled = l.exit[2];
    return s;
}

static void a_loop_runs_while_its_condition_holds(void **state)
{
    (void)state;
    static const int parallel[] = {1, 2, 10, 32};
    for (size_t p = 0; p < BD_COUNTOF(parallel); p++) {
        sum_loop l = make_sum_loop(parallel[p]);
        braid_session *s = tg_session(l.graph, NULL);
        for (int limit = 0; limit <= 20; limit += 4) {
            braid_feed feed = {l.limit, braid_tensor_int32(limit)};
            test_count("body");
            tg_assert_fetch(s, l.count, &feed, limit);
            assert_int_equal(test_count("body"), limit);
            tg_assert_fetch(s, l.sum, &feed, limit * (limit - 1) / 2);
            tg_assert_fetch(s, l.scaled, &feed, (float)(1 << limit));
            braid_tensor_free((braid_tensor *)feed.value);
        }
        tg_close(s, l.graph);
    }
}

// sum = 0; for i in 0..rows: for j in 0..i: sum += 1. The inner loop has its own frame in each iteration of the outer one.
static void loops_nest(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out rows = tg_placeholder(g, "rows", BRAID_INT32);
    tg_loop outer = tg_loop_begin(g, "outer", 10, 2, (braid_out[]){tg_int(g, NULL, 0), tg_int(g, NULL, 0)});
    braid_out limit = tg_enter(&outer, rows, true), one = tg_enter(&outer, tg_int(g, NULL, 1), true);
    braid_out zero = tg_enter(&outer, tg_int(g, NULL, 0), true);
    tg_loop_condition(&outer, tg2(g, "Less", NULL, outer.merge[0], limit));
    tg_loop inner = tg_loop_begin(g, "inner", 3, 2, (braid_out[]){zero, outer.body[1]});
    braid_out i = tg_enter(&inner, outer.body[0], true), inner_one = tg_enter(&inner, one, true);
    tg_loop_condition(&inner, tg2(g, "Less", NULL, inner.merge[0], i));
    tg_loop_end(&inner, (braid_out[]){tg2(g, "Add", NULL, inner.body[0], inner_one),
                                      tg2(g, "Add", NULL, inner.body[1], inner_one)});
    tg_loop_end(&outer, (braid_out[]){tg2(g, "Add", NULL, outer.body[0], one), inner.exit[1]});
    braid_session *s = tg_session(g, NULL);
    for (int n = 0; n < 8; n++) {
        braid_feed feed = {rows, braid_tensor_int32(n)};
        tg_assert_fetch(s, outer.exit[1], &feed, n * (n - 1) / 2);
        braid_tensor_free((braid_tensor *)feed.value);
    }
    tg_close(s, g);
}

static void a_loop_on_the_branch_not_taken_does_not_run(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out pred = tg_placeholder(g, "pred", BRAID_BOOL);
    braid_out sw = tg2(g, "Switch", "switch", tg_int(g, NULL, 3), pred);
    braid_out start = {.op = sw.op, .index = 1};
    tg_loop l = tg_loop_begin(g, "loop", 10, 1, &start);
    braid_out limit = tg_enter(&l, tg_int(g, NULL, 6), true), one = tg_enter(&l, tg_int(g, NULL, 1), true);
    tg_loop_condition(&l, tg2(g, "Less", NULL, l.merge[0], limit));
    braid_out next = tg2(g, "Add", NULL, tg1(g, "TestCount", "turn", l.body[0]), one);
    tg_loop_end(&l, &next);
    braid_op_desc *d = braid_op_begin(g, "Merge", "merge");
    braid_op_input_list(d, (braid_out[]){sw, l.exit[0]}, 2);
    braid_out merged = braid_op_end_out(d);
    braid_session *s = tg_session(g, NULL);
    for (int i = 0; i < 6; i++) {
        braid_feed feed = {pred, braid_tensor_bool(i % 2)};
        test_count("turn");
        tg_assert_fetch(s, merged, &feed, i % 2 ? 6 : 3);
        assert_int_equal(test_count("turn"), i % 2 ? 3 : 0);
        braid_tensor_free((braid_tensor *)feed.value);
    }
    tg_close(s, g);
}

// Iterations that wait for each other on other threads: the loop variable runs ahead as far as it may.
static void iterations_run_in_parallel_up_to_their_limit(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    tg_loop l = tg_loop_begin(g, "loop", 2, 2, (braid_out[]){tg_int(g, NULL, 0), tg_float(g, NULL, 0)});
    braid_out limit = tg_enter(&l, tg_int(g, NULL, 4), true), one = tg_enter(&l, tg_int(g, NULL, 1), true);
    tg_loop_condition(&l, tg2(g, "Less", NULL, l.merge[0], limit));
    braid_out met = tg1(g, "TestMeet", NULL, l.body[0]);
    braid_op *wait = met.op;
    tg_loop_end(
        &l, (braid_out[]){tg2(g, "Add", NULL, l.body[0], one), tg_identity_after(g, NULL, l.body[1], wait)});
    braid_session *s = tg_session(g, &(braid_session_options){.inter_op_threads = 2});
    for (int i = 0; i < 20; i++) {
        test_meet_expect(2); // iterations 0 and 1 are in it together
        tg_assert_fetch(s, l.exit[0], NULL, 4);
    }
    tg_close(s, g);
}

static void edges_between_frames_are_refused(void **state)
{
    (void)state;
    sum_loop l = make_sum_loop(1);
    braid_op *in_loop = braid_graph_find(l.graph, "body");
    braid_out bad = tg2(l.graph, "Add", "bad", (braid_out){.op = in_loop}, l.count);
    braid_session *s = tg_session(l.graph, NULL);
    BD_STATUS(st);
    braid_tensor *value;
    braid_feed feed = {l.limit, braid_tensor_int32(3)};
    tg_try(s, bad, &feed, &value, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "The node 'bad' has inputs from different frames");
    braid_tensor_free((braid_tensor *)feed.value);
    tg_close(s, l.graph);
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

static void an_error_within_a_loop_ends_the_run(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    tg_loop l = tg_loop_begin(g, "loop", 4, 1, (braid_out[]){tg_int(g, NULL, 0)});
    braid_out limit = tg_enter(&l, tg_int(g, NULL, 9), true);
    tg_loop_condition(&l, tg2(g, "Less", NULL, l.merge[0], limit));
    braid_out next = tg1(g, "TestFail", "bad", l.body[0]);
    tg_loop_end(&l, &next);
    braid_session *s = tg_session(g, NULL);
    BD_STATUS(st);
    braid_tensor *value;
    for (int i = 0; i < 3; i++) {
        tg_try(s, l.exit[0], NULL, &value, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, "[[{{node bad}}]]");
    }
    tg_close(s, g);
}

static void an_op_nobody_knows_is_an_error_only_when_a_run_reaches_it(void **state)
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

// ---- Asynchronous nodes ----

// Runs `fetch` on a thread of its own.
typedef struct background {
    braid_session *session;
    braid_out fetch;
    int64_t timeout_ms;
    braid_tensor *value;
    braid_status status;
    bd_thread thread;
} background;

static void run_in_background(void *arg)
{
    background *b = arg;
    braid_fetch f = {.out = b->fetch, .value = &b->value};
    braid_run_args args = {.fetches = &f, .fetch_count = 1, .timeout_ms = b->timeout_ms};
    braid_session_run(b->session, &args, &b->status);
}

static void start_background(background *b)
{
    BD_STATUS(st);
    bd_thread_start(&b->thread, "run", run_in_background, b, st);
    assert_ok(st);
}

static void a_run_goes_on_when_the_last_wait_ends_whoever_ends_it(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out sum = tg_float(g, NULL, 0);
    for (int i = 0; i < 5; i++)
        sum = tg2(g, "Add", NULL, sum, braid_output(tg_after(g, "TestWait", NULL, 0, NULL), 0));
    braid_session *s = tg_session(g, &(braid_session_options){.inter_op_threads = 2});
    for (int round = 0; round < 50; round++) {
        background b = {.session = s, .fetch = sum};
        start_background(&b);
        test_wait_for_waiters(5);
        for (int i = 1; i <= 5; i++)
            assert_true(test_wait_end((float)i));
        bd_thread_join(&b.thread);
        assert_ok(&b.status);
        assert_float_equal(*(float *)braid_tensor_data(b.value), 15, 0);
        braid_tensor_free(b.value);
    }
    tg_close(s, g);
}

// One that is ready, one for many threads, and one whose wait ends while the loop runs.
static void an_endless_loop_leaves_other_nodes_their_turn(void **state)
{
    (void)state;
    enum {
        CHEAP,
        EXPENSIVE,
        WAITS,
        KINDS
    };
    for (int kind = 0; kind < KINDS; kind++) {
        braid_graph *g = braid_graph_new();
        braid_out other = tg_float(g, NULL, 1);
        if (kind == CHEAP) other = tg1(g, "Identity", NULL, tg1(g, "Identity", NULL, other));
        if (kind == EXPENSIVE) other = tg1(g, "TestMeet", NULL, other);
        if (kind == WAITS) other = braid_output(tg_after(g, "TestWait", NULL, 0, NULL), 0);
        other = tg1(g, "TestFail", "bad", other);
        tg_loop l = tg_loop_begin(g, "loop", 4, 1, (braid_out[]){tg_float(g, NULL, 0)});
        tg_loop_condition(&l, tg2(g, "Less", NULL, l.merge[0], tg_enter(&l, tg_float(g, NULL, 9), true)));
        tg_loop_end(&l, (braid_out[]){tg1(g, "Identity", NULL, l.body[0])});
        braid_session *s = tg_session(g, &(braid_session_options){.inter_op_threads = 1});
        test_meet_expect(1);
        background b = {
            .session = s, .fetch = tg2(g, "Add", NULL, l.exit[0], other), .timeout_ms = TEST_DEADLINE_MS};
        start_background(&b);
        if (kind == WAITS) {
            test_wait_for_waiters(1);
            assert_true(test_wait_end(1));
        }
        bd_thread_join(&b.thread);
        assert_error(&b.status, BRAID_INVALID_ARGUMENT, "[[{{node bad}}]]");
        bd_status_fini(&b.status);
        tg_close(s, g);
    }
}

static void asynchronous_nodes_that_end_at_once_need_no_stack(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = tg1(g, "Identity", NULL, tg_float(g, NULL, 3));
    for (int i = 0; i < 20000; i++)
        x = tg1(g, "TestAsync", NULL, x);
    braid_session *s = tg_session(g, NULL);
    tg_assert_fetch(s, x, NULL, 3);
    tg_close(s, g);
}

static void an_error_ends_the_nodes_that_wait_and_stays_the_reason(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out wait = braid_output(tg_after(g, "TestWait", "wait", 0, NULL), 0);
    braid_out bad = tg1(g, "TestFail", "bad", tg_float(g, NULL, 1));
    braid_out sum = tg2(g, "Add", NULL, wait, bad);
    braid_session *s = tg_session(g, NULL);
    for (int i = 0; i < 20; i++) {
        BD_STATUS(st);
        braid_tensor *value;
        tg_try(s, sum, NULL, &value, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, "[[{{node bad}}]]");
        assert_false(test_wait_end(0)); // nobody is left behind
    }
    tg_close(s, g);
}

static void a_run_that_takes_too_long_says_what_it_waits_for(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out wait = braid_output(tg_after(g, "TestWait", "never", 0, NULL), 0);
    braid_out after = tg1(g, "TestCount", "after_never", wait);
    braid_session *s = tg_session(g, NULL);
    background b = {.session = s, .fetch = after, .timeout_ms = 20};
    run_in_background(&b);
    assert_error(&b.status, BRAID_DEADLINE_EXCEEDED, "timed out after 20 ms; waiting for never (TestWait)");
    assert_null(b.value);
    assert_int_equal(test_count("after_never"), 0);
    tg_close(s, g);
}

static void closing_a_session_ends_its_runs(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out wait = braid_output(tg_after(g, "TestWait", "wait", 0, NULL), 0);
    braid_session *s = tg_session(g, NULL);
    background b[3];
    for (int i = 0; i < 3; i++) {
        b[i] = (background){.session = s, .fetch = wait};
        start_background(&b[i]);
    }
    test_wait_for_waiters(3);
    tg_close(s, g);
    for (int i = 0; i < 3; i++) {
        bd_thread_join(&b[i].thread);
        assert_error(&b[i].status, BRAID_CANCELLED, "Session has been closed");
    }
}

static void a_wait_within_a_loop_is_fine(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    tg_loop l = tg_loop_begin(g, "loop", 1, 2, (braid_out[]){tg_int(g, NULL, 0), tg_float(g, NULL, 0)});
    braid_out limit = tg_enter(&l, tg_int(g, NULL, 3), true), one = tg_enter(&l, tg_int(g, NULL, 1), true);
    tg_loop_condition(&l, tg2(g, "Less", NULL, l.merge[0], limit));
    braid_out wait = braid_output(tg_after(g, "TestWait", "wait", 1, &l.body[0].op), 0);
    tg_loop_end(&l, (braid_out[]){tg2(g, "Add", NULL, l.body[0], one), tg2(g, "Add", NULL, l.body[1], wait)});
    braid_session *s = tg_session(g, NULL);
    background b = {.session = s, .fetch = l.exit[1]};
    start_background(&b);
    for (int i = 1; i <= 3; i++) {
        test_wait_for_waiters(1);
        assert_true(test_wait_end((float)i));
    }
    bd_thread_join(&b.thread);
    assert_ok(&b.status);
    assert_float_equal(*(float *)braid_tensor_data(b.value), 6, 0);
    braid_tensor_free(b.value);
    tg_close(s, g);
}

// ---- Variables by reference ----

static void reading_a_variable_nobody_assigned_names_it(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out v = tg_variable(g, "weights", BRAID_FLOAT);
    braid_out passed = tg1(g, "RefIdentity", "passed", v);
    braid_out read = tg1(g, "Identity", "read", passed);
    braid_out added = tg2(g, "AssignAdd", "add", v, tg_float(g, NULL, 1));
    braid_out is_set = tg1(g, "IsVariableInitialized", NULL, v);
    braid_session *s = tg_session(g, NULL);
    BD_STATUS(st);
    braid_tensor *value;
    tg_try(s, read, NULL, &value, st);
    assert_error(st, BRAID_FAILED_PRECONDITION,
                 "Attempting to use uninitialized value weights (Identity on ");
    tg_try(s, added, NULL, &value, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value weights");
    tg_try(s, v, NULL, &value, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value weights");
    tg_assert_fetch(s, is_set, NULL, 0);
    tg_close(s, g);
}

static void a_reference_is_read_when_its_consumer_runs(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out v = tg_variable(g, "v", BRAID_FLOAT);
    braid_out init = tg2(g, "Assign", "init", v, tg_float(g, NULL, 1));
    braid_out add = tg2(g, "AssignAdd", "add", v, tg_float(g, NULL, 2));
    braid_out after = tg_identity_after(g, "after", v, add.op);
    braid_session *s = tg_session(g, NULL);
    BD_STATUS(st);
    tg_run(s, init.op, st);
    assert_ok(st);
    for (int i = 1; i < 5; i++)
        tg_assert_fetch(s, after, NULL, 1 + 2 * i);
    tg_assert_fetch(s, add, NULL, 11); // fetching a reference reads it
    tg_assert_fetch(s, v, NULL, 11);
    tg_assert_fetch(s, init, NULL, 1);
    tg_close(s, g);
}

static void what_was_fetched_of_a_variable_does_not_change(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out v = tg_variable(g, "v", BRAID_FLOAT);
    braid_out init = tg2(g, "Assign", "init", v, tg_float(g, NULL, 1));
    braid_out add = tg2(g, "AssignAdd", "add", v, tg_float(g, NULL, 2));
    braid_session *s = tg_session(g, NULL);
    BD_STATUS(st);
    braid_tensor *first;
    tg_try(s, init, NULL, &first, st);
    assert_ok(st);
    tg_run(s, add.op, st);
    assert_ok(st);
    assert_float_equal(*(float *)braid_tensor_data(first), 1, 0);
    braid_tensor_free(first);
    tg_close(s, g);
}

static void a_reference_that_is_fed_cannot_be_assigned(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out v = tg_variable(g, "v", BRAID_FLOAT);
    braid_out init = tg2(g, "Assign", "init", v, tg_float(g, NULL, 1)), read = tg1(g, "Identity", "read", v);
    braid_session *s = tg_session(g, NULL);
    BD_STATUS(st);
    braid_tensor *value;
    braid_feed feed = {v, braid_tensor_float(5)};
    tg_assert_fetch(s, read, &feed, 5);
    tg_try(s, init, &feed, &value, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Input 0 of node init was passed float from");
    braid_tensor_free((braid_tensor *)feed.value);
    tg_close(s, g);
}

// ---- State ----

static void the_kernel_of_a_stateful_node_is_one_for_all_plans_of_a_session(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out n = braid_output(tg_after(g, "TestNumber", "n", 0, NULL), 0);
    braid_out m = braid_output(tg_after(g, "TestNumber", "m", 0, NULL), 0);
    braid_out copy = tg1(g, "Identity", NULL, n);
    braid_session *s = tg_session(g, NULL);
    tg_assert_fetch(s, n, NULL, 1);
    tg_assert_fetch(s, copy, NULL, 2);
    tg_assert_fetch(s, n, NULL, 3);
    tg_assert_fetch(s, m, NULL, 1);
    BD_STATUS(st);
    braid_session_close(s, st);
    s = tg_session(g, NULL);
    tg_assert_fetch(s, n, NULL, 1); // another session, another kernel
    tg_close(s, g);
}

static void the_state_of_a_node_outlives_the_plan_it_was_made_for(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_device *device = bd_device_new("/job:localhost/replica:0/task:0", "CPU", 0, NULL);
    bd_kernel_store *store = bd_kernel_store_new();
    for (int i = 0; i < 2; i++) {
        braid_graph g;
        bd_graph_init(&g);
        braid_out v = tg_variable(&g, "v", BRAID_FLOAT); // its state holds on to names of the node
        tg2(&g, "Assign", "init", v, tg_float(&g, NULL, 1));
        bd_plan *plan;
        bd_plan_compile(&g, device, store, &plan, st);
        assert_ok(st);
        bd_step step = {.id = 1, .resources = device->resources, .container = "step"};
        bd_plan_run_wait(plan, &step, st);
        assert_ok(st);
        bd_plan_unref(plan);
        bd_graph_fini(&g);
    }
    bd_kernel_store_free(store);
    bd_device_free(device);
}

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
    bd_step_stats *stats = bd_step_stats_new();
    bd_step step = {.id = 1, .resources = device->resources, .container = "step", .stats = stats};
    bd_plan_run_wait(plan, &step, st);
    assert_ok(st);
    static const char *const labels[] = {"x = Identity(c)", "y = TestAsync(x)", "z = Add(x, y)"};
    int count;
    const bd_node_stats *items = bd_step_stats_items(stats, &count);
    assert_int_equal(count, 3);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(items[i].label, labels[i]);
        assert_string_equal(items[i].device, "/job:localhost/replica:0/task:0/device:CPU:0");
        assert_true(items[i].start_ns <= items[i].end_ns);
        if (i) assert_true(items[i - 1].end_ns <= items[i].start_ns);
    }
    bd_step_stats_free(stats);
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

// ---- Many at once ----

typedef struct hammer {
    braid_session *session;
    sum_loop loop;
    braid_out wide;
    int failures;
} hammer;

static void hammer_thread(void *arg)
{
    hammer *h = arg;
    for (int i = 0; i < 60; i++) {
        BD_STATUS(st);
        braid_tensor *limit = braid_tensor_int32(i % 9), *values[2] = {NULL, NULL};
        braid_feed feed = {h->loop.limit, limit};
        braid_fetch fetches[] = {{h->loop.sum, &values[0]}, {h->wide, &values[1]}};
        braid_run_args args = {.feeds = &feed, .feed_count = 1, .fetches = fetches, .fetch_count = 2};
        braid_code code = braid_session_run(h->session, &args, st);
        int expected = (i % 9) * (i % 9 - 1) / 2;
        if (code || bd_tensor_i32(values[0])[0] != expected || bd_tensor_f32(values[1])[0] != 20)
            h->failures++;
        braid_tensor_free(limit);
        for (int k = 0; k < 2; k++)
            braid_tensor_free(values[k]);
    }
}

static void threads_run_one_session_at_once(void **state)
{
    (void)state;
    hammer h = {.loop = make_sum_loop(4)};
    braid_graph *g = h.loop.graph;
    braid_out x = tg1(g, "Identity", NULL, tg_float(g, NULL, 1));
    h.wide = tg_float(g, NULL, 0);
    for (int i = 0; i < 20; i++)
        h.wide = tg2(g, "Add", NULL, h.wide, tg1(g, i % 2 ? "TestMeet" : "TestAsync", NULL, x));
    test_meet_expect(1);
    h.session = tg_session(g, &(braid_session_options){.inter_op_threads = 3});
    hammer each[3];
    bd_thread threads[3];
    BD_STATUS(st);
    for (int i = 0; i < 3; i++) {
        each[i] = h;
        bd_thread_start(&threads[i], "hammer", hammer_thread, &each[i], st);
    }
    assert_ok(st);
    for (int i = 0; i < 3; i++) {
        bd_thread_join(&threads[i]);
        assert_int_equal(each[i].failures, 0);
    }
    tg_close(h.session, g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_and_a_diamond_give_their_values),
        cmocka_unit_test(a_node_with_one_consumer_many_times_and_none_is_fine),
        cmocka_unit_test(a_constant_is_never_overwritten),
        cmocka_unit_test(expensive_nodes_run_at_the_same_time),
        cmocka_unit_test(only_the_branch_that_is_taken_runs),
        cmocka_unit_test(what_waits_for_a_dead_node_is_dead_but_for_a_control_trigger),
        cmocka_unit_test(a_loop_runs_while_its_condition_holds),
        cmocka_unit_test(loops_nest),
        cmocka_unit_test(a_loop_on_the_branch_not_taken_does_not_run),
        cmocka_unit_test(iterations_run_in_parallel_up_to_their_limit),
        cmocka_unit_test(edges_between_frames_are_refused),
        cmocka_unit_test(an_error_names_its_node_and_the_session_lives_on),
        cmocka_unit_test(an_error_within_a_loop_ends_the_run),
        cmocka_unit_test(an_op_nobody_knows_is_an_error_only_when_a_run_reaches_it),
        cmocka_unit_test(a_run_goes_on_when_the_last_wait_ends_whoever_ends_it),
        cmocka_unit_test(an_endless_loop_leaves_other_nodes_their_turn),
        cmocka_unit_test(asynchronous_nodes_that_end_at_once_need_no_stack),
        cmocka_unit_test(an_error_ends_the_nodes_that_wait_and_stays_the_reason),
        cmocka_unit_test(a_run_that_takes_too_long_says_what_it_waits_for),
        cmocka_unit_test(closing_a_session_ends_its_runs),
        cmocka_unit_test(a_wait_within_a_loop_is_fine),
        cmocka_unit_test(reading_a_variable_nobody_assigned_names_it),
        cmocka_unit_test(a_reference_is_read_when_its_consumer_runs),
        cmocka_unit_test(what_was_fetched_of_a_variable_does_not_change),
        cmocka_unit_test(a_reference_that_is_fed_cannot_be_assigned),
        cmocka_unit_test(the_kernel_of_a_stateful_node_is_one_for_all_plans_of_a_session),
        cmocka_unit_test(the_state_of_a_node_outlives_the_plan_it_was_made_for),
        cmocka_unit_test(a_traced_step_records_each_node_that_ran),
        cmocka_unit_test(a_repeated_step_asks_for_no_memory),
        cmocka_unit_test(threads_run_one_session_at_once),
    };
    return TG_RUN_TESTS_WITH_AND_WITHOUT_REWRITES(tests);
}

// The executor: loops, and runs of one session at once.
// labels: concurrent
#include "runtime/testing/test_graph.h"
#include "runtime/testing/test_ops.h"

typedef struct sum_loop {
    braid_graph *graph;
    braid_out limit; // placeholder
    braid_out count, sum, scaled;
} sum_loop;

// i, sum, scaled = 0, 0, 1; while i < limit: i, sum, scaled = i + 1, sum + i, scaled * 2 (2 is a constant of
// the loop).
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

// sum = 0; for i in 0..rows: for j in 0..i: sum += 1. The inner loop has its own frame in each iteration of
// the outer one.
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

static void an_iteration_without_a_loop_is_refused(void **state)
{
    (void)state;
    static const char *const ops[] = {"NextIteration", "Exit"};
    for (size_t i = 0; i < BD_COUNTOF(ops); i++) {
        braid_graph *g = braid_graph_new();
        braid_out bad = tg1(g, ops[i], "bad", tg_int(g, NULL, 1));
        braid_session *s = tg_session(g, NULL);
        BD_STATUS(st);
        braid_tensor *value;
        tg_try(s, bad, NULL, &value, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, "'bad'");
        tg_close(s, g);
    }
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
        cmocka_unit_test(a_loop_runs_while_its_condition_holds),
        cmocka_unit_test(loops_nest),
        cmocka_unit_test(a_loop_on_the_branch_not_taken_does_not_run),
        cmocka_unit_test(iterations_run_in_parallel_up_to_their_limit),
        cmocka_unit_test(edges_between_frames_are_refused),
        cmocka_unit_test(an_iteration_without_a_loop_is_refused),
        cmocka_unit_test(an_error_within_a_loop_ends_the_run),
        cmocka_unit_test(threads_run_one_session_at_once),
    };
    return TG_RUN_TESTS_WITH_AND_WITHOUT_REWRITES(tests);
}

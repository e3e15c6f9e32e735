// The executor: asynchronous nodes, the ends of their waits, cancellation.
// labels: concurrent
#include "runtime/plan_internal.h"
#include "runtime/testing/test_graph.h"
#include "runtime/testing/test_ops.h"

// Runs `fetch` on a thread.
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

static void a_run_continues_when_its_last_wait_ends(void **state)
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

// A ready node, one for many threads, and one whose wait ends while the loop runs.
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
        assert_false(test_wait_end(0)); // no waiting node is left
    }
    tg_close(s, g);
}

static void an_error_of_a_timeout_names_the_missing_values(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out wait = braid_output(tg_after(g, "TestWait", "never", 0, NULL), 0);
    braid_out after = tg1(g, "TestCount", "after_never", wait);
    braid_session *s = tg_session(g, NULL);
    background b = {.session = s, .fetch = after, .timeout_ms = 20};
    run_in_background(&b);
    assert_error(&b.status, BRAID_DEADLINE_EXCEEDED, "took longer than 20 ms; waiting for never (TestWait)");
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

// ---- Continuations ----

static _Thread_local bool is_test_thread;

typedef struct ending {
    bd_event has_come;
    bool is_here; // on the thread of the test
} ending;

// A plan, and a run of it.
typedef struct running {
    braid_graph g;
    bd_thread_pool *pool;
    bd_device *device;
    bd_plan *plan;
    bd_step step;
    ending end;
} running;

static void begin(running *r)
{
    *r = (running){.plan = NULL};
    is_test_thread = true;
    bd_graph_init(&r->g);
    bd_event_init(&r->end.has_come);
}

static void compile(running *r, int threads)
{
    BD_STATUS(st);
    bd_thread_pool_new("pool", threads, &r->pool, st);
    assert_ok(st);
    r->device = bd_device_new("/job:localhost/replica:0/task:0", "CPU", 0, r->pool);
    r->step = (bd_step){.id = 1, .resources = r->device->resources, .container = "step", .pool = r->pool};
    bd_plan_compile(&r->g, r->device, NULL, &r->plan, st);
    assert_ok(st);
}

static void end(running *r)
{
    bd_event_fini(&r->end.has_come);
    bd_plan_unref(r->plan);
    bd_graph_fini(&r->g);
    bd_device_close(r->device);
    bd_thread_pool_free(r->pool);
    bd_device_free(r->device);
}

static void note_end(void *arg, const braid_status *st)
{
    ending *e = arg;
    assert_ok(st);
    e->is_here = is_test_thread;
    bd_event_set(&e->has_come);
}

static void start(void *arg)
{
    running *r = arg;
    bd_plan_run(r->plan, &r->step, note_end, &r->end);
}

// Runs the plan, of one TestWait, and ends the wait between the two calls. Returns whether the run has gone
// on here, on this thread.
static bool goes_on_here(running *r)
{
    bd_continuations c;
    bd_event_fini(&r->end.has_come);
    bd_event_init(&r->end.has_come);
    start(r);
    bd_continuations_begin(&c);
    assert_true(test_wait_end(1));
    assert_false(bd_event_is_set(&r->end.has_come));
    bd_continuations_end(&c);
    assert_true(bd_event_wait_until(&r->end.has_come, bd_deadline_after_ms(TEST_DEADLINE_MS)));
    return r->end.is_here;
}

static void a_short_run_goes_on_on_the_thread_that_ends_the_wait(void **state)
{
    (void)state;
    running r;
    begin(&r);
    tg1(&r.g, "Identity", "next", braid_output(tg_after(&r.g, "TestWait", "wait", 0, NULL), 0));
    compile(&r, 1);
    assert_false(goes_on_here(&r)); // how long it takes is not known
    const int64_t deadline_ns = bd_deadline_after_ms(TEST_DEADLINE_MS);
    while (!goes_on_here(&r)) // the pool's thread may have had to wait for a processor
        assert_true(bd_now_ns() < deadline_ns);
    end(&r);
}

static void a_task_that_finds_nothing_to_do_tells_nothing(void **state)
{
    (void)state;
    BD_STATUS(st);
    running r;
    bd_thread thread;
    bd_continuations c;
    begin(&r);
    tg_after(&r.g, "TestWait", "first", 0, NULL);
    tg_after(&r.g, "TestWait", "second", 0, NULL);
    tg1(&r.g, "TestMeet", "meet", braid_output(tg_after(&r.g, "TestNumber", "number", 0, NULL), 0));
    compile(&r, 2);
    test_meet_expect(2);
    assert_int_equal(bd_thread_start(&thread, "run", start, &r, st), BRAID_OK);
    test_meet_await(1);
    bd_continuations_begin(&c);
    assert_true(test_wait_end(1));
    assert_int_equal(c.count, 1);
    test_meet_expect(0); // the thread that is in it goes on with the end of the wait
    bd_thread_join(&thread);
    bd_thread_pool_stop(r.pool); // so that the task runs here
    bd_continuations_end(&c);
    assert_false(atomic_load(&r.plan->goes_on_shortly));
    assert_true(test_wait_end(1));
    assert_true(bd_event_is_set(&r.end.has_come));
    end(&r);
}

static void a_run_with_one_long_task_is_long(void **state)
{
    (void)state;
    running r;
    begin(&r);
    tg_after(&r.g, "TestWait", "short", 0, NULL);
    tg1(&r.g, "TestMeet", "meet", braid_output(tg_after(&r.g, "TestWait", "long", 0, NULL), 0));
    compile(&r, 2);
    test_meet_expect(2);
    start(&r);
    assert_true(test_wait_end(1)); // of the node that began last
    test_meet_await(1);
    const int64_t until_ns = bd_deadline_after_ms(2);
    while (bd_now_ns() < until_ns) {}
    test_meet_expect(0);
    assert_true(test_wait_end(1));
    assert_true(bd_event_wait_until(&r.end.has_come, bd_deadline_after_ms(TEST_DEADLINE_MS)));
    bd_thread_pool_stop(r.pool); // its tasks have ended
    assert_false(atomic_load(&r.plan->goes_on_shortly));
    end(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_continues_when_its_last_wait_ends),
        cmocka_unit_test(an_endless_loop_leaves_other_nodes_their_turn),
        cmocka_unit_test(asynchronous_nodes_that_end_at_once_need_no_stack),
        cmocka_unit_test(an_error_ends_the_nodes_that_wait_and_stays_the_reason),
        cmocka_unit_test(an_error_of_a_timeout_names_the_missing_values),
        cmocka_unit_test(closing_a_session_ends_its_runs),
        cmocka_unit_test(a_wait_within_a_loop_is_fine),
        cmocka_unit_test(a_short_run_goes_on_on_the_thread_that_ends_the_wait),
        cmocka_unit_test(a_task_that_finds_nothing_to_do_tells_nothing),
        cmocka_unit_test(a_run_with_one_long_task_is_long),
    };
    return TG_RUN_TESTS_WITH_AND_WITHOUT_REWRITES(tests);
}

// Monitored sessions: who initializes, what hooks see, when training ends, what becomes of errors.
// labels: concurrent
#include "base/testing/test.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include <braid/braid.h>
#include <stdio.h>
#include <unistd.h>

// One variable that moves towards 3: a step multiplies its distance by 1 - rate.
typedef struct model {
    braid_graph *graph;
    braid_out rate; // placeholder
    braid_variable x;
    braid_out loss;
    braid_op *train;
} model;

static model make_model(void)
{
    model m = {.graph = braid_graph_new()};
    braid_graph *g = m.graph;
    m.rate = braid_placeholder(g, "rate", BRAID_FLOAT, BRAID_SCALAR);
    m.x = braid_variable_new(g, "x", braid_const_float(g, NULL, 0), true);
    m.loss = braid_square(g, braid_sub(g, m.x.read, braid_const_float(g, NULL, 3)));
    braid_out scaled = braid_mul(g, m.rate, m.loss);
    m.train = braid_minimize(braid_gradient_descent(g, 0.5f), scaled, braid_global_step(g));
    return m;
}

static braid_monitored_session *open_chief(const model *m, braid_hook *const *hooks)
{
    return braid_monitored_session_open(m->graph, &(braid_session_config){.is_chief = true, .hooks = hooks});
}

static braid_code step(braid_monitored_session *s, const model *m)
{
    braid_tensor *rate = braid_tensor_float(0.1f);
    braid_code code = braid_run(s, BRAID_FEED({m->rate, rate}), NULL, m->train);
    braid_tensor_free(rate);
    return code;
}

static float loss_now(braid_monitored_session *s, const model *m)
{
    braid_tensor *value = NULL;
    assert_int_equal(braid_evaluate(s, NULL, BRAID_FETCH({m->loss, &value})), BRAID_OK);
    float loss = *(float *)braid_tensor_data(value);
    braid_tensor_free(value);
    return loss;
}

// ---- A hook that writes down what happens ----

typedef struct recorder {
    braid_hook hook;
    bd_strbuf *diary;
    braid_out fetched;  // with each step; op NULL: nothing
    int64_t fail_after; // the step after which it fails; 0: never
} recorder;

static void on_begin(braid_hook *hook, braid_graph *g)
{
    recorder *r = (recorder *)hook;
    bd_strbuf_append(r->diary, "begin ");
    assert_int_equal(braid_graph_status(g, NULL), BRAID_OK);
}

static braid_code on_created(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    (void)st;
    recorder *r = (recorder *)hook;
    bd_strbuf_appendf(r->diary, "created@%lld ", (long long)braid_monitored_session_global_step(s));
    return BRAID_OK;
}

static int on_before(braid_hook *hook, braid_monitored_session *s, braid_out fetches[BRAID_HOOK_FETCH_MAX])
{
    (void)s;
    recorder *r = (recorder *)hook;
    bd_strbuf_append(r->diary, "before ");
    fetches[0] = r->fetched;
    return r->fetched.op ? 1 : 0;
}

static braid_code on_after(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                           braid_status *st)
{
    recorder *r = (recorder *)hook;
    bd_strbuf_append(r->diary, "after");
    if (r->fetched.op) bd_strbuf_appendf(r->diary, ":%.0f", (double)*(float *)braid_tensor_data(values[0]));
    bd_strbuf_append(r->diary, " ");
    if (r->fail_after && braid_monitored_session_global_step(s) >= r->fail_after - 1)
        return bd_fail(st, BRAID_DATA_LOSS, "the hook has had enough");
    return BRAID_OK;
}

static void on_end(braid_hook *hook, braid_monitored_session *s)
{
    (void)s;
    bd_strbuf_append(((recorder *)hook)->diary, "end ");
}

static void on_free(braid_hook *hook)
{
    bd_strbuf_append(((recorder *)hook)->diary, "free");
    bd_free(hook);
}

static recorder *record(bd_strbuf *diary)
{
    recorder *r = bd_calloc(1, sizeof *r);
    r->hook = (braid_hook){on_begin, on_created, on_before, on_after, on_end, on_free};
    r->diary = diary;
    return r;
}

static void expect_diary(bd_strbuf *diary, const char *want)
{
    assert_string_equal(bd_strbuf_str(diary), want);
    bd_strbuf_fini(diary);
}

// ---- A hook that runs the session itself ----

typedef struct evaluator {
    braid_hook hook;
    const model *model;
    float before, after, fetched; // of the last step
} evaluator;

// Fetches something else than the step does, and more.
static float evaluate_more(braid_monitored_session *s, const model *m)
{
    braid_tensor *x = NULL, *loss[12] = {NULL};
    braid_fetch fetches[14] = {{m->x.read, &x}};
    for (int i = 0; i < 12; i++)
        fetches[1 + i] = (braid_fetch){m->loss, &loss[i]};
    assert_int_equal(braid_evaluate(s, NULL, fetches), BRAID_OK);
    float distance = 3 - *(float *)braid_tensor_data(x);
    for (int i = 0; i < 12; i++) {
        assert_float_equal(*(float *)braid_tensor_data(loss[i]), distance * distance, 1e-4f);
        braid_tensor_free(loss[i]);
    }
    braid_tensor_free(x);
    return distance * distance;
}

static int evaluate_before(braid_hook *hook, braid_monitored_session *s,
                           braid_out fetches[BRAID_HOOK_FETCH_MAX])
{
    evaluator *e = (evaluator *)hook;
    e->before = evaluate_more(s, e->model);
    fetches[0] = e->model->loss;
    return 1;
}

static braid_code evaluate_after(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                                 braid_status *st)
{
    (void)st;
    evaluator *e = (evaluator *)hook;
    e->after = evaluate_more(s, e->model);
    e->fetched = *(float *)braid_tensor_data(values[0]); // still the step's
    return BRAID_OK;
}

static void free_evaluator(braid_hook *hook)
{
    bd_free(hook);
}

static evaluator *evaluate_around(const model *m)
{
    evaluator *e = bd_calloc(1, sizeof *e);
    e->hook =
        (braid_hook){.before_run = evaluate_before, .after_run = evaluate_after, .free = free_evaluator};
    e->model = m;
    return e;
}

// ---- Tests ----

static void test_a_small_model_learns(void **state)
{
    (void)state;
    model m = make_model();
    braid_monitored_session *s = open_chief(&m, BRAID_HOOKS(braid_stop_at_step(30)));
    float before = loss_now(s, &m);
    int steps = 0;
    for (; !braid_should_stop(s); steps++)
        assert_int_equal(step(s, &m), BRAID_OK);
    assert_int_equal(steps, 30);
    assert_float_equal(before, 9, 1e-6f);
    assert_float_equal(loss_now(s, &m), 9 * 1.7e-3f, 9 * 1e-4f); // 0.9^60
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(m.graph);
}

static void test_hooks_are_called_around_each_step(void **state)
{
    (void)state;
    bd_strbuf diary = {0};
    model m = make_model();
    recorder *r = record(&diary);
    r->fetched = m.loss;
    braid_monitored_session *s = open_chief(&m, BRAID_HOOKS(&r->hook));
    step(s, &m);
    loss_now(s, &m); // hooks do not see an evaluation
    step(s, &m);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    expect_diary(&diary, "begin created@0 before after:9 before after:7 end free");
    braid_graph_free(m.graph);
}

static void test_a_hook_may_evaluate(void **state)
{
    (void)state;
    bd_strbuf diary = {0};
    model m = make_model();
    recorder *r = record(&diary);
    r->fetched = m.loss;
    evaluator *first = evaluate_around(&m), *last = evaluate_around(&m);
    braid_monitored_session *s = open_chief(&m, BRAID_HOOKS(&first->hook, &r->hook, &last->hook));
    for (float loss = 9; loss > 5; loss *= 0.81f) {
        braid_tensor *fetched = NULL, *x = NULL, *rate = braid_tensor_float(0.1f);
        assert_int_equal(
            braid_run(s, BRAID_FEED({m.rate, rate}), BRAID_FETCH({m.rate, &x}, {m.loss, &fetched}), m.train),
            BRAID_OK);
        assert_float_equal(*(float *)braid_tensor_data(fetched), loss, 1e-4f);
        assert_float_equal(*(float *)braid_tensor_data(x), 0.1f, 0);
        assert_float_equal(first->fetched, loss, 1e-4f);
        assert_float_equal(first->before, loss, 1e-4f);
        assert_float_equal(first->after, loss * 0.81f, 1e-4f);
        assert_float_equal(last->fetched, loss, 1e-4f);
        assert_float_equal(last->after, loss * 0.81f, 1e-4f);
        braid_tensor_free(fetched);
        braid_tensor_free(x);
        braid_tensor_free(rate);
    }
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    expect_diary(&diary, "begin created@0 before after:9 before after:7 before after:6 end free");
    braid_graph_free(m.graph);
}

static void test_program_and_hook_may_fetch_the_same(void **state)
{
    (void)state;
    bd_strbuf diary = {0};
    model m = make_model();
    recorder *r = record(&diary);
    r->fetched = m.loss;
    braid_monitored_session *s = open_chief(&m, BRAID_HOOKS(&r->hook));
    braid_tensor *a = NULL, *b = NULL;
    assert_int_equal(braid_run(s, NULL, BRAID_FETCH({m.loss, &a}, {m.loss, &b}), NULL), BRAID_OK);
    assert_float_equal(*(float *)braid_tensor_data(a), 9, 1e-6f);
    assert_float_equal(*(float *)braid_tensor_data(b), 9, 1e-6f);
    braid_tensor_free(a);
    braid_tensor_free(b);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    bd_strbuf_fini(&diary);
    braid_graph_free(m.graph);
}

static void test_progress_ends_with_the_step_reached(void **state)
{
    (void)state;
    model m = make_model();
    FILE *file = tmpfile();
    int kept = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    braid_monitored_session *s =
        open_chief(&m, BRAID_HOOKS(braid_stop_at_step(3), braid_progress(m.loss, 3)));
    while (!braid_should_stop(s))
        step(s, &m);
    braid_code code = braid_monitored_session_close(s);
    dup2(kept, STDERR_FILENO);
    close(kept);
    assert_int_equal(code, BRAID_OK);
    rewind(file);
    int last_step = 0, end = 0;
    double seconds, rate;
    assert_int_equal(fscanf(file, "step %d after %lf s, %lf steps/s%n", &last_step, &seconds, &rate, &end),
                     3);
    assert_int_equal(last_step, 3);
    assert_true(end > 0 && getc(file) == '\n' && getc(file) == EOF);
    fclose(file);
    braid_graph_free(m.graph);
}

static void test_the_first_error_stays(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_strbuf diary = {0};
    model m = make_model();
    braid_monitored_session *s = open_chief(&m, BRAID_HOOKS(&record(&diary)->hook));
    braid_tensor *value = NULL;
    assert_int_equal(braid_run(s, NULL, BRAID_FETCH({m.loss, &value}), m.train), BRAID_INVALID_ARGUMENT);
    assert_null(value);
    assert_true(braid_should_stop(s));
    braid_monitored_session_status(s, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "rate"); // nobody fed it
    assert_int_equal(step(s, &m), BRAID_INVALID_ARGUMENT);
    assert_int_equal(braid_monitored_session_close(s), BRAID_INVALID_ARGUMENT);
    expect_diary(&diary, "begin created@0 before free");
    braid_graph_free(m.graph);
}

// A queue that is filled and closed before training: input that ends.
typedef struct input {
    braid_op *enqueue, *close;
    braid_out next;
} input;

static input make_input(braid_graph *g)
{
    static const braid_dtype dtype = BRAID_FLOAT;
    input in;
    braid_op_desc *d = braid_op_begin(g, "FIFOQueueV2", "input");
    braid_op_attr_type_list(d, "component_types", &dtype, 1);
    braid_out queue = braid_op_end_out(d);
    braid_out one = braid_const_float(g, NULL, 1);
    d = braid_op_begin(g, "QueueEnqueueV2", NULL);
    braid_op_input(d, queue);
    braid_op_input_list(d, &one, 1);
    in.enqueue = braid_op_end(d);
    d = braid_op_begin(g, "QueueDequeueV2", NULL);
    braid_op_input(d, queue);
    braid_op_attr_type_list(d, "component_types", &dtype, 1);
    in.next = braid_op_end_out(d);
    d = braid_op_begin(g, "QueueCloseV2", NULL);
    braid_op_input(d, queue);
    in.close = braid_op_end(d);
    return in;
}

static void test_the_end_of_the_input_ends_training_well(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_strbuf diary = {0};
    model m = make_model();
    input in = make_input(m.graph);
    braid_monitored_session *s = open_chief(&m, BRAID_HOOKS(&record(&diary)->hook));
    braid_session *raw = braid_monitored_session_raw(s);
    braid_op *const fill[] = {in.enqueue, in.enqueue, in.close};
    for (int i = 0; i < 3; i++) {
        braid_run_args args = {.targets = &fill[i], .target_count = 1};
        assert_int_equal(braid_session_run(raw, &args, st), BRAID_OK);
    }
    braid_tensor *value = NULL;
    int steps = 0;
    braid_code code = BRAID_OK;
    for (; !braid_should_stop(s); steps += code == BRAID_OK) {
        code = braid_run(s, NULL, BRAID_FETCH({in.next, &value}), NULL);
        if (!code) braid_tensor_free(value);
    }
    assert_int_equal(steps, 2);
    assert_int_equal(code, BRAID_OUT_OF_RANGE);
    assert_int_equal(braid_monitored_session_status(s, st), BRAID_OK);
    assert_float_equal(loss_now(s, &m), 9, 1e-6f); // one may still evaluate
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    expect_diary(&diary, "begin created@0 before after before after before end free");
    braid_graph_free(m.graph);
}

// Only a run comes to the end of the input.
static void test_out_of_range_when_opening_is_an_error(void **state)
{
    (void)state;
    model m = make_model();
    braid_graph_fail(m.graph, BRAID_OUT_OF_RANGE, "too far");
    braid_monitored_session *s = open_chief(&m, NULL);
    assert_int_equal(braid_evaluate(s, NULL, NULL), BRAID_OUT_OF_RANGE);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OUT_OF_RANGE);
    braid_graph_free(m.graph);
}

static void test_an_error_of_a_hook_is_the_sessions(void **state)
{
    (void)state;
    bd_strbuf diary = {0};
    model m = make_model();
    recorder *r = record(&diary);
    r->fail_after = 2;
    braid_monitored_session *s = open_chief(&m, BRAID_HOOKS(&r->hook));
    int steps = 0;
    for (; !braid_should_stop(s); steps++)
        step(s, &m);
    assert_true(steps >= 1 && steps <= 2);
    assert_int_equal(braid_exit_code(braid_monitored_session_close(s)), 1);
    bd_strbuf_fini(&diary);
    braid_graph_free(m.graph);
}

static void test_an_error_of_the_graph_shows_when_opening(void **state)
{
    (void)state;
    BD_STATUS(st);
    model m = make_model();
    braid_graph_fail(m.graph, BRAID_UNIMPLEMENTED, "not to be built");
    braid_monitored_session *s = open_chief(&m, NULL);
    assert_true(braid_should_stop(s));
    braid_monitored_session_status(s, st);
    assert_error(st, BRAID_UNIMPLEMENTED, "not to be built");
    assert_int_equal(braid_monitored_session_close(s), BRAID_UNIMPLEMENTED);
    braid_graph_free(m.graph);
}

static void test_stopping_at_a_step_needs_a_global_step(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){.is_chief = true, .hooks = BRAID_HOOKS(braid_stop_at_step(5))});
    braid_monitored_session_status(s, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "no global step");
    braid_monitored_session_close(s);
    braid_graph_free(g);
}

static void test_waiting_for_the_chief_has_an_end(void **state)
{
    (void)state;
    BD_STATUS(st);
    model m = make_model();
    braid_monitored_session *s =
        braid_monitored_session_open(m.graph, &(braid_session_config){.wait_timeout_ms = 20});
    braid_monitored_session_status(s, st);
    assert_error(st, BRAID_DEADLINE_EXCEEDED, "Waiting for the chief to initialize x, global_step");
    braid_monitored_session_close(s);
    braid_graph_free(m.graph);
}

static void test_who_is_chief(void **state)
{
    (void)state;
    static const struct {
        const char *cluster, *job;
        int index;
        bool chief;
    } table[] = {
        {"{}", "worker", 3, true},
        {"{\"worker\": [\"a:1\", \"b:1\"], \"ps\": [\"c:1\"]}", "worker", 0, true},
        {"{\"worker\": [\"a:1\", \"b:1\"], \"ps\": [\"c:1\"]}", "worker", 1, false},
        {"{\"worker\": [\"a:1\", \"b:1\"], \"ps\": [\"c:1\"]}", "ps", 0, false},
        {"{\"worker\": [\"a:1\"], \"chief\": [\"c:1\"]}", "worker", 0, false},
        {"{\"worker\": [\"a:1\"], \"chief\": [\"c:1\"]}", "chief", 0, true},
        {"{\"worker\": [\"a:1\"], \"master\": [\"c:1\"]}", "master", 0, true},
        {"{\"worker\": {\"2\": \"a:1\", \"5\": \"b:1\"}}", "worker", 2, true},
    };
    for (size_t i = 0; i < BD_COUNTOF(table); i++) {
        BD_STATUS(st);
        braid_cluster *c = braid_cluster_from_json(table[i].cluster, st);
        assert_ok(st);
        assert_int_equal(braid_is_chief(c, table[i].job, table[i].index), table[i].chief);
        braid_cluster_free(c);
    }
}

// ---- Chief and another, on one server ----

static bd_event said_waiting;

static void wait_sink(braid_log_level level, const char *message, void *arg)
{
    (void)level, (void)arg;
    if (strstr(message, "Waiting for the chief to initialize")) bd_event_set(&said_waiting);
}

typedef struct other {
    braid_server *server;
    braid_code code;
    float loss;
} other;

static void run_other(void *arg)
{
    other *o = arg;
    model m = make_model();
    braid_monitored_session *s =
        braid_monitored_session_open(m.graph, &(braid_session_config){.session.server = o->server});
    if (!braid_should_stop(s)) o->loss = loss_now(s, &m);
    o->code = braid_monitored_session_close(s);
    braid_graph_free(m.graph);
}

static void test_the_others_wait_for_the_chief(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_event_init(&said_waiting);
    braid_set_log_sink(wait_sink, NULL);
    braid_server *server = braid_server_start_local(NULL, st);
    assert_ok(st);
    other o = {.server = server, .code = BRAID_UNKNOWN};
    bd_thread thread;
    bd_thread_start(&thread, "other", run_other, &o, st);
    assert_ok(st);
    bd_event_wait(&said_waiting);

    model m = make_model();
    braid_monitored_session *s = braid_monitored_session_open(
        m.graph, &(braid_session_config){.session.server = server, .is_chief = true});
    bd_thread_join(&thread);
    assert_int_equal(o.code, BRAID_OK);
    assert_float_equal(o.loss, 9, 1e-6f);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(m.graph);
    braid_server_free(server);
    braid_set_log_sink(NULL, NULL);
    bd_event_fini(&said_waiting);
}

// The variables live on the server, which outlives the chief's process.
static void test_a_chief_that_is_started_again_goes_on(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_server *server = braid_server_start_local(NULL, st);
    assert_ok(st);
    for (int64_t last = 4; last <= 8; last += 4) {
        model m = make_model();
        braid_monitored_session *s = braid_monitored_session_open(
            m.graph, &(braid_session_config){.session.server = server,
                                             .is_chief = true,
                                             .hooks = BRAID_HOOKS(braid_stop_at_step(last))});
        int steps = 0;
        for (; !braid_should_stop(s); steps++)
            assert_int_equal(step(s, &m), BRAID_OK);
        assert_int_equal(steps, 4);
        assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
        braid_graph_free(m.graph);
    }
    braid_server_free(server);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_small_model_learns),
        cmocka_unit_test(test_hooks_are_called_around_each_step),
        cmocka_unit_test(test_a_hook_may_evaluate),
        cmocka_unit_test(test_program_and_hook_may_fetch_the_same),
        cmocka_unit_test(test_progress_ends_with_the_step_reached),
        cmocka_unit_test(test_the_first_error_stays),
        cmocka_unit_test(test_the_end_of_the_input_ends_training_well),
        cmocka_unit_test(test_out_of_range_when_opening_is_an_error),
        cmocka_unit_test(test_an_error_of_a_hook_is_the_sessions),
        cmocka_unit_test(test_an_error_of_the_graph_shows_when_opening),
        cmocka_unit_test(test_stopping_at_a_step_needs_a_global_step),
        cmocka_unit_test(test_waiting_for_the_chief_has_an_end),
        cmocka_unit_test(test_who_is_chief),
        cmocka_unit_test(test_the_others_wait_for_the_chief),
        cmocka_unit_test(test_a_chief_that_is_started_again_goes_on),
    };
    return BD_RUN_TESTS(tests);
}

// Runs of monitored sessions with options of their own, and step functions.
// labels: concurrent
#include "base/testing/test.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "train/testing/small_model.h"
#include <stddef.h>

// ---- A hook that traces each step, and gives it a timeout ----

typedef struct asking_hook {
    braid_hook hook;
    int64_t timeout_ms;
    braid_run_metadata *record;
    size_t recorded; // bytes, as after_run sees them
} asking_hook;

static braid_code ask(braid_hook *hook, braid_monitored_session *s, braid_hook_request *request,
                      braid_status *st)
{
    (void)s, (void)st;
    const asking_hook *h = (asking_hook *)hook;
    if (h->record) braid_hook_trace(request, h->record);
    braid_hook_timeout(request, h->timeout_ms);
    return BRAID_OK;
}

static braid_code look(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                       braid_status *st)
{
    (void)s, (void)values, (void)st;
    asking_hook *h = (asking_hook *)hook;
    if (h->record) braid_run_metadata_data(h->record, &h->recorded);
    return BRAID_OK;
}

static asking_hook asking(int64_t timeout_ms, braid_run_metadata *record)
{
    return (asking_hook){
        .hook = {.before_run = ask, .after_run = look}, .timeout_ms = timeout_ms, .record = record};
}

// ---- Traces ----

static void the_program_and_each_hook_may_trace_a_step(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_run_metadata *of[3];
    for (int i = 0; i < 3; i++)
        of[i] = braid_run_metadata_new();
    asking_hook first = asking(0, of[1]), second = asking(0, of[2]);
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(&first.hook, &second.hook));
    braid_tensor *loss = NULL;
    const braid_run_options traced = {.metadata = of[0]};
    assert_int_equal(braid_run_with_options(s, NULL, BRAID_FETCH({m.loss, &loss}), NULL, &traced), BRAID_OK);
    assert_float_equal(*(float *)braid_tensor_data(loss), 9, 0);
    size_t len;
    const void *record = braid_run_metadata_data(of[0], &len);
    assert_true(len > 0);
    assert_int_equal(first.recorded, len);
    assert_int_equal(second.recorded, len);
    for (int i = 1; i < 3; i++)
        assert_memory_equal(braid_run_metadata_data(of[i], &len), record, len);
    braid_tensor_free(loss);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    for (int i = 0; i < 3; i++)
        braid_run_metadata_free(of[i]);
    braid_graph_free(m.graph);
}

static void options_are_those_of_one_step(void **state)
{
    (void)state;
    small_model m = small_model_make();
    braid_run_metadata *record = braid_run_metadata_new();
    braid_monitored_session *s = small_model_open(&m, NULL);
    const braid_run_options traced = {.metadata = record};
    braid_tensor *rate = braid_tensor_float(0.1f);
    braid_run_with_options(s, BRAID_FEED({m.rate, rate}), NULL, m.train, &traced);
    size_t len, later;
    const void *bytes = braid_run_metadata_data(record, &len);
    void *before = bd_memdup(bytes, len);
    assert_int_equal(small_model_step(s, &m), BRAID_OK);
    assert_int_equal(braid_run_with_options(s, BRAID_FEED({m.rate, rate}), NULL, m.train, NULL), BRAID_OK);
    assert_float_equal(small_model_loss(s, &m), 9 * 0.81f * 0.81f * 0.81f, 1e-5f);
    assert_memory_equal(braid_run_metadata_data(record, &later), before, len);
    assert_int_equal(later, len);
    bd_free(before);
    braid_tensor_free(rate);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_run_metadata_free(record);
    braid_graph_free(m.graph);
}

// ---- Timeouts ----

// Runs a step that waits for an element of an empty queue. Returns the milliseconds that it took to fail.
static int64_t wait_for_an_element(int64_t timeout_ms, int64_t of_hook_ms)
{
    BD_STATUS(st);
    small_model m = small_model_make();
    const braid_queue queue = braid_fifo_queue(
        m.graph, &(braid_queue_options){.dtypes = (braid_dtype[]){BRAID_FLOAT}, .count = 1, .capacity = 1});
    braid_out element;
    braid_queue_dequeue(m.graph, queue, &element);
    asking_hook hook = asking(of_hook_ms, NULL);
    braid_monitored_session *s = small_model_open(&m, BRAID_HOOKS(&hook.hook));
    const int64_t start_ns = bd_now_ns();
    const braid_run_options options = {.timeout_ms = timeout_ms};
    braid_run_with_options(s, NULL, NULL, element.op, &options);
    const int64_t ms = (bd_now_ns() - start_ns) / 1000000;
    braid_monitored_session_status(s, st);
    assert_int_equal(st->code, BRAID_DEADLINE_EXCEEDED);
    assert_int_equal(braid_monitored_session_close(s), BRAID_DEADLINE_EXCEEDED);
    braid_graph_free(m.graph);
    return ms;
}

static void the_longest_timeout_of_program_and_hooks_counts(void **state)
{
    (void)state;
    wait_for_an_element(5, 0);
    wait_for_an_element(0, 5);
    assert_true(wait_for_an_element(100, 1) >= 100);
    assert_true(wait_for_an_element(1, 100) >= 100);
}

// ---- Step functions ----

// What the step function of a test does, and what it has seen.
typedef struct own_step {
    small_model model;
    braid_hook hook;   // counts the steps that it sees
    int hooked, calls; // steps with hooks; calls of the step function
    int losses;        // of the session, still to come: after the step's run
    braid_code fails;  // its error, after the losses
    bool swallows;     // an error of its run
    float before, after;
} own_step;

static braid_code count_hooked(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                               braid_status *st)
{
    (void)s, (void)values, (void)st;
    ((own_step *)((char *)hook - offsetof(own_step, hook)))->hooked++;
    return BRAID_OK;
}

static own_step own_step_make(void)
{
    return (own_step){.model = small_model_make(), .hook.after_run = count_hooked};
}

static braid_code train_once(braid_step_context *c, void *arg, braid_status *st)
{
    own_step *o = arg;
    o->calls++;
    o->before = small_model_value(braid_step_session(c), o->model.x.read);
    braid_tensor *rate = braid_tensor_float(0.1f), *loss = NULL;
    braid_step_run(c, BRAID_FEED({o->model.rate, rate}), BRAID_FETCH({o->model.loss, &loss}), o->model.train,
                   NULL, st);
    braid_tensor_free(rate);
    if (st->code) return st->code;
    braid_tensor_free(loss);
    o->after = small_model_value(braid_step_session(c), o->model.x.read);
    if (o->losses-- > 0) return bd_fail(st, BRAID_ABORTED, "a task is lost");
    return o->fails ? bd_fail(st, o->fails, "enough") : BRAID_OK;
}

static void a_step_function_runs_with_hooks_and_without(void **state)
{
    (void)state;
    own_step o = own_step_make();
    braid_monitored_session *s = small_model_open(&o.model, BRAID_HOOKS(&o.hook));
    for (int i = 0; i < 2; i++)
        assert_int_equal(braid_run_step_fn(s, train_once, &o), BRAID_OK);
    assert_int_equal(o.calls, 2);
    assert_int_equal(o.hooked, 2);
    assert_float_equal(o.before, 0.3f, 1e-6f);
    assert_float_equal(o.after, 0.57f, 1e-6f);
    assert_int_equal(braid_monitored_session_global_step(s), 2);
    assert_false(braid_should_stop(s));
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(o.model.graph);
}

static void a_step_function_is_called_again_in_another_session(void **state)
{
    (void)state;
    own_step o = own_step_make();
    o.losses = 2;
    braid_monitored_session *s = small_model_open(&o.model, BRAID_HOOKS(&o.hook));
    assert_int_equal(braid_run_step_fn(s, train_once, &o), BRAID_OK);
    assert_int_equal(o.calls, 3);
    assert_float_equal(o.before, 0, 0); // a new session, of variables that begin anew
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(o.model.graph);
}

static void the_error_of_a_step_function_ends_training(void **state)
{
    (void)state;
    static const struct {
        braid_code fails, of_session;
    } table[] = {{BRAID_DATA_LOSS, BRAID_DATA_LOSS}, {BRAID_OUT_OF_RANGE, BRAID_OK}};
    for (size_t i = 0; i < BD_COUNTOF(table); i++) {
        own_step o = own_step_make();
        o.fails = table[i].fails;
        braid_monitored_session *s = small_model_open(&o.model, BRAID_HOOKS(&o.hook));
        assert_int_equal(braid_run_step_fn(s, train_once, &o), o.fails);
        assert_true(braid_should_stop(s));
        assert_int_equal(braid_monitored_session_status(s, NULL), table[i].of_session);
        if (table[i].of_session) assert_int_equal(braid_run_step_fn(s, train_once, &o), o.fails);
        assert_int_equal(o.calls, 1);
        assert_int_equal(braid_monitored_session_close(s), table[i].of_session);
        braid_graph_free(o.model.graph);
    }
}

// Runs the step without the rate that it needs, and goes on.
static braid_code try_without_rate(braid_step_context *c, void *arg, braid_status *st)
{
    const own_step *o = arg;
    assert_int_equal(braid_step_run(c, NULL, NULL, o->model.train, NULL, st), BRAID_INVALID_ARGUMENT);
    return o->swallows ? BRAID_OK : st->code;
}

static void a_step_function_may_deal_with_the_error_of_its_run(void **state)
{
    (void)state;
    for (int swallows = 0; swallows < 2; swallows++) {
        own_step o = own_step_make();
        o.swallows = swallows;
        braid_monitored_session *s = small_model_open(&o.model, BRAID_HOOKS(&o.hook));
        const braid_code want = swallows ? BRAID_OK : BRAID_INVALID_ARGUMENT;
        assert_int_equal(braid_run_step_fn(s, try_without_rate, &o), want);
        assert_int_equal(braid_should_stop(s), !swallows);
        assert_int_equal(braid_monitored_session_close(s), want);
        braid_graph_free(o.model.graph);
    }
}

static braid_code stop_after_a_run(braid_step_context *c, void *arg, braid_status *st)
{
    braid_step_request_stop(c);
    return train_once(c, arg, st);
}

static braid_code fail_silently(braid_step_context *c, void *arg, braid_status *st)
{
    (void)c, (void)arg, (void)st;
    return BRAID_INTERNAL;
}

static void a_step_function_may_ask_to_stop(void **state)
{
    (void)state;
    own_step o = own_step_make();
    braid_monitored_session *s = small_model_open(&o.model, BRAID_HOOKS(&o.hook));
    assert_int_equal(braid_run_step_fn(s, stop_after_a_run, &o), BRAID_OK);
    assert_true(braid_should_stop(s));
    assert_int_equal(o.hooked, 1);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(o.model.graph);
}

static void an_error_without_a_message_gets_one(void **state)
{
    (void)state;
    BD_STATUS(st);
    small_model m = small_model_make();
    braid_monitored_session *s = small_model_open(&m, NULL);
    assert_int_equal(braid_run_step_fn(s, fail_silently, NULL), BRAID_INTERNAL);
    braid_monitored_session_status(s, st);
    assert_error(st, BRAID_INTERNAL, "does not say why");
    braid_monitored_session_close(s);
    braid_graph_free(m.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_step_function_runs_with_hooks_and_without),
        cmocka_unit_test(a_step_function_is_called_again_in_another_session),
        cmocka_unit_test(the_error_of_a_step_function_ends_training),
        cmocka_unit_test(a_step_function_may_deal_with_the_error_of_its_run),
        cmocka_unit_test(a_step_function_may_ask_to_stop),
        cmocka_unit_test(an_error_without_a_message_gets_one),
        cmocka_unit_test(the_program_and_each_hook_may_trace_a_step),
        cmocka_unit_test(options_are_those_of_one_step),
        cmocka_unit_test(the_longest_timeout_of_program_and_hooks_counts),
    };
    return BD_RUN_TESTS(tests);
}

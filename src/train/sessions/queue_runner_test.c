// Queue runners: by themselves, in monitored sessions, in MetaGraphs.
// labels: concurrent
#include "base/testing/test.h"

#include "base/alloc.h"
#include "base/thread.h"
#include "train/sessions/saver.h"
#include "train/testing/small_model.h"

// A queue of capacity 2 for the numbers 1 to `limit` (0: without an end) that two threads count up.
typedef struct input {
    braid_graph *graph;
    braid_out queue, next;
    braid_queue_runner *runner;
} input;

static braid_out make_queue(braid_graph *g, const char *name)
{
    static const braid_dtype dtype = BRAID_INT64;
    braid_op_desc *d = braid_op_begin(g, "FIFOQueueV2", name);
    braid_op_attr_type_list(d, "component_types", &dtype, 1);
    braid_op_attr_int(d, "capacity", 2);
    return braid_op_end_out(d);
}

static braid_op *make_enqueue(braid_graph *g, braid_out queue, braid_out value)
{
    braid_op_desc *d = braid_op_begin(g, "QueueEnqueueV2", "enqueue");
    braid_op_input(d, queue);
    braid_op_input_list(d, &value, 1);
    return braid_op_end(d);
}

static braid_out make_dequeue(braid_graph *g, braid_out queue)
{
    static const braid_dtype dtype = BRAID_INT64;
    braid_op_desc *d = braid_op_begin(g, "QueueDequeueV2", "dequeue");
    braid_op_input(d, queue);
    braid_op_attr_type_list(d, "component_types", &dtype, 1);
    return braid_op_end_out(d);
}

// CountUpTo gives OutOfRange at its limit: an input that ends.
static input make_input(braid_graph *g, int64_t limit)
{
    input in = {.graph = g, .queue = make_queue(g, "input")};
    braid_tensor *zero = braid_tensor_int64(0);
    const braid_variable counter = braid_variable_new(g, "counter", braid_const(g, NULL, zero), false);
    braid_tensor_free(zero);
    braid_op_desc *d = braid_op_begin(g, "CountUpTo", NULL);
    braid_op_input(d, counter.ref);
    braid_op_attr_int(d, "limit", limit ? limit : INT64_MAX);
    braid_op *enqueue = make_enqueue(g, in.queue, braid_op_end_out(d));
    in.next = make_dequeue(g, in.queue);
    in.runner =
        braid_queue_runner_new(g, in.queue,
                               &(braid_queue_runner_options){.enqueue_ops = (braid_op *[]){enqueue, enqueue},
                                                             .enqueue_op_count = 2});
    braid_add_queue_runner(g, in.runner);
    return in;
}

// ---- By themselves ----

static braid_session *open_initialized(braid_graph *g)
{
    BD_STATUS(st);
    braid_op *init = braid_global_variables_initializer(g);
    braid_session *s = braid_session_open(g, NULL, st);
    assert_ok(st);
    assert_int_equal(braid_session_run(s, &(braid_run_args){.targets = &init, .target_count = 1}, st),
                     BRAID_OK);
    return s;
}

static braid_code take(braid_session *s, braid_out next, int64_t *value, braid_status *st)
{
    braid_tensor *t = NULL;
    braid_fetch fetch = {next, &t};
    const braid_code code = braid_session_run(s, &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st);
    if (!code) *value = *(const int64_t *)braid_tensor_data(t);
    braid_tensor_free(t);
    return code;
}

static void the_last_thread_closes_the_queue_at_the_end_of_the_input(void **state)
{
    (void)state;
    BD_STATUS(st);
    input in = make_input(braid_graph_new(), 7);
    braid_session *s = open_initialized(in.graph);
    braid_coordinator *c = braid_coordinator_new();
    assert_int_equal(braid_start_queue_runners(in.graph, s, c, st), BRAID_OK);
    int64_t value, sum = 0;
    int count = 0;
    for (; !take(s, in.next, &value, st); count++)
        sum += value;
    assert_error(st, BRAID_OUT_OF_RANGE, "closed and has insufficient elements");
    assert_int_equal(count, 7);
    assert_int_equal(sum, 0 + 1 + 2 + 3 + 4 + 5 + 6);
    braid_status_clear(st);
    assert_false(braid_coordinator_should_stop(c)); // the end of an input is not a request
    braid_coordinator_request_stop(c, NULL);
    assert_int_equal(braid_coordinator_join(c, 0, st), BRAID_OK);
    braid_coordinator_free(c);
    braid_session_close(s, st);
    braid_graph_free(in.graph);
}

static void a_request_to_stop_ends_threads_that_wait_for_room(void **state)
{
    (void)state;
    BD_STATUS(st);
    input in = make_input(braid_graph_new(), 0);
    braid_session *s = open_initialized(in.graph);
    braid_coordinator *c = braid_coordinator_new();
    for (int i = 0; i < 2; i++) // the second start finds the threads running
        assert_int_equal(braid_start_queue_runners(in.graph, s, c, st), BRAID_OK);
    int64_t value;
    assert_int_equal(take(s, in.next, &value, st), BRAID_OK);
    braid_coordinator_request_stop(c, NULL);
    assert_int_equal(braid_coordinator_join(c, 0, st), BRAID_OK);
    braid_coordinator_free(c);
    braid_session_close(s, st);
    braid_graph_free(in.graph);
}

static void the_codes_that_mean_a_closed_queue_can_be_chosen(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_out first = make_queue(g, "first");
    const braid_out missing = braid_placeholder(g, "missing", BRAID_INT64, BRAID_SCALAR); // in each run
    braid_op *enqueue = make_enqueue(g, first, missing);
    const braid_out next = make_dequeue(g, first);
    const braid_code closed = BRAID_INVALID_ARGUMENT;
    braid_add_queue_runner(g, braid_queue_runner_new(g, first,
                                                     &(braid_queue_runner_options){.enqueue_ops = &enqueue,
                                                                                   .enqueue_op_count = 1,
                                                                                   .closed_codes = &closed,
                                                                                   .closed_code_count = 1}));
    braid_session *s = open_initialized(g);
    braid_coordinator *c = braid_coordinator_new();
    assert_int_equal(braid_start_queue_runners(g, s, c, st), BRAID_OK);
    int64_t value;
    assert_int_equal(take(s, next, &value, st), BRAID_OUT_OF_RANGE);
    braid_status_clear(st);
    braid_coordinator_request_stop(c, NULL);
    assert_int_equal(braid_coordinator_join(c, 0, st), BRAID_OK);
    braid_coordinator_free(c);
    braid_session_close(s, st);
    braid_graph_free(g);
}

static void a_runner_without_ops_makes_the_graph_fail(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_op *none = NULL;
    const braid_queue_runner_options options = {.enqueue_ops = &none, .enqueue_op_count = 1};
    assert_null(braid_queue_runner_new(g, make_queue(g, "q"), &options));
    braid_graph_status(g, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Enqueue op 0 of the runner of queue 'q' is NULL");
    braid_graph_free(g);
}

// ---- In monitored sessions ----

static void a_monitored_session_runs_them_to_the_end_of_the_input(void **state)
{
    (void)state;
    input in = make_input(braid_graph_new(), 5);
    braid_monitored_session *s =
        braid_monitored_session_open(in.graph, &(braid_session_config){.is_chief = true});
    int count = 0;
    while (!braid_should_stop(s)) {
        braid_tensor *value = NULL;
        count += braid_run(s, NULL, BRAID_FETCH({in.next, &value}), NULL) == BRAID_OK;
        braid_tensor_free(value);
    }
    assert_int_equal(count, 5);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(in.graph);
}

static void closing_a_monitored_session_ends_threads_that_wait_for_room(void **state)
{
    (void)state;
    input in = make_input(braid_graph_new(), 0);
    braid_monitored_session *s =
        braid_monitored_session_open(in.graph, &(braid_session_config){.is_chief = true});
    assert_int_equal(braid_run(s, NULL, NULL, in.next.op), BRAID_OK);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(in.graph);
}

static void the_error_of_a_runner_ends_training(void **state)
{
    (void)state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_out queue = make_queue(g, "input");
    const braid_out missing = braid_placeholder(g, "missing", BRAID_INT64, BRAID_SCALAR);
    braid_op *enqueue = make_enqueue(g, queue, missing); // each run fails: the placeholder is not fed
    const braid_out next = make_dequeue(g, queue);
    braid_add_queue_runner(
        g, braid_queue_runner_new(
               g, queue, &(braid_queue_runner_options){.enqueue_ops = &enqueue, .enqueue_op_count = 1}));
    braid_monitored_session *s = braid_monitored_session_open(g, &(braid_session_config){.is_chief = true});
    assert_int_equal(braid_run(s, NULL, NULL, next.op), BRAID_INVALID_ARGUMENT); // would wait for ever
    braid_monitored_session_status(s, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "missing");
    assert_int_equal(braid_monitored_session_close(s), BRAID_INVALID_ARGUMENT);
    braid_graph_free(g);
}

static bd_event went_on;

static void recovery_sink(braid_log_level level, const char *message, void *arg)
{
    (void)level, (void)arg;
    if (strstr(message, "Training goes on")) bd_event_set(&went_on);
}

static braid_code report_lost_task(braid_coordinator *c, void *arg, braid_status *st)
{
    (void)c, (void)arg;
    return bd_fail(st, BRAID_UNAVAILABLE, "the task is gone");
}

static void a_lost_task_that_a_thread_sees_leads_to_a_recovery_that_starts_the_runners_again(void **state)
{
    (void)state;
    BD_STATUS(st);
    input in = make_input(braid_graph_new(), 0);
    braid_monitored_session *s =
        braid_monitored_session_open(in.graph, &(braid_session_config){.is_chief = true});
    bd_event_init(&went_on);
    braid_set_log_sink(recovery_sink, NULL);
    braid_coordinator *c = braid_monitored_session_coordinator(s);
    assert_int_equal(braid_coordinator_start(c, "watch", report_lost_task, NULL, st), BRAID_OK);
    while (!bd_event_is_set(&went_on))
        assert_int_equal(braid_run(s, NULL, NULL, in.next.op), BRAID_OK);
    for (int i = 0; i < 5; i++) // more than were in the queue: threads fill it
        assert_int_equal(braid_run(s, NULL, NULL, in.next.op), BRAID_OK);
    braid_set_log_sink(NULL, NULL);
    assert_int_equal(braid_monitored_session_close(s), BRAID_OK);
    braid_graph_free(in.graph);
}

// ---- In MetaGraphs ----

static bool contains(const char *bytes, size_t len, const char *text)
{
    return memmem(bytes, len, text, strlen(text)) != NULL;
}

// QueueRunnerDef: queue_name 1, enqueue_op_name 2 (twice), close_op_name 3, cancel_op_name 4, codes 5.
static void a_meta_graph_has_the_runners(void **state)
{
    (void)state;
    BD_STATUS(st);
    input in = make_input(braid_graph_new(), 5);
    braid_saver *saver = braid_saver_new(in.graph, NULL);
    size_t len;
    char *meta = train_meta_graph_write(saver, &len, st);
    assert_ok(st);
    assert_true(contains(meta, len, BRAID_QUEUE_RUNNERS));
    assert_true(contains(meta, len,
                         "\x0a\x05input"
                         "\x12\x07"
                         "enqueue"
                         "\x12\x07"
                         "enqueue"
                         "\x1a\x0binput_Close"
                         "\"\x0dinput_Close_1"
                         "(\x0b"));
    bd_free(meta);
    braid_graph_free(in.graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_thread_closes_the_queue_at_the_end_of_the_input),
        cmocka_unit_test(a_request_to_stop_ends_threads_that_wait_for_room),
        cmocka_unit_test(the_codes_that_mean_a_closed_queue_can_be_chosen),
        cmocka_unit_test(a_runner_without_ops_makes_the_graph_fail),
        cmocka_unit_test(a_monitored_session_runs_them_to_the_end_of_the_input),
        cmocka_unit_test(closing_a_monitored_session_ends_threads_that_wait_for_room),
        cmocka_unit_test(the_error_of_a_runner_ends_training),
        cmocka_unit_test(a_lost_task_that_a_thread_sees_leads_to_a_recovery_that_starts_the_runners_again),
        cmocka_unit_test(a_meta_graph_has_the_runners),
    };
    return BD_RUN_TESTS(tests);
}

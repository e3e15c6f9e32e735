// BatchFunction joins the calls of steps that run at the same time. The function adds the number of elements
// of the batch to each element, so that results tell with how many others they were computed.
// labels: concurrent
#include "base/thread.h"
#include "ops/testing/op_test.h"
#include "runtime/testing/data_graph.h"

enum {
    STEPS = 4
};

#define JOINED(NAME, F, SIZE, MICROS, MORE)                                                                  \
    NODE(NAME, "BatchFunction",                                                                              \
         INPUT("x") ATTR("Tin", "list { type: DT_INT64 }") ATTR("Tcaptured", "list { }")                     \
             ATTR("Tout", "list { type: DT_INT64 }") FUNC("f", F) ATTR("num_batch_threads", "i: 1")          \
                 ATTR("max_batch_size", "i: " SIZE) ATTR("batch_timeout_micros", "i: " MICROS) MORE)

static const char graph[] = "library { " FUNCTION("add_size", IN("x", I) OUT("y", I),
                                                  BODY("n", "Size", INPUT("x") T_INT TYPE("out_type", I))
                                                      BODY("s", "Add", INPUT("x") INPUT("n:output:0") T_INT)
                                                          RET("y", "s:z:0"))
    FUNCTION(
        "first", IN("x", I) OUT("y", I),
        BODY("zero", "Const",
             INT32("0")) BODY("max", "Max", INPUT("x") INPUT("zero:output:0") T_INT TYPE("Tidx", "DT_INT32"))
            RET("y",
                "max:output:0")) "} "
                                 "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_INT64 } } } " JOINED(
                                     "full", "add_size", "4", "3600000000", "")
                                     JOINED("soon", "add_size", "100", "1000", "")
                                         JOINED("filled", "add_size", "8", "0",
                                                ATTR("allowed_batch_sizes", "list { i: 5 i: 8 }"))
                                             JOINED("narrow", "first", "4", "0", "");

typedef struct fixture {
    braid_graph *graph;
    braid_session *session;
} fixture;

// One step on a thread of its own.
typedef struct step {
    const struct fixture *at;
    const char *fetch;
    int64_t x;
    braid_cancellation *cancellation;
    int64_t timeout_ms;
    bd_thread thread;
    braid_status status;
    braid_tensor *y;
} step;

static void run_step(void *arg)
{
    step *s = arg;
    braid_graph *g = s->at->graph;
    braid_tensor x;
    op_test_tensor(&x, "int64[1] 0");
    bd_tensor_i64(&x)[0] = s->x;
    braid_feed feed = {braid_graph_find_out(g, "x"), &x};
    braid_fetch fetch = {braid_graph_find_out(g, s->fetch), &s->y};
    braid_run_args args = {.feeds = &feed,
                           .feed_count = 1,
                           .fetches = &fetch,
                           .fetch_count = 1,
                           .timeout_ms = s->timeout_ms,
                           .cancellation = s->cancellation};
    braid_session_run(s->at->session, &args, &s->status);
    bd_tensor_fini(&x);
}

static void start(step *s)
{
    BD_STATUS(st);
    assert_int_equal(bd_thread_start(&s->thread, "step", run_step, s, st), BRAID_OK);
}

static void expect_y(step *s, int64_t want)
{
    bd_thread_join(&s->thread);
    assert_ok(&s->status);
    assert_int_equal(bd_tensor_i64(s->y)[0], want);
    braid_tensor_free(s->y);
}

static void expect_error(step *s, braid_code code, const char *words)
{
    bd_thread_join(&s->thread);
    if (s->status.code != code || !strstr(s->status.message, words))
        fail_msg("%s: %s", braid_code_name(s->status.code), s->status.message);
    bd_status_fini(&s->status);
}

static fixture open_fixture(void)
{
    BD_STATUS(st);
    fixture f = {.graph = braid_graph_new()};
    char *text = bd_strdup(graph);
    for (char *c = text; *c; c++)
        if (*c == '\'') *c = '"';
    braid_graph_import_text(f.graph, text, strlen(text), st);
    bd_free(text);
    assert_ok(st);
    f.session = braid_session_open(f.graph, &(braid_session_options){.cpu_devices = 1}, st);
    assert_ok(st);
    return f;
}

static void close_fixture(fixture f)
{
    braid_session_close(f.session, NULL);
    braid_graph_free(f.graph);
}

static void steps_of_a_full_batch_share_a_call(void **state)
{
    (void)state;
    fixture f = open_fixture();
    for (int round = 0; round < 20; round++) {
        step steps[STEPS];
        for (int i = 0; i < STEPS; i++) {
            steps[i] = (step){.at = &f, .fetch = "full", .x = 10 * i};
            start(&steps[i]);
        }
        for (int i = 0; i < STEPS; i++)
            expect_y(&steps[i], 10 * i + STEPS);
    }
    close_fixture(f);
}

static void a_timeout_ends_the_wait_for_others(void **state)
{
    (void)state;
    fixture f = open_fixture();
    step one = {.at = &f, .fetch = "soon", .x = 5};
    start(&one);
    expect_y(&one, 6);
    close_fixture(f);
}

static void batches_are_filled_up_to_allowed_sizes(void **state)
{
    (void)state;
    fixture f = open_fixture();
    step one = {.at = &f, .fetch = "filled", .x = 7};
    start(&one);
    expect_y(&one, 12);
    close_fixture(f);
}

static void results_must_have_the_rows_of_the_batch(void **state)
{
    (void)state;
    fixture f = open_fixture();
    step one = {.at = &f, .fetch = "narrow", .x = 7};
    start(&one);
    expect_error(&one, BRAID_FAILED_PRECONDITION, "Batched output tensor has 0 dimensions");
    close_fixture(f);
}

static void steps_that_are_cancelled_leave_the_batch(void **state)
{
    (void)state;
    fixture f = open_fixture();
    step gone[2] = {{.at = &f, .fetch = "full", .cancellation = braid_cancellation_new(f.session)},
                    {.at = &f, .fetch = "full", .timeout_ms = 1}};
    start(&gone[0]);
    start(&gone[1]);
    braid_cancellation_cancel(gone[0].cancellation);
    expect_error(&gone[0], BRAID_CANCELLED, "");
    expect_error(&gone[1], BRAID_DEADLINE_EXCEEDED, "");
    braid_cancellation_free(gone[0].cancellation);
    step steps[STEPS];
    for (int i = 0; i < STEPS; i++) {
        steps[i] = (step){.at = &f, .fetch = "full", .x = i};
        start(&steps[i]);
    }
    for (int i = 0; i < STEPS; i++)
        expect_y(&steps[i], i + STEPS);
    close_fixture(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_of_a_full_batch_share_a_call),
        cmocka_unit_test(a_timeout_ends_the_wait_for_others),
        cmocka_unit_test(batches_are_filled_up_to_allowed_sizes),
        cmocka_unit_test(results_must_have_the_rows_of_the_batch),
        cmocka_unit_test(steps_that_are_cancelled_leave_the_batch),
    };
    return BD_RUN_TESTS(tests);
}

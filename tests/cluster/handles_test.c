// Callables, partial runs and cancellations, the same on every kind of session: in this process, on its
// server's master, on a server elsewhere.
// labels: concurrent
#include "base/alloc.h"
#include "support/test_cluster.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef enum session_kind {
    IN_PROCESS,
    ON_TWO_DEVICES, // of this process
    ON_SERVER,
    ELSEWHERE
} session_kind;

static session_kind kind; // of the group that runs

#define CALL_TIMEOUT_MS 30

// sum = a + b on one task, product = sum * c on another; count counts how often it runs.
typedef struct fixture {
    test_cluster *cluster; // NULL: in this process
    braid_graph *g;
    braid_session *s;
    braid_out a, b, c, sum, product, counter;
    braid_op *init, *count;
} fixture;

static const char *place(const char *device)
{
    if (kind >= ON_SERVER) return device;
    if (kind == IN_PROCESS) return "";
    return strcmp(device, PS) == 0 ? "/cpu:0" : "/cpu:1";
}

static braid_out placeholder(fixture *f, const char *name, const char *device)
{
    braid_push_device(f->g, place(device));
    const braid_out out = braid_placeholder(f->g, name, BRAID_FLOAT, BRAID_SCALAR);
    braid_pop_device(f->g);
    return out;
}

static int set_up_on(void **state, bd_transport *network)
{
    BD_STATUS(st);
    fixture *f = *state = bd_calloc(1, sizeof *f);
    f->g = braid_graph_new();
    f->a = placeholder(f, "a", WORKER);
    f->b = placeholder(f, "b", PS);
    f->c = placeholder(f, "c", WORKER);
    f->sum = NODE(f->g, "Add", "sum", place(PS), f->a, f->b);
    f->product = NODE(f->g, "Mul", "product", place(WORKER), f->sum, f->c);
    f->counter = test_variable(f->g, "counter", place(PS), 0, &f->init);
    f->count =
        NODE(f->g, "AssignAdd", "count", place(PS), f->counter, test_const(f->g, "one", place(PS), 1)).op;
    if (kind < ON_SERVER) {
        f->s = braid_session_open(
            f->g, &(braid_session_options){.cpu_devices = kind == ON_TWO_DEVICES ? 2 : 1}, st);
    } else {
        f->cluster = test_cluster_new_on(network, 1, 1);
        test_start_all(f->cluster, NULL);
        f->s = kind == ON_SERVER ? test_session(f->cluster, f->g, "worker", 0, NULL, st)
                                 : test_remote_session(f->cluster, f->g, "worker", 0, NULL, st);
    }
    if (!f->s) fail_msg("%s", st->message);
    test_run(f->s, f->init);
    return 0;
}

static int set_up(void **state)
{
    return set_up_on(state, NULL); // gRPC
}

// Each message between tasks takes longer than CALL_TIMEOUT_MS.
static int set_up_slow(void **state)
{
    BD_STATUS(st);
    const int64_t delay_ns = 2 * CALL_TIMEOUT_MS * INT64_C(1000000);
    const bd_inprocess_faults slow = {.delay_min_ns = delay_ns, .delay_max_ns = delay_ns};
    return set_up_on(state, kind < ON_SERVER ? NULL : bd_inprocess_transport_new(&slow, NULL, st));
}

static int tear_down(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    if (f->s) assert_int_equal(braid_session_close(f->s, st), BRAID_OK);
    braid_graph_free(f->g);
    if (f->cluster) test_cluster_free(f->cluster);
    bd_free(f);
    return 0;
}

static float take(braid_tensor *t)
{
    const float value = *(const float *)braid_tensor_data(t);
    braid_tensor_free(t);
    return value;
}

// ---- Callables ----

static braid_callable *product_callable(fixture *f, const braid_callable_options *options)
{
    BD_STATUS(st);
    const braid_out feeds[] = {f->c, f->a, f->b}, fetches[] = {f->product, f->sum, f->product};
    const braid_signature signature = {.feeds = feeds,
                                       .feed_count = 3,
                                       .fetches = fetches,
                                       .fetch_count = 3,
                                       .targets = &f->count,
                                       .target_count = 1};
    braid_callable *c = braid_callable_new(f->s, &signature, options, st);
    if (!c) fail_msg("%s", st->message);
    return c;
}

static braid_code run_product(braid_callable *callable, float c, float a, float b, float got[3],
                              braid_run_metadata *metadata, braid_status *st)
{
    braid_tensor *in[3] = {braid_tensor_float(c), braid_tensor_float(a), braid_tensor_float(b)};
    braid_tensor *out[3] = {0};
    if (!braid_callable_run(callable, (const braid_tensor *const *)in, out, metadata, st))
        for (int i = 0; i < 3; i++)
            got[i] = take(out[i]);
    else
        assert_null(out[0]);
    for (int i = 0; i < 3; i++)
        braid_tensor_free(in[i]);
    return st->code;
}

static void a_callable_runs_in_the_order_of_its_signature(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    braid_callable *c = product_callable(f, NULL);
    for (int i = 0; i < 5; i++) {
        float got[3];
        if (run_product(c, (float)i, 3, 4, got, NULL, st)) fail_msg("%s", st->message);
        assert_true(got[0] == (float)i * 7 && got[1] == 7 && got[2] == got[0]);
    }
    assert_true(test_fetch(f->s, f->counter) == 5); // its target has run
    braid_callable_free(c);
    braid_callable_free(NULL);
}

static void a_traced_callable_records_its_nodes(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    braid_callable *c = product_callable(f, &(braid_callable_options){.is_traced = true});
    braid_run_metadata *metadata = braid_run_metadata_new();
    float got[3];
    if (run_product(c, 1, 2, 3, got, NULL, st)) fail_msg("%s", st->message);
    if (run_product(c, 1, 2, 3, got, metadata, st)) fail_msg("%s", st->message);
    char *summary = braid_run_metadata_summary(metadata, 100, st);
    assert_non_null(summary);
    assert_non_null(strstr(summary, "Mul"));
    free(summary);
    braid_callable *plain = product_callable(f, NULL);
    run_product(plain, 1, 2, 3, got, metadata, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "not traced");
    braid_run_metadata_free(metadata);
    braid_callable_free(plain);
    braid_callable_free(c);
}

static void a_connection_replaces_a_feed(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    const braid_connection connection = {.from = f->sum, .to = f->c};
    const braid_out feeds[] = {f->a, f->b};
    const braid_signature signature = {
        .feeds = feeds, .feed_count = 2, .fetches = &f->product, .fetch_count = 1};
    braid_callable *c = braid_callable_new(
        f->s, &signature, &(braid_callable_options){.connections = &connection, .connection_count = 1}, st);
    if (!c) fail_msg("%s", st->message);
    braid_tensor *in[2] = {braid_tensor_float(2), braid_tensor_float(3)}, *out = NULL;
    if (braid_callable_run(c, (const braid_tensor *const *)in, &out, NULL, st)) fail_msg("%s", st->message);
    assert_true(take(out) == 25);
    const braid_tensor *none[2] = {in[0], NULL};
    braid_callable_run(c, none, &out, NULL, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "feed 1, 'b', has no value");
    braid_tensor_free(in[0]);
    braid_tensor_free(in[1]);
    braid_callable_free(c);
}

static void wrong_callables_are_refused(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    const braid_out nowhere = {0}, beyond = {f->sum.op, 7};
    assert_null(
        braid_callable_new(f->s, &(braid_signature){.fetches = &nowhere, .fetch_count = 1}, NULL, st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "fetch 0 is no output");
    bd_status_fini(st);
    assert_null(braid_callable_new(f->s, &(braid_signature){.fetches = &beyond, .fetch_count = 1}, NULL, st));
    assert_int_equal(st->code, BRAID_INVALID_ARGUMENT);
    bd_status_fini(st);
    const braid_connection circle = {.from = f->product, .to = f->a};
    assert_null(braid_callable_new(f->s, &(braid_signature){.fetches = &f->product, .fetch_count = 1},
                                   &(braid_callable_options){.connections = &circle, .connection_count = 1},
                                   st));
    assert_error(st, BRAID_INVALID_ARGUMENT, "would create a cycle");
}

static braid_callable *callable_with_timeout(fixture *f)
{
    BD_STATUS(st);
    const braid_out never = test_never(f->g, "never", place(PS), NULL);
    braid_callable *c = braid_callable_new(f->s, &(braid_signature){.fetches = &never, .fetch_count = 1},
                                           &(braid_callable_options){.timeout_ms = CALL_TIMEOUT_MS}, st);
    if (!c) fail_msg("%s", st->message);
    return c;
}

static void a_callable_keeps_its_timeout(void **state)
{
    BD_STATUS(st);
    braid_callable *c = callable_with_timeout(*state);
    braid_tensor *out = NULL;
    braid_callable_run(c, NULL, &out, NULL, st);
    assert_int_equal(st->code, BRAID_DEADLINE_EXCEEDED);
    braid_callable_free(c);
}

// On a network on which it takes longer than the timeout of a run.
static void the_making_of_a_callable_is_no_run(void **state)
{
    braid_callable_free(callable_with_timeout(*state));
}

static void tensor_handles_may_outlive_their_session(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    braid_callable *c = product_callable(f, NULL);
    braid_partial_run *r =
        braid_partial_run_new(f->s, &(braid_signature){.fetches = &f->counter, .fetch_count = 1}, st);
    if (!r) fail_msg("%s", st->message);
    braid_session_close(f->s, st);
    f->s = NULL;
    float got[3];
    run_product(c, 1, 2, 3, got, NULL, st);
    assert_error(st, BRAID_CANCELLED, "Session has been closed");
    bd_status_fini(st);
    braid_partial_run_call(r, &(braid_run_args){0}, st);
    assert_error(st, BRAID_CANCELLED, "Session has been closed");
    braid_callable_free(c);
    braid_partial_run_free(r);
}

// ---- Partial runs ----

static braid_partial_run *partial_of_all(fixture *f)
{
    BD_STATUS(st);
    const braid_out feeds[] = {f->a, f->b, f->c}, fetches[] = {f->sum, f->product};
    const braid_signature signature = {.feeds = feeds,
                                       .feed_count = 3,
                                       .fetches = fetches,
                                       .fetch_count = 2,
                                       .targets = &f->count,
                                       .target_count = 1};
    braid_partial_run *r = braid_partial_run_new(f->s, &signature, st);
    if (!r) fail_msg("%s", st->message);
    return r;
}

// Feeds `in` (op NULL: no feed) and fetches `out` (the same).
static braid_code call_with(braid_partial_run *r, braid_out in, float value, braid_out out, float *got,
                            braid_status *st)
{
    braid_tensor *fed = braid_tensor_float(value), *fetched = NULL;
    const braid_feed feed = {in, fed};
    const braid_fetch fetch = {out, &fetched};
    const braid_run_args args = {
        .feeds = &feed, .feed_count = in.op != NULL, .fetches = &fetch, .fetch_count = out.op != NULL};
    braid_partial_run_call(r, &args, st);
    braid_tensor_free(fed);
    if (fetched) *got = take(fetched);
    return st->code;
}

static void call_ok(braid_partial_run *r, braid_out in, float value, braid_out out, float want)
{
    BD_STATUS(st);
    float got = want;
    if (call_with(r, in, value, out, &got, st)) fail_msg("%s", st->message);
    assert_true(got == want);
}

static void a_step_goes_on_from_call_to_call(void **state)
{
    fixture *f = *state;
    for (int i = 1; i <= 3; i++) {
        braid_partial_run *r = partial_of_all(f);
        call_ok(r, f->a, 3, BRAID_NONE, 0);
        call_ok(r, f->b, (float)i, f->sum, (float)(3 + i));
        call_ok(r, f->c, 10, f->product, (float)(30 + 10 * i));
        assert_true(test_fetch(f->s, f->counter) == (float)i); // once a step
        BD_STATUS(st);
        float got;
        call_with(r, f->c, 10, f->product, &got, st);
        assert_int_equal(st->code, BRAID_INVALID_ARGUMENT); // it is over
        braid_partial_run_free(r);
    }
}

static void a_wrong_call_leaves_the_step_as_it_is(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    float got;
    braid_partial_run *r = partial_of_all(f);
    call_with(r, f->a, 3, f->sum, &got, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "can't be computed from the feeds that have been fed so far");
    bd_status_fini(st);
    call_ok(r, f->a, 3, BRAID_NONE, 0);
    call_with(r, f->a, 3, BRAID_NONE, &got, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "has already been fed");
    bd_status_fini(st);
    call_with(r, f->b, 4, f->counter, &got, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "was not specified in partial_run_setup");
    bd_status_fini(st);
    const braid_run_args with_target = {.targets = &f->count, .target_count = 1};
    braid_partial_run_call(r, &with_target, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "has targets");
    call_ok(r, f->b, 4, f->sum, 7);
    call_ok(r, f->c, 2, f->product, 14);
    braid_partial_run_free(r);
}

static void a_step_may_be_given_up(void **state)
{
    fixture *f = *state;
    braid_partial_run *r = partial_of_all(f); // before its first call
    braid_partial_run_free(r);
    r = partial_of_all(f);
    call_ok(r, f->a, 3, BRAID_NONE, 0);
    braid_partial_run_free(r);
    braid_partial_run_free(NULL);
    r = partial_of_all(f); // left to the end of the session
    call_ok(r, f->a, 3, BRAID_NONE, 0);
    BD_STATUS(st);
    assert_int_equal(braid_session_close(f->s, st), BRAID_OK);
    f->s = NULL;
    braid_partial_run_free(r);
}

// A node of one task fails: the call says so, wherever it waits, and the step is over.
static void an_error_of_the_step_ends_it(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    braid_op_desc *d = braid_op_begin(f->g, "CheckNumerics", "checked");
    braid_op_input(d, f->a);
    braid_op_attr_string(d, "message", "not a number");
    braid_op_device(d, place(PS));
    const braid_out checked = braid_op_end_out(d);
    const braid_out fetches[] = {checked, f->sum}, feeds[] = {f->a, f->b};
    const braid_signature signature = {.feeds = feeds, .feed_count = 2, .fetches = fetches, .fetch_count = 2};
    braid_partial_run *r = braid_partial_run_new(f->s, &signature, st);
    if (!r) fail_msg("%s", st->message);
    float got;
    call_with(r, f->a, NAN, checked, &got, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "not a number");
    bd_status_fini(st);
    call_with(r, f->b, 1, f->sum, &got, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Must run PartialRunSetup");
    braid_partial_run_free(r);
}

static void a_call_ends_at_its_timeout(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    const braid_out never = test_never(f->g, "never", place(PS), NULL);
    const braid_out late = NODE(f->g, "Add", "late", place(PS), never, f->a);
    const braid_out fetches[] = {late, f->sum}, feeds[] = {f->a, f->b};
    const braid_signature signature = {.feeds = feeds, .feed_count = 2, .fetches = fetches, .fetch_count = 2};
    braid_partial_run *r = braid_partial_run_new(f->s, &signature, st);
    if (!r) fail_msg("%s", st->message);
    braid_tensor *value = braid_tensor_float(1), *out = NULL;
    const braid_feed feed = {f->a, value};
    const braid_fetch fetch = {late, &out};
    const braid_run_args args = {
        .feeds = &feed, .feed_count = 1, .fetches = &fetch, .fetch_count = 1, .timeout_ms = CALL_TIMEOUT_MS};
    braid_partial_run_call(r, &args, st);
    assert_int_equal(st->code, BRAID_DEADLINE_EXCEEDED);
    assert_null(out);
    bd_status_fini(st);
    float got;
    call_with(r, f->b, 1, f->sum, &got, st); // the step is gone
    assert_int_equal(st->code, BRAID_INVALID_ARGUMENT);
    braid_tensor_free(value);
    braid_partial_run_free(r);
}

// ---- Cancelling one call ----

typedef enum call_kind {
    A_RUN,
    A_CALLABLE,
    A_PARTIAL_RUN
} call_kind;

typedef struct waiting_call {
    fixture *f;
    call_kind kind;
    braid_out never;
    braid_cancellation *cancellation;
    bd_thread thread;
    braid_status st; // of the call
} waiting_call;

static void make_call(void *arg)
{
    waiting_call *w = arg;
    const braid_signature signature = {.fetches = &w->never, .fetch_count = 1};
    braid_tensor *out = NULL;
    const braid_fetch fetch = {w->never, &out};
    const braid_run_args args = {.fetches = &fetch, .fetch_count = 1, .cancellation = w->cancellation};
    if (w->kind == A_RUN) {
        braid_session_run(w->f->s, &args, &w->st);
    } else if (w->kind == A_CALLABLE) {
        braid_callable *c = braid_callable_new(w->f->s, &signature, NULL, &w->st);
        if (c) braid_callable_run_with(c, NULL, &out, NULL, w->cancellation, &w->st);
        braid_callable_free(c);
    } else {
        braid_partial_run *r = braid_partial_run_new(w->f->s, &signature, &w->st);
        if (r) braid_partial_run_call(r, &args, &w->st);
        braid_partial_run_free(r);
    }
    assert_null(out);
}

// Begins a call and returns when its step is waiting.
static void begin_call(waiting_call *w, fixture *f, call_kind call, braid_cancellation *cancellation)
{
    BD_STATUS(st);
    const float before = test_fetch(f->s, f->counter);
    *w = (waiting_call){.f = f, .kind = call, .cancellation = cancellation};
    w->never = test_never(f->g, "never", place(PS), f->count);
    assert_int_equal(bd_thread_start(&w->thread, "call", make_call, w, st), BRAID_OK);
    const int64_t deadline_ns = bd_deadline_after_ms(PATIENCE_MS);
    while (test_fetch(f->s, f->counter) == before)
        assert_true(bd_now_ns() < deadline_ns);
}

static void assert_call_is_cancelled(waiting_call *w)
{
    bd_thread_join(&w->thread);
    assert_error(&w->st, BRAID_CANCELLED, "cancelled by the program");
    bd_status_fini(&w->st);
}

static void cancelling_a_call_leaves_the_others(void **state)
{
    fixture *f = *state;
    waiting_call other, w;
    braid_cancellation *last = braid_cancellation_new(f->s);
    begin_call(&other, f, A_RUN, last);
    for (call_kind call = A_RUN; call <= A_PARTIAL_RUN; call++) {
        braid_cancellation *c = braid_cancellation_new(f->s);
        begin_call(&w, f, call, c);
        braid_cancellation_cancel(c);
        assert_call_is_cancelled(&w);
        make_call(&w); // again: at once
        assert_int_equal(w.st.code, BRAID_CANCELLED);
        bd_status_fini(&w.st);
        braid_cancellation_free(c);
        test_fetch(f->s, f->counter);
    }
    braid_cancellation_cancel(last);
    assert_call_is_cancelled(&other);
    braid_cancellation_free(last);
}

static void a_cancellation_belongs_to_its_session(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    braid_cancellation *c = braid_cancellation_new(NULL);
    braid_session_run(f->s, &(braid_run_args){.targets = &f->count, .target_count = 1, .cancellation = c},
                      st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "of another session");
    braid_cancellation_free(c);
    braid_cancellation_free(NULL);
    c = braid_cancellation_new(f->s); // outlives the session
    braid_session_close(f->s, st);
    f->s = NULL;
    braid_cancellation_cancel(c);
    braid_cancellation_free(c);
}

typedef struct opening {
    test_cluster *cluster;
    braid_graph *g;
    bool is_remote;
    braid_cancellation *cancellation;
    braid_status st;
} opening;

static void open_session(void *arg)
{
    opening *o = arg;
    const braid_session_options options = {.cancellation = o->cancellation};
    assert_null(o->is_remote ? test_remote_session(o->cluster, o->g, "worker", 0, &options, &o->st)
                             : test_session(o->cluster, o->g, "worker", 0, &options, &o->st));
}

static void opening_a_session_can_be_cancelled(void **state)
{
    (void)state;
    for (int is_remote = 0; is_remote <= 1; is_remote++) {
        BD_STATUS(st);
        test_cluster *cluster = test_cluster_new(TEST_GRPC, 1, 1);
        test_start(cluster, "worker", 0, NULL); // and no parameter server
        opening o = {.cluster = cluster,
                     .g = braid_graph_new(),
                     .is_remote = is_remote,
                     .cancellation = braid_cancellation_new(NULL)};
        bd_thread thread;
        assert_int_equal(bd_thread_start(&thread, "opening", open_session, &o, st), BRAID_OK);
        braid_cancellation_cancel(o.cancellation);
        bd_thread_join(&thread);
        assert_int_equal(o.st.code, BRAID_CANCELLED);
        bd_status_fini(&o.st);
        braid_cancellation_free(o.cancellation);
        braid_graph_free(o.g);
        test_cluster_free(cluster);
    }
}

// ---- Reset ----

static void reset_closes_sessions_and_clears_their_variables(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    if (kind < ON_SERVER) {
        braid_session_reset(NULL, NULL, 0, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, "target of a server");
        return;
    }
    char *target = bd_asprintf("grpc://%s", braid_cluster_address(f->cluster->spec, "worker", 0));
    const braid_session_options options = {
        .target = target, .server = kind == ON_SERVER ? test_server(f->cluster, "worker", 0) : NULL};
    if (braid_session_reset(&options, NULL, 0, st)) fail_msg("%s", st->message);
    float value;
    assert_int_not_equal(test_fetch_status(f->s, f->counter, PATIENCE_MS, &value, st), BRAID_OK);
    braid_session_close(f->s, NULL);
    bd_status_fini(st);
    f->s = braid_session_open(f->g, &options, st);
    if (!f->s) fail_msg("%s", st->message);
    test_fetch_status(f->s, f->counter, PATIENCE_MS, &value, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "uninitialized");
    bd_free(target);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_callable_runs_in_the_order_of_its_signature),
        TEST(a_traced_callable_records_its_nodes),
        TEST(a_connection_replaces_a_feed),
        TEST(wrong_callables_are_refused),
        TEST(a_callable_keeps_its_timeout),
        cmocka_unit_test_setup_teardown(the_making_of_a_callable_is_no_run, set_up_slow, tear_down),
        TEST(tensor_handles_may_outlive_their_session),
        TEST(a_step_goes_on_from_call_to_call),
        TEST(a_wrong_call_leaves_the_step_as_it_is),
        TEST(a_step_may_be_given_up),
        TEST(an_error_of_the_step_ends_it),
        TEST(a_call_ends_at_its_timeout),
        TEST(cancelling_a_call_leaves_the_others),
        TEST(a_cancellation_belongs_to_its_session),
        TEST(reset_closes_sessions_and_clears_their_variables),
    };
    const struct CMUnitTest of_opening[] = {cmocka_unit_test(opening_a_session_can_be_cancelled)};
    static const char *const names[] = {"in this process", "on two devices of this process", "on its server",
                                        "on a server elsewhere"};
    int failed = cmocka_run_group_tests(of_opening, NULL, NULL);
    for (kind = IN_PROCESS; kind <= ELSEWHERE; kind++)
        failed += _cmocka_run_group_tests(names[kind], tests, sizeof tests / sizeof tests[0], NULL, NULL);
    return failed;
}

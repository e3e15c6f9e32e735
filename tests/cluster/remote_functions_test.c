// RemoteCall of functions on other tasks: the function runs on the task that the target names, with that
// task's variables and queues, and it ends with the step that calls it.
// labels: concurrent
#include "base/alloc.h"
#include "base/status.h"
#include "base/thread.h"
#include "support/tls_cluster.h"
#include <stdio.h>
#include <string.h>

#undef NODE // of graphs that a test builds; here the graph is a text
#include "../runtime/function_text.h"

#define CALLER "/job:worker/task:0"
#define CALLEE "/job:worker/task:1"
#define ON(DEVICE) "device: '" DEVICE "' "
#define SHARED(NAME) ATTR("shared_name", "s: '" NAME "'")
#define FLOATS ATTR("component_types", "list { type: DT_FLOAT }")
#define HANDLE_ATTRS TYPE("dtype", "DT_FLOAT") ATTR("shape", "shape { }")
#define DTYPE TYPE("dtype", "DT_FLOAT")

// add_to(v, x): adds x to the variable and returns it.
#define ADD_TO                                                                                               \
    FUNCTION("add_to", IN_T("v", "DT_RESOURCE") IN("x") OUT("y") STATEFUL,                                   \
             BODY("a", "AssignAddVariableOp", INPUT("v") INPUT("x") DTYPE)                                   \
                 BODY("r", "ReadVariableOp", INPUT("v") INPUT("^a") DTYPE) RET("y", "r:value:0"))
// count(x): the same with the variable "counter" of the task.
#define COUNT                                                                                                \
    FUNCTION("count", IN("x") OUT("y") STATEFUL,                                                             \
             BODY("v", "VarHandleOp", HANDLE_ATTRS SHARED("counter"))                                        \
                 BODY("c", "add_to", INPUT("v:resource:0") INPUT("x")) RET("y", "c:y:0"))
// handle(x): the handle of that variable.
#define COUNTER                                                                                              \
    FUNCTION("counter", IN("x") OUT_T("v", "DT_RESOURCE") STATEFUL,                                          \
             BODY("h", "VarHandleOp", HANDLE_ATTRS SHARED("counter")) RET("v", "h:resource:0"))
// take(x): puts x into the queue "began" of the task, and adds x to the next element of its queue "waiting".
#define TAKE                                                                                                 \
    FUNCTION("take", IN("x") OUT("y") STATEFUL,                                                              \
             BODY("b", "FIFOQueueV2", FLOATS SHARED("began"))                                                \
                 BODY("e", "QueueEnqueueV2", INPUT("b:handle:0") INPUT("x") TYPES("Tcomponents", F1))        \
                     BODY("q", "FIFOQueueV2", FLOATS SHARED("waiting"))                                      \
                         BODY("d", "QueueDequeueV2", INPUT("q:handle:0") INPUT("^e") FLOATS)                 \
                             BODY("s", "Add", INPUT("d:components:0") INPUT("x") T_FLOAT) RET("y", "s:z:0"))
#define BROKEN                                                                                               \
    FUNCTION("broken", IN("x") OUT("y"),                                                                     \
             BODY("two", "Const",                                                                            \
                  TYPE("dtype", "DT_INT32") ATTR("value", "tensor { dtype: DT_INT32 tensor_shape { "         \
                                                          "dim { size: 1 } } int_val: 2 } "))                \
                 BODY("bad_shape", "Reshape",                                                                \
                      INPUT("x") INPUT("two:output:0") T_FLOAT TYPE("Tshape", "DT_INT32"))                   \
                     RET("y", "bad_shape:output:0"))
// there(x): F(x) on the task of a parameter server, from wherever it runs.
#define THERE                                                                                                \
    FUNCTION("there", IN("x") OUT("y") STATEFUL,                                                             \
             BODY("t", "Const", CONST_ATTRS("DT_STRING", "string_val", "'" PS "'"))                          \
                 BODY("c", "RemoteCall", INPUT("t:output:0") INPUT("x") CALL_ATTRS(F1, F1, "F"))             \
                     RET("y", "c:output:0"))
// forth(x) and back(x) call each other on two tasks without an end.
#define ENDLESS(NAME, TASK, OTHER)                                                                           \
    FUNCTION(NAME, IN("x") OUT("y") STATEFUL,                                                                \
             BODY("t", "Const", CONST_ATTRS("DT_STRING", "string_val", "'" TASK "'"))                        \
                 BODY("c", "RemoteCall", INPUT("t:output:0") INPUT("x") CALL_ATTRS(F1, F1, OTHER))           \
                     RET("y", "c:output:0"))
#define CALL(F) NODE("call_" F, "RemoteCall", INPUT("target") INPUT("x") CALL_ATTRS(F1, F1, F) ON(CALLER))

// The nodes of the task that calls, and of the one that is called: a variable and queues.
// clang-format off
static const char text[] =
    "library { "
    SQUARE_PLUS_ONE TRIPLE ADD_TO COUNT COUNTER TAKE BROKEN THERE
    ENDLESS("forth", PS, "back") ENDLESS("back", CALLEE, "forth")
    "} "
    NODE("x", "Placeholder", DTYPE ON(CALLER))
    NODE("target", "Placeholder", TYPE("dtype", "DT_STRING") ON(CALLER))
    CALL("F") CALL("count") CALL("take") CALL("broken") CALL("nowhere") CALL("there") CALL("forth")
    NODE("again", "RemoteCall", INPUT("target") INPUT("call_F") CALL_ATTRS(F1, F1, "F") ON(CALLER))
    NODE("more", "Add", INPUT("x") INPUT("x") T_FLOAT ON(CALLER))
    NODE("other", "RemoteCall", INPUT("target") INPUT("more") CALL_ATTRS(F1, F1, "F") ON(CALLER))
    NODE("sum", "Sub", INPUT("other") INPUT("call_F") T_FLOAT ON(CALLER))
    NODE("typed", "RemoteCall",
         INPUT("target") INPUT("x") TYPES("Tin", F1) TYPES("Tout", F1)
         ATTR("f", "func { name: 'G' attr { key: 'T' value { type: DT_FLOAT } } } ") ON(CALLER))
    NODE("two", "RemoteCall", INPUT("target") INPUT("x") INPUT("x") CALL_ATTRS(F1 F1, F1, "F") ON(CALLER))
    NODE("handle", "RemoteCall",
         INPUT("target") INPUT("x") CALL_ATTRS(F1, "type: DT_RESOURCE ", "counter") ON(CALLER))
    NODE("by_handle", "RemoteCall",
         INPUT("target") INPUT("handle") INPUT("x") CALL_ATTRS("type: DT_RESOURCE " F1, F1, "add_to") ON(CALLER))
    NODE("counter", "VarHandleOp", HANDLE_ATTRS SHARED("counter") ON(CALLEE))
    NODE("start", "Const", CONST_F("10") ON(CALLEE))
    NODE("init", "AssignVariableOp", INPUT("counter") INPUT("start") DTYPE ON(CALLEE))
    NODE("read", "ReadVariableOp", INPUT("counter") DTYPE ON(CALLEE))
    NODE("queue", "FIFOQueueV2", FLOATS SHARED("waiting") ON(CALLEE))
    NODE("put", "QueueEnqueueV2", INPUT("queue") INPUT("start") TYPES("Tcomponents", F1) ON(CALLEE))
    NODE("begun", "FIFOQueueV2", FLOATS SHARED("began") ON(CALLEE))
    NODE("began", "QueueDequeueV2", INPUT("begun") FLOATS ON(CALLEE));
// clang-format on

static test_network network; // of the group that runs

typedef struct fixture {
    test_cluster *cluster;
    braid_graph *g;
    braid_session *s;
} fixture;

static int set_up(void **state)
{
    BD_STATUS(st);
    fixture *f = *state = bd_calloc(1, sizeof *f);
    f->cluster = test_cluster_new(network, 1, 2);
    f->g = braid_graph_new();
    braid_graph_import_text(f->g, text, strlen(text), st);
    if (st->code) fail_msg("%s", st->message);
    test_start_all(f->cluster, NULL);
    f->s = test_session(f->cluster, f->g, "worker", 0, NULL, st);
    if (!f->s) fail_msg("%s", st->message);
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    braid_session_close(f->s, NULL);
    braid_graph_free(f->g);
    test_cluster_free(f->cluster);
    bd_free(f);
    return 0;
}

static braid_out out(const fixture *f, const char *name)
{
    const braid_out o = {braid_graph_find(f->g, name), 0};
    assert_non_null(o.op);
    return o;
}

// `limits` has the time and the cancellation of the run.
static braid_code call_within(const fixture *f, const char *node, const char *target, float x,
                              const braid_run_args *limits, float *y, braid_status *st)
{
    braid_status_clear(st);
    braid_tensor *t = braid_tensor_string(target), *value = braid_tensor_float(x), *got = NULL;
    const braid_feed feeds[] = {{out(f, "target"), t}, {out(f, "x"), value}};
    const braid_fetch fetch = {out(f, node), &got};
    braid_run_args args = *limits;
    args.feeds = feeds;
    args.feed_count = 2;
    args.fetches = &fetch;
    args.fetch_count = 1;
    braid_session_run(f->s, &args, st);
    if (!st->code) *y = *(const float *)braid_tensor_data(got);
    braid_tensor_free(got);
    braid_tensor_free(t);
    braid_tensor_free(value);
    return st->code;
}

static braid_code call(const fixture *f, const char *node, const char *target, float x, int64_t timeout_ms,
                       float *y, braid_status *st)
{
    return call_within(f, node, target, x, &(braid_run_args){.timeout_ms = timeout_ms}, y, st);
}

static void expect(const fixture *f, const char *node, const char *target, float x, float want)
{
    BD_STATUS(st);
    float y;
    if (call(f, node, target, x, PATIENCE_MS, &y, st)) fail_msg("%s on %s: %s", node, target, st->message);
    if (y != want) fail_msg("%s on %s: %g", node, target, (double)y);
}

static void expect_error(const fixture *f, const char *node, const char *target, braid_code code,
                         const char *words)
{
    BD_STATUS(st);
    float y;
    call(f, node, target, 1, PATIENCE_MS, &y, st);
    assert_error(st, code, words);
}

// ---- Where it runs ----

// Whatever form the name has; what it leaves out is the caller's.
static void the_function_runs_on_the_task_that_is_named(void **state)
{
    const fixture *f = *state;
    static const char *const callee[] = {"/job:worker/replica:0/task:1/device:CPU:0",
                                         "/job:worker/replica:0/task:1/cpu:0", "/job:worker/task:1",
                                         "/task:1"};
    test_run(f->s, out(f, "init").op);
    float count = 10;
    for (size_t i = 0; i < sizeof callee / sizeof callee[0]; i++) {
        expect(f, "call_F", callee[i], 3, 10);
        count += (float)i;
        expect(f, "call_count", callee[i], (float)i, count);
        assert_float_equal(test_fetch(f->s, out(f, "read")), count, 0);
    }
    // It is not the variable of another task.
    static const char *const others[] = {"/job:ps", "/cpu:0", ""};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        expect(f, "call_F", others[i], 3, 10);
        expect_error(f, "call_count", others[i], BRAID_NOT_FOUND, "counter/Variable does not exist");
    }
}

static void calls_of_one_step_have_their_own_values(void **state)
{
    const fixture *f = *state;
    for (int i = 0; i < 10; i++) {
        const float x = (float)i;
        expect(f, "sum", CALLEE, x, 3 * x * x); // (2x * 2x + 1) - (x * x + 1)
        expect(f, "again", CALLEE, x, (x * x + 1) * (x * x + 1) + 1);
    }
    expect(f, "typed", CALLEE, 5, 15);
}

static void a_function_calls_a_third_task(void **state)
{
    const fixture *f = *state;
    expect(f, "call_there", CALLEE, 3, 10);
    expect(f, "call_there", PS, 3, 10);
}

static void handles_are_results_and_arguments(void **state)
{
    const fixture *f = *state;
    test_run(f->s, out(f, "init").op);
    expect(f, "by_handle", CALLEE, 5, 15);
    assert_float_equal(test_fetch(f->s, out(f, "read")), 15, 0);
}

// Worker 1 and the parameter server are the tasks 0 and 1 of a session's cluster.
static void names_are_those_of_the_cluster_of_the_session(void **state)
{
    fixture *f = *state;
    if (network != TEST_GRPC) skip(); // servers know themselves by their addresses
    BD_STATUS(st);
    braid_session_close(f->s, st);
    char *json =
        bd_asprintf("{\"worker\": [\"%s\", \"%s\"]}", braid_cluster_address(f->cluster->spec, "worker", 1),
                    braid_cluster_address(f->cluster->spec, "ps", 0));
    braid_cluster *c = braid_cluster_from_json(json, st);
    assert_non_null(c);
    bd_free(json);
    f->s = test_session(f->cluster, f->g, "worker", 1,
                        &(braid_session_options){.cluster = c, .shares_session_state = true}, st);
    if (!f->s) fail_msg("%s", st->message);
    braid_cluster_free(c);
    test_run(f->s, out(f, "init").op);
    expect(f, "call_count", CALLEE, 5, 15);
    expect_error(f, "call_F", PS, BRAID_INVALID_ARGUMENT, "on no task of the cluster");
    braid_session_close(f->s, st);
    // The variable is one of the parameter server.
    f->s = test_session(f->cluster, f->g, "worker", 0, NULL, st);
    expect(f, "call_count", PS, 5, 20);
}

// ---- Who may ----

// set(x): sets the variable "owned" of the task and returns it.
#define SET                                                                                                  \
    FUNCTION("set", IN("x") OUT("y") STATEFUL,                                                               \
             BODY("v", "VarHandleOp", HANDLE_ATTRS SHARED("owned"))                                          \
                 BODY("a", "AssignVariableOp", INPUT("v:resource:0") INPUT("x") DTYPE)                       \
                     BODY("r", "ReadVariableOp", INPUT("v:resource:0") INPUT("^a") DTYPE)                    \
                         RET("y", "r:value:0"))

static void open_as(const tls_cluster *tls, const char *name, fixture *f)
{
    static const char graph[] = "library { " SET "} " NODE("x", "Placeholder", DTYPE)
        NODE("target", "Placeholder", TYPE("dtype", "DT_STRING")) CALL("set");
    BD_STATUS(st);
    char dir[64];
    snprintf(dir, sizeof dir, "%s/%s", tls->keys, name);
    char *target = bd_asprintf("grpc://%s", braid_cluster_address(tls->cluster->spec, "worker", 0));
    f->g = braid_graph_new();
    braid_graph_import_text(f->g, graph, strlen(graph), st);
    f->s = braid_session_open(f->g, &(braid_session_options){.target = target, .tls_dir = dir}, st);
    if (!f->s) fail_msg("%s", st->message);
    bd_free(target);
}

// The worker calls the parameter server by its own certificate, for the client of the session.
static void the_function_may_what_the_client_may(void **state)
{
    const tls_cluster *tls = *state;
    fixture alice, bob;
    open_as(tls, "alice", &alice);
    open_as(tls, "bob", &bob);
    expect(&alice, "call_set", PS, 1, 1);
    expect_error(&bob, "call_set", PS, BRAID_PERMISSION_DENIED,
                 "belongs to certificate 'alice', and the session to certificate 'bob'");
    expect(&alice, "call_set", PS, 2, 2);
    braid_session_close(alice.s, NULL);
    braid_session_close(bob.s, NULL);
    braid_graph_free(alice.g);
    braid_graph_free(bob.g);
}

// ---- Errors ----

static void an_error_names_function_node_and_caller(void **state)
{
    const fixture *f = *state;
    static const char *const words[] = {"Input to reshape", "{{node bad_shape}}",
                                        "In function broken on /job:worker/replica:0/task:1/device:CPU:0",
                                        "[[call_broken]]"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        expect_error(f, "call_broken", CALLEE, BRAID_INVALID_ARGUMENT, words[i]);
    expect(f, "call_F", CALLEE, 3, 10);
}

static void what_cannot_be_called_is_named(void **state)
{
    const fixture *f = *state;
    static const struct {
        const char *node, *target;
        braid_code code;
        const char *words;
    } rows[] = {
        {"call_F", "/job:worker/task:2", BRAID_INVALID_ARGUMENT,
         "Function F is to run on /job:worker/replica:0/task:2/device:CPU:0, which is on no task of the "
         "cluster"},
        {"call_F", "/job:nobody/task:0", BRAID_INVALID_ARGUMENT, "on no task of the cluster"},
        {"call_F", CALLEE "/device:CPU:7", BRAID_INVALID_ARGUMENT, "which is no device of /job:worker"},
        {"call_F", CALLER "/device:CPU:7", BRAID_INVALID_ARGUMENT, "which is no device of this task"},
        {"call_F", "anywhere", BRAID_INVALID_ARGUMENT, "Malformed device specification 'anywhere'"},
        {"call_nowhere", CALLEE, BRAID_NOT_FOUND, "nowhere"},
        {"two", CALLEE, BRAID_INVALID_ARGUMENT, "Expects 1 arguments, but 2 is provided: function F"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        expect_error(f, rows[i].node, rows[i].target, rows[i].code, rows[i].words);
}

static void functions_that_call_each_other_forever_end_in_an_error(void **state)
{
    const fixture *f = *state;
    expect_error(f, "call_forth", CALLEE, BRAID_RESOURCE_EXHAUSTED,
                 "is called from functions that call each other");
    expect(f, "call_F", CALLEE, 3, 10);
}

static void filters_that_leave_the_task_out_are_named(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    static const char *const filters[] = {CALLER};
    assert_int_equal(braid_session_close(f->s, st), BRAID_OK);
    // Only nodes that it can place.
    static const char graph[] = "library { " SQUARE_PLUS_ONE "} " NODE("x", "Placeholder", DTYPE)
        NODE("target", "Placeholder", TYPE("dtype", "DT_STRING"))
            NODE("call_F", "RemoteCall", INPUT("target") INPUT("x") CALL_ATTRS(F1, F1, "F"));
    braid_graph_free(f->g);
    f->g = braid_graph_new();
    braid_graph_import_text(f->g, graph, strlen(graph), st);
    f->s = test_session(f->cluster, f->g, "worker", 0,
                        &(braid_session_options){.device_filters = filters, .device_filter_count = 1}, st);
    assert_non_null(f->s);
    expect(f, "call_F", "", 3, 10);
    expect_error(f, "call_F", CALLEE, BRAID_ABORTED, "device filters leave the task out");
}

// ---- Ends ----

typedef struct waiting {
    const fixture *f;
    braid_cancellation *cancellation;
    bd_thread thread;
    braid_status st;
} waiting;

static void wait_for_element(void *arg)
{
    waiting *w = arg;
    float y;
    call_within(w->f, "call_take", CALLEE, 1, &(braid_run_args){.cancellation = w->cancellation}, &y, &w->st);
}

// Returns when the function runs on its task.
static void start_waiting(const fixture *f, braid_cancellation *cancellation, waiting *w)
{
    BD_STATUS(st);
    *w = (waiting){.f = f, .cancellation = cancellation};
    assert_int_equal(bd_thread_start(&w->thread, "waiting", wait_for_element, w, st), BRAID_OK);
    assert_float_equal(test_fetch(f->s, out(f, "began")), 1, 0);
}

// The function waits for an element. The step ends, and with it the function: it does not take the element
// that comes later.
static void a_function_ends_with_the_step_that_calls_it(void **state)
{
    const fixture *f = *state;
    for (int i = 0; i < 2; i++) {
        waiting w;
        braid_cancellation *c = braid_cancellation_new(f->s);
        start_waiting(f, c, &w);
        braid_cancellation_cancel(c);
        bd_thread_join(&w.thread);
        assert_int_equal(w.st.code, BRAID_CANCELLED);
        bd_status_fini(&w.st);
        braid_cancellation_free(c);
    }
    BD_STATUS(st);
    float y;
    call(f, "call_take", CALLEE, 1, 50, &y, st);
    assert_int_equal(st->code, BRAID_DEADLINE_EXCEEDED);
    test_run(f->s, out(f, "put").op);
    expect(f, "call_take", CALLEE, 1, 11);
}

static void closing_the_session_ends_the_function(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    waiting w;
    start_waiting(f, NULL, &w);
    braid_session_cancel(f->s);
    bd_thread_join(&w.thread);
    assert_int_equal(w.st.code, BRAID_CANCELLED);
    bd_status_fini(&w.st);
    braid_session_close(f->s, st);
    f->s = test_session(f->cluster, f->g, "worker", 0, NULL, st);
    assert_non_null(f->s);
    test_run(f->s, out(f, "put").op);
    expect(f, "call_take", CALLEE, 1, 11);
}

static void a_task_that_is_gone_is_named(void **state)
{
    fixture *f = *state;
    expect(f, "call_F", CALLEE, 3, 10);
    waiting w;
    start_waiting(f, NULL, &w);
    test_kill(f->cluster, "worker", 1);
    bd_thread_join(&w.thread);
    assert_true(w.st.code == BRAID_UNAVAILABLE || w.st.code == BRAID_ABORTED);
    bd_status_fini(&w.st);
    BD_STATUS(st);
    float y;
    call(f, "call_F", CALLEE, 3, PATIENCE_MS, &y, st);
    assert_true(st->code == BRAID_UNAVAILABLE || st->code == BRAID_ABORTED);
    assert_non_null(strstr(st->message, "/job:worker/task:1"));
    // The session goes on with the other tasks.
    expect(f, "call_F", PS, 3, 10);
}

// As one that has lost its memory: the session is not there any more.
static void a_task_that_has_restarted_has_forgotten_the_function(void **state)
{
    fixture *f = *state;
    expect(f, "call_F", CALLEE, 3, 10);
    test_kill(f->cluster, "worker", 1);
    test_start(f->cluster, "worker", 1, NULL);
    BD_STATUS(st);
    float y;
    call(f, "call_F", CALLEE, 3, PATIENCE_MS, &y, st);
    assert_true(st->code == BRAID_ABORTED || st->code == BRAID_UNAVAILABLE);
    braid_session_close(f->s, st);
    f->s = test_session(f->cluster, f->g, "worker", 0, NULL, st);
    assert_non_null(f->s);
    expect(f, "call_F", CALLEE, 3, 10);
}

// ---- Many at once ----

enum {
    THREADS = 4,
    ROUNDS = 20
};

typedef struct caller {
    const fixture *f;
    int number;
    bd_thread thread;
    braid_status st;
} caller;

static void call_often(void *arg)
{
    caller *c = arg;
    for (int i = 0; i < ROUNDS && !c->st.code; i++) {
        const float x = (float)(c->number * ROUNDS + i);
        float y;
        if (!call(c->f, "call_F", i % 2 ? CALLEE : PS, x, PATIENCE_MS, &y, &c->st) && y != x * x + 1)
            bd_fail(&c->st, BRAID_INTERNAL, "%g gives %g", (double)x, (double)y);
    }
}

static void many_threads_call_from_the_first_call_on(void **state)
{
    const fixture *f = *state;
    BD_STATUS(st);
    caller callers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        callers[i] = (caller){.f = f, .number = i};
        assert_int_equal(bd_thread_start(&callers[i].thread, "caller", call_often, &callers[i], st),
                         BRAID_OK);
    }
    for (int i = 0; i < THREADS; i++) {
        bd_thread_join(&callers[i].thread);
        if (callers[i].st.code) fail_msg("%s", callers[i].st.message);
    }
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_function_runs_on_the_task_that_is_named),
        TEST(calls_of_one_step_have_their_own_values),
        TEST(a_function_calls_a_third_task),
        TEST(handles_are_results_and_arguments),
        TEST(names_are_those_of_the_cluster_of_the_session),
        cmocka_unit_test_setup_teardown(the_function_may_what_the_client_may, tls_cluster_set_up,
                                        tls_cluster_tear_down),
        TEST(an_error_names_function_node_and_caller),
        TEST(what_cannot_be_called_is_named),
        TEST(functions_that_call_each_other_forever_end_in_an_error),
        TEST(filters_that_leave_the_task_out_are_named),
        TEST(a_function_ends_with_the_step_that_calls_it),
        TEST(closing_the_session_ends_the_function),
        TEST(a_task_that_is_gone_is_named),
        TEST(a_task_that_has_restarted_has_forgotten_the_function),
        TEST(many_threads_call_from_the_first_call_on),
    };
    int failed = 0;
    for (network = TEST_GRPC; network <= TEST_IN_PROCESS; network++)
        failed += _cmocka_run_group_tests(network == TEST_GRPC ? "over gRPC" : "in process", tests,
                                          sizeof tests / sizeof tests[0], NULL, NULL);
    return failed;
}

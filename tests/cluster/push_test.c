// Steps over two tasks give the same results with pushed tensors as with requested ones: small, large, dead,
// and those of a loop that spans the tasks.
// labels: concurrent
#include "base/alloc.h"
#include "cluster/server_internal.h"
#include "support/test_cluster.h"
#include <stdatomic.h>
#include <string.h>

enum {
    LARGE = 1500017, // floats: more than goes in one message
    ROUNDS = 5,      // of the loop
};

// ---- A network that counts calls ----

typedef struct counting_network {
    bd_transport base; // a copy of the real one's, with a few functions of its own
    bd_transport *real;
} counting_network;

static struct {
    atomic_int pushes, asked, chunks;
} calls;

static braid_code count_listen(bd_transport *t, const char *address, bd_handler_fn handler, void *arg,
                               bd_listener **out, char **bound, braid_status *st)
{
    bd_transport *real = ((counting_network *)(void *)t)->real;
    return real->listen(real, address, handler, arg, out, bound, st);
}

static bd_channel *count_connect(bd_transport *t, const char *address)
{
    bd_transport *real = ((counting_network *)(void *)t)->real;
    return real->connect(real, address);
}

static void count_free(bd_transport *t)
{
    counting_network *n = (counting_network *)(void *)t;
    n->real->free(n->real);
    bd_free(n);
}

static bd_call *(*real_call)(bd_channel *c, const bd_call_options *options, bd_message *request,
                             bd_call_done_fn done, void *arg);

static bd_call *count_call(bd_channel *c, const bd_call_options *options, bd_message *request,
                           bd_call_done_fn done, void *arg)
{
    if (strstr(options->method, "/PushTensors")) calls.pushes++;
    if (strstr(options->method, "/RecvTensor")) calls.asked++;
    if (strstr(options->method, "/RecvChunk")) calls.chunks++;
    return real_call(c, options, request, done, arg);
}

static bd_transport *counting_network_new(const bd_inprocess_faults *faults)
{
    BD_STATUS(st);
    counting_network *n = bd_calloc(1, sizeof *n);
    n->real = bd_inprocess_transport_new(faults, NULL, st);
    assert_non_null(n->real);
    n->base = *n->real;
    real_call = n->real->call;
    n->base.listen = count_listen;
    n->base.connect = count_connect;
    n->base.call = count_call;
    n->base.free = count_free;
    calls.pushes = calls.asked = calls.chunks = 0;
    return &n->base;
}

// ---- The graph ----

#define T(TYPE) " attr { key: 'T' value { type: " TYPE " } }"
#define ON(TASK) " device: '/job:" TASK "/task:0'"
#define NODE_TEXT(NAME, OP, INPUTS, TASK, ATTRS)                                                             \
    "node { name: '" NAME "' op: '" OP "' " INPUTS ON(TASK) ATTRS " }\n"
#define FLOAT_NODE(NAME, OP, INPUTS, TASK) NODE_TEXT(NAME, OP, INPUTS, TASK, T("DT_FLOAT"))
#define DTYPE(TYPE) " attr { key: 'dtype' value { type: " TYPE " } }"
#define FRAME " attr { key: 'frame_name' value { s: 'loop' } }"
#define CONSTANT " attr { key: 'is_constant' value { b: true } }"
#define TWO " attr { key: 'N' value { i: 2 } }"

static const char graph_text[] =
    // There and back again.
    NODE_TEXT("x", "Placeholder", "", "ps", DTYPE("DT_FLOAT")) //
    FLOAT_NODE("there", "Neg", "input: 'x'", "worker")         //
    FLOAT_NODE("back", "Neg", "input: 'there'", "ps")          //
    // One of two branches is dead on the other task.
    NODE_TEXT("p", "Placeholder", "", "ps", DTYPE("DT_BOOL"))                        //
    NODE_TEXT("three", "Placeholder", "", "ps", DTYPE("DT_FLOAT"))                   //
    FLOAT_NODE("switch", "Switch", "input: 'three' input: 'p'", "ps")                //
    FLOAT_NODE("no", "Neg", "input: 'switch:0'", "worker")                           //
    FLOAT_NODE("yes", "Square", "input: 'switch:1'", "worker")                       //
    NODE_TEXT("merge", "Merge", "input: 'no' input: 'yes'", "ps", T("DT_FLOAT") TWO) //
    // i = 0; while (i < limit) i += 1; the addition is on the other task.
    NODE_TEXT("zero", "Placeholder", "", "ps", DTYPE("DT_FLOAT"))                     //
    NODE_TEXT("limit", "Placeholder", "", "ps", DTYPE("DT_FLOAT"))                    //
    NODE_TEXT("enter", "Enter", "input: 'zero'", "ps", T("DT_FLOAT") FRAME)           //
    NODE_TEXT("bound", "Enter", "input: 'limit'", "ps", T("DT_FLOAT") FRAME CONSTANT) //
    NODE_TEXT("i", "Merge", "input: 'enter' input: 'next'", "ps", T("DT_FLOAT") TWO)  //
    FLOAT_NODE("less", "Less", "input: 'i' input: 'bound'", "ps")                     //
    NODE_TEXT("cond", "LoopCond", "input: 'less'", "ps", "")                          //
    FLOAT_NODE("body", "Switch", "input: 'i' input: 'cond'", "ps")                    //
    FLOAT_NODE("power", "Exp", "input: 'body:1'", "worker")                           //
    FLOAT_NODE("log", "Log", "input: 'power'", "worker")                              //
    FLOAT_NODE("again", "Exp", "input: 'log'", "ps")                                  //
    FLOAT_NODE("ratio", "Div", "input: 'again' input: 'power'", "worker")             //
    FLOAT_NODE("sum", "Add", "input: 'log' input: 'ratio'", "worker")                 //
    FLOAT_NODE("next", "NextIteration", "input: 'sum'", "ps")                         //
    FLOAT_NODE("exit", "Exit", "input: 'body'", "ps");

typedef struct fixture {
    test_cluster *cluster;
    braid_graph *graph;
    braid_session *session;
    braid_tensor *large;
} fixture;

static void set_up_on(fixture *f, const bd_inprocess_faults *faults)
{
    BD_STATUS(st);
    *f = (fixture){.cluster = test_cluster_new_on(counting_network_new(faults), 1, 1),
                   .graph = braid_graph_new()};
    if (braid_graph_import_text(f->graph, graph_text, strlen(graph_text), st)) fail_msg("%s", st->message);
    test_start_all(f->cluster, NULL);
    float *values = bd_malloc(LARGE * sizeof *values);
    for (int i = 0; i < LARGE; i++)
        values[i] = (float)i * 0.5F;
    f->large = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(LARGE), values, NULL);
    bd_free(values);
}

static void tear_down_of(fixture *f)
{
    BD_STATUS(st);
    braid_session_close(f->session, st);
    braid_tensor_free(f->large);
    braid_graph_free(f->graph);
    test_cluster_free(f->cluster);
}

static braid_out out_of(const fixture *f, const char *name)
{
    const braid_out out = {braid_graph_find(f->graph, name), 0};
    assert_non_null(out.op);
    return out;
}

static braid_code step(const fixture *f, bool p, braid_tensor *got[3], braid_status *st)
{
    braid_tensor *values[] = {f->large, braid_tensor_bool(p), braid_tensor_float(3), braid_tensor_float(0),
                              braid_tensor_float(ROUNDS)};
    const braid_feed feeds[] = {{out_of(f, "x"), values[0]},
                                {out_of(f, "p"), values[1]},
                                {out_of(f, "three"), values[2]},
                                {out_of(f, "zero"), values[3]},
                                {out_of(f, "limit"), values[4]}};
    const braid_fetch fetches[] = {
        {out_of(f, "back"), &got[0]}, {out_of(f, "merge"), &got[1]}, {out_of(f, "exit"), &got[2]}};
    const braid_run_args args = {
        .feeds = feeds, .feed_count = 5, .fetches = fetches, .fetch_count = 3, .timeout_ms = PATIENCE_MS};
    const braid_code code = braid_session_run(f->session, &args, st);
    for (int i = 1; i < 5; i++)
        braid_tensor_free(values[i]);
    return code;
}

static void assert_values(const fixture *f, bool p, braid_tensor *got[3])
{
    assert_int_equal(braid_tensor_num_elements(got[0]), LARGE);
    assert_memory_equal(braid_tensor_data(got[0]), braid_tensor_data(f->large), LARGE * sizeof(float));
    assert_float_equal(*(const float *)braid_tensor_data(got[1]), p ? 9 : -3, 0);
    assert_float_equal(*(const float *)braid_tensor_data(got[2]), ROUNDS, 1e-3);
    for (int i = 0; i < 3; i++)
        braid_tensor_free(got[i]);
}

static void steps_give_what_they_should(const fixture *f)
{
    for (int i = 0; i < 4; i++) {
        BD_STATUS(st);
        braid_tensor *got[3] = {0};
        if (step(f, i & 1, got, st)) fail_msg("%s", st->message);
        assert_values(f, i & 1, got);
    }
}

// ---- Tests ----

static void pushed_or_asked_for_tensors_are_the_same(void **state)
{
    (void)state;
    BD_STATUS(st);
    fixture f;
    set_up_on(&f, NULL);
    f.session = test_session(f.cluster, f.graph, "worker", 0, NULL, st);
    if (!f.session) fail_msg("%s", st->message);
    steps_give_what_they_should(&f);
    assert_true(calls.pushes > 0);
    assert_true(calls.chunks > 0);
    const int refused = calls.asked; // large tensors that came before their step, at most
    assert_true(refused <= 4 * 2);

    // As with a task that has not said that it takes them.
    const bd_peers *peers = &test_server(f.cluster, "worker", 0)->peers;
    for (int i = 0; i < peers->count; i++)
        atomic_store(&peers->items[i].worker->takes_pushes, false);
    calls.pushes = calls.chunks = 0;
    steps_give_what_they_should(&f);
    assert_int_equal(calls.pushes, 0);
    assert_true(calls.chunks > 0);
    assert_true(calls.asked - refused > 4 * ROUNDS);
    tear_down_of(&f);
}

// A session that knows the tasks; the network may have spoilt the first attempts.
static bool reopen(fixture *f)
{
    for (int i = 0; i < 20; i++) {
        BD_STATUS(st);
        if (f->session) braid_session_close(f->session, st);
        braid_status_clear(st);
        f->session = test_session(f->cluster, f->graph, "worker", 0, NULL, st);
        if (f->session) return true;
    }
    return false;
}

// Messages overtake each other and come twice: a step gives the right values, or an error.
static void reordered_and_repeated_messages_change_no_value(void **state)
{
    (void)state;
    const bd_inprocess_faults faults = {.seed = 5, .duplicate = 0.02, .delay_max_ns = 3000000};
    fixture f;
    set_up_on(&f, &faults);
    int succeeded = 0;
    assert_true(reopen(&f));
    for (int i = 0; i < 30; i++) {
        BD_STATUS(st);
        braid_tensor *got[3] = {0};
        if (step(&f, i & 1, got, st)) {
            assert_int_not_equal(st->code, BRAID_DEADLINE_EXCEEDED);
            assert_true(reopen(&f));
            continue;
        }
        assert_values(&f, i & 1, got);
        succeeded++;
    }
    assert_true(succeeded > 0);
    assert_true(calls.pushes > 0);
    tear_down_of(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pushed_or_asked_for_tensors_are_the_same),
        cmocka_unit_test(reordered_and_repeated_messages_change_no_value),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

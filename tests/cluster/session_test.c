// Sessions on a cluster of one parameter server and one worker: steps over both, and how they fail.
// labels: concurrent
#include "base/alloc.h"
#include "base/status.h"
#include "base/thread.h"
#include "proto/pack.h"
#include "support/test_cluster.h"
#include "tensorflow/core/protobuf/config.pb-c.h"
#include <stdio.h>
#include <string.h>

static test_network network; // of the group that runs

typedef struct fixture {
    test_cluster *cluster;
    braid_graph *graph;
} fixture;

static int set_up(void **state)
{
    fixture *f = bd_calloc(1, sizeof *f);
    f->cluster = test_cluster_new(network, 1, 1);
    f->graph = braid_graph_new();
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    braid_graph_free(f->graph);
    test_cluster_free(f->cluster);
    bd_free(f);
    return 0;
}

static braid_session *open_session(fixture *f)
{
    BD_STATUS(st);
    test_start_all(f->cluster, NULL);
    braid_session *s = test_session(f->cluster, f->graph, "worker", 0, NULL, st);
    if (!s) fail_msg("%s", st->message);
    return s;
}

static void close_session(braid_session *s)
{
    BD_STATUS(st);
    assert_int_equal(braid_session_close(s, st), BRAID_OK);
}

// ---- Steps ----

// v on the parameter server; v * 2 on the worker; v += (v * 2) on the parameter server.
typedef struct model {
    braid_op *init, *update;
    braid_out v, twice;
} model;

static model make_model(braid_graph *g)
{
    model m;
    m.v = test_variable(g, "v", PS, 3, &m.init);
    m.twice = NODE(g, "Mul", "twice", WORKER, m.v, test_const(g, "two", WORKER, 2));
    m.update = NODE(g, "AssignAdd", "update", PS, m.v, m.twice).op;
    return m;
}

static void check_model(braid_session *s, const model *m)
{
    test_run(s, m->init);
    assert_float_equal(test_fetch(s, m->twice), 6, 0);
    test_run(s, m->update);
    assert_float_equal(test_fetch(s, m->v), 9, 0);
    assert_float_equal(test_fetch(s, m->twice), 18, 0);
}

static void a_graph_spans_two_tasks(void **state)
{
    fixture *f = *state;
    const model m = make_model(f->graph);
    braid_session *s = open_session(f);
    check_model(s, &m);
    close_session(s);
}

static void a_remote_session_does_the_same(void **state)
{
    fixture *f = *state;
    const model m = make_model(f->graph);
    test_start_all(f->cluster, NULL);
    BD_STATUS(st);
    braid_session *s = test_remote_session(f->cluster, f->graph, "ps", 0, NULL, st);
    assert_non_null(s);
    check_model(s, &m);
    // Nodes that come later are taken up by the next run.
    const braid_out late = NODE(f->graph, "Add", "late", WORKER, m.twice, m.twice);
    assert_float_equal(test_fetch(s, late), 36, 0);
    close_session(s);
}

// 1 + 2^-7 has as many bits as bfloat16; the bit 2^-8 after it is cut off, not rounded.
static void check_bfloat16(braid_session *s, const model *m, braid_op *assign, braid_out same_task)
{
    test_run(s, m->init);
    test_run(s, assign);
    assert_float_equal(test_fetch(s, m->v), 1 + 0x1p-7 + 0x1p-8, 0); // a fetch is exact
    assert_float_equal(test_fetch(s, same_task), 2 * (1 + 0x1p-7 + 0x1p-8), 0);
    assert_float_equal(test_fetch(s, m->twice), 2 * (1 + 0x1p-7), 0);
}

static void floats_cross_as_bfloat16_where_a_session_asks_for_it(void **state)
{
    fixture *f = *state;
    const model m = make_model(f->graph);
    const braid_out value = test_const(f->graph, "value", PS, 1 + 0x1p-7f + 0x1p-8f);
    braid_op *assign = NODE(f->graph, "Assign", "assign", PS, m.v, value).op;
    const braid_out same_task = NODE(f->graph, "Add", "same_task", PS, m.v, m.v);
    test_start_all(f->cluster, NULL);
    const braid_session_options options = {.enable_bfloat16_sendrecv = true};
    BD_STATUS(st);
    braid_session *s = test_session(f->cluster, f->graph, "worker", 0, &options, st);
    assert_non_null(s);
    check_bfloat16(s, &m, assign, same_task);
    close_session(s);
    s = test_remote_session(f->cluster, f->graph, "ps", 0, &options, st);
    assert_non_null(s);
    check_bfloat16(s, &m, assign, same_task);
    close_session(s);
}

static void variables_are_shared_by_sessions(void **state)
{
    fixture *f = *state;
    const model m = make_model(f->graph);
    braid_session *s = open_session(f);
    test_run(s, m.init);
    close_session(s);
    BD_STATUS(st);
    s = test_remote_session(f->cluster, f->graph, "worker", 0, NULL, st);
    assert_float_equal(test_fetch(s, m.v), 3, 0);
    close_session(s);
}

// Feeds `value` for `in` and fetches `out`; fails the test on an error.
static braid_tensor *feed_and_fetch(braid_session *s, braid_out in, const braid_tensor *value, braid_out out)
{
    BD_STATUS(st);
    braid_tensor *t = NULL;
    const braid_feed feed = {in, value};
    const braid_fetch fetch = {out, &t};
    const braid_run_args args = {.feeds = &feed, .feed_count = 1, .fetches = &fetch, .fetch_count = 1};
    if (braid_session_run(s, &args, st)) fail_msg("%s", st->message);
    return t;
}

// The value that is fed on one task is sent to the other and back.
static void large_tensors_pass_unchanged(void **state)
{
    enum {
        COUNT = 3000017
    };
    fixture *f = *state;
    braid_push_device(f->graph, PS);
    const braid_out in = braid_placeholder(f->graph, "in", BRAID_FLOAT, BRAID_SHAPE_UNKNOWN);
    braid_pop_device(f->graph);
    const braid_out there = NODE(f->graph, "Neg", "there", WORKER, in);
    const braid_out back = NODE(f->graph, "Neg", "back", PS, there);
    braid_session *s = open_session(f);
    float *values = bd_malloc(COUNT * sizeof *values);
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)i * 0.5F;
    braid_tensor *value = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(COUNT), values, NULL);
    braid_tensor *got = feed_and_fetch(s, in, value, back);
    assert_int_equal(braid_tensor_num_elements(got), COUNT);
    assert_memory_equal(braid_tensor_data(got), values, COUNT * sizeof *values);
    braid_tensor_free(got);
    braid_tensor_free(value);
    bd_free(values);
    close_session(s);
}

static void unconnected_outputs_are_fetched(void **state)
{
    fixture *f = *state;
    braid_push_device(f->graph, PS);
    const braid_out in = braid_placeholder(f->graph, "in", BRAID_STRING, BRAID_SHAPE_UNKNOWN);
    braid_pop_device(f->graph);
    braid_session *s = open_session(f);
    braid_tensor *value = braid_tensor_string("fed and fetched");
    braid_tensor *got = feed_and_fetch(s, in, value, in);
    size_t len;
    const char *text = braid_tensor_string_at(got, 0, &len);
    assert_int_equal(len, strlen("fed and fetched"));
    assert_memory_equal(text, "fed and fetched", len);
    braid_tensor_free(got);
    braid_tensor_free(value);
    close_session(s);
}

static void devices_of_all_tasks_are_listed_the_own_first(void **state)
{
    fixture *f = *state;
    braid_session *local = open_session(f);
    BD_STATUS(st);
    braid_session *remote = test_remote_session(f->cluster, f->graph, "worker", 0, NULL, st);
    braid_session *both[] = {local, remote};
    for (int i = 0; i < 2; i++) {
        const braid_device_attributes *devices;
        int count;
        assert_int_equal(braid_session_list_devices(both[i], &devices, &count, st), BRAID_OK);
        assert_int_equal(count, 2);
        assert_string_equal(devices[0].name, "/job:worker/replica:0/task:0/device:CPU:0");
        assert_string_equal(devices[1].name, "/job:ps/replica:0/task:0/device:CPU:0");
        assert_string_equal(devices[1].type, "CPU");
        assert_true(devices[1].incarnation != 0);
        close_session(both[i]);
    }
}

// ---- Many at once ----

#define THREADS 4
#define ROUNDS 25

typedef struct client {
    fixture *f;
    model m;
    bool is_remote;
    int failures;
    char first_error[512];
} client;

static void work(void *arg)
{
    client *c = arg;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    braid_op *init;
    const braid_out v = test_variable(g, "count", PS, 0, &init);
    const braid_out one = NODE(g, "Abs", "one", WORKER, test_const(g, "minus_one", WORKER, -1));
    braid_op_desc *d = braid_op_begin(g, "AssignAdd", "more");
    braid_op_input(d, v);
    braid_op_input(d, one);
    braid_op_attr_bool(d, "use_locking", true);
    braid_op_device(d, PS);
    braid_op *more = braid_op_end(d);
    braid_session *s = c->is_remote ? test_remote_session(c->f->cluster, g, "worker", 0, NULL, st)
                                    : test_session(c->f->cluster, g, "worker", 0, NULL, st);
    for (int i = 0; s && i < ROUNDS; i++)
        c->failures += test_run_status(s, more, PATIENCE_MS, st) != BRAID_OK;
    if (st->code) snprintf(c->first_error, sizeof c->first_error, "%s", st->message);
    c->failures += !s || braid_session_close(s, st) != BRAID_OK;
    braid_graph_free(g);
}

static void many_sessions_step_at_once(void **state)
{
    fixture *f = *state;
    braid_op *init;
    const braid_out v = test_variable(f->graph, "count", PS, 0, &init);
    braid_session *s = open_session(f);
    test_run(s, init);
    client clients[THREADS];
    bd_thread threads[THREADS];
    BD_STATUS(st);
    for (int i = 0; i < THREADS; i++) {
        clients[i] = (client){.f = f, .is_remote = i % 2 == 1};
        assert_int_equal(bd_thread_start(&threads[i], "client", work, &clients[i], st), BRAID_OK);
    }
    for (int i = 0; i < THREADS; i++)
        bd_thread_join(&threads[i]);
    for (int i = 0; i < THREADS; i++)
        if (clients[i].failures) fail_msg("%d failures: %s", clients[i].failures, clients[i].first_error);
    assert_float_equal(test_fetch(s, v), THREADS * ROUNDS, 0);
    close_session(s);
}

// ---- Errors ----

static void an_error_names_its_node_wherever_it_happens(void **state)
{
    fixture *f = *state;
    braid_op *init;
    const braid_out v = test_variable(f->graph, "v", PS, 3, &init);
    const braid_out on_worker = NODE(f->graph, "Neg", "on_worker", WORKER, v);
    braid_session *s = open_session(f);
    BD_STATUS(st);
    float value;
    test_fetch_status(s, on_worker, PATIENCE_MS, &value, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value v");
    assert_error(st, BRAID_FAILED_PRECONDITION, "[[{{node v");
    // The session is as good as before.
    test_run(s, init);
    assert_float_equal(test_fetch(s, on_worker), -3, 0);
    close_session(s);
}

// The failure of one task ends the step on the other one, which waits for a tensor without a sender, and on a
// third part that waits for the first.
static void a_failure_ends_the_step_on_all_tasks(void **state)
{
    fixture *f = *state;
    static const char *const tasks[] = {PS, WORKER};
    braid_session *s = open_session(f);
    for (int i = 0; i < 2; i++) {
        const char *fails_on = tasks[i], *waits_on = tasks[1 - i];
        char name[32];
        braid_op *init;
        snprintf(name, sizeof name, "nobody_set_%d", i);
        const braid_out v = test_variable(f->graph, name, fails_on, 0, &init);
        const braid_out wrong = NODE(f->graph, "Neg", "wrong", fails_on, v);
        const braid_out never = test_never(f->graph, "never", waits_on, NULL);
        const braid_out both = NODE(f->graph, "Add", "both", waits_on, wrong, never);
        BD_STATUS(st);
        float value;
        test_fetch_status(s, both, 0, &value, st);
        assert_error(st, BRAID_FAILED_PRECONDITION, name);
        assert_false(st->derived);
    }
    close_session(s);
}

static void names_that_do_not_exist_are_not_found(void **state)
{
    fixture *f = *state;
    const model m = make_model(f->graph);
    test_start_all(f->cluster, NULL);
    BD_STATUS(st);
    braid_session *s = test_remote_session(f->cluster, f->graph, "worker", 0, NULL, st);
    float value;
    test_fetch_status(s, (braid_out){m.twice.op, 7}, 0, &value, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "twice:7");
    close_session(s);
}

static void an_unknown_device_is_refused(void **state)
{
    fixture *f = *state;
    const braid_out far = test_const(f->graph, "far", "/job:worker/task:7", 1);
    braid_session *s = open_session(f);
    BD_STATUS(st);
    float value;
    test_fetch_status(s, far, 0, &value, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "Cannot assign a device for operation");
    close_session(s);
}

// ---- Waiting and its ends ----

static void a_step_ends_at_its_timeout_and_names_the_missing_values(void **state)
{
    fixture *f = *state;
    static const char *const tasks[] = {PS, WORKER};
    braid_session *s = open_session(f);
    for (int i = 0; i < 2; i++) {
        const braid_out never = test_never(f->graph, i ? "never_here" : "never_there", tasks[i], NULL);
        BD_STATUS(st);
        float value;
        // A busy machine may need more time until the step waits for the value.
        const char *words = i ? "never_here" : tasks[i];
        for (int64_t ms = 50; ms < PATIENCE_MS && !strstr(braid_status_message(st), words); ms *= 4) {
            braid_status_clear(st);
            test_fetch_status(s, never, ms, &value, st);
        }
        assert_error(st, BRAID_DEADLINE_EXCEEDED, tasks[i]);
        if (i == 1) assert_error(st, BRAID_DEADLINE_EXCEEDED, "never_here");
    }
    close_session(s);
}

// A session whose operations have a timeout, which a busy machine may need to open it.
static braid_session *open_in_time(fixture *f, bool is_remote, const braid_session_options *options)
{
    const int64_t deadline_ns = bd_deadline_after_ms(PATIENCE_MS);
    braid_session *s = NULL;
    while (!s) {
        BD_STATUS(st);
        s = is_remote ? test_remote_session(f->cluster, f->graph, "worker", 0, options, st)
                      : test_session(f->cluster, f->graph, "worker", 0, options, st);
        if (!s && (st->code != BRAID_DEADLINE_EXCEEDED || bd_now_ns() >= deadline_ns))
            fail_msg("%s", st->message);
    }
    return s;
}

static void the_operation_timeout_of_a_session_holds_for_steps(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, NULL);
    const braid_out never = test_never(f->graph, "never", PS, NULL);
    const braid_session_options options = {.operation_timeout_ms = 300};
    for (int i = 0; i < 2; i++) {
        BD_STATUS(st);
        braid_session *s = open_in_time(f, i, &options);
        float value;
        test_fetch_status(s, never, 0, &value, st);
        assert_error(st, BRAID_DEADLINE_EXCEEDED, "300 ms");
        test_fetch_status(s, never, 400, &value, st);
        assert_error(st, BRAID_DEADLINE_EXCEEDED, "400 ms");
        close_session(s);
    }
}

static void a_server_has_options_for_all_its_sessions(void **state)
{
    fixture *f = *state;
    static const char *const filters[] = {WORKER};
    const braid_session_options session = {
        .allow_soft_placement = true, .device_filters = filters, .device_filter_count = 1};
    test_start_all(f->cluster, &(braid_server_options){.session_options = &session});
    const braid_out x = test_const(f->graph, "x", WORKER "/device:GPU:0", 2);
    for (int i = 0; i < 2; i++) {
        BD_STATUS(st);
        braid_session *s = i ? test_remote_session(f->cluster, f->graph, "worker", 0, NULL, st)
                             : test_session(f->cluster, f->graph, "worker", 0, NULL, st);
        assert_non_null(s);
        assert_float_equal(test_fetch(s, x), 2, 0);
        const braid_device_attributes *devices;
        int count;
        assert_int_equal(braid_session_list_devices(s, &devices, &count, st), BRAID_OK);
        assert_int_equal(count, 1);
        close_session(s);
    }
}

static void a_server_has_a_timeout_for_sessions_that_have_none(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, &(braid_server_options){.operation_timeout_ms = 300});
    const braid_out never = test_never(f->graph, "never", PS, NULL);
    static const struct {
        braid_session_options options;
        int64_t run_ms;
        const char *words;
    } rows[] = {
        {{0}, 0, "300 ms"},
        {{.allow_soft_placement = true}, 0, "300 ms"},
        {{.operation_timeout_ms = 200}, 0, "200 ms"},
        {{.operation_timeout_ms = 200}, 250, "250 ms"},
        {{0}, 350, "350 ms"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        BD_STATUS(st);
        braid_session *s = open_in_time(f, true, &rows[i].options);
        float value;
        test_fetch_status(s, never, rows[i].run_ms, &value, st);
        assert_error(st, BRAID_DEADLINE_EXCEEDED, rows[i].words);
        close_session(s);
    }
}

static bool has_node(const Tensorflow__GraphDef *graph, const char *op, const char *device)
{
    for (size_t i = 0; i < graph->n_node; i++)
        if (strcmp(graph->node[i]->op, op) == 0 && strcmp(graph->node[i]->device, device) == 0) return true;
    return false;
}

static void a_record_has_the_graph_of_each_task(void **state)
{
    fixture *f = *state;
    static const char ps[] = "/job:ps/replica:0/task:0/device:CPU:0",
                      worker[] = "/job:worker/replica:0/task:0/device:CPU:0";
    const model m = make_model(f->graph);
    test_start_all(f->cluster, NULL);
    braid_run_metadata *record = braid_run_metadata_new();
    for (int i = 0; i < 4; i++) {
        const unsigned records = i < 2 ? BRAID_RECORD_GRAPHS : BRAID_RECORD_STATS;
        BD_STATUS(st);
        BD_PROTO_ARENA(arena);
        braid_session *s = i % 2 ? test_remote_session(f->cluster, f->graph, "worker", 0, NULL, st)
                                 : test_session(f->cluster, f->graph, "worker", 0, NULL, st);
        test_run(s, m.init);
        braid_tensor *value = NULL;
        const braid_fetch fetch = {m.twice, &value};
        braid_session_run(
            s, &(braid_run_args){.fetches = &fetch, .fetch_count = 1, .metadata = record, .records = records},
            st);
        if (st->code) fail_msg("%s", st->message);
        braid_tensor_free(value);
        size_t len;
        const void *bytes = braid_run_metadata_data(record, &len);
        const Tensorflow__RunMetadata *got =
            bd_proto_unpack(&tensorflow__run_metadata__descriptor, bytes, len, arena, st);
        assert_non_null(got);
        assert_int_equal(got->step_stats != NULL, records == BRAID_RECORD_STATS);
        assert_int_equal(got->n_partition_graphs, records == BRAID_RECORD_GRAPHS ? 2 : 0);
        if (records == BRAID_RECORD_GRAPHS) {
            const int of_ps = has_node(got->partition_graphs[0], "VariableV2", ps) ? 0 : 1;
            const Tensorflow__GraphDef *there = got->partition_graphs[of_ps],
                                       *here = got->partition_graphs[1 - of_ps];
            assert_true(has_node(there, "VariableV2", ps) && has_node(there, "_Send", ps));
            assert_true(has_node(here, "_Recv", worker) && has_node(here, "Mul", worker));
            assert_false(has_node(here, "VariableV2", ps));
        }
        close_session(s);
    }
    braid_run_metadata_free(record);
}

static void closing_a_session_ends_its_steps(void **state)
{
    fixture *f = *state;
    test_start_all(f->cluster, NULL);
    for (int i = 0; i < 4; i++) {
        braid_graph *g = braid_graph_new();
        BD_STATUS(st);
        braid_session *s = i % 2 ? test_remote_session(f->cluster, g, "worker", 0, NULL, st)
                                 : test_session(f->cluster, g, "worker", 0, NULL, st);
        test_blocked b;
        test_blocked_start(&b, s, g, i < 2 ? PS : WORKER);
        close_session(s);
        test_blocked_join(&b);
        assert_error(&b.st, BRAID_CANCELLED, "closed");
        bd_status_fini(&b.st);
        braid_graph_free(g);
    }
}

static void a_session_waits_for_absent_tasks_and_names_them(void **state)
{
    fixture *f = *state;
    test_start(f->cluster, "worker", 0, NULL);
    const braid_session_options options = {.operation_timeout_ms = 100};
    for (int i = 0; i < 2; i++) {
        BD_STATUS(st);
        braid_session *s = i ? test_remote_session(f->cluster, f->graph, "worker", 0, &options, st)
                             : test_session(f->cluster, f->graph, "worker", 0, &options, st);
        assert_null(s);
        assert_int_equal(st->code, BRAID_DEADLINE_EXCEEDED);
        if (i == 0) assert_error(st, BRAID_DEADLINE_EXCEEDED, "/job:ps/task:0 at 127.0.0.1:");
    }
}

static void start_ps(void *arg)
{
    fixture *f = arg;
    BD_STATUS(st);
    f->cluster->tasks[0].server = bd_server_start(f->cluster->spec, "ps", 0, NULL, f->cluster->network, st);
}

static void a_session_starts_when_the_last_task_has_started(void **state)
{
    fixture *f = *state;
    const model m = make_model(f->graph);
    test_start(f->cluster, "worker", 0, NULL);
    bd_thread starter;
    BD_STATUS(st);
    assert_int_equal(bd_thread_start(&starter, "starter", start_ps, f, st), BRAID_OK);
    braid_session *s = test_session(f->cluster, f->graph, "worker", 0, NULL, st);
    bd_thread_join(&starter);
    assert_non_null(s);
    check_model(s, &m);
    close_session(s);
}

static void a_client_that_may_be_away_forever_keeps_its_session(void **state)
{
    fixture *f = *state;
    if (!f->cluster->network) skip(); // connections are cut in the network of the test only
    const braid_server_options options = {.worker_gone_timeout_ms = INT64_MAX};
    test_start_all(f->cluster, &options);
    const model m = make_model(f->graph);
    BD_STATUS(st);
    braid_session *s = test_remote_session(f->cluster, f->graph, "worker", 0, NULL, st);
    test_run(s, m.init);
    const char *address = braid_cluster_address(f->cluster->spec, "worker", 0);
    bd_inprocess_set_down(f->cluster->network, address, true);
    bd_inprocess_set_down(f->cluster->network, address, false);
    assert_float_equal(test_fetch(s, m.v), 3, 0);
    close_session(s);
}

static void filters_leave_tasks_out(void **state)
{
    fixture *f = *state;
    test_start(f->cluster, "worker", 0, NULL);
    static const char *const filters[] = {"/job:worker"};
    const braid_session_options options = {.device_filters = filters, .device_filter_count = 1};
    const braid_out one = test_const(f->graph, "one", WORKER, 1);
    BD_STATUS(st);
    braid_session *s = test_session(f->cluster, f->graph, "worker", 0, &options, st);
    assert_non_null(s);
    assert_float_equal(test_fetch(s, one), 1, 0);
    close_session(s);
}

// ---- Lost and restarted tasks ----

static void a_task_that_is_gone_is_named(void **state)
{
    fixture *f = *state;
    const model m = make_model(f->graph);
    braid_session *s = open_session(f);
    test_run(s, m.init);
    assert_float_equal(test_fetch(s, m.twice), 6, 0);
    test_kill(f->cluster, "ps", 0);
    BD_STATUS(st);
    float value;
    test_fetch_status(s, m.twice, 0, &value, st);
    char *address = bd_asprintf("/job:ps/task:0 at %s", braid_cluster_address(f->cluster->spec, "ps", 0));
    assert_error(st, BRAID_UNAVAILABLE, address);
    bd_free(address);
    braid_session_close(s, st);
}

static void a_task_that_restarted_aborts_old_sessions(void **state)
{
    fixture *f = *state;
    const model m = make_model(f->graph);
    braid_session *s = open_session(f);
    test_run(s, m.init);
    test_fetch(s, m.twice);
    test_kill(f->cluster, "ps", 0);
    test_start(f->cluster, "ps", 0, NULL);
    BD_STATUS(st);
    float value = 0;
    do // until the connection is there again
        test_fetch_status(s, m.twice, 0, &value, st);
    while (st->code == BRAID_UNAVAILABLE);
    assert_error(st, BRAID_ABORTED, "Graph handle is not found");
    braid_session_close(s, st);
    s = test_session(f->cluster, f->graph, "worker", 0, NULL, st);
    if (!s) fail_msg("%s", st->message);
    check_model(s, &m);
    close_session(s);
}

static void a_master_that_restarted_has_forgotten_its_sessions(void **state)
{
    fixture *f = *state;
    const model m = make_model(f->graph);
    test_start_all(f->cluster, NULL);
    BD_STATUS(st);
    braid_session *s = test_remote_session(f->cluster, f->graph, "worker", 0, NULL, st);
    test_run(s, m.init);
    test_kill(f->cluster, "worker", 0);
    test_start(f->cluster, "worker", 0, NULL);
    do
        test_run_status(s, m.init, 0, st);
    while (st->code == BRAID_UNAVAILABLE);
    assert_error(st, BRAID_ABORTED, "Session ");
    assert_error(st, BRAID_ABORTED, " is not found");
    close_session(s);
}

// ---- The end of a server ----

static void stopping_a_server_ends_its_steps(void **state)
{
    fixture *f = *state;
    braid_session *s = open_session(f);
    test_blocked b;
    test_blocked_start(&b, s, f->graph, PS);
    test_kill(f->cluster, "ps", 0);
    test_blocked_join(&b);
    assert_true(b.st.code == BRAID_UNAVAILABLE || b.st.code == BRAID_ABORTED);
    bd_status_fini(&b.st);
    BD_STATUS(st);
    braid_session_close(s, st);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_graph_spans_two_tasks),
        TEST(a_remote_session_does_the_same),
        TEST(floats_cross_as_bfloat16_where_a_session_asks_for_it),
        TEST(variables_are_shared_by_sessions),
        TEST(large_tensors_pass_unchanged),
        TEST(unconnected_outputs_are_fetched),
        TEST(devices_of_all_tasks_are_listed_the_own_first),
        TEST(many_sessions_step_at_once),
        TEST(an_error_names_its_node_wherever_it_happens),
        TEST(a_failure_ends_the_step_on_all_tasks),
        TEST(names_that_do_not_exist_are_not_found),
        TEST(an_unknown_device_is_refused),
        TEST(a_step_ends_at_its_timeout_and_names_the_missing_values),
        TEST(the_operation_timeout_of_a_session_holds_for_steps),
        TEST(a_server_has_options_for_all_its_sessions),
        TEST(a_server_has_a_timeout_for_sessions_that_have_none),
        TEST(a_record_has_the_graph_of_each_task),
        TEST(closing_a_session_ends_its_steps),
        TEST(a_session_waits_for_absent_tasks_and_names_them),
        TEST(a_session_starts_when_the_last_task_has_started),
        TEST(a_client_that_may_be_away_forever_keeps_its_session),
        TEST(filters_leave_tasks_out),
        TEST(a_task_that_is_gone_is_named),
        TEST(a_task_that_restarted_aborts_old_sessions),
        TEST(a_master_that_restarted_has_forgotten_its_sessions),
        TEST(stopping_a_server_ends_its_steps),
    };
    int failed = 0;
    for (network = TEST_GRPC; network <= TEST_IN_PROCESS; network++)
        failed += _cmocka_run_group_tests(network == TEST_GRPC ? "sessions over gRPC" : "sessions in process",
                                          tests, sizeof tests / sizeof tests[0], NULL, NULL);
    return failed;
}

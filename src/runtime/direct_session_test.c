// The in-process session: feeding and fetching, graphs that grow, threads, time limits, notifications,
// devices.
// labels: concurrent
#include "runtime/testing/test_ops.h"

#include "proto/pack.h"
#include "runtime/testing/test_graph.h"
#include "tensorflow/core/protobuf/config.pb-c.h"
#include <stdio.h>

static void feeds_and_fetches_may_be_in_any_order_and_repeated(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out a = tg_placeholder(g, "a", BRAID_FLOAT), b = tg_placeholder(g, "b", BRAID_FLOAT);
    braid_out sum = tg2(g, "Add", "sum", a, tg1(g, "Neg", "minus_b", b));
    braid_session *s = tg_session(g, NULL);
    braid_tensor *x = braid_tensor_float(5), *y = braid_tensor_float(3), *out[3];
    braid_feed ab[] = {{a, x}, {b, y}}, ba[] = {{b, y}, {a, x}};
    braid_fetch fetches[] = {{sum, &out[0]}, {a, &out[1]}, {sum, &out[2]}};
    for (int i = 0; i < 4; i++) {
        BD_STATUS(st);
        braid_run_args args = {
            .feeds = i % 2 ? ab : ba, .feed_count = 2, .fetches = fetches, .fetch_count = 3};
        braid_session_run(s, &args, st);
        assert_ok(st);
        assert_float_equal(bd_tensor_f32(out[0])[0], 2, 0);
        assert_float_equal(bd_tensor_f32(out[1])[0], 5, 0); // the fed value
        assert_float_equal(bd_tensor_f32(out[2])[0], 2, 0);
        for (int k = 0; k < 3; k++)
            braid_tensor_free(out[k]);
    }
    braid_tensor_free(x);
    braid_tensor_free(y);
    tg_close(s, g);
}

static void any_output_may_be_fed(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = tg1(g, "TestCount", "not_run", tg_float(g, NULL, 1)), y = tg1(g, "Neg", "y", x);
    braid_session *s = tg_session(g, NULL);
    braid_feed feed = {x, braid_tensor_float(9)};
    tg_assert_fetch(s, y, &feed, -9);
    assert_int_equal(test_count("not_run"), 0);
    braid_tensor_free((braid_tensor *)feed.value);
    tg_close(s, g);
}

static void a_run_may_have_no_fetch_and_no_target(void **state)
{
    (void)state;
    for (int devices = 1; devices <= 2; devices++) {
        braid_graph *g = braid_graph_new();
        braid_session *s = tg_session(g, &(braid_session_options){.cpu_devices = devices});
        BD_STATUS(st);
        braid_session_run(s, &(braid_run_args){0}, st);
        assert_ok(st);
        tg_close(s, g);
    }
}

static void errors_of_a_run_name_the_fault(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new(), *other = braid_graph_new();
    braid_out x = tg_placeholder(g, "x", BRAID_FLOAT), y = tg1(g, "Neg", "y", x),
              foreign = tg_float(other, "c", 1);
    braid_session *s = tg_session(g, NULL);
    BD_STATUS(st);
    braid_tensor *value;
    tg_try(s, y, NULL, &value, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "You must feed a value for placeholder tensor 'x'");
    braid_feed feed = {x, braid_tensor_int32(1)};
    tg_try(s, y, &feed, &value, st);
    assert_error(st, BRAID_INVALID_ARGUMENT,
                 "Cannot feed a value of type int32 for 'x:0', which has type float");
    tg_try(s, foreign, NULL, &value, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "'c', is of another graph");
    tg_try(s, (braid_out){0}, NULL, &value, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "fetch 0 is no output");
    braid_status_clear(st);
    braid_tensor *vector = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(3), NULL);
    braid_op_desc *d = braid_op_begin(braid_op_graph(x.op), "Placeholder", "rows");
    braid_op_attr_type(d, "dtype", BRAID_FLOAT);
    braid_op_attr_shape(d, "shape", BRAID_SHAPE(-1, 20));
    braid_feed too_few = {braid_op_end_out(d), vector};
    tg_try(s, too_few.out, &too_few, &value, st);
    assert_error(st, BRAID_INVALID_ARGUMENT,
                 "Cannot feed a value of shape [3] for 'rows:0', which has shape [?,20]");
    braid_tensor_free(vector);
    braid_status_clear(st);
    assert_int_equal(braid_session_run(s, NULL, NULL), BRAID_INVALID_ARGUMENT);
    assert_int_equal(braid_session_run(NULL, NULL, NULL), BRAID_INVALID_ARGUMENT);
    braid_feed empty = {x, NULL};
    tg_try(s, y, &empty, &value, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "feed 0, 'x', has no value");
    tg_try(s, (braid_out){y.op, 4}, NULL, &value, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "output index too large");
    assert_null(value);
    braid_tensor_free((braid_tensor *)feed.value);
    braid_graph_free(other);
    tg_close(s, g);
}

static void a_graph_may_grow_and_keeps_its_variables(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out v = tg_variable(g, "v", BRAID_FLOAT);
    braid_out init = tg2(g, "Assign", "init", v, tg_float(g, "four", 4));
    braid_session *s = tg_session(g, NULL);
    BD_STATUS(st);
    tg_run(s, init.op, st);
    assert_ok(st);
    for (int i = 0; i < 5; i++)
        tg_assert_fetch(s, tg2(g, "Mul", NULL, v, tg_float(g, NULL, (float)i)), NULL, 4 * i);
    // Nodes that cannot be placed are refused each time, and other nodes still run.
    braid_push_device(g, "/gpu:0");
    braid_out nowhere = tg_float(g, "nowhere", 1);
    braid_pop_device(g);
    braid_tensor *value;
    for (int i = 0; i < 2; i++) {
        tg_try(s, nowhere, NULL, &value, st);
        assert_error(st, BRAID_INVALID_ARGUMENT, "Cannot assign a device for operation nowhere");
    }
    tg_close(s, g);
}

static void an_error_in_the_graph_is_the_error_of_the_run(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out x = tg_float(g, "x", 1);
    braid_session *s = tg_session(g, NULL);
    tg_assert_fetch(s, x, NULL, 1);
    braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "badly built");
    BD_STATUS(st);
    braid_tensor *value;
    tg_try(s, x, NULL, &value, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "badly built");
    tg_close(s, g);
}

static void variables_belong_to_their_session(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out v = tg_variable(g, "v", BRAID_FLOAT);
    braid_out init = tg2(g, "Assign", "init", v, tg_float(g, "four", 4));
    braid_session *s = tg_session(g, NULL), *t = tg_session(g, NULL);
    BD_STATUS(st);
    tg_run(s, init.op, st);
    assert_ok(st);
    tg_assert_fetch(s, v, NULL, 4);
    braid_tensor *value;
    tg_try(t, v, NULL, &value, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "uninitialized value v");
    braid_session_close(t, st);
    tg_close(s, g);
}

static void a_session_has_a_time_limit_of_its_own(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out wait = braid_output(tg_after(g, "TestWait", "wait", 0, NULL), 0);
    braid_session *s = tg_session(g, &(braid_session_options){.operation_timeout_ms = 1000});
    BD_STATUS(st);
    braid_tensor *value;
    tg_try(s, wait, NULL, &value, st);
    assert_error(
        st, BRAID_DEADLINE_EXCEEDED,
        "Timed out waiting for notification: the run took longer than 1000 ms; waiting for wait (TestWait)");
    braid_fetch fetch = {wait, &value}; // the limit of the run has precedence
    braid_session_run(s, &(braid_run_args){.fetches = &fetch, .fetch_count = 1, .timeout_ms = 30}, st);
    assert_error(st, BRAID_DEADLINE_EXCEEDED, "took longer than 30 ms");
    tg_assert_fetch(s, tg_float(g, NULL, 1), NULL, 1);
    tg_close(s, g);
}

// ---- Records ----

// The negative on the second device of what is on the first.
static braid_out on_two_devices(braid_graph *g)
{
    braid_push_device(g, "/cpu:0");
    const braid_out x = tg_placeholder(g, "x", BRAID_FLOAT);
    braid_pop_device(g);
    braid_push_device(g, "/cpu:1");
    const braid_out y = tg1(g, "Neg", "y", x);
    braid_pop_device(g);
    return y;
}

static bool has_node(const Tensorflow__GraphDef *graph, const char *op, const char *device)
{
    for (size_t i = 0; i < graph->n_node; i++)
        if (strcmp(graph->node[i]->op, op) == 0 && strcmp(graph->node[i]->device, device) == 0) return true;
    return false;
}

// What ran: a graph for each device, which send and receive.
static void check_graphs(const Tensorflow__RunMetadata *m)
{
    static const char first[] = "/job:localhost/replica:0/task:0/device:CPU:0",
                      second[] = "/job:localhost/replica:0/task:0/device:CPU:1";
    assert_int_equal(m->n_partition_graphs, 2);
    const int of_first = has_node(m->partition_graphs[0], "_Arg", first) ? 0 : 1;
    const Tensorflow__GraphDef *a = m->partition_graphs[of_first], *b = m->partition_graphs[1 - of_first];
    assert_true(has_node(a, "_Arg", first) && has_node(a, "_Send", first));
    assert_true(has_node(b, "_Recv", second) && has_node(b, "Neg", second) && has_node(b, "_Retval", second));
    assert_int_equal(a->n_node, 2);
    assert_int_equal(b->n_node, 3);
}

static void a_record_has_what_is_asked_for(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    const braid_out y = on_two_devices(g), x = {braid_graph_find(g, "x"), 0};
    braid_session *s = tg_session(g, &(braid_session_options){.cpu_devices = 2});
    braid_run_metadata *record = braid_run_metadata_new();
    braid_tensor *three = braid_tensor_float(3);
    const braid_feed feed = {x, three};
    const unsigned rows[] = {0, BRAID_RECORD_STATS, BRAID_RECORD_GRAPHS,
                             BRAID_RECORD_STATS | BRAID_RECORD_GRAPHS};
    for (size_t i = 0; i < BD_COUNTOF(rows) * 2; i++) {
        const unsigned records = rows[i / 2];
        BD_STATUS(st);
        BD_PROTO_ARENA(arena);
        braid_tensor *value = NULL;
        const braid_fetch fetch = {y, &value};
        if (i % 2) {
            const braid_signature signature = {.feeds = &x, .feed_count = 1, .fetches = &y, .fetch_count = 1};
            const braid_callable_options options = {.is_traced = true, .records = records};
            const braid_tensor *fed = three;
            braid_callable *c = braid_callable_new(s, &signature, &options, st);
            braid_callable_run(c, &fed, &value, record, st);
            braid_callable_free(c);
        } else {
            braid_session_run(s,
                              &(braid_run_args){.feeds = &feed,
                                                .feed_count = 1,
                                                .fetches = &fetch,
                                                .fetch_count = 1,
                                                .metadata = record,
                                                .records = records},
                              st);
        }
        assert_ok(st);
        assert_float_equal(*(const float *)braid_tensor_data(value), -3, 0);
        braid_tensor_free(value);
        size_t len;
        const void *bytes = braid_run_metadata_data(record, &len);
        const Tensorflow__RunMetadata *m =
            bd_proto_unpack(&tensorflow__run_metadata__descriptor, bytes, len, arena, st);
        assert_non_null(m);
        assert_int_equal(m->step_stats != NULL, records != BRAID_RECORD_GRAPHS);
        if (records & BRAID_RECORD_GRAPHS)
            check_graphs(m);
        else
            assert_int_equal(m->n_partition_graphs, 0);
    }
    braid_tensor_free(three);
    braid_run_metadata_free(record);
    tg_close(s, g);
}

// ---- Notifications ----

typedef struct waiting {
    braid_session *session;
    int64_t seen, generation;
    braid_status status;
    bd_thread thread;
} waiting;

static void wait_notification_on_thread(void *arg)
{
    waiting *w = arg;
    braid_session_wait_notification(
        w->session, &(braid_notification_wait){.key = "ready", .seen = w->seen, .timeout_ms = 0},
        &w->generation, &w->status);
}

static void a_waiter_gets_its_notification(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_session *s = tg_session(g, NULL);
    BD_STATUS(st);
    int64_t generation;
    braid_session_wait_notification(
        s, &(braid_notification_wait){.key = "ready", .seen = -1, .timeout_ms = 0}, &generation, st);
    assert_ok(st);
    assert_int_equal(generation, 0);
    braid_session_wait_notification(
        s, &(braid_notification_wait){.key = "ready", .seen = 0, .timeout_ms = 10}, &generation, st);
    assert_error(st, BRAID_DEADLINE_EXCEEDED, "No notification of 'ready' arrived within 10 ms");
    waiting w = {.session = s};
    bd_thread_start(&w.thread, "await", wait_notification_on_thread, &w, st);
    braid_session_notify(s, "other", st);
    braid_session_notify(s, "ready", st);
    bd_thread_join(&w.thread);
    assert_ok(&w.status);
    assert_int_equal(w.generation, 1);
    braid_session_notify(s, "ready", st);
    braid_session_wait_notification(s, &(braid_notification_wait){.key = "ready", .seen = 1, .timeout_ms = 0},
                                    &generation, st);
    assert_ok(st);
    assert_int_equal(generation, 2);
    tg_close(s, g);
}

static void a_notification_before_the_wait_is_not_missed(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_session *s = tg_session(g, NULL);
    for (int i = 0; i < 50; i++) {
        BD_STATUS(st);
        waiting w = {.session = s, .seen = i};
        bd_thread_start(&w.thread, "await", wait_notification_on_thread, &w, st);
        braid_session_notify(s, "ready", st);
        bd_thread_join(&w.thread);
        assert_ok(&w.status);
        assert_int_equal(w.generation, i + 1);
    }
    tg_close(s, g);
}

// ---- Devices ----

static void devices_are_listed(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_session *s = tg_session(g, &(braid_session_options){.cpu_devices = 2});
    const braid_device_attributes *devices;
    int count;
    BD_STATUS(st);
    for (int i = 0; i < 2; i++) {
        braid_session_list_devices(s, &devices, &count, st);
        assert_ok(st);
        assert_int_equal(count, 2);
        assert_string_equal(devices[1].name, "/job:localhost/replica:0/task:0/device:CPU:1");
        assert_string_equal(devices[1].type, "CPU");
        assert_true(devices[0].incarnation != devices[1].incarnation);
    }
    tg_close(s, g);
    bd_session *none;
    bd_direct_session_new(&(braid_session_options){.cpu_devices = -1}, &none, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "cpu_devices is -1");
}

// ---- Threads ----

typedef struct adder {
    braid_session *session;
    braid_op *add;
    bd_thread thread;
    braid_code code;
} adder;

enum {
    ADDS = 200,
    ADDERS = 4
};

static void add_on_thread(void *arg)
{
    adder *a = arg;
    for (int i = 0; i < ADDS && !a->code; i++) {
        BD_STATUS(st);
        a->code = tg_run(a->session, a->add, st);
    }
}

static void threads_update_one_variable(void **state)
{
    (void)state;
    braid_graph *g = braid_graph_new();
    braid_out v = tg_variable(g, "v", BRAID_FLOAT), init = tg2(g, "Assign", "init", v, tg_float(g, NULL, 0));
    braid_op_desc *d = braid_op_begin(g, "AssignAdd", "add");
    braid_op_input(d, v);
    braid_op_input(d, tg_float(g, NULL, 1));
    braid_op_attr_bool(d, "use_locking", true);
    braid_op *add = braid_op_end(d);
    braid_session *s = tg_session(g, &(braid_session_options){.inter_op_threads = 2});
    BD_STATUS(st);
    tg_run(s, init.op, st);
    assert_ok(st);
    adder adders[ADDERS];
    for (int i = 0; i < ADDERS; i++) {
        adders[i] = (adder){.session = s, .add = add};
        bd_thread_start(&adders[i].thread, "add", add_on_thread, &adders[i], st);
    }
    assert_ok(st);
    for (int i = 0; i < ADDERS; i++) {
        bd_thread_join(&adders[i].thread);
        assert_int_equal(adders[i].code, BRAID_OK);
    }
    tg_assert_fetch(s, v, NULL, ADDS * ADDERS);
    tg_close(s, g);
}

// ---- Partial runs ----

static void run_part(braid_partial_run *r, const braid_feed *feed, const braid_fetch *fetches, int count)
{
    BD_STATUS(st);
    const braid_run_args args = {.feeds = feed, .feed_count = 1, .fetches = fetches, .fetch_count = count};
    braid_partial_run_call(r, &args, st);
    assert_ok(st);
}

// The last call of a step asks for VALUES that are there; the step ends when the first one has been received.
static void a_call_gets_its_values_when_the_step_ends_meanwhile(void **state)
{
    (void)state;
    enum {
        VALUES = 1000,
        ROUNDS = 20
    };
    test_taken_key = "/job:localhost/replica:0/task:0/device:CPU:0;0000000000000000;"
                     "/job:localhost/replica:0/task:0/device:CPU:0;value_0:0;0:0";
    braid_graph *g = braid_graph_new();
    const braid_out feeds[] = {tg_placeholder(g, "a", BRAID_FLOAT), tg_placeholder(g, "b", BRAID_FLOAT)};
    const braid_out taken = tg1(g, "TestTaken", "taken", feeds[1]);
    braid_out fetches[VALUES + 1];
    braid_tensor *got[VALUES + 1], *two = braid_tensor_float(2);
    braid_fetch values[VALUES + 1];
    for (int i = 0; i <= VALUES; i++) {
        char name[24];
        snprintf(name, sizeof name, "value_%d", i);
        fetches[i] = tg1(g, "Neg", name, feeds[0]);
        values[i] = (braid_fetch){fetches[i], &got[i]};
    }
    const braid_signature signature = {.feeds = feeds,
                                       .feed_count = 2,
                                       .fetches = fetches,
                                       .fetch_count = VALUES + 1,
                                       .targets = &taken.op,
                                       .target_count = 1};
    braid_session *s = tg_session(g, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        BD_STATUS(st);
        braid_partial_run *r = braid_partial_run_new(s, &signature, st);
        assert_ok(st);
        run_part(r, &(braid_feed){feeds[0], two}, &values[VALUES], 1);
        run_part(r, &(braid_feed){feeds[1], two}, values, VALUES);
        for (int i = 0; i <= VALUES; i++) {
            assert_float_equal(bd_tensor_f32(got[i])[0], -2, 0);
            braid_tensor_free(got[i]);
        }
        braid_partial_run_free(r);
    }
    braid_tensor_free(two);
    tg_close(s, g);
}

static void closing_no_session_is_fine(void **state)
{
    (void)state;
    BD_STATUS(st);
    assert_int_equal(braid_session_close(NULL, st), BRAID_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(feeds_and_fetches_may_be_in_any_order_and_repeated),
        cmocka_unit_test(any_output_may_be_fed),
        cmocka_unit_test(a_run_may_have_no_fetch_and_no_target),
        cmocka_unit_test(errors_of_a_run_name_the_fault),
        cmocka_unit_test(a_graph_may_grow_and_keeps_its_variables),
        cmocka_unit_test(an_error_in_the_graph_is_the_error_of_the_run),
        cmocka_unit_test(variables_belong_to_their_session),
        cmocka_unit_test(a_session_has_a_time_limit_of_its_own),
        cmocka_unit_test(a_record_has_what_is_asked_for),
        cmocka_unit_test(a_waiter_gets_its_notification),
        cmocka_unit_test(a_notification_before_the_wait_is_not_missed),
        cmocka_unit_test(devices_are_listed),
        cmocka_unit_test(threads_update_one_variable),
        cmocka_unit_test(a_call_gets_its_values_when_the_step_ends_meanwhile),
        cmocka_unit_test(closing_no_session_is_fine),
    };
    return TG_RUN_TESTS_WITH_AND_WITHOUT_REWRITES(tests);
}

// A cluster in the test's process.
#include "test_cluster.h"
#include "base/alloc.h"
#include "base/file_root_variable.h"
#include "base/status.h"
#include "cluster/session/client_session.h"
#include "cluster/spec/cluster_spec.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_tasks(test_cluster *c, const char *job, int count)
{
    for (int i = 0; i < count; i++) {
        BD_STATUS(st);
        char address[32];
        snprintf(address, sizeof address, "127.0.0.1:%d", c->ports[c->task_count].number);
        bd_cluster_add(c->spec, job, i, address, st);
        if (st->code) fail_msg("%s", st->message);
        c->tasks[c->task_count++] = (test_task){job, i, NULL};
    }
}

test_cluster *test_cluster_new_on(bd_transport *network, int ps, int workers)
{
    assert_true(ps + workers <= TEST_TASKS_MAX);
    setenv(BD_FILE_ROOT_VARIABLE, "/", 1);
    test_cluster *c = bd_calloc(1, sizeof *c);
    c->network = network;
    c->spec = bd_cluster_new();
    if (!bd_ports_take(c->ports, ps + workers)) fail_msg("no free ports");
    add_tasks(c, "ps", ps);
    add_tasks(c, "worker", workers);
    return c;
}

test_cluster *test_cluster_new(test_network network, int ps, int workers)
{
    BD_STATUS(st);
    return test_cluster_new_on(network == TEST_IN_PROCESS ? bd_inprocess_transport_new(NULL, NULL, st) : NULL,
                               ps, workers);
}

void test_cluster_free(test_cluster *c)
{
    for (int i = c->task_count; i-- > 0;)
        braid_server_free(c->tasks[i].server);
    if (c->network) c->network->free(c->network);
    bd_ports_release(c->ports, c->task_count);
    braid_cluster_free(c->spec);
    bd_free(c);
}

static test_task *find(const test_cluster *c, const char *job, int index)
{
    for (int i = 0; i < c->task_count; i++)
        if (c->tasks[i].index == index && strcmp(c->tasks[i].job, job) == 0) return (test_task *)&c->tasks[i];
    fail_msg("no /job:%s/task:%d", job, index);
    return NULL;
}

braid_server *test_start(test_cluster *c, const char *job, int index, const braid_server_options *options)
{
    BD_STATUS(st);
    test_task *task = find(c, job, index);
    assert_null(task->server);
    task->server = bd_server_start(c->spec, job, index, options, c->network, st);
    if (!task->server) fail_msg("%s", st->message);
    return task->server;
}

void test_start_all(test_cluster *c, const braid_server_options *options)
{
    for (int i = 0; i < c->task_count; i++)
        test_start(c, c->tasks[i].job, c->tasks[i].index, options);
}

void test_kill(test_cluster *c, const char *job, int index)
{
    test_task *task = find(c, job, index);
    braid_server_stop(task->server, 0);
    braid_server_free(task->server);
    task->server = NULL;
}

braid_server *test_server(const test_cluster *c, const char *job, int index)
{
    return find(c, job, index)->server;
}

static braid_session_options options_or_none(const braid_session_options *options)
{
    return options ? *options : (braid_session_options){0};
}

braid_session *test_session(test_cluster *c, braid_graph *g, const char *job, int index,
                            const braid_session_options *options, braid_status *st)
{
    braid_session_options o = options_or_none(options);
    o.server = test_server(c, job, index);
    return braid_session_open(g, &o, st);
}

braid_session *test_remote_session(test_cluster *c, braid_graph *g, const char *job, int index,
                                   const braid_session_options *options, braid_status *st)
{
    braid_session_options o = options_or_none(options);
    char *target = bd_asprintf("grpc://%s", braid_cluster_address(c->spec, job, index));
    o.target = target;
    bd_session *impl;
    const braid_code code = bd_remote_session_new(&o, c->network, &impl, st);
    bd_free(target);
    return code ? NULL : bd_session_wrap(g, impl);
}

// ---- Graphs ----

braid_out test_node(braid_graph *g, const char *op, const char *name, const char *device,
                    const braid_out *inputs, int count)
{
    braid_op_desc *d = braid_op_begin(g, op, name);
    for (int i = 0; i < count; i++)
        braid_op_input(d, inputs[i]);
    braid_op_device(d, device);
    return braid_op_end_out(d);
}

braid_out test_const(braid_graph *g, const char *name, const char *device, float value)
{
    braid_push_device(g, device);
    const braid_out out = braid_const_float(g, name, value);
    braid_pop_device(g);
    return out;
}

braid_out test_variable(braid_graph *g, const char *name, const char *device, float initial, braid_op **init)
{
    braid_push_device(g, device);
    braid_tensor *value = braid_tensor_float(initial);
    const braid_variable v = braid_variable_of(g, name, value, true);
    braid_tensor_free(value);
    braid_pop_device(g);
    *init = v.initializer;
    return v.ref;
}

braid_out test_never(braid_graph *g, const char *name, const char *device, braid_op *after)
{
    char full[128];
    snprintf(full, sizeof full, "%.*s/replica:0%s/device:CPU:0", (int)(strrchr(device, '/') - device), device,
             strrchr(device, '/'));
    braid_op_desc *d = braid_op_begin(g, "_Recv", name);
    braid_op_attr_type(d, "tensor_type", BRAID_FLOAT);
    braid_op_attr_string(d, "tensor_name", "never");
    braid_op_attr_string(d, "send_device", full);
    braid_op_attr_int(d, "send_device_incarnation", 1);
    braid_op_attr_string(d, "recv_device", full);
    if (after) braid_op_control(d, after);
    braid_op_device(d, device);
    return braid_op_end_out(d);
}

// ---- Runs ----

braid_code test_fetch_status(braid_session *s, braid_out out, int64_t timeout_ms, float *value,
                             braid_status *st)
{
    braid_tensor *t = NULL;
    const braid_fetch fetch = {out, &t};
    const braid_run_args args = {.fetches = &fetch, .fetch_count = 1, .timeout_ms = timeout_ms};
    const braid_code code = braid_session_run(s, &args, st);
    if (code) return code;
    *value = *(const float *)braid_tensor_data(t);
    braid_tensor_free(t);
    return BRAID_OK;
}

float test_fetch(braid_session *s, braid_out out)
{
    BD_STATUS(st);
    float value = 0;
    if (test_fetch_status(s, out, PATIENCE_MS, &value, st))
        fail_msg("%s: %s", braid_code_name(st->code), st->message);
    return value;
}

braid_code test_run_status(braid_session *s, braid_op *target, int64_t timeout_ms, braid_status *st)
{
    const braid_run_args args = {.targets = &target, .target_count = 1, .timeout_ms = timeout_ms};
    return braid_session_run(s, &args, st);
}

void test_run(braid_session *s, braid_op *target)
{
    BD_STATUS(st);
    if (test_run_status(s, target, PATIENCE_MS, st))
        fail_msg("%s: %s", braid_code_name(st->code), st->message);
}

static void run_blocked(void *arg)
{
    test_blocked *b = arg;
    float value;
    test_fetch_status(b->session, b->never, 0, &value, &b->st);
}

void test_blocked_start(test_blocked *b, braid_session *s, braid_graph *g, const char *device)
{
    BD_STATUS(st);
    braid_op *init;
    const braid_out began = test_variable(g, "began", device, 0, &init);
    const braid_out begin =
        NODE(g, "AssignAdd", "begin", device, began, test_const(g, "begin/by", device, 1));
    *b = (test_blocked){.session = s, .never = test_never(g, "never", device, begin.op)};
    test_run(s, init);
    assert_int_equal(bd_thread_start(&b->thread, "blocked", run_blocked, b, st), BRAID_OK);
    const int64_t deadline_ns = bd_deadline_after_ms(PATIENCE_MS);
    while (test_fetch(s, began) == 0)
        assert_true(bd_now_ns() < deadline_ns);
}

void test_blocked_join(test_blocked *b)
{
    bd_thread_join(&b->thread);
}

void assert_error(const braid_status *st, braid_code code, const char *words)
{
    if (st->code != code)
        fail_msg("%s instead of %s: %s", braid_code_name(st->code), braid_code_name(code),
                 braid_status_message(st));
    if (!strstr(st->message, words)) fail_msg("'%s' is not in: %s", words, st->message);
}

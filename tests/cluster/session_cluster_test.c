// Sessions with a cluster of their own (ConfigProto.cluster_def): servers that know nothing of each other
// become the tasks that a client names.
// labels: concurrent
#include "base/alloc.h"
#include "base/strbuf.h"
#include "cluster/rpc/methods.h"
#include "proto/pack.h"
#include "support/tls_cluster.h"
#include "tensorflow/core/protobuf/worker.pb-c.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SERVERS = 3,
    LARGE = 1000003 // floats: sent in chunks
};

typedef struct fixture {
    braid_server *servers[SERVERS]; // each a cluster of one task, /job:local/task:0
    braid_graph *g;
} fixture;

static const char *address(const fixture *f, int server)
{
    return braid_server_target(f->servers[server]) + strlen("grpc://");
}

static int set_up(void **state)
{
    BD_STATUS(st);
    fixture *f = *state = bd_calloc(1, sizeof *f);
    for (int i = 0; i < SERVERS; i++) {
        f->servers[i] = braid_server_start_local(NULL, st);
        if (!f->servers[i]) fail_msg("%s", st->message);
    }
    f->g = braid_graph_new();
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    braid_graph_free(f->g);
    for (int i = 0; i < SERVERS; i++)
        braid_server_free(f->servers[i]);
    bd_free(f);
    return 0;
}

// Tasks 0, 1, 2 ... of `job` are the servers at these addresses.
static braid_cluster *cluster_of(const char *job, const char *const *addresses, int count)
{
    BD_STATUS(st);
    bd_strbuf json = {0};
    bd_strbuf_appendf(&json, "{\"%s\": [", job);
    for (int i = 0; i < count; i++)
        bd_strbuf_appendf(&json, "%s\"%s\"", i ? ", " : "", addresses[i]);
    bd_strbuf_append(&json, "]}");
    braid_cluster *c = braid_cluster_from_json(bd_strbuf_str(&json), st);
    if (!c) fail_msg("%s", st->message);
    bd_strbuf_fini(&json);
    return c;
}

// The session of a client elsewhere on `server`.
static braid_session *open_on(const fixture *f, int server, const braid_session_options *more,
                              braid_status *st)
{
    braid_session_options options = *more;
    options.target = braid_server_target(f->servers[server]);
    if (!options.open_timeout_ms) options.open_timeout_ms = PATIENCE_MS;
    return braid_session_open(f->g, &options, st);
}

// On servers 2, 1 and 0, which are the tasks 0, 1 and 2 of job trainer.
static braid_session *open_reversed(const fixture *f, int server, bool shares_state)
{
    BD_STATUS(st);
    braid_cluster *c =
        cluster_of("trainer", (const char *[]){address(f, 2), address(f, 1), address(f, 0)}, SERVERS);
    braid_session *s =
        open_on(f, server, &(braid_session_options){.cluster = c, .shares_session_state = shares_state}, st);
    if (!s) fail_msg("%s", st->message);
    braid_cluster_free(c);
    return s;
}

static void close_session(braid_session *s)
{
    BD_STATUS(st);
    assert_int_equal(braid_session_close(s, st), BRAID_OK);
}

// ---- What runs ----

static void parts_of_a_step_run_on_the_named_tasks_and_meet(void **state)
{
    fixture *f = *state;
    const braid_out a = test_const(f->g, "a", "/job:trainer/task:0", 2);
    const braid_out b = NODE(f->g, "Square", "b", "/job:trainer/task:1", a);
    const braid_out c = NODE(f->g, "Add", "c", "/job:trainer/task:2", a, b);
    const braid_out d = NODE(f->g, "Mul", "d", "/job:trainer/task:0", b, c);
    for (int master = 0; master < SERVERS; master++) {
        BD_STATUS(st);
        braid_session *s = open_reversed(f, master, false);
        braid_run_metadata *record = braid_run_metadata_new();
        braid_tensor *value = NULL;
        const braid_fetch fetch = {d, &value};
        braid_session_run(s, &(braid_run_args){.fetches = &fetch, .fetch_count = 1, .metadata = record}, st);
        if (st->code) fail_msg("master %d: %s", master, st->message);
        assert_float_equal(*(const float *)braid_tensor_data(value), 24, 0);
        char *devices = braid_run_metadata_summary(record, 0, st);
        for (int i = 0; i < SERVERS; i++) {
            char name[64];
            snprintf(name, sizeof name, "/job:trainer/replica:0/task:%d/device:CPU:0", i);
            assert_non_null(strstr(devices, name));
        }
        free(devices);
        braid_tensor_free(value);
        braid_run_metadata_free(record);
        close_session(s);
    }
}

static void a_program_names_the_cluster_of_a_session_on_its_own_server_too(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    const braid_out a = test_const(f->g, "a", "/job:worker/task:1", 3);
    const braid_out b = NODE(f->g, "Square", "b", "/job:ps/task:7", a);
    char *json = bd_asprintf("{\"worker\": [\"%s\", \"%s\"], \"ps\": {\"7\": \"%s\"}}", address(f, 0),
                             address(f, 1), address(f, 2));
    braid_cluster *c = braid_cluster_from_json(json, st);
    braid_session *s = braid_session_open(
        f->g, &(braid_session_options){.server = f->servers[0], .cluster = c, .open_timeout_ms = PATIENCE_MS},
        st);
    if (!s) fail_msg("%s", st->message);
    assert_float_equal(test_fetch(s, b), 9, 0);
    close_session(s);
    braid_cluster_free(c);
    bd_free(json);
}

static void large_tensors_go_between_the_named_tasks(void **state)
{
    fixture *f = *state;
    braid_push_device(f->g, "/job:trainer/task:1");
    const int32_t size = LARGE;
    const braid_out shape = braid_const_int32s(f->g, "shape", &size, 1);
    const braid_out all = NODE(f->g, "Fill", "all", "/job:trainer/task:1", shape,
                               test_const(f->g, "two", "/job:trainer/task:1", 2));
    const braid_out axis = braid_const_int32(f->g, "axis", 0);
    braid_pop_device(f->g);
    const braid_out sum = NODE(f->g, "Sum", "sum", "/job:trainer/task:0", all, axis);
    braid_session *s = open_reversed(f, 0, false);
    assert_float_equal(test_fetch(s, sum), 2.0F * LARGE, 0);
    close_session(s);
}

// ---- State ----

static void sessions_have_variables_of_their_own_unless_they_share(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    braid_op *init;
    float got;
    const braid_out v = test_variable(f->g, "v", "/job:trainer/task:1", 5, &init);
    braid_session *first = open_reversed(f, 0, false), *second = open_reversed(f, 0, false);
    test_run(first, init);
    assert_float_equal(test_fetch(first, v), 5, 0);
    test_fetch_status(second, v, PATIENCE_MS, &got, st);
    assert_error(st, BRAID_FAILED_PRECONDITION, "uninitialized value v");
    close_session(first);
    close_session(second);
    first = open_reversed(f, 0, true);
    test_run(first, init);
    close_session(first);
    second = open_reversed(f, 1, true); // of another master
    assert_float_equal(test_fetch(second, v), 5, 0);
    close_session(second);
}

// Both call their tasks worker/task:1, and they are other servers.
static void sessions_with_different_clusters_run_side_by_side(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    braid_op *init;
    const braid_out v = test_variable(f->g, "v", "/job:worker/task:1", 1, &init);
    const braid_out twice = NODE(f->g, "Add", "twice", "/job:worker/task:0", v, v);
    braid_session *sessions[2];
    for (int i = 0; i < 2; i++) {
        braid_cluster *c = cluster_of("worker", (const char *[]){address(f, 0), address(f, 1 + i)}, 2);
        sessions[i] = open_on(f, 0, &(braid_session_options){.cluster = c}, st);
        if (!sessions[i]) fail_msg("%s", st->message);
        braid_cluster_free(c);
    }
    for (int i = 0; i < 2; i++)
        test_run(sessions[i], init);
    for (int i = 0; i < 2; i++)
        assert_float_equal(test_fetch(sessions[i], twice), 2, 0);
    close_session(sessions[0]);
    assert_float_equal(test_fetch(sessions[1], twice), 2, 0);
    close_session(sessions[1]);
}

// A server closes the channels of clusters that no session has; a later session opens them again.
static void a_server_serves_any_number_of_clusters_one_after_the_other(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    const braid_out a = test_const(f->g, "a", "/task:1", 3);
    const braid_out b = NODE(f->g, "Square", "b", "/task:0", a);
    for (int round = 0; round < 40; round++) {
        char job[16];
        snprintf(job, sizeof job, "job%d", round % 20);
        braid_cluster *c = cluster_of(job, (const char *[]){address(f, 0), address(f, 1)}, 2);
        braid_session *s = open_on(f, 0, &(braid_session_options){.cluster = c}, st);
        if (!s) fail_msg("%s", st->message);
        assert_float_equal(test_fetch(s, b), 9, 0);
        close_session(s);
        braid_cluster_free(c);
    }
}

// ---- Errors ----

static void assert_refused(const fixture *f, const braid_session_options *options, braid_code code,
                           const char *words)
{
    BD_STATUS(st);
    assert_null(open_on(f, 0, options, st));
    assert_error(st, code, words);
}

static void a_cluster_has_the_server_once(void **state)
{
    const fixture *f = *state;
    braid_cluster *c = cluster_of("worker", (const char *[]){address(f, 1), address(f, 2)}, 2);
    assert_refused(f, &(braid_session_options){.cluster = c}, BRAID_INVALID_ARGUMENT,
                   "has no task with the address of the server that the session is opened on: 127.0.0.1:");
    braid_cluster_free(c);
    char *mapped = bd_asprintf("[::ffff:127.0.0.1]%s", strchr(address(f, 0), ':'));
    c = cluster_of("worker", (const char *[]){address(f, 0), mapped}, 2);
    assert_refused(f, &(braid_session_options){.cluster = c}, BRAID_INVALID_ARGUMENT, "are the same server");
    braid_cluster_free(c);
    bd_free(mapped);
    char *two = bd_asprintf("%s|%s", address(f, 1), address(f, 2));
    c = cluster_of("ps", (const char *[]){address(f, 0), two}, 2);
    assert_refused(f, &(braid_session_options){.cluster = c}, BRAID_INVALID_ARGUMENT,
                   "for /job:ps/task:1: its tasks have one process each");
    braid_cluster_free(c);
    bd_free(two);
}

static void a_task_that_does_not_answer_is_named(void **state)
{
    const fixture *f = *state;
    bd_port closed;
    assert_true(bd_ports_take(&closed, 1)); // no server listens there
    char *missing = bd_asprintf("127.0.0.1:%d", closed.number);
    braid_cluster *c = cluster_of("worker", (const char *[]){address(f, 0), missing}, 2);
    char *words = bd_asprintf("for /job:worker/task:1 at %s", missing);
    BD_STATUS(st);
    assert_null(braid_session_open(
        f->g, &(braid_session_options){.server = f->servers[0], .cluster = c, .open_timeout_ms = 100}, st));
    assert_error(st, BRAID_DEADLINE_EXCEEDED, words);
    bd_free(words);
    bd_free(missing);
    braid_cluster_free(c);
    bd_ports_release(&closed, 1);
}

static void a_task_that_ends_fails_the_step_and_the_next_session(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    float got;
    const braid_out a = test_const(f->g, "a", "/job:trainer/task:1", 2);
    const braid_out b = NODE(f->g, "Square", "b", "/job:trainer/task:0", a);
    braid_session *s = open_reversed(f, 0, false);
    assert_float_equal(test_fetch(s, b), 4, 0);
    braid_server_free(f->servers[1]);
    f->servers[1] = NULL;
    const braid_code code = test_fetch_status(s, b, PATIENCE_MS, &got, st);
    assert_true(code == BRAID_UNAVAILABLE || code == BRAID_ABORTED || code == BRAID_CANCELLED);
    close_session(s);
}

static void collectives_are_refused_by_name(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    braid_op_desc *d = braid_op_begin(f->g, "CollectiveReduce", "sum");
    braid_op_input(d, test_const(f->g, "a", "/job:trainer/task:1", 2));
    braid_op_device(d, "/job:trainer/task:1");
    braid_op_attr_int(d, "group_size", 2);
    braid_op_attr_int(d, "group_key", 1);
    braid_op_attr_int(d, "instance_key", 1);
    braid_op_attr_string(d, "merge_op", "Add");
    braid_op_attr_string(d, "final_op", "Id");
    braid_op_attr_int_list(d, "subdiv_offsets", (const int64_t[]){0}, 1);
    const braid_out sum = braid_op_end_out(d);
    braid_session *s = open_reversed(f, 0, false);
    float got;
    test_fetch_status(s, sum, PATIENCE_MS, &got, st);
    assert_error(st, BRAID_UNIMPLEMENTED,
                 "node 'sum': collectives need the cluster that the servers were started with");
    close_session(s);
    braid_cluster *c = cluster_of("worker", (const char *[]){address(f, 0), address(f, 1)}, 2);
    assert_refused(f, &(braid_session_options){.cluster = c, .collective_leader = "/job:worker/task:0"},
                   BRAID_INVALID_ARGUMENT, "collective_group_leader: collectives need the cluster");
    braid_cluster_free(c);
}

// ---- Who may have a server call whom ----

static braid_server *start_open(const char *session_hosts, bd_port *port)
{
    BD_STATUS(st);
    assert_true(bd_ports_take(port, 1));
    char *own = bd_asprintf("127.0.0.1:%d", port->number);
    braid_cluster *c = cluster_of("local", (const char *[]){own}, 1);
    braid_server *s = braid_server_start(
        c, "local", 0, &(braid_server_options){.insecure = true, .session_hosts = session_hosts}, st);
    if (!s) fail_msg("%s", st->message);
    braid_cluster_free(c);
    bd_free(own);
    return s;
}

static void an_open_server_calls_only_what_its_operator_names(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    const braid_out a = test_const(f->g, "a", "/job:worker/task:1", 3);
    const braid_out b = NODE(f->g, "Square", "b", "/job:worker/task:0", a);
    char *exact = bd_asprintf("elsewhere,%s", address(f, 1));
    const struct {
        const char *hosts;
        bool may;
    } cases[] = {{"", false},   {"127.0.0.1:1", false}, {"elsewhere", false},
                 {exact, true}, {"127.0.0.1", true},    {"*", true}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        bd_port port;
        braid_server *s = start_open(cases[i].hosts, &port);
        const char *own = braid_server_target(s) + strlen("grpc://");
        braid_cluster *c = cluster_of("worker", (const char *[]){own, address(f, 1)}, 2);
        braid_status_clear(st);
        braid_session *session = braid_session_open(f->g,
                                                    &(braid_session_options){.target = braid_server_target(s),
                                                                             .cluster = c,
                                                                             .open_timeout_ms = PATIENCE_MS},
                                                    st);
        if (cases[i].may) {
            if (!session) fail_msg("%s: %s", cases[i].hosts, st->message);
            assert_float_equal(test_fetch(session, b), 9, 0);
            close_session(session);
        } else {
            assert_null(session);
            assert_error(st, BRAID_PERMISSION_DENIED,
                         "does not call for callers that it does not know: start it with --session-hosts");
        }
        braid_cluster_free(c);
        braid_server_free(s);
        bd_ports_release(&port, 1);
    }
    bd_free(exact);
}

static void malformed_lists_of_hosts_are_refused(void **state)
{
    (void)state;
    BD_STATUS(st);
    assert_null(braid_server_start_local(&(braid_server_options){.session_hosts = "good,bad host"}, st));
    assert_error(st, BRAID_INVALID_ARGUMENT,
                 "session_hosts: 'bad host' is neither a host nor host:port, unix:/path or *");
}

// The worker checks what a master sends, as the master checks what a client sends.
static void a_caller_of_an_open_worker_cannot_name_any_address_either(void **state)
{
    (void)state;
    BD_STATUS(st);
    bd_port port;
    braid_server *s = start_open(NULL, &port);
    const char *own = braid_server_target(s) + strlen("grpc://");
    bd_transport *transport = bd_grpc_transport_new(st);
    const tls_caller caller = {transport, transport->connect(transport, own)};
    Tensorflow__JobDef__TasksEntry tasks[] = {TENSORFLOW__JOB_DEF__TASKS_ENTRY__INIT,
                                              TENSORFLOW__JOB_DEF__TASKS_ENTRY__INIT};
    tasks[0].value = (char *)own;
    tasks[1].key = 1;
    tasks[1].value = "10.0.0.1:6379";
    Tensorflow__JobDef job = TENSORFLOW__JOB_DEF__INIT;
    job.name = "worker";
    job.n_tasks = 2;
    job.tasks = (Tensorflow__JobDef__TasksEntry *[]){&tasks[0], &tasks[1]};
    Tensorflow__ClusterDef cluster = TENSORFLOW__CLUSTER_DEF__INIT;
    cluster.n_job = 1;
    cluster.job = (Tensorflow__JobDef *[]){&job};
    Tensorflow__ServerDef server = TENSORFLOW__SERVER_DEF__INIT;
    server.cluster = &cluster;
    server.job_name = "worker";
    Tensorflow__CreateWorkerSessionRequest request = TENSORFLOW__CREATE_WORKER_SESSION_REQUEST__INIT;
    request.session_handle = "handle";
    request.server_def = &server;
    tls_call_only(&caller, BD_WORKER_SERVICE "CreateWorkerSession", &request.base, PATIENCE_MS, st);
    assert_error(st, BRAID_PERMISSION_DENIED,
                 "The cluster of the session has 10.0.0.1:6379 for /job:worker/task:1, which the server");
    server.task_index = 5;
    braid_status_clear(st);
    tls_call_only(&caller, BD_WORKER_SERVICE "CreateWorkerSession", &request.base, PATIENCE_MS, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, "is for /job:worker/task:5, which its cluster has not");
    transport->channel_close(caller.channel);
    transport->free(transport);
    braid_server_free(s);
    bd_ports_release(&port, 1);
}

static braid_session *open_as(const tls_cluster *f, const char *name, braid_graph *g, const char *second,
                              braid_status *st)
{
    char dir[64];
    snprintf(dir, sizeof dir, "%s/%s", f->keys, name);
    const char *worker = braid_cluster_address(f->cluster->spec, "worker", 0);
    braid_cluster *c = cluster_of("renamed", (const char *[]){worker, second}, 2);
    char *target = bd_asprintf("grpc://%s", worker);
    braid_session *s = braid_session_open(
        g, &(braid_session_options){.target = target, .cluster = c, .tls_dir = dir, .open_timeout_ms = 2000},
        st);
    bd_free(target);
    braid_cluster_free(c);
    return s;
}

static void a_certificate_of_a_client_names_tasks_of_the_servers_cluster_only(void **state)
{
    const tls_cluster *f = *state;
    BD_STATUS(st);
    braid_graph *g = braid_graph_new();
    const braid_out a = test_const(g, "a", "/job:renamed/task:1", 3);
    const braid_out b = NODE(g, "Square", "b", "/job:renamed/task:0", a);
    braid_session *s = open_as(f, "alice", g, braid_cluster_address(f->cluster->spec, "ps", 0), st);
    if (!s) fail_msg("%s", st->message);
    assert_float_equal(test_fetch(s, b), 9, 0); // over TLS, by the certificates of the servers
    close_session(s);
    assert_null(open_as(f, "alice", g, "127.0.0.1:1", st));
    assert_error(st, BRAID_PERMISSION_DENIED, "does not call for certificate 'alice'");
    braid_status_clear(st);
    assert_null(open_as(f, "task", g, "127.0.0.1:1", st)); // it may, and waits in vain
    assert_int_equal(st->code, BRAID_DEADLINE_EXCEEDED);
    braid_graph_free(g);
}

int main(void)
{
#define ON_SERVERS(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ON_SERVERS(parts_of_a_step_run_on_the_named_tasks_and_meet),
        ON_SERVERS(a_program_names_the_cluster_of_a_session_on_its_own_server_too),
        ON_SERVERS(large_tensors_go_between_the_named_tasks),
        ON_SERVERS(sessions_have_variables_of_their_own_unless_they_share),
        ON_SERVERS(sessions_with_different_clusters_run_side_by_side),
        ON_SERVERS(a_server_serves_any_number_of_clusters_one_after_the_other),
        ON_SERVERS(a_cluster_has_the_server_once),
        ON_SERVERS(a_task_that_does_not_answer_is_named),
        ON_SERVERS(a_task_that_ends_fails_the_step_and_the_next_session),
        ON_SERVERS(collectives_are_refused_by_name),
        ON_SERVERS(an_open_server_calls_only_what_its_operator_names),
        cmocka_unit_test(malformed_lists_of_hosts_are_refused),
        cmocka_unit_test(a_caller_of_an_open_worker_cannot_name_any_address_either),
        cmocka_unit_test_setup_teardown(a_certificate_of_a_client_names_tasks_of_the_servers_cluster_only,
                                        tls_cluster_set_up, tls_cluster_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

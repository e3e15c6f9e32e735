// A task that ends while a session is being opened, after the master has found it.
// labels: concurrent
#include "base/alloc.h"
#include "base/status.h"
#include "support/test_cluster.h"
#include <string.h>

// The network of the test, and the task that leaves it at the first CreateWorkerSession.
static bd_call *(*call)(bd_channel *, const bd_call_options *, bd_message *, bd_call_done_fn, void *);
static bd_transport *network;
static const char *leaver;

static bd_call *call_when_the_task_has_left(bd_channel *c, const bd_call_options *options,
                                            bd_message *request, bd_call_done_fn done, void *arg)
{
    if (strstr(options->method, "/CreateWorkerSession")) bd_inprocess_set_down(network, leaver, true);
    return call(c, options, request, done, arg);
}

typedef struct fixture {
    test_cluster *cluster; // of two workers
    braid_graph *graph;
} fixture;

static int set_up(void **state)
{
    BD_STATUS(st);
    fixture *f = bd_calloc(1, sizeof *f);
    network = bd_inprocess_transport_new(NULL, NULL, st);
    assert_non_null(network);
    call = network->call;
    network->call = call_when_the_task_has_left;
    f->cluster = test_cluster_new_on(network, 1, 2);
    f->graph = braid_graph_new();
    leaver = braid_cluster_address(f->cluster->spec, "worker", 0);
    test_start_all(f->cluster, NULL);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    bd_inprocess_set_down(network, leaver, false);
    braid_graph_free(f->graph);
    test_cluster_free(f->cluster);
    bd_free(f);
    return 0;
}

static void a_session_goes_on_without_it_when_its_work_is_done(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    const braid_out one = test_const(f->graph, "one", "/job:worker/task:1", 1);
    braid_server_done(test_server(f->cluster, "worker", 0));
    braid_session *s = test_session(f->cluster, f->graph, "worker", 1, NULL, st);
    assert_non_null(s);
    float value = 0;
    assert_int_equal(test_fetch_status(s, one, PATIENCE_MS, &value, st), BRAID_OK);
    assert_float_equal(value, 1, 0);
    braid_session_close(s, st);
}

static void a_node_on_it_is_refused(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    const braid_out one = test_const(f->graph, "one", WORKER, 1);
    braid_server_done(test_server(f->cluster, "worker", 0));
    braid_session *s = test_session(f->cluster, f->graph, "worker", 1, NULL, st);
    assert_non_null(s);
    float value;
    test_fetch_status(s, one, PATIENCE_MS, &value, st);
    assert_error(st, BRAID_INVALID_ARGUMENT, WORKER);
    braid_session_close(s, st);
}

static void without_its_work_done_the_session_fails(void **state)
{
    fixture *f = *state;
    BD_STATUS(st);
    assert_null(test_session(f->cluster, f->graph, "worker", 1, NULL, st));
    assert_error(st, BRAID_UNAVAILABLE, WORKER);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_session_goes_on_without_it_when_its_work_is_done),
        TEST(a_node_on_it_is_refused),
        TEST(without_its_work_done_the_session_fails),
    };
    return cmocka_run_group_tests_name("a task that ends", tests, NULL, NULL);
}

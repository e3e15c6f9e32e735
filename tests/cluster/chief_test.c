// The chief of a cluster: other workers wait for it by name, and a chief that does not know that it is one
// is told so at once.
// labels: concurrent
#include "base/alloc.h"
#include "support/test_cluster.h"
#include <string.h>

static test_network network; // of the group that runs

static bd_event said_waiting; // for the chief, by its name

static void read_log(braid_log_level level, const char *message, void *arg)
{
    (void)level, (void)arg;
    if (strstr(message, "Waiting for the chief, /job:worker/task:0 at ") && strstr(message, "initialize x"))
        bd_event_set(&said_waiting);
}

static int set_up(void **state)
{
    *state = test_cluster_new(network, 1, 2);
    bd_event_init(&said_waiting);
    braid_set_log_sink(read_log, NULL);
    test_start_all(*state, NULL);
    return 0;
}

static int tear_down(void **state)
{
    braid_set_log_sink(NULL, NULL);
    test_cluster_free(*state);
    bd_event_fini(&said_waiting);
    return 0;
}

typedef struct worker {
    test_cluster *cluster;
    int index;
    bool is_chief;
    int64_t wait_timeout_ms;
    braid_status status;
} worker;

// Opens a session whose variable lies on the parameter server, and closes it; *w has the error.
static void open_and_close(void *arg)
{
    static const char *const filters[] = {"/job:ps"};
    worker *w = arg;
    braid_graph *g = braid_graph_new();
    braid_push_device(g, PS);
    braid_variable_new(g, "x", braid_const_float(g, NULL, 0), true);
    braid_pop_device(g);
    braid_monitored_session *s = braid_monitored_session_open(
        g, &(braid_session_config){.session = {.server = test_server(w->cluster, "worker", w->index),
                                               .device_filters = filters,
                                               .device_filter_count = 1},
                                   .is_chief = w->is_chief,
                                   .wait_timeout_ms = w->wait_timeout_ms});
    braid_monitored_session_status(s, &w->status);
    braid_monitored_session_close(s);
    braid_graph_free(g);
}

static void expect(worker *w, braid_code code, const char *words)
{
    open_and_close(w);
    if (code)
        assert_error(&w->status, code, words);
    else
        assert_int_equal(w->status.code, BRAID_OK);
    bd_status_fini(&w->status);
}

static void servers_know_the_chief(void **state)
{
    static const struct {
        const char *job;
        int index;
        bool is_chief;
    } table[] = {{"ps", 0, false}, {"worker", 0, true}, {"worker", 1, false}};
    for (size_t i = 0; i < BD_COUNTOF(table); i++) {
        const braid_server *server = test_server(*state, table[i].job, table[i].index);
        assert_int_equal(braid_server_is_chief(server), table[i].is_chief);
        assert_non_null(strstr(braid_server_chief(server), "/job:worker/task:0 at "));
    }
}

// With the default limit, of hours: the error comes at once.
static void a_chief_that_does_not_say_so_fails_at_once(void **state)
{
    worker w = {.cluster = *state};
    expect(&w, BRAID_FAILED_PRECONDITION,
           "is the chief of its cluster, but its session does not say so. Set is_chief");
}

// Another session on the chief's server, for evaluation, say.
static void a_session_without_is_chief_is_right_once_the_variables_have_values(void **state)
{
    worker chief = {.cluster = *state, .is_chief = true}, other = {.cluster = *state};
    expect(&chief, BRAID_OK, NULL);
    expect(&other, BRAID_OK, NULL);
}

static void other_workers_wait_for_the_chief_by_its_name(void **state)
{
    BD_STATUS(st);
    worker chief = {.cluster = *state, .is_chief = true}, other = {.cluster = *state, .index = 1};
    bd_thread thread;
    assert_int_equal(bd_thread_start(&thread, "other", open_and_close, &other, st), BRAID_OK);
    bd_event_wait(&said_waiting);
    expect(&chief, BRAID_OK, NULL);
    bd_thread_join(&thread);
    assert_int_equal(other.status.code, BRAID_OK);
    bd_status_fini(&other.status);
}

static void the_wait_for_the_chief_has_an_end(void **state)
{
    worker w = {.cluster = *state, .index = 1, .wait_timeout_ms = 50};
    expect(&w, BRAID_DEADLINE_EXCEEDED, "Waiting for the chief to initialize x");
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(servers_know_the_chief),
        TEST(a_chief_that_does_not_say_so_fails_at_once),
        TEST(a_session_without_is_chief_is_right_once_the_variables_have_values),
        TEST(other_workers_wait_for_the_chief_by_its_name),
        TEST(the_wait_for_the_chief_has_an_end),
    };
    int failed = 0;
    for (network = TEST_GRPC; network <= TEST_IN_PROCESS; network++)
        failed += _cmocka_run_group_tests(network == TEST_GRPC ? "chiefs over gRPC" : "chiefs in process",
                                          tests, sizeof tests / sizeof tests[0], NULL, NULL);
    return failed;
}

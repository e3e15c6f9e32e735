// Tests of a cluster on a network that loses, repeats, delays and reorders messages and cuts connections:
// each step ends, no step is done twice, and sessions recover as clients do.
// labels: concurrent
// timeout: 120
#include "base/alloc.h"
#include "support/test_cluster.h"
#include <stdio.h>
#include <string.h>

#define STEPS 40
#define STEP_TIMEOUT_MS 400

typedef struct client {
    test_cluster *cluster;
    int worker;
    int succeeded, attempted, reopened;
    char wrong[256]; // an error that no fault explains
} client;

// A graph that adds one to the counter on the parameter server, the one coming from the worker.
static braid_op *make_graph(braid_graph *g, int worker, braid_out *counter, braid_op **init)
{
    char device[32];
    snprintf(device, sizeof device, "/job:worker/task:%d", worker);
    *counter = test_variable(g, "counter", PS, 0, init);
    const braid_out one = NODE(g, "Neg", "one", device, test_const(g, "minus_one", device, -1));
    braid_op_desc *d = braid_op_begin(g, "AssignAdd", "more");
    braid_op_input(d, *counter);
    braid_op_input(d, one);
    braid_op_attr_bool(d, "use_locking", true);
    braid_op_device(d, PS);
    return braid_op_end(d);
}

// Returns whether a client recovers from the error by a new session or by trying again.
static bool is_explained(braid_code code)
{
    return code == BRAID_UNAVAILABLE || code == BRAID_ABORTED || code == BRAID_DEADLINE_EXCEEDED;
}

static braid_session *open_session(client *c, braid_graph *g)
{
    static const char *const filters[] = {"/job:ps"};
    const braid_session_options options = {
        .device_filters = filters, .device_filter_count = 1, .operation_timeout_ms = 5000};
    for (;;) {
        BD_STATUS(st);
        braid_session *s = test_session(c->cluster, g, "worker", c->worker, &options, st);
        c->reopened++;
        if (s || !is_explained(st->code)) {
            if (!s) snprintf(c->wrong, sizeof c->wrong, "%s: %s", braid_code_name(st->code), st->message);
            return s;
        }
    }
}

static void work(void *arg)
{
    client *c = arg;
    braid_graph *g = braid_graph_new();
    braid_out counter;
    braid_op *init, *more = make_graph(g, c->worker, &counter, &init);
    braid_session *s = open_session(c, g);
    while (s && c->succeeded < STEPS && !c->wrong[0]) {
        BD_STATUS(st);
        c->attempted++;
        const braid_code code = test_run_status(s, more, STEP_TIMEOUT_MS, st);
        c->succeeded += code == BRAID_OK;
        if (code && !is_explained(code))
            snprintf(c->wrong, sizeof c->wrong, "%s: %s", braid_code_name(code), st->message);
        if (code != BRAID_UNAVAILABLE && code != BRAID_ABORTED) continue;
        braid_session_close(s, st);
        s = open_session(c, g);
    }
    BD_STATUS(st);
    braid_session_close(s, st);
    braid_graph_free(g);
}

// The counter as a client sees it that tries until it gets through.
static float read_counter(test_cluster *cluster)
{
    client c = {.cluster = cluster};
    braid_graph *g = braid_graph_new();
    braid_out counter;
    braid_op *init;
    make_graph(g, 0, &counter, &init);
    float value = -1;
    for (braid_code code = BRAID_UNAVAILABLE; code;) {
        BD_STATUS(st);
        braid_session *s = open_session(&c, g);
        assert_non_null(s);
        code = test_fetch_status(s, counter, STEP_TIMEOUT_MS, &value, st);
        braid_session_close(s, st);
    }
    braid_graph_free(g);
    return value;
}

static void set_counter(test_cluster *cluster)
{
    client c = {.cluster = cluster};
    braid_graph *g = braid_graph_new();
    braid_out counter;
    braid_op *init;
    make_graph(g, 0, &counter, &init);
    for (braid_code code = BRAID_UNAVAILABLE; code;) {
        BD_STATUS(st);
        braid_session *s = open_session(&c, g);
        assert_non_null(s);
        code = test_run_status(s, init, STEP_TIMEOUT_MS, st);
        braid_session_close(s, st);
    }
    braid_graph_free(g);
}

static void every_step_is_done_at_most_once_and_ends(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 3; seed++) {
        const bd_inprocess_faults faults = {
            .seed = seed, .lose = 0.01, .duplicate = 0.05, .cut = 0.005, .delay_max_ns = 500000};
        BD_STATUS(st);
        test_cluster *cluster = test_cluster_new_on(bd_inprocess_transport_new(&faults, NULL, st), 1, 2);
        test_start_all(cluster, NULL);
        set_counter(cluster);
        client clients[2];
        bd_thread threads[2];
        for (int i = 0; i < 2; i++) {
            clients[i] = (client){.cluster = cluster, .worker = i};
            assert_int_equal(bd_thread_start(&threads[i], "client", work, &clients[i], st), BRAID_OK);
        }
        for (int i = 0; i < 2; i++)
            bd_thread_join(&threads[i]);
        int succeeded = 0, attempted = 0;
        for (int i = 0; i < 2; i++) {
            if (clients[i].wrong[0]) fail_msg("seed %d: %s", (int)seed, clients[i].wrong);
            succeeded += clients[i].succeeded;
            attempted += clients[i].attempted;
        }
        assert_int_equal(succeeded, 2 * STEPS);
        const float counter = read_counter(cluster);
        if (counter < (float)succeeded || counter > (float)attempted)
            fail_msg("seed %d: %d steps succeeded of %d, %g were done", (int)seed, succeeded, attempted,
                     (double)counter);
        test_cluster_free(cluster);
    }
}

int main(void)
{
    braid_set_log_level(BRAID_LOG_ERROR);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_step_is_done_at_most_once_and_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

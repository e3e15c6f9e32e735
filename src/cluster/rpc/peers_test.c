// The end of a server's calls to other tasks.
#include "base/testing/test.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/peers.h"
#include <string.h>

#define PS_TASK "/job:ps/replica:0/task:0"

typedef struct fixture {
    bd_transport *transport;
    braid_cluster *cluster;
    bd_peers peers;
    const bd_peer *ps;
    braid_code codes[2]; // of the calls, in the order of their ends
    int ended;
} fixture;

static int set_up(void **state)
{
    fixture *f = bd_calloc(1, sizeof *f);
    BD_STATUS(st);
    f->transport = bd_inprocess_transport_new(NULL, NULL, st);
    f->cluster = bd_cluster_new();
    bd_cluster_add(f->cluster, "ps", 0, "127.0.0.1:1", st);
    bd_cluster_add(f->cluster, "worker", 0, "127.0.0.1:2", st);
    assert_ok(st);
    bd_peers_init(&f->peers, f->cluster, "worker", 0, f->transport, NULL);
    f->ps = bd_peers_of_device(&f->peers, PS_TASK, strlen(PS_TASK));
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    bd_peers_fini(&f->peers);
    braid_cluster_free(f->cluster);
    f->transport->free(f->transport);
    bd_free(f);
    return 0;
}

static void start_call(fixture *f, bd_call_done_fn done)
{
    bd_message request;
    bd_message_init(&request);
    bd_rpc_options options = bd_peer_rpc(f->ps, BD_CLUSTER_SERVICE "NotifyDone");
    options.wait_for_ready = true; // no server listens: the call waits
    bd_rpc_start(&options, &request, done, f);
}

static void call_ended(void *arg, bd_message *response, const braid_status *st)
{
    (void)response;
    fixture *f = arg;
    f->codes[f->ended++] = st->code;
}

static void call_ended_and_is_made_again(void *arg, bd_message *response, const braid_status *st)
{
    call_ended(arg, response, st);
    start_call(arg, call_ended);
}

static void a_call_that_is_made_again_while_the_peers_are_closed_is_cancelled(void **state)
{
    fixture *f = *state;
    start_call(f, call_ended_and_is_made_again);
    bd_peers_close(&f->peers);
    assert_int_equal(f->ended, 2);
    assert_int_equal(f->codes[0], BRAID_CANCELLED);
    assert_int_equal(f->codes[1], BRAID_CANCELLED);
}

static void a_call_after_the_peers_are_closed_is_cancelled(void **state)
{
    fixture *f = *state;
    bd_peers_close(&f->peers);
    start_call(f, call_ended);
    assert_int_equal(f->ended, 1);
    assert_int_equal(f->codes[0], BRAID_CANCELLED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_call_that_is_made_again_while_the_peers_are_closed_is_cancelled,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_call_after_the_peers_are_closed_is_cancelled, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// A server's calls to other tasks: the first ones, those to a task that was gone, and their end.
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

// ---- Calls to a task that restarts ----

// The calls that were made, in their order: "s" a GetStatus that waits for the peer, "p" a PushTensors.
static char made[16];
static bd_call *(*real_call)(bd_channel *c, const bd_call_options *options, bd_message *request,
                             bd_call_done_fn done, void *arg);

static bd_call *note_call(bd_channel *c, const bd_call_options *options, bd_message *request,
                          bd_call_done_fn done, void *arg)
{
    const bool is_status = strstr(options->method, "/GetStatus") != NULL;
    assert_int_equal(options->wait_for_ready, is_status);
    strcat(made, is_status ? "s" : "p");
    return real_call(c, options, request, done, arg);
}

static void answer(void *arg, bd_incoming *call)
{
    (void)arg;
    BD_STATUS(ok);
    bd_incoming_reply_status(call, ok);
}

static bd_listener *start_ps(const fixture *f)
{
    BD_STATUS(st);
    bd_listener *l;
    char *bound;
    assert_int_equal(f->transport->listen(f->transport, f->ps->address, answer, NULL, &l, &bound, st), 0);
    bd_free(bound);
    return l;
}

static void end_ps(const fixture *f, bd_listener *l)
{
    f->transport->listener_close(l);
    f->transport->listener_stop(l, 0);
    f->transport->listener_free(l);
}

static void push(fixture *f)
{
    const bd_rpc_options options = bd_peer_rpc(f->ps, BD_CLUSTER_SERVICE "PushTensors");
    bd_message request;
    bd_message_init(&request);
    bd_peer_start(f->ps, &options, &request, call_ended, f);
}

static braid_code code_of_push(fixture *f)
{
    f->ended = 0;
    push(f);
    bd_rpc_count_wait(&f->peers.calls);
    assert_int_equal(f->ended, 1);
    return f->codes[0];
}

static void the_first_tensor_after_a_restart_waits_for_the_task(void **state)
{
    fixture *f = *state;
    made[0] = '\0';
    real_call = f->transport->call;
    f->transport->call = note_call;
    bd_listener *first_life = start_ps(f);
    assert_int_equal(code_of_push(f), BRAID_OK);
    assert_int_equal(code_of_push(f), BRAID_OK);
    assert_string_equal(made, "spp");
    end_ps(f, first_life);
    assert_int_equal(code_of_push(f), BRAID_UNAVAILABLE);
    assert_string_equal(made, "sppp");
    f->ended = 0;
    push(f); // while the task is not there
    bd_listener *second_life = start_ps(f);
    bd_rpc_count_wait(&f->peers.calls);
    assert_int_equal(f->ended, 1);
    assert_int_equal(f->codes[0], BRAID_OK);
    assert_string_equal(made, "spppsp");
    assert_int_equal(code_of_push(f), BRAID_OK);
    assert_string_equal(made, "spppspp");
    bd_peers_close(&f->peers);
    end_ps(f, second_life);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_call_that_is_made_again_while_the_peers_are_closed_is_cancelled,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_call_after_the_peers_are_closed_is_cancelled, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_first_tensor_after_a_restart_waits_for_the_task, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

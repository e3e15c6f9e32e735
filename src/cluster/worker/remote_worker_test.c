// The sessions that a master makes and deletes on another task.
#include "base/testing/test.h"
#include "base/thread.h"
#include "cluster/rpc/peers.h"
#include "cluster/worker/remote_worker.h"
#include "proto/pack.h"
#include "tensorflow/core/protobuf/worker.pb-c.h"
#include <stdio.h>
#include <string.h>

typedef struct fixture {
    bd_transport *network;
    bd_timers *timers;
    braid_cluster *cluster;
    bd_peers peers;
    bd_worker *worker; // of the task that is served below
    bd_listener *listener;
    int lost;      // the number of deletions that are lost
    char got[200]; // the calls that came: "delete A, create B"
} fixture;

static void note_call(fixture *f, const char *what, const char *handle)
{
    const size_t used = strlen(f->got);
    snprintf(f->got + used, sizeof f->got - used, "%s%s %s", used ? ", " : "", what, handle);
}

static void serve(void *arg, bd_incoming *call)
{
    fixture *f = arg;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    if (strstr(call->method, "/DeleteWorkerSession")) {
        const Tensorflow__DeleteWorkerSessionRequest *request = bd_proto_unpack_message(
            &tensorflow__delete_worker_session_request__descriptor, &call->request, arena, st);
        note_call(f, "delete", request->session_handle);
        if (f->lost-- > 0) bd_fail(st, BRAID_UNAVAILABLE, "The connection is lost");
    } else {
        const Tensorflow__CreateWorkerSessionRequest *request = bd_proto_unpack_message(
            &tensorflow__create_worker_session_request__descriptor, &call->request, arena, st);
        note_call(f, "create", request->session_handle);
    }
    bd_incoming_reply_status(call, st);
}

static int set_up(void **state)
{
    fixture *f = bd_calloc(1, sizeof *f);
    BD_STATUS(st);
    char *bound;
    bd_timers_new(&f->timers, st);
    f->network = bd_inprocess_transport_new(NULL, NULL, st);
    f->cluster = braid_cluster_from_hosts("a:1", "b:1", st);
    bd_peers_init(&f->peers, f->cluster, "worker", 0, f->network, f->timers);
    bd_remote_workers_new(&f->peers);
    f->network->listen(f->network, "a:1", serve, f, &f->listener, &bound, st);
    assert_ok(st);
    bd_free(bound);
    f->worker = f->peers.items[0].worker;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    bd_peers_close(&f->peers);
    f->network->listener_close(f->listener);
    f->network->listener_stop(f->listener, 0);
    f->network->listener_free(f->listener);
    bd_remote_workers_free(&f->peers);
    bd_peers_fini(&f->peers);
    bd_timers_free(f->timers);
    f->network->free(f->network);
    braid_cluster_free(f->cluster);
    bd_free(f);
    return 0;
}

typedef struct result {
    bd_event has_ended;
    braid_code code;
} result;

static void call_ended(void *arg, const braid_status *st)
{
    result *r = arg;
    r->code = st->code;
    bd_event_set(&r->has_ended);
}

static braid_code wait_for(result *r)
{
    bd_event_wait(&r->has_ended); // ends: the call goes to a server of this process
    bd_event_fini(&r->has_ended);
    return r->code;
}

static braid_code create_session(fixture *f, const char *handle)
{
    const bd_session_owner owner = {
        .task = "/job:worker/replica:0/task:0", .incarnation = 1, .collective_leader = "", .client = ""};
    result r;
    bd_event_init(&r.has_ended);
    f->worker->ops->create_session(f->worker, handle, &owner, false, NULL, call_ended, &r);
    return wait_for(&r);
}

static braid_code delete_session(fixture *f, const char *handle)
{
    result r;
    bd_event_init(&r.has_ended);
    f->worker->ops->delete_session(f->worker, handle, call_ended, &r);
    return wait_for(&r);
}

static void a_confirmed_deletion_is_not_repeated(void **state)
{
    fixture *f = *state;
    assert_int_equal(create_session(f, "A"), BRAID_OK);
    assert_int_equal(delete_session(f, "A"), BRAID_OK);
    assert_int_equal(create_session(f, "B"), BRAID_OK);
    assert_string_equal(f->got, "create A, delete A, create B");
}

static void a_lost_deletion_is_repeated_before_the_next_session(void **state)
{
    fixture *f = *state;
    f->lost = 1;
    assert_int_equal(delete_session(f, "A"), BRAID_UNAVAILABLE);
    assert_int_equal(delete_session(f, "B"), BRAID_OK);
    assert_int_equal(create_session(f, "C"), BRAID_OK);
    assert_int_equal(create_session(f, "D"), BRAID_OK);
    assert_string_equal(f->got, "delete A, delete B, delete A, create C, create D");
}

static void no_session_is_created_before_the_deletions_are_confirmed(void **state)
{
    fixture *f = *state;
    f->lost = 3;
    assert_int_equal(delete_session(f, "A"), BRAID_UNAVAILABLE);
    assert_int_equal(delete_session(f, "B"), BRAID_UNAVAILABLE);
    assert_int_equal(create_session(f, "C"), BRAID_UNAVAILABLE);
    assert_int_equal(create_session(f, "D"), BRAID_OK);
    assert_string_equal(f->got, "delete A, delete B, delete A, delete A, delete B, create D");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_confirmed_deletion_is_not_repeated, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_lost_deletion_is_repeated_before_the_next_session, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(no_session_is_created_before_the_deletions_are_confirmed, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

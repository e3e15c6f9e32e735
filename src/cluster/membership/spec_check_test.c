// What a task answers to a comparison of specifications that is no valid one, or comes from an unknown task.
#include "base/alloc.h"
#include "base/strbuf.h"
#include "base/testing/test.h"
#include "base/thread.h"
#include "braid/cluster.pb-c.h"
#include "cluster/membership/spec_check.h"
#include "cluster/rpc/methods.h"
#include "proto/pack.h"
#include <stdio.h>

typedef struct fixture {
    bd_transport *transport;
    bd_timers *timers;
    braid_cluster *cluster;
    bd_peers ps, worker;       // as the two tasks see the cluster
    bd_spec_check *spec_check; // of ps
    bd_listener *listener;     // of ps
    char *address;
    bd_event has_ended; // the call
    braid_status st;    // of the call
    size_t jobs;        // in the response
} fixture;

static void handle(void *arg, bd_incoming *call)
{
    const fixture *f = arg;
    bd_spec_check_serve(f->spec_check, call);
}

static int set_up(void **state)
{
    fixture *f = bd_calloc(1, sizeof *f);
    BD_STATUS(st);
    bd_event_init(&f->has_ended);
    f->transport = bd_inprocess_transport_new(NULL, NULL, st);
    bd_timers_new(&f->timers, st);
    f->cluster = braid_cluster_from_hosts("a:1", "b:1", st);
    bd_peers_init(&f->ps, f->cluster, "ps", 0, f->transport, f->timers);
    bd_peers_init(&f->worker, f->cluster, "worker", 0, f->transport, f->timers);
    f->spec_check = bd_spec_check_new(f->cluster, &f->ps);
    f->transport->listen(f->transport, "a:1", handle, f, &f->listener, &f->address, st);
    assert_ok(st);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    bd_peers_close(&f->worker);
    bd_peers_close(&f->ps);
    f->transport->listener_close(f->listener);
    f->transport->listener_stop(f->listener, 0);
    f->transport->listener_free(f->listener);
    bd_spec_check_free(f->spec_check);
    bd_peers_fini(&f->worker);
    bd_peers_fini(&f->ps);
    bd_timers_free(f->timers);
    braid_cluster_free(f->cluster);
    f->transport->free(f->transport);
    bd_event_fini(&f->has_ended);
    bd_status_fini(&f->st);
    bd_free(f->address);
    bd_free(f);
    return 0;
}

static void ended(void *arg, bd_message *response, const braid_status *st)
{
    fixture *f = arg;
    BD_PROTO_ARENA(arena);
    bd_status_copy(&f->st, st);
    if (!st->code) {
        const Braid__CompareSpecificationsResponse *message = bd_proto_unpack_message(
            &braid__compare_specifications_response__descriptor, response, arena, &f->st);
        f->jobs = message && message->cluster ? message->cluster->n_job : 0;
    }
    bd_event_set(&f->has_ended);
}

// The caller says that it is worker/`index`, and was started with `task_count` workers from task 0 on.
static void compare(fixture *f, int index, const char *address, int task_count)
{
    Braid__SpecifiedTask *tasks = bd_calloc((size_t)task_count, sizeof *tasks);
    Braid__SpecifiedTask **items = bd_calloc((size_t)task_count, sizeof *items);
    char(*addresses)[24] = bd_calloc((size_t)task_count, sizeof *addresses);
    for (int i = 0; i < task_count; i++) {
        braid__specified_task__init(items[i] = &tasks[i]);
        snprintf(addresses[i], sizeof addresses[i], "h%d:1", i);
        tasks[i].index = i;
        tasks[i].address = i ? addresses[i] : (char *)address;
    }
    Braid__SpecifiedJob worker = BRAID__SPECIFIED_JOB__INIT, *job = &worker;
    worker.name = "worker";
    worker.n_task = (size_t)task_count;
    worker.task = items;
    Braid__ClusterSpecification cluster = BRAID__CLUSTER_SPECIFICATION__INIT;
    cluster.n_job = 1;
    cluster.job = &job;
    Braid__CompareSpecificationsRequest request = BRAID__COMPARE_SPECIFICATIONS_REQUEST__INIT;
    request.job = "worker";
    request.task = index;
    request.cluster = &cluster;
    const bd_rpc_options options =
        bd_peer_rpc(&f->worker.items[0], BD_CLUSTER_SERVICE "CompareSpecifications");
    bd_rpc_start_proto(&options, &request.base, ended, f);
    bd_event_wait(&f->has_ended);
    bd_free(tasks);
    bd_free(items);
    bd_free(addresses);
}

static void a_task_gets_the_other_specification(void **state)
{
    fixture *f = *state;
    compare(f, 0, "b:1", 2);
    assert_ok(&f->st);
    assert_int_equal(f->jobs, 2);
}

static void a_task_without_a_place_in_its_specification_is_refused(void **state)
{
    fixture *f = *state;
    compare(f, 7, "b:1", 1);
    assert_error(&f->st, BRAID_INVALID_ARGUMENT, "/job:worker/task:7 does not have this task");
}

static void an_invalid_address_is_refused(void **state)
{
    fixture *f = *state;
    compare(f, 0, "b:1\nW forged line", 1);
    assert_error(&f->st, BRAID_INVALID_ARGUMENT, "the port is a number");
}

static void the_number_of_tasks_is_limited(void **state)
{
    fixture *f = *state;
    compare(f, 0, "b:1", 10001);
    assert_error(&f->st, BRAID_INVALID_ARGUMENT, "more than 10000 tasks");
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_task_gets_the_other_specification),
        TEST(a_task_without_a_place_in_its_specification_is_refused),
        TEST(an_invalid_address_is_refused),
        TEST(the_number_of_tasks_is_limited),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

// A session belongs to the certificate that has opened it, and so do the variables that its steps make:
// another client neither uses nor closes the one, and neither reads, writes nor clears the others. A caller
// of the role task may.
// labels: concurrent
#include "base/alloc.h"
#include "cluster/rpc/methods.h"
#include "proto/pack.h"
#include "support/tls_cluster.h"
#include "tensorflow/core/protobuf/master.pb-c.h"
#include <stdio.h>
#include <stdlib.h>

static void open_session(const tls_caller *c, char *handle, size_t size)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_message response;
    Tensorflow__GraphDef graph = TENSORFLOW__GRAPH_DEF__INIT;
    Tensorflow__CreateSessionRequest request = TENSORFLOW__CREATE_SESSION_REQUEST__INIT;
    request.graph_def = &graph;
    tls_call(c, BD_MASTER_SERVICE "CreateSession", &request.base, PATIENCE_MS, &response, st);
    if (st->code) fail_msg("%s", st->message);
    const Tensorflow__CreateSessionResponse *got =
        bd_proto_unpack_message(&tensorflow__create_session_response__descriptor, &response, arena, st);
    assert_non_null(got);
    snprintf(handle, size, "%s", got->session_handle);
    bd_message_fini(&response);
}

// Of nothing: InvalidArgument when the session may be used.
static braid_code run_nothing(const tls_caller *c, char *handle, braid_status *st)
{
    Tensorflow__RunStepRequest request = TENSORFLOW__RUN_STEP_REQUEST__INIT;
    request.session_handle = handle;
    return tls_call_only(c, BD_MASTER_SERVICE "RunStep", &request.base, PATIENCE_MS, st);
}

static braid_code close_session(const tls_caller *c, char *handle, braid_status *st)
{
    Tensorflow__CloseSessionRequest request = TENSORFLOW__CLOSE_SESSION_REQUEST__INIT;
    request.session_handle = handle;
    return tls_call_only(c, BD_MASTER_SERVICE "CloseSession", &request.base, PATIENCE_MS, st);
}

// Of the default containers of all tasks.
static braid_code reset(const tls_caller *c, braid_status *st)
{
    char *containers[] = {"worker", "ps"};
    Tensorflow__ResetRequest request = TENSORFLOW__RESET_REQUEST__INIT;
    request.container = containers;
    request.n_container = 2;
    return tls_call_only(c, BD_MASTER_SERVICE "Reset", &request.base, PATIENCE_MS, st);
}

// ---- Tests ----

static void every_call_that_names_a_session_is_its_owners(void **state)
{
    const tls_cluster *f = *state;
    BD_STATUS(st);
    char handle[64];
    open_session(&f->alice, handle, sizeof handle);
    Tensorflow__RunStepRequest run = TENSORFLOW__RUN_STEP_REQUEST__INIT;
    Tensorflow__ExtendSessionRequest extend = TENSORFLOW__EXTEND_SESSION_REQUEST__INIT;
    Tensorflow__CloseSessionRequest close = TENSORFLOW__CLOSE_SESSION_REQUEST__INIT;
    Tensorflow__PartialRunSetupRequest partial = TENSORFLOW__PARTIAL_RUN_SETUP_REQUEST__INIT;
    Tensorflow__MakeCallableRequest make = TENSORFLOW__MAKE_CALLABLE_REQUEST__INIT;
    Tensorflow__RunCallableRequest run_callable = TENSORFLOW__RUN_CALLABLE_REQUEST__INIT;
    Tensorflow__ReleaseCallableRequest release = TENSORFLOW__RELEASE_CALLABLE_REQUEST__INIT;
    run.session_handle = extend.session_handle = close.session_handle = partial.session_handle =
        make.session_handle = run_callable.session_handle = release.session_handle = handle;
    const struct {
        const char *method;
        const ProtobufCMessage *request;
    } calls[] = {
        {BD_MASTER_SERVICE "RunStep", &run.base},
        {BD_MASTER_SERVICE "ExtendSession", &extend.base},
        {BD_MASTER_SERVICE "CloseSession", &close.base},
        {BD_MASTER_SERVICE "PartialRunSetup", &partial.base},
        {BD_MASTER_SERVICE "MakeCallable", &make.base},
        {BD_MASTER_SERVICE "RunCallable", &run_callable.base},
        {BD_MASTER_SERVICE "ReleaseCallable", &release.base},
    };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        tls_call_only(&f->bob, calls[i].method, calls[i].request, PATIENCE_MS, st);
        assert_error(
            st, BRAID_PERMISSION_DENIED,
            "belongs to certificate 'alice', which has opened it, and the caller is certificate 'bob'");
    }
    assert_int_equal(run_nothing(&f->alice, handle, st), BRAID_INVALID_ARGUMENT);
    assert_int_equal(run_nothing(&f->task, handle, st), BRAID_INVALID_ARGUMENT);
    assert_int_equal(close_session(&f->alice, handle, st), BRAID_OK);
}

static void a_client_resets_what_is_its_own(void **state)
{
    const tls_cluster *f = *state;
    BD_STATUS(st);
    char alices[64], bobs[64];
    open_session(&f->alice, alices, sizeof alices);
    open_session(&f->bob, bobs, sizeof bobs);
    assert_int_equal(reset(&f->bob, st), BRAID_OK);
    assert_int_equal(run_nothing(&f->bob, bobs, st), BRAID_ABORTED);
    assert_int_equal(run_nothing(&f->alice, alices, st), BRAID_INVALID_ARGUMENT);
    assert_int_equal(reset(&f->task, st), BRAID_OK);
    assert_int_equal(run_nothing(&f->alice, alices, st), BRAID_ABORTED);
}

// A client elsewhere with one variable on the worker, which is the task of the master, and one on a parameter
// server, with the same names whichever client it is.
typedef struct trainer {
    braid_graph *g;
    braid_session *s;
    braid_out vars[2];
    braid_op *init[2];
} trainer;

static void trainer_start(const tls_cluster *f, const char *name, float value, trainer *t)
{
    BD_STATUS(st);
    char dir[64];
    snprintf(dir, sizeof dir, "%s/%s", f->keys, name);
    char *target = bd_asprintf("grpc://%s", braid_cluster_address(f->cluster->spec, "worker", 0));
    t->g = braid_graph_new();
    t->vars[0] = test_variable(t->g, "near", WORKER, value, &t->init[0]);
    t->vars[1] = test_variable(t->g, "far", PS, value, &t->init[1]);
    t->s = braid_session_open(t->g, &(braid_session_options){.target = target, .tls_dir = dir}, st);
    if (!t->s) fail_msg("%s", st->message);
    bd_free(target);
}

static void trainer_end(trainer *t)
{
    BD_STATUS(st);
    braid_session_close(t->s, st);
    braid_graph_free(t->g);
}

// The code of the first step that fails; BRAID_OK when both variables have the value.
static braid_code read_both(const trainer *t, float value, braid_status *st)
{
    for (int i = 0; i < 2; i++) {
        float got;
        braid_status_clear(st);
        if (test_fetch_status(t->s, t->vars[i], PATIENCE_MS, &got, st)) return st->code;
        assert_float_equal(got, value, 0);
    }
    return BRAID_OK;
}

static void initialize(const trainer *t)
{
    for (int i = 0; i < 2; i++)
        test_run(t->s, t->init[i]);
}

static void variables_are_the_clients_that_has_made_them(void **state)
{
    const tls_cluster *f = *state;
    BD_STATUS(st);
    trainer alice, bob, task;
    trainer_start(f, "alice", 1, &alice);
    trainer_start(f, "bob", 2, &bob);
    trainer_start(f, "task", 3, &task);
    initialize(&alice);
    for (int i = 0; i < 2; i++) {
        float got;
        test_fetch_status(bob.s, bob.vars[i], PATIENCE_MS, &got, st);
        assert_error(st, BRAID_PERMISSION_DENIED, i ? "Resource ps/far/" : "Resource worker/near/");
        assert_error(st, BRAID_PERMISSION_DENIED,
                     "belongs to certificate 'alice', and the session to certificate 'bob'");
        braid_status_clear(st);
        test_run_status(bob.s, bob.init[i], PATIENCE_MS, st);
        assert_error(st, BRAID_PERMISSION_DENIED, "belongs to certificate 'alice'");
    }
    assert_int_equal(read_both(&task, 1, st), BRAID_OK);
    assert_int_equal(reset(&f->bob, st), BRAID_OK);
    assert_int_equal(read_both(&alice, 1, st), BRAID_OK);
    assert_int_equal(reset(&f->alice, st), BRAID_OK);
    initialize(&task); // they were cleared, so that now they are the tasks'
    trainer_end(&bob);
    trainer_start(f, "bob", 2, &bob);
    assert_int_equal(read_both(&bob, 3, st), BRAID_PERMISSION_DENIED);
    assert_error(st, BRAID_PERMISSION_DENIED, "belongs to the tasks of the cluster");
    assert_int_equal(reset(&f->task, st), BRAID_OK);
    trainer_end(&bob);
    trainer_start(f, "bob", 2, &bob);
    initialize(&bob);
    assert_int_equal(read_both(&bob, 2, st), BRAID_OK);
    trainer_end(&alice);
    trainer_end(&bob);
    trainer_end(&task);
}

// ---- Limits ----

static int set_up_with_limits(void **state)
{
    setenv("BRAID_LIMITS", "client-memory=8M,processors=0.01", 1); // 0.6 s of a processor at once
    const int code = tls_cluster_set_up(state);
    unsetenv("BRAID_LIMITS");
    return code;
}

// The sum of `count` random numbers.
static braid_out sum_on_worker(const trainer *t, int64_t count)
{
    braid_push_device(t->g, WORKER);
    const braid_out sum = braid_reduce_sum(t->g, braid_random_uniform(t->g, BRAID_SHAPE(count), 0, 1));
    braid_pop_device(t->g);
    return sum;
}

static void a_client_has_memory_and_processors_up_to_a_limit(void **state)
{
    const tls_cluster *f = *state;
    BD_STATUS(st);
    trainer alice, bob;
    float got;
    trainer_start(f, "alice", 1, &alice);
    trainer_start(f, "bob", 2, &bob);
    const braid_out small = sum_on_worker(&alice, 1000000), large = sum_on_worker(&alice, 3000000);
    test_fetch_status(alice.s, large, PATIENCE_MS, &got, st);
    assert_error(st, BRAID_RESOURCE_EXHAUSTED, "(certificate 'alice' has tensors and graphs of ");
    assert_error(st, BRAID_RESOURCE_EXHAUSTED, "--limit client-memory=BYTES");
    braid_status_clear(st);
    int steps = 0;
    while (!test_fetch_status(alice.s, small, PATIENCE_MS, &got, st)) // ends: each step takes a while
        steps++;
    assert_true(steps > 0); // and what they used was given back
    assert_error(st, BRAID_RESOURCE_EXHAUSTED,
                 "certificate 'alice' has kept more than 0.01 processors busy for a minute");
    test_fetch(bob.s, sum_on_worker(&bob, 1000000));
    trainer_end(&alice);
    trainer_end(&bob);
}

static int set_up_with_memory(void **state)
{
    setenv("BRAID_LIMITS", "client-memory=8M", 1);
    const int code = tls_cluster_set_up(state);
    unsetenv("BRAID_LIMITS");
    return code;
}

// A step for which the session gets `count` more nodes, and the device runs all of them.
static braid_code run_many(const trainer *t, const char *device, int count, braid_status *st)
{
    float got;
    braid_out *values = bd_calloc((size_t)count, sizeof *values);
    braid_push_device(t->g, device);
    for (int i = 0; i < count; i++)
        values[i] = braid_random_uniform(t->g, BRAID_SHAPE(1), 0, 1); // a state each, which nothing folds
    const braid_out sum = braid_reduce_sum(t->g, braid_add_n(t->g, values, count));
    braid_pop_device(t->g);
    bd_free(values);
    braid_status_clear(st);
    return test_fetch_status(t->s, sum, PATIENCE_MS, &got, st);
}

// On the task of the master, where the session's graph and the part of it that runs are, and elsewhere.
static void graphs_are_memory_of_their_client(void **state)
{
    const tls_cluster *f = *state;
    BD_STATUS(st);
    const char *const devices[] = {WORKER, PS};
    for (int i = 0; i < 2; i++) {
        trainer alice, second, bob;
        trainer_start(f, "alice", 1, &alice);
        trainer_start(f, "alice", 1, &second);
        trainer_start(f, "bob", 2, &bob);
        assert_int_equal(run_many(&second, devices[i], 10, st), BRAID_OK);
        run_many(&alice, devices[i], 3000, st);
        assert_error(st, BRAID_RESOURCE_EXHAUSTED, "(certificate 'alice' has tensors and graphs of ");
        assert_error(st, BRAID_RESOURCE_EXHAUSTED, "--limit client-memory=BYTES");
        assert_int_equal(run_many(&second, devices[i], 10, st), BRAID_OK);
        assert_int_equal(run_many(&bob, devices[i], 100, st), BRAID_OK);
        trainer_end(&alice);
        trainer_end(&second);
        trainer_end(&bob);
    }
}

// Rounds of what almost fills the account.
static void memory_of_graphs_comes_back_with_the_end_of_the_session(void **state)
{
    const tls_cluster *f = *state;
    BD_STATUS(st);
    for (int round = 0; round < 3; round++) {
        trainer alice, second;
        trainer_start(f, "alice", 1, &alice);
        assert_int_equal(run_many(&alice, WORKER, 200, st), BRAID_OK);
        trainer_start(f, "alice", 1, &second);
        run_many(&second, WORKER, 200, st);
        assert_error(st, BRAID_RESOURCE_EXHAUSTED, "(certificate 'alice' has tensors and graphs of ");
        trainer_end(&alice);
        trainer_end(&second);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_call_that_names_a_session_is_its_owners, tls_cluster_set_up,
                                        tls_cluster_tear_down),
        cmocka_unit_test_setup_teardown(a_client_resets_what_is_its_own, tls_cluster_set_up,
                                        tls_cluster_tear_down),
        cmocka_unit_test_setup_teardown(variables_are_the_clients_that_has_made_them, tls_cluster_set_up,
                                        tls_cluster_tear_down),
        cmocka_unit_test_setup_teardown(a_client_has_memory_and_processors_up_to_a_limit, set_up_with_limits,
                                        tls_cluster_tear_down),
        cmocka_unit_test_setup_teardown(graphs_are_memory_of_their_client, set_up_with_memory,
                                        tls_cluster_tear_down),
        cmocka_unit_test_setup_teardown(memory_of_graphs_comes_back_with_the_end_of_the_session,
                                        set_up_with_memory, tls_cluster_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

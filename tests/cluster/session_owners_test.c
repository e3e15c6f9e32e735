// A session belongs to the certificate that has opened it: another client neither uses nor closes it, and
// clears no containers of others. A caller of the role task may.
// labels: concurrent
#include "cluster/rpc/methods.h"
#include "proto/pack.h"
#include "support/tls_cluster.h"
#include "tensorflow/core/protobuf/master.pb-c.h"
#include <stdio.h>

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

static braid_code reset(const tls_caller *c, braid_status *st)
{
    const Tensorflow__ResetRequest request = TENSORFLOW__RESET_REQUEST__INIT;
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

static void a_client_resets_what_it_alone_has_used(void **state)
{
    const tls_cluster *f = *state;
    BD_STATUS(st);
    char handle[64];
    open_session(&f->alice, handle, sizeof handle);
    assert_int_equal(reset(&f->bob, st), BRAID_PERMISSION_DENIED);
    assert_error(st, BRAID_PERMISSION_DENIED, "Reset would clear what certificate 'alice' has made");
    assert_int_equal(run_nothing(&f->alice, handle, st), BRAID_INVALID_ARGUMENT); // nothing was closed
    assert_int_equal(close_session(&f->alice, handle, st), BRAID_OK);
    assert_int_equal(reset(&f->bob, st), BRAID_PERMISSION_DENIED); // her variables are there
    assert_int_equal(reset(&f->alice, st), BRAID_OK);
    assert_int_equal(reset(&f->bob, st), BRAID_OK); // nothing is
    open_session(&f->alice, handle, sizeof handle);
    assert_int_equal(reset(&f->task, st), BRAID_OK);
    assert_int_equal(run_nothing(&f->alice, handle, st), BRAID_ABORTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(every_call_that_names_a_session_is_its_owners, tls_cluster_set_up,
                                        tls_cluster_tear_down),
        cmocka_unit_test_setup_teardown(a_client_resets_what_it_alone_has_used, tls_cluster_set_up,
                                        tls_cluster_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

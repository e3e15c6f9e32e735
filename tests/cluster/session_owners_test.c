// A session belongs to the certificate that has opened it: another client neither uses nor closes it, and
// clears no containers of others. A caller of the role task may.
// labels: concurrent
#include "base/alloc.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/rpc.h"
#include "proto/pack.h"
#include "support/test_cluster.h"
#include "tensorflow/core/protobuf/master.pb-c.h"
#include <braid/keys.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct caller {
    bd_transport *transport;
    bd_channel *channel;
} caller;

typedef struct fixture {
    char keys[32];
    test_cluster *cluster;
    caller alice, bob, task;
} fixture;

static void dir_of(const fixture *f, const char *name, char *path, size_t size)
{
    snprintf(path, size, "%s/%s", f->keys, name);
}

static void connect_as(const fixture *f, const char *name, caller *c)
{
    BD_STATUS(st);
    char dir[64];
    braid_role role;
    dir_of(f, name, dir, sizeof dir);
    c->transport = bd_grpc_transport_new(st);
    bd_grpc_transport_use_tls(c->transport, dir, &role, st);
    assert_int_equal(st->code, BRAID_OK);
    c->channel = c->transport->connect(c->transport, braid_cluster_address(f->cluster->spec, "worker", 0));
}

static void disconnect(caller *c)
{
    c->transport->channel_close(c->channel);
    c->transport->free(c->transport);
}

static int set_up(void **state)
{
    fixture *f = bd_calloc(1, sizeof *f);
    BD_STATUS(st);
    char dir[64];
    strcpy(f->keys, "/tmp/braid-test-XXXXXX");
    assert_non_null(mkdtemp(f->keys));
    braid_keys_new(f->keys, st);
    braid_keys_add(f->keys, "server", BRAID_ROLE_TASK, 30, st);
    braid_keys_add(f->keys, "alice", BRAID_ROLE_CLIENT, 30, st);
    braid_keys_add(f->keys, "bob", BRAID_ROLE_CLIENT, 30, st);
    assert_int_equal(st->code, BRAID_OK);
    f->cluster = test_cluster_new(TEST_GRPC, 0, 1);
    dir_of(f, "server", dir, sizeof dir);
    test_start_all(f->cluster, &(braid_server_options){.tls_dir = dir});
    connect_as(f, "alice", &f->alice);
    connect_as(f, "bob", &f->bob);
    connect_as(f, "server", &f->task);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    disconnect(&f->alice);
    disconnect(&f->bob);
    disconnect(&f->task);
    test_cluster_free(f->cluster);
    char *command = bd_asprintf("rm -rf %s", f->keys);
    const int code = system(command); // NOLINT(cert-env33-c): a path of our own
    bd_free(command);
    bd_free(f);
    return code;
}

// ---- Calls of MasterService ----

static braid_code call(const caller *c, const char *method, const ProtobufCMessage *request,
                       bd_message *response, braid_status *st)
{
    const bd_rpc_options options = {.transport = c->transport,
                                    .channel = c->channel,
                                    .method = method,
                                    .deadline_ns = bd_deadline_after_ms(PATIENCE_MS),
                                    .wait_for_ready = true};
    bd_message message;
    bd_message_init(&message);
    bd_proto_pack_message(request, &message);
    braid_status_clear(st);
    return bd_rpc_wait(&options, &message, NULL, "", response, st);
}

static braid_code call_for_nothing(const caller *c, const char *method, const ProtobufCMessage *request,
                                   braid_status *st)
{
    bd_message response;
    const braid_code code = call(c, method, request, &response, st);
    bd_message_fini(&response);
    return code;
}

static void open_session(const caller *c, char *handle, size_t size)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_message response;
    Tensorflow__GraphDef graph = TENSORFLOW__GRAPH_DEF__INIT;
    Tensorflow__CreateSessionRequest request = TENSORFLOW__CREATE_SESSION_REQUEST__INIT;
    request.graph_def = &graph;
    call(c, BD_MASTER_SERVICE "CreateSession", &request.base, &response, st);
    if (st->code) fail_msg("%s", st->message);
    const Tensorflow__CreateSessionResponse *got =
        bd_proto_unpack_message(&tensorflow__create_session_response__descriptor, &response, arena, st);
    assert_non_null(got);
    snprintf(handle, size, "%s", got->session_handle);
    bd_message_fini(&response);
}

// Of nothing: InvalidArgument when the session may be used.
static braid_code run_nothing(const caller *c, char *handle, braid_status *st)
{
    Tensorflow__RunStepRequest request = TENSORFLOW__RUN_STEP_REQUEST__INIT;
    request.session_handle = handle;
    return call_for_nothing(c, BD_MASTER_SERVICE "RunStep", &request.base, st);
}

static braid_code close_session(const caller *c, char *handle, braid_status *st)
{
    Tensorflow__CloseSessionRequest request = TENSORFLOW__CLOSE_SESSION_REQUEST__INIT;
    request.session_handle = handle;
    return call_for_nothing(c, BD_MASTER_SERVICE "CloseSession", &request.base, st);
}

static braid_code reset(const caller *c, braid_status *st)
{
    const Tensorflow__ResetRequest request = TENSORFLOW__RESET_REQUEST__INIT;
    return call_for_nothing(c, BD_MASTER_SERVICE "Reset", &request.base, st);
}

// ---- Tests ----

static void every_call_that_names_a_session_is_its_owners(void **state)
{
    const fixture *f = *state;
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
        call_for_nothing(&f->bob, calls[i].method, calls[i].request, st);
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
    const fixture *f = *state;
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
        cmocka_unit_test_setup_teardown(every_call_that_names_a_session_is_its_owners, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_client_resets_what_it_alone_has_used, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

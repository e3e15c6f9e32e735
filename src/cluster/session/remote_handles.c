// Handles of a session on another process's server: MakeCallable, RunCallable, ReleaseCallable,
// PartialRunSetup, and the RunSteps of partial runs.
#include "base/alloc.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/slab.h"
#include "base/wire.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/request_id.h"
#include "cluster/session/remote_session_internal.h"
#include "proto/pack.h"
#include "tensor/tensor_proto.h"
#include "tensorflow/core/protobuf/master.pb-c.h"

// Releasing is not worth a longer wait: unreleased callables are released with the session.
#define RELEASE_MS 5000

// ---- MakeCallable ----

typedef struct connections {
    Tensorflow__TensorConnection *items, **pointers;
} connections;

static void set_connections(Tensorflow__CallableOptions *o, const bd_run_signature *signature, connections *c)
{
    const size_t count = (size_t)signature->connection_count;
    c->items = bd_calloc(count, sizeof *c->items);
    c->pointers = bd_calloc(count, sizeof *c->pointers);
    for (size_t i = 0; i < count; i++) {
        tensorflow__tensor_connection__init(&c->items[i]);
        c->items[i].from_tensor = (char *)signature->connect_from[i];
        c->items[i].to_tensor = (char *)signature->connect_to[i];
        c->pointers[i] = &c->items[i];
    }
    o->tensor_connection = c->pointers;
    o->n_tensor_connection = count;
}

static void write_make(const bd_remote_session *s, const bd_run_signature *signature,
                       const bd_callable_options *options, bd_message *request)
{
    Tensorflow__RunOptions run = TENSORFLOW__RUN_OPTIONS__INIT;
    run.timeout_in_ms = options->timeout_ms;
    run.debug_options = (Tensorflow__DebugOptions *)signature->debug;
    bd_remote_ask_records(&run, options->records);
    Tensorflow__CallableOptions callable = TENSORFLOW__CALLABLE_OPTIONS__INIT;
    callable.feed = (char **)signature->feeds;
    callable.n_feed = (size_t)signature->feed_count;
    callable.fetch = (char **)signature->fetches;
    callable.n_fetch = (size_t)signature->fetch_count;
    callable.target = (char **)signature->targets;
    callable.n_target = (size_t)signature->target_count;
    callable.run_options = &run;
    connections c;
    set_connections(&callable, signature, &c);
    Tensorflow__MakeCallableRequest make = TENSORFLOW__MAKE_CALLABLE_REQUEST__INIT;
    make.session_handle = s->handle;
    make.options = &callable;
    make.request_id = bd_request_id_next();
    bd_proto_pack_message(&make.base, request);
    bd_free(c.items);
    bd_free(c.pointers);
}

braid_code bd_remote_make_callable(bd_session *base, const bd_run_signature *signature,
                                   const bd_callable_options *options, int64_t *handle, braid_status *st)
{
    bd_remote_session *s = bd_remote_of(base);
    bd_message request, message;
    bd_message_init(&request);
    write_make(s, signature, options, &request);
    bd_rpc_options rpc = bd_remote_rpc(s, BD_MASTER_SERVICE "MakeCallable");
    bd_remote_limit(s, 0, &rpc); // the callable's timeout is that of its runs
    BD_PROTO_ARENA(arena);
    const Tensorflow__MakeCallableResponse *response = NULL;
    if (!bd_remote_call(s, &rpc, &request, NULL, &message, st))
        response =
            bd_proto_unpack_message(&tensorflow__make_callable_response__descriptor, &message, arena, st);
    if (response) *handle = response->handle;
    bd_message_fini(&message);
    return st->code;
}

// ---- RunCallable ----

typedef struct fetching {
    braid_tensor *values;
    int count, taken;
} fetching;

static braid_code take_fetch(bd_wire_reader *sub, void *arg, braid_status *st)
{
    fetching *f = arg;
    if (f->taken == f->count)
        return bd_fail(st, BRAID_INTERNAL, "The server's answer holds more than %d values", f->count);
    return bd_tensor_proto_read(sub, &f->values[f->taken++], st);
}

static braid_code take_fetches(const bd_message *response, const bd_run_signature *signature,
                               braid_tensor *values, bd_message *metadata, braid_status *st)
{
    void *rest;
    size_t len;
    fetching f = {values, signature->fetch_count, 0};
    bd_wire_split(response, &tensorflow__run_callable_response__descriptor,
                  (bd_taken_field){1, take_fetch, &f}, &rest, &len, st);
    if (!st->code && metadata) bd_remote_take_metadata(rest, len, metadata, st);
    bd_slab_free(rest);
    if (!st->code && f.taken < f.count)
        bd_fail(st, BRAID_INTERNAL, "The server's answer holds no value for '%s'",
                signature->fetches[f.taken]);
    for (int i = 0; st->code && i < f.count; i++)
        bd_tensor_fini(&values[i]);
    return st->code;
}

braid_code bd_remote_run_callable(bd_session *base, int64_t handle, const bd_session_run *run,
                                  braid_status *st)
{
    bd_remote_session *s = bd_remote_of(base);
    Tensorflow__RunCallableRequest rest = TENSORFLOW__RUN_CALLABLE_REQUEST__INIT;
    rest.session_handle = s->handle;
    rest.handle = handle;
    rest.request_id = bd_request_id_next();
    bd_message request, response;
    bd_message_init(&request);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &request);
    bd_proto_pack(&rest.base, &writer);
    for (int i = 0; i < run->signature->feed_count; i++)
        bd_tensor_proto_put(run->feeds[i], 3, &writer);
    bd_wire_writer_finish(&writer);
    bd_rpc_options options = bd_remote_rpc(s, BD_MASTER_SERVICE "RunCallable");
    if (run->cancellation) options.cancellation = run->cancellation;
    // the server knows the callable's timeout, and reports when it has passed
    bd_remote_limit(s, 0, &options);
    if (!bd_remote_call(s, &options, &request, NULL, &response, st))
        take_fetches(&response, run->signature, run->fetches, run->metadata, st);
    bd_message_fini(&response);
    return st->code;
}

void bd_remote_release_callable(bd_session *base, int64_t handle)
{
    bd_remote_session *s = bd_remote_of(base);
    Tensorflow__ReleaseCallableRequest request = TENSORFLOW__RELEASE_CALLABLE_REQUEST__INIT;
    request.session_handle = s->handle;
    request.handle = handle;
    bd_rpc_options options = bd_remote_rpc(s, BD_MASTER_SERVICE "ReleaseCallable");
    options.deadline_ns = bd_deadline_after_ms(RELEASE_MS);
    bd_message message;
    BD_STATUS(unwanted);
    bd_remote_call_proto(s, &options, &request.base, NULL, &message, unwanted);
    bd_message_fini(&message);
}

// ---- Partial runs ----

braid_code bd_remote_setup_partial_run(bd_session *base, const bd_run_signature *signature, char **handle,
                                       braid_status *st)
{
    bd_remote_session *s = bd_remote_of(base);
    Tensorflow__PartialRunSetupRequest request = TENSORFLOW__PARTIAL_RUN_SETUP_REQUEST__INIT;
    request.session_handle = s->handle;
    request.feed = (char **)signature->feeds;
    request.n_feed = (size_t)signature->feed_count;
    request.fetch = (char **)signature->fetches;
    request.n_fetch = (size_t)signature->fetch_count;
    request.target = (char **)signature->targets;
    request.n_target = (size_t)signature->target_count;
    request.request_id = bd_request_id_next();
    bd_rpc_options options = bd_remote_rpc(s, BD_MASTER_SERVICE "PartialRunSetup");
    bd_remote_limit(s, 0, &options);
    bd_message message;
    BD_PROTO_ARENA(arena);
    const Tensorflow__PartialRunSetupResponse *response = NULL;
    if (!bd_remote_call_proto(s, &options, &request.base, NULL, &message, st))
        response =
            bd_proto_unpack_message(&tensorflow__partial_run_setup_response__descriptor, &message, arena, st);
    if (response) *handle = bd_strdup(response->partial_run_handle);
    bd_message_fini(&message);
    return st->code;
}

braid_code bd_remote_run_partial(bd_session *base, const char *handle, const bd_session_run *run,
                                 braid_status *st)
{
    return bd_remote_run_step(bd_remote_of(base), run, handle, st);
}

void bd_remote_end_partial_run(bd_session *base, const char *handle)
{
    (void)base, (void)handle; // the server ends it with the session: TensorFlow has no call that would
}

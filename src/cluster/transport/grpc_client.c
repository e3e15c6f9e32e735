// The client side of the gRPC transport: channels and calls.
//
// A channel has two connections. The ordinary one works with TensorFlow's servers; its calls ask in their
// metadata whether the server is Braid's. Once a server has confirmed that, all further calls use the second
// connection, which is pinged often, so that a vanished host is noticed soon; calls that watch use it from
// the beginning. When such a call finds that the connection is broken, the calls on the channel's ordinary
// connection are ended, too. A lost server does not change the choice: there is one connection to wait for.
// If TensorFlow's server takes its place and refuses frequent pings, gRPC pings it less often.
//
// A task of two processes is of Braid, so its channel has the second kind of connection only, one to each
// process. Calls go to the process whose health service says that it serves. While neither does, calls wait
// if they wait for ready, and fail with Unavailable if not.
//
// When the certificate of a server is revoked, the calls on the channel end with Unavailable, and its
// connections are given up: the next call connects anew, and the handshake is refused unless the server has
// another certificate by then.
//
// A call is one batch of all six operations of a unary call, so it completes with one tag. It has two
// references: the tag's, dropped after `done`, and the handle's, dropped by release. A channel has one for
// its owner and one for each call until its tag has run.
#include "base/log.h"
#include "base/slab.h"
#include "cluster/keys/certificate.h"
#include "cluster/spec/cluster_spec.h"
#include "cluster/transport/grpc_internal.h"
#include <grpc/byte_buffer.h>
#include <grpc/grpc_security.h>
#include <string.h>

#define CLIENT_ARGS_MAX 32

struct bd_channel {
    bd_grpc *transport; // not owned
    char *target;
    bool is_unix, has_replicas;
    atomic_int refs;
    atomic_bool is_braid;     // the server has confirmed it
    bd_channel *next, **link; // of the transport; guarded by its mu
    bd_mutex mu;
    // Made when first used; guarded by mu. `watching` is tested often.
    grpc_channel *channel, *watching;
    bd_grpc_shown *shown; // by servers, over either of them; guarded by mu
    bd_call *calls;       // calls in progress; guarded by mu
    bool is_closed;       // guarded by mu
};

struct bd_call {
    bd_grpc_tag tag;
    bd_channel *channel; // a reference until the tag has run
    grpc_call *call;
    atomic_int refs;
    bd_call *next, **link; // in channel->calls; guarded by its mu
    bd_call_done_fn done;
    void *arg;
    grpc_metadata_array initial, trailing;
    grpc_byte_buffer *request, *response;
    grpc_status_code status;
    grpc_slice details;
    bool watches;
    atomic_bool is_cancelled; // by us
    grpc_metadata asks;       // whether the server is of Braid
};

// ---- Channels ----

// Every server shows the certificate of a task, whatever its host is called.
static grpc_channel *connect_locked(bd_channel *c, const grpc_channel_args *args)
{
    const bd_grpc_tls *tls = c->is_unix ? NULL : c->transport->tls;
    if (!tls) {
        grpc_channel_credentials *insecure = grpc_insecure_credentials_create();
        grpc_channel *channel = grpc_channel_create(c->target, insecure, args);
        grpc_channel_credentials_release(insecure);
        return channel;
    }
    grpc_arg with_name[CLIENT_ARGS_MAX] = {{.type = GRPC_ARG_STRING,
                                            .key = (char *)GRPC_SSL_TARGET_NAME_OVERRIDE_ARG,
                                            .value.string = (char *)BD_TASK_DNS_NAME}};
    BD_ASSERT(args->num_args < CLIENT_ARGS_MAX);
    memcpy(with_name + 1, args->args, args->num_args * sizeof *with_name);
    const grpc_channel_args all = {args->num_args + 1, with_name};
    if (!c->shown) c->shown = bd_grpc_shown_new();
    grpc_channel_credentials *credentials = bd_grpc_tls_channel_credentials(tls, c->shown);
    grpc_channel *channel = grpc_channel_create(c->target, credentials, &all);
    grpc_channel_credentials_release(credentials);
    return channel;
}

static void link_channel(bd_channel *c)
{
    bd_grpc *g = c->transport;
    bd_mutex_lock(&g->mu);
    c->next = g->channels;
    c->link = &g->channels;
    if (c->next) c->next->link = &c->next;
    g->channels = c;
    bd_mutex_unlock(&g->mu);
}

static void unlink_channel(bd_channel *c)
{
    bd_mutex_lock(&c->transport->mu);
    *c->link = c->next;
    if (c->next) c->next->link = c->link;
    bd_mutex_unlock(&c->transport->mu);
}

bd_channel *bd_grpc_connect(bd_transport *t, const char *address)
{
    bd_channel *c = bd_calloc(1, sizeof *c);
    c->transport = BD_CONTAINER_OF(t, bd_grpc, base);
    atomic_init(&c->refs, 1);
    bd_mutex_init(&c->mu);
    c->target = bd_grpc_target(address);
    c->is_unix = bd_address_unix_path(address) != NULL;
    c->has_replicas = bd_address_replicas(address) > 1;
    atomic_init(&c->is_braid, c->has_replicas);
    link_channel(c);
    return c;
}

static void channel_unref(bd_channel *c)
{
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
    unlink_channel(c);
    if (c->channel) grpc_channel_destroy(c->channel);
    if (c->watching) grpc_channel_destroy(c->watching);
    bd_grpc_shown_unref(c->shown);
    bd_free(c->target);
    bd_mutex_fini(&c->mu);
    bd_free(c);
}

// gRPC reports the end of each through the queue, never from within the cancelling.
static void end_calls_locked(const bd_channel *c, grpc_status_code code, const char *why)
{
    for (bd_call *call = c->calls; call; call = call->next) {
        atomic_store(&call->is_cancelled, true);
        grpc_call_cancel_with_status(call->call, code, why, NULL);
    }
}

static void end_revoked(bd_channel *c)
{
    grpc_channel *given_up[2] = {NULL, NULL};
    bd_mutex_lock(&c->mu);
    if (c->shown && bd_grpc_tls_is_revoked(c->transport->tls, c->shown)) {
        end_calls_locked(c, GRPC_STATUS_UNAVAILABLE, "the certificate of the server is revoked (braid keys)");
        given_up[0] = c->channel;
        given_up[1] = c->watching;
        c->channel = c->watching = NULL;
        bd_grpc_shown_unref(c->shown);
        c->shown = NULL;
        bd_warn("The certificate of %s is revoked: calls to it end", c->target);
    }
    bd_mutex_unlock(&c->mu);
    for (int i = 0; i < 2; i++)
        if (given_up[i]) grpc_channel_destroy(given_up[i]);
}

void bd_grpc_end_revoked_channels_locked(bd_grpc *g)
{
    for (bd_channel *c = g->channels; c; c = c->next)
        end_revoked(c);
}

void bd_grpc_channel_close(bd_channel *c)
{
    bd_mutex_lock(&c->mu);
    c->is_closed = true;
    end_calls_locked(c, GRPC_STATUS_CANCELLED, "the channel was closed");
    bd_mutex_unlock(&c->mu);
    channel_unref(c);
}

// ---- Calls ----

static void call_unref(bd_call *call)
{
    if (atomic_fetch_sub_explicit(&call->refs, 1, memory_order_acq_rel) != 1) return;
    grpc_call_unref(call->call);
    bd_slab_free(call);
}

static void link_call_locked(bd_channel *c, bd_call *call)
{
    BD_ASSERT(!c->is_closed);
    call->next = c->calls;
    call->link = &c->calls;
    if (call->next) call->next->link = &call->next;
    c->calls = call;
}

// `is_lost`: also ends the other calls of the channel.
static void unlink_call(bd_call *call, bool is_lost)
{
    bd_channel *c = call->channel;
    bd_mutex_lock(&c->mu);
    *call->link = call->next;
    if (call->next) call->next->link = call->link;
    if (is_lost) end_calls_locked(c, GRPC_STATUS_UNAVAILABLE, "the connection is lost");
    bd_mutex_unlock(&c->mu);
    call->channel = NULL;
    channel_unref(c);
}

// A server that is shutting down resets calls that it has not accepted yet, which looks like a cancellation.
static bool is_reset(const bd_call *call)
{
    static const char reset[] = "CANCELLED";
    return call->status == GRPC_STATUS_CANCELLED && !atomic_load(&call->is_cancelled) &&
           GRPC_SLICE_LENGTH(call->details) == strlen(reset) &&
           memcmp(GRPC_SLICE_START_PTR(call->details), reset, strlen(reset)) == 0;
}

static void received_status(const bd_call *call, braid_status *st)
{
    if (call->status == GRPC_STATUS_OK) {
        if (!call->response) bd_fail(st, BRAID_INTERNAL, "The server answered without a message");
        return;
    }
    if (is_reset(call)) {
        bd_fail(st, BRAID_UNAVAILABLE, "The server is stopping");
        return;
    }
    const bool known = call->status >= 0 && call->status <= GRPC_STATUS_UNAUTHENTICATED;
    bd_fail(st, known ? (braid_code)call->status : BRAID_UNKNOWN, "%.*s",
            (int)GRPC_SLICE_LENGTH(call->details), (const char *)GRPC_SLICE_START_PTR(call->details));
}

static void call_completed(bd_grpc_tag *tag, bool ok)
{
    (void)ok; // always true for a batch that receives the status
    bd_call *call = BD_CONTAINER_OF(tag, bd_call, tag);
    if (bd_grpc_has_pings(&call->trailing))
        atomic_store_explicit(&call->channel->is_braid, true, memory_order_relaxed);
    unlink_call(call, call->watches && call->status == GRPC_STATUS_UNAVAILABLE);
    grpc_byte_buffer_destroy(call->request);
    BD_STATUS(st);
    received_status(call, st);
    bd_message response;
    bd_message_init(&response);
    if (call->response && st->code == BRAID_OK)
        bd_grpc_to_message(call->response, &response);
    else if (call->response)
        grpc_byte_buffer_destroy(call->response);
    grpc_slice_unref(call->details);
    grpc_metadata_array_destroy(&call->initial);
    grpc_metadata_array_destroy(&call->trailing);
    call->done(call->arg, &response, st);
    bd_message_fini(&response);
    call_unref(call);
}

static grpc_channel *channel_locked(bd_channel *c, bool is_tested)
{
    grpc_channel **channel = is_tested ? &c->watching : &c->channel;
    if (!*channel)
        *channel = connect_locked(c, c->has_replicas ? bd_grpc_replicas_args()
                                     : is_tested     ? bd_grpc_watching_args()
                                                     : bd_grpc_client_args());
    return *channel;
}

bd_call *bd_grpc_call(bd_channel *c, const bd_call_options *options, bd_message *request,
                      bd_call_done_fn done, void *arg)
{
    bd_call *call = bd_slab_alloc(sizeof *call);
    call->tag.run = call_completed;
    call->channel = c;
    call->done = done;
    call->arg = arg;
    atomic_init(&call->refs, 2);
    call->watches = options->watches;
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    grpc_metadata_array_init(&call->initial);
    grpc_metadata_array_init(&call->trailing);
    const bool is_tested = options->watches || atomic_load_explicit(&c->is_braid, memory_order_relaxed);
    call->asks = bd_grpc_pings();
    bd_mutex_lock(&c->mu);
    call->call = grpc_channel_create_call(channel_locked(c, is_tested), NULL, GRPC_PROPAGATE_DEFAULTS,
                                          c->transport->cq, grpc_slice_from_static_string(options->method),
                                          NULL, bd_grpc_deadline(options->deadline_ns), NULL);
    link_call_locked(c, call);
    bd_mutex_unlock(&c->mu);
    call->request = bd_grpc_from_message(request);
    const grpc_op ops[] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA,
         .data.send_initial_metadata = {.count = is_tested ? 0 : 1, .metadata = &call->asks},
         .flags = GRPC_INITIAL_METADATA_WAIT_FOR_READY_EXPLICITLY_SET |
                  (options->wait_for_ready ? GRPC_INITIAL_METADATA_WAIT_FOR_READY : 0)},
        {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = call->request},
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
        {.op = GRPC_OP_RECV_INITIAL_METADATA,
         .data.recv_initial_metadata.recv_initial_metadata = &call->initial},
        {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &call->response},
        {.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
         .data.recv_status_on_client = {.trailing_metadata = &call->trailing,
                                        .status = &call->status,
                                        .status_details = &call->details}},
    };
    const bool started = bd_grpc_start(call->call, ops, BD_COUNTOF(ops), &call->tag);
    BD_ASSERT(started);
    return call;
}

void bd_grpc_call_cancel(bd_call *call)
{
    atomic_store(&call->is_cancelled, true);
    grpc_call_cancel(call->call, NULL);
}

void bd_grpc_call_release(bd_call *call)
{
    call_unref(call);
}

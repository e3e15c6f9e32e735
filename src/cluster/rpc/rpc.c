// Calls to peers, tied to cancellation tokens; errors on the wire.
#include "cluster/rpc/rpc.h"
#include "base/alloc.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/progress.h"
#include "base/slab.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include <string.h>

// Two references: of `done` and of the starter. The last one frees it. At first only the starter has the
// handle of the call, so an earlier cancellation is stored in `cancelled`.
typedef struct rpc {
    bd_transport *transport;
    bd_cancellation *cancellation; // a reference; NULL
    bd_cancel_hook hook;
    bool is_hooked;
    bd_call_done_fn done;
    void *arg;
    bd_mutex mu;
    bd_call *call;           // guarded by mu; NULL before it is known
    bool cancelled;          // guarded by mu
    bool has_ended;          // there is nothing to cancel; guarded by mu
    bd_rpc_count *count;     // NULL
    atomic_bool *is_reached; // NULL
    atomic_int refs;
} rpc;

void bd_rpc_count_init(bd_rpc_count *c)
{
    bd_mutex_init(&c->mu);
    bd_cond_init(&c->none);
    c->count = 0;
    atomic_init(&c->starting, 0);
    atomic_init(&c->is_closed, false);
}

void bd_rpc_count_fini(bd_rpc_count *c)
{
    bd_cond_fini(&c->none);
    bd_mutex_fini(&c->mu);
}

int bd_rpc_count_now(bd_rpc_count *c)
{
    bd_mutex_lock(&c->mu);
    const int count = c->count;
    bd_mutex_unlock(&c->mu);
    return count;
}

void bd_rpc_count_wait(bd_rpc_count *c)
{
    bd_mutex_lock(&c->mu);
    while (c->count > 0) // ends: the calls are cancelled
        bd_cond_wait(&c->none, &c->mu);
    bd_mutex_unlock(&c->mu);
}

void bd_rpc_count_change(bd_rpc_count *c, int change)
{
    bd_mutex_lock(&c->mu);
    c->count += change;
    if (c->count == 0) bd_cond_broadcast(&c->none);
    bd_mutex_unlock(&c->mu);
}

void bd_rpc_count_close(bd_rpc_count *c)
{
    bd_mutex_lock(&c->mu);
    atomic_store(&c->is_closed, true);
    while (atomic_load(&c->starting) > 0) // ends: a start does not wait
        bd_cond_wait(&c->none, &c->mu);
    bd_mutex_unlock(&c->mu);
}

static void end_start(bd_rpc_count *c)
{
    if (atomic_fetch_sub(&c->starting, 1) != 1 || !atomic_load(&c->is_closed)) return;
    bd_mutex_lock(&c->mu);
    bd_cond_broadcast(&c->none);
    bd_mutex_unlock(&c->mu);
}

// Returns false when no call may be started any more. Otherwise the caller calls end_start.
static bool begin_start(bd_rpc_count *c)
{
    atomic_fetch_add(&c->starting, 1);
    if (!atomic_load(&c->is_closed)) return true;
    end_start(c);
    return false;
}

static void rpc_unref(rpc *r)
{
    if (atomic_fetch_sub_explicit(&r->refs, 1, memory_order_acq_rel) != 1) return;
    if (r->is_hooked) bd_cancellation_remove(r->cancellation, &r->hook);
    bd_cancellation_unref(r->cancellation);
    r->transport->call_release(r->call);
    bd_mutex_fini(&r->mu);
    bd_rpc_count *count = r->count;
    bd_slab_free(r);
    if (count) bd_rpc_count_change(count, -1);
}

static void token_cancelled(bd_cancel_hook *hook, const braid_status *why)
{
    (void)why;
    rpc *r = BD_CONTAINER_OF(hook, rpc, hook);
    bd_mutex_lock(&r->mu);
    r->cancelled = true;
    if (r->call && !r->has_ended) r->transport->call_cancel(r->call);
    bd_mutex_unlock(&r->mu);
}

static void call_done(void *arg, bd_message *response, const braid_status *st)
{
    rpc *r = arg;
    BD_STATUS(why);
    const bool is_echo =
        st->code == BRAID_CANCELLED && r->cancellation && bd_cancellation_status(r->cancellation, why);
    bd_mutex_lock(&r->mu);
    r->has_ended = true;
    bd_mutex_unlock(&r->mu);
    if (st->code == BRAID_UNAVAILABLE && r->is_reached) // before `done`, which may call again
        atomic_store_explicit(r->is_reached, false, memory_order_relaxed);
    r->done(r->arg, response, is_echo ? why : st); // may cancel the token: a step ends with its last call
    rpc_unref(r);
}

static void refuse(bd_message *request, bd_call_done_fn done, void *arg)
{
    BD_STATUS(st);
    bd_message none;
    bd_message_init(&none);
    bd_message_fini(request);
    bd_fail(st, BRAID_CANCELLED, "The task is ending");
    done(arg, &none, st);
    bd_message_fini(&none);
}

static void start(const bd_rpc_options *options, bd_message *request, bd_call_done_fn done, void *arg)
{
    rpc *r = bd_slab_alloc(sizeof *r);
    r->transport = options->transport;
    r->done = done;
    r->arg = arg;
    r->hook.fn = token_cancelled;
    r->is_reached = options->is_reached;
    r->count = options->count;
    if (r->count) bd_rpc_count_change(r->count, +1);
    atomic_init(&r->refs, 2);
    bd_mutex_init(&r->mu);
    if (options->cancellation) {
        r->cancellation = bd_cancellation_ref(options->cancellation);
        r->is_hooked = true;
        if (!bd_cancellation_add(r->cancellation, &r->hook)) r->cancelled = true;
    }
    const bd_call_options call_options = {.method = options->method,
                                          .deadline_ns = options->deadline_ns,
                                          .wait_for_ready = options->wait_for_ready,
                                          .watches = options->watches};
    bd_call *call = options->transport->call(options->channel, &call_options, request, call_done, r);
    if (r->count) end_start(r->count); // before the counter may be freed: rpc_unref
    bd_mutex_lock(&r->mu);
    r->call = call;
    const bool cancelled = r->cancelled && !r->has_ended;
    bd_mutex_unlock(&r->mu);
    if (cancelled) options->transport->call_cancel(call);
    rpc_unref(r);
}

void bd_rpc_start(const bd_rpc_options *options, bd_message *request, bd_call_done_fn done, void *arg)
{
    if (options->count && !begin_start(options->count))
        refuse(request, done, arg);
    else
        start(options, request, done, arg);
}

void bd_rpc_start_proto(const bd_rpc_options *options, const ProtobufCMessage *request, bd_call_done_fn done,
                        void *arg)
{
    bd_message message;
    bd_message_init(&message);
    bd_proto_pack_message(request, &message);
    bd_rpc_start(options, &message, done, arg);
}

typedef struct waiting {
    bd_event event;
    bd_message *response;
    braid_status *st;
} waiting;

static void wake(void *arg, bd_message *response, const braid_status *st)
{
    waiting *w = arg;
    bd_message_move(w->response, response);
    bd_status_copy(w->st, st);
    bd_event_set(&w->event);
}

braid_code bd_rpc_wait(const bd_rpc_options *options, bd_message *request, const char *who, const char *whom,
                       bd_message *response, braid_status *st)
{
    waiting w = {.response = response, .st = st};
    bd_event_init(&w.event);
    bd_message_init(response);
    bd_rpc_start(options, request, wake, &w);
    if (who && !bd_event_wait_polling(&w.event, bd_deadline_after_ms(BD_LOG_WAIT_AFTER_MS)))
        bd_info("%s still waits for %s", who, whom);
    bd_event_wait_polling(&w.event, BD_FOREVER); // ends with the call
    bd_event_fini(&w.event);
    return st->code;
}

// ---- Errors on the wire ----

char *bd_wire_error_message(const braid_status *st)
{
    return bd_asprintf("%s%s", st->derived ? BD_DERIVED_MARKER : "", st->message ? st->message : "");
}

void bd_wire_error_read(braid_status *st, int code, const char *message)
{
    const bool derived = bd_str_starts_with(message, BD_DERIVED_MARKER);
    const bool known = code > BRAID_OK && code <= BRAID_UNAUTHENTICATED;
    bd_fail(st, known ? (braid_code)code : BRAID_UNKNOWN, "%s",
            message + (derived ? strlen(BD_DERIVED_MARKER) : 0));
    st->derived = derived;
}

void bd_wire_error_unmark(braid_status *st)
{
    if (!st->message || !bd_str_starts_with(st->message, BD_DERIVED_MARKER)) return;
    char *text = bd_strdup(st->message + strlen(BD_DERIVED_MARKER));
    bd_fail(st, st->code, "%s", text);
    st->derived = true;
    bd_free(text);
}

void bd_incoming_reply_proto(bd_incoming *call, const ProtobufCMessage *response)
{
    bd_message message;
    bd_message_init(&message);
    bd_proto_pack_message(response, &message);
    BD_STATUS(ok);
    bd_incoming_reply(call, &message, ok);
}

void bd_incoming_reply_status(void *call, const braid_status *st)
{
    bd_message empty;
    bd_message_init(&empty);
    if (st->code)
        bd_incoming_reply_error(call, st);
    else
        bd_incoming_reply(call, &empty, st);
}

void bd_incoming_reply_error(bd_incoming *call, const braid_status *st)
{
    BD_STATUS(marked);
    char *text = bd_wire_error_message(st);
    bd_fail(marked, st->code, "%s", text);
    bd_free(text);
    bd_incoming_reply(call, NULL, marked);
}

// The client side of the shared-memory transport: channels and calls.
//
// A channel has one over the base transport, and a link while there is one: closed -> opening, which lasts
// as long as the link is up -> closed, to be tried again (later, if it was not up), or never. A call goes
// over one of them from its beginning to its end. Over a link it is in the link's table until what ends
// it: its response, its cancellation, its deadline, or the end of the link. Removing it from the table is
// the right to call `done`.
#include "base/alloc.h"
#include "base/slab.h"
#include "braid/cluster.pb-c.h"
#include "cluster/spec/cluster_spec.h"
#include "cluster/transport/host_identity.h"
#include "cluster/transport/shm_internal.h"
#include "proto/pack.h"
#include <string.h>
#include <unistd.h>

#define OPEN_MS 5000
#define RETRY_NS INT64_C(1000000000)

typedef enum link_state {
    CLOSED,
    OPENING,
    NEVER // the server has no shared memory for us
} link_state;

struct bd_channel {
    bd_shm *shm;
    bd_channel *base;
    atomic_int refs; // the owner's, one of each call, of a link, and of an attempt to open one
    bd_mutex mu;
    bd_cond is_up;
    // Guarded by mu:
    bd_shm_link *link;
    link_state state;
    int64_t retry_ns; // not opened before
    bool is_closed;
};

struct bd_call {
    bd_channel *channel;
    bd_call_done_fn done;
    void *arg;
    atomic_int refs; // of `done`, of the handle, and of a timer
    bool watches;
    bd_call *base; // over the base transport; for the owner of the handle alone
    // Over a link:
    bd_shm_link *link;
    uint64_t id;
    bd_timer_id timer; // guarded by the link's mu
    bd_call *next;     // of those that have ended
    braid_status end;
};

// ---- Channels ----

bd_channel *bd_shm_channel_new(bd_transport *t, const char *address)
{
    bd_shm *shm = BD_CONTAINER_OF(t, bd_shm, own);
    bd_channel *c = bd_calloc(1, sizeof *c);
    c->shm = shm;
    c->base = shm->base->connect(shm->base, address);
    c->state = bd_address_replicas(address) > 1 ? NEVER : CLOSED; // which of them serves may change
    atomic_init(&c->refs, 1);
    bd_mutex_init(&c->mu);
    bd_cond_init(&c->is_up);
    return c;
}

static void channel_ref(bd_channel *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

void bd_shm_channel_unref(bd_channel *c)
{
    if (atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
    bd_cond_fini(&c->is_up);
    bd_mutex_fini(&c->mu);
    bd_free(c);
}

static bd_shm_link *take_link_locked(bd_channel *c)
{
    bd_shm_link *l = c->link;
    c->link = NULL;
    return l;
}

// With a reference; NULL: none.
static bd_shm_link *get_link(bd_channel *c)
{
    bd_mutex_lock(&c->mu);
    bd_shm_link *l = c->link;
    if (l) bd_shm_link_ref(l);
    bd_mutex_unlock(&c->mu);
    return l;
}

bool bd_shm_channel_await_up(bd_channel *c, int64_t deadline_ns)
{
    bool late = false;
    bd_mutex_lock(&c->mu);
    while (!c->link && !late)
        late = bd_cond_wait_until(&c->is_up, &c->mu, deadline_ns);
    const bool is_up = c->link != NULL;
    bd_mutex_unlock(&c->mu);
    return is_up;
}

void bd_shm_channel_close(bd_channel *c)
{
    bd_mutex_lock(&c->mu);
    c->is_closed = true;
    bd_shm_link *l = take_link_locked(c);
    bd_mutex_unlock(&c->mu);
    if (l) {
        bd_shm_calls_end(l, BRAID_CANCELLED, "the channel was closed");
        bd_shm_link_end(l, "the channel was closed");
        bd_shm_link_unref(l);
    }
    c->shm->base->channel_close(c->base);
    bd_shm_channel_unref(c);
}

void bd_shm_channel_up(bd_channel *c, bd_shm_link *l)
{
    bd_mutex_lock(&c->mu);
    const bool is_used = !c->is_closed && atomic_load(&l->state) == BD_SHM_UP;
    if (is_used) {
        bd_shm_link_ref(l);
        bd_shm_hold_begin_locked(l, c->base);
        c->link = l;
        bd_cond_broadcast(&c->is_up);
    }
    bd_mutex_unlock(&c->mu);
    if (!is_used) bd_shm_link_end(l, "the channel was closed");
}

void bd_shm_channel_down(bd_channel *c, bd_shm_link *l)
{
    bd_mutex_lock(&c->mu);
    const bool was_up = l && c->link == l;
    c->state = CLOSED;
    c->retry_ns = was_up && !atomic_load(&l->hold_refused) ? 0 : bd_now_ns() + RETRY_NS;
    if (was_up)
        c->link = NULL;
    else
        l = NULL;
    bd_mutex_unlock(&c->mu);
    if (l) bd_shm_link_unref(l);
}

// ---- Opening a link ----

// Only a server without shared memory, or on another host, gives such an answer.
static bool is_final(braid_code code)
{
    return code != BRAID_UNAVAILABLE && code != BRAID_DEADLINE_EXCEEDED && code != BRAID_CANCELLED &&
           code != BRAID_RESOURCE_EXHAUSTED && code != BRAID_UNAUTHENTICATED; // revoked: it may be renewed
}

static void opened(void *arg, bd_message *response, const braid_status *from)
{
    bd_channel *c = arg;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_status_copy(st, from);
    const Braid__OpenSharedMemoryResponse *r =
        st->code
            ? NULL
            : bd_proto_unpack_message(&braid__open_shared_memory_response__descriptor, response, arena, st);
    if (r && (strlen(r->socket) != BD_SHM_NAME_BYTES || r->token.len != BD_SHM_TOKEN_BYTES ||
              r->answer.len != BD_SHM_TOKEN_BYTES))
        bd_fail(st, BRAID_INTERNAL, "A server has named no socket");
    if (r && !st->code) {
        bd_shm_secrets secrets = {.process = (pid_t)r->pid};
        memcpy(secrets.token, r->token.data, BD_SHM_TOKEN_BYTES);
        memcpy(secrets.answer, r->answer.data, BD_SHM_TOKEN_BYTES);
        bd_shm_connect(c->shm, c, r->socket, &secrets);
        return;
    }
    bd_mutex_lock(&c->mu);
    c->state = is_final(st->code) ? NEVER : CLOSED;
    c->retry_ns = bd_now_ns() + RETRY_NS;
    bd_mutex_unlock(&c->mu);
    bd_shm_channel_unref(c);
}

static void ask_for_link_locked(bd_channel *c)
{
    Braid__OpenSharedMemoryRequest request = BRAID__OPEN_SHARED_MEMORY_REQUEST__INIT;
    const bd_call_options options = {.method = BD_SHM_OPEN_METHOD,
                                     .deadline_ns = bd_deadline_after_ms(OPEN_MS)};
    bd_message message;
    bd_message_init(&message);
    request.host = bd_host_identity();
    request.pid = (uint32_t)getpid();
    bd_proto_pack_message(&request.base, &message);
    channel_ref(c);
    c->shm->base->call_release(c->shm->base->call(c->base, &options, &message, opened, c));
}

static void open_link(bd_channel *c)
{
    bd_mutex_lock(&c->mu);
    if (!c->link && c->state == CLOSED && !c->is_closed && bd_host_identity() && bd_now_ns() >= c->retry_ns) {
        c->state = OPENING;
        ask_for_link_locked(c);
    }
    bd_mutex_unlock(&c->mu);
}

// ---- The end of a call ----

static void call_unref(bd_call *call)
{
    if (atomic_fetch_sub_explicit(&call->refs, 1, memory_order_acq_rel) != 1) return;
    if (call->link) bd_shm_link_unref(call->link);
    bd_shm_channel_unref(call->channel);
    braid_status_clear(&call->end);
    bd_slab_free(call);
}

static void run_done(bd_call *call, bd_message *response, const braid_status *st)
{
    call->done(call->arg, response, st);
    call_unref(call);
}

static void base_done(void *arg, bd_message *response, const braid_status *st)
{
    bd_call *call = arg;
    bd_shm_link *lost = call->watches && st->code == BRAID_UNAVAILABLE ? get_link(call->channel) : NULL;
    if (lost) {
        bd_shm_link_end(lost, "the connection is lost");
        bd_shm_link_unref(lost);
    }
    if (st->code == BRAID_OK && !call->watches) open_link(call->channel);
    run_done(call, response, st);
}

// Removes a call from the table. False: something else has ended it.
static bool take_call_locked(bd_call *call)
{
    if (bd_imap_get(&call->link->calls, call->id) != call) return false;
    bd_imap_remove(&call->link->calls, call->id);
    return true;
}

static void stop_timer(bd_call *call, bd_timer_id timer)
{
    if (timer && bd_timer_cancel(call->channel->shm->timers, timer)) call_unref(call);
}

static bool take_call(bd_call *call)
{
    bd_mutex_lock(&call->link->mu);
    const bool is_mine = take_call_locked(call);
    const bd_timer_id timer = call->timer;
    bd_mutex_unlock(&call->link->mu);
    if (is_mine) stop_timer(call, timer);
    return is_mine;
}

static void send_cancel(const bd_call *call)
{
    bd_shm_link_send(call->link, &(bd_shm_header){.kind = BD_SHM_CANCEL, .id = call->id}, NULL, NULL);
}

static void timed_out(void *arg)
{
    bd_call *call = arg;
    bd_mutex_lock(&call->link->mu);
    const bool is_mine = take_call_locked(call);
    bd_mutex_unlock(&call->link->mu);
    if (is_mine) {
        BD_STATUS(st);
        bd_message none;
        bd_message_init(&none);
        send_cancel(call);
        bd_fail(st, BRAID_DEADLINE_EXCEEDED, "Deadline Exceeded");
        run_done(call, &none, st);
    }
    call_unref(call);
}

void bd_shm_call_cancel(bd_call *call)
{
    if (call->base) {
        call->channel->shm->base->call_cancel(call->base);
    } else if (take_call(call)) {
        send_cancel(call);
        bd_shm_end_call(call->channel->shm, call, BRAID_CANCELLED, "the call was cancelled");
    }
}

void bd_shm_call_release(bd_call *call)
{
    if (call->base) call->channel->shm->base->call_release(call->base);
    call_unref(call);
}

void bd_shm_calls_end(bd_shm_link *l, braid_code code, const char *why)
{
    BD_ARRAY(bd_call *) calls = {0};
    size_t pos = 0;
    void *call;
    bd_mutex_lock(&l->mu);
    while (bd_imap_next(&l->calls, &pos, NULL, &call))
        bd_array_push(&calls, call);
    bd_imap_fini(&l->calls);
    bd_mutex_unlock(&l->mu);
    for (size_t i = 0; i < calls.len; i++) {
        stop_timer(calls.items[i], calls.items[i]->timer);
        bd_shm_end_call(l->shm, calls.items[i], code, why);
    }
    bd_array_free(&calls);
}

void bd_shm_end_call(bd_shm *shm, bd_call *call, braid_code code, const char *why)
{
    bd_fail(&call->end, code, "%s", why);
    bd_mutex_lock(&shm->mu);
    *shm->last_ended = call;
    shm->last_ended = &call->next;
    bd_mutex_unlock(&shm->mu);
    bd_shm_wake_watcher(shm);
}

void bd_shm_run_ended_calls(bd_shm *shm)
{
    bd_mutex_lock(&shm->mu);
    bd_call *call = shm->ended;
    shm->ended = NULL;
    shm->last_ended = &shm->ended;
    bd_mutex_unlock(&shm->mu);
    while (call) {
        bd_call *next = call->next;
        bd_message none;
        bd_message_init(&none);
        run_done(call, &none, &call->end);
        call = next;
    }
}

bd_call *bd_shm_call_answered(bd_shm_link *l, uint64_t id)
{
    bd_mutex_lock(&l->mu);
    bd_call *call = bd_imap_remove(&l->calls, id);
    const bd_timer_id timer = call ? call->timer : 0;
    bd_mutex_unlock(&l->mu);
    if (call) stop_timer(call, timer);
    return call;
}

void bd_shm_call_end(bd_call *call, bd_shm_frame *f)
{
    BD_STATUS(st);
    const uint32_t code = f->header.code;
    if (code) bd_fail(st, code <= BRAID_UNAUTHENTICATED ? (braid_code)code : BRAID_UNKNOWN, "%s", f->head);
    if (code) bd_message_fini(&f->body);
    run_done(call, &f->body, st);
}

// ---- The beginning of a call ----

static void set_timer(bd_call *call, int64_t deadline_ns)
{
    bd_mutex_lock(&call->link->mu);
    if (bd_imap_get(&call->link->calls, call->id) == call) {
        atomic_fetch_add_explicit(&call->refs, 1, memory_order_relaxed);
        call->timer = bd_timer_add(call->channel->shm->timers, deadline_ns, timed_out, call);
    }
    bd_mutex_unlock(&call->link->mu);
}

// False: the link has ended.
static bool begin_over_link(bd_call *call, bd_shm_link *l, const bd_call_options *o, bd_message *request)
{
    bd_mutex_lock(&l->mu);
    const bool is_up = atomic_load(&l->state) == BD_SHM_UP;
    if (is_up) {
        call->link = l;
        call->id = ++l->last_id;
        bd_imap_put(&l->calls, call->id, call);
    }
    bd_mutex_unlock(&l->mu);
    if (!is_up) return false;
    const bool has_deadline = o->deadline_ns != BD_FOREVER;
    bd_shm_header header = {.kind = BD_SHM_REQUEST,
                            .id = call->id,
                            .timeout_ns =
                                has_deadline ? bd_max(o->deadline_ns - bd_now_ns(), 0) : BD_SHM_NO_DEADLINE,
                            .head_bytes = strlen(o->method)};
    bd_shm_link_send(l, &header, o->method, request);
    if (has_deadline) set_timer(call, o->deadline_ns);
    return true;
}

bd_call *bd_shm_call(bd_channel *c, const bd_call_options *options, bd_message *request, bd_call_done_fn done,
                     void *arg)
{
    bd_call *call = bd_slab_alloc(sizeof *call);
    channel_ref(c);
    call->channel = c;
    call->done = done;
    call->arg = arg;
    call->watches = options->watches;
    atomic_init(&call->refs, 2);
    // A call that waits for a server must not be lost with a link whose end has not been noticed.
    bd_shm_link *l = options->watches || options->wait_for_ready ? NULL : get_link(c);
    if (l && begin_over_link(call, l, options, request)) return call;
    if (l) bd_shm_link_unref(l);
    call->base = c->shm->base->call(c->base, options, request, base_done, call);
    return call;
}

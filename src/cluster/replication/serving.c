// The serving process: it sends what has changed to its standby, and releases the commits that wait for that.
//
//   none      -> copying  a process follows without a copy
//   copying   -> follows  it has a first copy; from here on commits wait, and the next transfer completes it
//   follows   -> silent   its Follow call has broken, or a transfer has failed
//   silent    -> follows  it follows again: what it has not acknowledged is sent again
//   any       -> none     its process is dead, or a process without a copy follows in its place
//
// One transfer is on its way at a time, and acknowledges all commits that were made before it was built.
#include "base/alloc.h"
#include "base/log.h"
#include "cluster/replication/replication_internal.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/wire_fields.h"
#include "proto/pack.h"

#define PIECE_BYTES ((size_t)4 << 20)

// ---- Sending ----

// The message of a transfer, held by the requests that borrow from it.
typedef struct shared_message {
    bd_message message;
    atomic_int refs;
} shared_message;

static void unref_shared(void *arg)
{
    shared_message *m = arg;
    if (atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel) != 1) return;
    bd_message_fini(&m->message);
    bd_free(m);
}

// Where a transfer goes, and its number.
typedef struct sending {
    uint64_t incarnation, call, number; // of the standby, and of its Follow call
    bd_cancellation *token;
} sending;

static void write_piece(const bd_replication *r, const sending *s, shared_message *m, bd_wire_reader *in,
                        bd_message *out)
{
    const size_t len = bd_min(in->left, PIECE_BYTES);
    bd_wire_writer w;
    bd_wire_writer_init(&w, out);
    bd_wire_put_fixed64(&w, BD_TRANSFER_INCARNATION, r->env.incarnation);
    bd_wire_put_uint(&w, BD_TRANSFER_CALL, s->call);
    bd_wire_put_uint(&w, BD_TRANSFER_NUMBER, s->number);
    bd_wire_put_uint(&w, BD_TRANSFER_OFFSET, m->message.bytes - in->left);
    bd_wire_put_uint(&w, BD_TRANSFER_IS_LAST, len == in->left);
    bd_wire_put_head(&w, BD_TRANSFER_DATA, len);
    bd_wire_reader piece;
    bd_wire_get_span(in, len, &piece);
    const uint8_t *data;
    size_t data_len;
    while (bd_wire_get_piece(&piece, &data, &data_len)) {
        atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
        bd_wire_put_ref(&w, (bd_slice){data, data_len, unref_shared, m});
    }
    bd_wire_writer_finish(&w);
}

// Sends all pieces, waiting for the connection if need be. Takes the message over.
static braid_code send_pieces(bd_replication *r, const sending *s, bd_message *message, braid_status *st)
{
    shared_message *m = bd_calloc(1, sizeof *m);
    atomic_init(&m->refs, 1);
    bd_message_init(&m->message);
    bd_message_move(&m->message, message);
    bd_wire_reader in = bd_wire_reader_of(&m->message);
    do {
        bd_message request, response;
        bd_message_init(&request);
        write_piece(r, s, m, &in, &request);
        bd_rpc_options options =
            bd_replication_rpc(r, BD_REPLICATION_SERVICE "Transfer", bd_deadline_after_ms(r->env.grace_ms));
        options.wait_for_ready = true;
        options.cancellation = s->token;
        bd_rpc_wait(&options, &request, r->env.label, r->env.partner, &response, st);
        bd_message_fini(&response);
    } while (!st->code && in.left > 0);
    unref_shared(m);
    return st->code;
}

// ---- Commits ----

static bool commits_wait_locked(const bd_replication *r)
{
    return r->standby == BD_STANDBY_FOLLOWS || r->standby == BD_STANDBY_SILENT;
}

// Takes the commits that need not wait any more, and calls them without the lock.
static void release(bd_replication *r, const braid_status *st)
{
    BD_ARRAY(bd_commit) due = {0};
    bd_mutex_lock(&r->mu);
    size_t left = 0;
    for (size_t i = 0; i < r->commits.len; i++) {
        const bd_commit *c = &r->commits.items[i];
        if (st->code || !commits_wait_locked(r) || c->changes <= r->acknowledged)
            bd_array_push(&due, *c);
        else
            r->commits.items[left++] = *c;
    }
    r->commits.len = left;
    bd_mutex_unlock(&r->mu);
    for (size_t i = 0; i < due.len; i++)
        due.items[i].fn(due.items[i].arg, st);
    bd_array_free(&due);
}

void bd_replication_release(bd_replication *r)
{
    BD_STATUS(end);
    bd_mutex_lock(&r->mu);
    bd_status_copy(end, &r->end);
    bd_mutex_unlock(&r->mu);
    release(r, end);
}

void bd_replication_commit(bd_replication *r, bd_committed_fn fn, void *arg)
{
    BD_STATUS(end);
    const uint64_t changes = bd_variables_changes();
    bd_mutex_lock(&r->mu);
    bd_status_copy(end, &r->end);
    const bool waits = !end->code && commits_wait_locked(r) && changes > r->acknowledged;
    if (waits) {
        bd_array_push(&r->commits, (bd_commit){changes, fn, arg});
        bd_cond_broadcast(&r->changed);
    }
    bd_mutex_unlock(&r->mu);
    if (!waits) fn(arg, end);
}

// ---- The standby ----

static bool needs_transfer_locked(const bd_replication *r)
{
    return r->standby == BD_STANDBY_COPYING ||
           (r->standby == BD_STANDBY_FOLLOWS &&
            (!r->is_complete || bd_variables_changes() > r->acknowledged));
}

static bool is_followed_locked(const bd_replication *r)
{
    return r->standby == BD_STANDBY_COPYING || r->standby == BD_STANDBY_FOLLOWS;
}

// Waits for something to do. Changes are sent when a commit waits for them.
static void wait_for_work(bd_replication *r)
{
    bd_mutex_lock(&r->mu);
    while (!r->is_closed && !r->has_ended && !r->is_deposed && r->standby != BD_STANDBY_SILENT &&
           !(is_followed_locked(r) && !r->follow) &&
           !(needs_transfer_locked(r) && (r->commits.len > 0 || !r->is_complete)))
        bd_cond_wait(&r->changed, &r->mu); // also ends with close
    // A process that copies, or that had followed, has broken its call.
    if (is_followed_locked(r) && !r->follow) {
        r->silent_ns = bd_now_ns();
        r->standby = r->standby == BD_STANDBY_COPYING ? BD_STANDBY_NONE : BD_STANDBY_SILENT;
        bd_cond_broadcast(&r->changed);
    }
    bd_mutex_unlock(&r->mu);
}

static void fall_silent(bd_replication *r)
{
    bd_mutex_lock(&r->mu);
    if (r->standby == BD_STANDBY_FOLLOWS) r->standby = BD_STANDBY_SILENT;
    if (r->silent_ns == 0) r->silent_ns = bd_now_ns();
    bd_mutex_unlock(&r->mu);
}

// Returns false when the standby has begun another Follow call meanwhile: it may have dropped the transfer.
static bool acknowledged(bd_replication *r, const sending *s, uint64_t changes, bool is_first)
{
    bd_mutex_lock(&r->mu);
    r->sending = NULL;
    const bool is_current = r->standby_incarnation == s->incarnation && r->standby_call == s->call;
    if (is_current) {
        r->acknowledged = changes;
        r->silent_ns = 0;
        r->pause_ms = 0;
        r->is_complete = !is_first;
        if (is_first) r->standby = BD_STANDBY_FOLLOWS;
    }
    bd_mutex_unlock(&r->mu);
    if (is_current && is_first)
        bd_info("%s: the process at %s has a copy of the variables", r->env.label, r->env.partner);
    return is_current;
}

static void failed(bd_replication *r, bool is_first, const braid_status *st)
{
    bd_mutex_lock(&r->mu);
    r->sending = NULL;
    bd_mutex_unlock(&r->mu);
    if (bd_replication_is_over(r)) return;
    bd_warn("%s: the copy at %s is behind: %s", r->env.label, r->env.partner, st->message);
    if (is_first)
        bd_replication_pause(r);
    else
        fall_silent(r);
}

static void transfer(bd_replication *r)
{
    BD_STATUS(st);
    bd_transfer t;
    bd_mutex_lock(&r->mu);
    const bool is_first = r->standby == BD_STANDBY_COPYING;
    bd_cancellation *token = r->follow ? bd_cancellation_new(r->cancellation) : NULL;
    const sending s = {r->standby_incarnation, r->standby_call, ++r->number, token};
    r->sending = token;
    bd_mutex_unlock(&r->mu);
    if (!token) return; // the Follow call has just broken
    if (is_first) bd_replication_release(r);
    const uint64_t changes = bd_variables_changes();
    bd_transfer_build(&t, &r->env.replicated, is_first || r->owes_full, !is_first, &r->copied, st);
    const bool is_sent = !st->code && !send_pieces(r, &s, &t.message, st);
    const bool has_arrived = is_sent && acknowledged(r, &s, changes, is_first);
    if (!has_arrived) bd_transfer_return(&t);
    r->owes_full = t.is_full && !has_arrived;
    if (!is_sent)
        failed(r, is_first, st);
    else if (has_arrived)
        bd_replication_release(r);
    bd_transfer_fini(&t);
    bd_cancellation_unref(token);
}

static void depose(bd_replication *r)
{
    BD_STATUS(st);
    bd_fail(st, BRAID_UNAVAILABLE,
            "%s: the other process, %s, serves now: this one was silent for longer than the grace time",
            r->env.label, r->env.partner);
    bd_replication_end(r, st);
}

// The standby follows again, is found dead, or serves itself; or the grace time is over: it may serve by now,
// or cannot be sent what has changed.
static void find_standby(bd_replication *r)
{
    Braid__ReplicaHello partner;
    const bd_partner is = bd_replication_ask(r, &partner);
    bd_mutex_lock(&r->mu);
    const bool is_over = bd_now_ns() >= r->silent_ns + r->env.grace_ms * 1000000;
    if (is == BD_PARTNER_ANSWERS && partner.state == BRAID__REPLICA_STATE__SERVING && partner.term > r->term)
        r->is_deposed = true;
    else if (r->standby == BD_STANDBY_SILENT && is == BD_PARTNER_DEAD)
        r->standby = BD_STANDBY_NONE;
    else if (r->standby == BD_STANDBY_SILENT && r->follow && is == BD_PARTNER_ANSWERS && !is_over)
        r->standby = BD_STANDBY_FOLLOWS; // its call is open: the transfer is sent again
    const bool is_silent = r->standby == BD_STANDBY_SILENT, is_dead = r->standby == BD_STANDBY_NONE;
    const bool is_deposed = r->is_deposed;
    if (is_dead) bd_cond_broadcast(&r->changed);
    bd_mutex_unlock(&r->mu);
    if (is_dead) {
        bd_warn("%s: the other process, %s, is dead: the variables have no copy until it is started again",
                r->env.label, r->env.partner);
        bd_replication_release(r);
    } else if (is_silent && is_over) {
        BD_STATUS(st);
        bd_fail(
            st, BRAID_UNAVAILABLE,
            "%s: the standby, %s, has acknowledged nothing for %.1f s, and may serve: this process does not",
            r->env.label, r->env.partner, (double)r->env.grace_ms / 1000);
        bd_replication_end(r, st);
    } else if (!is_deposed) {
        bd_replication_pause(r);
    }
}

void bd_replication_send(bd_replication *r)
{
    while (!bd_replication_is_over(r)) {
        wait_for_work(r);
        bd_mutex_lock(&r->mu);
        const bool is_deposed = r->is_deposed, is_silent = r->standby == BD_STANDBY_SILENT;
        const bool is_due = needs_transfer_locked(r), is_over = r->is_closed;
        bd_mutex_unlock(&r->mu);
        if (is_over) return;
        if (is_deposed)
            depose(r);
        else if (is_silent)
            find_standby(r);
        else if (is_due)
            transfer(r);
        else
            bd_replication_release(r);
    }
}

// ---- Follow ----

static void free_follow(bd_server_call *base)
{
    bd_free(BD_CONTAINER_OF(base, bd_follow_call, base));
}

// The standby is gone, or the server stops.
static void follow_ended(bd_cancel_hook *hook, const braid_status *why)
{
    bd_follow_call *f = BD_CONTAINER_OF(hook, bd_follow_call, hook);
    bd_replication *r = f->r;
    bd_mutex_lock(&r->mu);
    const bool is_held = r->follow == f; // else the thread that has taken it answers
    if (is_held) r->follow = NULL;
    bd_cancellation *broken = is_held && r->sending ? bd_cancellation_ref(r->sending) : NULL;
    bd_cond_broadcast(&r->changed);
    bd_mutex_unlock(&r->mu);
    if (broken) bd_cancellation_cancel(broken, why);
    bd_cancellation_unref(broken);
    if (is_held) bd_server_call_reply_error(&f->base, why);
}

// The call is broken, or of another process with the same address. Only the end of this process is an answer.
static void refuse_follow(bd_follow_call *f)
{
    BD_STATUS(st);
    bd_fail(st, BRAID_ABORTED, "another call has taken its place");
    bd_cancellation_remove(f->base.cancellation, &f->hook);
    bd_server_call_reply_error(&f->base, st);
}

void bd_replication_answer_follow(bd_follow_call *f, const char *reason)
{
    Braid__FollowResponse response = BRAID__FOLLOW_RESPONSE__INIT;
    response.reason = (char *)reason;
    bd_cancellation_remove(f->base.cancellation, &f->hook);
    bd_server_call_reply_proto(&f->base, &response.base);
}

static void take_standby_locked(bd_replication *r, const Braid__FollowRequest *request)
{
    const bool has_copy = request->followed == r->env.incarnation && request->number > 0 &&
                          request->incarnation == r->standby_incarnation;
    r->standby = has_copy ? BD_STANDBY_FOLLOWS : BD_STANDBY_COPYING;
    if (!has_copy) r->is_complete = false;
    r->standby_incarnation = request->incarnation;
    r->standby_call = request->call;
    r->silent_ns = 0;
}

void bd_replication_serve_follow(bd_replication *r, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__FollowRequest *request =
        bd_proto_unpack_message(&braid__follow_request__descriptor, &call->request, arena, st);
    bd_message_fini(&call->request); // not kept while the call is open
    if (!request) {
        bd_incoming_reply_error(call, st);
        return;
    }
    bd_follow_call *f = bd_calloc(1, sizeof *f), *before = NULL;
    f->r = r;
    f->hook.fn = follow_ended;
    bd_server_call_init(&f->base, call, r->env.cancellation, r->env.cancellation, free_follow);
    bd_mutex_lock(&r->mu);
    if (r->state != BRAID__REPLICA_STATE__SERVING || r->is_closed || r->has_ended)
        bd_fail(st, BRAID_FAILED_PRECONDITION, "%s: this process does not serve", r->env.label);
    else if (!bd_cancellation_add(f->base.cancellation, &f->hook))
        bd_cancellation_status(f->base.cancellation, st);
    if (!st->code) {
        before = r->follow;
        r->follow = f;
        take_standby_locked(r, request);
    }
    bd_cond_broadcast(&r->changed);
    bd_mutex_unlock(&r->mu);
    if (before) refuse_follow(before);
    if (st->code) bd_server_call_reply_error(&f->base, st);
}

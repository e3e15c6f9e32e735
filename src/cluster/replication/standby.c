// The process that does not serve: it finds out whether the partner does, follows it, and serves when it is
// lost.
//
//   empty     the partner's answer    what this process does
//             dead                    it serves, unless a Hello of the partner has come meanwhile
//             empty                   replica 0 serves, the other one asks again
//             standby                 it asks again: the partner will serve
//             serving                 it follows
//             none (silent)           it asks again: the partner may have the variables
//   standby   dead, or empty          it serves
//             serving                 it follows again: a connection was cut
//             none                    it asks again, and serves after the grace time
//
// A standby is one that has all that the followed process has acknowledged, and the followed process
// acknowledges nothing while its standby is silent. So a standby that serves has lost nothing.
#include "base/alloc.h"
#include "base/log.h"
#include "cluster/replication/replication_internal.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/wire_fields.h"
#include "proto/pack.h"

static void begin_to_follow(bd_replication *r, const Braid__ReplicaHello *partner)
{
    bd_mutex_lock(&r->mu);
    if (r->followed != partner->incarnation) {
        r->number = 0;
        r->arriving = 0;
        r->state = BRAID__REPLICA_STATE__EMPTY;
    }
    r->followed = partner->incarnation;
    r->term = partner->term;
    r->pause_ms = 0;
    bd_mutex_unlock(&r->mu);
}

static void fail_silent(bd_replication *r, const char *what)
{
    BD_STATUS(st);
    bd_fail(st, BRAID_UNAVAILABLE,
            "%s: the other process, %s, has not answered for %.1f s, and its port refuses no connections: %s",
            r->env.label, r->env.partner, (double)r->env.grace_ms / 1000, what);
    bd_replication_end(r, st);
}

// Holds a Follow call open. Returns whether the followed process has answered it: it has ended.
static bool hold_follow(bd_replication *r, bool *is_done)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    Braid__FollowRequest request = BRAID__FOLLOW_REQUEST__INIT;
    bd_cancellation *token = bd_cancellation_new(r->cancellation);
    bd_mutex_lock(&r->mu);
    request.incarnation = r->env.incarnation;
    request.followed = r->followed;
    request.number = r->state == BRAID__REPLICA_STATE__STANDBY ? r->number : 0;
    request.call = ++r->call;
    r->following = token;
    bd_mutex_unlock(&r->mu);
    bd_rpc_options options = bd_replication_rpc(r, BD_REPLICATION_SERVICE "Follow", BD_FOREVER);
    options.watches = true;
    options.cancellation = token;
    bd_message message, response;
    bd_message_init(&message);
    bd_proto_pack_message(&request.base, &message);
    const Braid__FollowResponse *got = NULL;
    if (!bd_rpc_wait(&options, &message, NULL, NULL, &response, st))
        got = bd_proto_unpack_message(&braid__follow_response__descriptor, &response, arena, st);
    bd_message_fini(&response);
    bd_mutex_lock(&r->mu);
    r->following = NULL;
    const bool is_over = r->is_closed;
    bd_mutex_unlock(&r->mu);
    bd_cancellation_unref(token);
    *is_done = got && !got->reason[0];
    if (!is_over && !*is_done)
        bd_warn("%s: lost the serving process, %s: %s", r->env.label, r->env.partner,
                got ? got->reason : st->message);
    return got != NULL;
}

// Returns whether the partner serves as before.
static bool find_again(bd_replication *r)
{
    const int64_t deadline_ns = bd_deadline_after_ms(r->env.grace_ms);
    r->pause_ms = 0;
    while (!bd_replication_is_over(r)) {
        Braid__ReplicaHello partner;
        const bd_partner is = bd_replication_ask(r, &partner);
        if (is == BD_PARTNER_DEAD) return false;
        if (is == BD_PARTNER_ANSWERS && partner.state == BRAID__REPLICA_STATE__SERVING) {
            begin_to_follow(r, &partner);
            return true;
        }
        if (is == BD_PARTNER_ANSWERS && partner.state == BRAID__REPLICA_STATE__EMPTY) return false;
        if (bd_now_ns() >= deadline_ns) {
            bd_warn("%s: the other process, %s, has been silent for %.1f s", r->env.label, r->env.partner,
                    (double)r->env.grace_ms / 1000);
            return false;
        }
        bd_replication_pause(r);
    }
    return true;
}

bool bd_replication_is_standby(bd_replication *r)
{
    bd_mutex_lock(&r->mu);
    const bool is = r->state == BRAID__REPLICA_STATE__STANDBY;
    bd_mutex_unlock(&r->mu);
    return is;
}

static void follow(bd_replication *r)
{
    while (!bd_replication_is_over(r)) {
        bool is_done;
        const bool has_ended = hold_follow(r, &is_done);
        if (bd_replication_is_over(r)) return;
        if (is_done) {
            BD_STATUS(ok);
            bd_replication_end(r, ok);
            return;
        }
        const bool is_standby = bd_replication_is_standby(r);
        if (is_standby && (has_ended || !find_again(r))) {
            bd_replication_begin_to_serve(r, NULL);
            return;
        }
        bd_replication_pause(r);
        if (!is_standby) return; // its copy was not complete: it is empty, and asks again
    }
}

// ---- Without a copy ----

// Drops a copy that was not complete. No transfer for the calls so far is applied after this.
static void drop_copy(bd_replication *r)
{
    bd_mutex_lock(&r->mu);
    r->call++;
    while (r->is_applying) // ends: applying does not wait
        bd_cond_wait(&r->changed, &r->mu);
    r->state = BRAID__REPLICA_STATE__EMPTY;
    bd_mutex_unlock(&r->mu);
    bd_resources_clear(r->env.replicated.resources, NULL);
}

// A partner that has never answered may hold the variables, so a process without variables never takes its
// place.
void bd_replication_find_partner(bd_replication *r)
{
    drop_copy(r);
    int64_t deadline_ns = bd_deadline_after_ms(r->env.grace_ms);
    while (!bd_replication_is_over(r)) {
        bd_mutex_lock(&r->mu);
        const uint64_t hellos = r->hellos;
        bd_mutex_unlock(&r->mu);
        Braid__ReplicaHello partner;
        const bd_partner is = bd_replication_ask(r, &partner);
        if (is == BD_PARTNER_ANSWERS && partner.state == BRAID__REPLICA_STATE__SERVING) {
            begin_to_follow(r, &partner);
            follow(r);
            return;
        }
        const bool is_chosen =
            is == BD_PARTNER_ANSWERS && partner.state == BRAID__REPLICA_STATE__EMPTY && r->env.replica == 0;
        if ((is == BD_PARTNER_DEAD && bd_replication_begin_to_serve(r, &hellos)) ||
            (is_chosen && bd_replication_begin_to_serve(r, NULL)))
            return;
        if (is != BD_PARTNER_SILENT) deadline_ns = bd_deadline_after_ms(r->env.grace_ms);
        if (bd_now_ns() >= deadline_ns) {
            fail_silent(r, "it may hold the variables. End it, or start it again");
            return;
        }
        bd_replication_pause(r);
    }
}

// ---- Transfers ----

void bd_replication_drop_pieces(bd_replication *r)
{
    bd_message_fini(&r->pieces);
    for (size_t i = 0; i < r->requests.len; i++) {
        bd_message_fini(r->requests.items[i]);
        bd_free(r->requests.items[i]);
    }
    r->requests.len = 0;
}

typedef struct piece {
    uint64_t incarnation, number, offset, call;
    bool is_last;
    bd_wire_reader data;
} piece;

static braid_code read_piece(const bd_message *request, piece *p, braid_status *st)
{
    bd_wire_reader in = bd_wire_reader_of(request);
    uint32_t field;
    bd_wire_type type;
    uint64_t is_last = 0;
    *p = (piece){0};
    while (bd_wire_next(&in, &field, &type)) {
        if (field == BD_TRANSFER_INCARNATION && type == BD_WIRE_FIXED64)
            bd_wire_get_fixed64(&in, &p->incarnation);
        else if (field == BD_TRANSFER_NUMBER && type == BD_WIRE_VARINT)
            bd_wire_get_varint(&in, &p->number);
        else if (field == BD_TRANSFER_OFFSET && type == BD_WIRE_VARINT)
            bd_wire_get_varint(&in, &p->offset);
        else if (field == BD_TRANSFER_CALL && type == BD_WIRE_VARINT)
            bd_wire_get_varint(&in, &p->call);
        else if (field == BD_TRANSFER_IS_LAST && type == BD_WIRE_VARINT)
            bd_wire_get_varint(&in, &is_last);
        else if (field == BD_TRANSFER_DATA && type == BD_WIRE_BYTES)
            bd_wire_get_sub(&in, &p->data);
        else
            bd_wire_skip(&in, type);
    }
    p->is_last = is_last != 0;
    return in.failed ? bd_fail(st, BRAID_INVALID_ARGUMENT, "Transfer: the request is malformed") : BRAID_OK;
}

// Takes the piece over if it is the next one of its transfer. The pieces of a transfer that was given up may
// arrive after a later transfer, which they must not undo.
static braid_code take_piece_locked(bd_replication *r, piece *p, bd_message *request, braid_status *st)
{
    if (r->state == BRAID__REPLICA_STATE__SERVING || p->incarnation != r->followed || p->call != r->call ||
        r->is_applying || r->is_closed || r->has_ended)
        return bd_fail(st, BRAID_FAILED_PRECONDITION, "%s: this process does not follow the one that sends",
                       r->env.label);
    const bool begins = p->offset == 0;
    if (begins ? p->number <= r->arriving : p->number < r->arriving)
        return bd_fail(st, BRAID_ABORTED, "%s: this transfer or a later one has arrived", r->env.label);
    if (begins) {
        bd_replication_drop_pieces(r);
        r->arriving = p->number;
    }
    if (p->number != r->arriving || p->offset != r->pieces.bytes)
        return bd_fail(st, BRAID_ABORTED, "%s: a piece of a transfer is missing", r->env.label);
    const uint8_t *data;
    size_t len;
    while (bd_wire_get_piece(&p->data, &data, &len))
        bd_message_add(&r->pieces, (bd_slice){data, len, NULL, NULL});
    bd_message *held = bd_malloc(sizeof *held);
    bd_message_move(held, request);
    bd_array_push(&r->requests, held);
    r->is_applying = p->is_last;
    return BRAID_OK;
}

static void apply(bd_replication *r, braid_status *st)
{
    bool is_complete;
    bd_transfer_apply(&r->pieces, &r->env.replicated, &is_complete, st);
    bd_mutex_lock(&r->mu);
    bd_replication_drop_pieces(r);
    r->is_applying = false;
    r->number = r->arriving;
    if (!st->code && is_complete) r->state = BRAID__REPLICA_STATE__STANDBY;
    bd_cond_broadcast(&r->changed);
    bd_mutex_unlock(&r->mu);
    if (st->code) bd_replication_end(r, st);
}

void bd_replication_serve_transfer(bd_replication *r, bd_incoming *call)
{
    BD_STATUS(st);
    piece p;
    if (!read_piece(&call->request, &p, st)) {
        bd_mutex_lock(&r->mu);
        take_piece_locked(r, &p, &call->request, st);
        bd_mutex_unlock(&r->mu);
        if (!st->code && p.is_last) apply(r, st);
    }
    bd_incoming_reply_status(call, st);
}

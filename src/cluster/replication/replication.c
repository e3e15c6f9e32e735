// A task in two processes. Its design: docs/internals/replicas.md.
//
// One thread of each process makes all its decisions: it is empty or a standby (standby.c) or serves
// (serving.c). Calls of the partner leave their news under the mutex and wake it.
#include "cluster/replication/replication.h"

#include "base/alloc.h"
#include "base/log.h"
#include "cluster/replication/replication_internal.h"
#include "proto/pack.h"
#include <netdb.h>

bd_replication *bd_replication_new(const bd_replication_env *env)
{
    bd_replication *r = bd_calloc(1, sizeof *r);
    r->env = *env;
    r->call = env->incarnation;
    bd_rpc_count_init(&r->calls);
    r->cancellation = bd_cancellation_new(env->cancellation);
    bd_mutex_init(&r->mu);
    bd_cond_init(&r->changed);
    bd_message_init(&r->pieces);
    r->channel = env->transport->connect(env->transport, env->partner);
    bd_variables_track();
    return r;
}

static bool serves(bd_replication *r)
{
    bd_mutex_lock(&r->mu);
    const bool serves = r->state == BRAID__REPLICA_STATE__SERVING;
    bd_mutex_unlock(&r->mu);
    return serves;
}

static void run(void *arg)
{
    bd_replication *r = arg;
    bd_replication_look_up_partner(r);
    while (!bd_replication_is_over(r)) {
        if (serves(r))
            bd_replication_send(r);
        else
            bd_replication_find_partner(r);
    }
}

braid_code bd_replication_start(bd_replication *r, braid_status *st)
{
    if (bd_thread_start(&r->thread, "bd-replication", run, r, st)) return st->code;
    r->is_started = true;
    return BRAID_OK;
}

bool bd_replication_begin_to_serve(bd_replication *r, const uint64_t *hellos)
{
    bd_mutex_lock(&r->mu);
    while (r->is_applying) // ends: applying does not wait
        bd_cond_wait(&r->changed, &r->mu);
    const bool has_copy = r->state == BRAID__REPLICA_STATE__STANDBY;
    const bool serves = !r->is_closed && !r->has_ended && (!hellos || *hellos == r->hellos);
    if (serves) {
        r->state = BRAID__REPLICA_STATE__SERVING;
        r->term++;
        r->number = 0;
        r->pause_ms = 0;
    }
    bd_mutex_unlock(&r->mu);
    if (!serves) return false;
    bd_info("%s: this process (replica %d) serves, %s", r->env.label, r->env.replica,
            has_copy ? "with the variables of the one that is lost" : "without variables");
    r->env.serve(r->env.arg);
    bd_replication_depose_partner(r);
    return true;
}

void bd_replication_end(bd_replication *r, const braid_status *st)
{
    bd_mutex_lock(&r->mu);
    const bool is_first = !r->has_ended && !r->is_closed;
    r->has_ended = true;
    if (is_first && st->code) bd_status_copy(&r->end, st);
    bd_cond_broadcast(&r->changed);
    bd_mutex_unlock(&r->mu);
    if (!is_first) return;
    bd_replication_release(r);
    r->env.ended(r->env.arg, st);
}

bool bd_replication_is_over(bd_replication *r)
{
    bd_mutex_lock(&r->mu);
    const bool is_over = r->is_closed || r->has_ended;
    bd_mutex_unlock(&r->mu);
    return is_over;
}

void bd_replication_pause(bd_replication *r)
{
    r->pause_ms = bd_min(bd_max(r->pause_ms * 2, BD_PAUSE_MIN_MS), BD_PAUSE_MAX_MS);
    bd_mutex_lock(&r->mu);
    if (!r->is_closed) bd_cond_wait_until(&r->changed, &r->mu, bd_deadline_after_ms(r->pause_ms));
    bd_mutex_unlock(&r->mu);
}

void bd_replication_serve_hello(bd_replication *r, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__ReplicaHello *hello =
        bd_proto_unpack_message(&braid__replica_hello__descriptor, &call->request, arena, st);
    if (!hello) {
        bd_incoming_reply_error(call, st);
        return;
    }
    bd_cancellation *broken = NULL;
    bd_mutex_lock(&r->mu);
    r->hellos++;
    if (r->state == BRAID__REPLICA_STATE__SERVING && hello->state == BRAID__REPLICA_STATE__SERVING &&
        hello->term > r->term)
        r->is_deposed = true;
    // The process that this one follows has restarted: the call to the old one has no end of its own.
    if (r->following && hello->incarnation != r->followed) broken = bd_cancellation_ref(r->following);
    bd_cond_broadcast(&r->changed);
    bd_mutex_unlock(&r->mu);
    if (broken) {
        bd_fail(st, BRAID_UNAVAILABLE, "it has restarted");
        bd_cancellation_cancel(broken, st);
        bd_cancellation_unref(broken);
    }
    const Braid__ReplicaHello answer = bd_replication_hello(r);
    bd_incoming_reply_proto(call, &answer.base);
}

// Whether the partner will be told as soon as it follows; not when it has been here and is dead now.
static bool is_partner_missing_locked(const bd_replication *r)
{
    const bool was_here = r->followed || r->standby_incarnation;
    return r->state == BRAID__REPLICA_STATE__SERVING && !r->is_closed && !r->has_ended && !r->follow &&
           !(was_here && r->standby == BD_STANDBY_NONE);
}

void bd_replication_await_partner(bd_replication *r)
{
    const int64_t deadline_ns = bd_deadline_after_ms(r->env.grace_ms);
    bd_mutex_lock(&r->mu);
    const bool is_missing = is_partner_missing_locked(r);
    bd_mutex_unlock(&r->mu);
    if (!is_missing) return;
    bd_info("%s: the other process, %s, has not connected: for at most %.1f s it can still be told that the "
            "work is done",
            r->env.label, r->env.partner, (double)r->env.grace_ms / 1000);
    bd_mutex_lock(&r->mu);
    while (is_partner_missing_locked(r) && bd_now_ns() < deadline_ns)
        bd_cond_wait_until(&r->changed, &r->mu, deadline_ns);
    bd_mutex_unlock(&r->mu);
}

void bd_replication_close(bd_replication *r, bool is_done, const braid_status *why)
{
    bd_mutex_lock(&r->mu);
    r->is_closed = true;
    if (!r->end.code) bd_status_copy(&r->end, why);
    bd_follow_call *follow = r->follow;
    r->follow = NULL;
    bd_cond_broadcast(&r->changed);
    bd_mutex_unlock(&r->mu);
    bd_replication_release(r);
    if (follow) bd_replication_answer_follow(follow, is_done ? "" : "it was stopped");
    bd_cancellation_cancel(r->cancellation, why);
    if (r->is_started) bd_thread_join(&r->thread);
    r->is_started = false;
    bd_replication_release(r);
    bd_rpc_count_wait(&r->calls);
}

void bd_replication_free(bd_replication *r)
{
    if (!r) return;
    r->env.transport->channel_close(r->channel);
    if (r->addresses) freeaddrinfo(r->addresses);
    bd_replication_drop_pieces(r);
    bd_array_free(&r->requests);
    bd_array_free(&r->commits);
    bd_status_fini(&r->end);
    bd_cancellation_unref(r->cancellation);
    bd_rpc_count_fini(&r->calls);
    bd_cond_fini(&r->changed);
    bd_mutex_fini(&r->mu);
    bd_free(r);
}

// Decides whether the client of a session is alive.
//
// A client of Braid holds its session: it keeps a call open (ClusterService.Hold) and repeats it when the
// connection is lost. When a session has had no holder for client_gone_ms, its client is gone. TensorFlow's
// clients do not hold sessions: they are gone when the connection of their last call has been lost for
// caller_lost_ms without another call (a living client connects again and calls), or when they have made no
// call for session_idle_ms.
//
// One timer for each session runs while the session has no holder, and checks for how long that has been so.
#include "base/clock.h"
#include "base/log.h"
#include "cluster/master/master_internal.h"

static void look(void *arg);

// 100 years: no time is out of range.
#define LIMIT_MAX_MS INT64_C(3155760000000)

static int64_t after_ms(int64_t from_ns, int64_t ms)
{
    return from_ns + bd_min(ms, LIMIT_MAX_MS) * 1000000;
}

// The time at which a session counts as idle that was last used at `used_ns`; BD_FOREVER: never.
static int64_t idle_end_locked(const bd_master_session *s, int64_t used_ns)
{
    const bd_master_env *env = &s->master->env;
    const int64_t limit_ms = s->was_held ? env->client_gone_ms : env->session_idle_ms;
    return limit_ms > 0 ? after_ms(used_ns, limit_ms) : BD_FOREVER;
}

static void watch_locked(bd_master_session *s)
{
    if (s->holders > 0 || s->is_closing || s->client_timer) return;
    int64_t at_ns = idle_end_locked(s, atomic_load_explicit(&s->last_use_ns, memory_order_relaxed));
    if (!s->was_held) at_ns = bd_min(at_ns, after_ms(bd_now_ns(), s->master->env.caller_lost_ms));
    if (at_ns == BD_FOREVER) return;
    bd_master_session_ref(s);
    s->client_timer = bd_timer_add(s->master->env.timers, at_ns, look, s);
}

// Whether the connection that used the session last has been gone for long enough. Asks the transport, which
// may ask the system.
static bool is_caller_lost_locked(bd_master_session *s, int64_t used_ns, int64_t now_ns)
{
    bd_transport *t = s->master->env.peers->self->transport;
    if (s->was_held || !s->caller) return false;
    if (t->is_connected(t, s->caller)) {
        s->lost_ns = 0;
        return false;
    }
    if (!s->lost_ns) s->lost_ns = now_ns;
    return now_ns >= after_ms(bd_max(s->lost_ns, used_ns), s->master->env.caller_lost_ms);
}

static void touch(bd_master_session *s)
{
    atomic_store_explicit(&s->last_use_ns, bd_now_ns(), memory_order_relaxed);
}

// Whether the client is gone; watches on if it may be there.
static bool is_gone(bd_master_session *s)
{
    bd_mutex_lock(&s->mu);
    s->client_timer = 0;
    if (s->running > 0) touch(s);
    const int64_t used_ns = atomic_load_explicit(&s->last_use_ns, memory_order_relaxed);
    const int64_t now_ns = bd_now_ns();
    const bool is_late = now_ns >= idle_end_locked(s, used_ns) || is_caller_lost_locked(s, used_ns, now_ns);
    if (!is_late) watch_locked(s);
    const bool is_gone = is_late && s->holders == 0 && !s->is_closing;
    if (is_gone) s->running++; // so that the master waits for the code below
    bd_mutex_unlock(&s->mu);
    return is_gone;
}

static void look(void *arg)
{
    bd_master_session *s = arg;
    if (is_gone(s)) {
        bd_info("Session %s is closed: its client %s", s->handle,
                s->was_held || s->lost_ns ? "is gone" : "does not call any more");
        bd_master_close_session(s->master, s->handle, NULL, NULL);
        bd_master_session_leave(s);
    }
    bd_master_session_unref(s);
}

void bd_master_watch_client(bd_master_session *s)
{
    touch(s);
    bd_mutex_lock(&s->mu);
    watch_locked(s);
    bd_mutex_unlock(&s->mu);
}

void bd_master_called_by(bd_master_session *s, const bd_incoming *call)
{
    bd_mutex_lock(&s->mu);
    if (!s->was_held) {
        bd_free(s->caller);
        s->caller = call->transport->peer(call);
        s->lost_ns = 0;
    }
    bd_mutex_unlock(&s->mu);
}

void bd_master_unwatch_client(bd_master_session *s)
{
    bd_mutex_lock(&s->mu);
    const bd_timer_id timer = s->client_timer;
    s->client_timer = 0;
    bd_mutex_unlock(&s->mu);
    if (timer && bd_timer_cancel(s->master->env.timers, timer)) bd_master_session_unref(s);
}

bool bd_master_hold(bd_master_session *s)
{
    bd_mutex_lock(&s->mu);
    const bool is_open = !s->is_closing;
    if (is_open) s->holders++;
    if (is_open) s->was_held = true;
    bd_mutex_unlock(&s->mu);
    if (is_open) bd_master_unwatch_client(s);
    return is_open;
}

void bd_master_let_go(bd_master_session *s)
{
    touch(s);
    bd_mutex_lock(&s->mu);
    s->holders--;
    watch_locked(s);
    bd_mutex_unlock(&s->mu);
}

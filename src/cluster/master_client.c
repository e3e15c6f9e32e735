// Whether the client of a session is still there.
//
// A client of Braid holds its session: it keeps a call open (ClusterService.Hold), and begins it again when the
// connection was lost. When nobody has held the session for client_gone_ms, the client is gone. TensorFlow's clients do
// not: their sessions are theirs until they close them, as in TensorFlow, unless session_idle_ms says otherwise.
//
// One timer a session, which runs when nobody holds it, and looks for how long that has been so.
#include "base/clock.h"
#include "base/log.h"
#include "cluster/master_internal.h"

static void look(void *arg);

// 100 years: no time is out of range.
#define LIMIT_MAX_MS INT64_C(3155760000000)

static int64_t limit_ms_locked(const bd_master_session *s)
{
    const bd_master_env *env = &s->master->env;
    return bd_min(s->was_held ? env->client_gone_ms : env->session_idle_ms, LIMIT_MAX_MS);
}

static void watch_locked(bd_master_session *s, int64_t from_ns)
{
    const int64_t limit_ms = limit_ms_locked(s);
    if (s->holders > 0 || s->is_closing || s->client_timer || limit_ms <= 0) return;
    bd_master_session_ref(s);
    s->client_timer = bd_timer_add(s->master->env.timers, from_ns + limit_ms * 1000000, look, s);
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
    const bool is_late = bd_now_ns() >= used_ns + limit_ms_locked(s) * 1000000;
    if (!is_late) watch_locked(s, used_ns);
    const bool is_gone = is_late && s->holders == 0 && !s->is_closing;
    if (is_gone) s->running++; // so that the master waits for what follows
    bd_mutex_unlock(&s->mu);
    return is_gone;
}

static void look(void *arg)
{
    bd_master_session *s = arg;
    if (is_gone(s)) {
        bd_info("Session %s is closed: its client %s", s->handle,
                s->was_held ? "is gone" : "does not call any more");
        bd_master_close_session(s->master, s->handle, NULL, NULL);
        bd_master_session_leave(s);
    }
    bd_master_session_unref(s);
}

void bd_master_watch_client(bd_master_session *s)
{
    touch(s);
    bd_mutex_lock(&s->mu);
    watch_locked(s, bd_now_ns());
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
    watch_locked(s, bd_now_ns());
    bd_mutex_unlock(&s->mu);
}

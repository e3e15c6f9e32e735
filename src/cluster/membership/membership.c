// Tracks which tasks of the cluster are alive, finished or lost.
//
// TensorFlow's parameter servers never end. Braid's do: every other task holds a liveness call (method
// Liveness) open to each membership server, and notifies it (NotifyDone) when its work is done. A membership
// server thus knows without polling which tasks it still has to serve, and the same call tells a worker at
// once when a parameter server is lost.
//
// The membership servers are the parameter servers (job "ps"), or the first task of the first job if there is
// no parameter server. A membership server expects all other tasks but evaluators, which work beside the
// cluster.
//
// States of an expected task at a membership server:
//   unseen  it has never called; it may be about to start, so the server waits for it until the start timeout
//   alive   it holds a liveness call open
//   lost    its last liveness call has broken; a timer runs
//   gone    the timer, or the start timeout, has fired; the server does not wait for it
//   done    it has called NotifyDone; the server does not wait for it, whatever happens to its connection. It
//           has ended its work, or has none of its own and only serves
// A task of TensorFlow's own stays unseen; foreign.c tells when it is done or gone.
// A liveness call of a new incarnation (the task has restarted) leads from any state to alive. One of the
// same incarnation leads from unseen, lost and gone to alive.
//
// States of a membership server at another task:
//   asking  GetStatus waits until the server is reachable, and returns its incarnation
//   held    the liveness call is open
//   ended   the server answered the call, with the reason for its end, or said that it is done before the
//           call was held
//   lost    the call broke
// After ended and lost the task pauses and asks again. A server that does not know the method Liveness is
// TensorFlow's own; the task makes no further calls to it.
//
// When a server is over (braid_server_join returns):
//   parameter server         each expected task is done or gone, and at least one of them, or the parameter
//                            server's own task, does not only serve
//   other membership server  its own task is done, each expected task is done or gone, and at least one of
//                            these tasks does not only serve
//   other task               its own task is done, and each membership server has ended or is lost
// When all tasks only serve, their clients are not in the cluster: it serves until it is stopped, as
// TensorFlow's.
#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "braid/cluster.pb-c.h"
#include "cluster/membership/membership_internal.h"
#include "proto/pack.h"
#include <string.h>

// When a server first logs which tasks it has not seen yet; from one line to the next the time doubles.
#define LOG_UNSEEN_AFTER_MS 10000
// When calls of two incarnations of a task are both open this long, it was started twice: the connection to a
// host that is lost breaks sooner.
#define LOG_TWICE_AFTER_MS 15000

// ---- Roles ----

static bool is_ps(const bd_peer *p)
{
    return strcmp(p->job, "ps") == 0;
}

static bool has_ps(const bd_peers *peers)
{
    for (int i = 0; i < peers->count; i++)
        if (is_ps(&peers->items[i])) return true;
    return false;
}

bool bd_membership_is_server(const bd_peers *peers, const bd_peer *peer)
{
    return has_ps(peers) ? is_ps(peer) : peer == &peers->items[0];
}

const bd_peer *bd_membership_first_server(const bd_peers *peers)
{
    for (int i = 0; i < peers->count; i++)
        if (bd_membership_is_server(peers, &peers->items[i])) return &peers->items[i];
    BD_UNREACHABLE();
}

static const bd_peer *first_of_job(const bd_peers *peers, const char *job)
{
    for (int i = 0; i < peers->count; i++)
        if (strcmp(peers->items[i].job, job) == 0) return &peers->items[i];
    return NULL;
}

const bd_peer *bd_membership_chief(const bd_peers *peers)
{
    const bd_peer *chief = first_of_job(peers, "chief");
    if (!chief) chief = first_of_job(peers, "master");
    return chief ? chief : first_of_job(peers, "worker");
}

static bool is_expected(const bd_peers *peers, const bd_peer *peer)
{
    return !bd_membership_is_server(peers, peer) && strcmp(peer->job, "evaluator") != 0;
}

// ---- At a membership server: the expected tasks ----

static expected *find_expected(bd_membership *m, const char *job, int task)
{
    for (int i = 0; i < m->expected_count; i++) {
        const bd_peer *p = m->expected[i].peer;
        if (p->index == task && strcmp(p->job, job) == 0) return &m->expected[i];
    }
    return NULL;
}

static void task_is_gone(void *arg)
{
    expected *e = arg;
    bd_membership *m = e->m;
    bd_mutex_lock(&m->mu);
    // A timer of an earlier loss may fire after the task was lost again: only the timer of the last loss
    // counts.
    const bool is_due = bd_now_ns() >= e->gone_at_ns;
    const bool is_gone = is_due && e->open_calls == 0 && !e->is_done && !e->is_gone && !m->reason;
    if (is_due) e->gone_timer = 0;
    if (is_gone) e->is_gone = true;
    bd_mutex_unlock(&m->mu);
    if (!is_gone) return;
    bd_warn("%s has not reconnected within %.1f s: it is gone for good", e->peer->label,
            (double)m->env.gone_timeout_ms / 1000);
    membership_report_change(m);
}

static void unref_locked(liveness_call *c)
{
    if (--c->refs == 0) bd_free(c);
}

// Lists the call. From here on bd_membership_close or liveness_call_ended may answer it.
static void link_locked(liveness_call *c, bd_incoming *call)
{
    bd_membership *m = c->task->m;
    c->call = call;
    c->next = m->open;
    c->link = &m->open;
    if (c->next) c->next->link = &c->next;
    m->open = c;
}

// Takes the call off the list to answer it. Returns NULL when another thread has taken it.
static bd_incoming *take_call_locked(liveness_call *c)
{
    bd_incoming *call = c->call;
    if (!call) return NULL;
    c->call = NULL;
    *c->link = c->next;
    if (c->next) c->next->link = c->link;
    return call;
}

static void reply_gone(bd_incoming *call)
{
    BD_STATUS(st);
    bd_fail(st, BRAID_CANCELLED, "The caller has disconnected");
    bd_incoming_reply(call, NULL, st);
}

static void liveness_call_ended(void *arg, bool cancelled)
{
    (void)cancelled;
    liveness_call *c = arg;
    expected *e = c->task;
    bd_membership *m = e->m;
    bd_mutex_lock(&m->mu);
    c->has_ended = true;
    bd_incoming *call = take_call_locked(c);
    const bool is_lost = --e->open_calls == 0 && !e->is_done && !m->reason;
    if (is_lost) {
        e->gone_at_ns = bd_deadline_after_ms(m->env.gone_timeout_ms);
        e->gone_timer = bd_timer_add(m->env.timers, e->gone_at_ns, task_is_gone, e);
    }
    unref_locked(c);
    bd_mutex_unlock(&m->mu);
    if (is_lost)
        bd_warn("Lost %s; it counts as gone for good unless it reconnects within %.1f s", e->peer->label,
                (double)m->env.gone_timeout_ms / 1000);
    if (call) reply_gone(call);
}

// Records a liveness call of the task. Returns whether a task that was gone or done is alive again.
static bool seen_locked(expected *e, uint64_t incarnation)
{
    const bool was_away = e->is_gone || e->is_done;
    if (e->is_done && e->done_incarnation != incarnation) e->is_done = false; // it has restarted
    e->is_gone = false;
    if (e->was_seen && e->incarnation != incarnation) e->previous = e->incarnation;
    e->was_seen = true;
    e->incarnation = incarnation;
    e->open_calls++;
    // A timer that cannot be cancelled any more finds an open call, or a later loss, and does nothing.
    if (e->gone_timer) bd_timer_cancel(e->m->env.timers, e->gone_timer);
    e->gone_timer = 0;
    return was_away && !e->is_done;
}

static void reply_reason(bd_incoming *call, const char *reason)
{
    Braid__LivenessResponse response = BRAID__LIVENESS_RESPONSE__INIT;
    response.reason = (char *)reason;
    bd_incoming_reply_proto(call, &response.base);
}

// Returns the newest open call of the task that has another incarnation than `but`; NULL: none.
static const liveness_call *find_open_locked(const expected *e, uint64_t but)
{
    const liveness_call *c = e->m->open;
    while (c && (c->task != e || c->incarnation == but))
        c = c->next;
    return c;
}

static char *caller_locked(const liveness_call *c)
{
    return c->call->transport->peer(c->call); // it is not replied to while it is listed
}

static void log_twice(void *arg)
{
    const expected *e = arg;
    bd_membership *m = e->m;
    char *callers[2] = {0};
    bd_mutex_lock(&m->mu);
    const liveness_call *other = find_open_locked(e, e->incarnation);
    const liveness_call *last = other ? find_open_locked(e, other->incarnation) : NULL;
    if (last) {
        callers[0] = caller_locked(other);
        callers[1] = caller_locked(last);
    }
    bd_mutex_unlock(&m->mu);
    if (last)
        bd_error_log("Two processes say that they are %s: they call from %s and %s. Start each task once",
                     e->peer->label, callers[0], callers[1]);
    bd_free(callers[0]);
    bd_free(callers[1]);
}

// Holds a call open until this server or the call ends. The call is not listed before on_end has returned, so
// no other thread answers it earlier. The answer is the last action here, because the server may be freed
// after it.
static void hold_call(expected *e, bd_incoming *call, uint64_t incarnation)
{
    bd_membership *m = e->m;
    liveness_call *c = bd_calloc(1, sizeof *c);
    c->task = e;
    c->incarnation = incarnation;
    c->refs = 2;
    call->transport->on_end(call, liveness_call_ended, c);
    bd_mutex_lock(&m->mu);
    const bool has_ended = c->has_ended;
    const char *reason = m->reason; // constant once it is set
    if (!has_ended && !reason) link_locked(c, call);
    if (find_open_locked(e, incarnation))
        bd_timer_add(m->env.timers, bd_deadline_after_ms(bd_min(LOG_TWICE_AFTER_MS, m->env.gone_timeout_ms)),
                     log_twice, e);
    unref_locked(c);
    bd_mutex_unlock(&m->mu);
    if (has_ended)
        reply_gone(call);
    else if (reason)
        reply_reason(call, reason);
}

void bd_membership_serve_liveness(bd_membership *m, bd_incoming *call, const char *job, int task,
                                  uint64_t incarnation)
{
    expected *e = find_expected(m, job, task);
    if (!e) {
        BD_STATUS(st);
        bd_fail(st, BRAID_INVALID_ARGUMENT, "%s does not expect /job:%s/task:%d", m->env.peers->self->label,
                job, task);
        bd_incoming_reply_error(call, st);
        return;
    }
    bd_mutex_lock(&m->mu);
    const bool is_closed = m->reason != NULL;
    const bool is_news = !is_closed && seen_locked(e, incarnation);
    bd_mutex_unlock(&m->mu);
    if (is_closed) {
        reply_reason(call, m->reason); // constant once it is set
        return;
    }
    bd_debug("%s holds a liveness call", e->peer->label);
    if (is_news) {
        bd_info("%s is back", e->peer->label);
        membership_report_change(m);
    }
    hold_call(e, call, incarnation);
}

void bd_membership_close(bd_membership *m, const char *reason)
{
    bd_mutex_lock(&m->mu);
    if (!m->reason) m->reason = bd_strdup(reason);
    bd_mutex_unlock(&m->mu);
    for (;;) {
        bd_mutex_lock(&m->mu);
        bd_incoming *call = m->open ? take_call_locked(m->open) : NULL;
        bd_mutex_unlock(&m->mu);
        if (!call) return;
        reply_reason(call, reason);
    }
}

// ---- Done ----

// A membership server may end before this task holds a liveness call to it, and says so. Returns whether it
// is one.
static bool take_server_done(bd_membership *m, const char *job, int task)
{
    membership_server *s = NULL;
    for (int i = 0; i < m->membership_server_count && !s; i++) {
        const bd_peer *p = m->membership_servers[i].peer;
        if (p->index == task && strcmp(p->job, job) == 0) s = &m->membership_servers[i];
    }
    if (!s) return false;
    bd_mutex_lock(&m->mu);
    const bool is_news = !s->is_held && !s->has_ended;
    if (is_news) s->has_left = s->has_ended = true;
    bd_mutex_unlock(&m->mu);
    if (is_news) {
        bd_info("%s is done", s->peer->label);
        membership_report_change(m);
    }
    return true;
}

// Logs, when all tasks of the cluster only serve, whom it waits for.
void membership_log_idle(bd_membership *m)
{
    if (!m->is_membership_server) return;
    bd_mutex_lock(&m->mu);
    bool is_idle = is_ps(m->env.peers->self) || m->only_serves;
    for (int i = 0; i < m->expected_count && is_idle; i++)
        is_idle = m->expected[i].is_done && m->expected[i].only_serves;
    bd_mutex_unlock(&m->mu);
    if (is_idle) bd_info("All tasks of the cluster only serve: they serve clients until they are stopped");
}

braid_code bd_membership_done(bd_membership *m, const bd_done_notice *notice, braid_status *st)
{
    const bd_peer *self = m->env.peers->self;
    const char *job = notice->job;
    const int task = notice->task;
    if (strcmp(job, self->job) == 0 && task == self->index) {
        bd_membership_notify_done(m, notice->only_serves);
        return BRAID_OK;
    }
    if (take_server_done(m, job, task)) return BRAID_OK;
    expected *e = find_expected(m, job, task);
    if (!e)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s does not expect /job:%s/task:%d", self->label, job,
                       task);
    bd_mutex_lock(&m->mu);
    // The task has restarted since.
    const bool is_late = e->previous && notice->incarnation == e->previous;
    const bool is_other = notice->incarnation != e->done_incarnation; // and has not been seen yet
    const bool is_news = !is_late && (!e->is_done || is_other || (e->only_serves && !notice->only_serves));
    if (is_news) e->only_serves = notice->only_serves;
    if (!is_late) e->is_done = true;
    if (!is_late) e->done_incarnation = notice->incarnation;
    bd_mutex_unlock(&m->mu);
    if (is_news) {
        bd_info("%s %s", e->peer->label, notice->only_serves ? "only serves" : "is done");
        if (notice->only_serves) membership_log_idle(m);
        membership_report_change(m);
    }
    return BRAID_OK;
}

// ---- At a membership server: tasks that have not been seen ----

static bool is_unseen(const expected *e)
{
    return !e->was_seen && !e->is_done && !e->is_gone;
}

static char *list_unseen_locked(const bd_membership *m)
{
    bd_strbuf names = {0};
    for (int i = 0; i < m->expected_count; i++)
        if (is_unseen(&m->expected[i]))
            bd_strbuf_appendf(&names, "%s%s", names.len ? ", " : "", m->expected[i].peer->label);
    return bd_strbuf_take(&names);
}

static void log_unseen(void *arg)
{
    bd_membership *m = arg;
    bd_mutex_lock(&m->mu);
    char *names = m->reason ? NULL : list_unseen_locked(m);
    bd_mutex_unlock(&m->mu);
    if (names && *names) {
        bd_info("After %.0f s these tasks have not connected yet: %s",
                (double)(bd_now_ns() - m->start_ns) / 1e9, names);
        m->log_after_ms *= 2;
        bd_timer_add(m->env.timers, bd_deadline_after_ms(m->log_after_ms), log_unseen, m);
    }
    bd_free(names);
}

static void start_timed_out(void *arg)
{
    bd_membership *m = arg;
    bd_mutex_lock(&m->mu);
    char *names = m->reason ? NULL : list_unseen_locked(m);
    for (int i = 0; i < m->expected_count && names; i++)
        if (is_unseen(&m->expected[i])) m->expected[i].is_gone = true;
    bd_mutex_unlock(&m->mu);
    const bool is_news = names && *names;
    if (is_news)
        bd_warn("Not connected within %.1f s, no longer waited for: %s",
                (double)m->env.start_timeout_ms / 1e3, names);
    bd_free(names);
    if (is_news) membership_report_change(m);
}

void bd_membership_start(bd_membership *m)
{
    m->start_ns = bd_now_ns();
    m->log_after_ms = LOG_UNSEEN_AFTER_MS;
    if (m->expected_count > 0) {
        bd_timer_add(m->env.timers, bd_deadline_after_ms(m->log_after_ms), log_unseen, m);
        bd_timer_add(m->env.timers, bd_deadline_after_ms(m->env.start_timeout_ms), start_timed_out, m);
        membership_look_for_foreign(m);
    }
    for (int i = 0; i < m->membership_server_count; i++)
        membership_hold_liveness(&m->membership_servers[i]);
}

// ---- Queries ----

static bool membership_server_is_over_locked(const bd_membership *m)
{
    if (!is_ps(m->env.peers->self) && !m->is_done) return false;
    bool has_work = m->is_done && !m->only_serves;
    for (int i = 0; i < m->expected_count; i++) {
        const expected *e = &m->expected[i];
        if (!e->is_done && !e->is_gone) return false;
        has_work |= !e->is_done || !e->only_serves;
    }
    return has_work;
}

static bool other_is_over_locked(const bd_membership *m)
{
    for (int i = 0; i < m->membership_server_count; i++)
        if (!m->membership_servers[i].has_left) return false;
    return m->is_done;
}

bool bd_membership_is_over(bd_membership *m)
{
    bd_mutex_lock(&m->mu);
    const bool is_over =
        m->is_membership_server ? membership_server_is_over_locked(m) : other_is_over_locked(m);
    bd_mutex_unlock(&m->mu);
    return is_over;
}

braid_code bd_membership_check_done(bd_membership *m, braid_status *st)
{
    bd_strbuf names = {0};
    bd_mutex_lock(&m->mu);
    for (int i = 0; i < m->expected_count; i++) {
        const expected *e = &m->expected[i];
        if (!e->is_gone || e->is_done) continue;
        bd_strbuf_appendf(&names, "%s%s (%s)", names.len ? ", " : "", e->peer->label,
                          e->was_seen ? "lost" : "never connected");
    }
    bd_mutex_unlock(&m->mu);
    if (names.len)
        bd_fail(st, BRAID_UNAVAILABLE, "%s ends, but these tasks have not said that their work is done: %s",
                m->env.peers->self->label, bd_strbuf_str(&names));
    bd_strbuf_fini(&names);
    return st->code;
}

bool bd_membership_has_left(bd_membership *m, const bd_peer *peer, bool *is_done)
{
    bd_mutex_lock(&m->mu);
    const expected *e = find_expected(m, peer->job, peer->index);
    *is_done = e ? e->is_done : false;
    const bool has_left = e && (e->is_done || e->is_gone);
    bd_mutex_unlock(&m->mu);
    return has_left;
}

static bd_peer_state state_of_expected(const expected *e)
{
    if (e->is_done) return BD_PEER_DONE;
    if (e->is_gone) return BD_PEER_GONE;
    if (e->open_calls > 0) return BD_PEER_CONNECTED;
    return e->was_seen ? BD_PEER_LOST : BD_PEER_UNSEEN;
}

static bd_peer_state state_of_server(const membership_server *s)
{
    if (s->has_ended) return BD_PEER_DONE;
    if (s->has_left) return BD_PEER_LOST;
    return s->is_held ? BD_PEER_CONNECTED : BD_PEER_UNSEEN;
}

bd_peer_state bd_membership_state(bd_membership *m, const bd_peer *peer)
{
    bd_peer_state state = BD_PEER_UNKNOWN;
    bd_mutex_lock(&m->mu);
    const expected *e = find_expected(m, peer->job, peer->index);
    if (peer->is_self) state = m->is_done ? BD_PEER_DONE : BD_PEER_CONNECTED;
    if (e) state = state_of_expected(e);
    for (int i = 0; i < m->membership_server_count; i++)
        if (m->membership_servers[i].peer == peer) state = state_of_server(&m->membership_servers[i]);
    bd_mutex_unlock(&m->mu);
    return state;
}

int bd_membership_done_tasks(bd_membership *m, bd_done_notice **out)
{
    int count = 0;
    *out = bd_calloc((size_t)m->expected_count + 1, sizeof **out);
    bd_mutex_lock(&m->mu);
    for (int i = 0; i < m->expected_count; i++) {
        const expected *e = &m->expected[i];
        if (e->is_done)
            (*out)[count++] =
                (bd_done_notice){e->peer->job, e->peer->index, e->done_incarnation, e->only_serves};
    }
    bd_mutex_unlock(&m->mu);
    return count;
}

bool bd_membership_works(const bd_peer *peer)
{
    return !is_ps(peer) && strcmp(peer->job, "evaluator") != 0;
}

bool bd_done_notices_have(const bd_done_notice *tasks, int count, const bd_peer *peer)
{
    for (int i = 0; i < count; i++)
        if (!tasks[i].only_serves && tasks[i].task == peer->index && strcmp(tasks[i].job, peer->job) == 0)
            return true;
    return false;
}

bd_workforce bd_membership_workforce(bd_membership *m)
{
    const bool is_self_at_work = !is_ps(m->env.peers->self);
    bd_strbuf left = {0};
    bd_mutex_lock(&m->mu);
    bd_workforce w = {.total = m->expected_count + is_self_at_work, .done = is_self_at_work && m->is_done};
    for (int i = 0; i < m->expected_count; i++) {
        const expected *e = &m->expected[i];
        w.done += e->is_done;
        w.gone += e->is_gone && !e->is_done;
        if (e->is_done || e->is_gone)
            bd_strbuf_appendf(&left, "%s%s is %s", left.len ? ", " : "", e->peer->label,
                              e->is_done ? "done" : "gone");
    }
    bd_mutex_unlock(&m->mu);
    w.left = bd_strbuf_take(&left);
    return w;
}

// ---- Construction ----

bd_membership *bd_membership_new(const bd_membership_env *env)
{
    bd_membership *m = bd_calloc(1, sizeof *m);
    const bd_peers *peers = env->peers;
    m->env = *env;
    m->is_membership_server = bd_membership_is_server(peers, peers->self);
    bd_mutex_init(&m->mu);
    bd_cond_init(&m->notified);
    bd_map_init(&m->sessions);
    m->expected = bd_calloc((size_t)peers->count, sizeof *m->expected);
    m->membership_servers = bd_calloc((size_t)peers->count, sizeof *m->membership_servers);
    for (int i = 0; i < peers->count; i++) {
        const bd_peer *p = &peers->items[i];
        if (m->is_membership_server && is_expected(peers, p))
            m->expected[m->expected_count++] = (expected){.m = m, .peer = p};
        if (!m->is_membership_server && is_expected(peers, peers->self) && bd_membership_is_server(peers, p))
            m->membership_servers[m->membership_server_count++] = (membership_server){.m = m, .peer = p};
    }
    return m;
}

void bd_membership_free(bd_membership *m)
{
    if (!m) return;
    BD_ASSERT(!m->open);
    bd_cond_fini(&m->notified);
    bd_mutex_fini(&m->mu);
    bd_map_fini(&m->sessions);
    bd_free(m->expected);
    bd_free(m->membership_servers);
    bd_free(m->reason);
    bd_free(m);
}

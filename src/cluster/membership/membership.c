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
//   done    it has called NotifyDone; the server does not wait for it, whatever happens to its connection
// A liveness call of a new incarnation (the task has restarted) leads from any state to alive. One of the
// same incarnation leads from unseen, lost and gone to alive.
//
// States of a membership server at another task:
//   asking  GetStatus waits until the server is reachable, and returns its incarnation
//   held    the liveness call is open
//   ended   the server answered the call, with the reason for its end
//   lost    the call broke
// After ended and lost the task pauses and asks again. A server that does not know the method Liveness is
// TensorFlow's own; the task makes no further calls to it.
//
// When a server is over (braid_server_join returns):
//   parameter server         each expected task is done or gone, and there is at least one expected task or
//                            the parameter server's own task is done
//   other membership server  its own task is done, and each expected task is done or gone
//   other task               its own task is done, and each membership server has ended or is lost
#include "cluster/membership/membership.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/done_notice.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "braid/cluster.pb-c.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/rpc.h"
#include "proto/pack.h"
#include <string.h>

#define PAUSE_MIN_MS 20
#define PAUSE_MAX_MS 1000
// When a server first logs which tasks it has not seen yet; from one line to the next the time doubles.
#define LOG_UNSEEN_AFTER_MS 10000
#define NOTIFY_TRIES_MAX 3

typedef struct expected {
    bd_membership *m;
    const bd_peer *peer;
    int open_calls; // liveness calls
    bool is_done, is_gone;
    bool was_seen;
    uint64_t incarnation;
    bd_timer_id gone_timer; // 0: none
    int64_t gone_at_ns;     // of the last loss
} expected;

// A liveness call that another task holds at this membership server. Two references: the transport's, until
// the call has ended, and the one of hold_call.
typedef struct liveness_call {
    expected *task;
    int refs;                           // guarded by mu
    bool has_ended;                     // guarded by mu
    bd_incoming *call;                  // guarded by mu; NULL once a thread has taken it to answer it
    struct liveness_call *next, **link; // in `open` while `call` is set
} liveness_call;

// A membership server that this task holds a liveness call to.
typedef struct membership_server {
    bd_membership *m;
    const bd_peer *peer;
    int64_t pause_ms;
    bool has_left;        // it has ended or is lost
    uint64_t incarnation; // 0: it has never answered
    // Of NotifyDone. A call whose connection is cut is made again, on a new one; a server that is not there
    // refuses each of them at once.
    int notify_tries;
    int64_t notify_deadline_ns;
} membership_server;

struct bd_membership {
    bd_membership_env env;
    bool is_membership_server;
    bd_mutex mu;
    bd_cond notified;
    expected *expected; // [expected_count] guarded by mu
    int expected_count;
    membership_server *membership_servers; // [membership_server_count] guarded by mu
    int membership_server_count;
    liveness_call *open;            // guarded by mu
    char *reason;                   // why this server has ended; NULL while it runs; guarded by mu
    bool is_done;                   // this task is done; guarded by mu
    int notifying;                  // NotifyDone calls in progress; guarded by mu
    int64_t start_ns, log_after_ms; // of the timer that logs unseen tasks
};

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

static void report_change(const bd_membership *m)
{
    m->env.changed(m->env.arg);
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
    report_change(m);
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
    if (e->was_seen && e->incarnation != incarnation) e->is_done = false; // it has restarted
    e->is_gone = false;
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

// Holds a call open until this server or the call ends. The call is not listed before on_end has returned, so
// no other thread answers it earlier. The answer is the last action here, because the server may be freed
// after it.
static void hold_call(expected *e, bd_incoming *call)
{
    bd_membership *m = e->m;
    liveness_call *c = bd_calloc(1, sizeof *c);
    c->task = e;
    c->refs = 2;
    call->transport->on_end(call, liveness_call_ended, c);
    bd_mutex_lock(&m->mu);
    const bool has_ended = c->has_ended;
    const char *reason = m->reason; // constant once it is set
    if (!has_ended && !reason) link_locked(c, call);
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
        report_change(m);
    }
    hold_call(e, call);
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

static bd_rpc_options rpc_to(const bd_membership *m, const bd_peer *peer, const char *method)
{
    bd_rpc_options options = bd_peer_rpc(peer, method);
    options.cancellation = m->env.cancellation;
    return options;
}

static void notify_done(membership_server *to);

static void done_notified(void *arg, bd_message *response, const braid_status *st)
{
    (void)response;
    membership_server *to = arg;
    bd_membership *m = to->m;
    if (st->code) bd_debug("NotifyDone: %s", st->message);
    if (st->code == BRAID_UNAVAILABLE && to->notify_tries < NOTIFY_TRIES_MAX) {
        notify_done(to);
        return;
    }
    bd_mutex_lock(&m->mu);
    m->notifying--;
    bd_cond_broadcast(&m->notified);
    bd_mutex_unlock(&m->mu);
}

static void notify_done(membership_server *to)
{
    const bd_peer *self = to->m->env.peers->self;
    Braid__NotifyDoneRequest request = BRAID__NOTIFY_DONE_REQUEST__INIT;
    request.job = (char *)self->job;
    request.task = self->index;
    bd_rpc_options options = rpc_to(to->m, to->peer, BD_CLUSTER_SERVICE "NotifyDone");
    options.deadline_ns = to->notify_deadline_ns;
    to->notify_tries++;
    bd_rpc_start_proto(&options, &request.base, done_notified, to);
}

void bd_membership_notify_done(bd_membership *m)
{
    bd_mutex_lock(&m->mu);
    const bool is_first = !m->is_done;
    m->is_done = true;
    if (is_first) m->notifying += m->membership_server_count;
    bd_mutex_unlock(&m->mu);
    if (!is_first) return;
    const bd_peer *self = m->env.peers->self;
    if (!is_ps(self)) bd_done_notice_write(self->job, self->index); // of a parameter server: server.c
    for (int i = 0; i < m->membership_server_count; i++) {
        m->membership_servers[i].notify_deadline_ns = bd_deadline_after_ms(BD_NOTIFY_DONE_TIMEOUT_MS);
        notify_done(&m->membership_servers[i]);
    }
    report_change(m);
}

void bd_membership_wait_notified(bd_membership *m, int64_t deadline_ns)
{
    bd_mutex_lock(&m->mu);
    while (m->notifying > 0 && !bd_cond_wait_until(&m->notified, &m->mu, deadline_ns)) {}
    bd_mutex_unlock(&m->mu);
}

braid_code bd_membership_done(bd_membership *m, const char *job, int task, braid_status *st)
{
    const bd_peer *self = m->env.peers->self;
    if (strcmp(job, self->job) == 0 && task == self->index) {
        bd_membership_notify_done(m);
        return BRAID_OK;
    }
    expected *e = find_expected(m, job, task);
    if (!e)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s does not expect /job:%s/task:%d", self->label, job,
                       task);
    bd_mutex_lock(&m->mu);
    const bool is_news = !e->is_done;
    e->is_done = true;
    bd_mutex_unlock(&m->mu);
    if (is_news) {
        bd_info("%s is done", e->peer->label);
        report_change(m);
    }
    return BRAID_OK;
}

// ---- At another task: liveness calls to membership servers ----

static void ask_status(void *arg);

static bool is_ending(const bd_membership *m)
{
    return bd_cancellation_is_cancelled(m->env.cancellation);
}

static void pause_and_ask_status(membership_server *s)
{
    s->pause_ms = bd_min(bd_max(s->pause_ms * 2, PAUSE_MIN_MS), PAUSE_MAX_MS);
    bd_timer_add(s->m->env.timers, bd_deadline_after_ms(s->pause_ms), ask_status, s);
}

// The membership server has ended, or the connection to it is lost.
static void membership_server_left(membership_server *s)
{
    bd_membership *m = s->m;
    bd_mutex_lock(&m->mu);
    s->has_left = true;
    bd_mutex_unlock(&m->mu);
    report_change(m);
    pause_and_ask_status(s);
}

static void liveness_answered(void *arg, bd_message *response, const braid_status *st)
{
    membership_server *s = arg;
    if (is_ending(s->m)) return;
    if (st->code == BRAID_UNIMPLEMENTED || st->code == BRAID_INVALID_ARGUMENT) {
        bd_debug("%s takes no liveness call: %s", s->peer->label, st->message);
        return;
    }
    BD_STATUS(malformed);
    BD_PROTO_ARENA(arena);
    const Braid__LivenessResponse *message =
        st->code ? NULL
                 : bd_proto_unpack_message(&braid__liveness_response__descriptor, response, arena, malformed);
    if (message)
        bd_info("%s has ended: %s", s->peer->label, message->reason);
    else
        bd_warn("Lost %s: %s", s->peer->label, st->code ? st->message : malformed->message);
    membership_server_left(s);
}

static void hold_liveness(membership_server *s)
{
    const bd_membership *m = s->m;
    const bd_peer *self = m->env.peers->self;
    Braid__LivenessRequest request = BRAID__LIVENESS_REQUEST__INIT;
    request.job = (char *)self->job;
    request.task = self->index;
    request.incarnation = m->env.incarnation;
    const bd_rpc_options options = rpc_to(m, s->peer, BD_CLUSTER_SERVICE "Liveness");
    bd_rpc_start_proto(&options, &request.base, liveness_answered, s);
}

static void membership_server_is_up(membership_server *s, uint64_t incarnation)
{
    bd_membership *m = s->m;
    bd_mutex_lock(&m->mu);
    const bool was_lost = s->has_left;
    s->has_left = false;
    bd_mutex_unlock(&m->mu);
    if (was_lost)
        bd_info("%s is %s", s->peer->label,
                incarnation == s->incarnation ? "reachable again" : "reachable again, after a restart");
    s->incarnation = incarnation;
    s->pause_ms = 0;
    hold_liveness(s);
}

static void status_received(void *arg, const bd_device_info *devices, int count, const braid_status *st)
{
    membership_server *s = arg;
    if (is_ending(s->m)) return;
    if (st->code)
        pause_and_ask_status(s);
    else
        membership_server_is_up(s, count > 0 ? devices[0].incarnation : 0);
}

static void ask_status(void *arg)
{
    membership_server *s = arg;
    bd_worker *w = s->peer->worker;
    if (!is_ending(s->m)) w->ops->get_status(w, true, s->m->env.cancellation, status_received, s);
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
    if (is_news) report_change(m);
}

void bd_membership_start(bd_membership *m)
{
    m->start_ns = bd_now_ns();
    m->log_after_ms = LOG_UNSEEN_AFTER_MS;
    if (m->expected_count > 0) {
        bd_timer_add(m->env.timers, bd_deadline_after_ms(m->log_after_ms), log_unseen, m);
        bd_timer_add(m->env.timers, bd_deadline_after_ms(m->env.start_timeout_ms), start_timed_out, m);
    }
    for (int i = 0; i < m->membership_server_count; i++)
        ask_status(&m->membership_servers[i]);
}

// ---- Queries ----

static bool membership_server_is_over_locked(const bd_membership *m)
{
    if (!is_ps(m->env.peers->self) && !m->is_done) return false;
    for (int i = 0; i < m->expected_count; i++)
        if (!m->expected[i].is_done && !m->expected[i].is_gone) return false;
    return m->expected_count > 0 || m->is_done;
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

int bd_membership_done_tasks(bd_membership *m, const bd_peer ***out)
{
    int count = 0;
    *out = bd_calloc((size_t)m->expected_count + 1, sizeof **out);
    bd_mutex_lock(&m->mu);
    for (int i = 0; i < m->expected_count; i++)
        if (m->expected[i].is_done) (*out)[count++] = m->expected[i].peer;
    bd_mutex_unlock(&m->mu);
    return count;
}

bool bd_membership_works(const bd_peer *peer)
{
    return !is_ps(peer) && strcmp(peer->job, "evaluator") != 0;
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
    bd_free(m->expected);
    bd_free(m->membership_servers);
    bd_free(m->reason);
    bd_free(m);
}

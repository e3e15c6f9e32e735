// Tracks which tasks of the cluster are alive, finished or lost.
//
// TensorFlow's parameter servers never end. Braid's do: every other task holds a liveness call
// (ClusterService.Liveness) to each of them and calls NotifyDone when its work is done, so they know the
// state of all tasks without polling. The same call tells a worker at once when a parameter server is gone.
//
// Membership servers are the tasks that the others hold liveness calls to: the parameter servers (job "ps"),
// or without any the first task of the first job. Each membership server expects all other tasks but
// evaluators, which work beside the cluster.
//
// At a membership server, states of an expected task:
//   unseen     it has never called: it may be about to start, and is waited for
//   connected  its liveness call is open
//   lost       its last call has broken; a timer runs
//   gone       the timer has fired: the task is not waited for
//   done       it has called NotifyDone: it is not waited for, whatever happens to its connection
// A liveness call of another incarnation than before is a restart: it leads from gone and done to connected,
// too; a call of the same incarnation leads from gone to connected.
//
// At another task, for each membership server:
//   asking     GetStatus, which waits until the server answers with its incarnation
//   connected  the liveness call is open
//   ended      the call was answered: the server has ended, with a reason
//   lost       the call broke
// After ended and lost the task asks again after a pause. A membership server that does not know the method
// is TensorFlow's own and is not asked again.
//
// A server is over (join returns):
//   a membership server  when at least one task is expected and each is done or gone, and it is a
//                        parameter server or its own task is done
//   any other task       when it is done itself and each membership server has ended or is lost
#include "cluster/membership/membership.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "base/thread.h"
#include "braid/cluster.pb-c.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/rpc.h"
#include "proto/pack.h"
#include <string.h>

#define PAUSE_MIN_MS 20
#define PAUSE_MAX_MS 1000

typedef struct expected {
    bd_membership *a;
    const bd_peer *peer;
    int watching; // calls open
    bool is_done, is_gone;
    bool was_seen;
    uint64_t incarnation;
    bd_timer_id gone_timer; // 0: none
    int64_t gone_at_ns;     // of the last loss
} expected;

// A call of Liveness at this anchor. Its two references are of the transport, until the call has ended, and
// of who begins.
typedef struct watching {
    expected *who;
    int refs;                      // guarded by mu
    bool has_ended;                // guarded by mu
    bd_incoming *call;             // guarded by mu; NULL when somebody answers it
    struct watching *next, **link; // in `open` while `call` is set
} watching;

// An anchor that this task attends to.
typedef struct membership_server {
    bd_membership *a;
    const bd_peer *peer;
    int64_t pause_ms;
    bool has_left;        // ended or lost
    uint64_t incarnation; // 0: never met
} membership_server;

struct bd_membership {
    bd_membership_env env;
    bool is_membership_server;
    bd_mutex mu;
    bd_cond said;
    expected *expected; // [expected_count] guarded by mu
    int expected_count;
    membership_server *membership_servers; // [membership_server_count] guarded by mu
    int membership_server_count;
    watching *open; // guarded by mu
    char *reason;   // this server has ended; guarded by mu
    bool is_done;   // this task; guarded by mu
    int saying;     // Done calls in progress; guarded by mu
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

static bool is_expected(const bd_peers *peers, const bd_peer *peer)
{
    return !bd_membership_is_server(peers, peer) && strcmp(peer->job, "evaluator") != 0;
}

static void tell_changed(const bd_membership *a)
{
    a->env.changed(a->env.arg);
}

// ---- At an anchor: who attends ----

static expected *find_expected(bd_membership *a, const char *job, int task)
{
    for (int i = 0; i < a->expected_count; i++) {
        const bd_peer *p = a->expected[i].peer;
        if (p->index == task && strcmp(p->job, job) == 0) return &a->expected[i];
    }
    return NULL;
}

static void task_is_gone(void *arg)
{
    expected *e = arg;
    bd_membership *a = e->a;
    bd_mutex_lock(&a->mu);
    // A timer of an earlier loss that could not be cancelled any more has nothing to say about the last one.
    const bool is_due = bd_now_ns() >= e->gone_at_ns;
    const bool is_gone = is_due && e->watching == 0 && !e->is_done && !e->is_gone && !a->reason;
    if (is_due) e->gone_timer = 0;
    if (is_gone) e->is_gone = true;
    bd_mutex_unlock(&a->mu);
    if (!is_gone) return;
    bd_warn("%s has not come back within %.1f s: it is gone for good", e->peer->label,
            (double)a->env.gone_timeout_ms / 1000);
    tell_changed(a);
}

static void unref_locked(watching *c)
{
    if (--c->refs == 0) bd_free(c);
}

// From now on the call may be answered by the end of this server or of the call.
static void link_locked(watching *c, bd_incoming *call)
{
    bd_membership *a = c->who->a;
    c->call = call;
    c->next = a->open;
    c->link = &a->open;
    if (c->next) c->next->link = &c->next;
    a->open = c;
}

// The call for whoever answers it; NULL when somebody else does.
static bd_incoming *take_call_locked(watching *c)
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
    bd_fail(st, BRAID_CANCELLED, "The caller is gone");
    bd_incoming_reply(call, NULL, st);
}

static void watching_ended(void *arg, bool cancelled)
{
    (void)cancelled;
    watching *c = arg;
    expected *e = c->who;
    bd_membership *a = e->a;
    bd_mutex_lock(&a->mu);
    c->has_ended = true;
    bd_incoming *call = take_call_locked(c);
    const bool is_lost = --e->watching == 0 && !e->is_done && !a->reason;
    if (is_lost) {
        e->gone_at_ns = bd_deadline_after_ms(a->env.gone_timeout_ms);
        e->gone_timer = bd_timer_add(a->env.timers, e->gone_at_ns, task_is_gone, e);
    }
    unref_locked(c);
    bd_mutex_unlock(&a->mu);
    if (is_lost)
        bd_warn("Lost %s; it is given up unless it comes back within %.1f s", e->peer->label,
                (double)a->env.gone_timeout_ms / 1000);
    if (call) reply_gone(call);
}

// The task attends (again). Returns whether that is news for others.
static bool seen_locked(expected *e, uint64_t incarnation)
{
    const bool was_away = e->is_gone || e->is_done;
    if (e->was_seen && e->incarnation != incarnation) e->is_done = false; // a new life
    e->is_gone = false;
    e->was_seen = true;
    e->incarnation = incarnation;
    e->watching++;
    // Too late: it finds that somebody attends, or that the loss was a later one.
    if (e->gone_timer) bd_timer_cancel(e->a->env.timers, e->gone_timer);
    e->gone_timer = 0;
    return was_away && !e->is_done;
}

static void reply_reason(bd_incoming *call, const char *reason)
{
    Braid__LivenessResponse response = BRAID__LIVENESS_RESPONSE__INIT;
    response.reason = (char *)reason;
    bd_incoming_reply_proto(call, &response.base);
}

// Keeps a call until this server ends or the call does. Nobody else may answer it before on_end has returned;
// and after the answer this server may be freed, so that nothing follows it.
static void hold(expected *e, bd_incoming *call)
{
    bd_membership *a = e->a;
    watching *c = bd_calloc(1, sizeof *c);
    c->who = e;
    c->refs = 2;
    call->transport->on_end(call, watching_ended, c);
    bd_mutex_lock(&a->mu);
    const bool has_ended = c->has_ended;
    const char *reason = a->reason; // never changes once it is set
    if (!has_ended && !reason) link_locked(c, call);
    unref_locked(c);
    bd_mutex_unlock(&a->mu);
    if (has_ended)
        reply_gone(call);
    else if (reason)
        reply_reason(call, reason);
}

void bd_membership_serve_liveness(bd_membership *a, bd_incoming *call, const char *job, int task,
                                  uint64_t incarnation)
{
    expected *e = find_expected(a, job, task);
    if (!e) {
        BD_STATUS(st);
        bd_fail(st, BRAID_INVALID_ARGUMENT, "%s does not expect /job:%s/task:%d", a->env.peers->self->label,
                job, task);
        bd_incoming_reply_error(call, st);
        return;
    }
    bd_mutex_lock(&a->mu);
    const bool is_closed = a->reason != NULL;
    const bool is_news = !is_closed && seen_locked(e, incarnation);
    bd_mutex_unlock(&a->mu);
    if (is_closed) {
        reply_reason(call, a->reason); // never changes once it is set
        return;
    }
    bd_debug("%s attends", e->peer->label);
    if (is_news) {
        bd_info("%s is back", e->peer->label);
        tell_changed(a);
    }
    hold(e, call);
}

void bd_membership_close(bd_membership *a, const char *reason)
{
    bd_mutex_lock(&a->mu);
    if (!a->reason) a->reason = bd_strdup(reason);
    bd_mutex_unlock(&a->mu);
    for (;;) {
        bd_mutex_lock(&a->mu);
        bd_incoming *call = a->open ? take_call_locked(a->open) : NULL;
        bd_mutex_unlock(&a->mu);
        if (!call) return;
        reply_reason(call, reason);
    }
}

// ---- Done ----

static bd_rpc_options rpc_to(const bd_membership *a, const bd_peer *peer, const char *method)
{
    bd_rpc_options options = bd_peer_rpc(peer, method);
    options.cancellation = a->env.cancellation;
    return options;
}

static void done_said(void *arg, bd_message *response, const braid_status *st)
{
    (void)response;
    bd_membership *a = arg;
    if (st->code) bd_debug("Done: %s", st->message);
    bd_mutex_lock(&a->mu);
    a->saying--;
    bd_cond_broadcast(&a->said);
    bd_mutex_unlock(&a->mu);
}

void bd_membership_notify_done(bd_membership *a)
{
    const bd_peer *self = a->env.peers->self;
    bd_mutex_lock(&a->mu);
    const bool is_first = !a->is_done;
    a->is_done = true;
    if (is_first) a->saying += a->membership_server_count;
    bd_mutex_unlock(&a->mu);
    if (!is_first) return;
    Braid__NotifyDoneRequest request = BRAID__NOTIFY_DONE_REQUEST__INIT;
    request.job = (char *)self->job;
    request.task = self->index;
    for (int i = 0; i < a->membership_server_count; i++) {
        bd_rpc_options options = rpc_to(a, a->membership_servers[i].peer, BD_CLUSTER_SERVICE "NotifyDone");
        options.deadline_ns = bd_deadline_after_ms(BD_NOTIFY_DONE_TIMEOUT_MS);
        bd_rpc_start_proto(&options, &request.base, done_said, a);
    }
    tell_changed(a);
}

void bd_membership_wait_notified(bd_membership *a, int64_t deadline_ns)
{
    bd_mutex_lock(&a->mu);
    while (a->saying > 0 && !bd_cond_wait_until(&a->said, &a->mu, deadline_ns)) {}
    bd_mutex_unlock(&a->mu);
}

braid_code bd_membership_done(bd_membership *a, const char *job, int task, braid_status *st)
{
    const bd_peer *self = a->env.peers->self;
    if (strcmp(job, self->job) == 0 && task == self->index) {
        bd_membership_notify_done(a);
        return BRAID_OK;
    }
    expected *e = find_expected(a, job, task);
    if (!e)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s does not expect /job:%s/task:%d", self->label, job,
                       task);
    bd_mutex_lock(&a->mu);
    const bool is_news = !e->is_done;
    e->is_done = true;
    bd_mutex_unlock(&a->mu);
    if (is_news) {
        bd_info("%s is done", e->peer->label);
        tell_changed(a);
    }
    return BRAID_OK;
}

// ---- At another task: attending to an anchor ----

static void ask(void *arg);

static bool is_ending(const bd_membership *a)
{
    return bd_cancellation_is_cancelled(a->env.cancellation);
}

static void pause_and_ask(membership_server *to)
{
    to->pause_ms = bd_min(bd_max(to->pause_ms * 2, PAUSE_MIN_MS), PAUSE_MAX_MS);
    bd_timer_add(to->a->env.timers, bd_deadline_after_ms(to->pause_ms), ask, to);
}

// The anchor has ended, or the connection has.
static void membership_server_left(membership_server *to)
{
    bd_membership *a = to->a;
    bd_mutex_lock(&a->mu);
    to->has_left = true;
    bd_mutex_unlock(&a->mu);
    tell_changed(a);
    pause_and_ask(to);
}

static void watch_done(void *arg, bd_message *response, const braid_status *st)
{
    membership_server *to = arg;
    if (is_ending(to->a)) return;
    if (st->code == BRAID_UNIMPLEMENTED || st->code == BRAID_INVALID_ARGUMENT) {
        bd_debug("%s cannot be attended: %s", to->peer->label, st->message);
        return;
    }
    BD_STATUS(malformed);
    BD_PROTO_ARENA(arena);
    const Braid__LivenessResponse *message =
        st->code ? NULL
                 : bd_proto_unpack_message(&braid__liveness_response__descriptor, response, arena, malformed);
    if (message)
        bd_info("%s has ended: %s", to->peer->label, message->reason);
    else
        bd_warn("Lost %s: %s", to->peer->label, st->code ? st->message : malformed->message);
    membership_server_left(to);
}

static void watch(membership_server *to)
{
    const bd_membership *a = to->a;
    const bd_peer *self = a->env.peers->self;
    Braid__LivenessRequest request = BRAID__LIVENESS_REQUEST__INIT;
    request.job = (char *)self->job;
    request.task = self->index;
    request.incarnation = a->env.incarnation;
    const bd_rpc_options options = rpc_to(a, to->peer, BD_CLUSTER_SERVICE "Liveness");
    bd_rpc_start_proto(&options, &request.base, watch_done, to);
}

static void membership_server_is_there(membership_server *to, uint64_t incarnation)
{
    bd_membership *a = to->a;
    bd_mutex_lock(&a->mu);
    const bool was_lost = to->has_left;
    to->has_left = false;
    bd_mutex_unlock(&a->mu);
    if (was_lost)
        bd_info("%s is %s", to->peer->label,
                incarnation == to->incarnation ? "back" : "there again, restarted");
    to->incarnation = incarnation;
    to->pause_ms = 0;
    watch(to);
}

static void asked(void *arg, const bd_device_info *devices, int count, const braid_status *st)
{
    membership_server *to = arg;
    if (is_ending(to->a)) return;
    if (st->code)
        pause_and_ask(to);
    else
        membership_server_is_there(to, count > 0 ? devices[0].incarnation : 0);
}

static void ask(void *arg)
{
    membership_server *to = arg;
    bd_worker *w = to->peer->worker;
    if (!is_ending(to->a)) w->ops->get_status(w, true, to->a->env.cancellation, asked, to);
}

void bd_membership_start(bd_membership *a)
{
    for (int i = 0; i < a->membership_server_count; i++)
        ask(&a->membership_servers[i]);
}

// ---- What follows from it ----

static bool membership_server_is_over_locked(const bd_membership *a)
{
    if (!is_ps(a->env.peers->self) && !a->is_done) return false;
    for (int i = 0; i < a->expected_count; i++)
        if (!a->expected[i].is_done && !a->expected[i].is_gone) return false;
    return a->expected_count > 0 || a->is_done;
}

static bool other_is_over_locked(const bd_membership *a)
{
    for (int i = 0; i < a->membership_server_count; i++)
        if (!a->membership_servers[i].has_left) return false;
    return a->is_done;
}

bool bd_membership_is_over(bd_membership *a)
{
    bd_mutex_lock(&a->mu);
    const bool is_over =
        a->is_membership_server ? membership_server_is_over_locked(a) : other_is_over_locked(a);
    bd_mutex_unlock(&a->mu);
    return is_over;
}

bool bd_membership_has_left(bd_membership *a, const bd_peer *peer, bool *is_done)
{
    bd_mutex_lock(&a->mu);
    const expected *e = find_expected(a, peer->job, peer->index);
    *is_done = e ? e->is_done : false;
    const bool has_left = e && (e->is_done || e->is_gone);
    bd_mutex_unlock(&a->mu);
    return has_left;
}

// ---- Beginning and end ----

bd_membership *bd_membership_new(const bd_membership_env *env)
{
    bd_membership *a = bd_calloc(1, sizeof *a);
    const bd_peers *peers = env->peers;
    a->env = *env;
    a->is_membership_server = bd_membership_is_server(peers, peers->self);
    bd_mutex_init(&a->mu);
    bd_cond_init(&a->said);
    a->expected = bd_calloc((size_t)peers->count, sizeof *a->expected);
    a->membership_servers = bd_calloc((size_t)peers->count, sizeof *a->membership_servers);
    for (int i = 0; i < peers->count; i++) {
        const bd_peer *p = &peers->items[i];
        if (a->is_membership_server && is_expected(peers, p))
            a->expected[a->expected_count++] = (expected){.a = a, .peer = p};
        if (!a->is_membership_server && is_expected(peers, peers->self) && bd_membership_is_server(peers, p))
            a->membership_servers[a->membership_server_count++] = (membership_server){.a = a, .peer = p};
    }
    return a;
}

void bd_membership_free(bd_membership *a)
{
    if (!a) return;
    BD_ASSERT(!a->open);
    bd_cond_fini(&a->said);
    bd_mutex_fini(&a->mu);
    bd_free(a->expected);
    bd_free(a->membership_servers);
    bd_free(a->reason);
    bd_free(a);
}

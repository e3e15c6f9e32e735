// The calls of a task to the membership servers: it holds a liveness call to each, and notifies them when its
// work is done. For the states see membership.c.
#include "base/alloc.h"
#include "base/clock.h"
#include "base/done_notice.h"
#include "base/log.h"
#include "braid/cluster.pb-c.h"
#include "cluster/membership/membership_internal.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/rpc.h"
#include "proto/pack.h"
#include <string.h>

#define PAUSE_MIN_MS 20
#define PAUSE_MAX_MS 1000
// A healthy membership server answers NotifyDone sooner.
#define NOTIFY_TIMEOUT_MS 1000
#define REFUSALS_MAX 3

static bool is_ending(const bd_membership *m)
{
    return bd_cancellation_is_cancelled(m->env.cancellation);
}

static bd_rpc_options rpc_to(const bd_membership *m, const bd_peer *peer, const char *method)
{
    bd_rpc_options options = bd_peer_rpc(peer, method);
    options.cancellation = m->env.cancellation;
    return options;
}

// ---- Liveness calls ----

static void ask_status(void *arg);

static void pause_and_ask_status(membership_server *s)
{
    s->pause_ms = bd_min(bd_max(s->pause_ms * 2, PAUSE_MIN_MS), PAUSE_MAX_MS);
    bd_timer_add(s->m->env.timers, bd_deadline_after_ms(s->pause_ms), ask_status, s);
}

// The membership server has ended, or the connection to it is lost.
static void membership_server_left(membership_server *s, bool has_ended)
{
    bd_membership *m = s->m;
    bd_mutex_lock(&m->mu);
    s->is_held = false;
    s->has_left = true;
    s->has_ended = has_ended;
    bd_mutex_unlock(&m->mu);
    membership_report_change(m);
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
    membership_server_left(s, message != NULL);
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

// The difference is logged; a session that needs the task fails by it.
static void specification_compared(void *arg, const braid_status *st)
{
    (void)arg, (void)st;
}

static void membership_server_is_up(membership_server *s, uint64_t incarnation)
{
    bd_membership *m = s->m;
    bd_mutex_lock(&m->mu);
    const bool was_lost = s->has_left;
    s->is_held = true;
    s->has_left = s->has_ended = false;
    bd_mutex_unlock(&m->mu);
    if (was_lost)
        bd_info("%s is %s", s->peer->label,
                incarnation == s->incarnation ? "reachable again" : "reachable again, after a restart");
    s->incarnation = incarnation;
    s->pause_ms = 0;
    hold_liveness(s);
    bd_spec_check_peer(m->env.spec_check, s->peer, m->env.cancellation, specification_compared, s);
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

void membership_hold_liveness(membership_server *s)
{
    ask_status(s);
}

// ---- NotifyDone ----
//
// A call that is not answered in time is made again, because the network may be cut and the server waits for
// this task, until the time after which the server takes the task for gone. A call whose connection is cut is
// made again on a new one. A server that refuses each of a few connections, and was never silent, is not
// there.
//
// A membership server that is a worker tells the tasks that hold no liveness call, once: it may end before
// they can. One that only serves does not end before them, and does not tell them.

static void notify_done(void *arg);

static bool is_worth_another_call(membership_server *to, const braid_status *st)
{
    bd_membership *m = to->m;
    const bool is_silent = st->code == BRAID_DEADLINE_EXCEEDED;
    bd_mutex_lock(&m->mu);
    const int64_t left_ns = to->notify_deadline_ns - bd_now_ns();
    bool is_worth = !is_ending(m) && left_ns > 0 && !to->has_ended;
    const bool is_news = is_worth && is_silent && !to->was_silent;
    if (is_news) to->was_silent = true;
    if (is_worth && !is_silent)
        is_worth = st->code == BRAID_UNAVAILABLE && (++to->refusals < REFUSALS_MAX || to->was_silent);
    bd_mutex_unlock(&m->mu);
    if (is_news)
        bd_info("%s does not answer: it is told for at most %.1f s more that the work of this task is done",
                to->peer->label, (double)left_ns / 1e9);
    return is_worth;
}

static void notice_ended(bd_membership *m)
{
    bd_mutex_lock(&m->mu);
    m->notifying--;
    bd_cond_broadcast(&m->notified);
    bd_mutex_unlock(&m->mu);
}

static void done_notified(void *arg, bd_message *response, const braid_status *st)
{
    (void)response;
    membership_server *to = arg;
    bd_membership *m = to->m;
    if (st->code) bd_debug("NotifyDone: %s", st->message);
    if (is_worth_another_call(to, st)) {
        bd_timer_add(m->env.timers, bd_deadline_after_ms(PAUSE_MIN_MS), notify_done, to);
        return;
    }
    notice_ended(m);
}

static void start_notice(bd_membership *m, const bd_peer *peer, bd_call_done_fn fn, void *arg)
{
    bd_mutex_lock(&m->mu);
    const bool only_serves = m->only_serves;
    bd_mutex_unlock(&m->mu);
    const bd_peer *self = m->env.peers->self;
    Braid__NotifyDoneRequest request = BRAID__NOTIFY_DONE_REQUEST__INIT;
    request.job = (char *)self->job;
    request.task = self->index;
    request.incarnation = m->env.incarnation;
    request.only_serves = only_serves;
    bd_rpc_options options = rpc_to(m, peer, BD_CLUSTER_SERVICE "NotifyDone");
    options.deadline_ns = bd_deadline_after_ms(NOTIFY_TIMEOUT_MS);
    bd_rpc_start_proto(&options, &request.base, fn, arg);
}

static void notify_done(void *arg)
{
    const membership_server *to = arg;
    start_notice(to->m, to->peer, done_notified, arg);
}

// Of a task that holds no liveness call.
static void task_notified(void *arg, bd_message *response, const braid_status *st)
{
    (void)response, (void)st; // it may not have started yet
    notice_ended(arg);
}

static bool is_to_be_told(const expected *e)
{
    return e->open_calls == 0 && !e->is_done && !e->is_gone;
}

static void tell_expected(bd_membership *m)
{
    for (int i = 0; i < m->expected_count; i++) {
        bd_mutex_lock(&m->mu);
        const bool is_told = is_to_be_told(&m->expected[i]);
        if (is_told) m->notifying++;
        bd_mutex_unlock(&m->mu);
        if (is_told) start_notice(m, m->expected[i].peer, task_notified, m);
    }
}

// Notices to a server begin anew, while calls of earlier ones may be in progress.
static void begin_notices_locked(bd_membership *m)
{
    const int64_t deadline_ns = bd_deadline_after_ms(m->env.gone_timeout_ms);
    for (int i = 0; i < m->membership_server_count; i++) {
        membership_server *to = &m->membership_servers[i];
        to->notify_deadline_ns = deadline_ns;
        to->refusals = 0;
        to->was_silent = false;
    }
    m->notifying += m->membership_server_count;
}

void bd_membership_notify_done(bd_membership *m, bool only_serves)
{
    bd_mutex_lock(&m->mu);
    const bool is_news = !m->is_done || (m->only_serves && !only_serves);
    m->is_done = true;
    if (is_news) m->only_serves = only_serves;
    if (is_news) begin_notices_locked(m);
    bd_mutex_unlock(&m->mu);
    if (!is_news) return;
    const bd_peer *self = m->env.peers->self;
    if (strcmp(self->job, "ps") != 0 && !only_serves)
        bd_done_notice_write(self->job, self->index); // of a parameter server: server.c
    for (int i = 0; i < m->membership_server_count; i++)
        notify_done(&m->membership_servers[i]);
    if (bd_membership_works(self) && !only_serves) tell_expected(m);
    if (only_serves) membership_log_idle(m);
    membership_report_change(m);
}

void bd_membership_wait_notified(bd_membership *m)
{
    bd_mutex_lock(&m->mu);
    while (m->notifying > 0) // ends: each call has a deadline
        bd_cond_wait(&m->notified, &m->mu);
    bd_mutex_unlock(&m->mu);
}

// ---- DoneTasks ----

typedef struct done_asking {
    bd_done_tasks_fn fn;
    void *arg;
} done_asking;

static void done_tasks_answered(void *arg, bd_message *response, const braid_status *from)
{
    done_asking *a = arg;
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__DoneTasksResponse *message =
        from->code ? NULL
                   : bd_proto_unpack_message(&braid__done_tasks_response__descriptor, response, arena, st);
    const size_t count = message ? message->n_task : 0;
    bd_done_notice *done = bd_calloc(count + 1, sizeof *done);
    for (size_t i = 0; i < count; i++) {
        const Braid__NotifyDoneRequest *task = message->task[i];
        done[i] = (bd_done_notice){task->job, task->task, task->incarnation, task->only_serves};
    }
    a->fn(a->arg, done, (int)count);
    bd_free(done);
    bd_free(a);
}

void bd_membership_ask_done(bd_membership *m, bd_cancellation *cancellation, bd_done_tasks_fn fn, void *arg)
{
    const bd_peer *server = bd_membership_first_server(m->env.peers);
    if (server->is_self) {
        bd_done_notice *done;
        const int count = bd_membership_done_tasks(m, &done);
        fn(arg, done, count);
        bd_free(done);
        return;
    }
    done_asking *a = bd_malloc(sizeof *a);
    *a = (done_asking){fn, arg};
    const Braid__DoneTasksRequest request = BRAID__DONE_TASKS_REQUEST__INIT;
    bd_rpc_options options = rpc_to(m, server, BD_CLUSTER_SERVICE "DoneTasks");
    options.cancellation = cancellation;
    options.deadline_ns = bd_deadline_after_ms(NOTIFY_TIMEOUT_MS);
    bd_rpc_start_proto(&options, &request.base, done_tasks_answered, a);
}

// Monitored sessions: the sessions underneath, and what happens when one is lost.
//
// A step that ends with Aborted or Unavailable has lost a task of the cluster. The session is closed, and the
// creator makes a new one. It waits for the missing tasks for the grace time, and the chief restores the
// variables that have lost their values. Each hook's after_create_session is called again, and the step is
// run again. A step that a hook runs does not recover: its error reaches the outer step through the hook.
#include "train/sessions/monitored_session.h"

#include "base/log.h"
#include "base/wait_limits.h"
#include "train/sessions/queue_runner.h"

#define PAUSE_MS 20
#define PAUSE_DOUBLINGS_MAX 6

// ---- Losses that threads of hooks see ----

static void note_loss(braid_monitored_session *s, const braid_status *why, bool for_good)
{
    bd_mutex_lock(&s->mu);
    const bool is_first = s->lost.code == BRAID_OK;
    if (is_first) bd_status_copy(&s->lost, why);
    if (is_first) s->lost_for_good = for_good;
    bd_mutex_unlock(&s->mu);
}

void train_session_lost(braid_monitored_session *s, const braid_status *why, bool for_good)
{
    note_loss(s, why, for_good);
    braid_session_cancel(s->session); // lives until the threads of hooks have ended
}

bool train_is_recoverable(braid_code code)
{
    return code == BRAID_ABORTED || code == BRAID_UNAVAILABLE;
}

void train_session_lead(braid_monitored_session *s, bool leads)
{
    BD_STATUS(why);
    bd_fail(why, BRAID_ABORTED, "%s",
            leads ? "The chief is gone for good: this worker takes its place"
                  : "The chief is back: this worker gives its place back");
    bd_mutex_lock(&s->mu);
    s->leads_next = leads;
    bd_mutex_unlock(&s->mu);
    train_session_lost(s, why, false);
}

bool train_session_explain(braid_monitored_session *s, braid_status *st)
{
    bd_mutex_lock(&s->mu);
    if (s->lost.code) bd_status_copy(st, &s->lost);
    const bool for_good = s->lost_for_good;
    bd_mutex_unlock(&s->mu);
    return train_is_recoverable(st->code) && s->max_recoveries > 0 && !for_good;
}

// Consumers in other processes that wait for the queues of this one learn of it, unless a recovery goes on
// filling them.
void train_session_thread_stopped(void *arg, const braid_status *why)
{
    braid_monitored_session *s = arg;
    if (!why->code || !s->session) return;
    note_loss(s, why, false); // before a step can see that its queue is closed
    if (!train_is_recoverable(why->code)) train_queue_runners_cancel(s->graph, s->session);
    braid_session_cancel(s->session);
}

// ---- Opening and closing ----

static braid_code create_session(braid_monitored_session *s, int64_t timeout_ms, braid_status *st)
{
    s->request.open_timeout_ms = timeout_ms;
    s->session = s->creator->create_session(s->creator, s->graph, &s->request, st);
    if (s->request.is_hopeless) note_loss(s, st, true);
    s->leads_next = s->request.role.is_chief; // no thread of a hook is there yet
    if (s->session || st->code) return st->code;
    return bd_fail(st, BRAID_INTERNAL, "The session creator returned neither a session nor an error");
}

braid_code train_session_open(braid_monitored_session *s, int64_t timeout_ms, braid_status *st)
{
    const int64_t reached = s->global_step_value;
    braid_code code = create_session(s, timeout_ms, st);
    if (!code) code = train_read_global_step(s, st);
    if (!code && s->global_step_value < reached) s->stop = false; // the steps since are made again
    if (!code) code = train_queue_runners_start(s->graph, s->session, s->coordinator, st);
    for (size_t i = 0; i < s->hooks.len && !code; i++) {
        braid_hook *h = s->hooks.items[i];
        if (h->after_create_session) code = h->after_create_session(h, s, st);
    }
    return code;
}

// Ends the threads of the coordinator, whose calls of the session have been cancelled.
static void end_threads(braid_monitored_session *s)
{
    BD_STATUS(st);
    braid_coordinator_request_stop(s->coordinator, NULL);
    if (braid_coordinator_join(s->coordinator, s->stop_grace_ms, st) == BRAID_DEADLINE_EXCEEDED)
        bd_warn("%s", braid_status_message(st));
    braid_coordinator_clear_stop(s->coordinator);
}

void train_session_close(braid_monitored_session *s, braid_status *st)
{
    if (!s->session) return;
    braid_session_cancel(s->session);
    for (size_t i = 0; i < s->hooks.len; i++) {
        braid_hook *h = s->hooks.items[i];
        if (h->before_close_session) h->before_close_session(h, s);
    }
    end_threads(s);
    braid_session_close(s->session, st);
    s->session = NULL;
    braid_status_clear(&s->lost); // no thread of a hook is left
    s->lost_for_good = false;
    s->request.role.is_chief = s->leads_next;
}

// ---- Recovery ----

// Before a session that follows one without a step: a server that is not reachable ends each at once.
static int64_t pause_ms(const braid_monitored_session *s)
{
    const int64_t doublings = bd_min(s->recoveries - 2, PAUSE_DOUBLINGS_MAX);
    return doublings < 0 ? 0 : (int64_t)PAUSE_MS << doublings;
}

static braid_code reopen(braid_monitored_session *s, braid_status *st)
{
    int64_t grace_ms;
    if (bd_grace_ms(&grace_ms, st)) return st->code;
    BD_STATUS(ignored); // the session has failed anyway
    train_session_close(s, ignored);
    braid_coordinator_wait_for_stop(s->coordinator, pause_ms(s));
    return train_session_open(s, grace_ms, st);
}

bool train_session_recover(braid_monitored_session *s, braid_status *lost)
{
    for (;;) {
        if (s->recoveries == s->max_recoveries) {
            bd_status_prefix(lost,
                             "Lost the session %d times without a step in between: ", s->recoveries + 1);
            return false;
        }
        s->recoveries++;
        bd_warn("Lost the session at global step %lld: %s: %s. Opening another (%d of at most %d)",
                (long long)s->global_step_value, braid_code_name(lost->code), braid_status_message(lost),
                s->recoveries, s->max_recoveries);
        BD_STATUS(st);
        if (!reopen(s, st)) {
            bd_info("Training goes on at global step %lld", (long long)s->global_step_value);
            return true;
        }
        const bool may_help = train_session_explain(s, st);
        if (!may_help) bd_status_prefix(st, "After %s: ", braid_status_message(lost));
        bd_status_copy(lost, st);
        if (!may_help) return false;
    }
}

// Tasks that are TensorFlow's own, at a membership server. They hold no liveness call and do not say that
// they are done, so the server looks for them. It asks an unseen task for its status
//
//   when the task has opened a session here, as a master does that names itself (TensorFlow since 2.1)
//   when all other tasks are done
//   when sessions of masters that do not name themselves were here, and all are closed
//
// and not sooner: a connection to a task that is still to start would be refused, and steps that need it soon
// after would fail by that.
//
//   one that opened a session or has answered, and is not reached any more, has ended: it is done when its
//     sessions are closed, and gone when one is open
//   one that answers while all others are done, and that has no session, only serves them: it counts as done
//
// Each must hold for the time after which a lost task is gone (gone_timeout_ms). The sessions are those that
// masters have opened at this task.
#include "base/clock.h"
#include "base/log.h"
#include "cluster/membership/membership_internal.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/rpc.h"
#include "tensorflow/core/protobuf/worker.pb-c.h"
#include <string.h>

#define LOOKS 4             // in gone_timeout_ms
#define ANSWER_MIN_MS 1000  // is waited for an answer
#define SESSIONS_MAX 100000 // more are not counted

// ---- Sessions ----

static expected *find_master(bd_membership *m, const char *task)
{
    for (int i = 0; i < m->expected_count; i++)
        if (strcmp(m->expected[i].peer->task, task) == 0) return &m->expected[i];
    return NULL;
}

static void forget_sessions_locked(bd_membership *m, const expected *of)
{
    const char *handle;
    void *owner;
    for (size_t pos = 0; bd_map_next(&m->sessions, &pos, &handle, &owner);)
        if (owner == of) bd_map_remove(&m->sessions, handle);
}

void bd_membership_session_opened(bd_membership *m, const char *handle, const char *master,
                                  uint64_t incarnation)
{
    if (!m->is_membership_server) return;
    bd_mutex_lock(&m->mu);
    expected *e = find_master(m, master);
    if (e && e->sessions_of != incarnation) forget_sessions_locked(m, e); // the task has restarted
    if (e) e->sessions_of = incarnation;
    if (e) e->is_foreign = true; // unless it holds a liveness call
    if (!master[0]) m->has_nameless = true;
    if ((e || !master[0]) && bd_map_count(&m->sessions) < SESSIONS_MAX) bd_map_put(&m->sessions, handle, e);
    bd_mutex_unlock(&m->mu);
}

void bd_membership_session_closed(bd_membership *m, const char *handle)
{
    bd_mutex_lock(&m->mu);
    bd_map_remove(&m->sessions, handle);
    bd_mutex_unlock(&m->mu);
}

static bool is_unseen(const expected *e)
{
    return !e->was_seen && !e->is_done && !e->is_gone;
}

// Whether a session may be that of this task.
static bool has_session_locked(const bd_membership *m, const expected *e)
{
    const char *handle;
    void *owner;
    for (size_t pos = 0; bd_map_next(&m->sessions, &pos, &handle, &owner);)
        if (!owner || owner == e) return true;
    return false;
}

// ---- Looking ----

// Whether some tasks are done, and all others are gone or unseen, without a session.
static bool others_are_done_locked(const bd_membership *m)
{
    int done = 0;
    for (int i = 0; i < m->expected_count; i++) {
        const expected *e = &m->expected[i];
        done += e->is_done;
        if (!e->is_done && !e->is_gone && (!is_unseen(e) || has_session_locked(m, e))) return false;
    }
    return done > 0;
}

static bool nameless_have_left_locked(const bd_membership *m)
{
    return m->has_nameless && bd_map_count(&m->sessions) == 0;
}

static bool is_to_be_asked_locked(const bd_membership *m, const expected *e)
{
    return is_unseen(e) && !e->is_looked_for && !m->reason &&
           (e->is_foreign || others_are_done_locked(m) || nameless_have_left_locked(m));
}

static void log_end(const expected *e, bool is_done, bool answers)
{
    if (!is_done)
        bd_warn(
            "%s, which is TensorFlow's, cannot be reached, and has left a session open: it is gone for good",
            e->peer->label);
    else if (answers)
        bd_info("%s, which is TensorFlow's, has no session, and all others are done: it counts as done",
                e->peer->label);
    else
        bd_info("%s, which is TensorFlow's, has closed its sessions and ended: it counts as done",
                e->peer->label);
}

static void looked(void *arg, bd_message *response, const braid_status *st)
{
    (void)response;
    expected *e = arg;
    bd_membership *m = e->m;
    if (bd_cancellation_is_cancelled(m->env.cancellation)) return;
    const bool answers = st->code == BRAID_OK;
    bd_mutex_lock(&m->mu);
    e->is_looked_for = false;
    const bool is_new = answers && is_unseen(e) && !e->is_foreign;
    e->is_foreign = e->is_foreign || answers || nameless_have_left_locked(m);
    const bool may_end = is_unseen(e) && e->is_foreign && (!answers || others_are_done_locked(m));
    if (answers != e->answered) e->looks = 0;
    e->answered = answers;
    e->looks = may_end ? e->looks + 1 : 0;
    const bool ends = e->looks >= LOOKS && !m->reason, is_done = ends && !has_session_locked(m, e);
    if (ends) *(is_done ? &e->is_done : &e->is_gone) = true;
    if (ends) e->only_serves = is_done && answers;
    bd_mutex_unlock(&m->mu);
    if (is_new) bd_debug("%s answers, but holds no liveness call yet", e->peer->label);
    if (!ends) return;
    log_end(e, is_done, answers);
    membership_report_change(m);
}

// A task that does not answer in time cannot be reached.
static void ask(expected *e)
{
    Tensorflow__GetStatusRequest request = TENSORFLOW__GET_STATUS_REQUEST__INIT;
    bd_rpc_options options = bd_peer_rpc(e->peer, BD_WORKER_SERVICE "GetStatus");
    options.cancellation = e->m->env.cancellation;
    options.deadline_ns = bd_deadline_after_ms(bd_max(e->m->env.gone_timeout_ms / LOOKS, ANSWER_MIN_MS));
    bd_rpc_start_proto(&options, &request.base, looked, e);
}

static void look(void *arg)
{
    bd_membership *m = arg;
    if (bd_cancellation_is_cancelled(m->env.cancellation)) return;
    bool goes_on = false;
    for (int i = 0; i < m->expected_count; i++) {
        expected *e = &m->expected[i];
        bd_mutex_lock(&m->mu);
        const bool looks = is_to_be_asked_locked(m, e);
        goes_on = goes_on || (is_unseen(e) && !m->reason);
        if (looks) e->is_looked_for = true;
        bd_mutex_unlock(&m->mu);
        if (looks) ask(e);
    }
    if (goes_on) membership_look_for_foreign(m);
}

void membership_look_for_foreign(bd_membership *m)
{
    bd_timer_add(m->env.timers, bd_deadline_after_ms(bd_max(m->env.gone_timeout_ms / LOOKS, 1)), look, m);
}

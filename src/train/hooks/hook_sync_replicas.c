// The hook of synchronous training. Two threads work beside the steps of a replica.
//
// The thread "updates" of the leader applies the means of the gradients, again and again. The leader is the
// chief or, once the chief is gone for good and enough replicas are left, the first of the other replicas. A
// replica begins to lead with a new session, in which it also does the chief's other work (bootstrap, hooks),
// and gives the place back when the chief returns.
//
// The thread "watch" of each replica waits for news of the others. When the chief has started anew, whose
// updates may have been cut off in the middle, this replica starts anew, too. When too many replicas are gone
// for good, training fails. When they are done, training ends.
//
// Both end when the session is cancelled.
#include "base/alloc.h"
#include "base/log.h"
#include "base/thread.h"
#include "train/sessions/monitored_session.h"
#include "train/sessions/sync_replicas.h"

#define FIRST_START_TIMEOUT_MS 10000

typedef struct sync_hook {
    braid_hook hook;
    braid_sync_replicas *sync;
    bool is_chief;
    bool leads; // in the current session
    int num_tokens;
    braid_out num_stale;
    bool on_braid; // the servers are Braid's: they know notifications
    braid_monitored_session *session;
    bool has_stepped;              // in the current session
    bool is_updating, is_watching; // the threads are to be joined
    bd_thread updates, watch;
    braid_callable *update; // NULL at other replicas
    int64_t generation;     // of the chief's last start
} sync_hook;

static void run_updates(void *arg)
{
    sync_hook *h = arg;
    BD_STATUS(st);
    while (!braid_callable_run(h->update, NULL, NULL, NULL, st)) {}
    if (st->code == BRAID_CANCELLED) return; // the session is closed
    train_session_lost(h->session, st, false);
}

static braid_code run_op(braid_session *s, braid_op *op, braid_status *st)
{
    return op ? braid_session_run(s, &(braid_run_args){.targets = &op, .target_count = 1}, st) : BRAID_OK;
}

// ---- The watch ----

// The replicas without which there are no updates.
static int min_tasks(const braid_sync_replicas *sync)
{
    return sync->required < sync->total ? sync->required : sync->total;
}

static bool may_succeed(const sync_hook *h)
{
    return !h->is_chief && h->sync->required < h->sync->total;
}

static braid_code wait_for_news(sync_hook *h, braid_session *s, int64_t seen, int64_t timeout_ms,
                                braid_status *st)
{
    const braid_notification_wait wait = {.key = TRAIN_VARIABLES_INITIALIZED,
                                          .seen = seen,
                                          .timeout_ms = timeout_ms,
                                          .successors = may_succeed(h),
                                          .leads = h->leads,
                                          .min_tasks = min_tasks(h->sync)};
    return braid_session_wait_notification(s, &wait, &h->generation, st);
}

// Others are done: the tokens end, and with them the step that waits for one, as an input that is used up.
static void end_tokens(const sync_hook *h, braid_session *s, const braid_status *why)
{
    bd_info("Synchronous training ends: %s", braid_status_message(why));
    BD_STATUS(ignored); // closed by another replica, or the session is closed
    run_op(s, h->sync->no_more_tokens, ignored);
}

static void run_watch(void *arg)
{
    sync_hook *h = arg;
    braid_session *s = braid_monitored_session_raw(h->session);
    BD_STATUS(st);
    int64_t seen;
    do
        seen = h->generation;
    while (!wait_for_news(h, s, seen, 0, st) && h->is_chief);
    switch (st->code) {
    case BRAID_OK:
        if (may_succeed(h) && h->generation == seen) {
            train_session_lead(h->session, !h->leads);
            return;
        }
        bd_fail(st, BRAID_ABORTED, "The chief has started anew");
        train_session_lost(h->session, st, false);
        return;
    case BRAID_CANCELLED: return;
    case BRAID_UNIMPLEMENTED: return; // a server of another kind
    case BRAID_FAILED_PRECONDITION: end_tokens(h, s, st); return;
    default:
        bd_status_prefix(
            st, "Synchronous training cannot go on (`braid run --restarts N` restarts tasks, and fewer "
                "replicas_to_aggregate need fewer of them): ");
        train_session_lost(h->session, st, true);
    }
}

// ---- The hook ----

static void begin(braid_hook *hook, braid_graph *g)
{
    sync_hook *h = (sync_hook *)hook;
    if (!h->sync->update)
        braid_graph_fail(g, BRAID_FAILED_PRECONDITION,
                         "Synchronous training has no updates: build them by braid_sync_replicas_apply or "
                         "braid_sync_replicas_minimize before the session");
    if (h->sync->update) train_build_token_reset(h->sync);
    train_build_first_tokens(h->sync, h->num_tokens);
    h->num_stale = braid_sync_replicas_num_stale(h->sync);
}

// The tokens have ended when another replica has seen that others are done: training has ended for this one,
// too. (The session may be cancelled instead: then the end finds out.)
static braid_code end_at_once(const sync_hook *h, braid_status *st)
{
    bd_info("Synchronous training is over: %s", braid_status_message(st));
    braid_status_clear(st);
    braid_request_stop(h->session);
    return BRAID_OK;
}

void train_sync_hook_prepare(braid_hook *hook, train_role *role)
{
    sync_hook *h = (sync_hook *)hook;
    if (hook->begin != begin || (!h->is_chief && !may_succeed(h))) return;
    role->begin = h->sync->begin_as_chief;
    role->in_progress = h->sync->in_progress;
    role->mark = h->sync->mark;
}

static braid_code prepare_updates(sync_hook *h, braid_session *s, braid_status *st)
{
    const braid_code code = run_op(s, h->sync->first_tokens, st);
    if (code == BRAID_CANCELLED) return end_at_once(h, st);
    if (code) return code;
    const braid_signature signature = {.targets = &h->sync->update, .target_count = 1};
    h->update = braid_callable_new(s, &signature, NULL, st);
    return st->code;
}

// The updates begin with the first step: what other hooks do with the new session, a checkpoint for one, is
// of one step.
static braid_code before_run(braid_hook *hook, braid_monitored_session *session, braid_hook_request *request,
                             braid_status *st)
{
    (void)session, (void)request;
    sync_hook *h = (sync_hook *)hook;
    if (!h->update || h->is_updating) return BRAID_OK;
    h->is_updating = !bd_thread_start(&h->updates, "braid-updates", run_updates, h, st);
    return st->code;
}

static braid_code after_run(braid_hook *hook, braid_monitored_session *session, braid_tensor *const *values,
                            braid_status *st)
{
    (void)session, (void)values, (void)st;
    ((sync_hook *)hook)->has_stepped = true;
    return BRAID_OK;
}

// The generation of the chief's last start. Variables can be ready before the chief has notified it, so a
// replica waits for the first notification, lest it take it for another start. None comes after a restart of
// a parameter server that owns notifications and no variable, therefore the limit.
static braid_code find_generation(sync_hook *h, braid_session *s, braid_status *st)
{
    if (!h->leads && wait_for_news(h, s, 0, FIRST_START_TIMEOUT_MS, st) != BRAID_DEADLINE_EXCEEDED)
        return st->code;
    braid_status_clear(st);
    return wait_for_news(h, s, -1, 0, st);
}

// The news are those after this generation, and the replica begins after it was read: no start of the chief
// is missed.
static braid_code after_create_session(braid_hook *hook, braid_monitored_session *session, braid_status *st)
{
    sync_hook *h = (sync_hook *)hook;
    h->session = session;
    h->has_stepped = false;
    h->leads = h->is_chief || (may_succeed(h) && braid_monitored_session_is_chief(session));
    braid_session *s = braid_monitored_session_raw(session);
    h->on_braid = find_generation(h, s, st) != BRAID_UNIMPLEMENTED;
    if (!h->on_braid && h->sync->is_deterministic)
        bd_status_prefix(st, "Deterministic synchronous training needs servers of Braid: ");
    else if (!h->on_braid)
        braid_status_clear(st);
    if (st->code == BRAID_UNAVAILABLE && session->request.has_server) train_session_lost(session, st, true);
    if (st->code) return st->code;
    // A leader has begun before it notified the others, so that no gradient of theirs comes earlier.
    if (!h->leads && run_op(s, h->sync->begin, st)) return st->code;
    if (h->leads && prepare_updates(h, s, st)) return st->code;
    h->is_watching = !bd_thread_start(&h->watch, "braid-watch", run_watch, h, st);
    return st->code;
}

static void before_close_session(braid_hook *hook, braid_monitored_session *session)
{
    (void)session;
    sync_hook *h = (sync_hook *)hook;
    if (h->is_updating) bd_thread_join(&h->updates);
    if (h->is_watching) bd_thread_join(&h->watch);
    h->is_updating = h->is_watching = false;
    braid_callable_free(h->update);
    h->update = NULL;
}

// The number is only for the log: training that is over does not fail without it.
static void log_stale(const sync_hook *h, braid_monitored_session *session)
{
    BD_STATUS(st);
    if (!h->on_braid) return;
    braid_tensor *number = NULL;
    braid_fetch fetch = {h->num_stale, &number};
    if (braid_session_run(braid_monitored_session_raw(session),
                          &(braid_run_args){.fetches = &fetch, .fetch_count = 1}, st))
        return;
    bd_info("Synchronous training dropped %d stale gradients", *(const int32_t *)braid_tensor_data(number));
    braid_tensor_free(number);
}

// A replica that finds training over although it has made no step cannot know whether it is, or the chief is
// about to restore an earlier step and will need this replica. The watch ends when the chief is done, and
// with the session when the chief has started anew.
static bool must_wait_for_chief(const sync_hook *h)
{
    const bool is_needed = h->sync->required >= h->sync->total;
    return !h->leads && h->on_braid && !h->has_stepped && is_needed && h->is_watching;
}

static braid_code wait_for_chief(sync_hook *h, braid_monitored_session *session, braid_status *st)
{
    const int64_t seen = session->global_step_value;
    if (train_read_global_step(session, st)) return st->code; // after the generation
    const int64_t now = session->global_step_value;
    session->global_step_value = bd_max(seen, now); // the recovery finds that training has gone back
    if (now < seen)
        return bd_fail(st, BRAID_ABORTED, "The chief has restored the global step %lld", (long long)now);
    bd_thread_join(&h->watch);
    h->is_watching = false;
    train_session_explain(session, st);
    return st->code;
}

// The queue of tokens is closed: the replicas have reached the last step, or the chief has not opened it
// again yet.
static braid_code input_ended(braid_hook *hook, braid_monitored_session *session, bool *more,
                              braid_status *st)
{
    (void)more;
    sync_hook *h = (sync_hook *)hook;
    return must_wait_for_chief(h) ? wait_for_chief(h, session, st) : BRAID_OK;
}

static braid_code end(braid_hook *hook, braid_monitored_session *session, braid_status *st)
{
    sync_hook *h = (sync_hook *)hook;
    if (h->leads) log_stale(h, session);
    return must_wait_for_chief(h) ? wait_for_chief(h, session, st) : BRAID_OK;
}

static void release(braid_hook *hook)
{
    bd_free(hook);
}

bool train_is_sync_hook(const braid_hook *hook)
{
    return hook->begin == begin;
}

bool train_sync_may_lead(const braid_hook *hook)
{
    return train_is_sync_hook(hook) && may_succeed((const sync_hook *)hook);
}

braid_hook *braid_sync_replicas_hook(braid_sync_replicas *sync, bool is_chief, int num_tokens)
{
    sync_hook *h = bd_calloc(1, sizeof *h);
    h->hook = (braid_hook){.begin = begin,
                           .after_create_session = after_create_session,
                           .before_run = before_run,
                           .after_run = after_run,
                           .input_ended = input_ended,
                           .before_close_session = before_close_session,
                           .end = end,
                           .free = release};
    h->sync = sync;
    h->num_tokens = num_tokens;
    h->is_chief = is_chief;
    return &h->hook;
}

// The hook of synchronous training: begins a replica's steps, and runs the chief's updates in a thread of its
// own.
//
// The thread runs a callable, which may also run while the session is being closed, and then ends with
// Cancelled: so closing ends the thread's wait, and the hook, freed after that, joins it. When an update
// fails, the thread closes the queue of tokens: the chief's step, which waits for a token, then ends like an
// exhausted input, and the error of the update becomes the session's.
#include "base/alloc.h"
#include "base/thread.h"
#include "train/sync_replicas.h"

typedef struct sync_hook {
    braid_hook hook;
    braid_sync_replicas *sync;
    bool is_chief, has_thread;
    bd_thread thread;
    braid_callable *update, *end_tokens; // NULL before the session is open
    bd_mutex mu;
    braid_status status; // of the updates; guarded by mu
} sync_hook;

static void run_updates(void *arg)
{
    sync_hook *h = arg;
    BD_STATUS(st);
    while (!braid_callable_run(h->update, NULL, NULL, NULL, st)) {}
    if (st->code == BRAID_CANCELLED) return; // the session has been closed
    bd_mutex_lock(&h->mu);
    bd_status_copy(&h->status, st);
    bd_mutex_unlock(&h->mu);
    BD_STATUS(ignored); // an earlier error has precedence
    braid_callable_run(h->end_tokens, NULL, NULL, NULL, ignored);
}

static void begin(braid_hook *hook, braid_graph *g)
{
    const sync_hook *h = (const sync_hook *)hook;
    if (!h->sync->update)
        braid_graph_fail(g, BRAID_FAILED_PRECONDITION,
                         "Synchronous training has no updates: build them by braid_sync_replicas_apply or "
                         "braid_sync_replicas_minimize before the session");
}

static braid_code run_op(braid_session *s, braid_op *op, braid_status *st)
{
    return op ? braid_session_run(s, &(braid_run_args){.targets = &op, .target_count = 1}, st) : BRAID_OK;
}

static braid_callable *plan(braid_session *s, braid_op *op, braid_status *st)
{
    return braid_callable_new(s, &(braid_signature){.targets = &op, .target_count = 1}, NULL, st);
}

static braid_code start_updates(sync_hook *h, braid_session *s, braid_status *st)
{
    h->update = plan(s, h->sync->update, st);
    if (h->update) h->end_tokens = plan(s, h->sync->no_more_tokens, st);
    if (!h->end_tokens) return st->code;
    braid_code code = bd_thread_start(&h->thread, "braid-updates", run_updates, h, st);
    h->has_thread = !code;
    return code;
}

static braid_code after_create_session(braid_hook *hook, braid_monitored_session *session, braid_status *st)
{
    sync_hook *h = (sync_hook *)hook;
    braid_session *s = braid_monitored_session_raw(session);
    braid_code code = run_op(s, h->is_chief ? h->sync->begin_as_chief : h->sync->begin, st);
    if (code || !h->is_chief) return code;
    code = run_op(s, h->sync->first_tokens, st);
    return code ? code : start_updates(h, s, st);
}

// Training ends without an error when the tokens end; this sets the reason.
static braid_code end(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    (void)s;
    sync_hook *h = (sync_hook *)hook;
    bd_mutex_lock(&h->mu);
    bd_status_copy(st, &h->status);
    bd_mutex_unlock(&h->mu);
    return st->code;
}

static void release(braid_hook *hook)
{
    sync_hook *h = (sync_hook *)hook;
    if (h->has_thread) bd_thread_join(&h->thread);
    braid_callable_free(h->update);
    braid_callable_free(h->end_tokens);
    bd_status_fini(&h->status);
    bd_mutex_fini(&h->mu);
    bd_free(h);
}

braid_hook *braid_sync_replicas_hook(braid_sync_replicas *sync, bool is_chief)
{
    sync_hook *h = bd_calloc(1, sizeof *h);
    h->hook = (braid_hook){
        .begin = begin, .after_create_session = after_create_session, .end = end, .free = release};
    h->sync = sync;
    h->is_chief = is_chief;
    bd_mutex_init(&h->mu);
    return &h->hook;
}

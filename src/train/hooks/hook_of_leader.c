// A hook of the chief in a process that may take the chief's place: its nodes are there from the start, and
// it is called while the process is in that place.
#include "base/alloc.h"
#include "train/sessions/monitored_session.h"

typedef struct leader_hook {
    braid_hook hook;
    braid_hook *inner; // owned
} leader_hook;

// The hook to be called; NULL: none, because another process leads.
static braid_hook *called(braid_hook *hook, const braid_monitored_session *s)
{
    return braid_monitored_session_is_chief(s) ? ((leader_hook *)hook)->inner : NULL;
}

static void begin(braid_hook *hook, braid_graph *g)
{
    braid_hook *h = ((leader_hook *)hook)->inner;
    if (h->begin) h->begin(h, g);
}

static braid_code after_create_session(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    braid_hook *h = called(hook, s);
    return h && h->after_create_session ? h->after_create_session(h, s, st) : BRAID_OK;
}

static braid_code before_run(braid_hook *hook, braid_monitored_session *s, braid_hook_request *request,
                             braid_status *st)
{
    braid_hook *h = called(hook, s);
    return h && h->before_run ? h->before_run(h, s, request, st) : BRAID_OK;
}

static braid_code after_run(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                            braid_status *st)
{
    braid_hook *h = called(hook, s);
    return h && h->after_run ? h->after_run(h, s, values, st) : BRAID_OK;
}

static braid_code input_ended(braid_hook *hook, braid_monitored_session *s, bool *more, braid_status *st)
{
    braid_hook *h = called(hook, s);
    return h && h->input_ended ? h->input_ended(h, s, more, st) : BRAID_OK;
}

static void before_close_session(braid_hook *hook, braid_monitored_session *s)
{
    braid_hook *h = called(hook, s);
    if (h && h->before_close_session) h->before_close_session(h, s);
}

static braid_code end(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    braid_hook *h = called(hook, s);
    return h && h->end ? h->end(h, s, st) : BRAID_OK;
}

static void failed(braid_hook *hook, braid_monitored_session *s, const braid_status *error)
{
    braid_hook *h = called(hook, s);
    if (h && h->failed) h->failed(h, s, error);
}

static void release(braid_hook *hook)
{
    braid_hook *h = ((leader_hook *)hook)->inner;
    if (h->free) h->free(h);
    bd_free(hook);
}

braid_hook *train_hook_of_leader(braid_hook *inner)
{
    leader_hook *h = bd_calloc(1, sizeof *h);
    h->hook = (braid_hook){.begin = begin,
                           .after_create_session = after_create_session,
                           .before_run = before_run,
                           .after_run = after_run,
                           .before_close_session = before_close_session,
                           .end = end,
                           .failed = failed,
                           .free = release,
                           .input_ended = input_ended};
    h->inner = inner;
    return &h->hook;
}

// The hook that feeds each step what a function gives.
#include "base/alloc.h"
#include "train/sessions/monitored_session.h"
#include <braid/hooks.h>

typedef struct feed_fn {
    braid_hook hook;
    braid_code (*fn)(braid_hook_request *request, void *arg, braid_status *st);
    void *arg;
} feed_fn;

static braid_code before_run(braid_hook *hook, braid_monitored_session *s, braid_hook_request *request,
                             braid_status *st)
{
    (void)s;
    const feed_fn *h = (const feed_fn *)hook;
    return h->fn(request, h->arg, st);
}

static void release(braid_hook *hook)
{
    bd_free(hook);
}

braid_hook *braid_feed_fn(braid_code (*fn)(braid_hook_request *request, void *arg, braid_status *status),
                          void *arg)
{
    feed_fn *h = bd_calloc(1, sizeof *h);
    h->hook = (braid_hook){.before_run = before_run, .free = release};
    h->fn = fn;
    h->arg = arg;
    return &h->hook;
}

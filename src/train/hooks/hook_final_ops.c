// The hook that fetches outputs when training has ended.
#include "base/alloc.h"
#include "base/array.h"
#include "train/sessions/monitored_session.h"
#include <braid/hooks.h>

typedef struct final_ops {
    braid_hook hook;
    BD_ARRAY(braid_fetch) fetches;
    BD_ARRAY(braid_feed) feeds;
} final_ops;

static braid_code end(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    final_ops *h = (final_ops *)hook;
    const braid_run_args args = {.fetches = h->fetches.items,
                                 .fetch_count = (int)h->fetches.len,
                                 .feeds = h->feeds.items,
                                 .feed_count = (int)h->feeds.len};
    return braid_session_run(braid_monitored_session_raw(s), &args, st);
}

static void release(braid_hook *hook)
{
    final_ops *h = (final_ops *)hook;
    bd_array_free(&h->fetches);
    bd_array_free(&h->feeds);
    bd_free(hook);
}

braid_hook *braid_final_ops(const braid_fetch *fetches, const braid_feed *feeds)
{
    final_ops *h = bd_calloc(1, sizeof *h);
    h->hook = (braid_hook){.end = end, .free = release};
    for (const braid_fetch *f = fetches; f && f->out.op; f++)
        bd_array_push(&h->fetches, *f);
    for (const braid_feed *f = feeds; f && f->out.op; f++)
        bd_array_push(&h->feeds, *f);
    return &h->hook;
}

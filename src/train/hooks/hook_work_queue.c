// The hook of a work queue: it takes a share before a step that has none, and finishes it when the step's
// input has ended. A thread runs the op by which the queue's task knows that this process is there.
#include "base/alloc.h"
#include "base/log.h"
#include "base/random.h"
#include "train/hooks/work_queue.h"
#include "train/sessions/monitored_session.h"
#include "train/sessions/sync_replicas.h"

#define NO_SHARE (-1)

typedef struct work_hook {
    braid_hook hook;
    braid_work_queue *queue;
    braid_iterator iterator;
    braid_session *session;
    int64_t member; // of this session
    int64_t share;
    bool has_stepped; // in this share
    int64_t empty;    // shares without a step, one after another
} work_hook;

static void begin(braid_hook *hook, braid_graph *g)
{
    const work_hook *h = (const work_hook *)hook;
    if (!h->queue || !h->iterator.initializer)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "The hook of a work queue has no %s",
                         h->queue ? "iterator" : "queue");
}

// Runs `target` with the member and, unless it is NO_SHARE, the share.
static braid_code run(const work_hook *h, braid_op *target, int64_t share, int64_t *taken, braid_status *st)
{
    braid_tensor *member = braid_tensor_int64(h->member), *number = braid_tensor_int64(share), *value = NULL;
    const braid_feed feeds[] = {{h->queue->member, member}, {h->queue->share, number}};
    const braid_fetch fetch = {{target, 0}, &value};
    const braid_run_args args = {.feeds = feeds,
                                 .feed_count = share == NO_SHARE ? 1 : 2,
                                 .fetches = &fetch,
                                 .fetch_count = taken != NULL,
                                 .targets = &target,
                                 .target_count = !taken};
    if (!braid_session_run(h->session, &args, st) && taken)
        *taken = *(const int64_t *)braid_tensor_data(value);
    braid_tensor_free(value);
    braid_tensor_free(number);
    braid_tensor_free(member);
    return st->code;
}

// Ends with the session.
static braid_code be_member(braid_coordinator *coordinator, void *arg, braid_status *st)
{
    (void)coordinator;
    const work_hook *h = arg;
    return run(h, h->queue->join, NO_SHARE, NULL, st);
}

static braid_code after_create_session(braid_hook *hook, braid_monitored_session *s, braid_status *st)
{
    work_hook *h = (work_hook *)hook;
    for (size_t i = 0; i < s->hooks.len; i++)
        if (train_is_sync_hook(s->hooks.items[i]))
            return bd_fail(st, BRAID_FAILED_PRECONDITION,
                           "A work queue is for asynchronous training: a replica that waits for the share of "
                           "another would hold up the steps that the other needs");
    h->session = braid_monitored_session_raw(s);
    h->share = NO_SHARE;
    h->member = (int64_t)(bd_random_u64() | 1); // not 0
    return braid_coordinator_start(braid_monitored_session_coordinator(s), "braid-work-queue", be_member, h,
                                   st);
}

// Sets the iterator to the beginning of the share.
static braid_code begin_share(work_hook *h, braid_status *st)
{
    const braid_work_queue *q = h->queue;
    const char *text = q->names ? q->names[h->share] : "";
    braid_tensor *name = braid_tensor_string(text), *number = braid_tensor_int64(h->share);
    const braid_feed feeds[] = {{q->name, name}, {q->number, number}};
    braid_session_run(
        h->session,
        &(braid_run_args){
            .feeds = feeds, .feed_count = 2, .targets = &h->iterator.initializer, .target_count = 1},
        st);
    braid_tensor_free(name);
    braid_tensor_free(number);
    return st->code;
}

static braid_code before_run(braid_hook *hook, braid_monitored_session *s, braid_hook_request *request,
                             braid_status *st)
{
    (void)s, (void)request;
    work_hook *h = (work_hook *)hook;
    if (h->share != NO_SHARE) return BRAID_OK;
    int64_t share = NO_SHARE;
    if (run(h, h->queue->take, NO_SHARE, &share, st)) return st->code;
    if (share < 0 || share >= h->queue->count)
        return bd_fail(st, BRAID_INTERNAL, "The work queue gave share %lld of %lld", (long long)share,
                       (long long)h->queue->count);
    h->share = share;
    h->has_stepped = false;
    bd_debug("Share %lld: %s", (long long)share, h->queue->names ? h->queue->names[share] : "");
    return begin_share(h, st);
}

static braid_code after_run(braid_hook *hook, braid_monitored_session *s, braid_tensor *const *values,
                            braid_status *st)
{
    (void)s, (void)values, (void)st;
    ((work_hook *)hook)->has_stepped = true;
    return BRAID_OK;
}

static braid_code input_ended(braid_hook *hook, braid_monitored_session *s, bool *more, braid_status *st)
{
    (void)s;
    work_hook *h = (work_hook *)hook;
    if (h->share == NO_SHARE) return BRAID_OK; // the queue itself has ended
    h->empty = h->has_stepped ? 0 : h->empty + 1;
    if (h->empty > h->queue->count)
        return bd_fail(
            st, BRAID_FAILED_PRECONDITION,
            "None of the %lld shares of the work queue gives a step: its input is at the end at once",
            (long long)h->queue->count);
    if (run(h, h->queue->finish, h->share, NULL, st)) return st->code;
    h->share = NO_SHARE;
    *more = true;
    return BRAID_OK;
}

static void release(braid_hook *hook)
{
    bd_free(hook);
}

braid_hook *braid_work_queue_hook(braid_work_queue *queue, braid_iterator iterator)
{
    work_hook *h = bd_calloc(1, sizeof *h);
    h->hook = (braid_hook){.begin = begin,
                           .after_create_session = after_create_session,
                           .before_run = before_run,
                           .after_run = after_run,
                           .input_ended = input_ended,
                           .free = release};
    h->queue = queue;
    h->iterator = iterator;
    h->share = NO_SHARE;
    return &h->hook;
}

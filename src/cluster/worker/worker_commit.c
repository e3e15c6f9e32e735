// The end of an operation of a replicated task: the caller is not called back before the task's standby has
// all changes that the operation may have made or seen. An operation that has failed does not wait.
#include "base/alloc.h"
#include "base/slab.h"
#include "cluster/worker/local_worker_internal.h"

typedef struct committing {
    const bd_local_worker *w;
    bd_worker_done_fn fn;
    void *arg;
} committing;

static void commit_then_call(void *arg, const braid_status *st)
{
    const committing c = *(committing *)arg;
    bd_slab_free(arg);
    if (st->code)
        c.fn(c.arg, st);
    else
        c.w->commit(c.w->commit_arg, c.fn, c.arg);
}

void bd_worker_commit_before(const bd_local_worker *w, bd_worker_done_fn *fn, void **arg)
{
    if (!w->commit || !*fn) return;
    committing *c = bd_slab_alloc(sizeof *c);
    *c = (committing){w, *fn, *arg};
    *fn = commit_then_call;
    *arg = c;
}

void bd_local_worker_set_commit(bd_local_worker *w, bd_worker_commit_fn commit, void *arg)
{
    w->commit = commit;
    w->commit_arg = arg;
}

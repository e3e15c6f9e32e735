// Work queues: their variable and their nodes. The op family _WorkQueue hands the shares out, and
// hook_work_queue.c calls it.
#include "train/hooks/work_queue.h"

#include "base/alloc.h"
#include "train/common/build.h"
#include <string.h>

static void free_queue(void *p)
{
    braid_work_queue *q = p;
    for (int64_t i = 0; q->names && i < q->count; i++)
        bd_free(q->names[i]);
    bd_free(q->names);
    bd_free(q);
}

static bool is_valid(braid_graph *g, const char *const *shares, int64_t count,
                     const braid_work_queue_options *o)
{
    if (count < 1)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A work queue of %lld shares", (long long)count);
    else if (o->num_epochs < 0)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A work queue of %lld epochs", (long long)o->num_epochs);
    for (int64_t i = 0; shares && i < count; i++)
        if (!shares[i])
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Share %lld of a work queue is NULL", (long long)i);
    return braid_graph_status(g, NULL) == BRAID_OK;
}

// A value that is fed while the iterator is set to a share. The session sets it once before that.
static braid_out fed(braid_graph *g, const char *name, braid_tensor *unset)
{
    braid_op_desc *d = braid_op_begin(g, "PlaceholderWithDefault", name);
    braid_op_input(d, braid_const(g, NULL, unset));
    braid_op_attr_shape(d, "shape", (braid_shape){0});
    braid_tensor_free(unset);
    return braid_op_end_out(d);
}

// A node on the queue's task, on the variable and the given scalars.
static braid_op_desc *begin_on(braid_graph *g, const braid_work_queue *q, const char *op_type,
                               const char *name, braid_out share)
{
    braid_op_desc *d = braid_op_begin(g, op_type, name);
    braid_op_input(d, q->finished);
    braid_op_input(d, q->member);
    if (share.op) braid_op_input(d, share);
    braid_op_attr_string(d, "shared_name", braid_op_name(q->finished.op));
    return d;
}

static void build(braid_graph *g, braid_work_queue *q, const braid_work_queue_options *o)
{
    q->name = fed(g, "share_name", braid_tensor_string(""));
    q->number = fed(g, "share_number", braid_tensor_int64(0));
    q->member = braid_placeholder(g, "member", BRAID_INT64, (braid_shape){0});
    q->share = braid_placeholder(g, "share", BRAID_INT64, (braid_shape){0});
    braid_tensor *zeros = braid_tensor_new(BRAID_INT64, BRAID_SHAPE(q->count), NULL);
    memset(braid_tensor_data(zeros), 0, (size_t)q->count * sizeof(int64_t));
    q->finished = braid_variable_of(g, "finished", zeros, false).ref;
    braid_tensor_free(zeros);
    if (!q->finished.op) return;
    braid_push_colocate(g, q->finished.op);
    q->join = braid_op_end(begin_on(g, q, "_WorkQueueJoin", "join", BRAID_NONE));
    braid_op_desc *take = begin_on(g, q, "_WorkQueueTake", "take", BRAID_NONE);
    braid_op_attr_int(take, "num_epochs", o->num_epochs);
    braid_op_attr_bool(take, "shuffle", !o->in_order);
    braid_op_attr_int(take, "seed", o->seed);
    q->take = braid_op_end(take);
    q->finish = braid_op_end(begin_on(g, q, "_WorkQueueFinish", "finish", q->share));
    braid_pop_colocate(g);
}

braid_work_queue *braid_work_queue_new(braid_graph *g, const char *const *shares, int64_t count,
                                       const braid_work_queue_options *options)
{
    static const braid_work_queue_options defaults;
    const braid_work_queue_options *o = options ? options : &defaults;
    if (!is_valid(g, shares, count, o)) return NULL;
    braid_work_queue *q = bd_calloc(1, sizeof *q);
    braid_graph_own(g, q, free_queue);
    q->count = count;
    q->names = shares ? bd_calloc((size_t)count, sizeof *q->names) : NULL;
    for (int64_t i = 0; shares && i < count; i++)
        q->names[i] = bd_strdup(shares[i]);
    braid_push_name_scope(g, o->name ? o->name : "work_queue");
    build(g, q, o);
    braid_pop_name_scope(g);
    return braid_graph_status(g, NULL) ? NULL : q;
}

braid_out braid_work_queue_share(const braid_work_queue *q)
{
    return q ? q->name : BRAID_NONE;
}

braid_out braid_work_queue_number(const braid_work_queue *q)
{
    return q ? q->number : BRAID_NONE;
}

braid_out braid_work_queue_finished(const braid_work_queue *q)
{
    return q ? q->finished : BRAID_NONE;
}

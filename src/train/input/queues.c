// Queues: their nodes.
#include <braid/queues.h>

#include "base/alloc.h"
#include "train/common/build.h"
#include "train/input/input_queues.h"
#include <string.h>

typedef struct queue_kind {
    const char *op_type, *name;
    bool is_random, pads, is_priority;
} queue_kind;

static bool options_are_valid(braid_graph *g, const queue_kind *kind, const braid_queue_options *o)
{
    const char *op_type = kind->op_type;
    if (!o || o->count < (kind->is_priority ? 0 : 1) || (o->count > 0 && !o->dtypes))
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: its elements have no components", op_type);
    else if (o->capacity < 0 || o->min_after_dequeue < 0)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: a capacity of %d, %d to stay", op_type, o->capacity,
                         o->min_after_dequeue);
    else if (o->capacity && o->min_after_dequeue >= o->capacity)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "%s: a capacity of %d is not above the %d elements that stay", op_type, o->capacity,
                         o->min_after_dequeue);
    else if (kind->pads && !o->shapes)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: its components have no shapes", op_type);
    for (int i = 0; kind->pads && o && o->shapes && i < o->count; i++)
        if (o->shapes[i].rank < 0)
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: the shape of component %d has no known rank",
                             op_type, i);
    return braid_graph_status(g, NULL) == BRAID_OK;
}

// The value of a queue, whose arrays of `count` components the graph owns.
static braid_queue queue_of(braid_graph *g, braid_out handle, int count, braid_dtype **dtypes,
                            braid_shape **shapes)
{
    *dtypes = bd_calloc((size_t)count, sizeof **dtypes);
    *shapes = bd_calloc((size_t)count, sizeof **shapes);
    braid_graph_own(g, *dtypes, bd_free);
    braid_graph_own(g, *shapes, bd_free);
    return (braid_queue){handle, count, *dtypes, *shapes};
}

static braid_queue new_queue(braid_graph *g, const queue_kind *kind, const braid_queue_options *o)
{
    if (!options_are_valid(g, kind, o)) return (braid_queue){0};
    braid_op_desc *d = braid_op_begin(g, kind->op_type, o->name ? o->name : kind->name);
    braid_op_attr_type_list(d, "component_types", o->dtypes, o->count);
    if (o->shapes || kind->is_priority)
        braid_op_attr_shape_list(d, "shapes", o->shapes, o->shapes ? o->count : 0);
    braid_op_attr_int(d, "capacity", o->capacity ? o->capacity : -1);
    if (o->shared_name) braid_op_attr_string(d, "shared_name", o->shared_name);
    if (kind->is_random) braid_op_attr_int(d, "min_after_dequeue", o->min_after_dequeue);
    if (kind->is_random && o->seed) braid_op_attr_int(d, "seed2", o->seed);
    const braid_out handle = braid_op_end_out(d);
    if (!handle.op) return (braid_queue){0};
    const int before = kind->is_priority; // the priority, an int64 scalar
    braid_dtype *dtypes;
    braid_shape *shapes;
    const braid_queue q = queue_of(g, handle, before + o->count, &dtypes, &shapes);
    dtypes[0] = BRAID_INT64;
    for (int i = 0; i < o->count; i++) {
        dtypes[before + i] = o->dtypes[i];
        shapes[before + i] = o->shapes ? o->shapes[i] : BRAID_SHAPE_UNKNOWN;
    }
    return q;
}

braid_queue braid_fifo_queue(braid_graph *g, const braid_queue_options *o)
{
    return new_queue(g, &(queue_kind){.op_type = "FIFOQueueV2", .name = "fifo_queue"}, o);
}

braid_queue braid_random_shuffle_queue(braid_graph *g, const braid_queue_options *o)
{
    const queue_kind kind = {
        .op_type = "RandomShuffleQueueV2", .name = "random_shuffle_queue", .is_random = true};
    return new_queue(g, &kind, o);
}

braid_queue braid_padding_fifo_queue(braid_graph *g, const braid_queue_options *o)
{
    const queue_kind kind = {.op_type = "PaddingFIFOQueueV2", .name = "padding_fifo_queue", .pads = true};
    return new_queue(g, &kind, o);
}

braid_queue braid_priority_queue(braid_graph *g, const braid_queue_options *o)
{
    const queue_kind kind = {.op_type = "PriorityQueueV2", .name = "priority_queue", .is_priority = true};
    return new_queue(g, &kind, o);
}

// ---- Choosing a queue ----

// What two shapes have in common.
static braid_shape common_shape(braid_shape a, braid_shape b)
{
    if (a.rank < 0 || a.rank != b.rank) return BRAID_SHAPE_UNKNOWN;
    for (int i = 0; i < a.rank; i++)
        if (a.dims[i] != b.dims[i]) a.dims[i] = -1;
    return a;
}

static bool queues_match(braid_graph *g, const braid_queue *queues, int count)
{
    if (!queues || count < 1)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A choice among %d queues", queues ? count : 0);
    for (int i = 0; queues && i < count; i++) {
        const braid_queue *q = &queues[i];
        if (!q->handle.op)
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Queue %d of a choice is nothing", i);
        else if (i > 0 && (q->count != queues[0].count ||
                           memcmp(q->dtypes, queues[0].dtypes, (size_t)q->count * sizeof *q->dtypes) != 0))
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                             "Queues '%s' and '%s' of a choice have components of different types",
                             braid_op_name(queues[0].handle.op), braid_op_name(q->handle.op));
        if (braid_graph_status(g, NULL)) return false;
    }
    return braid_graph_status(g, NULL) == BRAID_OK;
}

braid_queue braid_queue_select(braid_graph *g, braid_out index, const braid_queue *queues, int count)
{
    if (!queues_match(g, queues, count)) return (braid_queue){0};
    braid_out *handles = bd_calloc((size_t)count, sizeof *handles);
    for (int i = 0; i < count; i++)
        handles[i] = queues[i].handle;
    braid_op_desc *d = braid_op_begin(g, "Pack", "stack");
    braid_op_input_list(d, handles, count);
    bd_free(handles);
    const braid_out handle = train_gather(g, NULL, braid_op_end_out(d), index);
    if (!handle.op) return (braid_queue){0};
    braid_dtype *dtypes;
    braid_shape *shapes;
    const braid_queue q = queue_of(g, handle, queues[0].count, &dtypes, &shapes);
    for (int i = 0; i < q.count; i++) {
        dtypes[i] = queues[0].dtypes[i];
        shapes[i] = queues[0].shapes[i];
        for (int k = 1; k < count; k++)
            shapes[i] = common_shape(shapes[i], queues[k].shapes[i]);
    }
    return q;
}

// ---- Using a queue ----

static bool is_queue(braid_graph *g, braid_queue q, const char *op_type)
{
    if (!q.handle.op) braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: its queue is nothing", op_type);
    return q.handle.op;
}

// The name QUEUE_SUFFIX; the caller frees it.
static char *name_of_use(braid_queue q, const char *suffix)
{
    const char *path = braid_op_name(q.handle.op), *slash = strrchr(path, '/');
    return bd_asprintf("%s_%s", slash ? slash + 1 : path, suffix);
}

// Begins the node QUEUE_SUFFIX; NULL when the queue is nothing.
static braid_op_desc *begin_use(braid_graph *g, braid_queue q, const char *op_type, const char *suffix)
{
    if (!is_queue(g, q, op_type)) return NULL;
    char *name = name_of_use(q, suffix);
    braid_op_desc *d = braid_op_begin(g, op_type, name);
    bd_free(name);
    braid_op_input(d, q.handle);
    return d;
}

static braid_op *enqueue(braid_graph *g, braid_queue q, const char *op_type, const char *suffix,
                         const braid_out *components)
{
    braid_op_desc *d = begin_use(g, q, op_type, suffix);
    braid_op_input_list(d, components, q.count);
    return braid_op_end(d);
}

braid_op *braid_queue_enqueue(braid_graph *g, braid_queue q, const braid_out *components)
{
    return enqueue(g, q, "QueueEnqueueV2", "enqueue", components);
}

braid_op *braid_queue_enqueue_many(braid_graph *g, braid_queue q, const braid_out *components)
{
    return enqueue(g, q, "QueueEnqueueManyV2", "EnqueueMany", components);
}

static bool can_dequeue(braid_graph *g, braid_queue q, const char *op_type, braid_out *outs)
{
    if (!outs) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: its array of results is NULL", op_type);
        return false;
    }
    memset(outs, 0, (size_t)q.count * sizeof *outs);
    return is_queue(g, q, op_type);
}

// The outputs, whose shapes are those of the components, behind `rows` unless `is_batch` is false.
static void outputs(braid_op *op, braid_queue q, bool is_batch, int64_t rows, braid_out *outs)
{
    for (int i = 0; op && i < q.count; i++) {
        outs[i] = braid_output(op, i);
        braid_shape shape = q.shapes[i];
        if (shape.rank < 0 || shape.rank == BRAID_RANK_MAX) continue;
        if (is_batch) {
            memmove(shape.dims + 1, shape.dims, (size_t)shape.rank++ * sizeof *shape.dims);
            shape.dims[0] = rows;
        }
        braid_set_shape(outs[i], shape);
    }
}

void braid_queue_dequeue(braid_graph *g, braid_queue q, braid_out *outs)
{
    if (!can_dequeue(g, q, "QueueDequeueV2", outs)) return;
    braid_op_desc *d = begin_use(g, q, "QueueDequeueV2", "Dequeue");
    braid_op_attr_type_list(d, "component_types", q.dtypes, q.count);
    outputs(braid_op_end(d), q, false, 0, outs);
}

void train_dequeue(braid_graph *g, braid_queue q, const char *name, int n, bool up_to, braid_out *outs)
{
    const char *op_type = up_to ? "QueueDequeueUpToV2" : "QueueDequeueManyV2";
    if (!can_dequeue(g, q, op_type, outs)) return;
    if (n < 1) braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: %d elements", op_type, n);
    char *made = name ? NULL : name_of_use(q, up_to ? "DequeueUpTo" : "DequeueMany");
    const char *scope = braid_push_name_scope(g, name ? name : made);
    bd_free(made);
    const braid_out count = braid_const_int32(g, "n", n);
    braid_op_desc *d = braid_op_begin(g, op_type, scope);
    braid_op_input(d, q.handle);
    braid_op_input(d, count);
    braid_op_attr_type_list(d, "component_types", q.dtypes, q.count);
    outputs(braid_op_end(d), q, true, up_to ? -1 : n, outs);
    braid_pop_name_scope(g);
}

void braid_queue_dequeue_many(braid_graph *g, braid_queue q, int n, braid_out *outs)
{
    train_dequeue(g, q, NULL, n, false, outs);
}

void braid_queue_dequeue_up_to(braid_graph *g, braid_queue q, int n, braid_out *outs)
{
    train_dequeue(g, q, NULL, n, true, outs);
}

braid_op *braid_queue_close(braid_graph *g, braid_queue q, bool cancel_pending_enqueues)
{
    braid_op_desc *d = begin_use(g, q, "QueueCloseV2", "Close");
    braid_op_attr_bool(d, "cancel_pending_enqueues", cancel_pending_enqueues);
    return braid_op_end(d);
}

braid_out braid_queue_size(braid_graph *g, braid_queue q)
{
    return braid_op_end_out(begin_use(g, q, "QueueSizeV2", "Size"));
}

braid_out braid_queue_is_closed(braid_graph *g, braid_queue q)
{
    return braid_op_end_out(begin_use(g, q, "QueueIsClosedV2", "Is_Closed"));
}

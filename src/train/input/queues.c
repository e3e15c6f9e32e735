// Queues and readers: their nodes.
#include <braid/queues.h>

#include "base/alloc.h"
#include "train/common/build.h"
#include <string.h>

static void *keep(braid_graph *g, const void *data, size_t size)
{
    void *kept = bd_memdup(data, size);
    braid_graph_own(g, kept, bd_free);
    return kept;
}

static bool options_are_valid(braid_graph *g, const char *op_type, const braid_queue_options *o)
{
    if (!o || !o->dtypes || o->count < 1)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: its elements have no components", op_type);
    else if (o->capacity < 0 || o->min_after_dequeue < 0)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: a capacity of %d, %d to stay", op_type, o->capacity,
                         o->min_after_dequeue);
    else if (o->capacity && o->min_after_dequeue >= o->capacity)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "%s: a capacity of %d is not above the %d elements that stay", op_type, o->capacity,
                         o->min_after_dequeue);
    return braid_graph_status(g, NULL) == BRAID_OK;
}

static braid_queue new_queue(braid_graph *g, const char *op_type, const char *name,
                             const braid_queue_options *o)
{
    if (!options_are_valid(g, op_type, o)) return (braid_queue){0};
    const bool is_random = strcmp(op_type, "RandomShuffleQueueV2") == 0;
    braid_op_desc *d = braid_op_begin(g, op_type, o->name ? o->name : name);
    braid_op_attr_type_list(d, "component_types", o->dtypes, o->count);
    if (o->shapes) braid_op_attr_shape_list(d, "shapes", o->shapes, o->count);
    braid_op_attr_int(d, "capacity", o->capacity ? o->capacity : -1);
    if (o->shared_name) braid_op_attr_string(d, "shared_name", o->shared_name);
    if (is_random) braid_op_attr_int(d, "min_after_dequeue", o->min_after_dequeue);
    if (is_random && o->seed) braid_op_attr_int(d, "seed2", o->seed);
    const braid_out handle = braid_op_end_out(d);
    if (!handle.op) return (braid_queue){0};
    braid_shape *shapes = bd_calloc((size_t)o->count, sizeof *shapes);
    for (int i = 0; i < o->count; i++)
        shapes[i] = o->shapes ? o->shapes[i] : BRAID_SHAPE_UNKNOWN;
    braid_graph_own(g, shapes, bd_free);
    return (braid_queue){handle, o->count, keep(g, o->dtypes, (size_t)o->count * sizeof *o->dtypes), shapes};
}

braid_queue braid_fifo_queue(braid_graph *g, const braid_queue_options *o)
{
    return new_queue(g, "FIFOQueueV2", "fifo_queue", o);
}

braid_queue braid_random_shuffle_queue(braid_graph *g, const braid_queue_options *o)
{
    return new_queue(g, "RandomShuffleQueueV2", "random_shuffle_queue", o);
}

// ---- Using a queue ----

// Begins the node QUEUE_SUFFIX, colocated with its queue; NULL when the queue is nothing.
static braid_op_desc *begin_use(braid_graph *g, braid_queue q, const char *op_type, const char *suffix)
{
    if (!q.handle.op) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: its queue is nothing", op_type);
        return NULL;
    }
    const char *path = braid_op_name(q.handle.op), *slash = strrchr(path, '/');
    char *name = bd_asprintf("%s_%s", slash ? slash + 1 : path, suffix);
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

// `n` 0: a single element.
static void dequeue(braid_graph *g, braid_queue q, const char *op_type, const char *suffix, int n,
                    braid_out *outs)
{
    if (!outs) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: its array of results is NULL", op_type);
        return;
    }
    memset(outs, 0, (size_t)q.count * sizeof *outs);
    if (n < 0) braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: %d elements", op_type, n);
    braid_op_desc *d = begin_use(g, q, op_type, suffix);
    if (!d) return;
    if (n) braid_op_input(d, braid_const_int32(g, "n", n));
    braid_op_attr_type_list(d, "component_types", q.dtypes, q.count);
    braid_op *op = braid_op_end(d);
    for (int i = 0; op && i < q.count; i++)
        outs[i] = braid_output(op, i);
}

void braid_queue_dequeue(braid_graph *g, braid_queue q, braid_out *outs)
{
    dequeue(g, q, "QueueDequeueV2", "Dequeue", 0, outs);
}

void braid_queue_dequeue_many(braid_graph *g, braid_queue q, int n, braid_out *outs)
{
    dequeue(g, q, "QueueDequeueManyV2", "DequeueMany", n ? n : -1, outs);
}

void braid_queue_dequeue_up_to(braid_graph *g, braid_queue q, int n, braid_out *outs)
{
    dequeue(g, q, "QueueDequeueUpToV2", "DequeueUpTo", n ? n : -1, outs);
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

// ---- Readers ----

braid_out braid_tf_record_reader(braid_graph *g, const char *compression)
{
    braid_op_desc *d = braid_op_begin(g, "TFRecordReaderV2", NULL);
    braid_op_attr_string(d, "compression_type", compression ? compression : "");
    return braid_op_end_out(d);
}

braid_out braid_text_line_reader(braid_graph *g, int skip_header_lines)
{
    braid_op_desc *d = braid_op_begin(g, "TextLineReaderV2", NULL);
    braid_op_attr_int(d, "skip_header_lines", skip_header_lines);
    return braid_op_end_out(d);
}

braid_out braid_whole_file_reader(braid_graph *g)
{
    return braid_op_end_out(braid_op_begin(g, "WholeFileReaderV2", NULL));
}

braid_read braid_reader_read(braid_graph *g, braid_out reader, braid_queue files)
{
    const braid_out inputs[] = {reader, files.handle};
    braid_op *op = braid_op_add(g, "ReaderReadV2", NULL, inputs, 2);
    return op ? (braid_read){braid_output(op, 0), braid_output(op, 1)} : (braid_read){0};
}

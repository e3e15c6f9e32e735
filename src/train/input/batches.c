// Batches: queues of single elements, from which many are taken at once (tf.train.batch and others).
#include "train/input/input_queues.h"

#include "base/alloc.h"
#include "train/common/build.h"
#include <braid/control.h>
#include <string.h>

typedef struct batching {
    const braid_out *tensors; // [lists][count]
    int lists, count;
    const braid_batch_options *o;
    bool is_random;
    braid_out *outs; // [count]
} batching;

// ---- Checks ----

static bool options_are_valid(braid_graph *g, const batching *b)
{
    const braid_batch_options *o = b->o;
    if (!b->tensors || !b->outs || b->count < 1)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A batch of %d tensors%s", b->count,
                         !b->tensors || !b->outs ? ", of which an array is NULL" : "");
    else if (b->lists < 1)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A batch of %d lists of tensors", b->lists);
    else if (!o || o->batch_size < 1 || o->num_threads < 0)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A batch of %d elements by %d threads",
                         o ? o->batch_size : 0, o ? o->num_threads : 0);
    else if (o->num_threads > 1 && b->lists > 1)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A batch of %d lists, one thread for each, by %d threads",
                         b->lists, o->num_threads);
    else if (o->dynamic_pad && b->is_random)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Shuffled batches are not padded");
    return braid_graph_status(g, NULL) == BRAID_OK;
}

static bool keep_is_valid(braid_graph *g, const braid_batch_options *o)
{
    if (!o->keep_input.op) return true;
    const int rank = braid_out_shape(o->keep_input).rank;
    const char *name = braid_op_name(o->keep_input.op);
    if (train_base_dtype(braid_out_dtype(o->keep_input)) != BRAID_BOOL)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "keep_input of a batch, '%s', is %s, not bool", name,
                         braid_dtype_name(braid_out_dtype(o->keep_input)));
    else if (rank < 0 || rank > 1)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "keep_input of a batch, '%s', has rank %d, not 0 or 1%s",
                         name, rank, rank < 0 ? " (-1: not known)" : "");
    else if (rank == 1 && !o->enqueue_many)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "keep_input of a batch, '%s', is a vector, but without enqueue_many each tensor is "
                         "one element",
                         name);
    return braid_graph_status(g, NULL) == BRAID_OK;
}

// ---- The elements ----

// The shape that both have; false when there is none.
static bool merge_shape(braid_shape *a, braid_shape b)
{
    if (b.rank < 0) return true;
    if (a->rank < 0) *a = b;
    if (a->rank != b.rank) return false;
    for (int i = 0; i < b.rank; i++) {
        if (a->dims[i] < 0) a->dims[i] = b.dims[i];
        if (b.dims[i] >= 0 && a->dims[i] != b.dims[i]) return false;
    }
    return true;
}

// Merges the shape of an element of `t` to `shape`.
static void add_shape(braid_graph *g, const batching *b, int i, braid_out t, braid_shape *shape)
{
    braid_shape is = braid_out_shape(t);
    if (b->o->enqueue_many && is.rank == 0)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Tensor %d of a batch, '%s', is a scalar, not elements",
                         i, braid_op_name(t.op));
    else if (b->o->enqueue_many && is.rank > 0)
        memmove(is.dims, is.dims + 1, (size_t)--is.rank * sizeof *is.dims);
    if (!merge_shape(shape, is))
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "Tensor %d of a batch, '%s', has another shape than in an earlier list%s", i,
                         braid_op_name(t.op), b->o->shapes ? " or the one that is given" : "");
}

// The type and the shape of component `i` of the elements, from all lists.
static void component(braid_graph *g, const batching *b, int i, braid_dtype *dtype, braid_shape *shape)
{
    *shape = b->o->shapes ? b->o->shapes[i] : BRAID_SHAPE_UNKNOWN;
    for (int list = 0; list < b->lists; list++) {
        const braid_out t = b->tensors[list * b->count + i];
        if (!t.op) {
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Tensor %d of a batch is nothing", i);
            return;
        }
        const braid_dtype is = train_base_dtype(braid_out_dtype(t));
        if (list > 0 && is != *dtype)
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Tensor %d of a batch, '%s', is %s, but %s in list 0",
                             i, braid_op_name(t.op), braid_dtype_name(is), braid_dtype_name(*dtype));
        else
            *dtype = is;
        add_shape(g, b, i, t, shape);
    }
    const bool is_known = b->o->dynamic_pad ? shape->rank >= 0 : braid_shape_num_elements(*shape) >= 0;
    if (!is_known)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Tensor %d of a batch, '%s', has a shape %s", i,
                         braid_op_name(b->tensors[i].op),
                         b->o->dynamic_pad ? "of no known rank" : "that is not fully known");
}

static int capacity_of(const batching *b)
{
    if (b->o->capacity) return b->o->capacity;
    return b->is_random ? b->o->min_after_dequeue + 10 * b->o->batch_size : TRAIN_QUEUE_CAPACITY;
}

static braid_queue new_queue(braid_graph *g, const batching *b)
{
    braid_dtype *dtypes = bd_calloc((size_t)b->count, sizeof *dtypes);
    braid_shape *shapes = bd_calloc((size_t)b->count, sizeof *shapes);
    for (int i = 0; i < b->count; i++)
        component(g, b, i, &dtypes[i], &shapes[i]);
    const braid_queue_options options = {.dtypes = dtypes,
                                         .shapes = shapes,
                                         .count = b->count,
                                         .capacity = capacity_of(b),
                                         .min_after_dequeue = b->is_random ? b->o->min_after_dequeue : 0,
                                         .seed = b->o->seed,
                                         .shared_name = b->o->shared_name};
    braid_queue q = {0};
    if (braid_graph_status(g, NULL) == BRAID_OK)
        q = b->is_random        ? braid_random_shuffle_queue(g, &options)
            : b->o->dynamic_pad ? braid_padding_fifo_queue(g, &options)
                                : braid_fifo_queue(g, &options);
    bd_free(dtypes);
    bd_free(shapes);
    return q;
}

// ---- Enqueueing ----

typedef struct enqueueing {
    const batching *b;
    braid_queue q;
    const braid_out *tensors; // [b->count]
} enqueueing;

static braid_op *enqueue(braid_graph *g, const enqueueing *e)
{
    return e->b->o->enqueue_many ? braid_queue_enqueue_many(g, e->q, e->tensors)
                                 : braid_queue_enqueue(g, e->q, e->tensors);
}

// keep_input once `op` has run: the value of a branch that is run for its effect.
static braid_out after(braid_graph *g, const enqueueing *e, braid_op *op)
{
    if (!op) return BRAID_NONE;
    braid_push_control(g, &op, 1);
    const braid_out done = braid_identity(g, "control_dependency", e->b->o->keep_input);
    braid_pop_control(g);
    return done;
}

static void build_kept(void *arg, braid_graph *g, braid_out *result)
{
    *result = after(g, arg, enqueue(g, arg));
}

static void build_dropped(void *arg, braid_graph *g, braid_out *result)
{
    *result = after(g, arg, braid_op_end(braid_op_begin(g, "NoOp", NULL)));
}

// Enqueues the elements for which the vector keep_input is true.
static braid_op *enqueue_selected(braid_graph *g, enqueueing *e)
{
    const int count = e->b->count;
    braid_out *kept = bd_calloc((size_t)count, sizeof *kept);
    const braid_out part = braid_cast(g, e->b->o->keep_input, BRAID_INT32);
    for (int i = 0; i < count; i++) {
        braid_op_desc *d = braid_op_begin(g, "DynamicPartition", NULL);
        braid_op_input(d, e->tensors[i]);
        braid_op_input(d, part);
        braid_op_attr_int(d, "num_partitions", 2);
        braid_op *parts = braid_op_end(d);
        if (parts) kept[i] = braid_output(parts, 1);
    }
    e->tensors = kept;
    braid_op *op = braid_graph_status(g, NULL) ? NULL : enqueue(g, e);
    bd_free(kept);
    return op;
}

static braid_op *enqueue_list(braid_graph *g, const batching *b, braid_queue q, int list)
{
    enqueueing e = {b, q, b->tensors + (size_t)list * (size_t)b->count};
    const braid_out keep = b->o->keep_input;
    if (!keep.op) return enqueue(g, &e);
    if (braid_out_shape(keep).rank == 1) return enqueue_selected(g, &e);
    braid_out done = BRAID_NONE;
    braid_cond(g, NULL, keep, build_kept, build_dropped, &e, 1, &done);
    return done.op;
}

static void fill(braid_graph *g, const batching *b, braid_queue q)
{
    const int threads = b->lists > 1 || !b->o->num_threads ? b->lists : b->o->num_threads;
    braid_op **ops = bd_calloc((size_t)threads, sizeof *ops);
    for (int i = 0; i < threads; i++)
        ops[i] = i < b->lists ? enqueue_list(g, b, q, i) : ops[0];
    if (braid_graph_status(g, NULL) == BRAID_OK) train_fill_queue(g, q, ops, threads);
    bd_free(ops);
}

// ---- Batches ----

static void summarize(braid_graph *g, const batching *b, braid_queue q)
{
    const int low = b->is_random ? b->o->min_after_dequeue : 0, high = capacity_of(b);
    char *tag = b->is_random ? bd_asprintf("fraction_over_%d_of_%d_full", low, high - low)
                             : bd_asprintf("fraction_of_%d_full", high);
    train_summarize_queue(g, q, tag, low, high);
    bd_free(tag);
}

static void batch(braid_graph *g, const char *name, const batching *b)
{
    const bool is_valid = options_are_valid(g, b) && keep_is_valid(g, b->o);
    if (is_valid) {
        const char *scope = braid_push_name_scope(g, b->o->name ? b->o->name : name);
        const braid_queue q = new_queue(g, b);
        if (q.handle.op) {
            fill(g, b, q);
            summarize(g, b, q);
            train_dequeue(g, q, scope, b->o->batch_size, b->o->allow_smaller_final_batch, b->outs);
        }
        braid_pop_name_scope(g);
    }
    if (b->outs && b->count > 0 && braid_graph_status(g, NULL))
        memset(b->outs, 0, (size_t)b->count * sizeof *b->outs);
}

void braid_batch(braid_graph *g, const braid_out *tensors, int count, const braid_batch_options *o,
                 braid_out *outs)
{
    batch(g, "batch", &(batching){.tensors = tensors, .lists = 1, .count = count, .o = o, .outs = outs});
}

void braid_shuffle_batch(braid_graph *g, const braid_out *tensors, int count, const braid_batch_options *o,
                         braid_out *outs)
{
    batch(
        g, "shuffle_batch",
        &(batching){.tensors = tensors, .lists = 1, .count = count, .o = o, .is_random = true, .outs = outs});
}

void braid_batch_join(braid_graph *g, const braid_out *tensors, int lists, int count,
                      const braid_batch_options *o, braid_out *outs)
{
    batch(g, "batch_join",
          &(batching){.tensors = tensors, .lists = lists, .count = count, .o = o, .outs = outs});
}

void braid_shuffle_batch_join(braid_graph *g, const braid_out *tensors, int lists, int count,
                              const braid_batch_options *o, braid_out *outs)
{
    batch(g, "shuffle_batch_join",
          &(batching){
              .tensors = tensors, .lists = lists, .count = count, .o = o, .is_random = true, .outs = outs});
}

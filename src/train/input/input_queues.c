// Producers and batches: queues with the queue runners that fill them.
#include <braid/queues.h>

#include "base/alloc.h"
#include "train/common/build.h"
#include "train/variables/variable_internal.h"
#include <braid/queue_runner.h>
#include <string.h>

#define CAPACITY_DEFAULT 32

static void add_runner(braid_graph *g, braid_queue q, braid_op *enqueue, int threads)
{
    if (!enqueue) return;
    braid_op **ops = bd_calloc((size_t)threads, sizeof *ops);
    for (int i = 0; i < threads; i++)
        ops[i] = enqueue;
    const braid_queue_runner_options options = {.enqueue_ops = ops, .enqueue_op_count = threads};
    braid_add_queue_runner(g, braid_queue_runner_new(g, q.handle, &options));
    bd_free(ops);
}

// ---- Producers ----

// `input`, which can be read `num_epochs` times (tf.train.limit_epochs).
static braid_out limit_epochs(braid_graph *g, braid_out input, int64_t num_epochs)
{
    if (num_epochs == 0) return input;
    if (num_epochs < 0)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "An input of %lld epochs", (long long)num_epochs);
    const char *scope = braid_push_name_scope(g, "limit_epochs");
    braid_tensor *zero = braid_tensor_int64(0);
    const braid_variable epochs = train_local_variable(g, "epochs", zero);
    braid_tensor_free(zero);
    braid_op_desc *d = braid_op_begin(g, "CountUpTo", NULL);
    braid_op_input(d, epochs.ref);
    braid_op_attr_int(d, "limit", num_epochs);
    braid_op *counter = braid_op_end(d);
    braid_pop_name_scope(g);
    if (!counter) return BRAID_NONE;
    braid_push_control(g, &counter, 1);
    const braid_out limited = braid_identity(g, scope, input);
    braid_pop_control(g);
    return limited;
}

static braid_out shuffled(braid_graph *g, braid_out input, int64_t seed)
{
    braid_op_desc *d = braid_op_begin(g, "RandomShuffle", NULL);
    braid_op_input(d, input);
    if (seed) braid_op_attr_int(d, "seed2", seed);
    return braid_op_end_out(d);
}

braid_queue braid_input_producer(braid_graph *g, braid_out input, const braid_producer_options *options)
{
    static const braid_producer_options defaults;
    const braid_producer_options *o = options ? options : &defaults;
    braid_shape shape = braid_out_shape(input);
    if (input.op && shape.rank < 1)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "An input producer takes slices of '%s', which has none",
                         braid_op_name(input.op));
    if (!input.op) braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "An input producer without an input");
    if (braid_graph_status(g, NULL)) return (braid_queue){0};
    shape.rank--;
    memmove(shape.dims, shape.dims + 1, (size_t)shape.rank * sizeof *shape.dims);
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(input));
    const char *scope = braid_push_name_scope(g, o->name ? o->name : "input_producer");
    const bool is_known = braid_shape_num_elements(shape) >= 0;
    if (!o->in_order) input = shuffled(g, input, o->seed);
    input = limit_epochs(g, input, o->num_epochs);
    const braid_queue q =
        braid_fifo_queue(g, &(braid_queue_options){.dtypes = &dtype,
                                                   .shapes = is_known ? &shape : NULL,
                                                   .count = 1,
                                                   .capacity = o->capacity ? o->capacity : CAPACITY_DEFAULT,
                                                   .name = scope});
    if (q.handle.op) add_runner(g, q, braid_queue_enqueue_many(g, q, &input), 1);
    braid_pop_name_scope(g);
    return q;
}

braid_queue braid_string_input_producer(braid_graph *g, braid_out strings,
                                        const braid_producer_options *options)
{
    if (strings.op && braid_out_dtype(strings) != BRAID_STRING)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A string input producer with an input of %s",
                         braid_dtype_name(braid_out_dtype(strings)));
    return braid_input_producer(g, strings, options);
}

braid_queue braid_range_input_producer(braid_graph *g, int32_t limit, const braid_producer_options *options)
{
    if (limit < 1) braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A range of %d numbers", limit);
    if (braid_graph_status(g, NULL)) return (braid_queue){0};
    const braid_out range = train_node3(g, "Range", NULL, braid_const_int32(g, NULL, 0),
                                        braid_const_int32(g, NULL, limit), braid_const_int32(g, NULL, 1));
    return braid_input_producer(g, range, options);
}

// ---- Batches ----

static bool batch_is_valid(braid_graph *g, const braid_out *tensors, int count, const braid_batch_options *o)
{
    if (!o || o->batch_size < 1 || o->num_threads < 0)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A batch of %d elements by %d threads",
                         o ? o->batch_size : 0, o ? o->num_threads : 0);
    for (int i = 0; i < count; i++) {
        if (!tensors[i].op)
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Tensor %d of a batch is nothing", i);
        else if (braid_shape_num_elements(braid_out_shape(tensors[i])) < 0)
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                             "Tensor %d of a batch, '%s', has a shape that is not fully known", i,
                             braid_op_name(tensors[i].op));
    }
    return braid_graph_status(g, NULL) == BRAID_OK;
}

static void batch(braid_graph *g, const braid_out *tensors, int count, const braid_batch_options *o,
                  bool is_random, braid_out *outs)
{
    if (!tensors || !outs || count < 1) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A batch of %d tensors%s", count,
                         !tensors || !outs ? ", of which an array is NULL" : "");
        return;
    }
    if (!batch_is_valid(g, tensors, count, o)) {
        memset(outs, 0, (size_t)count * sizeof *outs);
        return;
    }
    braid_dtype *dtypes = bd_calloc((size_t)count, sizeof *dtypes);
    braid_shape *shapes = bd_calloc((size_t)count, sizeof *shapes);
    for (int i = 0; i < count; i++) {
        dtypes[i] = train_base_dtype(braid_out_dtype(tensors[i]));
        shapes[i] = braid_out_shape(tensors[i]);
    }
    const char *name = is_random ? "shuffle_batch" : "batch";
    (void)braid_push_name_scope(g, o->name ? o->name : name);
    braid_queue_options options = {.dtypes = dtypes, .shapes = shapes, .count = count};
    options.capacity = o->capacity ? o->capacity : CAPACITY_DEFAULT;
    if (is_random) {
        options.min_after_dequeue = o->min_after_dequeue;
        options.seed = o->seed;
        if (!o->capacity) options.capacity = o->min_after_dequeue + 10 * o->batch_size;
    }
    const braid_queue q = is_random ? braid_random_shuffle_queue(g, &options) : braid_fifo_queue(g, &options);
    if (q.handle.op) {
        add_runner(g, q, braid_queue_enqueue(g, q, tensors), o->num_threads ? o->num_threads : 1);
        if (o->allow_smaller_final_batch)
            braid_queue_dequeue_up_to(g, q, o->batch_size, outs);
        else
            braid_queue_dequeue_many(g, q, o->batch_size, outs);
    } else {
        memset(outs, 0, (size_t)count * sizeof *outs);
    }
    braid_pop_name_scope(g);
    bd_free(dtypes);
    bd_free(shapes);
}

void braid_batch(braid_graph *g, const braid_out *tensors, int count, const braid_batch_options *o,
                 braid_out *outs)
{
    batch(g, tensors, count, o, false, outs);
}

void braid_shuffle_batch(braid_graph *g, const braid_out *tensors, int count, const braid_batch_options *o,
                         braid_out *outs)
{
    batch(g, tensors, count, o, true, outs);
}

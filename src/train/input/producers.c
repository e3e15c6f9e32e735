// Producers: queues of the slices of tensors, pass after pass (tf.train.input_producer and others).
#include "train/input/input_queues.h"

#include "base/alloc.h"
#include "train/common/build.h"
#include "train/variables/variable_internal.h"
#include <string.h>

// `input`, which can be read `num_epochs` times (tf.train.limit_epochs).
static braid_out limit_epochs(braid_graph *g, braid_out input, int64_t num_epochs)
{
    if (num_epochs == 0) return input;
    if (num_epochs < 0)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "An input of %lld epochs", (long long)num_epochs);
    const char *scope = braid_push_name_scope(g, "limit_epochs");
    const braid_out zero = braid_const_int64(g, NULL, 0);
    const train_variable_spec spec = {.collection = BRAID_LOCAL_VARIABLES};
    const braid_variable epochs = train_make_variable(g, braid_push_name_scope(g, "epochs"), zero, &spec);
    braid_pop_name_scope(g);
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

static const braid_producer_options *options_of(const braid_producer_options *options)
{
    static const braid_producer_options defaults;
    return options ? options : &defaults;
}

static const char *push_scope(braid_graph *g, const braid_producer_options *o)
{
    return braid_push_name_scope(g, o->name ? o->name : "input_producer");
}

// Within the producer's scope. `name` is the queue's; `is_summarized`: how full it is.
static braid_queue produce(braid_graph *g, braid_out input, const braid_producer_options *o, const char *name,
                           bool is_summarized)
{
    braid_shape shape = braid_out_shape(input);
    if (input.op && shape.rank < 1)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "An input producer takes slices of '%s', which has none",
                         braid_op_name(input.op));
    if (!input.op) braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "An input producer without an input");
    if (braid_graph_status(g, NULL)) return (braid_queue){0};
    shape.rank--;
    memmove(shape.dims, shape.dims + 1, (size_t)shape.rank * sizeof *shape.dims);
    const braid_dtype dtype = train_base_dtype(braid_out_dtype(input));
    const bool is_known = braid_shape_num_elements(shape) >= 0;
    const int capacity = o->capacity ? o->capacity : TRAIN_QUEUE_CAPACITY;
    if (!o->in_order) input = shuffled(g, input, o->seed);
    input = limit_epochs(g, input, o->num_epochs);
    const braid_queue q = braid_fifo_queue(g, &(braid_queue_options){.dtypes = &dtype,
                                                                     .shapes = is_known ? &shape : NULL,
                                                                     .count = 1,
                                                                     .capacity = capacity,
                                                                     .name = name,
                                                                     .shared_name = o->shared_name});
    if (!q.handle.op) return q;
    braid_op *enqueue = braid_queue_enqueue_many(g, q, &input);
    train_fill_queue(g, q, &enqueue, 1);
    if (!is_summarized) return q;
    char *tag = bd_asprintf("fraction_of_%d_full", capacity);
    train_summarize_queue(g, q, tag, 0, capacity);
    bd_free(tag);
    return q;
}

braid_queue braid_input_producer(braid_graph *g, braid_out input, const braid_producer_options *options)
{
    const braid_producer_options *o = options_of(options);
    push_scope(g, o);
    const braid_queue q = produce(g, input, o, o->name ? o->name : "FIFOQueueV2", false);
    braid_pop_name_scope(g);
    return q;
}

// ---- Strings ----

// `strings` once it is known that there are any: an empty vector would be read again and again.
static braid_out not_empty(braid_graph *g, braid_out strings)
{
    static const char message[] = "string_input_producer requires a non-null input tensor";
    const braid_out any = train_op_number(g, "Greater", "Greater", train_size_of(g, strings), 0);
    (void)braid_push_name_scope(g, "Assert");
    const char *scope = braid_push_name_scope(g, "Assert");
    const braid_out text = braid_const_string(g, "data_0", message);
    braid_pop_name_scope(g);
    braid_op_desc *d = braid_op_begin(g, "Assert", scope);
    braid_op_input(d, any);
    braid_op_input_list(d, &text, 1);
    braid_op *check = braid_op_end(d);
    braid_pop_name_scope(g);
    if (!check) return BRAID_NONE;
    braid_push_control(g, &check, 1);
    const braid_out checked = braid_identity(g, NULL, strings);
    braid_pop_control(g);
    return checked;
}

braid_queue braid_string_input_producer(braid_graph *g, braid_out strings,
                                        const braid_producer_options *options)
{
    if (strings.op && train_base_dtype(braid_out_dtype(strings)) != BRAID_STRING)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A string input producer with an input of %s",
                         braid_dtype_name(braid_out_dtype(strings)));
    if (!strings.op) braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A string input producer without an input");
    if (braid_graph_status(g, NULL)) return (braid_queue){0};
    const braid_producer_options *o = options_of(options);
    const char *scope = push_scope(g, o);
    const braid_out checked = not_empty(g, strings);
    if (braid_out_shape(strings).rank < 0) braid_set_shape(checked, BRAID_SHAPE(-1));
    const braid_queue q = produce(g, checked, o, scope, true);
    braid_pop_name_scope(g);
    return q;
}

// ---- Numbers, and the slices of several tensors ----

// The numbers below `limit`, an int32 scalar, or `number` where that is nothing.
static braid_queue range_producer(braid_graph *g, braid_out limit, int32_t number,
                                  const braid_producer_options *o)
{
    const char *scope = push_scope(g, o), *range = braid_push_name_scope(g, "range");
    const braid_out start = braid_const_int32(g, "start", 0);
    if (!limit.op) limit = braid_const_int32(g, "limit", number);
    const braid_out delta = braid_const_int32(g, "delta", 1);
    braid_pop_name_scope(g);
    const braid_queue q = produce(g, train_node3(g, "Range", range, start, limit, delta), o, scope, true);
    braid_pop_name_scope(g);
    return q;
}

braid_queue braid_range_input_producer(braid_graph *g, int32_t limit, const braid_producer_options *options)
{
    if (limit < 1) braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A range of %d numbers", limit);
    if (braid_graph_status(g, NULL)) return (braid_queue){0};
    return range_producer(g, BRAID_NONE, limit, options_of(options));
}

static bool have_as_many_slices(braid_graph *g, const braid_out *tensors, int count)
{
    int64_t slices = -1;
    for (int i = 0; i < count; i++) {
        const braid_shape shape = braid_out_shape(tensors[i]);
        if (!tensors[i].op) {
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Tensor %d of an input producer is nothing", i);
        } else if (shape.rank == 0) {
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                             "An input producer takes slices of '%s', which has none",
                             braid_op_name(tensors[i].op));
        } else if (shape.rank > 0 && shape.dims[0] >= 0) {
            if (slices >= 0 && slices != shape.dims[0])
                braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                                 "An input producer takes slices of '%s', which has %lld, but of an earlier "
                                 "tensor, which has %lld",
                                 braid_op_name(tensors[i].op), (long long)shape.dims[0], (long long)slices);
            slices = shape.dims[0];
        }
    }
    return braid_graph_status(g, NULL) == BRAID_OK;
}

void braid_slice_input_producer(braid_graph *g, const braid_out *tensors, int count,
                                const braid_producer_options *options, braid_out *outs)
{
    if (!tensors || !outs || count < 1) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "An input producer of %d tensors%s", count,
                         !tensors || !outs ? ", of which an array is NULL" : "");
        return;
    }
    const braid_producer_options *o = options_of(options);
    if (have_as_many_slices(g, tensors, count)) {
        push_scope(g, o);
        braid_producer_options of_numbers = *o;
        of_numbers.name = NULL;
        const braid_out shape = train_shape_of(g, tensors[0]);
        const braid_queue numbers = range_producer(g, train_first_of(g, shape), 0, &of_numbers);
        braid_out number = BRAID_NONE;
        braid_queue_dequeue(g, numbers, &number);
        for (int i = 0; i < count; i++)
            outs[i] = train_gather(g, NULL, tensors[i], number);
        braid_pop_name_scope(g);
    }
    if (braid_graph_status(g, NULL)) memset(outs, 0, (size_t)count * sizeof *outs);
}

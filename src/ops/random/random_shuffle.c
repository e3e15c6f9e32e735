// RandomShuffle and StatelessShuffle: permute the rows of a tensor randomly.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "ops/common/element.h"
#include "ops/random/random_source.h"
#include "ops/random/random_stateless.h"

// Swaps each element with one at or after its position (Fisher and Yates); the last one stays.
static void shuffle(int64_t *order, int64_t count, bd_random_words *w)
{
    for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++)
        order[i] = i;
    for (int64_t i = 0; i < count - 1 && !bd_interrupted_at(i); i++) {
        int64_t other = i + bd_random_word(w) % (uint32_t)(count - i), place = order[i];
        order[i] = order[other];
        order[other] = place;
    }
}

// The number of rows to shuffle. 0: there is nothing left to do, or the kernel has failed.
static int64_t rows_to_shuffle(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    int64_t rows = x->shape.rank > 0 ? x->shape.dims[0] : 0;
    if (bd_tensor_count(x) <= 1 || rows <= 1) {
        bd_output_set(c, 0, x);
        return 0;
    }
    if (rows <= UINT32_MAX) return rows;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s of %lld rows: at most 2^32 - 1 are possible", c->node->op_type,
               (long long)rows);
    return 0;
}

static void shuffle_rows(bd_op_ctx *c, int64_t rows, bd_philox stream)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output(c, 0, x->dtype, &x->shape);
    int64_t *order = bd_try_malloc((size_t)rows * sizeof *order);
    if (!order) bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when shuffling %lld rows", (long long)rows);
    if (y && order) {
        bd_random_words w = {.stream = stream};
        shuffle(order, rows, &w);
        int64_t size = bd_tensor_count(x) / rows;
        for (int64_t i = 0; i < rows && !bd_interrupted_at(i); i++)
            bd_elements_copy(y, i * size, x, order[i] * size, size);
    }
    bd_free(order);
}

static void shuffle_run(bd_op_ctx *c)
{
    int64_t rows = rows_to_shuffle(c);
    if (rows > 0) shuffle_rows(c, rows, bd_random_source_take(c->state, ((uint64_t)rows - 1 + 3) / 4));
}

BD_OP(RandomShuffle) = {
    .signature = "(value: T) -> (output: T)",
    .attrs = "seed:int=0; seed2:int=0; T:type",
    .flags = BD_OP_STATEFUL,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_INTERRUPTIBLE,
                           .state_size = sizeof(bd_random_source),
                           .create = bd_random_source_create,
                           .destroy = bd_random_source_destroy,
                           .run = shuffle_run}),
    .doc = "The rows of value (slices along the first dimension) in random order.",
};

static braid_code keyed_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    return bd_shape_ctx_random_key(c, 1, st);
}

static void keyed_run(bd_op_ctx *c)
{
    bd_philox stream;
    int64_t rows = bd_random_keyed_stream(c, 1, &stream) ? rows_to_shuffle(c) : 0;
    if (rows > 0) shuffle_rows(c, rows, stream);
}

BD_OP(StatelessShuffle) = {
    .signature = "(value: T, key: uint64, counter: uint64, alg: int32) -> (output: T)",
    .attrs = "T:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = keyed_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_INTERRUPTIBLE, .run = keyed_run}),
    .doc = "The rows of value in an order given by the stream of key and counter.",
};

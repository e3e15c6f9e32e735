// RandomCrop: a part of an image, from a random place.
#include "base/interrupt.h"
#include "ops/common/element.h"
#include "ops/random/random_source.h"

static braid_code crop_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 3, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 1, st);
    if (code) return code;
    const braid_shape *image = &c->inputs[0], *size = &c->inputs[1];
    if (size->rank == 1 && size->dims[0] >= 0 && size->dims[0] != 2)
        return bd_shape_ctx_fail(c, st, "Dimension must be 2 but is %lld", (long long)size->dims[0]);
    braid_shape out = {.rank = 3, .dims = {-1, -1, image->rank == 3 ? image->dims[2] : -1}};
    const braid_tensor *value = bd_shape_ctx_constant(c, 1);
    for (int d = 0; value && bd_tensor_count(value) == 2 && d < 2; d++) {
        out.dims[d] = bd_tensor_index(value, d);
        if (out.dims[d] < 0)
            return bd_shape_ctx_fail(c, st, "Dimension size must be non-negative, got %lld",
                                     (long long)out.dims[d]);
    }
    c->outputs[0] = out;
    return BRAID_OK;
}

// Reads height and width from input 1. False: the kernel has failed.
static bool read_size(bd_op_ctx *c, int64_t size[2])
{
    static const char *const names[] = {"height", "width"};
    const braid_tensor *x = bd_input(c, 0), *t = bd_input(c, 1);
    char text[BD_SHAPE_STR_MAX];
    if (x->shape.rank != 3)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input must be 3-dimensional%s", bd_shape_str(&x->shape, text));
    else if (t->shape.rank != 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "shape_t must be 1-dimensional%s",
                   bd_shape_str(&t->shape, text));
    else if (t->shape.dims[0] != 2)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "shape_t must have two elements%s",
                   bd_shape_str(&t->shape, text));
    for (int d = 1; d >= 0 && !bd_op_failed(c); d--) {
        size[d] = bd_tensor_index(t, d);
        if (size[d] < 0)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Dimension %lld must be >= 0", (long long)size[d]);
        else if (size[d] > x->shape.dims[d])
            bd_op_fail(c, BRAID_FAILED_PRECONDITION, "%s must be >= target_%s: %s = %lld, target_%s = %lld",
                       names[d], names[d], names[d], (long long)x->shape.dims[d], names[d],
                       (long long)size[d]);
    }
    return !bd_op_failed(c);
}

// Draws the start of a part of `size` within `all`. Without a choice it consumes no random word.
static int64_t random_place(bd_random_words *w, int64_t all, int64_t size)
{
    return all == size ? 0 : bd_random_word(w) % (uint32_t)(all - size + 1);
}

static void crop_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    int64_t size[2];
    if (!read_size(c, size)) return;
    const int64_t *dims = x->shape.dims;
    if (dims[0] >= UINT32_MAX || dims[1] >= UINT32_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "RandomCrop of an image of %lld x %lld: at most 2^32 - 2 are possible", (long long)dims[0],
                   (long long)dims[1]);
        return;
    }
    bd_random_words w = {.stream = bd_random_source_take(c->state, 1)};
    int64_t column = random_place(&w, dims[1], size[1]), row = random_place(&w, dims[0], size[0]);
    braid_shape shape = {.rank = 3, .dims = {size[0], size[1], dims[2]}};
    braid_tensor *y = bd_output(c, 0, x->dtype, &shape);
    if (!y || bd_tensor_count(y) == 0) return;
    for (int64_t i = 0; i < size[0] && !bd_interrupted_at(i); i++)
        bd_elements_copy(y, i * size[1] * dims[2], x, ((row + i) * dims[1] + column) * dims[2],
                         size[1] * dims[2]);
}

BD_OP(RandomCrop) = {
    .signature = "(image: T, size: int64) -> (output: T)",
    .attrs = "T:type{double,float,int16,int32,int64,int8,uint8}; seed:int=0; seed2:int=0",
    .flags = BD_OP_STATEFUL,
    .shape = crop_shape,
    .kernels = BD_KERNELS({.state_size = sizeof(bd_random_source),
                           .create = bd_random_source_create,
                           .destroy = bd_random_source_destroy,
                           .run = crop_run}),
    .doc =
        "The part of image [height, width, channels] of size [height, width] that begins at a random place.",
};

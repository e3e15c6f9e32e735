// Tile repeats a tensor along its dimensions; TileGrad sums the copies.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/grad_math.h"
#include "ops/common/grad_steps.h"
#include "ops/state/variable.h"

#include <string.h>

static braid_code tile_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 1, 1, st);
    if (code) return code;
    braid_shape in = c->inputs[0], times;
    bool is_known = bd_shape_ctx_constant_shape(c, 1, &times);
    int64_t length = is_known ? times.rank : c->inputs[1].rank == 1 ? c->inputs[1].dims[0] : -1;
    if (in.rank >= 0 && length >= 0 && length != in.rank)
        return bd_shape_ctx_fail(c, st, "Shape must be rank %lld but is rank %d", (long long)length, in.rank);
    if (!is_known) {
        int64_t rank = in.rank >= 0 ? in.rank : length;
        if (rank < 0 || rank > BRAID_RANK_MAX) return BRAID_OK;
        c->outputs[0].rank = (int)rank;
        for (int d = 0; d < rank; d++)
            c->outputs[0].dims[d] = -1;
        return BRAID_OK;
    }
    c->outputs[0].rank = times.rank;
    for (int d = 0; d < times.rank; d++) {
        int64_t size = in.rank < 0 ? -1 : in.dims[d];
        c->outputs[0].dims[d] = size < 0 || times.dims[d] < 0 ? -1 : size * times.dims[d];
    }
    return BRAID_OK;
}

static void tile_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *times = bd_input(c, 1);
    int rank = x->shape.rank;
    char text[BD_SHAPE_STR_MAX];
    if (times->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected multiples to be 1-D, but got shape %s",
                   bd_shape_str(&times->shape, text));
        return;
    }
    if (times->shape.dims[0] != rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected multiples argument to be a vector of length %d but got shape %s", rank,
                   bd_shape_str(&times->shape, text));
        return;
    }
    braid_shape out = {.rank = rank};
    for (int d = 0; d < rank; d++) {
        int64_t n = bd_tensor_index(times, d);
        if (n < 0) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected multiples[%d] >= 0, but got %lld", d,
                       (long long)n);
            return;
        }
        if (__builtin_mul_overflow(x->shape.dims[d], n, &out.dims[d])) out.dims[d] = INT64_MAX;
    }
    BD_STATUS(st);
    int64_t count;
    if (bd_shape_checked_count(&out, &count, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *y = bd_output(c, 0, x->dtype, &out);
    if (!y || count == 0) return;
    // The walk has two dimensions for each one of the tensor: the number of the copy (stride 0 in the input),
    // and the position in it.
    int64_t to[BRAID_RANK_MAX], from[BRAID_RANK_MAX];
    bd_row_strides(&out, to);
    bd_row_strides(&x->shape, from);
    bd_strided block = {.rank = 2 * rank};
    for (int d = 0; d < rank; d++) {
        int64_t size = x->shape.dims[d];
        block.dims[2 * d] = bd_tensor_index(times, d);
        block.to_strides[2 * d] = size * to[d];
        block.dims[2 * d + 1] = size;
        block.to_strides[2 * d + 1] = to[d];
        block.from_strides[2 * d + 1] = from[d];
    }
    bd_elements_copy_block(y, 0, x, 0, &block);
}

// tf.transpose(x): the dimensions in reverse order, (rank - 1) - range(rank).
static braid_out transposed(braid_graph *g, braid_out x)
{
    const char *scope = braid_push_name_scope(g, "transpose");
    const int rank = braid_out_shape(x).rank;
    braid_out reversed;
    if (rank > 0) {
        int32_t perm[BRAID_RANK_MAX];
        for (int d = 0; d < rank; d++)
            perm[d] = rank - 1 - d;
        reversed = bd_b_const_i32_vector(g, "perm", perm, rank);
    } else {
        braid_out all = bd_b1(g, "Rank", "Rank", x);
        braid_out last = bd_grad_number_right(g, "Sub", "sub", all, 1);
        const char *range_scope = braid_push_name_scope(g, "Range");
        braid_out start = bd_b_const_i32(g, "start", 0), delta = bd_b_const_i32(g, "delta", 1);
        braid_out order = bd_b3(g, "Range", range_scope, start, all, delta);
        braid_pop_name_scope(g);
        reversed = bd_b2(g, "Sub", "sub", last, order);
    }
    braid_out out = bd_b2(g, "Transpose", scope, x, reversed);
    braid_pop_name_scope(g);
    return out;
}

static braid_out part(braid_graph *g, braid_out vector, int32_t begin, int32_t count)
{
    return bd_b3(g, "Slice", NULL, vector, bd_b_const_i32_vector(g, NULL, &begin, 1),
                 bd_b_const_i32_vector(g, NULL, &count, 1));
}

static braid_out product(braid_graph *g, braid_out vector, int32_t begin, int32_t count)
{
    const int32_t axis = 0;
    braid_out sizes = part(g, vector, begin, count);
    return bd_grad_flatten(g, bd_b2(g, "Prod", NULL, sizes, bd_b_const_i32_vector(g, NULL, &axis, 1)));
}

enum {
    STEP = (BRAID_RANK_MAX - 2) / 2
};

// As below where the reshaped gradient would have too many dimensions: sums over the copies of STEP
// dimensions at a time. Those before are one dimension, without copies, those behind are one, too.
static braid_out sum_in_steps(braid_graph *g, braid_out grad, braid_out multiples, braid_out shape,
                              braid_out interleaved, int rank)
{
    int32_t axes[STEP];
    for (int i = 0; i < STEP; i++)
        axes[i] = 2 * i + 1;
    braid_out total = bd_b2(g, "Mul", NULL, multiples, shape);
    for (int from = 0; from < rank; from += STEP) {
        int count = rank - from < STEP ? rank - from : STEP;
        braid_out sizes[3] = {product(g, shape, 0, from), part(g, interleaved, 2 * from, 2 * count),
                              product(g, total, from + count, rank - from - count)};
        braid_out split = bd_b2(g, "Reshape", NULL, grad, bd_grad_concat(g, sizes, 3, 0));
        grad = bd_b2(g, "Sum", NULL, split, bd_b_const_i32_vector(g, NULL, axes, count));
    }
    return bd_b2(g, "Reshape", NULL, grad, shape);
}

// Sums the copies: reshapes the gradient to [multiples[0], size[0], multiples[1], size[1], ...] and sums over
// every other axis.
static void tile_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out multiples = braid_op_get_input(c->op, 1), input = braid_op_get_input(c->op, 0);
    braid_out shape = bd_grad_shape(g, input, bd_dtype_base(braid_out_dtype(multiples)));
    braid_out rows[2] = {multiples, shape};
    braid_op_desc *d = braid_op_begin(g, "Pack", "stack");
    braid_op_input_list(d, rows, 2);
    braid_out interleaved = bd_grad_flatten(g, transposed(g, braid_op_end_out(d)));
    const int rank = braid_out_shape(input).rank;
    if (2 * rank > BRAID_RANK_MAX) {
        c->input_grads[0] = sum_in_steps(g, c->output_grads[0], multiples, shape, interleaved, rank);
        return;
    }
    braid_out axes = bd_grad_range(g, bd_grad_size(g, interleaved), 2);
    braid_out split = bd_b2(g, "Reshape", "Reshape", c->output_grads[0], interleaved);
    c->input_grads[0] = bd_b2(g, "Sum", "Sum", split, axes);
}

BD_OP(Tile) = {
    .signature = "(input: T, multiples: Tmultiples) -> (output: T)",
    .attrs = "T:type; Tmultiples:type{int32,int64}=int32",
    .shape = tile_shape,
    .gradient = tile_gradient,
    .kernels = BD_KERNELS({.run = tile_run}),
    .doc = "Repeats a tensor multiples[d] times along each dimension d.",
};

// ---- TileGrad ----

// The shape of one copy. False: the kernel has failed.
static bool copy_shape(bd_op_ctx *c, braid_shape *copy)
{
    const braid_tensor *x = bd_input(c, 0), *times = bd_input(c, 1);
    int rank = x->shape.rank;
    char text[BD_SHAPE_STR_MAX];
    if (times->shape.rank != 1 || times->shape.dims[0] != rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected multiples argument to be a vector of length %d but got shape %s", rank,
                   bd_shape_str(&times->shape, text));
        return false;
    }
    *copy = x->shape;
    for (int d = 0; d < rank; d++) {
        int64_t n = bd_tensor_index(times, d);
        if (n > 0 && x->shape.dims[d] % n == 0) {
            copy->dims[d] /= n;
            continue;
        }
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected multiples[%d] > 0 to divide dimension %d of %s, but got %lld", d, d,
                   bd_shape_str(&x->shape, text), (long long)n);
        return false;
    }
    return true;
}

static braid_code tile_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *x = &c->inputs[0];
    braid_code code = bd_shape_ctx_rank(c, 1, 1, st);
    if (code || x->rank < 0) return code;
    c->outputs[0].rank = x->rank;
    for (int d = 0; d < x->rank; d++)
        c->outputs[0].dims[d] = -1;
    return BRAID_OK;
}

// Adds each row of the input to a row of the output; its position in the output is its position within the
// copy.
static void tile_grad_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_shape copy;
    if (!copy_shape(c, &copy)) return;
    braid_tensor *y = bd_output(c, 0, x->dtype, &copy);
    if (!y || bd_tensor_count(x) == 0) return;
    size_t size = braid_dtype_size(x->dtype);
    int64_t row = copy.rank > 0 ? copy.dims[copy.rank - 1] : 1, to_strides[BRAID_RANK_MAX];
    bd_update_fn add = bd_update_function(x->dtype, BD_UPDATE_ADD);
    bd_row_strides(&copy, to_strides);
    memset(y->data, 0, (size_t)bd_tensor_count(y) * size);
    for (int64_t at = 0; at < bd_tensor_count(x) && !bd_interrupted(); at += row) {
        int64_t rest = at, to = 0;
        for (int d = copy.rank - 1; d >= 0; d--) {
            to += rest % x->shape.dims[d] % copy.dims[d] * to_strides[d];
            rest /= x->shape.dims[d];
        }
        add((char *)y->data + (size_t)to * size, (const char *)x->data + (size_t)at * size, row);
    }
}

BD_OP(TileGrad) = {
    .signature = "(input: T, multiples: int32) -> (output: T)",
    .attrs = "T:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = tile_grad_shape,
    .kernels = BD_KERNELS({.types = BD_UPDATE_TYPES_OF("T"), .run = tile_grad_run}),
    .doc =
        "Sums the multiples[d] copies of a tensor along each dimension d: the gradient of Tile in graphs of version 2.",
};

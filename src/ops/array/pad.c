// Pad and PadV2: add zeros, or another value, around a tensor.
#include "ops/array/pad.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/grad_steps.h"

// ---- Shapes ----

braid_code bd_paddings_shape(bd_shape_ctx *c, bool grown, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 1, 2, st);
    if (code) return code;
    const braid_tensor *pads = bd_shape_ctx_constant(c, 1);
    braid_shape in = c->inputs[0], out = {.rank = in.rank};
    int64_t rows = c->inputs[1].rank == 2 ? c->inputs[1].dims[0] : -1;
    int64_t columns = c->inputs[1].rank == 2 ? c->inputs[1].dims[1] : -1;
    if (columns >= 0 && columns != 2)
        return bd_shape_ctx_fail(c, st, "Dimension must be 2 but is %lld", (long long)columns);
    if (rows >= 0) {
        if (rows > BRAID_RANK_MAX || (in.rank >= 0 && rows != in.rank))
            return bd_shape_ctx_fail(c, st, "Shape must be rank %lld but is rank %d", (long long)rows,
                                     in.rank);
        out.rank = (int)rows;
    }
    if (out.rank < 0) return BRAID_OK;
    for (int d = 0; d < out.rank; d++) {
        out.dims[d] = -1;
        if (!pads || in.rank < 0 || in.dims[d] < 0) continue;
        int64_t before = bd_tensor_index(pads, 2 * d), after = bd_tensor_index(pads, 2 * d + 1), both;
        if (before < 0 || after < 0 || __builtin_add_overflow(before, after, &both) ||
            __builtin_add_overflow(in.dims[d], grown ? both : -both, &out.dims[d]) || out.dims[d] < 0)
            return bd_shape_ctx_fail(c, st, "Paddings must be non-negative and fit: %lld, %lld",
                                     (long long)before, (long long)after);
    }
    c->outputs[0] = out;
    return BRAID_OK;
}

static braid_code pad_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = c->input_count > 2 ? bd_shape_ctx_rank(c, 2, 0, st) : BRAID_OK;
    return code ? code : bd_paddings_shape(c, true, st);
}

// ---- Paddings ----

bool bd_paddings_read(bd_op_ctx *c, bd_paddings *p)
{
    const braid_tensor *x = bd_input(c, 0), *pads = bd_input(c, 1);
    int rank = x->shape.rank;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (pads->shape.rank != 2 || pads->shape.dims[1] != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "paddings must be a matrix with 2 columns: %s",
                   bd_shape_str(&pads->shape, a));
        return false;
    }
    if (pads->shape.dims[0] != rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "The first dimension of paddings must be the rank of inputs: %s for %s",
                   bd_shape_str(&pads->shape, a), bd_shape_str(&x->shape, b));
        return false;
    }
    for (int d = 0; d < rank; d++) {
        p->before[d] = bd_tensor_index(pads, 2 * d);
        p->after[d] = bd_tensor_index(pads, 2 * d + 1);
        if (p->before[d] >= 0 && p->after[d] >= 0) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Paddings must be non-negative: %lld %lld",
                   (long long)p->before[d], (long long)p->after[d]);
        return false;
    }
    return true;
}

bool bd_paddings_grow(bd_op_ctx *c, const bd_paddings *p, braid_shape *out)
{
    BD_STATUS(st);
    int64_t count;
    *out = bd_input(c, 0)->shape;
    for (int d = 0; d < out->rank; d++) {
        if (__builtin_add_overflow(out->dims[d], p->before[d], &out->dims[d]) ||
            __builtin_add_overflow(out->dims[d], p->after[d], &out->dims[d])) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Paddings are too large");
            return false;
        }
    }
    if (bd_shape_checked_count(out, &count, st)) // as TensorFlow's code for it
        bd_op_fail(c, BRAID_INTERNAL, "The paddings make the output too large: %s", st->message);
    return !bd_op_failed(c);
}

// ---- Pad, PadV2 ----

static void pad_run(bd_op_ctx *c)
{
    bd_paddings p = {0};
    braid_shape out = BD_SCALAR;
    if (bd_paddings_read(c, &p) && bd_paddings_grow(c, &p, &out))
        bd_output_spread(c, 0, bd_input(c, 0), &bd_input(c, 0)->shape, p.before, NULL, &out);
}

// As Pad, with the padding value in input 2.
static void pad_v2_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *value = bd_input(c, 2);
    bd_paddings p = {0};
    braid_shape out = BD_SCALAR;
    if (value->shape.rank != 0) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "constant_values must be a scalar. Found: %s",
                   bd_shape_str(&value->shape, text));
        return;
    }
    if (!bd_paddings_read(c, &p) || !bd_paddings_grow(c, &p, &out)) return;
    braid_tensor *y = bd_output(c, 0, x->dtype, &out);
    if (!y || bd_tensor_count(y) == 0) return;
    bd_strided fill = {.rank = 1, .dims = {bd_tensor_count(y)}, .to_strides = {1}};
    bd_elements_copy_block(y, 0, value, 0, &fill);
    bd_strided block = bd_strided_of(&x->shape);
    int64_t at = 0;
    bd_row_strides(&out, block.to_strides);
    for (int d = 0; d < out.rank; d++)
        at += p.before[d] * block.to_strides[d];
    if (bd_tensor_count(x) > 0) bd_elements_copy_block(y, at, x, 0, &block);
}

static void pad_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = braid_op_get_input(c->op, 0), pads = braid_op_get_input(c->op, 1);
    braid_out size = bd_grad_stack_with(g, "stack", bd_grad_rank(g, x), 1);
    const char *scope = braid_push_name_scope(g, "Slice");
    braid_out corner = bd_b_const_i32_vector(g, "begin", (int32_t[]){0, 0}, 2);
    braid_out before = bd_b3(g, "Slice", scope, pads, corner, size);
    braid_pop_name_scope(g);
    braid_out begin = bd_grad_flatten(g, before);
    braid_out shape = bd_grad_shape(g, x, braid_out_dtype(pads));
    c->input_grads[0] = bd_b3(g, "Slice", "Slice", c->output_grads[0], begin, shape);
}

BD_OP(Pad) = {
    .signature = "(input: T, paddings: Tpaddings) -> (output: T)",
    .attrs = "T:type; Tpaddings:type{int32,int64}=int32",
    .shape = pad_shape,
    .gradient = pad_gradient,
    .kernels = BD_KERNELS({.run = pad_run}),
    .doc =
        "Pads a tensor with zeros: paddings[d] is the number of elements before and after it along dimension d.",
};

BD_OP(PadV2) = {
    .signature = "(input: T, paddings: Tpaddings, constant_values: T) -> (output: T)",
    .attrs = "T:type; Tpaddings:type{int32,int64}=int32",
    .shape = pad_shape,
    .gradient = pad_gradient,
    .kernels = BD_KERNELS({.run = pad_v2_run}),
    .doc =
        "Pads a tensor with a value: paddings[d] is the number of elements before and after it along dimension d.",
};

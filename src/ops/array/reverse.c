// ReverseV2, Reverse and ReverseSequence: reverse the order of elements along dimensions.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"

// ---- Reverse, ReverseV2 ----

static void reverse_along(bd_op_ctx *c, const bool reversed[BRAID_RANK_MAX])
{
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output(c, 0, x->dtype, &x->shape);
    if (!y || bd_tensor_count(y) == 0) return;
    bd_strided walk = bd_strided_of(&x->shape);
    int64_t from = 0;
    for (int d = 0; d < x->shape.rank; d++) {
        if (!reversed[d]) continue;
        from += (x->shape.dims[d] - 1) * walk.from_strides[d];
        walk.from_strides[d] = -walk.from_strides[d];
    }
    bd_elements_copy_block(y, 0, x, from, &walk);
}

static void reverse_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *dims = bd_input(c, 1);
    if (dims->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "'dims' must be 1-dimension, not %d", dims->shape.rank);
        return;
    }
    if (dims->shape.dims[0] != x->shape.rank) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "'dims' must have the same number of values as 'input' has dimensions. 'input' has %d'dims' has "
            "%lld values",
            x->shape.rank, (long long)dims->shape.dims[0]);
        return;
    }
    bool reversed[BRAID_RANK_MAX] = {0};
    for (int d = 0; d < x->shape.rank; d++)
        reversed[d] = bd_tensor_bool(dims)[d];
    reverse_along(c, reversed);
}

// Reads the dimensions named by a vector of axes.
static braid_code read_axes(const braid_tensor *axes, int rank, bool reversed[BRAID_RANK_MAX],
                            braid_status *st)
{
    for (int64_t i = 0; i < bd_tensor_count(axes); i++) {
        int64_t axis = bd_tensor_index(axes, i), d = axis < 0 ? axis + rank : axis;
        if (d < 0 || d >= rank)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "'axis'[%lld] = %lld is out of valid range [%d, %d]",
                           (long long)i, (long long)axis, -rank, rank - 1);
        if (reversed[d])
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "axis %lld specified more than once.", (long long)d);
        reversed[d] = true;
    }
    return BRAID_OK;
}

static void reverse_v2_run(bd_op_ctx *c)
{
    const braid_tensor *axes = bd_input(c, 1);
    bool reversed[BRAID_RANK_MAX] = {0};
    BD_STATUS(st);
    if (axes->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "'dims' must be 1-dimension, not %d", axes->shape.rank);
    } else if (read_axes(axes, bd_input(c, 0)->shape.rank, reversed, st)) {
        bd_op_fail_status(c, st);
    } else {
        reverse_along(c, reversed);
    }
}

static braid_code reverse_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 1, 1, st);
    const braid_shape *dims = &c->inputs[1];
    c->outputs[0] = c->inputs[0];
    if (code || dims->rank < 0 || dims->dims[0] < 0) return code;
    if (dims->dims[0] > BRAID_RANK_MAX)
        return bd_shape_ctx_fail(c, st, "reverse does not work on tensors with more than 8 dimensions");
    if (c->inputs[0].rank >= 0) return bd_shape_ctx_rank(c, 0, (int)dims->dims[0], st);
    c->outputs[0] = (braid_shape){.rank = (int)dims->dims[0], .dims = {-1, -1, -1, -1, -1, -1, -1, -1}};
    return BRAID_OK;
}

static braid_code reverse_v2_shape(bd_shape_ctx *c, braid_status *st)
{
    bool reversed[BRAID_RANK_MAX] = {0};
    const braid_tensor *axes = bd_shape_ctx_constant(c, 1);
    braid_code code = bd_shape_ctx_rank(c, 1, 1, st);
    c->outputs[0] = c->inputs[0];
    if (code || !axes || axes->shape.rank != 1 || c->inputs[0].rank < 0) return code;
    return read_axes(axes, c->inputs[0].rank, reversed, st);
}

// The gradient is reversed along the same axes.
static void reverse_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = bd_b2(c->graph, c->op->op_type, NULL, c->output_grads[0], c->op->inputs[1]);
}

BD_OP(Reverse) = {
    .signature = "(tensor: T, dims: bool) -> (output: T)",
    .attrs = "T:type{bool,complex128,complex64,double,float,half,int16,int32,int64,int8,string,uint16,uint8}",
    .shape = reverse_shape,
    .gradient = reverse_gradient,
    .kernels = BD_KERNELS({.run = reverse_run}),
    .doc = "Reverses a tensor along the dimensions for which `dims` is true.",
};

BD_OP(ReverseV2) = {
    .signature = "(tensor: T, axis: Tidx) -> (output: T)",
    .attrs =
        "Tidx:type{int32,int64}=int32; "
        "T:type{bfloat16,bool,complex128,complex64,double,float,half,int16,int32,int64,int8,string,uint16,uint8}",
    .shape = reverse_v2_shape,
    .gradient = reverse_gradient,
    .kernels = BD_KERNELS({.run = reverse_v2_run}),
    .doc = "Reverses a tensor along the dimensions in `axis`.",
};

// ---- ReverseSequence ----

static braid_code sequence_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t seq = bd_node_attr_int(c->node, "seq_dim"), batch = bd_node_attr_int(c->node, "batch_dim");
    const braid_shape *lens = &c->inputs[1];
    braid_shape *out = &c->outputs[0];
    *out = c->inputs[0];
    braid_code code = bd_shape_ctx_rank(c, 1, 1, st);
    if (code || out->rank < 0) return code;
    if (batch >= out->rank)
        return bd_shape_ctx_fail(c, st, "batch_dim must be < input rank: %lld vs. %d", (long long)batch,
                                 out->rank);
    if (seq >= out->rank)
        return bd_shape_ctx_fail(c, st, "seq_dim must be < input rank: %lld vs. %d", (long long)seq,
                                 out->rank);
    if (batch < 0) return bd_shape_ctx_fail(c, st, "batch_dim must be >=0, got %lld", (long long)batch);
    if (lens->rank < 0 || lens->dims[0] < 0) return BRAID_OK;
    if (out->dims[batch] >= 0 && out->dims[batch] != lens->dims[0])
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                                 (long long)out->dims[batch], (long long)lens->dims[0]);
    out->dims[batch] = lens->dims[0];
    return BRAID_OK;
}

static bool check_dims(bd_op_ctx *c, int64_t seq, int64_t batch)
{
    const braid_shape *x = &bd_input(c, 0)->shape, *lens = &bd_input(c, 1)->shape;
    if (lens->rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "seq_lens input must be 1-dim, not %d", lens->rank);
    } else if (seq < 0 || batch < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "seq_dim and batch_dim must be >= 0: %lld, %lld",
                   (long long)seq, (long long)batch);
    } else if (seq == batch) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "batch_dim == seq_dim == %lld", (long long)seq);
    } else if (seq >= x->rank || batch >= x->rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be < input.dims()( %lld vs. %d)",
                   seq >= x->rank ? "seq_dim" : "batch_dim", (long long)(seq >= x->rank ? seq : batch),
                   x->rank);
    } else if (lens->dims[0] != x->dims[batch]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "len(seq_lens) != input.dims(%lld), (%lld vs. %lld)",
                   (long long)batch, (long long)lens->dims[0], (long long)x->dims[batch]);
    }
    return !bd_op_failed(c);
}

static bool check_lengths(bd_op_ctx *c, int64_t seq)
{
    const braid_tensor *lens = bd_input(c, 1);
    for (int64_t i = 0; i < bd_tensor_count(lens) && !bd_interrupted_at(i); i++) {
        int64_t len = bd_tensor_index(lens, i);
        if (len >= 0 && len <= bd_input(c, 0)->shape.dims[seq]) continue;
        if (len < 0) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "seq_lens(%lld) < 0", (long long)i);
        } else {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "seq_lens(%lld) > input.dims(%lld)", (long long)i,
                       (long long)seq);
        }
        return false;
    }
    return true;
}

static void sequence_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *lens = bd_input(c, 1);
    int64_t seq = bd_node_attr_int(c->node, "seq_dim"), batch = bd_node_attr_int(c->node, "batch_dim");
    if (!check_dims(c, seq, batch) || !check_lengths(c, seq)) return;
    braid_tensor *y = bd_output(c, 0, x->dtype, &x->shape);
    if (!y || bd_tensor_count(y) == 0) return;
    bd_strided whole = bd_strided_of(&x->shape);
    for (int64_t i = 0; i < x->shape.dims[batch] && !bd_interrupted_at(i); i++) {
        int64_t len = bd_tensor_index(lens, i), at = i * whole.to_strides[batch];
        bd_strided part = whole;
        int64_t stride = whole.to_strides[seq];
        part.dims[batch] = 1;
        part.dims[seq] = x->shape.dims[seq] - len; // the part that is copied in its order
        if (part.dims[seq] > 0) bd_elements_copy_block(y, at + len * stride, x, at + len * stride, &part);
        part.dims[seq] = len;
        part.from_strides[seq] = -stride;
        if (len > 0) bd_elements_copy_block(y, at, x, at + (len - 1) * stride, &part);
    }
}

static void sequence_gradient(bd_grad_ctx *c)
{
    braid_op_desc *d = braid_op_begin(c->graph, "ReverseSequence", NULL);
    braid_op_input(d, c->output_grads[0]);
    braid_op_input(d, c->op->inputs[1]);
    braid_op_attr_int(d, "seq_dim", bd_node_attr_int(c->op, "seq_dim"));
    braid_op_attr_int(d, "batch_dim", bd_node_attr_int(c->op, "batch_dim"));
    c->input_grads[0] = braid_op_end_out(d);
}

BD_OP(ReverseSequence) = {
    .signature = "(input: T, seq_lengths: Tlen) -> (output: T)",
    .attrs = "seq_dim:int; batch_dim:int=0; T:type; Tlen:type{int32,int64}=int64",
    .shape = sequence_shape,
    .gradient = sequence_gradient,
    .kernels = BD_KERNELS({.run = sequence_run}),
    .doc = "Reverses the first seq_lengths[i] elements of slice i; the others are copied.",
};

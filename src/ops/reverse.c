// ReverseV2, Reverse and ReverseSequence: elements in the opposite order along dimensions.
#include "graph/grad.h"
#include "ops/element.h"

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
    if (dims->shape.rank != 1 || dims->shape.dims[0] != x->shape.rank) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "'dims' must have a value for each of the %d dimensions, but has shape %s", x->shape.rank,
                   bd_shape_str(&dims->shape, text));
        return;
    }
    bool reversed[BRAID_RANK_MAX] = {0};
    for (int d = 0; d < x->shape.rank; d++)
        reversed[d] = bd_tensor_bool(dims)[d];
    reverse_along(c, reversed);
}

// The dimensions that a vector of axes names.
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
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "'axis' must be 1-dimensional, not %d", axes->shape.rank);
    } else if (read_axes(axes, bd_input(c, 0)->shape.rank, reversed, st)) {
        bd_op_fail_status(c, st);
    } else {
        reverse_along(c, reversed);
    }
}

static braid_code reverse_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    return bd_shape_ctx_rank(c, 1, 1, st);
}

static braid_code reverse_v2_shape(bd_shape_ctx *c, braid_status *st)
{
    bool reversed[BRAID_RANK_MAX] = {0};
    const braid_tensor *axes = bd_shape_ctx_constant(c, 1);
    braid_code code = reverse_shape(c, st);
    if (code || !axes || axes->shape.rank != 1 || c->inputs[0].rank < 0) return code;
    return read_axes(axes, c->inputs[0].rank, reversed, st);
}

// The same once more.
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
    .doc = "A tensor in the opposite order along the dimensions for which `dims` is true.",
};

BD_OP(ReverseV2) = {
    .signature = "(tensor: T, axis: Tidx) -> (output: T)",
    .attrs =
        "Tidx:type{int32,int64}=int32; "
        "T:type{bfloat16,bool,complex128,complex64,double,float,half,int16,int32,int64,int8,string,uint16,uint8}",
    .shape = reverse_v2_shape,
    .gradient = reverse_gradient,
    .kernels = BD_KERNELS({.run = reverse_v2_run}),
    .doc = "A tensor in the opposite order along the dimensions that `axis` names.",
};

// ---- ReverseSequence ----

// What is wrong with the dimensions of sequences and batches in an input of that rank; NULL: nothing.
static const char *wrong_dims(int64_t seq, int64_t batch, int rank)
{
    if (seq < 0 || batch < 0) return "batch_dim and seq_dim must not be negative";
    if (seq == batch) return "batch_dim == seq_dim, but they must be two dimensions";
    if (seq >= rank) return "seq_dim must be < input rank";
    return batch >= rank ? "batch_dim must be < input rank" : NULL;
}

static braid_code sequence_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t seq = bd_node_attr_int(c->node, "seq_dim"), batch = bd_node_attr_int(c->node, "batch_dim");
    int rank = c->inputs[0].rank;
    c->outputs[0] = c->inputs[0];
    const char *wrong =
        rank < 0 || seq == batch ? NULL : wrong_dims(seq, batch, rank); // the kernel says that
    if (wrong)
        return bd_shape_ctx_fail(c, st, "%s: seq_dim is %lld, batch_dim %lld, rank %d", wrong, (long long)seq,
                                 (long long)batch, rank);
    return bd_shape_ctx_rank(c, 1, 1, st);
}

static bool check_sequences(bd_op_ctx *c, int64_t seq, int64_t batch)
{
    const braid_shape *x = &bd_input(c, 0)->shape, *lens = &bd_input(c, 1)->shape;
    const char *wrong = wrong_dims(seq, batch, x->rank);
    if (wrong) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s: seq_dim is %lld, batch_dim %lld, rank %d", wrong,
                   (long long)seq, (long long)batch, x->rank);
    } else if (lens->rank != 1 || lens->dims[0] != x->dims[batch]) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "seq_lens must be a vector of %lld lengths, but has shape %s",
                   (long long)x->dims[batch], bd_shape_str(lens, text));
    }
    return !bd_op_failed(c);
}

static void sequence_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *lens = bd_input(c, 1);
    int64_t seq = bd_node_attr_int(c->node, "seq_dim"), batch = bd_node_attr_int(c->node, "batch_dim");
    if (!check_sequences(c, seq, batch)) return;
    braid_tensor *y = bd_output(c, 0, x->dtype, &x->shape);
    if (!y || bd_tensor_count(y) == 0) return;
    bd_strided whole = bd_strided_of(&x->shape);
    for (int64_t i = 0; i < x->shape.dims[batch]; i++) {
        int64_t len = bd_tensor_index(lens, i), at = i * whole.to_strides[batch];
        if (len < 0 || len > x->shape.dims[seq]) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "seq_lens[%lld] = %lld is not in [0, %lld]", (long long)i,
                       (long long)len, (long long)x->shape.dims[seq]);
            return;
        }
        bd_strided part = whole;
        int64_t stride = whole.to_strides[seq];
        part.dims[batch] = 1;
        part.dims[seq] = x->shape.dims[seq] - len; // what stays
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
    .doc = "The first seq_lengths[i] elements of slice i in the opposite order, the others as they are.",
};

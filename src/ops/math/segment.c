// Segment ops: join rows of the same segment id into one row.
//
// SegmentX takes ascending ids; the last id gives the number of segments. UnsortedSegmentX takes ids in any
// order and the number of segments as an input, and drops rows of negative ids.
#include "ops/math/segment.h"

#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"
#include "ops/common/grad_steps.h"

#define SEGMENT_CREATE(NAME, OP)                                                                             \
    static braid_code create_##NAME(const braid_op *node, void *state, braid_status *st)                     \
    {                                                                                                        \
        (void)st;                                                                                            \
        bd_segment_bind(node, OP, state);                                                                    \
        return BRAID_OK;                                                                                     \
    }
SEGMENT_CREATE(sum, BD_SEGMENT_SUM)
SEGMENT_CREATE(mean, BD_SEGMENT_MEAN)
SEGMENT_CREATE(prod, BD_SEGMENT_PROD)
SEGMENT_CREATE(min, BD_SEGMENT_MIN)
SEGMENT_CREATE(max, BD_SEGMENT_MAX)

// ---- Shapes ----

static braid_code sorted_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *data = &c->inputs[0];
    braid_code code = BRAID_OK;
    for (int i = 1; i < c->input_count && !code; i++)
        code = bd_shape_ctx_rank(c, i, 1, st);
    if (code) return code;
    if (data->rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    c->outputs[0] = *data;
    if (data->rank > 0) c->outputs[0].dims[0] = -1;
    return BRAID_OK;
}

// `data` begins with the dimensions of `ids`; the output has num_segments in their place.
static braid_code unsorted_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *data = &c->inputs[0], *ids = &c->inputs[1];
    braid_code code = bd_shape_ctx_rank(c, 2, 0, st);
    if (code || data->rank < 0 || ids->rank < 0) return code;
    if (ids->rank > data->rank)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank %d but is rank %d", ids->rank,
                                 data->rank);
    for (int d = 0; d < ids->rank; d++) {
        if (data->dims[d] >= 0 && ids->dims[d] >= 0 && data->dims[d] != ids->dims[d])
            return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                                     (long long)data->dims[d], (long long)ids->dims[d]);
    }
    braid_shape out = bd_shape1(-1);
    if (bd_shape_ctx_constant_int(c, 2, &out.dims[0]) && out.dims[0] < 0)
        return bd_shape_ctx_fail(c, st,
                                 "Dimension size, given by scalar input 2, must be non-negative but is %lld",
                                 (long long)out.dims[0]);
    for (int d = ids->rank; d < data->rank && out.rank < BRAID_RANK_MAX; d++)
        out.dims[out.rank++] = data->dims[d];
    c->outputs[0] = out;
    return BRAID_OK;
}

// ---- Gradients ----

// For each row of the data, the row of `segments` for its segment; zeros where an unsorted op dropped the
// row.
static braid_out rows_of(bd_grad_ctx *c, braid_out segments)
{
    braid_graph *g = c->graph;
    braid_out ids = c->op->inputs[1];
    if (c->op->input_count == 2) return bd_grad_gather(g, segments, ids);
    braid_out zero = bd_b1(g, "ZerosLike", "zeros_like", ids);
    braid_out rows = bd_b2(g, "Gather", NULL, segments, bd_b2(g, "Maximum", NULL, ids, zero));
    // Whether each row was kept: the shape of the ids, followed by dimensions of size 1 for the broadcast.
    braid_out further = bd_b2(g, "Sub", "sub", bd_grad_rank(g, rows), bd_grad_rank(g, ids));
    further = bd_b2(g, "Reshape", NULL, further, bd_b_const_i32_vector(g, "Const", (int32_t[]){1}, 1));
    braid_out ones = bd_b2(g, "Fill", NULL, further, bd_b_const_i32(g, "value", 1));
    braid_out sizes[2] = {bd_b_shape(g, "Shape", ids), ones};
    braid_out kept =
        bd_b2(g, "Reshape", NULL, bd_b2(g, "GreaterEqual", NULL, ids, zero), bd_grad_concat(g, sizes, 2, 0));
    return bd_b3(g, "SelectV2", NULL, kept, rows, bd_b1(g, "ZerosLike", "zeros_like", rows));
}

static braid_out expand_dims(braid_graph *g, braid_out x, int32_t dim)
{
    const char *scope = braid_push_name_scope(g, "ExpandDims");
    braid_out out = bd_b2(g, "ExpandDims", scope, x, bd_b_const_i32(g, "dim", dim));
    braid_pop_name_scope(g);
    return out;
}

// The same for ids of a known rank, as TensorFlow makes it.
static braid_out rows_of_known_rank(bd_grad_ctx *c, braid_out segments)
{
    braid_graph *g = c->graph;
    braid_out ids = c->op->inputs[1];
    braid_out rows = bd_grad_gather(g, segments, bd_b2(g, "Maximum", NULL, ids, bd_grad_zeros_like(g, ids)));
    braid_out kept = bd_grad_number_right(g, "GreaterEqual", "GreaterEqual", ids, 0);
    for (int d = braid_out_shape(ids).rank; d < braid_out_shape(rows).rank; d++)
        kept = expand_dims(g, kept, -1);
    const char *scope = braid_push_name_scope(g, "ones_like");
    braid_out shape = bd_b_shape(g, "Shape", rows);
    braid_tensor *yes = braid_tensor_bool(true);
    braid_out ones = bd_b2(g, "Fill", scope, shape, bd_b_const(g, "Const", yes));
    braid_tensor_free(yes);
    braid_pop_name_scope(g);
    kept = bd_b2(g, "LogicalAnd", "and", kept, ones);
    return bd_b3(g, "Select", NULL, kept, rows, bd_grad_zeros_like(g, rows));
}

static void sum_gradient(bd_grad_ctx *c)
{
    const bool is_known = c->op->input_count == 3 && braid_out_shape(c->op->inputs[1]).rank >= 0 &&
                          braid_out_shape(c->output_grads[0]).rank >= 0;
    c->input_grads[0] = (is_known ? rows_of_known_rank : rows_of)(c, c->output_grads[0]);
}

// Sums `rows` by the segments of the differentiated op.
static braid_out sum_like(bd_grad_ctx *c, braid_out rows)
{
    if (c->op->input_count == 2) return bd_b2(c->graph, "SegmentSum", NULL, rows, c->op->inputs[1]);
    return bd_b3(c->graph, "UnsortedSegmentSum", NULL, rows, c->op->inputs[1], c->op->inputs[2]);
}

static braid_out cast_like(braid_graph *g, braid_out x, braid_out like)
{
    braid_op_desc *d = braid_op_begin(g, "Cast", NULL);
    braid_op_input(d, x);
    braid_op_attr_type(d, "DstT", bd_dtype_base(braid_out_dtype(like)));
    return braid_op_end_out(d);
}

static void mean_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = c->op->inputs[0], grad = c->output_grads[0];
    braid_out rank = bd_grad_rank(g, x), ids = bd_b_shape(g, "Shape", c->op->inputs[1]);
    braid_out further = expand_dims(g, bd_grad_number_right(g, "Sub", "sub", rank, 1), 0);
    const char *scope = braid_push_name_scope(g, "Fill");
    further = bd_b2(g, "Fill", scope, further, bd_b_const_i32(g, "value", 1));
    braid_pop_name_scope(g);
    braid_out shape = bd_grad_concat(g, (braid_out[]){ids, further}, 2, 0);
    braid_out one = bd_b_const_f(g, "Const", bd_dtype_base(braid_out_dtype(grad)), 1);
    braid_out count = sum_like(c, bd_b2(g, "Fill", NULL, shape, one));
    braid_out scaled = bd_b2(g, "RealDiv", "truediv", grad, count);
    c->input_grads[0] = rows_of(c, scaled);
}

// Elements that are equal to the extreme of their segment share the gradient.
static void extreme_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = c->op->inputs[0], grad = c->output_grads[0];
    braid_out chosen = bd_b2(g, "Equal", NULL, x, rows_of(c, braid_output(c->op, 0)));
    braid_out count = sum_like(c, cast_like(g, chosen, grad));
    braid_out shares = rows_of(c, bd_b2(g, "RealDiv", "truediv", grad, count));
    c->input_grads[0] = bd_b3(g, "Select", NULL, chosen, shares, bd_b1(g, "ZerosLike", "zeros_like", x));
}

// The derivative of a product by one factor: product / factor, or the product of the other factors where this
// factor is the only 0 of its segment.
static void product_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = c->op->inputs[0], ids = c->op->inputs[1], count = c->op->inputs[2],
              grad = c->output_grads[0];
    braid_dtype dtype = bd_dtype_base(braid_out_dtype(x));
    braid_out zero = bd_b_const_f(g, "zero", dtype, 0), one = bd_b_const_f(g, "one", dtype, 1);
    braid_out is_zero = bd_b2(g, "Equal", NULL, x, zero);
    braid_out zeros = bd_b3(g, "UnsortedSegmentSum", NULL, cast_like(g, is_zero, x), ids, count);
    braid_out alone = bd_b3(g, "SelectV2", NULL, bd_b2(g, "Greater", NULL, zeros, one), zero, grad);
    braid_out others =
        bd_b3(g, "UnsortedSegmentProd", NULL, bd_b3(g, "SelectV2", NULL, is_zero, one, x), ids, count);
    braid_out quotient = bd_b2(g, "RealDiv", "truediv", rows_of(c, braid_output(c->op, 0)), x);
    braid_out slope = bd_b3(g, "SelectV2", NULL, is_zero, rows_of(c, others), quotient);
    c->input_grads[0] = bd_b2(g, "Mul", "mul", rows_of(c, alone), slope);
}

// ---- Definitions ----

// Extremes of an empty segment are the least or the greatest value of the type.
#define SEGMENT_KERNELS(NAME, RUN, TYPES, FLAGS)                                                             \
    BD_KERNELS({.types = (TYPES),                                                                            \
                .flags = BD_KERNEL_WIDENS | (FLAGS),                                                         \
                .state_size = sizeof(bd_segment_state),                                                      \
                .create = create_##NAME,                                                                     \
                .run = (RUN)})
#define SORTED_SIGNATURE "(data: T, segment_ids: Tindices) -> (output: T)"
#define UNSORTED_SIGNATURE "(data: T, segment_ids: Tindices, num_segments: Tnumsegments) -> (output: T)"
#define UNSORTED_ATTRS "; Tindices:type{int32,int64}; Tnumsegments:type{int32,int64}=int32"

BD_OP(SegmentSum) = {
    .signature = SORTED_SIGNATURE,
    .attrs = "T:type{number}; Tindices:type{int32,int64}",
    .shape = sorted_shape,
    .gradient = sum_gradient,
    .kernels = SEGMENT_KERNELS(sum, bd_segment_sorted_run, BD_NUMBERS BD_AND_COMPLEX, 0),
    .doc = "Row s of the output is the sum of the rows of data with segment id s; ids must be ascending.",
};

BD_OP(SegmentMean) = {
    .signature = SORTED_SIGNATURE,
    .attrs = "T:type{number}; Tindices:type{int32,int64}",
    .shape = sorted_shape,
    .gradient = mean_gradient,
    .kernels = SEGMENT_KERNELS(mean, bd_segment_sorted_run, BD_NUMBERS BD_AND_COMPLEX, 0),
    .doc = "Row s of the output is the mean of the rows of data with segment id s; ids must be ascending.",
};

BD_OP(SegmentProd) = {
    .signature = SORTED_SIGNATURE,
    .attrs = "T:type{number}; Tindices:type{int32,int64}",
    .shape = sorted_shape,
    .kernels = SEGMENT_KERNELS(prod, bd_segment_sorted_run, BD_NUMBERS BD_AND_COMPLEX, 0),
    .doc = "Row s of the output is the product of the rows of data with segment id s; ids must be ascending.",
};

BD_OP(SegmentMin) = {
    .signature = SORTED_SIGNATURE,
    .attrs = "T:type{realnumber}; Tindices:type{int32,int64}",
    .shape = sorted_shape,
    .gradient = extreme_gradient,
    .kernels = SEGMENT_KERNELS(min, bd_segment_sorted_run, BD_NUMBERS, BD_KERNEL_CLAMPS),
    .doc =
        "Row s of the output is the element-wise minimum of the rows of data with segment id s; ids must be ascending.",
};

BD_OP(SegmentMax) = {
    .signature = SORTED_SIGNATURE,
    .attrs = "T:type{realnumber}; Tindices:type{int32,int64}",
    .shape = sorted_shape,
    .gradient = extreme_gradient,
    .kernels = SEGMENT_KERNELS(max, bd_segment_sorted_run, BD_NUMBERS, BD_KERNEL_CLAMPS),
    .doc =
        "Row s of the output is the element-wise maximum of the rows of data with segment id s; ids must be ascending.",
};

BD_OP(UnsortedSegmentSum) = {
    .signature = UNSORTED_SIGNATURE,
    .attrs = "T:type{number}" UNSORTED_ATTRS,
    .shape = unsorted_shape,
    .gradient = sum_gradient,
    .kernels = SEGMENT_KERNELS(sum, bd_segment_unsorted_run, BD_NUMBERS BD_AND_COMPLEX, 0),
    .doc =
        "Row s of the output is the sum of the rows of `data` with segment id s; rows with a negative id are dropped.",
};

BD_OP(UnsortedSegmentProd) = {
    .signature = UNSORTED_SIGNATURE,
    .attrs = "T:type{number}" UNSORTED_ATTRS,
    .shape = unsorted_shape,
    .gradient = product_gradient,
    .kernels = SEGMENT_KERNELS(prod, bd_segment_unsorted_run, BD_NUMBERS BD_AND_COMPLEX, 0),
    .doc =
        "Row s of the output is the product of the rows of `data` with segment id s; rows with a negative id are dropped.",
};

BD_OP(UnsortedSegmentMin) = {
    .signature = UNSORTED_SIGNATURE,
    .attrs = "T:type{realnumber}" UNSORTED_ATTRS,
    .shape = unsorted_shape,
    .gradient = extreme_gradient,
    .kernels = SEGMENT_KERNELS(min, bd_segment_unsorted_run, BD_NUMBERS, BD_KERNEL_CLAMPS),
    .doc =
        "Row s of the output is the element-wise minimum of the rows of `data` with segment id s; rows with a negative id are dropped.",
};

BD_OP(UnsortedSegmentMax) = {
    .signature = UNSORTED_SIGNATURE,
    .attrs = "T:type{realnumber}" UNSORTED_ATTRS,
    .shape = unsorted_shape,
    .gradient = extreme_gradient,
    .kernels = SEGMENT_KERNELS(max, bd_segment_unsorted_run, BD_NUMBERS, BD_KERNEL_CLAMPS),
    .doc =
        "Row s of the output is the element-wise maximum of the rows of `data` with segment id s; rows with a negative id are dropped.",
};

// ---- Segments in order, and a number of them, as TensorFlow 2 has them ----

#define COUNTED_SEGMENT(NAME, TYPES, ALLOWED, FLAGS, DOC)                                                    \
    {                                                                                                        \
        .signature = UNSORTED_SIGNATURE, .attrs = ALLOWED UNSORTED_ATTRS, .shape = unsorted_shape,           \
        .kernels = SEGMENT_KERNELS(NAME, bd_segment_unsorted_run, TYPES, FLAGS), .doc = (DOC)                \
    }

BD_OP(SegmentSumV2) = COUNTED_SEGMENT(sum, BD_NUMBERS BD_AND_COMPLEX, "T:type{number}", 0,
                                      "SegmentSum of which the number of segments is given.");
BD_OP(SegmentProdV2) = COUNTED_SEGMENT(prod, BD_NUMBERS BD_AND_COMPLEX, "T:type{number}", 0,
                                       "SegmentProd of which the number of segments is given.");
BD_OP(SegmentMinV2) = COUNTED_SEGMENT(min, BD_NUMBERS, "T:type{realnumber}", BD_KERNEL_CLAMPS,
                                      "SegmentMin of which the number of segments is given.");
BD_OP(SegmentMaxV2) = COUNTED_SEGMENT(max, BD_NUMBERS, "T:type{realnumber}", BD_KERNEL_CLAMPS,
                                      "SegmentMax of which the number of segments is given.");

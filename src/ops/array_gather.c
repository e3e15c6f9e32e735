// Gather: slices of a tensor picked by indices along an axis.
#include "graph/grad.h"
#include "ops/element.h"
#include "ops/grad_steps.h"

// ---- Gather ----

// The shape of `indices` put in place of dimension `axis` of `params`. False when that has too many dimensions.
static bool gathered_shape(const braid_shape *params, const braid_shape *indices, int axis, braid_shape *out)
{
    out->rank = 0;
    if (params->rank - 1 + indices->rank > BRAID_RANK_MAX) return false;
    for (int d = 0; d < axis; d++)
        out->dims[out->rank++] = params->dims[d];
    for (int d = 0; d < indices->rank; d++)
        out->dims[out->rank++] = indices->dims[d];
    for (int d = axis + 1; d < params->rank; d++)
        out->dims[out->rank++] = params->dims[d];
    return true;
}

static braid_code gather_shape_along(bd_shape_ctx *c, int64_t axis, braid_status *st)
{
    if (c->inputs[0].rank < 0) return BRAID_OK;
    if (c->inputs[0].rank == 0)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    braid_code code = bd_shape_ctx_axis(c, c->inputs[0].rank, &axis, st);
    if (code || c->inputs[1].rank < 0) return code;
    if (gathered_shape(&c->inputs[0], &c->inputs[1], (int)axis, &c->outputs[0])) return BRAID_OK;
    c->outputs[0] = BD_SHAPE_UNKNOWN;
    return bd_shape_ctx_fail(c, st, "Gather: more than %d dimensions", BRAID_RANK_MAX);
}

static braid_code gather_shape(bd_shape_ctx *c, braid_status *st)
{
    return gather_shape_along(c, 0, st);
}

static braid_code gather_v2_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t axis;
    return bd_shape_ctx_constant_int(c, 2, &axis) ? gather_shape_along(c, axis, st) : BRAID_OK;
}

// Words the error of a bad index with its place: "indices[0,2] = 5 is not in [0, 3)".
static void fail_index(bd_op_ctx *c, int input, int64_t at, int64_t limit)
{
    const braid_tensor *indices = bd_input(c, input);
    bd_strbuf where = {0};
    int64_t strides[BRAID_RANK_MAX], rest = at;
    bd_row_strides(&indices->shape, strides);
    for (int d = 0; d < indices->shape.rank; d++) {
        bd_strbuf_appendf(&where, "%s%lld", d ? "," : "", (long long)(rest / strides[d]));
        rest %= strides[d];
    }
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "indices[%s] = %lld is not in [0, %lld)", bd_strbuf_str(&where),
               (long long)bd_tensor_index(indices, at), (long long)limit);
    bd_strbuf_fini(&where);
}

static void gather_along(bd_op_ctx *c, int64_t axis)
{
    const braid_tensor *params = bd_input(c, 0), *indices = bd_input(c, 1);
    int rank = params->shape.rank;
    braid_shape out;
    if (rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "params must be at least 1 dimensional");
        return;
    }
    if (axis < -rank || axis >= rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "axis = %lld is not in [%d, %d)", (long long)axis, -rank, rank);
        return;
    }
    if (axis < 0) axis += rank;
    if (!gathered_shape(&params->shape, &indices->shape, (int)axis, &out)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Gather: more than %d dimensions", BRAID_RANK_MAX);
        return;
    }
    int64_t limit = params->shape.dims[axis], n = bd_tensor_count(indices);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = bd_tensor_index(indices, i);
        if (at >= 0 && at < limit) continue;
        fail_index(c, 1, i, limit);
        return;
    }
    braid_tensor *y = bd_output(c, 0, params->dtype, &out);
    if (!y) return;
    int64_t outer = bd_shape_count_range(&params->shape, 0, (int)axis);
    int64_t inner = bd_shape_count_range(&params->shape, (int)axis + 1, rank);
    for (int64_t o = 0; o < outer && inner > 0; o++) {
        for (int64_t i = 0; i < n; i++)
            bd_elements_copy(y, (o * n + i) * inner, params,
                             (o * limit + bd_tensor_index(indices, i)) * inner, inner);
    }
}

static void gather_run(bd_op_ctx *c)
{
    gather_along(c, 0);
}

static void gather_v2_run(bd_op_ctx *c)
{
    int64_t axis;
    if (bd_node_attr_int(c->node, "batch_dims") != 0) {
        bd_op_fail(c, BRAID_UNIMPLEMENTED, "GatherV2 with batch_dims is not implemented");
        return;
    }
    if (bd_input_int(c, 2, "axis", &axis)) gather_along(c, axis);
}

// x[begin:end] of a vector, with a mask set: tf.Tensor's operator [].
static braid_out vector_slice(braid_graph *g, braid_out x, int32_t begin, int32_t end, const char *mask)
{
    const char *scope = braid_push_name_scope(g, "strided_slice");
    braid_out from = bd_b_const_i32_vector(g, "stack", &begin, 1);
    braid_out to = bd_b_const_i32_vector(g, "stack", &end, 1);
    braid_out step = bd_b_const_i32_vector(g, "stack", (int32_t[]){1}, 1);
    braid_op_desc *d = braid_op_begin(g, "StridedSlice", scope);
    braid_op_input(d, x);
    braid_op_input(d, from);
    braid_op_input(d, to);
    braid_op_input(d, step);
    braid_op_attr_int(d, mask, 1);
    braid_out out = braid_op_end_out(d);
    braid_pop_name_scope(g);
    return out;
}

// x[1:]
static braid_out tail(braid_graph *g, braid_out x)
{
    return vector_slice(g, x, 1, 0, "end_mask");
}

// x[0]
static braid_out head(braid_graph *g, braid_out x)
{
    return vector_slice(g, x, 0, 1, "shrink_axis_mask");
}

// TensorFlow keeps the slices and their indices apart until somebody needs the whole gradient; here the whole is made at once,
// as its conversion does.
static void gather_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out params = braid_op_get_input(c->op, 0), indices = braid_op_get_input(c->op, 1);
    braid_push_colocate(g, params.op); // params can be large: its shape is worked out where it is
    braid_out wide = bd_grad_shape(g, params, BRAID_INT64);
    braid_op_desc *d = braid_op_begin(g, "Cast", "ToInt32");
    braid_op_input(d, wide);
    braid_op_attr_type(d, "DstT", BRAID_INT32);
    braid_out shape = braid_op_end_out(d);
    braid_pop_colocate(g);
    braid_out count = bd_grad_size(g, indices);
    const char *scope = braid_push_name_scope(g, "ExpandDims");
    braid_out axis = bd_b_const_i32(g, "dim", 0);
    braid_out size = bd_b2(g, "ExpandDims", scope, count, axis);
    braid_pop_name_scope(g);
    braid_out sizes[2] = {size, tail(g, shape)};
    braid_out values = bd_b2(g, "Reshape", "Reshape", c->output_grads[0], bd_grad_concat(g, sizes, 2, 0));
    braid_out flat = bd_b2(g, "Reshape", "Reshape", indices, size);
    c->input_grads[0] = bd_b3(g, "UnsortedSegmentSum", "UnsortedSegmentSum", values, flat, head(g, shape));
}

BD_OP(Gather) = {
    .signature = "(params: Tparams, indices: Tindices) -> (output: Tparams)",
    .attrs = "validate_indices:bool=true; Tparams:type; Tindices:type{int32,int64}",
    .shape = gather_shape,
    .gradient = gather_gradient,
    .kernels = BD_KERNELS({.run = gather_run}),
    .doc = "The slices params[i] for each i in `indices`; an index out of range is an error.",
};

BD_OP(GatherV2) = {
    .signature = "(params: Tparams, indices: Tindices, axis: Taxis) -> (output: Tparams)",
    .attrs = "batch_dims:int=0; Tparams:type; Tindices:type{int32,int64}; Taxis:type{int32,int64}",
    .shape = gather_v2_shape,
    .kernels = BD_KERNELS({.run = gather_v2_run}),
    .doc = "Slices along an axis, picked by `indices`.",
};

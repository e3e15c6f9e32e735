// Short sequences of nodes that gradient functions of array ops share.
#include "ops/common/grad_steps.h"

#include <string.h>

// Enters the name scope of one Python call; the node made last in it takes the scope's own name.
static const char *enter(braid_graph *g, const char *name)
{
    return braid_push_name_scope(g, name);
}

static braid_out const_ints(braid_graph *g, const char *name, braid_dtype dtype, const braid_shape *shape,
                            const int64_t *values)
{
    braid_tensor t;
    if (!bd_tensor_alloc(&t, dtype, shape)) {
        braid_graph_fail(g, BRAID_RESOURCE_EXHAUSTED, "No memory for constant '%s'", name);
        return (braid_out){0};
    }
    for (int64_t i = 0; i < bd_tensor_count(&t); i++) {
        if (dtype == BRAID_INT64)
            bd_tensor_i64(&t)[i] = values[i];
        else
            bd_tensor_i32(&t)[i] = (int32_t)values[i];
    }
    braid_out out = bd_b_const(g, name, &t);
    bd_tensor_fini(&t);
    return out;
}

braid_out bd_grad_sum_all(braid_graph *g, braid_out x)
{
    braid_shape shape = braid_out_shape(x);
    braid_out axes;
    if (shape.rank >= 0) {
        int32_t all[BRAID_RANK_MAX];
        for (int i = 0; i < shape.rank; i++)
            all[i] = i;
        axes = bd_b_const_i32_vector(g, "Const", all, shape.rank);
    } else {
        axes = bd_grad_range(g, bd_grad_rank(g, x), 1);
    }
    return bd_b2(g, "Sum", "Sum", x, axes);
}

braid_out bd_grad_shape(braid_graph *g, braid_out x, braid_dtype out_type)
{
    if (out_type == BRAID_INT32) return bd_b_shape(g, "Shape", x);
    braid_shape shape = braid_out_shape(x);
    if (bd_shape_is_known(&shape)) {
        braid_shape vector = bd_shape1(shape.rank);
        return const_ints(g, "Shape", out_type, &vector, shape.dims);
    }
    braid_op_desc *d = braid_op_begin(g, "Shape", "Shape");
    braid_op_input(d, x);
    braid_op_attr_type(d, "out_type", out_type);
    return braid_op_end_out(d);
}

braid_out bd_grad_variable_shape(braid_graph *g, braid_out handle)
{
    if (handle.op && strcmp(handle.op->op_type, "VarHandleOp") == 0) {
        const braid_shape shape = bd_node_attr_shape(handle.op, "shape");
        const braid_shape vector = bd_shape1(shape.rank);
        if (bd_shape_is_known(&shape)) return const_ints(g, "Const", BRAID_INT32, &vector, shape.dims);
    }
    return bd_b1(g, "VariableShape", NULL, handle);
}

braid_out bd_grad_rank(braid_graph *g, braid_out x)
{
    braid_shape shape = braid_out_shape(x);
    if (shape.rank >= 0) return bd_b_const_i32(g, "Rank", shape.rank);
    return bd_b1(g, "Rank", "Rank", x);
}

braid_out bd_grad_size(braid_graph *g, braid_out x)
{
    braid_shape shape = braid_out_shape(x);
    if (bd_shape_is_known(&shape)) return bd_b_const_i32(g, "Size", (int32_t)bd_shape_count(&shape));
    return bd_b1(g, "Size", "Size", x);
}

braid_out bd_grad_flatten(braid_graph *g, braid_out x)
{
    const char *scope = enter(g, "Reshape");
    braid_out shape = bd_b_const_i32_vector(g, "shape", (int32_t[]){-1}, 1);
    braid_out out = bd_b2(g, "Reshape", scope, x, shape);
    braid_pop_name_scope(g);
    return out;
}

braid_out bd_grad_reshape_like(braid_graph *g, braid_out x, braid_out like)
{
    return bd_b2(g, "Reshape", "Reshape", x, bd_b_shape(g, "Shape", like));
}

braid_out bd_grad_stack_with(braid_graph *g, const char *name, braid_out x, int32_t last)
{
    const char *scope = enter(g, name);
    braid_out values[2] = {x, bd_b_const_i32(g, "1", last)}; // named for its place in the list
    braid_op_desc *d = braid_op_begin(g, "Pack", scope);
    braid_op_input_list(d, values, 2);
    braid_out out = braid_op_end_out(d);
    braid_pop_name_scope(g);
    return out;
}

braid_out bd_grad_slice(braid_graph *g, braid_out x, const bd_grad_index *index)
{
    static const int32_t ones[BRAID_RANK_MAX] = {1, 1, 1, 1, 1, 1, 1, 1};
    const char *scope = enter(g, "strided_slice");
    braid_out begin = bd_b_const_i32_vector(g, "stack", index->begin, index->count);
    braid_out end = bd_b_const_i32_vector(g, "stack_1", index->end, index->count);
    braid_out step = bd_b_const_i32_vector(g, "stack_2", ones, index->count);
    braid_op_desc *d = braid_op_begin(g, "StridedSlice", scope);
    braid_op_input(d, x);
    braid_op_input(d, begin);
    braid_op_input(d, end);
    braid_op_input(d, step);
    braid_op_attr_int(d, "begin_mask", index->begin_mask);
    braid_op_attr_int(d, "end_mask", index->end_mask);
    braid_op_attr_int(d, "new_axis_mask", index->new_axis_mask);
    braid_op_attr_int(d, "shrink_axis_mask", index->shrink_axis_mask);
    braid_out out = braid_op_end_out(d);
    braid_pop_name_scope(g);
    return out;
}

braid_out bd_grad_gather(braid_graph *g, braid_out params, braid_out indices)
{
    const char *scope = enter(g, "GatherV2");
    braid_out out = bd_b3(g, "GatherV2", scope, params, indices, bd_b_const_i32(g, "axis", 0));
    braid_pop_name_scope(g);
    return out;
}

braid_out bd_grad_range(braid_graph *g, braid_out limit, int32_t delta)
{
    const char *scope = enter(g, "range");
    braid_out start = bd_b_const_i32(g, "start", 0);
    braid_out step = bd_b_const_i32(g, "delta", delta);
    braid_out out = bd_b3(g, "Range", scope, start, limit, step);
    braid_pop_name_scope(g);
    return out;
}

braid_out bd_grad_concat(braid_graph *g, const braid_out *values, int count, int32_t axis)
{
    const char *scope = enter(g, "concat");
    braid_out axis_out = bd_b_const_i32(g, "axis", axis);
    braid_op_desc *d = braid_op_begin(g, "ConcatV2", scope);
    braid_op_input_list(d, values, count);
    braid_op_input(d, axis_out);
    braid_out out = braid_op_end_out(d);
    braid_pop_name_scope(g);
    return out;
}

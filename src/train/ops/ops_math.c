// Element-wise operations and reductions.
#include "train/common/build.h"

#include <braid/ops.h>
#include <string.h>

// ---- Element by element ----

braid_out braid_identity(braid_graph *g, const char *name, braid_out x)
{
    return train_node1(g, "Identity", name, x);
}

// As in Python, the name counts as used even if the cast is not needed.
braid_out braid_cast(braid_graph *g, braid_out x, braid_dtype dtype)
{
    const char *scope = braid_push_name_scope(g, "Cast");
    braid_pop_name_scope(g);
    if (!x.op || train_base_dtype(braid_out_dtype(x)) == dtype) return x;
    braid_op_desc *d = braid_op_begin(g, "Cast", scope);
    braid_op_input(d, x);
    braid_op_attr_type(d, "DstT", dtype);
    return braid_op_end_out(d);
}

braid_out braid_neg(braid_graph *g, braid_out x)
{
    return train_node1(g, "Neg", NULL, x);
}

braid_out braid_abs(braid_graph *g, braid_out x)
{
    return train_node1(g, "Abs", NULL, x);
}

braid_out braid_square(braid_graph *g, braid_out x)
{
    return train_node1(g, "Square", NULL, x);
}

braid_out braid_sqrt(braid_graph *g, braid_out x)
{
    return train_node1(g, "Sqrt", NULL, x);
}

braid_out braid_round(braid_graph *g, braid_out x)
{
    return train_node1(g, "Round", NULL, x);
}

braid_out braid_exp(braid_graph *g, braid_out x)
{
    return train_node1(g, "Exp", NULL, x);
}

braid_out braid_log(braid_graph *g, braid_out x)
{
    return train_node1(g, "Log", NULL, x);
}

braid_out braid_log1p(braid_graph *g, braid_out x)
{
    return train_node1(g, "Log1p", NULL, x);
}

braid_out braid_rsqrt(braid_graph *g, braid_out x)
{
    return train_node1(g, "Rsqrt", NULL, x);
}

braid_out braid_sign(braid_graph *g, braid_out x)
{
    return train_node1(g, "Sign", NULL, x);
}

braid_out braid_sin(braid_graph *g, braid_out x)
{
    return train_node1(g, "Sin", NULL, x);
}

braid_out braid_cos(braid_graph *g, braid_out x)
{
    return train_node1(g, "Cos", NULL, x);
}

braid_out braid_floor(braid_graph *g, braid_out x)
{
    return train_node1(g, "Floor", NULL, x);
}

braid_out braid_ceil(braid_graph *g, braid_out x)
{
    return train_node1(g, "Ceil", NULL, x);
}

braid_out braid_stop_gradient(braid_graph *g, braid_out x)
{
    return train_node1(g, "StopGradient", NULL, x);
}

braid_out braid_logical_not(braid_graph *g, braid_out x)
{
    return train_node1(g, "LogicalNot", NULL, x);
}

// Named as Python's operators name them.
braid_out braid_add(braid_graph *g, braid_out x, braid_out y)
{
    return train_node2(g, "Add", "add", x, y);
}

braid_out braid_sub(braid_graph *g, braid_out x, braid_out y)
{
    return train_node2(g, "Sub", "sub", x, y);
}

braid_out braid_mul(braid_graph *g, braid_out x, braid_out y)
{
    return train_node2(g, "Mul", "mul", x, y);
}

braid_out braid_div(braid_graph *g, braid_out x, braid_out y)
{
    return train_node2(g, "RealDiv", "truediv", x, y);
}

braid_out braid_floordiv(braid_graph *g, braid_out x, braid_out y)
{
    return train_node2(g, "FloorDiv", "floordiv", x, y);
}

braid_out braid_mod(braid_graph *g, braid_out x, braid_out y)
{
    return train_node2(g, "FloorMod", "mod", x, y);
}

braid_out braid_pow(braid_graph *g, braid_out x, braid_out y)
{
    return train_node2(g, "Pow", NULL, x, y);
}

braid_out braid_squared_difference(braid_graph *g, braid_out x, braid_out y)
{
    return train_node2(g, "SquaredDifference", NULL, x, y);
}

braid_out braid_maximum(braid_graph *g, braid_out x, braid_out y)
{
    return train_node2(g, "Maximum", NULL, x, y);
}

braid_out braid_minimum(braid_graph *g, braid_out x, braid_out y)
{
    return train_node2(g, "Minimum", NULL, x, y);
}

braid_out braid_equal(braid_graph *g, braid_out x, braid_out y)
{
    return train_node2(g, "Equal", NULL, x, y);
}

braid_out braid_not_equal(braid_graph *g, braid_out x, braid_out y)
{
    return train_node2(g, "NotEqual", NULL, x, y);
}

braid_out braid_less(braid_graph *g, braid_out x, braid_out y)
{
    return train_node2(g, "Less", NULL, x, y);
}

braid_out braid_less_equal(braid_graph *g, braid_out x, braid_out y)
{
    return train_node2(g, "LessEqual", NULL, x, y);
}

braid_out braid_greater(braid_graph *g, braid_out x, braid_out y)
{
    return train_node2(g, "Greater", NULL, x, y);
}

braid_out braid_greater_equal(braid_graph *g, braid_out x, braid_out y)
{
    return train_node2(g, "GreaterEqual", NULL, x, y);
}

braid_out braid_logical_and(braid_graph *g, braid_out x, braid_out y)
{
    return train_node2(g, "LogicalAnd", NULL, x, y);
}

braid_out braid_logical_or(braid_graph *g, braid_out x, braid_out y)
{
    return train_node2(g, "LogicalOr", NULL, x, y);
}

braid_out braid_where(braid_graph *g, braid_out condition, braid_out x, braid_out y)
{
    return train_node3(g, "Select", NULL, condition, x, y);
}

braid_out train_add_n(braid_graph *g, const char *name, const braid_out *values, int count)
{
    braid_op_desc *d = braid_op_begin(g, "AddN", name);
    braid_op_input_list(d, values, count);
    return braid_op_end_out(d);
}

braid_out braid_add_n(braid_graph *g, const braid_out *values, int count)
{
    return train_check_values(g, "add_n", values, count) ? train_add_n(g, NULL, values, count) : BRAID_NONE;
}

braid_out braid_clip_by_value(braid_graph *g, braid_out x, double min, double max)
{
    if (!x.op) return BRAID_NONE;
    const char *scope = braid_push_name_scope(g, "clip_by_value");
    braid_out low = train_op_number(g, "Minimum", "Minimum", x, max);
    braid_out out = train_op_number(g, "Maximum", scope, low, min);
    braid_pop_name_scope(g);
    return out;
}

// ---- Reductions ----

braid_out train_reduce(braid_graph *g, const char *op_type, braid_out x, braid_out axes, bool keep_dims)
{
    braid_op_desc *d = braid_op_begin(g, op_type, NULL);
    braid_op_input(d, x);
    braid_op_input(d, axes);
    braid_op_attr_bool(d, "keep_dims", keep_dims);
    return braid_op_end_out(d);
}

braid_out braid_reduce_sum(braid_graph *g, braid_out x)
{
    if (!x.op) return BRAID_NONE;
    return train_reduce(g, "Sum", x, train_all_axes(g, x), false);
}

braid_out braid_reduce_mean(braid_graph *g, braid_out x)
{
    if (!x.op) return BRAID_NONE;
    return train_reduce(g, "Mean", x, train_all_axes(g, x), false);
}

braid_out braid_reduce(braid_graph *g, const char *op_type, braid_out x, const int32_t *axes, int count,
                       bool keep_dims)
{
    const char *scope = braid_push_name_scope(g, op_type);
    braid_out indices = braid_const_int32s(g, "reduction_indices", axes, count);
    braid_pop_name_scope(g);
    braid_op_desc *d = braid_op_begin(g, op_type, scope);
    braid_op_input(d, x);
    braid_op_input(d, indices);
    braid_op_attr_bool(d, "keep_dims", keep_dims);
    return braid_op_end_out(d);
}

static braid_out arg_of(braid_graph *g, const char *op_type, braid_out x, int axis)
{
    const char *scope = braid_push_name_scope(g, op_type);
    braid_out dimension = braid_const_int32(g, "dimension", axis);
    braid_pop_name_scope(g);
    return train_node2(g, op_type, scope, x, dimension);
}

braid_out braid_argmax(braid_graph *g, braid_out x, int axis)
{
    return arg_of(g, "ArgMax", x, axis);
}

braid_out braid_argmin(braid_graph *g, braid_out x, int axis)
{
    return arg_of(g, "ArgMin", x, axis);
}

braid_out braid_cumsum(braid_graph *g, braid_out x, int axis, bool exclusive, bool reverse)
{
    const char *scope = braid_push_name_scope(g, "Cumsum");
    const braid_out along = braid_const_int32(g, "axis", axis);
    braid_pop_name_scope(g);
    braid_op_desc *d = braid_op_begin(g, "Cumsum", scope);
    braid_op_input(d, x);
    braid_op_input(d, along);
    braid_op_attr_bool(d, "exclusive", exclusive);
    braid_op_attr_bool(d, "reverse", reverse);
    return braid_op_end_out(d);
}

void braid_top_k(braid_graph *g, braid_out x, int k, braid_out *values, braid_out *indices)
{
    const char *scope = braid_push_name_scope(g, "TopKV2");
    const braid_out count = braid_const_int32(g, "k", k);
    braid_pop_name_scope(g);
    *values = train_node2(g, "TopKV2", scope, x, count);
    *indices = values->op ? braid_output(values->op, 1) : BRAID_NONE;
}

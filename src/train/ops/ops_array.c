// Shapes of tensors, and tensors that are cut, joined, repeated and turned.
#include "train/common/build.h"

#include <braid/ops.h>

bool train_check_values(braid_graph *g, const char *what, const braid_out *values, int count)
{
    if (braid_graph_status(g, NULL)) return false;
    if (values && count > 0) return true;
    braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: there are no values", what);
    return false;
}

bool train_check_dims(braid_graph *g, const char *what, braid_out x, const void *numbers, int count)
{
    if (braid_graph_status(g, NULL)) return false;
    if (!x.op)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: there is no input", what);
    else if (count < 0 || count > BRAID_RANK_MAX || (count && !numbers))
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s of '%s': numbers for %d dimensions", what,
                         braid_op_name(x.op), numbers ? count : 0);
    return !braid_graph_status(g, NULL);
}

// A vector [count] that is the constant NODE/NAME of a node to be; stores the node's name to `scope`.
static braid_out numbers_of(braid_graph *g, const char *node, const char *name, const int32_t *values,
                            int count, const char **scope)
{
    *scope = braid_push_name_scope(g, node);
    const braid_out out = braid_const_int32s(g, name, values, count);
    braid_pop_name_scope(g);
    return out;
}

static braid_out number_of(braid_graph *g, const char *node, const char *name, int32_t value,
                           const char **scope)
{
    *scope = braid_push_name_scope(g, node);
    const braid_out out = braid_const_int32(g, name, value);
    braid_pop_name_scope(g);
    return out;
}

// ---- Shapes ----

braid_out braid_shape_of(braid_graph *g, braid_out x)
{
    return train_check_dims(g, "shape", x, NULL, 0) ? train_shape_of(g, x) : BRAID_NONE;
}

braid_out braid_rank_of(braid_graph *g, braid_out x)
{
    return train_check_dims(g, "rank", x, NULL, 0) ? train_rank_of(g, x) : BRAID_NONE;
}

braid_out braid_size_of(braid_graph *g, braid_out x)
{
    return train_check_dims(g, "size", x, NULL, 0) ? train_size_of(g, x) : BRAID_NONE;
}

braid_out braid_zeros_like(braid_graph *g, braid_out x)
{
    return train_node1(g, "ZerosLike", "zeros_like", x);
}

braid_out braid_ones_like(braid_graph *g, braid_out x)
{
    if (!x.op) return BRAID_NONE;
    const char *scope = braid_push_name_scope(g, "ones_like");
    braid_out shape = train_shape_of(g, x);
    braid_out one = braid_const_number(g, "Const", train_base_dtype(braid_out_dtype(x)), 1);
    braid_pop_name_scope(g);
    return train_node2(g, "Fill", scope, shape, one);
}

braid_out braid_range(braid_graph *g, int32_t start, int32_t limit, int32_t delta)
{
    const char *scope = braid_push_name_scope(g, "range");
    const braid_out from = braid_const_int32(g, "start", start);
    const braid_out to = braid_const_int32(g, "limit", limit);
    const braid_out step = braid_const_int32(g, "delta", delta);
    braid_pop_name_scope(g);
    return train_node3(g, "Range", scope, from, to, step);
}

// ---- The same elements in other places ----

braid_out braid_expand_dims(braid_graph *g, braid_out x, int axis)
{
    const char *scope;
    const braid_out dim = number_of(g, "ExpandDims", "dim", axis, &scope);
    return train_node2(g, "ExpandDims", scope, x, dim);
}

braid_out braid_squeeze(braid_graph *g, braid_out x, const int32_t *axes, int count)
{
    if (!train_check_dims(g, "squeeze", x, axes, count)) return BRAID_NONE;
    int64_t dims[BRAID_RANK_MAX];
    for (int i = 0; i < count; i++)
        dims[i] = axes[i];
    braid_op_desc *d = braid_op_begin(g, "Squeeze", NULL);
    braid_op_input(d, x);
    braid_op_attr_int_list(d, "squeeze_dims", dims, count);
    return braid_op_end_out(d);
}

braid_out braid_transpose(braid_graph *g, braid_out x, const int32_t *perm, int count)
{
    if (!train_check_dims(g, "transpose", x, perm, count)) return BRAID_NONE;
    int32_t reversed[BRAID_RANK_MAX];
    const int rank = braid_out_shape(x).rank;
    if (count == 0 && rank < 0) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "transpose of '%s': its rank must be known",
                         braid_op_name(x.op));
        return BRAID_NONE;
    }
    for (int i = 0; i < rank && !count; i++)
        reversed[i] = rank - 1 - i;
    const char *scope;
    const braid_out order =
        numbers_of(g, "transpose", "perm", count ? perm : reversed, count ? count : rank, &scope);
    return train_node2(g, "Transpose", scope, x, order);
}

braid_out braid_reverse(braid_graph *g, braid_out x, const int32_t *axes, int count)
{
    if (!train_check_dims(g, "reverse", x, axes, count)) return BRAID_NONE;
    const char *scope;
    const braid_out along = numbers_of(g, "ReverseV2", "axis", axes, count, &scope);
    return train_node2(g, "ReverseV2", scope, x, along);
}

// ---- Parts ----

braid_out braid_slice(braid_graph *g, braid_out x, const int64_t *begin, braid_shape size)
{
    if (!train_check_dims(g, "slice", x, begin, size.rank)) return BRAID_NONE;
    const char *scope = braid_push_name_scope(g, "Slice");
    const braid_out from = train_const_shape(g, "begin", braid_shape_make(size.rank, begin));
    const braid_out sizes = train_const_shape(g, "size", size);
    braid_pop_name_scope(g);
    return train_node3(g, "Slice", scope, x, from, sizes);
}

// Stores the outputs of an op, `count` of them; none when the graph has failed.
static void get_outputs(braid_op *op, braid_out *outs, int count)
{
    for (int i = 0; outs && i < count; i++)
        outs[i] = op ? braid_output(op, i) : BRAID_NONE;
}

void braid_unstack(braid_graph *g, braid_out x, int axis, braid_out *outs, int count)
{
    get_outputs(NULL, outs, count);
    if (!train_check_values(g, "unstack", outs, count)) return;
    braid_op_desc *d = braid_op_begin(g, "Unpack", "unstack");
    braid_op_input(d, x);
    braid_op_attr_int(d, "num", count);
    braid_op_attr_int(d, "axis", axis);
    get_outputs(braid_op_end(d), outs, count);
}

void braid_split(braid_graph *g, braid_out x, int axis, braid_out *outs, int count)
{
    get_outputs(NULL, outs, count);
    if (!train_check_values(g, "split", outs, count)) return;
    const char *scope;
    const braid_out along = number_of(g, "split", "split_dim", axis, &scope);
    braid_op_desc *d = braid_op_begin(g, "Split", scope);
    braid_op_input(d, along);
    braid_op_input(d, x);
    braid_op_attr_int(d, "num_split", count);
    get_outputs(braid_op_end(d), outs, count);
}

void braid_split_sizes(braid_graph *g, braid_out x, int axis, const int32_t *sizes, braid_out *outs,
                       int count)
{
    get_outputs(NULL, outs, count);
    if (!train_check_values(g, "split", sizes ? outs : NULL, count)) return;
    const braid_out parts = braid_const_int32s(g, NULL, sizes, count);
    const char *scope;
    const braid_out along = number_of(g, "split", "split_dim", axis, &scope);
    braid_op_desc *d = braid_op_begin(g, "SplitV", scope);
    braid_op_input(d, x);
    braid_op_input(d, parts);
    braid_op_input(d, along);
    braid_op_attr_int(d, "num_split", count);
    get_outputs(braid_op_end(d), outs, count);
}

// ---- Joined and repeated ----

braid_out braid_concat(braid_graph *g, const braid_out *values, int count, int axis)
{
    if (!train_check_values(g, "concat", values, count)) return BRAID_NONE;
    const char *scope;
    const braid_out along = number_of(g, "concat", "axis", axis, &scope);
    braid_op_desc *d = braid_op_begin(g, "ConcatV2", scope);
    braid_op_input_list(d, values, count);
    braid_op_input(d, along);
    return braid_op_end_out(d);
}

static braid_out stack(braid_graph *g, const char *name, const braid_out *values, int count, int axis)
{
    if (!train_check_values(g, "stack", values, count)) return BRAID_NONE;
    braid_op_desc *d = braid_op_begin(g, "Pack", name);
    braid_op_input_list(d, values, count);
    braid_op_attr_int(d, "axis", axis);
    return braid_op_end_out(d);
}

braid_out train_stack(braid_graph *g, const char *name, const braid_out *values, int count)
{
    return stack(g, name, values, count, 0);
}

braid_out braid_stack(braid_graph *g, const braid_out *values, int count, int axis)
{
    return stack(g, "stack", values, count, axis);
}

braid_out braid_tile(braid_graph *g, braid_out x, const int32_t *multiples, int rank)
{
    if (!train_check_dims(g, "tile", x, multiples, rank)) return BRAID_NONE;
    const char *scope;
    const braid_out times = numbers_of(g, "Tile", "multiples", multiples, rank, &scope);
    return train_node2(g, "Tile", scope, x, times);
}

// [rank, 2]
static braid_out paddings_of(braid_graph *g, const int32_t (*paddings)[2], int rank)
{
    braid_tensor *t = braid_tensor_from(BRAID_INT32, BRAID_SHAPE(rank, 2), paddings, NULL);
    const braid_out out = braid_const(g, "paddings", t);
    braid_tensor_free(t);
    return out;
}

braid_out braid_pad(braid_graph *g, braid_out x, const int32_t (*paddings)[2], int rank, double value)
{
    if (!train_check_dims(g, "pad", x, paddings, rank)) return BRAID_NONE;
    const char *op_type = value == 0 ? "Pad" : "PadV2";
    const char *scope = braid_push_name_scope(g, op_type);
    const braid_out sizes = paddings_of(g, paddings, rank);
    braid_out filling = BRAID_NONE;
    if (value != 0)
        filling = braid_const_number(g, "constant_values", train_base_dtype(braid_out_dtype(x)), value);
    braid_pop_name_scope(g);
    return value == 0 ? train_node2(g, op_type, scope, x, sizes)
                      : train_node3(g, op_type, scope, x, sizes, filling);
}

braid_out braid_mirror_pad(braid_graph *g, braid_out x, const int32_t (*paddings)[2], int rank,
                           bool symmetric)
{
    if (!train_check_dims(g, "pad", x, paddings, rank)) return BRAID_NONE;
    const char *scope = braid_push_name_scope(g, "MirrorPad");
    const braid_out sizes = paddings_of(g, paddings, rank);
    braid_pop_name_scope(g);
    braid_op_desc *d = braid_op_begin(g, "MirrorPad", scope);
    braid_op_input(d, x);
    braid_op_input(d, sizes);
    braid_op_attr_string(d, "mode", symmetric ? "SYMMETRIC" : "REFLECT");
    return braid_op_end_out(d);
}

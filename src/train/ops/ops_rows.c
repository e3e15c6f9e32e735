// Rows and elements of tensors by their indices. (embedding.c has rows of variables.)
#include <braid/ops.h>

#include "train/common/build.h"

braid_out train_gather(braid_graph *g, const char *name, braid_out params, braid_out indices)
{
    const char *scope = braid_push_name_scope(g, name ? name : "GatherV2");
    braid_out axis = braid_const_int32(g, "axis", 0);
    braid_out rows = train_node3(g, "GatherV2", scope, params, indices, axis);
    braid_pop_name_scope(g);
    return rows;
}

braid_out braid_gather(braid_graph *g, braid_out params, braid_out indices)
{
    return train_gather(g, NULL, params, indices);
}

// ---- Elements by indices ----

braid_out braid_gather_nd(braid_graph *g, braid_out params, braid_out indices)
{
    return train_node2(g, "GatherNd", NULL, params, indices);
}

braid_out braid_scatter_nd(braid_graph *g, braid_out indices, braid_out updates, braid_shape shape)
{
    const char *scope = braid_push_name_scope(g, "ScatterNd");
    const braid_out of_indices =
        braid_cast(g, train_const_shape(g, "shape", shape), train_base_dtype(braid_out_dtype(indices)));
    braid_pop_name_scope(g);
    return train_node3(g, "ScatterNd", scope, indices, updates, of_indices);
}

braid_out braid_where_true(braid_graph *g, braid_out condition)
{
    return train_node1(g, "Where", NULL, condition);
}

// `x` with its first `joined` dimensions as one.
static braid_out join_dims(braid_graph *g, braid_out x, int joined)
{
    const braid_shape shape = braid_out_shape(x);
    braid_shape rest = braid_shape_make(shape.rank - joined + 1, shape.dims + joined - 1);
    rest.dims[0] = -1;
    bool is_known = true, is_empty = false;
    for (int i = 1; i < rest.rank; i++) {
        is_known &= rest.dims[i] >= 0;
        is_empty |= rest.dims[i] == 0;
    }
    if (joined == 1) return x;
    if (is_known && !is_empty) return braid_reshape(g, x, rest);
    const braid_out of_x = train_shape_of(g, x);
    const braid_out first = braid_slice(g, of_x, (int64_t[]){0}, BRAID_SHAPE(joined));
    const braid_out size = braid_reduce(g, "Prod", first, (int32_t[]){0}, 1, true);
    const braid_out dims[] = {size, braid_slice(g, of_x, (int64_t[]){joined}, BRAID_SHAPE(-1))};
    const braid_out out = train_node2(g, "Reshape", NULL, x, braid_concat(g, dims, 2, 0));
    if (out.op) braid_set_shape(out, rest);
    return out;
}

braid_out braid_boolean_mask(braid_graph *g, braid_out x, braid_out mask)
{
    if (!train_check_dims(g, "boolean_mask", x, NULL, 0) ||
        !train_check_dims(g, "boolean_mask", mask, NULL, 0))
        return BRAID_NONE;
    const braid_shape of_mask = braid_out_shape(mask), of_x = braid_out_shape(x);
    bool fits = of_mask.rank >= 1 && of_x.rank >= of_mask.rank;
    for (int i = 0; i < of_mask.rank && fits; i++)
        fits = of_mask.dims[i] < 0 || of_x.dims[i] < 0 || of_mask.dims[i] == of_x.dims[i];
    if (!fits) {
        braid_graph_fail(
            g, BRAID_INVALID_ARGUMENT,
            "boolean_mask of '%s': the mask '%s' must have the shape of its first dimensions, of "
            "a known rank of at least 1",
            braid_op_name(x.op), braid_op_name(mask.op));
        return BRAID_NONE;
    }
    (void)braid_push_name_scope(g, "boolean_mask");
    const braid_out rows = join_dims(g, x, of_mask.rank);
    const braid_out flat = braid_reshape(g, mask, BRAID_SHAPE(-1));
    const braid_out chosen = braid_squeeze(g, braid_where_true(g, flat), (int32_t[]){1}, 1);
    const braid_out out = braid_gather(g, rows, chosen);
    braid_pop_name_scope(g);
    return out;
}

// ---- Indices as rows ----

braid_out braid_one_hot(braid_graph *g, braid_out indices, int depth, braid_dtype dtype)
{
    const char *scope = braid_push_name_scope(g, "one_hot");
    const braid_out on = braid_const_number(g, "on_value", dtype, 1);
    const braid_out off = braid_const_number(g, "off_value", dtype, 0);
    const braid_out size = braid_const_int32(g, "depth", depth);
    braid_pop_name_scope(g);
    braid_op_desc *d = braid_op_begin(g, "OneHot", scope);
    const braid_out inputs[] = {indices, size, on, off};
    for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
        braid_op_input(d, inputs[i]);
    return braid_op_end_out(d);
}

braid_out braid_sequence_mask(braid_graph *g, braid_out lengths, int max_length, braid_dtype dtype)
{
    if (!train_check_dims(g, "sequence_mask", lengths, NULL, 0)) return BRAID_NONE;
    if (max_length < 0) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "sequence_mask of '%s': a length of %d",
                         braid_op_name(lengths.op), max_length);
        return BRAID_NONE;
    }
    (void)braid_push_name_scope(g, "SequenceMask");
    const braid_dtype of_lengths = train_base_dtype(braid_out_dtype(lengths));
    braid_out limit;
    if (max_length) {
        limit = braid_const_number(g, NULL, of_lengths, max_length);
    } else {
        const braid_out longest = train_reduce(g, "Max", lengths, train_all_axes(g, lengths), false);
        limit = braid_maximum(g, braid_const_number(g, NULL, of_lengths, 0), longest);
    }
    const braid_out start = braid_const_number(g, NULL, of_lengths, 0);
    const braid_out step = braid_const_number(g, NULL, of_lengths, 1);
    const braid_out places = train_node3(g, "Range", NULL, start, limit, step);
    const braid_out mask = braid_less(g, places, braid_expand_dims(g, lengths, -1));
    const braid_out out = braid_cast(g, mask, dtype);
    braid_pop_name_scope(g);
    return out;
}

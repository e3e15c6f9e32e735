// Short forms over the public graph builder.
#include "train/common/build.h"

#include "base/alloc.h"
#include "base/half.h"
#include <braid/ops.h>
#include <string.h>

braid_out train_node1(braid_graph *g, const char *op_type, const char *name, braid_out a)
{
    braid_op_desc *d = braid_op_begin(g, op_type, name);
    braid_op_input(d, a);
    return braid_op_end_out(d);
}

braid_out train_node2(braid_graph *g, const char *op_type, const char *name, braid_out a, braid_out b)
{
    braid_op_desc *d = braid_op_begin(g, op_type, name);
    braid_op_input(d, a);
    braid_op_input(d, b);
    return braid_op_end_out(d);
}

braid_out train_node3(braid_graph *g, const char *op_type, const char *name, braid_out a, braid_out b,
                      braid_out c)
{
    braid_op_desc *d = braid_op_begin(g, op_type, name);
    braid_op_input(d, a);
    braid_op_input(d, b);
    braid_op_input(d, c);
    return braid_op_end_out(d);
}

bool train_set_number(void *data, braid_dtype dtype, int64_t index, double value)
{
    switch (dtype) {
    case BRAID_FLOAT: ((float *)data)[index] = (float)value; return true;
    case BRAID_DOUBLE: ((double *)data)[index] = value; return true;
    case BRAID_HALF: ((uint16_t *)data)[index] = bd_half_of_float((float)value); return true;
    case BRAID_BFLOAT16: ((uint16_t *)data)[index] = bd_bfloat16_of_float((float)value); return true;
    case BRAID_INT8: ((int8_t *)data)[index] = (int8_t)value; return true;
    case BRAID_INT16: ((int16_t *)data)[index] = (int16_t)value; return true;
    case BRAID_INT32: ((int32_t *)data)[index] = (int32_t)value; return true;
    case BRAID_INT64: ((int64_t *)data)[index] = (int64_t)value; return true;
    case BRAID_UINT8: ((uint8_t *)data)[index] = (uint8_t)value; return true;
    case BRAID_UINT16: ((uint16_t *)data)[index] = (uint16_t)value; return true;
    case BRAID_UINT32: ((uint32_t *)data)[index] = (uint32_t)value; return true;
    case BRAID_UINT64: ((uint64_t *)data)[index] = (uint64_t)value; return true;
    case BRAID_BOOL: ((bool *)data)[index] = value != 0; return true;
    default: return false;
    }
}

braid_out train_const_shape(braid_graph *g, const char *name, braid_shape shape)
{
    bool wide = false;
    for (int i = 0; i < shape.rank; i++)
        wide |= shape.dims[i] > INT32_MAX;
    if (wide) {
        const int64_t dims[] = {shape.rank};
        braid_tensor *t = braid_tensor_from(BRAID_INT64, braid_shape_make(1, dims), shape.dims, NULL);
        braid_out out = braid_const(g, name, t);
        braid_tensor_free(t);
        return out;
    }
    int32_t dims[BRAID_RANK_MAX];
    for (int i = 0; i < shape.rank; i++)
        dims[i] = (int32_t)shape.dims[i];
    return braid_const_int32s(g, name, dims, shape.rank);
}

braid_out train_shape_of(braid_graph *g, braid_out x)
{
    braid_shape shape = braid_out_shape(x);
    if (braid_shape_num_elements(shape) < 0) return train_node1(g, "Shape", NULL, x);
    return train_const_shape(g, "Shape", shape);
}

braid_out train_rank_of(braid_graph *g, braid_out x)
{
    int rank = braid_out_shape(x).rank;
    return rank >= 0 ? braid_const_int32(g, "Rank", rank) : train_node1(g, "Rank", NULL, x);
}

braid_out train_size_of(braid_graph *g, braid_out x)
{
    int64_t size = braid_shape_num_elements(braid_out_shape(x));
    bool fits = size >= 0 && size <= INT32_MAX;
    return fits ? braid_const_int32(g, "Size", (int32_t)size) : train_node1(g, "Size", NULL, x);
}

braid_out train_range(braid_graph *g, braid_out count)
{
    const char *scope = braid_push_name_scope(g, "range");
    braid_out start = braid_const_int32(g, "start", 0);
    braid_out delta = braid_const_int32(g, "delta", 1);
    braid_pop_name_scope(g);
    return train_node3(g, "Range", scope, start, count, delta);
}

braid_out train_rank_range(braid_graph *g, braid_out x)
{
    return train_range(g, train_rank_of(g, x));
}

braid_out train_all_axes(braid_graph *g, braid_out x)
{
    int rank = braid_out_shape(x).rank;
    if (rank < 0) return train_rank_range(g, x);
    int32_t axes[BRAID_RANK_MAX];
    for (int i = 0; i < rank; i++)
        axes[i] = i;
    return braid_const_int32s(g, NULL, axes, rank);
}

braid_out train_op_number(braid_graph *g, const char *op_type, const char *name, braid_out x, double y)
{
    const char *scope = braid_push_name_scope(g, name);
    braid_out number = braid_const_number(g, "y", train_base_dtype(braid_out_dtype(x)), y);
    braid_pop_name_scope(g);
    return train_node2(g, op_type, scope, x, number);
}

braid_out train_number_op(braid_graph *g, const char *op_type, const char *name, double x, braid_out y)
{
    const char *scope = braid_push_name_scope(g, name);
    braid_out number = braid_const_number(g, "x", train_base_dtype(braid_out_dtype(y)), x);
    braid_pop_name_scope(g);
    return train_node2(g, op_type, scope, number, y);
}

char *train_scope_name(const char *scope)
{
    size_t len = strlen(scope);
    return bd_strndup(scope, len && scope[len - 1] == '/' ? len - 1 : len);
}

braid_out train_first_of(braid_graph *g, braid_out x)
{
    return train_element(g, x, 0);
}

braid_out train_zero_rows(braid_graph *g, braid_out count, int64_t size, braid_dtype dtype)
{
    const braid_out dims[2] = {count, braid_const_int32(g, NULL, (int32_t)size)};
    const braid_out shape = train_stack(g, "stack", dims, 2);
    const braid_out zeros = train_node2(g, "Fill", "zeros", shape, braid_const_number(g, NULL, dtype, 0));
    braid_set_shape(zeros, BRAID_SHAPE(-1, size));
    return zeros;
}

braid_out train_element(braid_graph *g, braid_out x, int32_t index)
{
    const char *scope = braid_push_name_scope(g, "strided_slice");
    const int32_t begin = index, end = index + 1, step = 1;
    braid_out bounds[3] = {braid_const_int32s(g, "stack", &begin, 1),
                           braid_const_int32s(g, "stack_1", &end, 1),
                           braid_const_int32s(g, "stack_2", &step, 1)};
    braid_op_desc *d = braid_op_begin(g, "StridedSlice", scope);
    braid_op_input(d, x);
    for (int i = 0; i < 3; i++)
        braid_op_input(d, bounds[i]);
    braid_op_attr_int(d, "shrink_axis_mask", 1);
    braid_out out = braid_op_end_out(d);
    braid_pop_name_scope(g);
    return out;
}

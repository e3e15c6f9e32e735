// Constants and placeholders.
#include "train/common/build.h"

#include <braid/ops.h>

braid_out braid_const(braid_graph *g, const char *name, const braid_tensor *value)
{
    if (!value) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Constant '%s' has no value", name ? name : "Const");
        return BRAID_NONE;
    }
    braid_op_desc *d = braid_op_begin(g, "Const", name);
    braid_op_attr_type(d, "dtype", braid_tensor_dtype(value));
    braid_op_attr_tensor(d, "value", value);
    return braid_op_end_out(d);
}

// A constant that takes its tensor.
static braid_out const_take(braid_graph *g, const char *name, braid_tensor *value)
{
    braid_out out = braid_const(g, name, value);
    braid_tensor_free(value);
    return out;
}

braid_out braid_const_float(braid_graph *g, const char *name, float value)
{
    return const_take(g, name, braid_tensor_float(value));
}

braid_out braid_const_int32(braid_graph *g, const char *name, int32_t value)
{
    return const_take(g, name, braid_tensor_int32(value));
}

braid_out braid_const_int64(braid_graph *g, const char *name, int64_t value)
{
    return const_take(g, name, braid_tensor_int64(value));
}

braid_out braid_const_bool(braid_graph *g, const char *name, bool value)
{
    return const_take(g, name, braid_tensor_bool(value));
}

braid_out braid_const_string(braid_graph *g, const char *name, const char *value)
{
    return const_take(g, name, braid_tensor_string(value));
}

braid_out braid_const_int32s(braid_graph *g, const char *name, const int32_t *values, int count)
{
    const int64_t dims[] = {count};
    return const_take(g, name, braid_tensor_from(BRAID_INT32, braid_shape_make(1, dims), values, NULL));
}

// Constants of more bytes than this are filled where they are needed: the graph then does not hold, or send,
// their memory. (TensorFlow does so for zeros and ones of 1,000 elements, from version 1.5 on.)
#define CONST_BYTES_MAX ((int64_t)16 << 20)

static bool is_large(braid_dtype dtype, braid_shape shape)
{
    const int64_t elements = braid_shape_num_elements(shape), size = (int64_t)braid_dtype_size(dtype);
    return size > 0 && elements > CONST_BYTES_MAX / size;
}

static braid_out fill(braid_graph *g, const char *name, braid_dtype dtype, braid_shape shape, double value)
{
    const char *scope = braid_push_name_scope(g, name ? name : "Const");
    const braid_out dims = train_const_shape(g, "shape_as_tensor", shape);
    const braid_out element = braid_const_number(g, "Const", dtype, value);
    braid_pop_name_scope(g);
    return train_node2(g, "Fill", scope, dims, element);
}

braid_out braid_full(braid_graph *g, const char *name, braid_dtype dtype, braid_shape shape, double value)
{
    if (is_large(dtype, shape)) return fill(g, name, dtype, shape, value);
    braid_status *st = braid_status_new();
    braid_tensor *t = braid_tensor_new(dtype, shape, st);
    braid_out out = BRAID_NONE;
    if (!t) {
        braid_graph_fail(g, braid_status_code(st), "Constant '%s': %s", name ? name : "Const",
                         braid_status_message(st));
    } else {
        bool ok = true;
        for (int64_t i = 0, n = braid_tensor_num_elements(t); i < n && ok; i++)
            ok = train_set_number(braid_tensor_data(t), dtype, i, value);
        if (ok)
            out = braid_const(g, name, t);
        else
            braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "Constant '%s': %s is no number type",
                             name ? name : "Const", braid_dtype_name(dtype));
        braid_tensor_free(t);
    }
    braid_status_free(st);
    return out;
}

braid_out braid_const_number(braid_graph *g, const char *name, braid_dtype dtype, double value)
{
    return braid_full(g, name, dtype, BRAID_SCALAR, value);
}

braid_out braid_zeros(braid_graph *g, braid_dtype dtype, braid_shape shape)
{
    return braid_full(g, "zeros", dtype, shape, 0);
}

braid_out braid_ones(braid_graph *g, braid_dtype dtype, braid_shape shape)
{
    return braid_full(g, "ones", dtype, shape, 1);
}

braid_out braid_placeholder(braid_graph *g, const char *name, braid_dtype dtype, braid_shape shape)
{
    braid_op_desc *d = braid_op_begin(g, "Placeholder", name);
    braid_op_attr_type(d, "dtype", dtype);
    braid_op_attr_shape(d, "shape", shape);
    return braid_op_end_out(d);
}

// Arrays of tensors, in TensorFlow's nodes.
#include <braid/tensor_array.h>

#include "train/common/build.h"
#include <string.h>

braid_tensor_array braid_tensor_array_new(braid_graph *g, braid_dtype dtype, braid_shape element_shape,
                                          braid_out size, const braid_tensor_array_options *options)
{
    const braid_tensor_array_options o = options ? *options : (braid_tensor_array_options){0};
    braid_op_desc *d = braid_op_begin(g, "TensorArrayV3", o.name ? o.name : "TensorArray");
    braid_op_input(d, size);
    braid_op_attr_type(d, "dtype", dtype);
    braid_op_attr_shape(d, "element_shape", element_shape);
    braid_op_attr_bool(d, "dynamic_size", o.dynamic_size);
    braid_op_attr_bool(d, "clear_after_read", !o.keep_after_read);
    braid_op_attr_bool(d, "identical_element_shapes", !o.varied_shapes);
    braid_op_attr_string(d, "tensor_array_name", o.shared_name);
    braid_op *made = braid_op_end(d);
    return (braid_tensor_array){.handle = braid_output(made, 0),
                                .flow = braid_output(made, 1),
                                .dtype = dtype,
                                .element_shape = element_shape,
                                .varied_shapes = o.varied_shapes};
}

braid_out braid_tensor_array_read(braid_graph *g, braid_tensor_array a, braid_out index)
{
    braid_op_desc *d = braid_op_begin(g, "TensorArrayReadV3", NULL);
    braid_op_input(d, a.handle);
    braid_op_input(d, index);
    braid_op_input(d, a.flow);
    braid_op_attr_type(d, "dtype", a.dtype);
    const braid_out value = braid_op_end_out(d);
    braid_set_shape(value, a.element_shape);
    return value;
}

// The shape [rows, element...]; the shape of a part of x along its first dimension. Unknown if that of the
// argument is.
static braid_shape rows_of(int64_t rows, braid_shape element)
{
    if (element.rank < 0 || element.rank == BRAID_RANK_MAX) return BRAID_SHAPE_UNKNOWN;
    int64_t dims[BRAID_RANK_MAX] = {rows};
    memcpy(dims + 1, element.dims, (size_t)element.rank * sizeof *dims);
    return braid_shape_make(element.rank + 1, dims);
}

static braid_shape row_of(braid_shape whole)
{
    return whole.rank < 1 ? BRAID_SHAPE_UNKNOWN : braid_shape_make(whole.rank - 1, whole.dims + 1);
}

static bool shapes_agree(braid_shape a, braid_shape b)
{
    if (a.rank < 0 || b.rank < 0) return true;
    bool agree = a.rank == b.rank;
    for (int i = 0; agree && i < a.rank; i++)
        agree = a.dims[i] < 0 || b.dims[i] < 0 || a.dims[i] == b.dims[i];
    return agree;
}

// A node that writes `value`, whose elements have the shape `element`; returns the array after it.
static braid_tensor_array written(braid_graph *g, const char *op_type, braid_tensor_array a,
                                  const braid_out inputs[2], braid_out value, braid_shape element)
{
    const char *array = a.handle.op ? braid_op_name(a.handle.op) : "none";
    const braid_dtype dtype = value.op ? train_base_dtype(braid_out_dtype(value)) : BRAID_INVALID;
    if (dtype != a.dtype)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "TensorArray '%s' holds %s, and '%s' is %s", array,
                         braid_dtype_name(a.dtype), value.op ? braid_op_name(value.op) : "none",
                         braid_dtype_name(dtype));
    else if (!shapes_agree(element, a.element_shape))
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "TensorArray '%s': '%s' has another shape than its elements", array,
                         braid_op_name(value.op));
    braid_op_desc *d = braid_op_begin(g, op_type, NULL);
    braid_op_input(d, a.handle);
    braid_op_input(d, inputs[0]);
    braid_op_input(d, inputs[1]);
    braid_op_input(d, a.flow);
    a.flow = braid_op_end_out(d);
    if (!a.varied_shapes && a.element_shape.rank < 0) a.element_shape = element;
    return a;
}

braid_tensor_array braid_tensor_array_write(braid_graph *g, braid_tensor_array a, braid_out index,
                                            braid_out value)
{
    const braid_shape shape = value.op ? braid_out_shape(value) : BRAID_SHAPE_UNKNOWN;
    (void)braid_push_name_scope(g, "TensorArrayWrite");
    a = written(g, "TensorArrayWriteV3", a, (const braid_out[]){index, value}, value, shape);
    braid_pop_name_scope(g);
    return a;
}

braid_out braid_tensor_array_size(braid_graph *g, braid_tensor_array a)
{
    return train_node2(g, "TensorArraySizeV3", NULL, a.handle, a.flow);
}

// ---- Several elements ----

braid_out braid_tensor_array_gather(braid_graph *g, braid_tensor_array a, braid_out indices)
{
    braid_op_desc *d = braid_op_begin(g, "TensorArrayGatherV3", NULL);
    braid_op_input(d, a.handle);
    braid_op_input(d, indices);
    braid_op_input(d, a.flow);
    braid_op_attr_type(d, "dtype", a.dtype);
    braid_op_attr_shape(d, "element_shape", a.element_shape);
    const braid_out value = braid_op_end_out(d);
    const braid_shape rows = value.op ? braid_out_shape(indices) : BRAID_SHAPE_UNKNOWN;
    if (value.op) braid_set_shape(value, rows_of(rows.rank == 1 ? rows.dims[0] : -1, a.element_shape));
    return value;
}

braid_out braid_tensor_array_stack(braid_graph *g, braid_tensor_array a)
{
    (void)braid_push_name_scope(g, "TensorArrayStack");
    const braid_out value = braid_tensor_array_gather(g, a, train_range(g, braid_tensor_array_size(g, a)));
    braid_pop_name_scope(g);
    return value;
}

braid_tensor_array braid_tensor_array_scatter(braid_graph *g, braid_tensor_array a, braid_out indices,
                                              braid_out value)
{
    const braid_shape shape = value.op ? row_of(braid_out_shape(value)) : BRAID_SHAPE_UNKNOWN;
    (void)braid_push_name_scope(g, "TensorArrayScatter");
    a = written(g, "TensorArrayScatterV3", a, (const braid_out[]){indices, value}, value, shape);
    braid_pop_name_scope(g);
    return a;
}

braid_tensor_array braid_tensor_array_unstack(braid_graph *g, braid_tensor_array a, braid_out value)
{
    (void)braid_push_name_scope(g, "TensorArrayUnstack");
    const braid_out count = train_first_of(g, train_node1(g, "Shape", NULL, value));
    a = braid_tensor_array_scatter(g, a, train_range(g, count), value);
    braid_pop_name_scope(g);
    return a;
}

braid_out braid_tensor_array_concat(braid_graph *g, braid_tensor_array a)
{
    const braid_shape rest = row_of(a.element_shape);
    braid_op_desc *d = braid_op_begin(g, "TensorArrayConcatV3", NULL);
    braid_op_input(d, a.handle);
    braid_op_input(d, a.flow);
    braid_op_attr_type(d, "dtype", a.dtype);
    braid_op_attr_shape(d, "element_shape_except0", rest);
    const braid_out value = braid_op_end_out(d);
    if (value.op) braid_set_shape(value, rows_of(-1, rest));
    return value;
}

braid_tensor_array braid_tensor_array_split(braid_graph *g, braid_tensor_array a, braid_out value,
                                            braid_out lengths)
{
    const braid_shape rest = value.op ? row_of(braid_out_shape(value)) : BRAID_SHAPE_UNKNOWN;
    (void)braid_push_name_scope(g, "TensorArraySplit");
    const braid_out inputs[2] = {value, braid_cast(g, lengths, BRAID_INT64)};
    a = written(g, "TensorArraySplitV3", a, inputs, value, rows_of(-1, rest));
    braid_pop_name_scope(g);
    return a;
}

braid_op *braid_tensor_array_close(braid_graph *g, braid_tensor_array a)
{
    return braid_op_add(g, "TensorArrayCloseV3", NULL, &a.handle, 1);
}

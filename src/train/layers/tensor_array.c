// Arrays of tensors, in TensorFlow's nodes.
#include <braid/tensor_array.h>

#include "train/common/build.h"

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
    braid_op_attr_bool(d, "identical_element_shapes", true);
    braid_op_attr_string(d, "tensor_array_name", o.shared_name);
    braid_op *made = braid_op_end(d);
    return (braid_tensor_array){.handle = braid_output(made, 0),
                                .flow = braid_output(made, 1),
                                .dtype = dtype,
                                .element_shape = element_shape};
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

static braid_out four(braid_graph *g, const char *op_type, braid_tensor_array a, braid_out index,
                      braid_out value)
{
    braid_op_desc *d = braid_op_begin(g, op_type, NULL);
    braid_op_input(d, a.handle);
    braid_op_input(d, index);
    braid_op_input(d, value);
    braid_op_input(d, a.flow);
    return braid_op_end_out(d);
}

braid_tensor_array braid_tensor_array_write(braid_graph *g, braid_tensor_array a, braid_out index,
                                            braid_out value)
{
    (void)braid_push_name_scope(g, "TensorArrayWrite");
    a.flow = four(g, "TensorArrayWriteV3", a, index, value);
    braid_pop_name_scope(g);
    return a;
}

braid_out braid_tensor_array_size(braid_graph *g, braid_tensor_array a)
{
    return train_node2(g, "TensorArraySizeV3", NULL, a.handle, a.flow);
}

// 0, 1, ... count - 1
static braid_out range_to(braid_graph *g, braid_out count)
{
    const char *scope = braid_push_name_scope(g, "range");
    braid_out start = braid_const_int32(g, "start", 0), delta = braid_const_int32(g, "delta", 1);
    braid_pop_name_scope(g);
    return train_node3(g, "Range", scope, start, count, delta);
}

braid_out braid_tensor_array_stack(braid_graph *g, braid_tensor_array a)
{
    (void)braid_push_name_scope(g, "TensorArrayStack");
    braid_out indices = range_to(g, braid_tensor_array_size(g, a));
    braid_op_desc *d = braid_op_begin(g, "TensorArrayGatherV3", NULL);
    braid_op_input(d, a.handle);
    braid_op_input(d, indices);
    braid_op_input(d, a.flow);
    braid_op_attr_type(d, "dtype", a.dtype);
    braid_op_attr_shape(d, "element_shape", a.element_shape);
    const braid_out value = braid_op_end_out(d);
    braid_pop_name_scope(g);
    return value;
}

braid_tensor_array braid_tensor_array_unstack(braid_graph *g, braid_tensor_array a, braid_out value)
{
    (void)braid_push_name_scope(g, "TensorArrayUnstack");
    braid_out indices = range_to(g, train_first_of(g, train_node1(g, "Shape", NULL, value)));
    (void)braid_push_name_scope(g, "TensorArrayScatter");
    a.flow = four(g, "TensorArrayScatterV3", a, indices, value);
    braid_pop_name_scope(g);
    braid_pop_name_scope(g);
    return a;
}

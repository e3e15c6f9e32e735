// Making lists of tensors, and their size.
#include "ops/common/element.h"
#include "ops/tensor_array/tensor_list_ops.h"

static braid_code make_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape element;
    c->outputs[0] = BD_SCALAR;
    return bd_shape_ctx_element_shape(c, 0, &element, st);
}

static void empty_run(bd_op_ctx *c)
{
    const braid_tensor *max = bd_input(c, 1);
    braid_shape shape;
    char text[BD_SHAPE_STR_MAX];
    if (max->shape.rank != 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "max_num_elements expected to be a scalar but got shape: %s",
                   bd_shape_str(&max->shape, text));
    else if (bd_input_element_shape(c, 0, &shape))
        bd_output_new_list(c, 0, bd_node_attr_type(c->node, "element_dtype"), &shape, *bd_tensor_i32(max), 0);
}

BD_OP(EmptyTensorList) = {
    .signature = "(element_shape: shape_type, max_num_elements: int32) -> (handle: variant)",
    .attrs = "element_dtype:type; shape_type:type{int32,int64}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = make_shape,
    .kernels = BD_KERNELS({.run = empty_run}),
    .doc = "An empty list of tensors of one type, to be pushed to; max_num_elements -1 sets no limit.",
};

static void reserve_run(bd_op_ctx *c)
{
    braid_shape shape;
    int64_t count;
    if (!bd_input_element_shape(c, 0, &shape) || !bd_input_int(c, 1, "num_elements", &count)) return;
    if (count < 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "The num_elements to reserve must be a non negative number, but got %lld",
                   (long long)count);
    else
        bd_output_new_list(c, 0, bd_node_attr_type(c->node, "element_dtype"), &shape, -1, count);
}

BD_OP(TensorListReserve) = {
    .signature = "(element_shape: shape_type, num_elements: int32) -> (handle: variant)",
    .attrs = "element_dtype:type; shape_type:type{int32,int64}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = make_shape,
    .kernels = BD_KERNELS({.run = reserve_run}),
    .doc =
        "A list of num_elements tensors that are not set yet: reading one gives zeros where its shape is known.",
};

static void resize_run(bd_op_ctx *c)
{
    int64_t count;
    const bd_tensor_list *in = bd_input_list(c, 0);
    if (!in || !bd_input_int(c, 1, "size", &count)) return;
    if (count < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "TensorListSlice expects size to be non-negative. Got: %lld",
                   (long long)count);
        return;
    }
    bd_tensor_list *l = bd_output_list(c, 0, 0, count > in->count ? count - in->count : 0);
    if (l) bd_list_resize(c, l, count);
}

static braid_code resize_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    return bd_shape_ctx_rank(c, 1, 0, st);
}

BD_OP(TensorListResize) = {
    .signature = "(input_handle: variant, size: int32) -> (output_handle: variant)",
    .flags = BD_OP_STATEFUL,
    .shape = resize_shape,
    .gradient = bd_list_resize_gradient,
    .kernels = BD_KERNELS({.run = resize_run}),
    .doc = "A list without its last tensors, or with further ones that are not set.",
};

static void length_run(bd_op_ctx *c)
{
    const bd_tensor_list *l = bd_input_list(c, 0);
    braid_tensor *y = l ? bd_output(c, 0, BRAID_INT32, &BD_SCALAR) : NULL;
    if (y) *bd_tensor_i32(y) = (int32_t)l->count;
}

BD_OP(TensorListLength) = {
    .signature = "(input_handle: variant) -> (length: int32)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = length_run}),
    .doc = "How many tensors a list has.",
};

static void element_shape_run(bd_op_ctx *c)
{
    const bd_tensor_list *l = bd_input_list(c, 0);
    if (!l) return;
    const braid_shape *s = &l->element_shape, vector = bd_shape1(s->rank);
    braid_dtype dtype = c->node->output_types[0];
    braid_tensor *y = bd_output(c, 0, dtype, s->rank < 0 ? &BD_SCALAR : &vector);
    int64_t count = y ? bd_tensor_count(y) : 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t dim = s->rank < 0 ? -1 : s->dims[i];
        if (dtype == BRAID_INT32)
            bd_tensor_i32(y)[i] = (int32_t)dim;
        else
            bd_tensor_i64(y)[i] = dim;
    }
}

BD_OP(TensorListElementShape) = {
    .signature = "(input_handle: variant) -> (element_shape: shape_type)",
    .attrs = "shape_type:type{int32,int64}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_none,
    .kernels = BD_KERNELS({.run = element_shape_run}),
    .doc =
        "The common shape of all tensors of a list, with -1 for dimensions that may differ; the scalar -1 if it is unknown.",
};

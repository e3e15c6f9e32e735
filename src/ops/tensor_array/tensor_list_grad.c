// Gradients of the ops of lists of tensors: the gradient of a list is a list of as many tensors.
#include "ops/tensor_array/tensor_list_ops.h"

static braid_op_desc *begin(bd_grad_ctx *c, const char *op, const braid_out *inputs, int count)
{
    braid_op_desc *d = braid_op_begin(c->graph, op, NULL);
    for (int i = 0; i < count; i++)
        braid_op_input(d, inputs[i]);
    return d;
}
#define BEGIN(C, OP, ...)                                                                                    \
    begin(C, OP, (const braid_out[]){__VA_ARGS__}, sizeof((braid_out[]){__VA_ARGS__}) / sizeof(braid_out))
#define NODE(C, OP, ...) braid_op_end_out(BEGIN(C, OP, __VA_ARGS__))

// Ends a node with attr element_dtype.
static braid_op *end_typed(braid_op_desc *d, braid_dtype dtype)
{
    braid_op_attr_type(d, "element_dtype", dtype);
    return braid_op_end(d);
}
#define TYPED(C, OP, DTYPE, ...) ((braid_out){end_typed(BEGIN(C, OP, __VA_ARGS__), DTYPE), 0})

static braid_dtype dtype_of(const bd_grad_ctx *c)
{
    return bd_node_attr_type(c->op, "element_dtype");
}

static braid_out element_shape_of(bd_grad_ctx *c, braid_out list)
{
    braid_op_desc *d = BEGIN(c, "TensorListElementShape", list);
    braid_op_attr_type(d, "shape_type", BRAID_INT32);
    return braid_op_end_out(d);
}

// tf.slice(tf.shape(x), [1], [-1])
static braid_out row_shape_of(bd_grad_ctx *c, braid_out x)
{
    braid_graph *g = c->graph;
    braid_out shape = bd_b_shape(g, NULL, x);
    const char *scope = braid_push_name_scope(g, "Slice");
    braid_out from = bd_b_const_i32_vector(g, "begin", (int32_t[]){1}, 1);
    braid_out size = bd_b_const_i32_vector(g, "size", (int32_t[]){-1}, 1);
    braid_out rows = bd_b3(g, "Slice", scope, shape, from, size);
    braid_pop_name_scope(g);
    return rows;
}

// The gradient that output `i` has received, or zeros.
static braid_out received(bd_grad_ctx *c, int i)
{
    braid_out grad = c->output_grads[i];
    return grad.op ? grad : bd_b1(c->graph, "ZerosLike", "zeros_like", braid_output(c->op, i));
}

void bd_list_push_back_gradient(bd_grad_ctx *c)
{
    braid_out shape = bd_b_shape(c->graph, NULL, c->op->inputs[1]);
    braid_op *pop = TYPED(c, "TensorListPopBack", dtype_of(c), c->output_grads[0], shape).op;
    c->input_grads[0] = (braid_out){pop, 0};
    c->input_grads[1] = (braid_out){pop, 1};
}

void bd_list_pop_back_gradient(bd_grad_ctx *c)
{
    braid_out list = c->output_grads[0], element = received(c, 1);
    if (!list.op) {
        braid_out shape = element_shape_of(c, braid_output(c->op, 0));
        list = TYPED(c, "EmptyTensorList", dtype_of(c), shape, bd_b_const_i32(c->graph, NULL, -1));
    }
    c->input_grads[0] = NODE(c, "TensorListPushBack", list, element);
}

void bd_list_stack_gradient(bd_grad_ctx *c)
{
    braid_out grad = c->output_grads[0];
    braid_shape whole = braid_out_shape(grad), row = bd_shape_behind_first(&whole);
    int32_t dims[BRAID_RANK_MAX];
    for (int d = 0; d < row.rank; d++)
        dims[d] = (int32_t)row.dims[d];
    braid_out shape = row.rank < 0 ? bd_b_const_i32(c->graph, NULL, -1)
                                   : bd_b_const_i32_vector(c->graph, NULL, dims, row.rank);
    c->input_grads[0] = NODE(c, "TensorListFromTensor", grad, shape);
}

void bd_list_from_tensor_gradient(bd_grad_ctx *c)
{
    braid_out t = c->op->inputs[0];
    braid_shape shape = braid_out_shape(t);
    braid_op_desc *d = BEGIN(c, "TensorListStack", c->output_grads[0], row_shape_of(c, t));
    braid_op_attr_int(d, "num_elements", shape.rank > 0 ? shape.dims[0] : -1);
    c->input_grads[0] = (braid_out){end_typed(d, dtype_of(c)), 0};
}

void bd_list_concat_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = NODE(c, "TensorListSplit", received(c, 0), element_shape_of(c, c->op->inputs[0]),
                             braid_output(c->op, 1));
}

void bd_list_split_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out row = row_shape_of(c, c->op->inputs[0]);
    const char *scope = braid_push_name_scope(g, "concat");
    braid_out any = bd_b_const_i32_vector(g, "values_0", (int32_t[]){-1}, 1);
    braid_out axis = bd_b_const_i32(g, "axis", 0);
    braid_op_desc *d = braid_op_begin(g, "ConcatV2", scope);
    braid_op_input_list(d, (braid_out[]){any, row}, 2);
    braid_op_input(d, axis);
    braid_out shape = braid_op_end_out(d);
    braid_pop_name_scope(g);
    c->input_grads[0] =
        TYPED(c, "TensorListConcatV2", dtype_of(c), c->output_grads[0], shape, c->op->inputs[2]);
}

// A list like `list` without set elements.
static braid_out reserve_like(bd_grad_ctx *c, braid_out list)
{
    braid_out shape = element_shape_of(c, list), length = NODE(c, "TensorListLength", list);
    return TYPED(c, "TensorListReserve", dtype_of(c), shape, length);
}

void bd_list_get_item_gradient(bd_grad_ctx *c)
{
    braid_out zeros = reserve_like(c, c->op->inputs[0]);
    c->input_grads[0] = NODE(c, "TensorListSetItem", zeros, c->op->inputs[1], c->output_grads[0]);
}

void bd_list_set_item_gradient(bd_grad_ctx *c)
{
    braid_out list = c->output_grads[0], index = c->op->inputs[1], item = c->op->inputs[2];
    braid_out zeros = bd_b1(c->graph, "ZerosLike", "zeros_like", item);
    c->input_grads[0] = NODE(c, "TensorListSetItem", list, index, zeros);
    braid_out shape = bd_b_shape(c->graph, NULL, item);
    c->input_grads[2] = TYPED(c, "TensorListGetItem", dtype_of(c), list, index, shape);
}

void bd_list_resize_gradient(bd_grad_ctx *c)
{
    braid_out length = NODE(c, "TensorListLength", c->op->inputs[0]);
    c->input_grads[0] = NODE(c, "TensorListResize", c->output_grads[0], length);
}

void bd_list_gather_gradient(bd_grad_ctx *c)
{
    braid_out zeros = reserve_like(c, c->op->inputs[0]);
    c->input_grads[0] =
        NODE(c, "TensorListScatterIntoExistingList", zeros, c->output_grads[0], c->op->inputs[1]);
}

// The slices of `of` out of the gradient of the list they were put into.
static braid_out gather_slices(bd_grad_ctx *c, braid_out of, braid_out indices)
{
    return TYPED(c, "TensorListGather", dtype_of(c), c->output_grads[0], indices, row_shape_of(c, of));
}

void bd_list_scatter_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = gather_slices(c, c->op->inputs[0], c->op->inputs[1]);
}

void bd_list_scatter_into_gradient(bd_grad_ctx *c)
{
    braid_out t = c->op->inputs[1], indices = c->op->inputs[2];
    c->input_grads[1] = gather_slices(c, t, indices);
    braid_out zeros = bd_b1(c->graph, "ZerosLike", "zeros_like", t);
    c->input_grads[0] = NODE(c, "TensorListScatterIntoExistingList", c->output_grads[0], zeros, indices);
}

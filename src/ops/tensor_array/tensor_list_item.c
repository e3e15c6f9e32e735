// Lists of tensors, an element at a time.
#include "ops/common/element.h"
#include "ops/tensor_array/tensor_list_ops.h"

// ---- Writing ----

static bool check_pushed(bd_op_ctx *c, const bd_tensor_list *l, const braid_tensor *t)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (!bd_shapes_fit(&l->element_shape, &t->shape)) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Tried to append a tensor with incompatible shape to a list. Op element shape: %s list shape: %s",
            bd_shape_str(&t->shape, a), bd_element_shape_str(&l->element_shape, b));
        return false;
    }
    if (l->max_elements != -1 && l->count >= l->max_elements) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Tried to push item into a full list list size: %lld max_num_elements: %lld",
                   (long long)l->count, (long long)l->max_elements);
        return false;
    }
    return true;
}

static void push_back_run(bd_op_ctx *c)
{
    const bd_tensor_list *in = bd_input_typed_list(c, 0);
    if (!in || !check_pushed(c, in, bd_input(c, 1))) return;
    bd_tensor_list *l = bd_output_list(c, 0, 0, 1);
    if (l && bd_list_resize(c, l, l->count + 1)) bd_list_set(c, l, l->count - 1, bd_input(c, 1));
}

BD_OP(TensorListPushBack) = {
    .signature = "(input_handle: variant, tensor: element_dtype) -> (output_handle: variant)",
    .attrs = "element_dtype:type",
    .shape = bd_shape_fn_scalar,
    .gradient = bd_list_push_back_gradient,
    .kernels = BD_KERNELS({.run = push_back_run}),
    .doc = "A list with one more tensor at its end.",
};

static void set_item_run(bd_op_ctx *c)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    const braid_tensor *item = bd_input(c, 2);
    const bd_tensor_list *in = bd_input_typed_list(c, 0);
    int64_t index;
    if (!in || !bd_input_int(c, 1, "index", &index)) return;
    bool resizes = bd_node_attr_bool(c->node, "resize_if_index_out_of_bounds");
    if (index < 0 || (index >= in->count && !resizes)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Trying to modify element %lld in a list with %lld elements.",
                   (long long)index, (long long)in->count);
        return;
    }
    if (!bd_shapes_fit(&in->element_shape, &item->shape)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Tried to set a tensor with incompatible shape at a list index. Item element shape: %s "
                   "list shape: %s",
                   bd_shape_str(&item->shape, a), bd_element_shape_str(&in->element_shape, b));
        return;
    }
    bd_tensor_list *l = bd_output_list(c, 0, 0, 0);
    if (l && (index < l->count || bd_list_resize(c, l, index + 1))) bd_list_set(c, l, index, item);
}

BD_OP(TensorListSetItem) = {
    .signature = "(input_handle: variant, index: int32, item: element_dtype) -> (output_handle: variant)",
    .attrs = "element_dtype:type; +resize_if_index_out_of_bounds:bool=false",
    .shape = bd_shape_fn_scalar,
    .gradient = bd_list_set_item_gradient,
    .kernels = BD_KERNELS({.run = set_item_run}),
    .doc =
        "A list with another tensor in one place, which attr resize_if_index_out_of_bounds makes if need be.",
};

// ---- Reading ----

// Makes output `i` a reference to an element, or zeros of the shape that is known for one that is not set.
static bool output_element(bd_op_ctx *c, int i, const braid_tensor *t, const braid_shape *shape,
                           const char *why)
{
    char text[BD_SHAPE_STR_MAX];
    if (bd_tensor_is_set(t)) {
        bd_output_set(c, i, t);
        return true;
    }
    if (!bd_shape_is_known(shape)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Trying to read an uninitialized tensor but element_shape is not fully defined: %s%s",
                   bd_element_shape_str(shape, text), why);
        return false;
    }
    BD_STATUS(st);
    int64_t count;
    if (bd_shape_checked_count(shape, &count, st)) {
        bd_op_fail_status(c, st);
        return false;
    }
    braid_tensor zeros;
    if (!bd_tensor_zeros(&zeros, c->node->output_types[i], shape)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when allocating tensor with shape%s",
                   bd_shape_str(shape, text));
        return false;
    }
    bd_output_set(c, i, &zeros);
    bd_tensor_fini(&zeros);
    return true;
}

static void pop_back_run(bd_op_ctx *c)
{
    const bd_tensor_list *in = bd_input_typed_list(c, 0);
    braid_shape shape = BD_SHAPE_UNKNOWN;
    if (!in) return;
    if (in->count == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Trying to pop from an empty list.");
        return;
    }
    const braid_tensor *last = &in->items[in->count - 1];
    if (!bd_tensor_is_set(last) && !bd_input_list_shape(c, 1, in, &shape)) return;
    if (!output_element(c, 1, last, &shape, "")) return;
    bd_tensor_list *l = bd_output_list(c, 0, 0, 0);
    if (l) bd_list_resize(c, l, l->count - 1);
}

static braid_code pop_back_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = BD_SCALAR;
    return BRAID_OK;
}

BD_OP(TensorListPopBack) = {
    .signature =
        "(input_handle: variant, element_shape: int32) -> (output_handle: variant, tensor: element_dtype)",
    .attrs = "element_dtype:type",
    .shape = pop_back_shape,
    .gradient = bd_list_pop_back_gradient,
    .kernels = BD_KERNELS({.run = pop_back_run}),
    .doc = "The last tensor of a list, and the list without it.",
};

static void get_item_run(bd_op_ctx *c)
{
    const bd_tensor_list *l = bd_input_typed_list(c, 0);
    braid_shape shape = BD_SHAPE_UNKNOWN;
    int64_t index;
    if (!l || !bd_input_int(c, 1, "index", &index)) return;
    if (index < 0 || index >= l->count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Trying to access element %lld in a list with %lld elements.",
                   (long long)index, (long long)l->count);
        return;
    }
    const braid_tensor *t = &l->items[index];
    if (!bd_tensor_is_set(t)) {
        if (!bd_input_list_shape(c, 2, l, &shape)) return;
        if (!bd_shape_is_known(&shape) && !bd_merge_shapes_of_list(c, &shape, l)) return;
    }
    output_element(c, 0, t, &shape, " and no list element is set.");
}

static braid_code get_item_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_shape_ctx_element_shape(c, 2, &c->outputs[0], st);
}

BD_OP(TensorListGetItem) = {
    .signature = "(input_handle: variant, index: int32, element_shape: int32) -> (item: element_dtype)",
    .attrs = "element_dtype:type",
    .shape = get_item_shape,
    .gradient = bd_list_get_item_gradient,
    .kernels = BD_KERNELS({.run = get_item_run}),
    .doc = "A tensor of a list; zeros where it is not set and its shape is known.",
};

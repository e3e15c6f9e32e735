// Tensors of lists of tensors, all of which are changed at once.
#include "base/interrupt.h"
#include "ops/tensor_array/tensor_list_ops.h"

// ---- Pushing ----

static bool check_batch(bd_op_ctx *c, const braid_tensor *lists, const braid_tensor *t)
{
    char text[BD_SHAPE_STR_MAX];
    if (t->shape.rank == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected tensor to be at least a vector, but saw shape: []");
    else if (lists->shape.rank != 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected input_handles to be a vector, but saw shape: %s",
                   bd_shape_str(&lists->shape, text));
    else if (lists->shape.dims[0] != t->shape.dims[0])
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected tensor.shape[0] == input_handles.size, but saw %lld vs. %lld",
                   (long long)t->shape.dims[0], (long long)lists->shape.dims[0]);
    return !bd_op_failed(c);
}

static bool check_one(bd_op_ctx *c, int64_t i, bd_variant *v, braid_dtype dtype, const braid_shape *one)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    const bd_tensor_list *l = bd_tensor_list_of(v);
    if (!l)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input handle at index %lld is not a list. Saw: '%s'",
                   (long long)i, bd_variant_type_name(v));
    else if (!bd_shapes_fit(&l->element_shape, one))
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Tried to append a tensor with incompatible shape to a list at index %lld. Op element shape: %s "
            "list shape: %s",
            (long long)i, bd_shape_str(one, a), bd_element_shape_str(&l->element_shape, b));
    else if (l->element_dtype != dtype)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Invalid data type at index %lld; op elements %s but list elements %s", (long long)i,
                   braid_dtype_name(dtype), braid_dtype_name(l->element_dtype));
    return !bd_op_failed(c);
}

static void push_back_batch_run(bd_op_ctx *c)
{
    const braid_tensor *lists = bd_input(c, 0), *t = bd_input(c, 1);
    if (!check_batch(c, lists, t)) return;
    braid_shape one = bd_shape_behind_first(&t->shape);
    int64_t count = bd_tensor_count(lists), len = bd_shape_count(&one);
    for (int64_t i = 0; i < count; i++)
        if (!check_one(c, i, bd_tensor_variant(lists)[i], t->dtype, &one)) return;
    const braid_tensor *y = bd_output_lists(c, 0, 0, 1);
    for (int64_t i = 0; y && i < count && !bd_interrupted_at(i); i++) {
        bd_tensor_list *l = bd_tensor_list_of(bd_tensor_variant(y)[i]);
        if (!bd_list_resize(c, l, l->count + 1) || !bd_list_set_part(c, l, l->count - 1, t, i * len, &one))
            return;
    }
}

static braid_code push_back_batch_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 1, st);
    if (code) return code;
    if (c->inputs[1].rank == 0)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    braid_shape from_tensor = bd_shape1(c->inputs[1].rank > 0 ? c->inputs[1].dims[0] : -1);
    if (bd_shape_merge(&c->inputs[0], &from_tensor, &c->outputs[0])) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                             (long long)c->inputs[0].dims[0], (long long)from_tensor.dims[0]);
}

BD_OP(TensorListPushBackBatch) = {
    .signature = "(input_handles: variant, tensor: element_dtype) -> (output_handles: variant)",
    .attrs = "element_dtype:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = push_back_batch_shape,
    .kernels = BD_KERNELS({.run = push_back_batch_run}),
    .doc = "A vector of lists, each with the slice of a tensor of its place added at its end.",
};

// ---- Lists behind lists ----

static bool check_input(bd_op_ctx *c, char which, int64_t i, bd_variant *v, braid_dtype dtype)
{
    const bd_tensor_list *l = bd_tensor_list_of(v);
    if (!l)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input_%c is not a TensorList at index %lld.  Saw: '%s'", which,
                   (long long)i, bd_variant_type_name(v));
    else if (l->element_dtype != dtype)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "input_%c[%lld].dtype != element_dtype.  Saw: %s vs. %s", which,
                   (long long)i, braid_dtype_name(l->element_dtype), braid_dtype_name(dtype));
    return !bd_op_failed(c);
}

static bool check_pair(bd_op_ctx *c, int64_t i, bd_variant *a, bd_variant *b)
{
    char x[BD_SHAPE_STR_MAX], y[BD_SHAPE_STR_MAX];
    braid_dtype dtype = bd_node_attr_type(c->node, "element_dtype");
    if (!check_input(c, 'a', i, a, dtype) || !check_input(c, 'b', i, b, dtype)) return false;
    const braid_shape *of_a = &bd_tensor_list_of(a)->element_shape,
                      *of_b = &bd_tensor_list_of(b)->element_shape;
    if (bd_shape_equal(of_a, of_b)) return true;
    bd_op_fail(
        c, BRAID_INVALID_ARGUMENT,
        "input_a and input_b TensorList element shapes are not identical at index %lld.  Saw %s vs. %s",
        (long long)i, bd_element_shape_str(of_a, x), bd_element_shape_str(of_b, y));
    return false;
}

static bool append(bd_op_ctx *c, bd_tensor_list *to, const bd_tensor_list *from)
{
    int64_t at = to->count, count = from->count;
    if (!bd_list_resize(c, to, at + count)) return false;
    for (int64_t i = 0; i < count; i++)
        bd_tensor_ref(&to->items[at + i], &from->items[i]);
    return true;
}

static void concat_lists_run(bd_op_ctx *c)
{
    const braid_tensor *a = bd_input(c, 0), *b = bd_input(c, 1);
    char x[BD_SHAPE_STR_MAX], y[BD_SHAPE_STR_MAX];
    if (!bd_shape_equal(&a->shape, &b->shape)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Incompatible input TensorList tensor shapes: %s vs. %s",
                   bd_shape_str(&a->shape, x), bd_shape_str(&b->shape, y));
        return;
    }
    int64_t count = bd_tensor_count(a);
    for (int64_t i = 0; i < count; i++)
        if (!check_pair(c, i, bd_tensor_variant(a)[i], bd_tensor_variant(b)[i])) return;
    const braid_tensor *out = bd_output_lists(c, 0, 0, 0);
    for (int64_t i = 0; out && i < count; i++)
        if (!append(c, bd_tensor_list_of(bd_tensor_variant(out)[i]),
                    bd_tensor_list_of(bd_tensor_variant(b)[i])))
            return;
}

BD_OP(TensorListConcatLists) = {
    .signature = "(input_a: variant, input_b: variant) -> (output: variant)",
    .attrs = "element_dtype:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_merged,
    .kernels = BD_KERNELS({.run = concat_lists_run}),
    .doc = "The tensors of two lists, in one list; of lists in tensors of one shape, place by place.",
};

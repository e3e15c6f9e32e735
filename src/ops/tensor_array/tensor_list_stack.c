// Lists of tensors put together along a new first dimension, and cut along the first one.
#include "base/interrupt.h"
#include "ops/common/element.h"
#include "ops/tensor_array/tensor_list_ops.h"
#include <string.h>

// ---- Stacking ----

static void fill_zeros(const braid_tensor *y, int64_t at, int64_t count)
{
    size_t size = braid_dtype_size(y->dtype); // strings and variants are empty already
    if (size > 0 && count > 0) memset((char *)y->data + (size_t)at * size, 0, (size_t)count * size);
}

// The element with index indices[i] (NULL: i). An index out of range is an error, also if it changes
// meanwhile, because the indices may be a reference variable.
static braid_tensor *item(bd_op_ctx *c, const bd_tensor_list *l, const braid_tensor *indices, int64_t i)
{
    int64_t at = indices ? bd_tensor_index(indices, i) : i;
    if (at >= 0 && at < l->count) return &l->items[at];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Index %lld out o range; list only has %lld elements.",
               (long long)at, (long long)l->count);
    return NULL;
}

// Output 0: `count` elements of shape `one`, selected by `indices` (NULL: all in order). They have that
// shape.
static void output_stacked(bd_op_ctx *c, const bd_tensor_list *l, const braid_tensor *indices, int64_t count,
                           const braid_shape *one)
{
    BD_STATUS(st);
    braid_shape shape;
    int64_t all, len = bd_shape_count(one);
    if (!bd_shape_prepend(count, one, &shape)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s of tensors of %d dimensions makes more than %d",
                   c->node->op_type, one->rank, BRAID_RANK_MAX);
        return;
    }
    if (bd_shape_checked_count(&shape, &all, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *y = bd_output(c, 0, l->element_dtype, &shape);
    for (int64_t i = 0; y && len > 0 && i < count && !bd_interrupted_at(i); i++) {
        const braid_tensor *t = item(c, l, indices, i);
        if (!t) return;
        if (bd_tensor_is_set(t))
            bd_elements_copy(y, i * len, t, 0, len);
        else
            fill_zeros(y, i * len, len);
    }
}

static bool check_stack(bd_op_ctx *c, const bd_tensor_list *l, braid_shape *one)
{
    char text[BD_SHAPE_STR_MAX];
    int64_t want = bd_node_attr_int(c->node, "num_elements");
    if (want != -1 && want != l->count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Operation expected a list with %lld elements but got a list with %lld elements.",
                   (long long)want, (long long)l->count);
        return false;
    }
    if (!bd_input_list_shape(c, 1, l, one)) return false;
    if (l->count == 0 && !bd_shape_is_known(one)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Tried to stack elements of an empty list with non-fully-defined element_shape: %s",
                   bd_element_shape_str(one, text));
        return false;
    }
    if (!bd_merge_shapes_of_list(c, one, l)) return false;
    if (bd_shape_is_known(one)) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Tried to stack list which only contains uninitialized tensors and has a non-fully-defined "
               "element_shape: %s",
               bd_element_shape_str(one, text));
    return false;
}

static void stack_run(bd_op_ctx *c)
{
    const bd_tensor_list *l = bd_input_typed_list(c, 0);
    braid_shape one;
    if (l && check_stack(c, l, &one)) output_stacked(c, l, NULL, l->count, &one);
}

static braid_code stack_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape one;
    braid_code code = bd_shape_ctx_element_shape(c, 1, &one, st);
    if (!code && one.rank >= 0)
        bd_shape_prepend(bd_node_attr_int(c->node, "num_elements"), &one, &c->outputs[0]);
    return code;
}

BD_OP(TensorListStack) = {
    .signature = "(input_handle: variant, element_shape: int32) -> (tensor: element_dtype)",
    .attrs = "element_dtype:type; num_elements:int=-1",
    .shape = stack_shape,
    .gradient = bd_list_stack_gradient,
    .kernels = BD_KERNELS({.run = stack_run}),
    .doc = "All tensors of a list, stacked; those that are not set are zeros.",
};

// Checks that the elements selected by `indices` exist, and merges their shapes.
static bool check_gather(bd_op_ctx *c, const bd_tensor_list *l, const braid_tensor *indices, braid_shape *one)
{
    char text[BD_SHAPE_STR_MAX];
    int64_t count = bd_tensor_count(indices);
    if (!bd_input_list_shape(c, 2, l, one)) return false;
    if (count == 0 && !bd_shape_is_known(one)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Tried to gather 0-elements from a list with non-fully-defined shape: %s",
                   bd_element_shape_str(one, text));
        return false;
    }
    for (int64_t i = 0; i < count; i++) {
        const braid_tensor *t = item(c, l, indices, i);
        if (!t) return false;
        if (bd_tensor_is_set(t) && !bd_merge_element_shape(c, one, &t->shape)) return false;
    }
    if (bd_shape_is_known(one)) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Tried to gather uninitialized tensors from a list with non-fully-defined element_shape: %s",
               bd_element_shape_str(one, text));
    return false;
}

static void gather_run(bd_op_ctx *c)
{
    const bd_tensor_list *l = bd_input_typed_list(c, 0);
    const braid_tensor *indices = bd_input(c, 1);
    braid_shape one;
    if (l && check_gather(c, l, indices, &one)) output_stacked(c, l, indices, bd_tensor_count(indices), &one);
}

static braid_code gather_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape one;
    braid_code code = bd_shape_ctx_element_shape(c, 2, &one, st);
    if (!code && one.rank >= 0 && c->inputs[1].rank == 1)
        bd_shape_prepend(c->inputs[1].dims[0], &one, &c->outputs[0]);
    return code;
}

BD_OP(TensorListGather) = {
    .signature = "(input_handle: variant, indices: int32, element_shape: int32) -> (values: element_dtype)",
    .attrs = "element_dtype:type",
    .shape = gather_shape,
    .gradient = bd_list_gather_gradient,
    .kernels = BD_KERNELS({.run = gather_run}),
    .doc = "Some tensors of a list, stacked; those that are not set are zeros.",
};

// ---- Cutting ----

static bool check_rows(bd_op_ctx *c, const braid_tensor *t)
{
    char text[BD_SHAPE_STR_MAX];
    if (t->shape.rank > 0) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Tensor must be at least a vector, but saw shape: %s",
               bd_shape_str(&t->shape, text));
    return false;
}

static bool check_row_shape(bd_op_ctx *c, const braid_shape *element, const braid_tensor *t)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    braid_shape row = bd_shape_behind_first(&t->shape);
    if (bd_shapes_fit(element, &row)) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Specified a list with shape %s from a tensor with shape %s",
               bd_element_shape_str(element, a), bd_shape_str(&row, b));
    return false;
}

// Puts row i of `t` to element i, or to that which `indices` names.
static void set_rows(bd_op_ctx *c, bd_tensor_list *l, const braid_tensor *t, const braid_tensor *indices)
{
    braid_shape row = bd_shape_behind_first(&t->shape);
    int64_t len = bd_shape_count(&row);
    for (int64_t i = 0; i < t->shape.dims[0]; i++) {
        const braid_tensor *to = item(c, l, indices, i);
        if (!to || !bd_list_set_part(c, l, to - l->items, t, i * len, &row)) return;
    }
}

static void from_tensor_run(bd_op_ctx *c)
{
    const braid_tensor *t = bd_input(c, 0);
    braid_shape element;
    if (!bd_input_element_shape(c, 1, &element) || !check_rows(c, t) || !check_row_shape(c, &element, t))
        return;
    bd_tensor_list *l = bd_output_new_list(c, 0, t->dtype, &element, -1, t->shape.dims[0]);
    if (l) set_rows(c, l, t, NULL);
}

static braid_code from_tensor_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape element;
    c->outputs[0] = BD_SCALAR;
    if (c->inputs[0].rank == 0)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    return bd_shape_ctx_element_shape(c, 1, &element, st);
}

BD_OP(TensorListFromTensor) = {
    .signature = "(tensor: element_dtype, element_shape: shape_type) -> (output_handle: variant)",
    .attrs = "element_dtype:type; shape_type:type{int32,int64}",
    .shape = from_tensor_shape,
    .gradient = bd_list_from_tensor_gradient,
    .kernels = BD_KERNELS({.run = from_tensor_run}),
    .doc = "A list of the slices of a tensor along its first dimension.",
};

static bool largest_index(bd_op_ctx *c, const braid_tensor *indices, int64_t size, int64_t *largest)
{
    *largest = -1;
    for (int64_t i = 0; i < bd_tensor_count(indices); i++) {
        int64_t at = bd_tensor_index(indices, i);
        if (at < 0) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Indices in TensorListScatter must all be non-negative.");
            return false;
        }
        if (size != -1 && at >= size) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "TensorListScatter: Trying to scatter at index %lld in list with size %lld",
                       (long long)at, (long long)size);
            return false;
        }
        if (at > *largest) *largest = at;
    }
    return true;
}

static void scatter_run(bd_op_ctx *c)
{
    const braid_tensor *t = bd_input(c, 0), *indices = bd_input(c, 1);
    braid_shape element;
    int64_t size = -1, largest;
    if (!bd_input_element_shape(c, 2, &element)) return;
    if (c->input_count > 3 && !bd_input_int(c, 3, "num_elements", &size)) return;
    if (size < -1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "TensorListScatter expects num_elements >= -1, found: %lld",
                   (long long)size);
        return;
    }
    if (!check_rows(c, t) || !check_row_shape(c, &element, t)) return;
    if (bd_tensor_count(indices) != t->shape.dims[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Invalid number of rows in input tensor. Expected: %lld Actual: %lld",
                   (long long)bd_tensor_count(indices), (long long)t->shape.dims[0]);
        return;
    }
    if (!largest_index(c, indices, size, &largest)) return;
    bd_tensor_list *l =
        bd_output_new_list(c, 0, t->dtype, &element, -1, largest + 1 > size ? largest + 1 : size);
    if (l) set_rows(c, l, t, indices);
}

static braid_code scatter_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape element;
    c->outputs[0] = BD_SCALAR;
    return bd_shape_ctx_element_shape(c, 2, &element, st);
}

BD_OP(TensorListScatter) = {
    .signature =
        "(tensor: element_dtype, indices: int32, element_shape: shape_type) -> (output_handle: variant)",
    .attrs = "element_dtype:type; shape_type:type{int32,int64}",
    .shape = scatter_shape,
    .gradient = bd_list_scatter_gradient,
    .kernels = BD_KERNELS({.run = scatter_run}),
    .doc = "A list with the slices of a tensor at `indices`; see TensorListScatterV2.",
};

BD_OP(TensorListScatterV2) = {
    .signature =
        "(tensor: element_dtype, indices: int32, element_shape: shape_type, num_elements: int32) -> (output_handle: variant)",
    .attrs = "element_dtype:type; shape_type:type{int32,int64}",
    .shape = scatter_shape,
    .gradient = bd_list_scatter_gradient,
    .kernels = BD_KERNELS({.run = scatter_run}),
    .doc = "A list of num_elements (-1: as many as needed) with the slices of a tensor at `indices`.",
};

static void scatter_into_run(bd_op_ctx *c)
{
    const bd_tensor_list *in = bd_input_typed_list(c, 0);
    const braid_tensor *t = bd_input(c, 1), *indices = bd_input(c, 2);
    char text[BD_SHAPE_STR_MAX];
    int64_t largest;
    if (!in || !check_rows(c, t)) return;
    if (indices->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected indices to be a vector, but received shape: %s",
                   bd_shape_str(&indices->shape, text));
        return;
    }
    if (indices->shape.dims[0] != t->shape.dims[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected len(indices) == tensor.shape[0], but saw: %lld vs. %lld",
                   (long long)indices->shape.dims[0], (long long)t->shape.dims[0]);
        return;
    }
    if (!largest_index(c, indices, -1, &largest)) return;
    bd_tensor_list *l = bd_output_list(c, 0, 0, 0);
    if (l && (largest < l->count || bd_list_resize(c, l, largest + 1))) set_rows(c, l, t, indices);
}

static braid_code scatter_into_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    if (c->inputs[1].rank == 0)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    return bd_shape_ctx_rank(c, 2, 1, st);
}

BD_OP(TensorListScatterIntoExistingList) = {
    .signature = "(input_handle: variant, tensor: element_dtype, indices: int32) -> (output_handle: variant)",
    .attrs = "element_dtype:type",
    .shape = scatter_into_shape,
    .gradient = bd_list_scatter_into_gradient,
    .kernels = BD_KERNELS({.run = scatter_into_run}),
    .doc = "A list with the slices of a tensor at `indices`, made longer if needed.",
};

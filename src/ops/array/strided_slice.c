// StridedSlice, the op of Python's x[a:b:c, ..., i], and its gradient.
#include "ops/array/strided_slice.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/grad_steps.h"

// ---- Shapes ----

// Reads constant inputs `first` (begin), first + 1 (end) and first + 2 (strides). False when too few of them
// are constant.
static bool constant_spec(bd_shape_ctx *c, int first, bd_strided_spec *spec)
{
    const braid_tensor *begin = bd_shape_ctx_constant(c, first), *end = bd_shape_ctx_constant(c, first + 1);
    const braid_tensor *strides = bd_shape_ctx_constant(c, first + 2);
    if (!strides || strides->shape.rank != 1 || strides->shape.dims[0] > BD_STRIDED_SPEC_MAX) return false;
    spec->count = (int)strides->shape.dims[0];
    spec->values_known = begin && end && bd_shape_equal(&begin->shape, &strides->shape) &&
                         bd_shape_equal(&end->shape, &strides->shape);
    for (int i = 0; i < spec->count; i++) {
        spec->begin[i] = spec->values_known ? bd_tensor_index(begin, i) : 0;
        spec->end[i] = spec->values_known ? bd_tensor_index(end, i) : 0;
        spec->strides[i] = bd_tensor_index(strides, i);
    }
    bd_strided_spec_masks(spec, c->node);
    return true;
}

static braid_code strided_slice_shape(bd_shape_ctx *c, braid_status *st)
{
    bd_strided_spec spec;
    bd_strided_selection sel;
    for (int i = 1; i <= 3; i++) {
        braid_code code = bd_shape_ctx_rank(c, i, 1, st);
        if (code) return code;
    }
    if (c->inputs[0].rank < 0 || !constant_spec(c, 1, &spec)) return BRAID_OK;
    BD_STATUS(why);
    if (bd_strided_select(&spec, &c->inputs[0], &sel, why))
        return bd_shape_ctx_fail(c, st, "%s", why->message);
    c->outputs[0] = sel.out;
    return BRAID_OK;
}

static braid_code strided_slice_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_shape_fn_from_input0(c, st);
}

// ---- Kernels ----

bool bd_strided_read(bd_op_ctx *c, int first, const braid_shape *shape, bd_strided_selection *sel)
{
    const braid_tensor *begin = bd_input(c, first), *end = bd_input(c, first + 1),
                       *strides = bd_input(c, first + 2);
    bd_strided_spec spec = {.values_known = true};
    if (begin->shape.rank != 1 || !bd_shape_equal(&begin->shape, &end->shape) ||
        !bd_shape_equal(&begin->shape, &strides->shape) || begin->shape.dims[0] > BD_STRIDED_SPEC_MAX) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX], s[BD_SHAPE_STR_MAX];
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Expected begin, end, and strides to be 1D equal size tensors, but got shapes %s, %s, and %s instead.",
            bd_shape_str(&begin->shape, a), bd_shape_str(&end->shape, b), bd_shape_str(&strides->shape, s));
        return false;
    }
    spec.count = (int)begin->shape.dims[0];
    for (int i = 0; i < spec.count; i++) {
        spec.begin[i] = bd_tensor_index(begin, i);
        spec.end[i] = bd_tensor_index(end, i);
        spec.strides[i] = bd_tensor_index(strides, i);
    }
    bd_strided_spec_masks(&spec, c->node);
    BD_STATUS(st);
    if (bd_strided_select(&spec, shape, sel, st) == BRAID_OK) return true;
    bd_op_fail_status(c, st);
    return false;
}

static void strided_slice_run(bd_op_ctx *c)
{
    bd_strided_selection sel;
    const braid_tensor *x = bd_input(c, 0);
    if (bd_strided_read(c, 1, &x->shape, &sel))
        bd_output_block(c, 0, x, sel.begin, sel.strides, &sel.block, &sel.out);
}

static void strided_slice_grad_run(bd_op_ctx *c)
{
    braid_shape shape;
    bd_strided_selection sel;
    const braid_tensor *dy = bd_input(c, 4);
    if (bd_input(c, 0)->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "shape must be 1-D, got shape.shape = %s",
                   bd_shape_str(&bd_input(c, 0)->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return;
    }
    if (!bd_input_shape(c, 0, "shape", &shape) || !bd_strided_read(c, 1, &shape, &sel)) return;
    if (!bd_shape_equal(&dy->shape, &sel.out)) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "shape of dy was %s instead of %s", bd_shape_str(&dy->shape, a),
                   bd_shape_str(&sel.out, b));
        return;
    }
    bd_output_spread(c, 0, dy, &sel.block, sel.begin, sel.strides, &shape);
}

// ---- Gradients ----

static void copy_masks(braid_op_desc *d, const braid_op *op)
{
    static const char *const masks[] = {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask",
                                        "shrink_axis_mask"};
    for (size_t i = 0; i < BD_COUNTOF(masks); i++)
        braid_op_attr_int(d, masks[i], bd_node_attr_int(op, masks[i]));
}

static void strided_slice_gradient(bd_grad_ctx *c)
{
    braid_dtype index = braid_out_dtype(braid_op_get_input(c->op, 1));
    braid_out shape = bd_grad_shape(c->graph, braid_op_get_input(c->op, 0), index);
    braid_op_desc *d = braid_op_begin(c->graph, "StridedSliceGrad", "StridedSliceGrad");
    braid_op_input(d, shape);
    for (int i = 1; i <= 3; i++)
        braid_op_input(d, braid_op_get_input(c->op, i));
    braid_op_input(d, c->output_grads[0]);
    copy_masks(d, c->op);
    c->input_grads[0] = braid_op_end_out(d);
}

static void strided_slice_grad_gradient(bd_grad_ctx *c)
{
    braid_op_desc *d = braid_op_begin(c->graph, "StridedSlice", "StridedSlice");
    braid_op_input(d, c->output_grads[0]);
    for (int i = 1; i <= 3; i++)
        braid_op_input(d, braid_op_get_input(c->op, i));
    copy_masks(d, c->op);
    c->input_grads[4] = braid_op_end_out(d);
}

#define MASKS                                                                                                \
    "T:type; Index:type{int32,int64}; begin_mask:int=0; end_mask:int=0; ellipsis_mask:int=0; "               \
    "new_axis_mask:int=0; shrink_axis_mask:int=0"

BD_OP(StridedSlice) = {
    .signature = "(input: T, begin: Index, end: Index, strides: Index) -> (output: T)",
    .attrs = MASKS,
    .shape = strided_slice_shape,
    .gradient = strided_slice_gradient,
    .kernels = BD_KERNELS({.run = strided_slice_run}),
    .doc =
        "Python's x[begin:end:stride, ...]; open ends, an ellipsis, new and removed axes are given by bit masks.",
};

BD_OP(StridedSliceGrad) = {
    .signature = "(shape: Index, begin: Index, end: Index, strides: Index, dy: T) -> (output: T)",
    .attrs = MASKS,
    .shape = strided_slice_grad_shape,
    .gradient = strided_slice_grad_gradient,
    .kernels = BD_KERNELS({.run = strided_slice_grad_run}),
    .doc = "Zeros of the given shape, with `dy` in the elements that StridedSlice would read.",
};

// StridedSliceAssign, ResourceStridedSliceAssign and TensorStridedSliceUpdate: write values to the elements
// that StridedSlice would read.
#include "graph/shape_fn.h"
#include "ops/array/strided_slice.h"
#include "ops/common/element.h"
#include "ops/state/variable.h"

static braid_code assign_shape(bd_shape_ctx *c, braid_status *st)
{
    if (c->output_count > 0) c->outputs[0] = bd_shape_ctx_variable(c, 0);
    for (int i = 1; i <= 3; i++) {
        braid_code code = bd_shape_ctx_rank(c, i, 1, st);
        if (code) return code;
    }
    return BRAID_OK;
}

// Writes input 4 to the elements selected by inputs 1 to 3. False: the kernel has failed.
static bool put_value(bd_op_ctx *c, const braid_tensor *to)
{
    const braid_tensor *value = bd_input(c, 4);
    bd_strided_selection sel;
    if (!bd_strided_read(c, 1, &to->shape, &sel)) return false;
    if (bd_shape_count(&sel.block) == 0) return true;
    if (!bd_shape_equal(&sel.out, &value->shape)) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_UNIMPLEMENTED,
                   "sliced l-value shape %s does not match r-value shape %s. Automatic broadcasting not yet "
                   "implemented.",
                   bd_shape_str(&sel.out, a), bd_shape_str(&value->shape, b));
        return false;
    }
    bd_strided walk = bd_strided_of(&sel.block);
    int64_t at = 0;
    bd_row_strides(&to->shape, walk.to_strides);
    for (int d = 0; d < to->shape.rank; d++) {
        at += sel.begin[d] * walk.to_strides[d];
        walk.to_strides[d] *= sel.strides[d];
    }
    if (value->buffer != to->buffer) {
        bd_elements_copy_block(to, at, value, 0, &walk);
        return true;
    }
    braid_tensor copy; // used if the value overlaps the variable
    if (!bd_tensor_snapshot(&copy, value)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying the value");
        return false;
    }
    bd_elements_copy_block(to, at, &copy, 0, &walk);
    bd_tensor_fini(&copy);
    return true;
}

// Assigns to a part of a variable and holds its lock: TensorFlow's op has no attr use_locking.
static bool assign_part(bd_op_ctx *c, bd_variable *v)
{
    BD_STATUS(st);
    bool ok = false;
    bd_mutex_lock(&v->mu);
    if (!bd_tensor_is_set(&v->tensor)) {
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                   c->node->inputs[0].op->name);
    } else if (bd_variable_make_writable_locked(v, st)) {
        bd_op_fail_status(c, st);
    } else {
        ok = put_value(c, &v->tensor);
    }
    bd_mutex_unlock(&v->mu);
    return ok;
}

static void assign_run(bd_op_ctx *c)
{
    bd_variable *v = bd_input_ref(c, 0);
    if (assign_part(c, v)) bd_output_ref(c, 0, v);
}

static void resource_assign_run(bd_op_ctx *c)
{
    bd_variable *v = bd_input_variable(c, 0, bd_input(c, 4)->dtype);
    if (!v) return;
    assign_part(c, v);
    bd_resource_unref(&v->base);
}

static void update_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output_forward(c, 0, 0, x->dtype, &x->shape);
    if (!y) return;
    if (y->data != x->data) bd_elements_copy(y, 0, x, 0, bd_tensor_count(x));
    put_value(c, y);
}

#define MASKS                                                                                                \
    "T:type; Index:type{int32,int64}; begin_mask:int=0; end_mask:int=0; ellipsis_mask:int=0; "               \
    "new_axis_mask:int=0; shrink_axis_mask:int=0"

BD_OP(StridedSliceAssign) = {
    .signature = "(ref: Ref(T), begin: Index, end: Index, strides: Index, value: T) -> (output_ref: Ref(T))",
    .attrs = MASKS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = assign_shape,
    .kernels = BD_KERNELS({.run = assign_run}),
    .doc = "Assigns to the elements of a variable that StridedSlice would read.",
};

BD_OP(ResourceStridedSliceAssign) = {
    .signature = "(ref: resource, begin: Index, end: Index, strides: Index, value: T) -> ()",
    .attrs = MASKS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = assign_shape,
    .kernels = BD_KERNELS({.run = resource_assign_run}),
    .doc = "Assigns to the elements of a resource variable that StridedSlice would read.",
};

BD_OP(TensorStridedSliceUpdate) = {
    .signature = "(input: T, begin: Index, end: Index, strides: Index, value: T) -> (output: T)",
    .attrs = MASKS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = assign_shape,
    .kernels = BD_KERNELS({.run = update_run}),
    .doc = "A copy of a tensor with new values for the elements that StridedSlice would read.",
};

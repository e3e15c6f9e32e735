// InplaceUpdate, InplaceAdd and InplaceSub write rows of a tensor by index; DeepCopy, Empty and
// ParallelConcat allocate tensors.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"
#include "ops/state/variable.h"

#include <string.h>

// ---- InplaceUpdate, InplaceAdd, InplaceSub ----

static bool check_rows(bd_op_ctx *c)
{
    const braid_shape *x = &bd_input(c, 0)->shape, *i = &bd_input(c, 1)->shape, *v = &bd_input(c, 2)->shape;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    if (i->rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "i must be a vector. %s", bd_shape_str(i, a));
        return false;
    }
    if (x->rank != v->rank || x->rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "x and v shape doesn't match (ranks differ): %s vs. %s",
                   bd_shape_str(x, a), bd_shape_str(v, b));
        return false;
    }
    for (int d = 1; d < x->rank; d++) {
        if (x->dims[d] == v->dims[d]) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "x and v shape doesn't match at index %d : %s vs. %s", d,
                   bd_shape_str(x, a), bd_shape_str(v, b));
        return false;
    }
    if (i->dims[0] != v->dims[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "i and x shape doesn't match at index 0: %s vs. %s",
                   bd_shape_str(i, a), bd_shape_str(v, b));
        return false;
    }
    return true;
}

// TensorFlow changes x itself. Here the output takes the memory of x if x has no other owner, and is a copy
// otherwise.
static void update_rows(bd_op_ctx *c, bd_update_op op)
{
    const braid_tensor *x = bd_input(c, 0), *i = bd_input(c, 1), *v = bd_input(c, 2);
    if (!check_rows(c)) return;
    braid_tensor *y = bd_output_forward(c, 0, 0, x->dtype, &x->shape);
    if (!y) return;
    if (y->data != x->data) bd_elements_copy(y, 0, x, 0, bd_tensor_count(x));
    int64_t rows = x->shape.dims[0], len = bd_shape_count_range(&x->shape, 1, x->shape.rank);
    size_t size = braid_dtype_size(x->dtype);
    bd_update_fn update = op == BD_UPDATE_SET ? NULL : bd_update_function(x->dtype, op);
    const int64_t count =
        rows * len > 0 ? i->shape.dims[0] : 0; // as in TensorFlow, empty rows update nothing
    for (int64_t k = 0; k < count && !bd_interrupted_at(k); k++) {
        // as in TensorFlow, indices wrap around in both directions
        int64_t row = (bd_tensor_i32(i)[k] % rows + rows) % rows;
        if (update) {
            update((char *)y->data + (size_t)(row * len) * size,
                   (const char *)v->data + (size_t)(k * len) * size, len);
        } else {
            bd_elements_copy(y, row * len, v, k * len, len);
        }
    }
}

static void inplace_update_run(bd_op_ctx *c)
{
    update_rows(c, BD_UPDATE_SET);
}

static void inplace_add_run(bd_op_ctx *c)
{
    update_rows(c, BD_UPDATE_ADD);
}

static void inplace_sub_run(bd_op_ctx *c)
{
    update_rows(c, BD_UPDATE_SUB);
}

#define INPLACE_SIGNATURE "(x: T, i: int32, v: T) -> (y: T)"

BD_OP(InplaceUpdate) = {
    .signature = INPLACE_SIGNATURE,
    .attrs = "T:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = inplace_update_run}),
    .doc = "x with row i[k] replaced by row k of v.",
    .deviation = "Input x is not changed if it has other consumers: use the output.",
};

BD_OP(InplaceAdd) = {
    .signature = INPLACE_SIGNATURE,
    .attrs = "T:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.types = BD_UPDATE_TYPES_OF("T"), .run = inplace_add_run}),
    .doc = "x with row k of v added to row i[k].",
    .deviation = "Input x is not changed if it has other consumers: use the output.",
};

BD_OP(InplaceSub) = {
    .signature = INPLACE_SIGNATURE,
    .attrs = "T:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.types = BD_UPDATE_TYPES_OF("T"), .run = inplace_sub_run}),
    .doc = "x with row k of v subtracted from row i[k].",
    .deviation = "Input x is not changed if it has other consumers: use the output.",
};

// ---- DeepCopy, Empty ----

static void deep_copy_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output(c, 0, x->dtype, &x->shape);
    if (y) bd_elements_copy(y, 0, x, 0, bd_tensor_count(x));
}

BD_OP(DeepCopy) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = deep_copy_run}),
    .doc = "A copy of a tensor in new memory.",
};

// Always zeros, with or without attr `init`: uninitialized memory could leak data of other sessions.
static void empty_run(bd_op_ctx *c)
{
    braid_shape shape;
    if (!bd_input_shape(c, 0, "shape", &shape)) return;
    braid_tensor *y = bd_output(c, 0, c->node->output_types[0], &shape);
    size_t size = y ? braid_dtype_size(y->dtype) : 0;
    if (size > 0 && bd_tensor_count(y) > 0) memset(y->data, 0, (size_t)bd_tensor_count(y) * size);
}

BD_OP(Empty) = {
    .signature = "(shape: int32) -> (output: dtype)",
    .attrs = "dtype:type; init:bool=false",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_from_input0,
    .kernels = BD_KERNELS({.run = empty_run}),
    .doc = "A tensor of the given shape, filled with zeros or empty strings.",
    .deviation = "Always zeros (or empty strings), also without attr init.",
};

// ---- ParallelConcat ----

static braid_code parallel_concat_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape whole = bd_node_attr_shape(c->node, "shape"), merged;
    if (!bd_shape_is_known(&whole)) return bd_shape_ctx_fail(c, st, "shape attr must be fully defined");
    braid_shape part = whole;
    if (whole.rank < 1 || whole.dims[0] != c->input_count)
        return bd_shape_ctx_fail(c, st, "shape attr must have %d rows, one for each value", c->input_count);
    part.dims[0] = 1;
    for (int i = 0; i < c->input_count; i++) {
        int64_t rows = c->inputs[i].rank > 0 ? c->inputs[i].dims[0] : -1;
        if (rows >= 0 && rows != 1) return bd_shape_ctx_fail(c, st, "Size of first dimension must be 1.");
        if (!bd_shape_merge(&part, &c->inputs[i], &merged))
            return bd_shape_ctx_fail(c, st, "value %d does not fit attr shape", i);
    }
    c->outputs[0] = whole;
    return BRAID_OK;
}

static void parallel_concat_run(bd_op_ctx *c)
{
    braid_shape shape = bd_node_attr_shape(c->node, "shape"), row = shape;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    bool fits = bd_shape_is_known(&shape) && shape.rank >= 1 && shape.dims[0] == c->input_count;
    row.dims[0] = 1;
    for (int i = 0; i < c->input_count; i++) {
        if (fits && bd_shape_equal(&bd_input(c, i)->shape, &row)) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "values[%d] of shape %s is no row of shape %s", i,
                   bd_shape_str(&bd_input(c, i)->shape, a), bd_shape_str(&shape, b));
        return;
    }
    braid_tensor *y = bd_output(c, 0, c->node->output_types[0], &shape);
    int64_t len = bd_shape_count(&row);
    for (int i = 0; y && i < c->input_count; i++)
        bd_elements_copy(y, i * len, bd_input(c, i), 0, len);
}

BD_OP(ParallelConcat) = {
    .signature = "(values: N*T) -> (output: T)",
    .attrs = "N:int>=1; T:type; shape:shape",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = parallel_concat_shape,
    .kernels = BD_KERNELS({.run = parallel_concat_run}),
    .doc = "Joins tensors of one row each into a tensor of attr `shape`.",
};

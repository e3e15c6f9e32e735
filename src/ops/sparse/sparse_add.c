// SparseTensorDenseAdd: a dense tensor with values added at some places.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/state/scatter.h"

static braid_code add_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape shape;
    bool known = bd_shape_ctx_constant_shape(c, 2, &shape);
    c->outputs[0] = c->inputs[3];
    if (known && !bd_shape_merge(&shape, &c->inputs[3], &c->outputs[0])) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        return bd_shape_ctx_fail(c, st, "a_shape %s and the shape of b, %s, must be equal",
                                 bd_shape_str(&shape, a), bd_shape_str(&c->inputs[3], b));
    }
    braid_code code = bd_shape_ctx_rank(c, 0, 2, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 1, st);
    return code ? code : bd_shape_ctx_rank(c, 2, 1, st);
}

static bool check_indices(bd_op_ctx *c, const braid_tensor *indices, const braid_shape *shape)
{
    for (int64_t i = 0; i < bd_tensor_count(indices) && !bd_interrupted_at(i); i++) {
        const int d = (int)(i % shape->rank);
        const int64_t index = bd_tensor_index(indices, i);
        if (index >= 0 && index < shape->dims[d]) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Sparse tensor has some invalid index on dimension %d: %lld; dense tensor shape: %s", d,
                   (long long)index, bd_shape_str(shape, (char[BD_SHAPE_STR_MAX]){0}));
        return false;
    }
    return true;
}

// The sparse tensor has the shape of the dense one. False: the kernel has failed.
static bool check_shapes(bd_op_ctx *c)
{
    const braid_tensor *indices = bd_input(c, 0), *values = bd_input(c, 1), *a = bd_input(c, 2),
                       *b = bd_input(c, 3);
    char x[BD_SHAPE_STR_MAX], y[BD_SHAPE_STR_MAX];
    int rank = b->shape.rank;
    if (indices->shape.rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input a_indices should be a matrix but received shape: %s",
                   bd_shape_str(&indices->shape, x));
    } else if (values->shape.rank != 1 || a->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Inputs a_values and a_shape should be vectors but received shapes: %s and %s",
                   bd_shape_str(&values->shape, x), bd_shape_str(&a->shape, y));
    } else if (a->shape.dims[0] != rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Two operands have different ranks; received: %lld and %d",
                   (long long)a->shape.dims[0], rank);
    } else if (indices->shape.dims[1] != rank || indices->shape.dims[0] != values->shape.dims[0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input a_indices of shape %s should have %d columns, and a row for each of the values %s",
                   bd_shape_str(&indices->shape, x), rank, bd_shape_str(&values->shape, y));
    }
    for (int d = 0; d < rank && !bd_op_failed(c); d++) {
        if (bd_tensor_index(a, d) == b->shape.dims[d]) continue;
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Dimension %d does not equal (no broadcasting is supported): sparse side %lld vs dense side %lld",
            d, (long long)bd_tensor_index(a, d), (long long)b->shape.dims[d]);
    }
    return !bd_op_failed(c);
}

static void add_run(bd_op_ctx *c)
{
    const braid_tensor *indices = bd_input(c, 0), *values = bd_input(c, 1), *b = bd_input(c, 3);
    bd_slices s;
    if (!check_shapes(c)) return;
    if (!check_indices(c, indices, &b->shape) || !bd_slices_init(c, &s, true, &b->shape, indices)) return;
    braid_tensor *y = bd_output_forward(c, 0, 3, b->dtype, &b->shape);
    if (!y) return;
    if (y->data != b->data && bd_tensor_count(b) > 0) bd_elements_copy(y, 0, b, 0, bd_tensor_count(b));
    bd_scatter(c, y, &s, indices, values, bd_update_function(y->dtype, BD_UPDATE_ADD));
}

static void add_gradient(bd_grad_ctx *c)
{
    c->input_grads[1] = bd_b2(c->graph, "GatherNd", NULL, c->output_grads[0], c->op->inputs[0]);
    c->input_grads[3] = c->output_grads[0];
}

BD_OP(SparseTensorDenseAdd) = {
    .signature = "(a_indices: Tindices, a_values: T, a_shape: Tindices, b: T) -> (output: T)",
    .attrs = "T:type{number}; Tindices:type{int32,int64}",
    .shape = add_shape,
    .gradient = add_gradient,
    .kernels = BD_KERNELS({.types = BD_UPDATE_TYPES_OF("T"), .run = add_run}),
    .doc =
        "Adds a sparse tensor, of the places a_indices and the values a_values, to a dense one of the same shape.",
};

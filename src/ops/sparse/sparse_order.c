// SparseReorder and SparseReshape: the same entries in another order, or of another shape.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/grad_steps.h"
#include "ops/sparse/sparse.h"

// ---- SparseReorder ----

static braid_code reorder_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[0];
    c->outputs[1] = c->inputs[1];
    return bd_shape_ctx_sparse(c, 0, 1, 2, st);
}

static void reorder_run(bd_op_ctx *c)
{
    BD_SPARSE(s);
    if (!bd_sparse_input(c, 0, 1, 2, &s)) return;
    if (bd_sparse_is_ordered(&s)) {
        bd_output_set(c, 0, bd_input(c, 0));
        bd_output_set(c, 1, s.values);
        return;
    }
    int64_t *order = bd_sparse_order(c, &s, NULL);
    if (order) bd_output_sparse_rows(c, 0, 1, &s, order, s.count);
    bd_free(order);
}

// Where each value went is found by ordering the numbers of the entries.
static void reorder_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out indices = braid_op_get_input(c->op, 0);
    braid_out count = bd_grad_slice(g, bd_b_shape(g, "Shape", indices),
                                    &(bd_grad_index){.count = 1, .end = {1}, .shrink_axis_mask = 1});
    braid_out moved =
        bd_b3(g, "SparseReorder", NULL, indices, bd_grad_range(g, count, 1), braid_op_get_input(c->op, 2));
    moved.index = 1;
    c->input_grads[1] =
        bd_b3(g, "GatherV2", NULL, c->output_grads[1], bd_b1(g, "InvertPermutation", NULL, moved),
              bd_b_const_i32(g, "GatherV2/axis", 0));
}

BD_OP(SparseReorder) = {
    .signature = "(input_indices: int64, input_values: T, input_shape: int64) -> (output_indices: int64, "
                 "output_values: T)",
    .attrs = "T:type",
    .shape = reorder_shape,
    .gradient = reorder_gradient,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = reorder_run}),
    .doc = "The entries of a sparse tensor in row-major order.",
};

// ---- SparseReshape ----

static braid_code reshape_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = bd_shape2(bd_shape_dim(&c->inputs[0], 0), bd_shape_dim(&c->inputs[2], 0));
    c->outputs[1] = bd_shape1(bd_shape_dim(&c->inputs[2], 0));
    braid_code code = bd_shape_ctx_sparse(c, 0, -1, 1, st);
    return code ? code : bd_shape_ctx_rank(c, 2, 1, st);
}

static bool fail_sizes(bd_op_ctx *c, const braid_shape *from, const braid_shape *to, int64_t product,
                       const char *input, const char *what)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Input to reshape is a %s with %lld dense values, but the requested shape %s %lld. "
               "input_shape=%s output_shape=%s",
               input, (long long)bd_shape_count(from), what, (long long)product, bd_shape_str(from, a),
               bd_shape_str(to, b));
    return false;
}

// Replaces -1 by the missing size. `from` has a number of elements that fits int64.
static bool infer_dimension(bd_op_ctx *c, const braid_shape *from, braid_shape *to, int unknown)
{
    to->dims[unknown] = 1;
    if (!bd_sparse_check_size(c, to)) return false;
    int64_t product = bd_shape_count(to), count = bd_shape_count(from);
    if (product == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "reshape cannot infer the missing input size for an empty tensor unless all specified "
                   "input sizes are non-zero");
        return false;
    }
    if (count % product != 0)
        return fail_sizes(c, from, to, product, "SparseTensor", "requires a multiple of");
    to->dims[unknown] = count / product;
    return true;
}

// Reads the new shape, in which one dimension may be -1.
static bool new_shape(bd_op_ctx *c, const braid_shape *from, braid_shape *to)
{
    const braid_tensor *t = bd_input(c, 2);
    int unknown = -1;
    if (t->shape.rank != 1 || t->shape.dims[0] > BRAID_RANK_MAX) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Target shape should be a vector of at most %d elements but received shape %s",
                   BRAID_RANK_MAX, bd_shape_str(&t->shape, text));
        return false;
    }
    to->rank = (int)t->shape.dims[0];
    for (int d = 0; d < to->rank; d++) {
        int64_t size = to->dims[d] = bd_tensor_index(t, d);
        if (size == -1 && unknown >= 0) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "only one output dimension may be -1, not both %d and %d",
                       unknown, d);
            return false;
        }
        if (size < -1) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "size %d must be non-negative, not %lld", d,
                       (long long)size);
            return false;
        }
        if (size == -1) unknown = d;
    }
    if (!bd_sparse_check_size(c, from) || (unknown >= 0 && !infer_dimension(c, from, to, unknown)) ||
        !bd_sparse_check_size(c, to))
        return false;
    if (bd_shape_count(to) != bd_shape_count(from))
        return fail_sizes(c, from, to, bd_shape_count(to), "tensor", "has");
    return true;
}

// Indices out of bounds are computed modulo 2^64. No dimension is 0 when there are entries.
static void reshape_indices(const bd_sparse *s, const braid_shape *to, int64_t *out)
{
    int64_t from_strides[BRAID_RANK_MAX], to_strides[BRAID_RANK_MAX];
    bd_row_strides(&s->shape, from_strides);
    bd_row_strides(to, to_strides);
    for (int64_t i = 0; i < s->count && !bd_interrupted_at(i); i++) {
        uint64_t sum = 0;
        for (int d = 0; d < s->shape.rank; d++)
            sum += (uint64_t)bd_sparse_row(s, i)[d] * (uint64_t)from_strides[d];
        int64_t at = (int64_t)sum;
        for (int d = 0; d < to->rank; d++) {
            *out++ = at / to_strides[d];
            at %= to_strides[d];
        }
    }
}

static void reshape_run(bd_op_ctx *c)
{
    BD_SPARSE(s);
    braid_shape to;
    if (!bd_sparse_input(c, 0, -1, 1, &s) || !new_shape(c, &s.shape, &to)) return;
    if (bd_shape_equal(&to, &s.shape)) {
        bd_output_set(c, 0, bd_input(c, 0));
        bd_output_set(c, 1, bd_input(c, 1));
        return;
    }
    if (s.count > 0 && bd_shape_count(&to) == 0) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Input tensor has %lld non zero elements but input shape (%s) or output shape (%s) is empty",
            (long long)s.count, bd_shape_str(&s.shape, a), bd_shape_str(&to, b));
        return;
    }
    int64_t *out = bd_output_sparse_indices(c, 0, s.count, to.rank);
    if (out && bd_output_sparse_shape(c, 1, &to)) reshape_indices(&s, &to, out);
}

BD_OP(SparseReshape) = {
    .signature = "(input_indices: int64, input_shape: int64, new_shape: int64) -> (output_indices: int64, "
                 "output_shape: int64)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = reshape_shape,
    .kernels = BD_KERNELS({.run = reshape_run}),
    .doc = "The indices that the entries of a sparse tensor have in another shape of as many elements.",
};

// SparseSoftmax: softmax over the entries of each row of a sparse tensor.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/grad_math.h"
#include "ops/sparse/sparse.h"

#include <math.h>

static braid_code softmax_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = c->inputs[1];
    return bd_shape_ctx_sparse(c, 0, 1, 2, st);
}

// y = softmax of the elements `rows` of x, minus the largest so that exp does not overflow.
#define DEFINE_SOFTMAX(SUFFIX, TYPE, EXP)                                                                    \
    static void softmax_##SUFFIX(void *out, const void *in, const int64_t *rows, int64_t count)              \
    {                                                                                                        \
        TYPE *y = out, max = -(TYPE)INFINITY, sum = 0;                                                       \
        const TYPE *x = in;                                                                                  \
        for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++)                                         \
            if (!(x[rows[i]] <= max)) max = x[rows[i]];                                                      \
        for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++)                                         \
            sum += y[i] = EXP(x[rows[i]] - max);                                                             \
        for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++)                                         \
            y[i] *= 1 / sum;                                                                                 \
    }

DEFINE_SOFTMAX(f32, float, expf)
DEFINE_SOFTMAX(f64, double, exp)

static int64_t group_end(const bd_sparse *s, const int64_t *rows, int64_t from)
{
    int64_t to = from + 1;
    while (to < s->count && bd_sparse_compare(bd_sparse_row(s, rows[from]), bd_sparse_row(s, rows[to]),
                                              s->shape.rank - 1) == 0)
        to++;
    return to;
}

// The output is in row-major order for any order of the input.
static void softmax_run(bd_op_ctx *c)
{
    BD_SPARSE(s);
    if (!bd_sparse_input(c, 0, 1, 2, &s) || !bd_sparse_check_size(c, &s.shape)) return;
    if (s.shape.rank < 2) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input should have rank >= 2, but received shape: %s",
                   bd_shape_str(&s.shape, text));
        return;
    }
    bool is_double = s.values->dtype == BRAID_DOUBLE;
    int64_t *rows = bd_sparse_order(c, &s, NULL);
    braid_tensor *y = rows ? bd_output_sparse_values(c, 0, s.values->dtype, s.count) : NULL;
    for (int64_t from = 0, to; y && from < s.count && !bd_interrupted(); from = to) {
        to = group_end(&s, rows, from);
        if (is_double) {
            softmax_f64(bd_tensor_f64(y) + from, s.values->data, rows + from, to - from);
        } else {
            softmax_f32(bd_tensor_f32(y) + from, s.values->data, rows + from, to - from);
        }
    }
    bd_free(rows);
}

// (grad - sum(grad * softmax)) * softmax, the sum over each row.
static void softmax_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out indices = braid_op_get_input(c->op, 0), shape = braid_op_get_input(c->op, 2), y = {c->op, 0};
    braid_op_desc *d = braid_op_begin(g, "SparseReduceSum", NULL);
    braid_op_input(d, indices);
    braid_op_input(d, bd_grad_mul(g, y, c->output_grads[0]));
    braid_op_input(d, shape);
    braid_op_input(d, bd_b_const_i32_vector(g, "SparseReduceSum/reduction_axes", (int32_t[]){-1}, 1));
    braid_op_attr_bool(d, "keep_dims", true);
    braid_out sums = bd_b1(g, "Neg", NULL, braid_op_end_out(d));
    d = braid_op_begin(g, "SparseDenseCwiseAdd", NULL);
    braid_op_input(d, indices);
    braid_op_input(d, c->output_grads[0]);
    braid_op_input(d, shape);
    braid_op_input(d, sums);
    c->input_grads[1] = bd_grad_mul(g, braid_op_end_out(d), y);
}

BD_OP(SparseSoftmax) = {
    .signature = "(sp_indices: int64, sp_values: T, sp_shape: int64) -> (output: T)",
    .attrs = "T:type{double,float}",
    .shape = softmax_shape,
    .gradient = softmax_gradient,
    .kernels = BD_KERNELS({.types = "T=float|double", .flags = BD_KERNEL_EXPENSIVE, .run = softmax_run}),
    .doc = "The softmax of each row of a sparse tensor: of its entries, as if there were no others.",
};

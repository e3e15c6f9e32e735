// SparseSlice and SparseSliceGrad: a block of a sparse tensor.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/sparse/sparse.h"

#include <string.h>

static braid_code slice_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    int64_t rank = bd_shape_is_known(&c->inputs[2]) ? bd_shape_count(&c->inputs[2]) : -1;
    bd_shape_ctx_sparse_outputs(c, 0, -1, rank);
    c->outputs[2] = c->inputs[2];
    return BRAID_OK;
}

// Where the block begins, how large it was asked to be, and how much of that lies within the tensor.
typedef struct block {
    int64_t start[BRAID_RANK_MAX], size[BRAID_RANK_MAX];
    braid_shape shape;
} block;

static bool read_block(bd_op_ctx *c, const braid_shape *of, block *b)
{
    int rank = of->rank;
    if (!bd_input_ints(c, 3, "start", rank, b->start) || !bd_input_ints(c, 4, "size", rank, b->size))
        return false;
    b->shape = *of;
    for (int d = 0; d < rank; d++) {
        int64_t whole = of->dims[d], start = b->start[d], size = b->size[d];
        if (size < 0) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "size[%d] = %lld must be >= 0", d, (long long)size);
            return false;
        }
        if (start > whole) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "start[%d] = %lld is behind the end, of size %lld", d,
                       (long long)start, (long long)whole);
            return false;
        }
        b->shape.dims[d] = start < whole - size ? size : whole - start;
    }
    return true;
}

static bool is_inside(const block *b, const int64_t *index)
{
    for (int d = 0; d < b->shape.rank; d++)
        if (index[d] < b->start[d] || (uint64_t)index[d] - (uint64_t)b->start[d] >= (uint64_t)b->size[d])
            return false;
    return true;
}

static void slice_run(bd_op_ctx *c)
{
    BD_SPARSE(s);
    block b;
    if (!bd_sparse_input(c, 0, 1, 2, &s) || !read_block(c, &s.shape, &b)) return;
    int64_t *rows = bd_sparse_numbers(c, s.count), count = 0;
    for (int64_t i = 0; rows && i < s.count && !bd_interrupted_at(i); i++)
        if (is_inside(&b, bd_sparse_row(&s, i))) rows[count++] = i;
    if (rows && bd_output_sparse_rows(c, 0, 1, &s, rows, count) && bd_output_sparse_shape(c, 2, &b.shape)) {
        int64_t *at = bd_tensor_i64(&c->outputs[0].tensor);
        for (int64_t i = 0; i < count; i++)
            for (int d = 0; d < b.shape.rank; d++)
                *at++ -= b.start[d];
    }
    bd_free(rows);
}

static void slice_gradient(bd_grad_ctx *c)
{
    braid_op_desc *d = braid_op_begin(c->graph, "SparseSliceGrad", NULL);
    braid_op_input(d, c->output_grads[1]);
    braid_op_input(d, braid_op_get_input(c->op, 0));
    braid_op_input(d, braid_op_get_input(c->op, 3));
    braid_op_input(d, (braid_out){c->op, 0});
    c->input_grads[1] = braid_op_end_out(d);
}

BD_OP(SparseSlice) = {
    .signature = "(indices: int64, values: T, shape: int64, start: int64, size: int64) -> (output_indices: "
                 "int64, output_values: T, output_shape: int64)",
    .attrs = "T:type",
    .shape = slice_shape,
    .gradient = slice_gradient,
    .kernels = BD_KERNELS({.run = slice_run}),
    .doc = "The entries of a sparse tensor within a block of it, their indices counted from `start`; what "
           "of the block is outside the tensor is left out.",
};

// ---- SparseSliceGrad ----

static braid_code slice_grad_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = bd_shape1(bd_shape_dim(&c->inputs[1], 0));
    return bd_shape_ctx_rank(c, 1, 2, st);
}

typedef struct slice_grad {
    const braid_tensor *grad, *start;
    const bd_sparse *input, *output; // indices alone
} slice_grad;

static bool slice_grad_check(bd_op_ctx *c, const slice_grad *s)
{
    char text[BD_SHAPE_STR_MAX];
    int rank = s->input->shape.rank;
    if (s->grad->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input backprop_val_grad should be a vector but received shape: %s",
                   bd_shape_str(&s->grad->shape, text));
    } else if (rank != s->output->shape.rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "The input and output should have the same ndims: got: %d and %d", rank,
                   s->output->shape.rank);
    } else if (s->output->count > s->input->count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "# rows of output_indices should be not greater than of input_indices, got %lld and %lld",
                   (long long)s->output->count, (long long)s->input->count);
    } else if (s->grad->shape.dims[0] != s->output->count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "# elements of backprop_val_grad and rows of output_indices should match (#nnz of sum): "
                   "got %lld and %lld",
                   (long long)s->grad->shape.dims[0], (long long)s->output->count);
    } else if (s->start->shape.rank != 1 || s->start->shape.dims[0] != rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "The input_start should be a vector of %d elements, but received shape: %s", rank,
                   bd_shape_str(&s->start->shape, text));
    }
    return !bd_op_failed(c);
}

static bool is_same(const slice_grad *s, int64_t i, int64_t j)
{
    const int64_t *input = bd_sparse_row(s->input, i), *output = bd_sparse_row(s->output, j);
    for (int d = 0; d < s->input->shape.rank; d++)
        if ((uint64_t)input[d] != (uint64_t)output[d] + (uint64_t)bd_tensor_i64(s->start)[d]) return false;
    return true;
}

// The entries of the block are in the order of the whole's: each gradient belongs to the next equal entry.
static void slice_grad_spread(bd_op_ctx *c, const slice_grad *s)
{
    braid_tensor *y = bd_output_sparse_values(c, 0, s->grad->dtype, s->input->count);
    if (!y) return;
    if (s->input->count > 0) memset(y->data, 0, (size_t)s->input->count * braid_dtype_size(y->dtype));
    int64_t j = 0;
    for (int64_t i = 0; i < s->input->count && j < s->output->count && !bd_interrupted_at(i); i++)
        if (is_same(s, i, j)) bd_elements_copy(y, i, s->grad, j++, 1);
    if (j < s->output->count)
        bd_op_fail(c, BRAID_INTERNAL,
                   "Elements of backprop_val_grad aren't all propagated. Num elements: %lld, used: %lld",
                   (long long)s->output->count, (long long)j);
}

static void slice_grad_run(bd_op_ctx *c)
{
    BD_SPARSE(input);
    BD_SPARSE(output);
    slice_grad s = {.grad = bd_input(c, 0), .start = bd_input(c, 2), .input = &input, .output = &output};
    if (bd_sparse_input_indices(c, 1, &input) && bd_sparse_input_indices(c, 3, &output) &&
        slice_grad_check(c, &s))
        slice_grad_spread(c, &s);
}

BD_OP(SparseSliceGrad) = {
    .signature = "(backprop_val_grad: T, input_indices: int64, input_start: int64, output_indices: int64) -> "
                 "(val_grad: T)",
    .attrs = "T:type{number}",
    .shape = slice_grad_shape,
    .kernels = BD_KERNELS({.run = slice_grad_run}),
    .doc = "The gradient of SparseSlice: that of each entry of the block at its place in the whole, else 0.",
};

// RaggedGather: rows of a ragged tensor, picked by indices.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/grad_steps.h"
#include "ops/ragged/ragged.h"

#include <string.h>

static braid_code gather_shape(bd_shape_ctx *c, braid_status *st)
{
    int n = c->input_count - 2, splits = c->output_count - 1;
    const braid_shape *values = &c->inputs[n];
    braid_code code = bd_shape_ctx_rank(c, n + 1, splits - n + 1, st);
    for (int i = 0; i < n && !code; i++)
        code = bd_shape_ctx_rank(c, i, 1, st);
    if (code) return code;
    if (values->rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    for (int i = 0; i < splits; i++)
        c->outputs[i] = bd_shape1(-1);
    c->outputs[splits] = *values;
    if (values->rank > 0) c->outputs[splits].dims[0] = -1;
    return BRAID_OK;
}

typedef struct gathering {
    const bd_splits *params;
    const int64_t *indices; // [count], each a row of the outermost dimension
    int64_t count;
    int outer; // dimensions of the indices; of a scalar 0: it gives the content of a row
    int64_t rows[2 * BRAID_RANK_MAX]; // of each output splits
    int64_t values;                   // rows of the output values
} gathering;

// The rows that one picked row has in each dimension: [start, limit) of dimension `dim` become that of the
// next one.
static void go_in(const bd_splits *s, int dim, int64_t *start, int64_t *limit)
{
    *start = s->of[dim][*start];
    *limit = s->of[dim][*limit];
}

// How long each output will be. False: the kernel has failed.
static bool measure(bd_op_ctx *c, gathering *g)
{
    bool fits = true;
    for (int64_t i = 0; i < g->count && !bd_interrupted_at(i); i++) {
        int64_t start = g->indices[i], limit = start + 1;
        for (int d = 0; d < g->params->count; d++) {
            int out = d + g->outer - 1;
            if (out >= 0) fits = !__builtin_add_overflow(g->rows[out], limit - start, &g->rows[out]) && fits;
            go_in(g->params, d, &start, &limit);
        }
        fits = !__builtin_add_overflow(g->values, limit - start, &g->values) && fits;
        if (fits) continue;
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "the rows gathered have more values than can be counted");
        return false;
    }
    return !bd_op_interrupted(c);
}

// Output splits of the dimensions of `indices` but the last: rows of one length.
static bool output_even_splits(bd_op_ctx *c, const braid_shape *indices)
{
    int64_t rows = 1;
    for (int d = 0; d < indices->rank - 1; d++) {
        rows *= indices->dims[d];
        int64_t *splits = bd_sparse_numbers(c, rows + 1);
        for (int64_t i = 1; splits && i <= rows; i++)
            splits[i] = i * indices->dims[d + 1];
        bool ok = splits && bd_output_splits(c, d, splits, rows + 1);
        bd_free(splits);
        if (!ok) return false;
    }
    return true;
}

// Outputs the splits of dimension `dim` of the picked rows, from their lengths.
static bool output_picked_splits(bd_op_ctx *c, const gathering *g, int dim)
{
    int out = dim + g->outer - 1;
    if (out < 0) return true;
    int64_t *splits = bd_sparse_numbers(c, g->rows[out] + 1), at = 0;
    for (int64_t i = 0; splits && i < g->count && !bd_interrupted_at(i); i++) {
        int64_t start = g->indices[i], limit = start + 1;
        for (int d = 0; d < dim; d++)
            go_in(g->params, d, &start, &limit);
        const int64_t *own = g->params->of[dim];
        for (int64_t j = start; j < limit; j++, at++)
            splits[at + 1] = splits[at] + own[j + 1] - own[j];
    }
    bool ok = splits && bd_output_splits(c, out, splits, g->rows[out] + 1);
    bd_free(splits);
    return ok;
}

static void output_values(bd_op_ctx *c, const gathering *g, const braid_tensor *values)
{
    braid_shape shape = values->shape;
    shape.dims[0] = g->values;
    braid_tensor *y =
        bd_sparse_check_size(c, &shape) ? bd_output(c, c->output_count - 1, values->dtype, &shape) : NULL;
    int64_t size = bd_shape_count_range(&shape, 1, shape.rank), at = 0;
    for (int64_t i = 0; y && i < g->count && !bd_interrupted_at(i); i++) {
        int64_t start = g->indices[i], limit = start + 1;
        for (int d = 0; d < g->params->count; d++)
            go_in(g->params, d, &start, &limit);
        bd_elements_copy(y, at * size, values, start * size, (limit - start) * size);
        at += limit - start;
    }
}

static bool read_indices(bd_op_ctx *c, const braid_tensor *t, int64_t rows, int64_t *indices)
{
    for (int64_t i = 0; i < bd_tensor_count(t) && !bd_interrupted_at(i); i++) {
        indices[i] = bd_tensor_index(t, i);
        if (indices[i] >= 0 && indices[i] < rows) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "indices[%lld] = %lld is not in [0, %lld)", (long long)i,
                   (long long)indices[i], (long long)rows);
        return false;
    }
    return !bd_op_interrupted(c);
}

static bool check_ranks(bd_op_ctx *c, const braid_tensor *values, const braid_tensor *indices, int n)
{
    if (values->shape.rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "params.rank must be nonzero");
    } else if (indices->shape.rank - 1 + n != c->output_count - 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "indices of rank %d give %d splits, but OUTPUT_RAGGED_RANK is %d", indices->shape.rank,
                   indices->shape.rank - 1 + n, c->output_count - 1);
    }
    return !bd_op_failed(c);
}

static void gather(bd_op_ctx *c, gathering *g, const braid_shape *indices, const braid_tensor *values)
{
    if (!measure(c, g) || !output_even_splits(c, indices)) return;
    for (int d = 0; d < g->params->count; d++)
        if (!output_picked_splits(c, g, d)) return;
    output_values(c, g, values);
}

static void gather_run(bd_op_ctx *c)
{
    int n = c->input_count - 2;
    const braid_tensor *values = bd_input(c, n), *indices = bd_input(c, n + 1);
    __attribute__((cleanup(bd_splits_fini))) bd_splits s = {0};
    if (!check_ranks(c, values, indices, n) || !bd_splits_input(c, n, values->shape.dims[0], false, &s))
        return;
    int64_t *rows = bd_sparse_numbers(c, bd_tensor_count(indices));
    gathering g = {
        .params = &s, .indices = rows, .count = bd_tensor_count(indices), .outer = indices->shape.rank};
    if (rows && read_indices(c, indices, s.len[0] - 1, rows)) gather(c, &g, &indices->shape, values);
    bd_free(rows);
}

// ---- Gradient ----

static braid_out gather_rows(braid_graph *g, braid_out params, braid_out rows)
{
    return bd_b3(g, "GatherV2", NULL, params, rows, bd_b_const_i32(g, "GatherV2/axis", 0));
}

// The values that each index took, as rows with a gradient: from the start to the end of a row of the
// outermost dimension.
static void gather_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    int n = c->op->input_count - 2;
    braid_out values = braid_op_get_input(c->op, n), splits = braid_op_get_input(c->op, 0);
    for (int i = 1; i < n; i++)
        splits = gather_rows(g, braid_op_get_input(c->op, i), splits);
    braid_out rows = bd_grad_flatten(g, braid_op_get_input(c->op, n + 1));
    braid_out ends = bd_grad_slice(g, splits, &(bd_grad_index){.count = 1, .begin = {1}, .end_mask = 1});
    braid_op_desc *d = braid_op_begin(g, "Cast", NULL);
    braid_op_input(d, bd_b_const_i32(g, "deltas", 1));
    braid_op_attr_type(d, "DstT", bd_dtype_base(braid_out_dtype(splits)));
    braid_out one = braid_op_end_out(d);
    braid_out places =
        bd_b3(g, "RaggedRange", NULL, gather_rows(g, splits, rows), gather_rows(g, ends, rows), one);
    places.index = 1;
    c->input_grads[n] = c->output_grads[c->op->output_count - 1];
    c->input_rows[n] = (bd_indexed_slices){places, bd_b_shape(g, "Shape", values)};
}

BD_OP(RaggedGather) = {
    .signature =
        "(params_nested_splits: PARAMS_RAGGED_RANK*Tsplits, params_dense_values: Tvalues, indices: "
        "Tindices) -> (output_nested_splits: OUTPUT_RAGGED_RANK*Tsplits, output_dense_values: Tvalues)",
    .attrs = "Tvalues:type; Tindices:type{int32,int64}; Tsplits:type{int32,int64}=int64; "
             "PARAMS_RAGGED_RANK:int>=1; OUTPUT_RAGGED_RANK:int>=0",
    .shape = gather_shape,
    .gradient = gather_gradient,
    .kernels = BD_KERNELS({.run = gather_run}),
    .doc =
        "The rows of a ragged tensor that indices pick, as a ragged tensor with the indices' dimensions first.",
};

// SparseConcat and SparseSplit: sparse tensors joined and cut along a dimension.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/sparse/sparse.h"

#include <string.h>

// ---- SparseConcat ----

static int64_t sum_known(int64_t a, int64_t b)
{
    int64_t sum;
    return a < 0 || b < 0 || __builtin_add_overflow(a, b, &sum) ? -1 : sum;
}

static braid_code concat_shape(bd_shape_ctx *c, braid_status *st)
{
    int n = c->input_count / 3;
    int64_t rows = 0, columns = -1;
    c->outputs[2] = BD_SHAPE_UNKNOWN;
    for (int i = 0; i < n; i++) {
        int64_t rank;
        braid_code code = bd_shape_ctx_sparse(c, i, n + i, 2 * n + i, st);
        if (code) return code;
        int64_t own = bd_shape_dim(&c->inputs[i], 0), values = bd_shape_dim(&c->inputs[n + i], 0);
        if (own >= 0 && values >= 0 && own != values)
            return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld", (long long)own,
                                     (long long)values);
        rows = sum_known(rows, own < 0 ? values : own);
        rank = bd_shape_dim(&c->inputs[i], 1);
        if (rank >= 0 && columns >= 0 && rank != columns)
            return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                                     (long long)columns, (long long)rank);
        if (rank >= 0) columns = rank;
        braid_shape merged;
        if (!bd_shape_merge(&c->outputs[2], &c->inputs[2 * n + i], &merged))
            return bd_shape_ctx_fail(c, st, "the shapes have different lengths");
        c->outputs[2] = merged;
    }
    c->outputs[0] = bd_shape2(rows, columns);
    c->outputs[1] = bd_shape1(rows);
    return BRAID_OK;
}

// Computes the shape of the result. Returns false when the kernel has failed.
static bool join_shapes(bd_op_ctx *c, int n, int64_t *dim, braid_shape *out)
{
    if (!bd_sparse_input_shape(c, 2 * n, out)) return false;
    int64_t asked = *dim;
    if (asked < -out->rank || asked >= out->rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Concat dimension must be in range [%d, %d), got %lld",
                   -out->rank, out->rank, (long long)asked);
        return false;
    }
    if (asked < 0) *dim += out->rank;
    for (int i = 1; i < n; i++) {
        braid_shape s;
        if (!bd_sparse_input_shape(c, 2 * n + i, &s)) return false;
        if (s.rank != out->rank) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Ranks of all input tensors must match: expected %d but got %d at position %d",
                       out->rank, s.rank, i);
            return false;
        }
        for (int d = 0; d < s.rank; d++) {
            if (d != *dim && s.dims[d] != out->dims[d]) {
                bd_op_fail(
                    c, BRAID_INVALID_ARGUMENT,
                    "Input shapes must match: expected %lld for dimension %d but got %lld at position %d",
                    (long long)out->dims[d], d, (long long)s.dims[d], i);
                return false;
            }
        }
        if (__builtin_add_overflow(out->dims[*dim], s.dims[*dim], &out->dims[*dim])) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "the sizes of dimension %lld add up to more than int64 holds", (long long)*dim);
            return false;
        }
    }
    return true;
}

// Appends the entries of an input to `all`; `*at` is the next free place.
static bool append(bd_op_ctx *c, int i, int n, int64_t dim, int64_t offset, const bd_sparse *all,
                   braid_tensor *values, int64_t *at)
{
    BD_SPARSE(s);
    if (!bd_sparse_input(c, i, n + i, 2 * n + i, &s)) return false;
    int rank = all->shape.rank;
    int64_t *to = bd_tensor_i64(&all->indices) + *at * rank;
    if (s.count > 0) memcpy(to, s.at, (size_t)(s.count * rank) * sizeof *to);
    for (int64_t k = 0; k < s.count && !bd_interrupted_at(k); k++)
        to[k * rank + dim] = (int64_t)((uint64_t)to[k * rank + dim] + (uint64_t)offset);
    bd_elements_copy(values, *at, s.values, 0, s.count);
    *at += s.count;
    return true;
}

static bool gather_inputs(bd_op_ctx *c, int n, int64_t dim, bd_sparse *all, braid_tensor *values)
{
    int64_t at = 0, offset = 0;
    for (int i = 0; i < n; i++) {
        if (!append(c, i, n, dim, offset, all, values, &at)) return false;
        offset += bd_tensor_index(bd_input(c, 2 * n + i), dim);
    }
    return true;
}

static bool alloc_joined(bd_op_ctx *c, int n, bd_sparse *all, braid_tensor *values)
{
    for (int i = 0; i < n; i++)
        all->count += bd_shape_dim(&bd_input(c, i)->shape, 0) > 0 ? bd_input(c, i)->shape.dims[0] : 0;
    braid_shape matrix = bd_shape2(all->count, all->shape.rank), vector = bd_shape1(all->count);
    if (bd_tensor_alloc(&all->indices, BRAID_INT64, &matrix) &&
        bd_tensor_alloc(values, bd_input(c, n)->dtype, &vector)) {
        all->at = bd_tensor_i64(&all->indices);
        all->values = values;
        return true;
    }
    bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when joining %lld entries of sparse tensors",
               (long long)all->count);
    return false;
}

// Sorts the gathered entries and outputs them.
static void output_in_order(bd_op_ctx *c, const bd_sparse *all)
{
    if (!bd_output_sparse_shape(c, 2, &all->shape)) return;
    if (bd_sparse_is_ordered(all)) {
        bd_output_set(c, 0, &all->indices);
        bd_output_set(c, 1, all->values);
        return;
    }
    int64_t *order = bd_sparse_order(c, all, NULL);
    if (order) bd_output_sparse_rows(c, 0, 1, all, order, all->count);
    bd_free(order);
}

static void concat_run(bd_op_ctx *c)
{
    int n = c->input_count / 3;
    int64_t dim = bd_node_attr_int(c->node, "concat_dim");
    BD_SPARSE(all);
    braid_tensor values = {0};
    if (join_shapes(c, n, &dim, &all.shape) && alloc_joined(c, n, &all, &values) &&
        gather_inputs(c, n, dim, &all, &values))
        output_in_order(c, &all);
    bd_tensor_fini(&values);
}

BD_OP(SparseConcat) = {
    .signature = "(indices: N*int64, values: N*T, shapes: N*int64) -> (output_indices: int64, "
                 "output_values: T, output_shape: int64)",
    .attrs = "concat_dim:int; N:int>=2; T:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = concat_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = concat_run}),
    .doc = "Sparse tensors joined along a dimension, their entries in row-major order.",
};

// ---- SparseSplit ----

static braid_code split_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    int n = c->output_count / 3;
    int64_t rank = bd_shape_is_known(&c->inputs[3]) ? bd_shape_count(&c->inputs[3]) : -1;
    for (int i = 0; i < n; i++) {
        c->outputs[i] = bd_shape2(-1, rank);
        c->outputs[n + i] = bd_shape1(-1);
        c->outputs[2 * n + i] = c->inputs[3];
    }
    return BRAID_OK;
}

// Every entry must be within one of the pieces.
static bool check_split_dim(bd_op_ctx *c, const bd_sparse *s, int64_t dim)
{
    for (int64_t i = 0; i < s->count && !bd_interrupted_at(i); i++) {
        int64_t index = bd_sparse_row(s, i)[dim];
        if (index >= 0 && index < s->shape.dims[dim]) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "indices[%lld,%lld] = %lld is out of bounds: need 0 <= index < %lld", (long long)i,
                   (long long)dim, (long long)index, (long long)s->shape.dims[dim]);
        return false;
    }
    return !bd_op_interrupted(c);
}

// The pieces of a dimension: the first `longer` pieces have one element more than the others.
typedef struct pieces {
    int64_t dim, count, size, longer;
} pieces;

static int64_t piece_begin(const pieces *p, int64_t i)
{
    return i * p->size + (i < p->longer ? i : p->longer);
}

static int64_t piece_of(const pieces *p, int64_t index)
{
    int64_t in_longer = p->longer * (p->size + 1);
    return index < in_longer ? index / (p->size + 1) : p->longer + (index - in_longer) / p->size;
}

static bool read_pieces(bd_op_ctx *c, const bd_sparse *s, pieces *p)
{
    const braid_shape *axis = &bd_input(c, 0)->shape;
    if (axis->rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input axis should be a scalar but received shape %s",
                   bd_shape_str(axis, (char[BD_SHAPE_STR_MAX]){0}));
        return false;
    }
    p->dim = bd_tensor_index(bd_input(c, 0), 0);
    if (p->dim < 0 || p->dim >= s->shape.rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input split_dim should be between 0 and rank (%d), got %lld",
                   s->shape.rank, (long long)p->dim);
        return false;
    }
    p->count = bd_node_attr_int(c->node, "num_split");
    int64_t size = s->shape.dims[p->dim];
    if (p->count > size) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input num_split should be between 1 and the splitting dimension size (%lld), got %lld",
                   (long long)size, (long long)p->count);
        return false;
    }
    p->size = size / p->count;
    p->longer = size % p->count;
    return true;
}

// Makes the outputs of piece `i` of the entries `rows`.
static bool output_piece(bd_op_ctx *c, const bd_sparse *s, const pieces *p, int i, const int64_t *rows,
                         int64_t count)
{
    int n = (int)p->count;
    braid_shape shape = s->shape;
    shape.dims[p->dim] = piece_begin(p, i + 1) - piece_begin(p, i);
    if (!bd_output_sparse_rows(c, i, n + i, s, rows, count) || !bd_output_sparse_shape(c, 2 * n + i, &shape))
        return false;
    int64_t *at = bd_tensor_i64(&c->outputs[i].tensor);
    for (int64_t k = 0; k < count && !bd_interrupted_at(k); k++)
        at[k * shape.rank + p->dim] -= piece_begin(p, i);
    return true;
}

// Sorts the entries by piece, keeping their order within each: `ends` are counted, then added up.
static void sort_by_piece(const bd_sparse *s, const pieces *p, int64_t *ends, int64_t *rows)
{
    for (int64_t k = 0; k < s->count && !bd_interrupted_at(k); k++)
        ends[piece_of(p, bd_sparse_row(s, k)[p->dim])]++;
    for (int64_t i = 1; i < p->count; i++)
        ends[i] += ends[i - 1];
    if (bd_interrupted()) return; // not all are counted
    for (int64_t k = s->count; k > 0 && !bd_interrupted_at(k); k--)
        rows[--ends[piece_of(p, bd_sparse_row(s, k - 1)[p->dim])]] = k - 1;
    // Each is now where its piece begins.
}

static void split_run(bd_op_ctx *c)
{
    BD_SPARSE(s);
    pieces p;
    if (!bd_sparse_input(c, 1, 2, 3, &s) || !read_pieces(c, &s, &p) || !check_split_dim(c, &s, p.dim)) return;
    int64_t *begins = bd_sparse_numbers(c, p.count + 1), *rows = bd_sparse_numbers(c, s.count);
    if (begins && rows) {
        sort_by_piece(&s, &p, begins, rows);
        begins[p.count] = s.count;
        for (int i = 0; i < p.count; i++)
            if (!output_piece(c, &s, &p, i, rows + begins[i], begins[i + 1] - begins[i])) break;
    }
    bd_free(begins);
    bd_free(rows);
}

BD_OP(SparseSplit) = {
    .signature = "(split_dim: int64, indices: int64, values: T, shape: int64) -> (output_indices: "
                 "num_split*int64, output_values: num_split*T, output_shape: num_split*int64)",
    .attrs = "num_split:int>=1; T:type",
    .shape = split_shape,
    .kernels = BD_KERNELS({.run = split_run}),
    .doc = "A sparse tensor cut into num_split pieces along a dimension; the first ones are longer by one "
           "where the size is not divided evenly.",
    .deviation = "An index out of bounds of the dimension that is cut is an error.",
};

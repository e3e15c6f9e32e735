// DenseToSparseBatchDataset: batches of tensors of different sizes, as sparse tensors: a vector of three
// variants, which are indices, values and shape.
#include "base/alloc.h"
#include "base/array.h"
#include "ops/common/element.h"
#include "ops/common/tensor_variant.h"
#include "ops/dataset/batch.h"
#include <string.h>

typedef struct sparse_dataset {
    bd_dataset base;
    int64_t size;
    braid_shape row; // -1: the largest of the batch
} sparse_dataset;

typedef struct sparse_iterator {
    bd_iterator base;
    BD_ARRAY(braid_tensor) rows;
} sparse_iterator;

static sparse_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, sparse_dataset, base);
}

static sparse_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, sparse_iterator, base);
}

static int64_t cardinality(const bd_dataset *d)
{
    int64_t n = bd_cardinality_of_input(d), size = dataset_of(d)->size;
    return n < 0 ? n : n / size + (n % size != 0);
}

static braid_code check_row(const sparse_dataset *d, const braid_tensor *t, braid_status *st)
{
    char got[BD_SHAPE_STR_MAX], want[BD_SHAPE_STR_MAX];
    bd_shape_str(&t->shape, got);
    bd_shape_str(&d->row, want);
    if (t->shape.rank != d->row.rank)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Input element had shape (%s) that is incompatible with the row shape (%s).", got,
                       want);
    for (int i = 0; i < d->row.rank; i++)
        if (d->row.dims[i] >= 0 && t->shape.dims[i] > d->row.dims[i])
            return bd_fail(st, BRAID_DATA_LOSS,
                           "Input element had shape (%s) that is larger than the row shape (%s).", got, want);
    return BRAID_OK;
}

static void drop_rows(sparse_iterator *s)
{
    bd_tensors_fini(s->rows.items, (int)s->rows.len);
    s->rows.len = 0;
}

// The entries of a row, from entry `at` on.
static void put_entries(const braid_tensor *row, int64_t number, int64_t at, braid_tensor *indices,
                        braid_tensor *values)
{
    int rank = row->shape.rank;
    int64_t strides[BRAID_RANK_MAX];
    bd_row_strides(&row->shape, strides);
    for (int64_t i = 0; i < bd_tensor_count(row); i++) {
        int64_t *index = bd_tensor_i64(indices) + (at + i) * (rank + 1), left = i;
        index[0] = number;
        for (int k = 0; k < rank; k++) {
            index[k + 1] = left / strides[k];
            left %= strides[k];
        }
    }
    bd_elements_copy(values, at, row, 0, bd_tensor_count(row));
}

static bool make_sparse(bd_iterator *it, braid_tensor parts[3])
{
    const sparse_dataset *d = dataset_of(it->dataset);
    const sparse_iterator *s = iterator_of(it);
    int rank = d->row.rank;
    int64_t total = 0, at = 0, rows = (int64_t)s->rows.len;
    for (int64_t i = 0; i < rows; i++)
        total += bd_tensor_count(&s->rows.items[i]);
    braid_shape indices = bd_shape2(total, rank + 1), values = bd_shape1(total), shape = bd_shape1(rank + 1);
    if (!bd_tensor_alloc(&parts[0], BRAID_INT64, &indices) ||
        !bd_tensor_alloc(&parts[1], it->dataset->inputs[0]->types[0], &values) ||
        !bd_tensor_alloc(&parts[2], BRAID_INT64, &shape))
        return false;
    int64_t *dims = bd_tensor_i64(&parts[2]);
    dims[0] = rows;
    for (int k = 0; k < rank; k++)
        dims[k + 1] = d->row.dims[k] < 0 ? 0 : d->row.dims[k];
    for (int64_t i = 0; i < rows; i++) {
        const braid_tensor *row = &s->rows.items[i];
        for (int k = 0; k < rank; k++)
            if (row->shape.dims[k] > dims[k + 1]) dims[k + 1] = row->shape.dims[k];
        put_entries(row, i, at, &parts[0], &parts[1]);
        at += bd_tensor_count(row);
    }
    return true;
}

static bd_turn give_batch(bd_iterator *it)
{
    braid_tensor parts[3] = {{0}};
    braid_shape three = bd_shape1(3);
    braid_tensor *out = &it->answer.tensors[0];
    bool ok = make_sparse(it, parts) && bd_tensor_alloc(out, BRAID_VARIANT, &three);
    for (int i = 0; i < 3 && ok; i++)
        ok = bd_tensor_variant_put(out, i, &parts[i]);
    bd_tensors_fini(parts, 3);
    drop_rows(iterator_of(it));
    return ok ? bd_give(it) : bd_give_out_of_memory(it);
}

static bd_turn sparse_next(bd_iterator *it)
{
    return bd_pull(it, it->input);
}

static bd_turn sparse_received(bd_iterator *it, bd_iterator *from)
{
    BD_STATUS(st);
    sparse_iterator *s = iterator_of(it);
    const sparse_dataset *d = dataset_of(it->dataset);
    if (from->answer.kind == BD_ANSWER_END && s->rows.len > 0) return give_batch(it);
    if (from->answer.kind == BD_ANSWER_ELEMENT && check_row(d, &from->answer.tensors[0], st)) {
        bd_answer_drop(from);
        drop_rows(s);
        return bd_give_error(it, st);
    }
    if (from->answer.kind != BD_ANSWER_ELEMENT) {
        drop_rows(s);
        return bd_pass(it, from);
    }
    bd_array_reserve(&s->rows, s->rows.len + 1);
    bd_answer_take(from, &s->rows.items[s->rows.len++]);
    return (int64_t)s->rows.len == d->size ? give_batch(it) : bd_pull(it, from);
}

static void sparse_close(bd_iterator *it)
{
    drop_rows(iterator_of(it));
    bd_array_free(&iterator_of(it)->rows);
}

static const bd_dataset_kind sparse_kind = {
    .name = "DenseToSparseBatch",
    .dataset_size = sizeof(sparse_dataset),
    .iterator_size = sizeof(sparse_iterator),
    .opens_input = true,
    .cardinality = cardinality,
    .next = sparse_next,
    .received = sparse_received,
    .close = sparse_close,
};

static bool read_row_shape(bd_op_ctx *c, braid_shape *row)
{
    const braid_tensor *t = bd_input(c, 2);
    if (t->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "row_shape must be a vector");
        return false;
    }
    row->rank = (int)bd_min(t->shape.dims[0], BRAID_RANK_MAX);
    if (t->shape.dims[0] >= BRAID_RANK_MAX)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "row_shape has %lld dimensions: too many for a batch",
                   (long long)t->shape.dims[0]);
    for (int i = 0; i < row->rank && !bd_op_failed(c); i++) {
        row->dims[i] = bd_tensor_i64(t)[i];
        if (row->dims[i] < -1)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Dimension %lld must be >= -1", (long long)row->dims[i]);
    }
    return !bd_op_failed(c);
}

static void sparse_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    static const braid_dtype type = BRAID_VARIANT;
    int64_t size;
    braid_shape row = {0};
    bd_dataset *input = bd_input_dataset(c, 0), *d;
    if (!input) return;
    if (input->count != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "DenseToSparseBatchDataset only supports inputs with a single component.");
        return;
    }
    if (!bd_input_scalar_int(c, 1, "batch_size", &size)) return;
    if (size <= 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Batch size must be greater than zero.");
        return;
    }
    if (!read_row_shape(c, &row)) return;
    braid_shape shape = bd_batch_shape(&row, -1);
    if (bd_dataset_new(&sparse_kind, (bd_components){1, &type, &shape}, &input, 1, &d, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    dataset_of(d)->size = size;
    dataset_of(d)->row = row;
    bd_output_dataset(c, d);
}

static braid_code sparse_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 1, 0, st);
    if (!code) code = bd_shape_ctx_rank(c, 2, 1, st);
    return code ? code : bd_shape_fn_scalar(c, st);
}

#define SPARSE_OP                                                                                            \
    {                                                                                                        \
        .signature = "(input_dataset: variant, batch_size: int64, row_shape: int64) -> (handle: variant)",   \
        .attrs = BD_DATASET_ATTRS, .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = sparse_shape,                 \
        .kernels = BD_KERNELS({.run = sparse_run}),                                                          \
        .doc = "Batches of tensors of up to `row_shape` as sparse tensors."                                  \
    }

BD_OP(DenseToSparseBatchDataset) = SPARSE_OP;
BD_OP(ExperimentalDenseToSparseBatchDataset) = SPARSE_OP;

// Batches made anew: RebatchDataset divides each batch among replicas, RebatchDatasetV2 makes batches of
// given sizes.
#include "base/alloc.h"
#include "base/array.h"
#include "ops/common/element.h"
#include "ops/dataset/dataset.h"

typedef struct rebatch_dataset {
    bd_dataset base;
    int64_t replicas;   // of RebatchDataset
    int64_t *sizes;     // of RebatchDatasetV2: [size_count], taken in turn
    int64_t size_count; // at least 1
    bool drop_remainder;
} rebatch_dataset;

typedef struct rebatch_iterator {
    bd_iterator base;
    braid_tensor *batch;           // [base.dataset->count], owned; "no tensor" before the first
    int64_t part;                  // of RebatchDataset: parts of the batch that were given
    int64_t at, count;             // of RebatchDatasetV2: rows that were taken, and in the batch
    int64_t turn;                  // the index of the next size
    int64_t gathered;              // rows in `pieces`
    BD_ARRAY(braid_tensor) pieces; // of base.dataset->count components each
} rebatch_iterator;

static rebatch_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, rebatch_dataset, base);
}

static rebatch_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, rebatch_iterator, base);
}

static void destroy(bd_dataset *d)
{
    bd_free(dataset_of(d)->sizes);
}

static braid_code rebatch_open(bd_iterator *it, braid_status *st)
{
    (void)st;
    iterator_of(it)->batch = bd_calloc((size_t)it->dataset->count, sizeof(braid_tensor));
    return BRAID_OK;
}

static void drop_pieces(rebatch_iterator *r)
{
    bd_tensors_fini(r->pieces.items, (int)r->pieces.len);
    r->pieces.len = 0;
    r->gathered = 0;
}

static void rebatch_close(bd_iterator *it)
{
    rebatch_iterator *r = iterator_of(it);
    drop_pieces(r);
    bd_array_free(&r->pieces);
    if (r->batch) bd_tensors_fini(r->batch, it->dataset->count);
    bd_free(r->batch);
}

static void take_batch(bd_iterator *it, bd_iterator *from)
{
    rebatch_iterator *r = iterator_of(it);
    bd_tensors_fini(r->batch, it->dataset->count);
    bd_answer_take(from, r->batch);
}

// Rows [at, at + rows) of a batch, without a copy.
static void view_rows(braid_tensor *view, const braid_tensor *batch, int64_t at, int64_t rows)
{
    braid_shape shape = batch->shape;
    int64_t size = bd_shape_count_range(&shape, 1, shape.rank);
    shape.dims[0] = rows;
    bd_tensor_view(view, batch, rows > 0 ? at * size : 0, &shape);
}

// ---- RebatchDataset: components may have different numbers of rows; the last parts are empty when there are
// too few ----

static bd_turn give_part(bd_iterator *it)
{
    rebatch_iterator *r = iterator_of(it);
    int64_t replicas = dataset_of(it->dataset)->replicas;
    for (int i = 0; i < it->dataset->count; i++) {
        int64_t count = r->batch[i].shape.dims[0], rows = count / replicas + (count % replicas != 0), at;
        if (__builtin_mul_overflow(rows, r->part, &at) || at > count) at = count;
        view_rows(&it->answer.tensors[i], &r->batch[i], at, bd_min(rows, count - at));
    }
    r->part = (r->part + 1) % replicas;
    return bd_give(it);
}

static bd_turn parts_next(bd_iterator *it)
{
    return iterator_of(it)->part > 0 ? give_part(it) : bd_pull(it, it->input);
}

static bd_turn parts_received(bd_iterator *it, bd_iterator *from)
{
    if (from->answer.kind != BD_ANSWER_ELEMENT) return bd_pass(it, from);
    take_batch(it, from);
    for (int i = 0; i < it->dataset->count; i++) {
        if (iterator_of(it)->batch[i].shape.rank > 0) continue;
        return bd_give_failure(
            it, BRAID_INVALID_ARGUMENT,
            "Cannot rebatch dataset: All components must have at least one dimension. Perhaps your input "
            "dataset is not batched? Component %d is scalar.",
            i);
    }
    return give_part(it);
}

static const bd_dataset_kind parts_kind = {
    .name = "Rebatch",
    .dataset_size = sizeof(rebatch_dataset),
    .iterator_size = sizeof(rebatch_iterator),
    .opens_input = true,
    .open = rebatch_open,
    .next = parts_next,
    .received = parts_received,
    .close = rebatch_close,
};

// Makes a dataset whose batches have other numbers of rows than the input's.
static bd_dataset *new_dataset(bd_op_ctx *c, const bd_dataset_kind *kind)
{
    bd_dataset *d = bd_dataset_over_input(c, kind);
    for (int i = 0; d && i < d->count; i++)
        if (d->shapes[i].rank > 0) d->shapes[i].dims[0] = -1;
    return d;
}

static void parts_run(bd_op_ctx *c)
{
    int64_t replicas;
    if (!bd_input_scalar_int(c, 1, "num_replicas", &replicas)) return;
    if (replicas <= 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_replicas must be greater than zero.");
        return;
    }
    bd_dataset *d = new_dataset(c, &parts_kind);
    if (!d) return;
    dataset_of(d)->replicas = replicas;
    bd_output_dataset(c, d);
}

#define REBATCH_OP                                                                                           \
    {                                                                                                        \
        .signature = "(input_dataset: variant, num_replicas: int64) -> (handle: variant)",                   \
        .attrs = BD_DATASET_ATTRS "; use_fallback:bool=true", .flags = BD_OP_NOT_DIFFERENTIABLE,             \
        .shape = bd_shape_fn_scalar, .kernels = BD_KERNELS({.run = parts_run}),                              \
        .doc = "Each batch of a dataset in `num_replicas` parts, the last of them smaller, or empty."        \
    }

BD_OP(RebatchDataset) = REBATCH_OP;
BD_OP(ExperimentalRebatchDataset) = REBATCH_OP;

// ---- RebatchDatasetV2 ----

static int64_t size_now(bd_iterator *it)
{
    return dataset_of(it->dataset)->sizes[iterator_of(it)->turn];
}

// Moves rows of the batch at hand to `pieces`, as many as are wanted or there.
static void gather(bd_iterator *it)
{
    rebatch_iterator *r = iterator_of(it);
    int count = it->dataset->count;
    int64_t rows = bd_min(size_now(it) - r->gathered, r->count - r->at);
    if (rows == 0) return;
    bd_array_reserve(&r->pieces, r->pieces.len + (size_t)count);
    for (int i = 0; i < count; i++) {
        braid_tensor *piece = &r->pieces.items[r->pieces.len++];
        *piece = (braid_tensor){0};
        view_rows(piece, &r->batch[i], r->at, rows);
    }
    r->at += rows;
    r->gathered += rows;
}

// Component `i` of all pieces, one after the other.
static braid_code join_pieces(bd_iterator *it, int i, braid_status *st)
{
    rebatch_iterator *r = iterator_of(it);
    size_t count = (size_t)it->dataset->count;
    braid_tensor *out = &it->answer.tensors[i];
    const braid_tensor *first = &r->pieces.items[i];
    braid_shape shape = first->shape;
    shape.dims[0] = r->gathered;
    if (bd_tensor_init(out, first->dtype, &shape, st)) return st->code;
    int64_t at = 0;
    for (size_t k = (size_t)i; k < r->pieces.len; k += count) {
        const braid_tensor *piece = &r->pieces.items[k];
        shape.dims[0] = piece->shape.dims[0];
        if (piece->dtype != first->dtype || !bd_shape_equal(&piece->shape, &shape)) {
            char one[BD_SHAPE_STR_MAX], other[BD_SHAPE_STR_MAX];
            return bd_fail(
                st, BRAID_INVALID_ARGUMENT,
                "Cannot put rows of %s %s and of %s %s, component %d of two elements, into one batch",
                braid_dtype_name(first->dtype), bd_shape_str(&first->shape, one),
                braid_dtype_name(piece->dtype), bd_shape_str(&piece->shape, other), i);
        }
        bd_elements_copy(out, at, piece, 0, bd_tensor_count(piece));
        at += bd_tensor_count(piece);
    }
    return BRAID_OK;
}

static bd_turn give_pieces(bd_iterator *it)
{
    BD_STATUS(st);
    rebatch_iterator *r = iterator_of(it);
    int count = it->dataset->count;
    r->turn = (r->turn + 1) % dataset_of(it->dataset)->size_count;
    if (r->pieces.len == (size_t)count) {
        for (int i = 0; i < count; i++)
            bd_tensor_move(&it->answer.tensors[i], &r->pieces.items[i]);
    } else {
        for (int i = 0; i < count && !st->code; i++)
            join_pieces(it, i, st);
    }
    drop_pieces(r);
    if (!st->code) return bd_give(it);
    bd_tensors_fini(it->answer.tensors, count);
    return bd_give_error(it, st);
}

// A batch without rows: unknown dimensions of its shape are 0.
static bd_turn give_empty(bd_iterator *it)
{
    rebatch_iterator *r = iterator_of(it);
    r->turn = (r->turn + 1) % dataset_of(it->dataset)->size_count;
    for (int i = 0; i < it->dataset->count; i++) {
        braid_shape shape = it->dataset->shapes[i];
        if (shape.rank <= 0) shape = bd_shape1(0);
        shape.dims[0] = 0;
        for (int k = 1; k < shape.rank; k++)
            if (shape.dims[k] < 0) shape.dims[k] = 0;
        if (bd_tensor_alloc(&it->answer.tensors[i], it->dataset->types[i], &shape)) continue;
        bd_tensors_fini(it->answer.tensors, i);
        return bd_give_out_of_memory(it);
    }
    return bd_give(it);
}

static bd_turn sizes_next(bd_iterator *it)
{
    if (size_now(it) == 0) return give_empty(it);
    gather(it);
    return iterator_of(it)->gathered == size_now(it) ? give_pieces(it) : bd_pull(it, it->input);
}

static braid_code check_rows(bd_iterator *it, braid_status *st)
{
    rebatch_iterator *r = iterator_of(it);
    r->at = r->count = 0;
    for (int i = 0; i < it->dataset->count; i++) {
        if (r->batch[i].shape.rank == 0)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Input element must have a non-scalar value in each component.");
        if (r->batch[i].shape.dims[0] != r->batch[0].shape.dims[0])
            return bd_fail(
                st, BRAID_INVALID_ARGUMENT,
                "Input element must have the same batch size in each component. Component 0 had size %lld but "
                "component %d had size, %lld.",
                (long long)r->batch[0].shape.dims[0], i, (long long)r->batch[i].shape.dims[0]);
    }
    r->count = r->batch[0].shape.dims[0];
    return BRAID_OK;
}

static bd_turn sizes_received(bd_iterator *it, bd_iterator *from)
{
    BD_STATUS(st);
    rebatch_iterator *r = iterator_of(it);
    bool gives = r->gathered > 0 && !dataset_of(it->dataset)->drop_remainder;
    if (from->answer.kind == BD_ANSWER_END && gives) return give_pieces(it);
    if (from->answer.kind != BD_ANSWER_ELEMENT) {
        drop_pieces(r);
        return bd_pass(it, from);
    }
    take_batch(it, from);
    if (!check_rows(it, st)) return sizes_next(it);
    drop_pieces(r);
    return bd_give_error(it, st);
}

static const bd_dataset_kind sizes_kind = {
    .name = "RebatchV2",
    .dataset_size = sizeof(rebatch_dataset),
    .iterator_size = sizeof(rebatch_iterator),
    .destroy = destroy,
    .opens_input = true,
    .open = rebatch_open,
    .next = sizes_next,
    .received = sizes_received,
    .close = rebatch_close,
};

static bool check_sizes(bd_op_ctx *c, const braid_tensor *sizes)
{
    int64_t count = bd_tensor_count(sizes);
    if (sizes->shape.rank > 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`batch_sizes` must be a scalar or a vector.");
    else if (count == 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`batch_sizes` must not be empty");
    for (int64_t i = 0; i < count && !bd_op_failed(c); i++)
        if (bd_tensor_i64(sizes)[i] < 0)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`batch_sizes` must be >= 0, but number %lld is %lld",
                       (long long)i, (long long)bd_tensor_i64(sizes)[i]);
    return !bd_op_failed(c);
}

static void sizes_run(bd_op_ctx *c)
{
    const braid_tensor *sizes = bd_input(c, 1);
    if (!check_sizes(c, sizes) || !bd_input_scalar(c, 2, "drop_remainder", BRAID_BOOL)) return;
    bd_dataset *d = new_dataset(c, &sizes_kind);
    if (!d) return;
    dataset_of(d)->size_count = bd_tensor_count(sizes);
    dataset_of(d)->sizes = bd_memdup(bd_tensor_i64(sizes), (size_t)bd_tensor_count(sizes) * sizeof(int64_t));
    dataset_of(d)->drop_remainder = bd_tensor_bool(bd_input(c, 2))[0];
    bd_output_dataset(c, d);
}

BD_OP(RebatchDatasetV2) = {
    .signature = "(input_dataset: variant, batch_sizes: int64, drop_remainder: bool) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = sizes_run}),
    .doc = "The rows of a dataset's batches in batches of other sizes, in turn.",
};

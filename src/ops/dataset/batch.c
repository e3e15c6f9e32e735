// Datasets that stack several elements of their input: BatchDataset, and PaddedBatchDataset, which pads them
// to one shape first.
#include "ops/dataset/batch.h"
#include "base/alloc.h"
#include "base/array.h"
#include "ops/common/element.h"
#include <string.h>

typedef struct batch_dataset {
    bd_dataset base;
    int64_t size;
    bool drop_remainder;
    bool counts_errors;           // an error is an element of the batch that fails by it
    braid_shape *padded_shapes;   // [base.count]; NULL: elements must be alike
    braid_tensor *padding_values; // [base.count]; NULL
} batch_dataset;

typedef struct batch_iterator {
    bd_iterator base;
    BD_ARRAY(braid_tensor) rows; // of base.dataset->count components each
    int64_t errors;              // that count as elements of the batch
    braid_status error;          // the first one
} batch_iterator;

static batch_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, batch_dataset, base);
}

static batch_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, batch_iterator, base);
}

static void destroy(bd_dataset *base)
{
    batch_dataset *d = dataset_of(base);
    if (d->padding_values) bd_tensors_fini(d->padding_values, base->count);
    bd_free(d->padding_values);
    bd_free(d->padded_shapes);
}

static int64_t cardinality(const bd_dataset *base)
{
    const batch_dataset *d = dataset_of(base);
    int64_t n = bd_cardinality_of_input(base);
    return n < 0 ? n : n / d->size + (n % d->size != 0 && !d->drop_remainder);
}

// ---- Stacking ----

// The rows of one component.
typedef struct column {
    braid_tensor *first;
    int stride; // from one row to the next
    int64_t count;
    braid_shape padded; // the padded shape of each component; only of a padded batch
} column;

static const braid_tensor *row_of(const column *rows, int64_t i)
{
    return &rows->first[i * rows->stride];
}

static braid_code check_type(const column *rows, int64_t i, int component, braid_status *st)
{
    if (row_of(rows, i)->dtype == rows->first->dtype) return BRAID_OK;
    return bd_fail(
        st, BRAID_INVALID_ARGUMENT,
        "Cannot batch tensors with different types in component %d. First element had type %s and element %lld "
        "had type %s.",
        component, braid_dtype_name(rows->first->dtype), (long long)i,
        braid_dtype_name(row_of(rows, i)->dtype));
}

static braid_code check_alike(const column *rows, int component, braid_status *st)
{
    for (int64_t i = 0; i < rows->count; i++) {
        char first[BD_SHAPE_STR_MAX], other[BD_SHAPE_STR_MAX];
        if (check_type(rows, i, component, st)) return st->code;
        if (bd_shape_equal(&row_of(rows, i)->shape, &rows->first->shape)) continue;
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "Cannot batch tensors with different shapes in component %d. First element had shape %s and element "
            "%lld had shape %s.",
            component, bd_shape_str(&rows->first->shape, first), (long long)i,
            bd_shape_str(&row_of(rows, i)->shape, other));
    }
    return BRAID_OK;
}

// Makes `out` of shape [rows, row...].
static braid_code make_stack(braid_tensor *out, const column *rows, const braid_shape *row, int component,
                             braid_status *st)
{
    if (row->rank == BRAID_RANK_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Component %d has %d dimensions: too many for a batch",
                       component, row->rank);
    braid_shape shape = {.rank = row->rank + 1, .dims = {rows->count}};
    memcpy(shape.dims + 1, row->dims, sizeof shape.dims[0] * (size_t)row->rank);
    return bd_tensor_init(out, rows->first->dtype, &shape, st);
}

static braid_code stack(braid_tensor *out, const column *rows, int component, braid_status *st)
{
    braid_code code = check_alike(rows, component, st);
    if (!code) code = make_stack(out, rows, &rows->first->shape, component, st);
    if (code) return code;
    int64_t size = bd_tensor_count(rows->first);
    for (int64_t i = 0; i < rows->count; i++)
        bd_elements_copy(out, i * size, row_of(rows, i), 0, size);
    return BRAID_OK;
}

braid_code bd_stack_rows(braid_tensor *out, braid_tensor *first, int stride, int64_t count, int component,
                         braid_status *st)
{
    column rows = {.first = first, .stride = stride, .count = count};
    return stack(out, &rows, component, st);
}

// ---- Padding ----

// The shape that each row of a component is padded to: unknown sizes become the largest.
static braid_code padded_shape(column *rows, const braid_shape *wanted, int component, braid_status *st)
{
    rows->padded = *wanted;
    for (int k = 0; k < wanted->rank; k++)
        if (wanted->dims[k] < 0) rows->padded.dims[k] = 0;
    for (int64_t i = 0; i < rows->count; i++) {
        const braid_shape *s = &row_of(rows, i)->shape;
        if (check_type(rows, i, component, st)) return st->code;
        if (s->rank != wanted->rank)
            return bd_fail(
                st, BRAID_INVALID_ARGUMENT,
                "All elements in a batch must have the same rank as the padded shape for component%d: expected "
                "rank %d but got element with rank %d",
                component, wanted->rank, s->rank);
        for (int k = 0; k < wanted->rank; k++) {
            if (s->dims[k] <= rows->padded.dims[k]) continue;
            if (wanted->dims[k] >= 0)
                return bd_fail(st, BRAID_DATA_LOSS,
                               "Attempted to pad to a smaller size than the input element.");
            rows->padded.dims[k] = s->dims[k];
        }
    }
    return BRAID_OK;
}

static void fill(const braid_tensor *out, const braid_tensor *value)
{
    int64_t count = bd_tensor_count(out), done = count > 0;
    if (done) bd_elements_copy(out, 0, value, 0, 1);
    for (int64_t run; done < count; done += run) { // doubles the filled part
        run = done < count - done ? done : count - done;
        bd_elements_copy(out, done, out, 0, run);
    }
}

static braid_code stack_padded(braid_tensor *out, column *rows, const braid_shape *wanted,
                               const braid_tensor *padding, int component, braid_status *st)
{
    braid_code code = padded_shape(rows, wanted, component, st);
    if (!code) code = make_stack(out, rows, &rows->padded, component, st);
    if (code) return code;
    if (padding->dtype != out->dtype)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Component %d has type %s but a padding value of type %s",
                       component, braid_dtype_name(out->dtype), braid_dtype_name(padding->dtype));
    fill(out, padding);
    int64_t size = bd_shape_count(&rows->padded);
    for (int64_t i = 0; i < rows->count; i++) {
        const braid_tensor *row = row_of(rows, i);
        bd_strided block = bd_strided_of(&row->shape);
        bd_row_strides(&rows->padded, block.to_strides);
        if (bd_tensor_count(row) > 0) bd_elements_copy_block(out, i * size, row, 0, &block);
    }
    return BRAID_OK;
}

// ---- The iterator ----

static void drop_rows(batch_iterator *b)
{
    bd_tensors_fini(b->rows.items, (int)b->rows.len);
    b->rows.len = 0;
}

static bd_turn give_batch(bd_iterator *it)
{
    BD_STATUS(st);
    const batch_dataset *d = dataset_of(it->dataset);
    batch_iterator *b = iterator_of(it);
    int count = it->dataset->count;
    braid_code code = BRAID_OK;
    for (int i = 0; i < count && !code; i++) {
        column rows = {.first = &b->rows.items[i], .stride = count, .count = (int64_t)b->rows.len / count};
        braid_tensor *out = &it->answer.tensors[i];
        code = d->padded_shapes ? stack_padded(out, &rows, &d->padded_shapes[i], &d->padding_values[i], i, st)
                                : stack(out, &rows, i, st);
    }
    drop_rows(b);
    return code ? bd_give_error(it, st) : bd_give(it);
}

static bd_turn give_first_error(bd_iterator *it)
{
    batch_iterator *b = iterator_of(it);
    drop_rows(b);
    b->errors = 0;
    return bd_give_error(it, &b->error);
}

// The elements so far, and the errors that count as such.
static int64_t gathered(const bd_iterator *it, const batch_iterator *b)
{
    return (int64_t)b->rows.len / it->dataset->count + b->errors;
}

static bd_turn count_error(bd_iterator *it, bd_iterator *from)
{
    batch_iterator *b = iterator_of(it);
    if (b->errors++ == 0)
        bd_status_move(&b->error, &from->answer.st);
    else
        braid_status_clear(&from->answer.st);
    return gathered(it, b) == dataset_of(it->dataset)->size ? give_first_error(it) : bd_pull(it, from);
}

static bd_turn batch_next(bd_iterator *it)
{
    return bd_pull(it, it->input);
}

static bd_turn batch_received(bd_iterator *it, bd_iterator *from)
{
    const batch_dataset *d = dataset_of(it->dataset);
    batch_iterator *b = iterator_of(it);
    size_t count = (size_t)it->dataset->count;
    if (from->answer.kind == BD_ANSWER_ELEMENT) {
        bd_array_reserve(&b->rows, b->rows.len + count);
        bd_answer_take(from, b->rows.items + b->rows.len);
        b->rows.len += count;
        if (gathered(it, b) < d->size) return bd_pull(it, from);
        return b->errors ? give_first_error(it) : give_batch(it);
    }
    bool is_cancelled = bd_cancellation_is_cancelled(it->chain->token);
    if (d->counts_errors && from->answer.kind == BD_ANSWER_ERROR && !is_cancelled)
        return count_error(it, from);
    if (b->errors) return give_first_error(it);
    if (from->answer.kind == BD_ANSWER_END && b->rows.len > 0 && !d->drop_remainder) return give_batch(it);
    drop_rows(b);
    return bd_pass(it, from);
}

static void close_batch(bd_iterator *it)
{
    batch_iterator *b = iterator_of(it);
    drop_rows(b);
    bd_array_free(&b->rows);
    bd_status_fini(&b->error);
}

#define BATCH_KIND(NAME)                                                                                     \
    {                                                                                                        \
        .name = (NAME), .dataset_size = sizeof(batch_dataset), .iterator_size = sizeof(batch_iterator),      \
        .destroy = destroy, .opens_input = true, .cardinality = cardinality, .next = batch_next,             \
        .received = batch_received, .close = close_batch                                                     \
    }

static const bd_dataset_kind batch_kind = BATCH_KIND("Batch");
static const bd_dataset_kind padded_kind = BATCH_KIND("PaddedBatch");

// ---- Making ----

// A dataset of batches, with the sizes in the node's inputs 1 and `drop_input` (-1: the remainder stays).
static bd_dataset *new_batch(bd_op_ctx *c, const bd_dataset_kind *kind, int drop_input)
{
    int64_t size;
    if (!bd_input_scalar_int(c, 1, "batch_size", &size)) return NULL;
    if (size <= 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Batch size must be greater than zero.");
        return NULL;
    }
    if (drop_input >= 0 && !bd_input_scalar(c, drop_input, "drop_remainder", BRAID_BOOL)) return NULL;
    bd_dataset *d = bd_dataset_over_input(c, kind);
    if (!d) return NULL;
    dataset_of(d)->size = size;
    dataset_of(d)->drop_remainder = drop_input >= 0 && bd_tensor_bool(bd_input(c, drop_input))[0];
    return d;
}

braid_shape bd_batch_shape(const braid_shape *row, int64_t size)
{
    if (row->rank < 0 || row->rank == BRAID_RANK_MAX) // no element can have the larger rank
        return BD_SHAPE_UNKNOWN;
    braid_shape s = {.rank = row->rank + 1, .dims = {size}};
    memcpy(s.dims + 1, row->dims, sizeof s.dims[0] * (size_t)row->rank);
    return s;
}

static void set_shapes(bd_dataset *d)
{
    for (int i = 0; i < d->count; i++)
        d->shapes[i] =
            bd_batch_shape(&d->shapes[i], dataset_of(d)->drop_remainder ? dataset_of(d)->size : -1);
}

bd_dataset *bd_batch_of_answers_new(bd_op_ctx *c, bd_dataset *input, int64_t size, bool drop_remainder)
{
    BD_STATUS(st);
    bd_dataset *d;
    if (bd_dataset_new(&batch_kind, BD_COMPONENTS(input), &input, 1, &d, st)) {
        bd_op_fail_status(c, st);
        return NULL;
    }
    dataset_of(d)->size = size;
    dataset_of(d)->drop_remainder = drop_remainder;
    dataset_of(d)->counts_errors = true;
    set_shapes(d);
    return d;
}

static void output_batch(bd_op_ctx *c, bd_dataset *d)
{
    set_shapes(d);
    bd_output_dataset(c, d);
}

// The inputs are a dataset, batch_size, in the parallel one num_parallel_calls, and drop_remainder, which the
// first version lacks.
static void batch_run(bd_op_ctx *c)
{
    bd_dataset *d = new_batch(c, &batch_kind, c->input_count > 2 ? c->input_count - 1 : -1);
    if (d) output_batch(c, d);
}

BD_OP(BatchDataset) = {
    .signature = "(input_dataset: variant, batch_size: int64) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = batch_run}),
    .doc = "`batch_size` elements at a time, stacked; the last batch may have fewer.",
};

BD_OP(BatchDatasetV2) = {
    .signature = "(input_dataset: variant, batch_size: int64, drop_remainder: bool) -> (handle: variant)",
    .attrs = "parallel_copy:bool=false; " BD_DATASET_ATTRS "; " BD_DATASET_METADATA,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = batch_run}),
    .doc =
        "`batch_size` elements at a time, stacked; a last batch of fewer is dropped where `drop_remainder`.",
};

static void parallel_batch_run(bd_op_ctx *c)
{
    int64_t calls;
    if (!bd_input_scalar_int(c, 2, "num_parallel_calls", &calls)) return;
    if (calls <= 0 && calls != -1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_parallel_calls must be greater than zero.");
    else
        batch_run(c);
}

BD_OP(ParallelBatchDataset) = {
    .signature =
        "(input_dataset: variant, batch_size: int64, num_parallel_calls: int64, drop_remainder: bool) -> "
        "(handle: variant)",
    .attrs = "parallel_copy:bool=false; " BD_DATASET_ATTRS
             "; deterministic:string='default'; " BD_DATASET_METADATA,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = parallel_batch_run}),
    .deviation = "One batch at a time.",
    .doc = "BatchDatasetV2.",
};

// Inputs: dataset, batch_size, the padded shapes, the padding values, and in the second version
// drop_remainder.
static bool read_padded_shape(bd_op_ctx *c, int i, int component, braid_shape *shape)
{
    const braid_tensor *t = bd_input(c, i);
    if (t->shape.rank != 1 || t->shape.dims[0] > BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "All padded shapes must be vectors of at most %d sizes: that of component %d is not",
                   BRAID_RANK_MAX, component);
        return false;
    }
    shape->rank = (int)t->shape.dims[0];
    for (int k = 0; k < shape->rank; k++) {
        shape->dims[k] = bd_tensor_i64(t)[k];
        if (shape->dims[k] < -1) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Padded shape of component %d has the size %lld", component,
                       (long long)shape->dims[k]);
            return false;
        }
    }
    return true;
}

static bool read_padding(bd_op_ctx *c, bd_dataset *d, int i)
{
    batch_dataset *b = dataset_of(d);
    const braid_tensor *value = bd_input(c, 2 + d->count + i);
    if (!read_padded_shape(c, 2 + i, i, &b->padded_shapes[i])) return false;
    if (value->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "All padding values must be scalars: that of component %d is not", i);
    } else if (value->dtype != d->types[i]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Mismatched type between padding value %d and input dataset's component %d: %s vs. %s", i,
                   i, braid_dtype_name(value->dtype), braid_dtype_name(d->types[i]));
    } else if (!bd_tensor_keep(&b->padding_values[i], value)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying a padding value");
    }
    return !bd_op_failed(c);
}

static void padded_run(bd_op_ctx *c)
{
    int n = (int)bd_node_attr_int(c->node, "N");
    bool is_v2 = c->input_count == 3 + 2 * n;
    bd_dataset *d = new_batch(c, &padded_kind, is_v2 ? c->input_count - 1 : -1);
    if (!d) return;
    batch_dataset *b = dataset_of(d);
    int values = c->input_count - 2 - n - is_v2;
    if (n != d->count || values != d->count)
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Number of padded shapes (%d) and padding values (%d) must match the number of components in the input "
            "dataset's elements (%d)",
            n, values, d->count);
    b->padded_shapes = bd_calloc((size_t)d->count, sizeof *b->padded_shapes);
    b->padding_values = bd_calloc((size_t)d->count, sizeof *b->padding_values);
    for (int i = 0; i < d->count && !bd_op_failed(c); i++) {
        if (read_padding(c, d, i)) d->shapes[i] = b->padded_shapes[i];
    }
    if (bd_op_failed(c))
        bd_dataset_unref(d);
    else
        output_batch(c, d);
}

static braid_code padded_handle_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 1, 0, st);
    return code ? code : bd_shape_fn_scalar(c, st);
}

BD_OP(PaddedBatchDataset) = {
    .signature =
        "(input_dataset: variant, batch_size: int64, padded_shapes: N*int64, padding_values: Toutput_types...) -> "
        "(handle: variant)",
    .attrs = "Toutput_types:list(type)>=1; output_shapes:list(shape)>=1; N:int>=1",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = padded_handle_shape,
    .kernels = BD_KERNELS({.run = padded_run}),
    .doc =
        "`batch_size` elements at a time, padded to the same shape and stacked; a size of -1 becomes the largest of the batch.",
};

BD_OP(PaddedBatchDatasetV2) = {
    .signature =
        "(input_dataset: variant, batch_size: int64, padded_shapes: N*int64, padding_values: Toutput_types..., "
        "drop_remainder: bool) -> (handle: variant)",
    .attrs =
        "parallel_copy:bool=false; Toutput_types:list(type)>=1; output_shapes:list(shape)>=1; N:int>=1; " BD_DATASET_METADATA,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = padded_handle_shape,
    .kernels = BD_KERNELS({.run = padded_run}),
    .doc =
        "`batch_size` elements at a time, padded to the same shape and stacked; a size of -1 becomes the largest of the batch.",
};

// Datasets of parts of another's elements, and of several: UnbatchDataset, WindowDataset.
#include "base/alloc.h"
#include "base/array.h"
#include "ops/common/element.h"
#include "ops/dataset/in_memory.h"
#include <string.h>

// ---- UnbatchDataset: the rows of each element ----

typedef struct rows_iterator {
    bd_iterator base;
    braid_tensor *batch; // [base.dataset->count], owned; "no tensor" before the first
    int64_t at, count;   // rows given, and in the batch
} rows_iterator;

static rows_iterator *rows_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, rows_iterator, base);
}

static braid_code rows_open(bd_iterator *it, braid_status *st)
{
    (void)st;
    rows_of(it)->batch = bd_calloc((size_t)it->dataset->count, sizeof(braid_tensor));
    return BRAID_OK;
}

static void rows_close(bd_iterator *it)
{
    rows_iterator *r = rows_of(it);
    if (r->batch) bd_tensors_fini(r->batch, it->dataset->count);
    bd_free(r->batch);
}

static bd_turn give_row(bd_iterator *it)
{
    rows_iterator *r = rows_of(it);
    for (int i = 0; i < it->dataset->count; i++) {
        braid_shape shape = r->batch[i].shape;
        int64_t size = bd_shape_count_range(&shape, 1, shape.rank);
        memmove(shape.dims, shape.dims + 1, sizeof shape.dims[0] * (size_t)--shape.rank);
        bd_tensor_view(&it->answer.tensors[i], &r->batch[i], r->at * size, &shape);
    }
    r->at++;
    return bd_give(it);
}

static bd_turn rows_next(bd_iterator *it)
{
    const rows_iterator *r = rows_of(it);
    return r->at < r->count ? give_row(it) : bd_pull(it, it->input);
}

static braid_code take_batch(bd_iterator *it, bd_iterator *from, braid_status *st)
{
    rows_iterator *r = rows_of(it);
    bd_tensors_fini(r->batch, it->dataset->count);
    bd_answer_take(from, r->batch);
    r->at = r->count = 0;
    for (int i = 0; i < it->dataset->count; i++) {
        if (r->batch[i].shape.rank == 0)
            return bd_fail(
                st, BRAID_INVALID_ARGUMENT,
                "Input element must have a non-scalar value in each component: component %d is a scalar.", i);
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

static bd_turn rows_received(bd_iterator *it, bd_iterator *from)
{
    BD_STATUS(st);
    if (from->answer.kind != BD_ANSWER_ELEMENT) return bd_pass(it, from);
    if (take_batch(it, from, st)) return bd_give_error(it, st);
    return rows_next(it);
}

static const bd_dataset_kind unbatch_kind = {
    .name = "Unbatch",
    .dataset_size = sizeof(bd_dataset),
    .iterator_size = sizeof(rows_iterator),
    .opens_input = true,
    .open = rows_open,
    .next = rows_next,
    .received = rows_received,
    .close = rows_close,
};

static void unbatch_run(bd_op_ctx *c)
{
    bd_dataset *d = bd_dataset_over_input(c, &unbatch_kind);
    if (!d) return;
    for (int i = 0; i < d->count; i++) {
        braid_shape *s = &d->shapes[i];
        if (s->rank > 0)
            memmove(s->dims, s->dims + 1, sizeof s->dims[0] * (size_t)--s->rank);
        else if (s->rank == 0 && !bd_op_failed(c))
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Cannot unbatch an input with scalar components.");
    }
    if (bd_op_failed(c))
        bd_dataset_unref(d);
    else
        bd_output_dataset(c, d);
}

#define UNBATCH_OP                                                                                           \
    {                                                                                                        \
        .signature = "(input_dataset: variant) -> (handle: variant)",                                        \
        .attrs = BD_DATASET_ATTRS "; " BD_DATASET_METADATA, .flags = BD_OP_NOT_DIFFERENTIABLE,               \
        .shape = bd_shape_fn_scalars, .kernels = BD_KERNELS({.run = unbatch_run}),                           \
        .doc = "The rows of each element of a dataset."                                                      \
    }

BD_OP(UnbatchDataset) = UNBATCH_OP;
BD_OP(ExperimentalUnbatchDataset) = UNBATCH_OP;

// ---- WindowDataset ----

typedef struct window_dataset {
    bd_dataset base;
    int64_t size, shift, stride;
    bool drop_remainder;
} window_dataset;

// An element of the input or its error.
typedef struct window_slot {
    braid_tensor *tensors; // owned; NULL of an error
    braid_status st;
} window_slot;

typedef struct window_iterator {
    bd_iterator base;
    BD_ARRAY(window_slot) slots;
    int64_t to_skip; // elements between the last window and the next
} window_iterator;

static window_dataset *window_dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, window_dataset, base);
}

static window_iterator *window_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, window_iterator, base);
}

static int64_t window_target(const window_dataset *d)
{
    int64_t span;
    return __builtin_mul_overflow(d->size - 1, d->stride, &span) || span == INT64_MAX ? INT64_MAX : span + 1;
}

static int64_t window_cardinality(const bd_dataset *base)
{
    const window_dataset *d = window_dataset_of(base);
    int64_t n = bd_cardinality_of_input(base);
    if (n < 0) return n;
    if (!d->drop_remainder) return n / d->shift + (n % d->shift != 0);
    return n < window_target(d) ? 0 : (n - window_target(d)) / d->shift + 1;
}

static void drop_slots(bd_iterator *it, size_t n)
{
    window_iterator *w = window_of(it);
    for (size_t i = 0; i < n; i++) {
        if (w->slots.items[i].tensors) bd_tensors_fini(w->slots.items[i].tensors, it->input->dataset->count);
        bd_free(w->slots.items[i].tensors);
        bd_status_fini(&w->slots.items[i].st);
    }
    w->slots.len -= n;
    if (w->slots.len > 0) memmove(w->slots.items, w->slots.items + n, w->slots.len * sizeof *w->slots.items);
}

static bd_turn make_windows(bd_iterator *it)
{
    BD_STATUS(st);
    const window_dataset *d = window_dataset_of(it->dataset);
    const window_iterator *w = window_of(it);
    const bd_dataset *input = it->dataset->inputs[0];
    int64_t len = 1 + ((int64_t)w->slots.len - 1) / d->stride;
    for (int64_t i = 0; i < len; i++)
        if (!w->slots.items[i * d->stride].tensors) {
            bd_status_copy(st, &w->slots.items[i * d->stride].st);
            return bd_give_error(it, st);
        }
    for (int k = 0; k < input->count; k++) {
        bd_dataset *made;
        if (!bd_tensor_alloc(&it->answer.tensors[k], BRAID_VARIANT, &BD_SCALAR))
            return bd_give_out_of_memory(it);
        braid_tensor *held = bd_held_dataset_new(1, &input->types[k], &input->shapes[k], len, &made, st);
        if (!held) return bd_give_error(it, st);
        bd_tensor_variant(&it->answer.tensors[k])[0] = &made->base;
        for (int64_t i = 0; i < len; i++)
            bd_tensor_ref(&held[i], &w->slots.items[i * d->stride].tensors[k]);
    }
    return bd_give(it);
}

// Gives a window, then drops the elements that are not part of the next one.
static bd_turn give_window(bd_iterator *it)
{
    const window_dataset *d = window_dataset_of(it->dataset);
    window_iterator *w = window_of(it);
    if (w->slots.len == 0 || (d->drop_remainder && (int64_t)w->slots.len < window_target(d)))
        return bd_give_end(it);
    bd_turn turn = make_windows(it);
    int64_t gone = bd_min(d->shift, (int64_t)w->slots.len);
    w->to_skip = d->shift - gone;
    drop_slots(it, (size_t)gone);
    return turn;
}

static bd_turn window_next(bd_iterator *it)
{
    bool is_full = (int64_t)window_of(it)->slots.len >= window_target(window_dataset_of(it->dataset));
    // at the end the input answers that it is over again
    return is_full ? give_window(it) : bd_pull(it, it->input);
}

static bd_turn window_received(bd_iterator *it, bd_iterator *from)
{
    window_iterator *w = window_of(it);
    if (from->answer.kind == BD_ANSWER_END) return give_window(it);
    if (from->answer.kind == BD_ANSWER_ERROR && bd_cancellation_is_cancelled(it->chain->token))
        return bd_pass(it, from);
    if (w->to_skip > 0) { // errors between windows do not count
        w->to_skip--;
        if (from->answer.kind == BD_ANSWER_ELEMENT) bd_answer_drop(from);
        return bd_pull(it, from);
    }
    window_slot slot = {0};
    if (from->answer.kind == BD_ANSWER_ELEMENT) {
        slot.tensors = bd_calloc((size_t)from->dataset->count, sizeof *slot.tensors);
        bd_answer_take(from, slot.tensors);
    } else {
        bd_status_move(&slot.st, &from->answer.st);
    }
    bd_array_push(&w->slots, slot);
    return window_next(it);
}

static void window_close(bd_iterator *it)
{
    drop_slots(it, window_of(it)->slots.len);
    bd_array_free(&window_of(it)->slots);
}

static const bd_dataset_kind window_kind = {
    .name = "Window",
    .dataset_size = sizeof(window_dataset),
    .iterator_size = sizeof(window_iterator),
    .opens_input = true,
    .cardinality = window_cardinality,
    .next = window_next,
    .received = window_received,
    .close = window_close,
};

static bool read_window(bd_op_ctx *c, int64_t values[3])
{
    static const char *const names[] = {"size", "shift", "stride"};
    for (int i = 0; i < 3; i++) {
        if (!bd_input_scalar_int(c, 1 + i, names[i], &values[i])) return false;
        if (values[i] > 0) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Window %s must be greater than zero.", names[i]);
        return false;
    }
    return bd_input_scalar(c, 4, "drop_remainder", BRAID_BOOL);
}

static void window_run(bd_op_ctx *c)
{
    int64_t values[3];
    bd_dataset *d = read_window(c, values) ? bd_dataset_over_input(c, &window_kind) : NULL;
    if (!d) return;
    window_dataset *w = window_dataset_of(d);
    w->size = values[0];
    w->shift = values[1];
    w->stride = values[2];
    w->drop_remainder = bd_tensor_bool(bd_input(c, 4))[0];
    for (int i = 0; i < d->count; i++) {
        d->types[i] = BRAID_VARIANT;
        d->shapes[i] = BD_SCALAR;
    }
    bd_output_dataset(c, d);
}

BD_OP(WindowDataset) = {
    .signature =
        "(input_dataset: variant, size: int64, shift: int64, stride: int64, drop_remainder: bool) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS "; " BD_DATASET_METADATA,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = window_run}),
    .doc =
        "Windows over a dataset: for each component a dataset of `size` elements, each `stride` on, the next one `shift` further.",
};

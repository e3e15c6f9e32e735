// SlidingWindowDataset: stacks of elements of another one that overlap.
#include "base/alloc.h"
#include "base/array.h"
#include "ops/dataset/batch.h"
#include <string.h>

typedef struct sliding_dataset {
    bd_dataset base;
    int64_t size, shift, stride;
} sliding_dataset;

typedef struct sliding_iterator {
    bd_iterator base;
    BD_ARRAY(braid_tensor) rows; // of the input's count components each
    int64_t to_skip;             // elements between the last window and the next
} sliding_iterator;

static sliding_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, sliding_dataset, base);
}

static sliding_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, sliding_iterator, base);
}

static int64_t cardinality(const bd_dataset *d)
{
    int64_t n = bd_cardinality_of_input(d);
    return n < 0 ? n : n / dataset_of(d)->shift;
}

// How many elements there must be for a window; checked to be an int64 when the dataset was made.
static int64_t span_of(const sliding_dataset *d)
{
    return (d->size - 1) * d->stride + 1;
}

static void drop_rows(bd_iterator *it, int64_t n)
{
    sliding_iterator *s = iterator_of(it);
    size_t gone = (size_t)n * (size_t)it->dataset->count;
    bd_tensors_fini(s->rows.items, (int)gone);
    s->rows.len -= gone;
    if (s->rows.len) memmove(s->rows.items, s->rows.items + gone, s->rows.len * sizeof *s->rows.items);
}

static bd_turn give_window(bd_iterator *it)
{
    BD_STATUS(st);
    const sliding_dataset *d = dataset_of(it->dataset);
    sliding_iterator *s = iterator_of(it);
    int count = it->dataset->count;
    braid_tensor *window = bd_calloc((size_t)d->size, sizeof *window);
    for (int i = 0; i < count && !st->code; i++) {
        for (int64_t k = 0; k < d->size; k++)
            window[k] = s->rows.items[k * d->stride * count + i]; // borrowed
        bd_stack_rows(&it->answer.tensors[i], window, 1, d->size, i, st);
    }
    bd_free(window);
    int64_t held = (int64_t)s->rows.len / count, gone = bd_min(d->shift, held);
    s->to_skip = d->shift - gone;
    drop_rows(it, gone);
    return st->code ? bd_give_error(it, st) : bd_give(it);
}

static bd_turn sliding_next(bd_iterator *it)
{
    const sliding_iterator *s = iterator_of(it);
    int64_t held = (int64_t)s->rows.len / it->dataset->count;
    return held >= span_of(dataset_of(it->dataset)) ? give_window(it) : bd_pull(it, it->input);
}

static bd_turn sliding_received(bd_iterator *it, bd_iterator *from)
{
    sliding_iterator *s = iterator_of(it);
    size_t count = (size_t)it->dataset->count;
    if (from->answer.kind != BD_ANSWER_ELEMENT) return bd_pass(it, from);
    if (s->to_skip > 0) {
        s->to_skip--;
        bd_answer_drop(from);
        return bd_pull(it, from);
    }
    bd_array_reserve(&s->rows, s->rows.len + count);
    bd_answer_take(from, s->rows.items + s->rows.len);
    s->rows.len += count;
    return sliding_next(it);
}

static void sliding_close(bd_iterator *it)
{
    sliding_iterator *s = iterator_of(it);
    bd_tensors_fini(s->rows.items, (int)s->rows.len);
    bd_array_free(&s->rows);
}

static const bd_dataset_kind sliding_kind = {
    .name = "Slide",
    .dataset_size = sizeof(sliding_dataset),
    .iterator_size = sizeof(sliding_iterator),
    .opens_input = true,
    .cardinality = cardinality,
    .next = sliding_next,
    .received = sliding_received,
    .close = sliding_close,
};

static bool read_window(bd_op_ctx *c, int64_t values[3])
{
    static const char *const names[] = {"window_size", "window_shift", "window_stride"}, *const refused[] = {
                                                                                             "Window size",
                                                                                             "Window shift",
                                                                                             "window_stride"};
    int64_t span;
    for (int i = 0; i < 3; i++) {
        if (!bd_input_scalar_int(c, 1 + i, names[i], &values[i])) return false;
        if (values[i] > 0) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be greater than zero.", refused[i]);
        return false;
    }
    // The number of tensors held at a time.
    if (!__builtin_mul_overflow(values[0] - 1, values[2], &span) && span < INT32_MAX / 16) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "A window of %lld elements, each %lld on, is too large",
               (long long)values[0], (long long)values[2]);
    return false;
}

static void sliding_run(bd_op_ctx *c)
{
    int64_t values[3];
    bd_dataset *d = read_window(c, values) ? bd_dataset_over_input(c, &sliding_kind) : NULL;
    if (!d) return;
    dataset_of(d)->size = values[0];
    dataset_of(d)->shift = values[1];
    dataset_of(d)->stride = values[2];
    for (int i = 0; i < d->count; i++)
        d->shapes[i] = bd_batch_shape(&d->shapes[i], -1);
    bd_output_dataset(c, d);
}

#define SLIDING_OP                                                                                           \
    {                                                                                                        \
        .signature = "(input_dataset: variant, window_size: int64, window_shift: int64, "                    \
                     "window_stride: int64) -> (handle: variant)",                                           \
        .attrs = BD_DATASET_ATTRS, .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalars,          \
        .kernels = BD_KERNELS({.run = sliding_run}),                                                         \
        .doc = "Whole windows of `window_size` elements, each `window_stride` on, stacked; the next one "    \
               "`window_shift` further."                                                                     \
    }

BD_OP(SlidingWindowDataset) = SLIDING_OP;
BD_OP(ExperimentalSlidingWindowDataset) = SLIDING_OP;

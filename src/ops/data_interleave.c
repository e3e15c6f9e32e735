// Datasets of the elements of datasets that a function makes of each element: FlatMapDataset, InterleaveDataset and its parallel forms.
//
// `cycle_length` datasets are open at a time, each in a slot. Of each `block_length` elements are given before the next slot's turn; an
// empty slot is filled from the input when it has its turn. A flat map has one slot. The parallel forms give the same order, and let
// prefetching, in the datasets or behind, do what their own threads do in TensorFlow.
#include "base/alloc.h"
#include "ops/data_function.h"

typedef struct interleave_dataset {
    bd_dataset base;
    bd_captured f;
    int64_t cycle_length, block_length;
} interleave_dataset;

typedef struct interleave_iterator {
    bd_iterator base;
    bd_iterator **slots; // [cycle_length], owned; NULL: empty
    int64_t at;          // the slot whose turn it is
    int64_t given;       // elements of it in this turn
    int64_t open_count;
    int64_t made; // datasets so far
    bool is_over; // the input is
} interleave_iterator;

// A slot takes memory before anything is in it.
#define CYCLE_MAX 65536

static interleave_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, interleave_dataset, base);
}

static interleave_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, interleave_iterator, base);
}

static void destroy(bd_dataset *d)
{
    bd_captured_fini(&dataset_of(d)->f);
}

static braid_code interleave_open(bd_iterator *it, braid_status *st)
{
    (void)st;
    iterator_of(it)->slots = bd_calloc((size_t)dataset_of(it->dataset)->cycle_length, sizeof(bd_iterator *));
    return BRAID_OK;
}

static void interleave_close(bd_iterator *it)
{
    interleave_iterator *s = iterator_of(it);
    for (int64_t i = 0; s->slots && i < dataset_of(it->dataset)->cycle_length; i++)
        bd_iterator_close(s->slots[i]);
    bd_free(s->slots);
}

static void next_slot(bd_iterator *it)
{
    interleave_iterator *s = iterator_of(it);
    s->at = (s->at + 1) % dataset_of(it->dataset)->cycle_length;
    s->given = 0;
}

static bd_turn interleave_next(bd_iterator *it)
{
    interleave_iterator *s = iterator_of(it);
    if (s->is_over) {
        if (s->open_count == 0) return bd_give_end(it);
        while (!s->slots[s->at])
            next_slot(it);
    }
    return bd_pull(it, s->slots[s->at] ? s->slots[s->at] : it->input);
}

static bd_turn made(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    (void)arg;
    interleave_iterator *s = iterator_of(it);
    const bd_dataset *promised = it->dataset;
    bd_dataset *d;
    if (!st->code && !bd_result_dataset(rets, ret_count, &d, st) &&
        !bd_check_components(promised->count, promised->types, promised->shapes, d->count, d->types,
                             d->shapes, st))
        bd_iterator_open(d, it->chain, it, s->made++, &s->slots[s->at], st);
    if (st->code) return bd_give_error(it, st);
    s->open_count++;
    return interleave_next(it);
}

static bd_turn input_received(bd_iterator *it, bd_iterator *from)
{
    if (from->answer.kind == BD_ANSWER_ERROR) return bd_pass(it, from);
    if (from->answer.kind == BD_ANSWER_ELEMENT)
        return bd_iterator_call(it, &dataset_of(it->dataset)->f, from->answer.tensors, from->dataset->count,
                                made, NULL);
    iterator_of(it)->is_over = true;
    return interleave_next(it);
}

static bd_turn interleave_received(bd_iterator *it, bd_iterator *from)
{
    interleave_iterator *s = iterator_of(it);
    if (from == it->input) return input_received(it, from);
    if (from->answer.kind == BD_ANSWER_END) {
        bd_iterator_close(from);
        s->slots[s->at] = NULL;
        s->open_count--;
        next_slot(it);
        return interleave_next(it);
    }
    if (from->answer.kind == BD_ANSWER_ELEMENT && ++s->given == dataset_of(it->dataset)->block_length)
        next_slot(it);
    return bd_pass(it, from);
}

#define INTERLEAVE_KIND(NAME)                                                                                \
    {                                                                                                        \
        .name = (NAME), .dataset_size = sizeof(interleave_dataset),                                          \
        .iterator_size = sizeof(interleave_iterator), .destroy = destroy, .opens_input = true,               \
        .open = interleave_open, .next = interleave_next, .received = interleave_received,                   \
        .close = interleave_close                                                                            \
    }

static const bd_dataset_kind flat_map_kind = INTERLEAVE_KIND("FlatMap");
static const bd_dataset_kind interleave_kind = INTERLEAVE_KIND("Interleave");

// ---- Ops ----

static void output_interleave(bd_op_ctx *c, const bd_dataset_kind *kind, int captured, int64_t cycle_length,
                              int64_t block_length)
{
    bd_captured f;
    if (!bd_captured_init(&f, c, c->state, 1, captured)) return;
    bd_dataset *d = bd_dataset_of_attrs(c, kind, true);
    if (!d) {
        bd_captured_fini(&f);
        return;
    }
    dataset_of(d)->f = f;
    dataset_of(d)->cycle_length = cycle_length;
    dataset_of(d)->block_length = block_length;
    bd_output_dataset(c, d);
}

// With the two lengths at inputs `at` and `at` + 1; -1 is as many as there are processors where that may be said.
static void interleave(bd_op_ctx *c, int at, bool may_tune)
{
    int64_t cycle_length, block_length;
    if (!bd_input_scalar_int(c, at, "cycle_length", &cycle_length) ||
        !bd_input_scalar_int(c, at + 1, "block_length", &block_length))
        return;
    if (may_tune && cycle_length == -1) cycle_length = bd_cpu_count();
    if (cycle_length <= 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`cycle_length` must be > 0");
    else if (cycle_length > CYCLE_MAX)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`cycle_length` must be <= %d", CYCLE_MAX);
    else if (block_length <= 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`block_length` must be > 0");
    else
        output_interleave(c, &interleave_kind, at - 1, cycle_length, block_length);
}

BD_DEFINE_FUNC_STATE(f, "f")

static void flat_map_run(bd_op_ctx *c)
{
    output_interleave(c, &flat_map_kind, c->input_count - 1, 1, INT64_MAX);
}

BD_OP(FlatMapDataset) = {
    .signature = "(input_dataset: variant, other_arguments: Targuments...) -> (handle: variant)",
    .attrs = "f:func; Targuments:list(type)>=0; " BD_DATASET_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_FUNC_KERNEL(f, flat_map_run),
    .doc = "The elements of the datasets that a function makes of each element, one dataset after the other.",
};

static void interleave_run(bd_op_ctx *c)
{
    interleave(c, c->input_count - 2, false);
}

BD_OP(InterleaveDataset) = {
    .signature =
        "(input_dataset: variant, other_arguments: Targuments..., cycle_length: int64, block_length: int64) -> "
        "(handle: variant)",
    .attrs = "f:func; Targuments:list(type)>=0; " BD_DATASET_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_FUNC_KERNEL(f, interleave_run),
    .doc =
        "`block_length` elements in turn of each of `cycle_length` datasets that a function makes of the elements.",
};

static void parallel_v2_run(bd_op_ctx *c)
{
    int64_t calls;
    if (!bd_input_scalar_int(c, c->input_count - 1, "num_parallel_calls", &calls)) return;
    if (calls <= 0 && calls != -1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_parallel_calls must be greater than zero.");
    else
        interleave(c, c->input_count - 3, true);
}

BD_OP(ParallelInterleaveDatasetV2) = {
    .signature =
        "(input_dataset: variant, other_arguments: Targuments..., cycle_length: int64, block_length: int64, "
        "num_parallel_calls: int64) -> (handle: variant)",
    .attrs = "f:func; Targuments:list(type)>=0; " BD_DATASET_ATTRS "; sloppy:bool=false",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_FUNC_KERNEL(f, parallel_v2_run),
    .deviation = "One data set is read at a time: prefetch in them to read ahead. Never out of order.",
    .doc = "InterleaveDataset; a cycle_length of -1 is as many as there are processors.",
};

static void parallel_run(bd_op_ctx *c)
{
    int64_t output, prefetch;
    int last = c->input_count - 1;
    if (!bd_input_scalar(c, last - 2, "sloppy", BRAID_BOOL) ||
        !bd_input_scalar_int(c, last - 1, "buffer_output_elements", &output) ||
        !bd_input_scalar_int(c, last, "prefetch_input_elements", &prefetch))
        return;
    if (output <= 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`buffer_output_elements` must be > 0");
    else if (prefetch < 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`prefetch_input_elements` must be >= 0");
    else
        interleave(c, last - 4, false);
}

#define PARALLEL_OP                                                                                               \
    {                                                                                                             \
        .signature =                                                                                              \
            "(input_dataset: variant, other_arguments: Targuments..., cycle_length: int64, block_length: int64, " \
            "sloppy: bool, buffer_output_elements: int64, prefetch_input_elements: int64) -> (handle: variant)",  \
        .attrs = "f:func; Targuments:list(type)>=0; " BD_DATASET_ATTRS, .flags = BD_OP_NOT_DIFFERENTIABLE,        \
        .shape = bd_shape_fn_scalar, .kernels = BD_FUNC_KERNEL(f, parallel_run),                                  \
        .deviation = "One data set is read at a time: prefetch in them to read ahead. Never out of order.",       \
        .doc = "InterleaveDataset."                                                                               \
    }

BD_OP(ParallelInterleaveDataset) = PARALLEL_OP;
BD_OP(ExperimentalParallelInterleaveDataset) = PARALLEL_OP;

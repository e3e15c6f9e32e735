// Datasets that take the elements of several datasets, which a function makes of the input's elements:
// FlatMapDataset, InterleaveDataset and its parallel forms.
//
// `cycle_length` datasets are open at a time, each in a slot. A slot gives `block_length` elements, then it
// is the next slot's turn. An empty slot is filled from the input when it has its turn. A flat map has one
// slot. The parallel forms give the same order, but fill all empty slots before they continue, and their
// datasets prefetch. In these an error counts as an element, given in the turn of its slot: an error of the
// input or of the function is the only element of the slot's dataset. Where they may give any order, a slot
// that has no element ready leaves its turn to the next one that has, and they wait for any.
#include "base/alloc.h"
#include "ops/dataset/function.h"
#include "ops/dataset/prefetch.h"

typedef struct interleave_dataset {
    bd_dataset base;
    bd_captured f;
    int64_t cycle_length, block_length;
    bd_order order; // of the parallel forms
    int64_t ahead;  // elements that each dataset gets ready, in the parallel forms
} interleave_dataset;

typedef enum slot_state {
    EMPTY,
    OPEN,
    FAILED, // an error waits for its turn
    SPENT   // it was given
} slot_state;

typedef struct slot {
    slot_state state;
    bd_iterator *open; // owned
    braid_status error;
} slot;

typedef struct interleave_iterator {
    bd_iterator base;
    slot *slots;             // [cycle_length]
    int64_t at;              // the slot whose turn it is
    int64_t given;           // elements of it in this turn
    int64_t filling;         // the slot that is filled from the input
    int64_t used;            // slots that are not empty
    int64_t made;            // datasets so far
    bool is_over;            // the input is
    bd_any_ready *any_ready; // a reference; NULL: elements come in order
} interleave_iterator;

// A slot takes memory before anything is in it.
#define CYCLE_MAX 65536
// More elements of each dataset are not got ready.
#define AHEAD_MAX 512

static const bd_dataset_kind parallel_kind;

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

static bool is_parallel(const bd_iterator *it)
{
    return it->dataset->kind == &parallel_kind;
}

static bd_turn interleave_next(bd_iterator *it);

static braid_code interleave_open(bd_iterator *it, braid_status *st)
{
    (void)st;
    if (is_parallel(it) && !bd_iterator_keeps_order(it, dataset_of(it->dataset)->order))
        iterator_of(it)->any_ready = bd_any_ready_new(it, interleave_next);
    iterator_of(it)->slots = bd_calloc((size_t)dataset_of(it->dataset)->cycle_length, sizeof(slot));
    return BRAID_OK;
}

static void interleave_close(bd_iterator *it)
{
    interleave_iterator *s = iterator_of(it);
    for (int64_t i = 0; s->slots && i < dataset_of(it->dataset)->cycle_length; i++) {
        bd_iterator_close(s->slots[i].open);
        bd_status_fini(&s->slots[i].error);
    }
    bd_free(s->slots);
    bd_any_ready_unref(s->any_ready);
}

static void next_slot(bd_iterator *it)
{
    interleave_iterator *s = iterator_of(it);
    s->at = (s->at + 1) % dataset_of(it->dataset)->cycle_length;
    s->given = 0;
}

static void count_given(bd_iterator *it)
{
    if (++iterator_of(it)->given == dataset_of(it->dataset)->block_length) next_slot(it);
}

// The slot whose turn it is becomes empty.
static void leave_slot(bd_iterator *it)
{
    interleave_iterator *s = iterator_of(it);
    s->slots[s->at].state = EMPTY;
    s->used--;
    next_slot(it);
}

// Returns whether a slot must be filled now, which is then s->filling.
static bool finds_empty(bd_iterator *it)
{
    interleave_iterator *s = iterator_of(it);
    int64_t cycle_length = dataset_of(it->dataset)->cycle_length;
    s->filling = s->at;
    if (s->is_over || s->used == cycle_length) return false;
    while (is_parallel(it) && s->slots[s->filling].state != EMPTY)
        s->filling = (s->filling + 1) % cycle_length;
    return s->slots[s->filling].state == EMPTY;
}

static bool is_ready(const slot *s)
{
    return s->state == FAILED || (s->state == OPEN && bd_prefetch_is_ready(s->open));
}

// In any order: gives the turn to the next slot that has an element ready. False: none has one.
static bool find_ready(bd_iterator *it)
{
    interleave_iterator *s = iterator_of(it);
    int64_t cycle_length = dataset_of(it->dataset)->cycle_length;
    for (int64_t i = 0; i < cycle_length; i++) {
        int64_t at = (s->at + i) % cycle_length;
        if (!is_ready(&s->slots[at])) continue;
        if (i > 0) s->given = 0;
        s->at = at;
        return true;
    }
    return false;
}

static bd_turn interleave_next(bd_iterator *it)
{
    interleave_iterator *s = iterator_of(it);
    for (;;) {
        slot *at = &s->slots[s->at];
        if (at->state == SPENT) {
            leave_slot(it);
            continue;
        }
        if (finds_empty(it)) return bd_pull(it, it->input);
        if (s->used == 0) return bd_give_end(it);
        if (at->state == OPEN && s->any_ready) {
            if (bd_any_ready_wait(s->any_ready, find_ready)) return BD_WAIT;
            at = &s->slots[s->at];
        }
        if (at->state == OPEN) return bd_pull(it, at->open);
        if (at->state == FAILED) {
            at->state = SPENT;
            count_given(it);
            return bd_give_error(it, &at->error);
        }
        next_slot(it);
    }
}

// The dataset of a slot could not be made.
static bd_turn fail_slot(bd_iterator *it, braid_status *st)
{
    interleave_iterator *s = iterator_of(it);
    if (!is_parallel(it) || bd_cancellation_is_cancelled(it->chain->token)) return bd_give_error(it, st);
    bd_status_move(&s->slots[s->filling].error, st);
    s->slots[s->filling].state = FAILED;
    s->used++;
    return interleave_next(it);
}

static bd_turn made(bd_iterator *it, void *arg, braid_tensor *rets, int ret_count, braid_status *st)
{
    (void)arg;
    interleave_iterator *s = iterator_of(it);
    const bd_dataset *promised = it->dataset;
    slot *filled = &s->slots[s->filling];
    bd_dataset *d = NULL, *ahead = NULL;
    if (!st->code && !bd_result_dataset(rets, ret_count, &d, st))
        bd_check_components(BD_COMPONENTS(promised), BD_COMPONENTS(d), st);
    if (!st->code && is_parallel(it)) bd_prefetch_dataset_new(d, dataset_of(promised)->ahead, &ahead, st);
    if (!st->code) bd_iterator_open(ahead ? ahead : d, it->chain, it, s->made++, &filled->open, st);
    bd_dataset_unref(ahead);
    if (st->code) return fail_slot(it, st);
    filled->state = OPEN;
    s->used++;
    if (ahead && s->any_ready) bd_prefetch_set_any_ready(filled->open, s->any_ready);
    if (ahead) bd_prefetch_begin(filled->open);
    return interleave_next(it);
}

static bd_turn input_received(bd_iterator *it, bd_iterator *from)
{
    if (from->answer.kind == BD_ANSWER_ERROR) return fail_slot(it, &from->answer.st);
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
        s->slots[s->at].open = NULL;
        leave_slot(it);
        return interleave_next(it);
    }
    if (from->answer.kind == BD_ANSWER_ELEMENT || is_parallel(it)) count_given(it);
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
static const bd_dataset_kind parallel_kind = INTERLEAVE_KIND("ParallelInterleave");

// ---- Ops ----

static void output_interleave(bd_op_ctx *c, const bd_dataset_kind *kind, int captured, int64_t cycle_length,
                              int64_t block_length, int64_t ahead, bd_order order)
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
    dataset_of(d)->order = order;
    dataset_of(d)->ahead = bd_min(ahead, AHEAD_MAX);
    bd_output_dataset(c, d);
}

// The length in a scalar input, which must be positive. False: the kernel has failed.
static bool read_length(bd_op_ctx *c, int i, const char *name, bool may_tune, int64_t *value)
{
    if (!bd_input_scalar_int(c, i, name, value)) return false;
    if (may_tune && *value == -1) *value = bd_cpu_count();
    if (*value <= 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`%s` must be > 0: %s must be greater than zero.", name, name);
    return *value > 0;
}

// The two lengths are inputs `at` and `at` + 1. A cycle_length of -1, where allowed, is the number of
// processors. `calls` is at most the cycle_length. In the parallel forms each dataset prefetches `ahead`
// elements (0: a block).
static void interleave(bd_op_ctx *c, const bd_dataset_kind *kind, int at, bool may_tune, int64_t calls,
                       int64_t ahead, bd_order order)
{
    int64_t cycle_length, block_length;
    if (!read_length(c, at, "cycle_length", may_tune, &cycle_length) ||
        !read_length(c, at + 1, "block_length", false, &block_length))
        return;
    if (cycle_length > CYCLE_MAX)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`cycle_length` must be <= %d", CYCLE_MAX);
    else if (calls > cycle_length)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_parallel_calls must less than or equal to cycle_length.");
    else
        output_interleave(c, kind, at - 1, cycle_length, block_length, ahead > 0 ? ahead : block_length,
                          order);
}

BD_DEFINE_FUNC_STATE(f, "f")

#define INTERLEAVE_OP(MORE_INPUTS, MORE_ATTRS, RUN, DEVIATION, DOC)                                          \
    {                                                                                                        \
        .signature =                                                                                         \
            "(input_dataset: variant, other_arguments: Targuments..." MORE_INPUTS ") -> (handle: variant)",  \
        .attrs = "f:func; Targuments:list(type)>=0; " BD_DATASET_ATTRS MORE_ATTRS,                           \
        .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar, .kernels = BD_FUNC_KERNEL(f, RUN),   \
        .deviation = (DEVIATION), .doc = (DOC)                                                               \
    }
#define METADATA "; " BD_DATASET_METADATA
#define DETERMINISTIC "; deterministic:string='default'; " BD_DATASET_METADATA
#define LENGTHS ", cycle_length: int64, block_length: int64"
#define BUFFERS ", buffer_output_elements: int64, prefetch_input_elements: int64"
#define CALLS ", num_parallel_calls: int64"

static void flat_map_run(bd_op_ctx *c)
{
    output_interleave(c, &flat_map_kind, c->input_count - 1, 1, INT64_MAX, 0, BD_ORDER_KEPT);
}

BD_OP(FlatMapDataset) = INTERLEAVE_OP(
    "", METADATA, flat_map_run, NULL,
    "The elements of the datasets that a function makes of each element, one dataset after the other.");

static void interleave_run(bd_op_ctx *c)
{
    interleave(c, &interleave_kind, c->input_count - 2, true, 0, 0, BD_ORDER_KEPT);
}

BD_OP(InterleaveDataset) = INTERLEAVE_OP(
    LENGTHS, METADATA, interleave_run, NULL,
    "`block_length` elements in turn of each of `cycle_length` datasets that a function makes of the elements.");

// ---- The parallel forms ----

static bool read_calls(bd_op_ctx *c, int64_t *calls)
{
    if (!bd_input_scalar_int(c, c->input_count - 1, "num_parallel_calls", calls)) return false;
    if (*calls > 0 || *calls == -1) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_parallel_calls must be greater than zero.");
    return false;
}

// Checks inputs `at` and `at` + 1, the buffer sizes. Braid chooses its own; -1 is allowed where `may_tune`.
static bool read_buffers(bd_op_ctx *c, int at, bool may_tune, int64_t *output)
{
    int64_t prefetch, least = may_tune ? -1 : 0;
    if (!bd_input_scalar_int(c, at, "buffer_output_elements", output) ||
        !bd_input_scalar_int(c, at + 1, "prefetch_input_elements", &prefetch))
        return false;
    if (*output <= 0 && !(may_tune && *output == -1))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`buffer_output_elements` must be > 0");
    else if (prefetch < least)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`prefetch_input_elements` must be >= 0");
    return !bd_op_failed(c);
}

static void parallel_v2_run(bd_op_ctx *c)
{
    int64_t calls;
    bd_order order;
    if (bd_order_of_attr(c, &order) && read_calls(c, &calls))
        interleave(c, &parallel_kind, c->input_count - 3, true, calls, 0, order);
}

BD_OP(ParallelInterleaveDatasetV2) = INTERLEAVE_OP(LENGTHS CALLS, "; sloppy:bool=false", parallel_v2_run,
                                                   BD_ANY_ORDER_SAVED,
                                                   "InterleaveDataset whose datasets prefetch concurrently.");
BD_OP(ParallelInterleaveDatasetV3) = INTERLEAVE_OP(LENGTHS CALLS, DETERMINISTIC, parallel_v2_run,
                                                   BD_ANY_ORDER_SAVED,
                                                   "InterleaveDataset whose datasets prefetch concurrently.");

static void parallel_v4_run(bd_op_ctx *c)
{
    int64_t calls, output;
    bd_order order;
    int last = c->input_count - 1;
    if (bd_order_of_attr(c, &order) && read_calls(c, &calls) && read_buffers(c, last - 2, true, &output))
        interleave(c, &parallel_kind, last - 4, true, calls, output, order);
}

BD_OP(ParallelInterleaveDatasetV4) = INTERLEAVE_OP(LENGTHS BUFFERS CALLS, DETERMINISTIC, parallel_v4_run,
                                                   BD_ANY_ORDER_SAVED,
                                                   "InterleaveDataset whose datasets prefetch concurrently.");

static void legacy_run(bd_op_ctx *c)
{
    int64_t output;
    bd_order order;
    int last = c->input_count - 1;
    if (bd_order_of_attr(c, &order) && read_buffers(c, last - 1, false, &output))
        interleave(c, &parallel_kind, last - 3, false, 0, output, order);
}

BD_OP(LegacyParallelInterleaveDatasetV2) =
    INTERLEAVE_OP(LENGTHS BUFFERS, DETERMINISTIC, legacy_run, BD_ANY_ORDER_SAVED,
                  "InterleaveDataset whose datasets prefetch concurrently.");

static void sloppy_run(bd_op_ctx *c)
{
    int64_t output;
    int last = c->input_count - 1;
    if (bd_input_scalar(c, last - 2, "sloppy", BRAID_BOOL) && read_buffers(c, last - 1, false, &output))
        interleave(c, &parallel_kind, last - 4, false, 0, output,
                   bd_tensor_bool(bd_input(c, last - 2))[0] ? BD_ORDER_ANY : BD_ORDER_KEPT);
}

#define SLOPPY_OP                                                                                            \
    INTERLEAVE_OP(LENGTHS ", sloppy: bool" BUFFERS, "", sloppy_run, BD_ANY_ORDER_SAVED,                      \
                  "InterleaveDataset whose datasets prefetch concurrently.")

BD_OP(ParallelInterleaveDataset) = SLOPPY_OP;
BD_OP(ExperimentalParallelInterleaveDataset) = SLOPPY_OP;

// Datasets one after the other and side by side: RepeatDataset, ConcatenateDataset, ZipDataset,
// DirectedInterleaveDataset.
#include "base/alloc.h"
#include "ops/dataset/dataset.h"
#include "ops/dataset/shuffle.h"

// ---- RepeatDataset ----

typedef struct repeat_dataset {
    bd_dataset base;
    int64_t count; // negative: without end
} repeat_dataset;

typedef struct repeat_iterator {
    bd_iterator base;
    int64_t done;     // completed passes over the input
    bool has_element; // the input has answered since it was opened
} repeat_iterator;

static int64_t repeat_count(const bd_dataset *d)
{
    int64_t n = bd_cardinality_of_input(d), count = BD_CONTAINER_OF(d, repeat_dataset, base)->count, all;
    if (count == 0 || n == 0) return 0;
    if (count < 0) return BD_CARDINALITY_INFINITE;
    if (n < 0) return n;
    return __builtin_mul_overflow(n, count, &all) ? INT64_MAX : all;
}

static bd_turn repeat_next(bd_iterator *it)
{
    return BD_CONTAINER_OF(it->dataset, repeat_dataset, base)->count == 0 ? bd_give_end(it)
                                                                          : bd_pull(it, it->input);
}

static bd_turn repeat_received(bd_iterator *it, bd_iterator *from)
{
    BD_STATUS(st);
    repeat_iterator *r = BD_CONTAINER_OF(it, repeat_iterator, base);
    int64_t count = BD_CONTAINER_OF(it->dataset, repeat_dataset, base)->count;
    if (from->answer.kind != BD_ANSWER_END) {
        r->has_element = true;
        return bd_pass(it, from);
    }
    // An endless repetition of an empty input ends at once.
    if (count < 0 && !r->has_element) return bd_give_end(it);
    r->has_element = false;
    // The input is opened anew after the last time, too, since TensorFlow does so, which draws seeds where it
    // shuffles.
    if (bd_iterator_reopen_input(it, st)) return bd_give_error(it, st);
    return ++r->done == count ? bd_give_end(it) : bd_pull(it, it->input);
}

// Under TensorFlow's rewrites a single pass has no RepeatDataset, which so is not fused.
static bd_dataset *repeat_rewrite(const bd_dataset *d, unsigned rewrites)
{
    const int64_t count = BD_CONTAINER_OF(d, repeat_dataset, base)->count;
    if (!(rewrites & BD_REWRITE_SHUFFLE_AND_REPEAT) || count == 0 || count == 1) return NULL;
    return bd_dataset_shuffle_and_repeat(d->inputs[0], count < 0 ? -1 : count);
}

static const bd_dataset_kind repeat_kind = {
    .name = "Repeat",
    .dataset_size = sizeof(repeat_dataset),
    .iterator_size = sizeof(repeat_iterator),
    .opens_input = true,
    .cardinality = repeat_count,
    .rewrite = repeat_rewrite,
    .next = repeat_next,
    .received = repeat_received,
};

static void repeat_run(bd_op_ctx *c)
{
    int64_t count;
    if (!bd_input_scalar_int(c, 1, "count", &count)) return;
    bd_dataset *d = bd_dataset_over_input(c, &repeat_kind);
    if (!d) return;
    BD_CONTAINER_OF(d, repeat_dataset, base)->count = count;
    bd_output_dataset(c, d);
}

BD_OP(RepeatDataset) = {
    .signature = "(input_dataset: variant, count: int64) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS "; " BD_DATASET_METADATA,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = repeat_run}),
    .doc = "Repeats a dataset `count` times; without end when it is negative.",
};

// ---- Several inputs ----

typedef struct several_iterator {
    bd_iterator base;
    bd_iterator **inputs; // [input_count of the dataset], owned; NULL: not open
    int at;               // the one that is pulled next
    int filled;           // of a zip: the number of components received
    int open_count;       // of a directed interleave: data inputs that are not over
} several_iterator;

static several_iterator *several_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, several_iterator, base);
}

static braid_code open_several(bd_iterator *it, int count, braid_status *st)
{
    several_iterator *s = several_of(it);
    s->inputs = bd_calloc((size_t)it->dataset->input_count, sizeof(bd_iterator *));
    for (int i = 0; i < count; i++) {
        braid_code code = bd_iterator_open(it->dataset->inputs[i], it->chain, it, i, &s->inputs[i], st);
        if (code) return code;
    }
    return BRAID_OK;
}

static void close_several(bd_iterator *it)
{
    several_iterator *s = several_of(it);
    for (int i = 0; s->inputs && i < it->dataset->input_count; i++)
        bd_iterator_close(s->inputs[i]);
    bd_free(s->inputs);
}

// ---- ConcatenateDataset ----

static int64_t concatenate_count(const bd_dataset *d)
{
    int64_t a = bd_dataset_cardinality(d->inputs[0]), b = bd_dataset_cardinality(d->inputs[1]), all;
    if (a == BD_CARDINALITY_INFINITE || b == BD_CARDINALITY_INFINITE) return BD_CARDINALITY_INFINITE;
    if (a < 0 || b < 0) return BD_CARDINALITY_UNKNOWN;
    return __builtin_add_overflow(a, b, &all) ? INT64_MAX : all;
}

// The second one is opened when the first is over.
static braid_code concatenate_open(bd_iterator *it, braid_status *st)
{
    return open_several(it, 1, st);
}

static bd_turn concatenate_next(bd_iterator *it)
{
    several_iterator *s = several_of(it);
    return bd_pull(it, s->inputs[s->at]);
}

static bd_turn concatenate_received(bd_iterator *it, bd_iterator *from)
{
    BD_STATUS(st);
    several_iterator *s = several_of(it);
    if (from->answer.kind != BD_ANSWER_END || s->at == 1) return bd_pass(it, from);
    s->at = 1;
    bd_iterator_close(s->inputs[0]);
    s->inputs[0] = NULL;
    it->has_ended = bd_iterator_open(it->dataset->inputs[1], it->chain, it, 1, &s->inputs[1], st) != BRAID_OK;
    return it->has_ended ? bd_give_error(it, st) : bd_pull(it, s->inputs[1]);
}

static const bd_dataset_kind concatenate_kind = {
    .name = "Concatenate",
    .dataset_size = sizeof(bd_dataset),
    .iterator_size = sizeof(several_iterator),
    .cardinality = concatenate_count,
    .open = concatenate_open,
    .next = concatenate_next,
    .received = concatenate_received,
    .close = close_several,
};

// The common part of both shapes.
static braid_shape common_shape(const braid_shape *a, const braid_shape *b)
{
    if (a->rank != b->rank || a->rank < 0) return BD_SHAPE_UNKNOWN;
    braid_shape common = *a;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i]) common.dims[i] = -1;
    return common;
}

static bool same_types(bd_op_ctx *c, const bd_dataset *a, const bd_dataset *b, const char *what)
{
    bool same = a->count == b->count;
    for (int i = 0; i < a->count && same; i++)
        same = a->types[i] == b->types[i];
    if (!same)
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "%s have different output_types: %d components, of which the first is %s, and %d, of which the "
            "first is %s",
            what, a->count, braid_dtype_name(a->types[0]), b->count, braid_dtype_name(b->types[0]));
    return same;
}

static void concatenate_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_dataset *inputs[2], *d;
    for (int i = 0; i < 2; i++) {
        inputs[i] = bd_input_dataset(c, i);
        if (!inputs[i]) return;
    }
    if (!same_types(c, inputs[0], inputs[1], "input dataset and dataset to concatenate")) return;
    if (bd_dataset_new(&concatenate_kind,
                       (bd_components){.count = inputs[0]->count, .types = inputs[0]->types}, inputs, 2, &d,
                       st)) {
        bd_op_fail_status(c, st);
        return;
    }
    for (int i = 0; i < d->count; i++)
        d->shapes[i] = common_shape(&inputs[0]->shapes[i], &inputs[1]->shapes[i]);
    bd_output_dataset(c, d);
}

BD_OP(ConcatenateDataset) = {
    .signature = "(input_dataset: variant, another_dataset: variant) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS "; " BD_DATASET_METADATA,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = concatenate_run}),
    .doc = "The elements of one dataset, then those of another.",
};

// ---- ZipDataset ----

static int64_t zip_count(const bd_dataset *d)
{
    int64_t least = BD_CARDINALITY_INFINITE;
    for (int i = 0; i < d->input_count; i++) {
        int64_t n = bd_dataset_cardinality(d->inputs[i]);
        if (n == BD_CARDINALITY_UNKNOWN) return n;
        if (n >= 0 && (least < 0 || n < least)) least = n;
    }
    return least;
}

static braid_code zip_open(bd_iterator *it, braid_status *st)
{
    return open_several(it, it->dataset->input_count, st);
}

static bd_turn zip_next(bd_iterator *it)
{
    several_iterator *s = several_of(it);
    s->at = s->filled = 0;
    return bd_pull(it, s->inputs[0]);
}

static bd_turn zip_received(bd_iterator *it, bd_iterator *from)
{
    several_iterator *s = several_of(it);
    if (from->answer.kind != BD_ANSWER_ELEMENT) {
        bd_tensors_fini(it->answer.tensors, s->filled);
        return bd_pass(it, from);
    }
    bd_answer_take(from, it->answer.tensors + s->filled);
    s->filled += from->dataset->count;
    return ++s->at == it->dataset->input_count ? bd_give(it) : bd_pull(it, s->inputs[s->at]);
}

static const bd_dataset_kind zip_kind = {
    .name = "Zip",
    .dataset_size = sizeof(bd_dataset),
    .iterator_size = sizeof(several_iterator),
    .cardinality = zip_count,
    .open = zip_open,
    .next = zip_next,
    .received = zip_received,
    .close = close_several,
};

static void zip_fill(bd_dataset *d)
{
    for (int i = 0, at = 0; i < d->input_count; i++) {
        for (int k = 0; k < d->inputs[i]->count; k++, at++) {
            d->types[at] = d->inputs[i]->types[k];
            d->shapes[at] = d->inputs[i]->shapes[k];
        }
    }
}

// A zip of zips of the same dataset doubles its components at each level.
#define ZIP_COMPONENTS_MAX 10000

static void zip_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    int count = 0;
    bd_dataset *d, **inputs = bd_calloc((size_t)c->input_count, sizeof(bd_dataset *));
    for (int i = 0; i < c->input_count && !bd_op_failed(c); i++) {
        inputs[i] = bd_input_dataset(c, i);
        if (inputs[i]) count += inputs[i]->count;
        if (count > ZIP_COMPONENTS_MAX)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "A dataset of more than %d components", ZIP_COMPONENTS_MAX);
    }
    if (!bd_op_failed(c) &&
        bd_dataset_new(&zip_kind, (bd_components){.count = count}, inputs, c->input_count, &d, st))
        bd_op_fail_status(c, st);
    bd_free(inputs);
    if (bd_op_failed(c)) return;
    zip_fill(d);
    bd_output_dataset(c, d);
}

BD_OP(ZipDataset) = {
    .signature = "(input_datasets: N*variant) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS "; N:int>=1; " BD_DATASET_METADATA,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = zip_run}),
    .doc = "Elements of several datasets side by side, as long as each has one.",
};

// ---- DirectedInterleaveDataset: the first input selects the dataset of the next element ----

typedef struct directed_dataset {
    bd_dataset base;
    bool stops_on_empty; // ends with the first input that is over; else with the last
} directed_dataset;

static braid_code directed_open(bd_iterator *it, braid_status *st)
{
    several_of(it)->open_count = it->dataset->input_count - 1;
    return open_several(it, it->dataset->input_count, st);
}

static bd_turn directed_next(bd_iterator *it)
{
    return bd_pull(it, several_of(it)->inputs[0]);
}

static bd_turn selected(bd_iterator *it, bd_iterator *selector)
{
    several_iterator *s = several_of(it);
    const braid_tensor *t = &selector->answer.tensors[0];
    int64_t inputs = it->dataset->input_count - 1, index;
    if (selector->answer.kind != BD_ANSWER_ELEMENT) return bd_pass(it, selector);
    bool is_index = t->dtype == BRAID_INT64 && t->shape.rank == 0;
    index = is_index ? bd_tensor_i64(t)[0] : -1;
    bd_answer_drop(selector);
    if (!is_index)
        return bd_give_failure(it, BRAID_INVALID_ARGUMENT, "The selector must give scalars of int64.");
    if (index < 0 || index >= inputs)
        return bd_give_failure(it, BRAID_INVALID_ARGUMENT, "Selector index out of range: %lld >= %lld",
                               (long long)index, (long long)inputs);
    s->at = (int)index + 1;
    return s->inputs[s->at] ? bd_pull(it, s->inputs[s->at]) : bd_pull(it, selector);
}

static bd_turn directed_received(bd_iterator *it, bd_iterator *from)
{
    several_iterator *s = several_of(it);
    if (from == s->inputs[0]) return selected(it, from);
    if (from->answer.kind != BD_ANSWER_END ||
        BD_CONTAINER_OF(it->dataset, directed_dataset, base)->stops_on_empty)
        return bd_pass(it, from);
    bd_iterator_close(from);
    s->inputs[s->at] = NULL;
    return --s->open_count > 0 ? bd_pull(it, s->inputs[0]) : bd_give_end(it);
}

static const bd_dataset_kind directed_kind = {
    .name = "DirectedInterleave",
    .dataset_size = sizeof(directed_dataset),
    .iterator_size = sizeof(several_iterator),
    .open = directed_open,
    .next = directed_next,
    .received = directed_received,
    .close = close_several,
};

static void directed_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_dataset *d, **inputs = bd_calloc((size_t)c->input_count, sizeof(bd_dataset *));
    for (int i = 0; i < c->input_count && !bd_op_failed(c); i++) {
        inputs[i] = bd_input_dataset(c, i);
        if (i > 1 && inputs[i]) same_types(c, inputs[1], inputs[i], "data_input_datasets");
    }
    if (!bd_op_failed(c) &&
        bd_dataset_new(&directed_kind, BD_COMPONENTS(inputs[1]), inputs, c->input_count, &d, st))
        bd_op_fail_status(c, st);
    if (!bd_op_failed(c)) {
        for (int i = 2; i < c->input_count; i++)
            for (int k = 0; k < d->count; k++)
                d->shapes[k] = common_shape(&d->shapes[k], &inputs[i]->shapes[k]);
        BD_CONTAINER_OF(d, directed_dataset, base)->stops_on_empty =
            bd_node_attr_bool(c->node, "stop_on_empty_dataset");
        bd_output_dataset(c, d);
    }
    bd_free(inputs);
}

#define DIRECTED_OP                                                                                             \
    {                                                                                                           \
        .signature =                                                                                            \
            "(selector_input_dataset: variant, data_input_datasets: N*variant) -> (handle: variant)",           \
        .attrs = BD_DATASET_ATTRS "; N:int>=1; +stop_on_empty_dataset:bool=false",                              \
        .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar,                                         \
        .kernels = BD_KERNELS({.run = directed_run}),                                                           \
        .doc =                                                                                                  \
            "Elements of several datasets; the first dataset gives the number of the dataset for each element." \
    }

BD_OP(DirectedInterleaveDataset) = DIRECTED_OP;
BD_OP(ExperimentalDirectedInterleaveDataset) = DIRECTED_OP;

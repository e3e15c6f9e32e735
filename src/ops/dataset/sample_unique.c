// Datasets that leave elements out by chance or because they were there before: SamplingDataset,
// UniqueDataset.
#include "base/alloc.h"
#include "base/map.h"
#include "base/strbuf.h"
#include "kernels/random_convert.h"
#include "ops/common/philox_stream.h"
#include "ops/dataset/dataset.h"
#include <string.h>

typedef struct sift_dataset {
    bd_dataset base;
    float rate; // of a sample
    int64_t seeds[2];
    bool has_random_seeds;
} sift_dataset;

typedef struct sift_iterator {
    bd_iterator base;
    bd_philox_stream stream;
    bd_map seen; // the elements given so far, as key_of writes them
} sift_iterator;

static sift_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, sift_iterator, base);
}

static bd_turn pull_input(bd_iterator *it)
{
    return bd_pull(it, it->input);
}

// ---- SamplingDataset ----

static braid_code sampling_open(bd_iterator *it, braid_status *st)
{
    (void)st;
    const sift_dataset *d = BD_CONTAINER_OF(it->dataset, sift_dataset, base);
    int64_t seeds[2] = {d->seeds[0], d->seeds[1]};
    if (d->has_random_seeds) bd_iterator_note_seeds(it, seeds);
    iterator_of(it)->stream = bd_philox_stream_init((uint64_t)seeds[0], (uint64_t)seeds[1]);
    return BRAID_OK;
}

static bd_turn sampling_received(bd_iterator *it, bd_iterator *from)
{
    float rate = BD_CONTAINER_OF(it->dataset, sift_dataset, base)->rate;
    if (from->answer.kind != BD_ANSWER_ELEMENT ||
        bd_uniform_f32(bd_philox_stream_next(&iterator_of(it)->stream)) < rate)
        return bd_pass(it, from);
    bd_answer_drop(from);
    return bd_pull(it, from);
}

static const bd_dataset_kind sampling_kind = {
    .name = "Sampling",
    .dataset_size = sizeof(sift_dataset),
    .iterator_size = sizeof(sift_iterator),
    .opens_input = true,
    .open = sampling_open,
    .next = pull_input,
    .received = sampling_received,
};

static void sampling_run(bd_op_ctx *c)
{
    int64_t seeds[2];
    if (!bd_input_scalar(c, 1, "rate", BRAID_FLOAT) || !bd_input_scalar_int(c, 2, "seed", &seeds[0]) ||
        !bd_input_scalar_int(c, 3, "seed2", &seeds[1]))
        return;
    bd_dataset *made = bd_dataset_over_input(c, &sampling_kind);
    if (!made) return;
    sift_dataset *d = BD_CONTAINER_OF(made, sift_dataset, base);
    d->has_random_seeds = bd_seeds_or_random(&seeds[0], &seeds[1]);
    memcpy(d->seeds, seeds, sizeof seeds);
    d->rate = bd_tensor_f32(bd_input(c, 1))[0];
    bd_output_dataset(c, made);
}

BD_OP(SamplingDataset) = {
    .signature = "(input_dataset: variant, rate: float, seed: int64, seed2: int64) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = sampling_run}),
    .doc = "Each element of a dataset with probability `rate`, the same ones each time for the same seeds.",
};

// ---- UniqueDataset ----

static void append_word(bd_strbuf *key, uint64_t word)
{
    bd_strbuf_append_n(key, (const char *)&word, sizeof word);
}

// Tensors have the same key if they have the same shape and elements.
static bd_strbuf key_of(const braid_tensor *t)
{
    bd_strbuf key = {0};
    append_word(&key, (uint64_t)t->shape.rank);
    for (int i = 0; i < t->shape.rank; i++)
        append_word(&key, (uint64_t)t->shape.dims[i]);
    if (t->dtype != BRAID_STRING) {
        bd_strbuf_append_n(&key, t->data, (size_t)bd_tensor_count(t) * braid_dtype_size(t->dtype));
        return key;
    }
    for (int64_t i = 0; i < bd_tensor_count(t); i++) {
        const bd_string *s = &bd_tensor_str(t)[i];
        append_word(&key, s->len);
        if (s->len) bd_strbuf_append_n(&key, s->data, s->len);
    }
    return key;
}

static bd_turn unique_received(bd_iterator *it, bd_iterator *from)
{
    sift_iterator *s = iterator_of(it);
    if (from->answer.kind != BD_ANSWER_ELEMENT) return bd_pass(it, from);
    bd_strbuf key = key_of(&from->answer.tensors[0]);
    bool is_new = !bd_map_put_n(&s->seen, bd_strbuf_str(&key), key.len, s);
    bd_strbuf_fini(&key);
    if (is_new) return bd_pass(it, from);
    bd_answer_drop(from);
    return bd_pull(it, from);
}

static void unique_close(bd_iterator *it)
{
    bd_map_fini(&iterator_of(it)->seen);
}

static const bd_dataset_kind unique_kind = {
    .name = "Unique",
    .dataset_size = sizeof(bd_dataset),
    .iterator_size = sizeof(sift_iterator),
    .opens_input = true,
    .next = pull_input,
    .received = unique_received,
    .close = unique_close,
};

static void unique_run(bd_op_ctx *c)
{
    bd_dataset *d = bd_dataset_over_input(c, &unique_kind);
    if (!d) return;
    if (d->count != 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "UniqueDataset only supports inputs with a single component.");
    else if (d->types[0] != BRAID_INT32 && d->types[0] != BRAID_INT64 && d->types[0] != BRAID_STRING)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "UniqueDataset only supports inputs with a single `tf.int32`, `tf.int64`, or `tf.string` "
                   "component.");
    if (bd_op_failed(c))
        bd_dataset_unref(d);
    else
        bd_output_dataset(c, d);
}

#define UNIQUE_OP                                                                                            \
    {                                                                                                        \
        .signature = "(input_dataset: variant) -> (handle: variant)", .attrs = BD_DATASET_ATTRS,             \
        .flags = BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalar,                                      \
        .kernels = BD_KERNELS({.run = unique_run}),                                                          \
        .doc = "The elements of a dataset without those that were there before."                             \
    }

BD_OP(UniqueDataset) = UNIQUE_OP;
BD_OP(ExperimentalUniqueDataset) = UNIQUE_OP;

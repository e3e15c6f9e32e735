// ShuffleDataset: gives elements at random from a buffer, with TensorFlow's random streams, so that the same
// seeds give the same order.
//
// The buffer is a ring. The elements of one pass over the input are a slice of it, and all of the first slice
// are given before any of the next. An element is drawn from the first slice, and the slice's first element
// takes its place. Positions only grow; an index is a position modulo the ring's size.
//
// With reshuffle_each_iteration each pass has seeds of its own, from a generator that the iterators of a
// pipeline share by path. ShuffleDatasetV2 has a generator that all pipelines over it share.
#include "ops/dataset/shuffle.h"
#include "base/alloc.h"
#include "base/array.h"
#include "ops/common/handle.h"
#include "ops/common/philox_stream.h"
#include "ops/dataset/dataset.h"
#include "ops/dataset/seeds.h"
#include <string.h>

// ---- The iterator ----

typedef struct shuffle_dataset {
    bd_dataset base;
    int64_t buffer_size, count; // count: passes over the input; -1: without end
    int64_t seeds[2];
    bool reshuffles, has_random_seeds;
    bd_resource *generator; // a reference; NULL: one for each pipeline
} shuffle_dataset;

typedef struct slice {
    int64_t start, end; // positions
} slice;

// With more passes than these in the buffer only one element is added for each that is given; TensorFlow's
// bound.
#define SLICES_MAX 3

typedef struct shuffle_iterator {
    bd_iterator base;
    bd_philox_stream stream;
    braid_tensor *ring; // [capacity] elements; grows up to the buffer's size
    int64_t capacity;
    BD_ARRAY(slice) slices; // never empty; the last one is being filled
    int64_t held;           // elements in the ring
    int64_t epoch;          // passes that are over
    bool has_begun, has_element;
} shuffle_iterator;

static shuffle_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, shuffle_dataset, base);
}

static shuffle_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, shuffle_iterator, base);
}

static void destroy(bd_dataset *d)
{
    bd_resource_unref(dataset_of(d)->generator);
}

static int64_t cardinality(const bd_dataset *base)
{
    int64_t n = bd_cardinality_of_input(base), count = dataset_of(base)->count, all;
    if (count == -1) return BD_CARDINALITY_INFINITE;
    if (n < 0) return n;
    return __builtin_mul_overflow(n, count, &all) ? INT64_MAX : all;
}

static braid_code shuffle_open(bd_iterator *it, braid_status *st)
{
    shuffle_dataset *d = dataset_of(it->dataset);
    shuffle_iterator *s = iterator_of(it);
    bd_array_push(&s->slices, (slice){0});
    bd_seed_generator_spec spec = {.seeds = {d->seeds[0], d->seeds[1]}};
    if (d->has_random_seeds) bd_iterator_note_seeds(it, spec.seeds);
    s->stream = bd_philox_stream_init((uint64_t)spec.seeds[0], (uint64_t)spec.seeds[1]);
    if (!d->reshuffles) return BRAID_OK;
    bd_resource *generator = d->generator ? bd_resource_ref(d->generator) : NULL;
    braid_code code = BRAID_OK;
    if (!generator) {
        char *name = bd_iterator_shared_name(it, "RandomSeedGenerator");
        code = bd_resources_lookup_or_create(
            it->chain->pipeline->resources,
            &(bd_resource_spec){"tf_data", name, &bd_seed_generator_type, bd_seed_generator_create, &spec},
            &generator, st);
        bd_free(name);
    }
    if (!code) s->stream = bd_seed_generator_stream(generator);
    bd_resource_unref(generator);
    return code;
}

static braid_tensor *element_at(bd_iterator *it, int64_t position)
{
    const shuffle_iterator *s = iterator_of(it);
    BD_ASSERT(s->capacity > 0);
    return &s->ring[position % s->capacity * it->dataset->count];
}

// Enlarges the ring and moves its elements to their places in the new size.
static void grow(bd_iterator *it)
{
    shuffle_iterator *s = iterator_of(it);
    int64_t buffer_size = dataset_of(it->dataset)->buffer_size, old_capacity = s->capacity;
    size_t count = (size_t)it->dataset->count;
    braid_tensor *old = s->ring;
    s->capacity = old_capacity == 0 ? 16 : old_capacity * 2;
    if (s->capacity > buffer_size) s->capacity = buffer_size;
    s->ring = bd_calloc((size_t)s->capacity * count, sizeof *s->ring);
    for (size_t i = 0; old_capacity > 0 && i < s->slices.len; i++)
        for (int64_t at = s->slices.items[i].start; at < s->slices.items[i].end; at++)
            memcpy(element_at(it, at), &old[at % old_capacity * (int64_t)count], count * sizeof *old);
    bd_free(old);
}

static void put_into_buffer(bd_iterator *it, bd_iterator *from)
{
    shuffle_iterator *s = iterator_of(it);
    if (s->held == s->capacity) grow(it);
    slice *last = &s->slices.items[s->slices.len - 1];
    bd_answer_take(from, element_at(it, last->end));
    last->end++;
    s->held++;
}

static bd_turn draw(bd_iterator *it)
{
    shuffle_iterator *s = iterator_of(it);
    size_t size = (size_t)it->dataset->count * sizeof(braid_tensor);
    size_t empty = 0;
    if (s->held == 0) return bd_give_end(it);
    while (s->slices.items[empty].start == s->slices.items[empty].end)
        empty++;
    s->slices.len -= empty;
    memmove(s->slices.items, s->slices.items + empty, s->slices.len * sizeof(slice));
    slice *first = &s->slices.items[0];
    braid_tensor *front = element_at(it, first->start),
                 *drawn = element_at(it, first->start +
                                             bd_philox_stream_next(&s->stream) % (first->end - first->start));
    memcpy(it->answer.tensors, drawn, size);
    memcpy(drawn, front, size);
    memset(front, 0, size);
    first->start++;
    s->held--;
    return bd_give(it);
}

static bool has_room(bd_iterator *it)
{
    return it->input && iterator_of(it)->held < dataset_of(it->dataset)->buffer_size;
}

// Fills the buffer, then draws from it. The input is opened when the first element is wanted, as in
// TensorFlow: an iterator that is opened and not used draws no seeds of its input's.
static bd_turn shuffle_next(bd_iterator *it)
{
    BD_STATUS(st);
    shuffle_iterator *s = iterator_of(it);
    if (!s->has_begun && bd_iterator_reopen_input(it, st)) return bd_give_error(it, st);
    s->has_begun = true;
    return has_room(it) ? bd_pull(it, it->input) : draw(it);
}

static void start_slice(shuffle_iterator *s)
{
    slice last = s->slices.items[s->slices.len - 1];
    if (last.start < last.end || s->slices.len == 1) bd_array_push(&s->slices, (slice){last.end, last.end});
}

// A pass over the input is over. The input is opened anew after the last one too, since TensorFlow does so,
// which draws seeds where the input shuffles.
static bd_turn next_pass(bd_iterator *it)
{
    BD_STATUS(st);
    shuffle_iterator *s = iterator_of(it);
    int64_t count = dataset_of(it->dataset)->count;
    if (count == -1 && !s->has_element) return bd_give_end(it);
    start_slice(s);
    if (bd_iterator_reopen_input(it, st)) return bd_give_error(it, st);
    if (count == -1 || ++s->epoch < count) return bd_pull(it, it->input);
    bd_iterator_close(it->input);
    it->input = NULL;
    return draw(it);
}

static bd_turn shuffle_received(bd_iterator *it, bd_iterator *from)
{
    shuffle_iterator *s = iterator_of(it);
    if (from->answer.kind == BD_ANSWER_ERROR) return bd_pass(it, from);
    if (from->answer.kind == BD_ANSWER_END) return next_pass(it);
    s->has_element = true;
    put_into_buffer(it, from);
    return has_room(it) && s->slices.len <= SLICES_MAX ? bd_pull(it, from) : draw(it);
}

static void shuffle_close(bd_iterator *it)
{
    shuffle_iterator *s = iterator_of(it);
    for (int64_t i = 0; i < s->capacity * it->dataset->count; i++)
        bd_tensor_fini(&s->ring[i]);
    bd_free(s->ring);
    bd_array_free(&s->slices);
}

#define SHUFFLE_KIND(NAME)                                                                                   \
    {                                                                                                        \
        .name = (NAME), .dataset_size = sizeof(shuffle_dataset), .iterator_size = sizeof(shuffle_iterator),  \
        .destroy = destroy, .cardinality = cardinality, .open = shuffle_open, .next = shuffle_next,          \
        .received = shuffle_received, .close = shuffle_close                                                 \
    }

static const bd_dataset_kind shuffle_kind = SHUFFLE_KIND("Shuffle");
static const bd_dataset_kind repeat_kind = SHUFFLE_KIND("ShuffleAndRepeat");

bd_dataset *bd_dataset_shuffle_and_repeat(const bd_dataset *shuffle, int64_t count)
{
    const shuffle_dataset *from = shuffle->kind == &shuffle_kind ? dataset_of(shuffle) : NULL;
    if (!from || !from->reshuffles || from->generator) return NULL;
    BD_STATUS(st);
    bd_dataset *d;
    if (bd_dataset_new(&repeat_kind, BD_COMPONENTS(shuffle), shuffle->inputs, 1, &d, st)) return NULL;
    shuffle_dataset *s = dataset_of(d);
    s->buffer_size = from->buffer_size;
    s->count = count;
    memcpy(s->seeds, from->seeds, sizeof s->seeds);
    s->has_random_seeds = from->has_random_seeds;
    return d;
}

// ---- Ops ----

static shuffle_dataset *new_shuffle(bd_op_ctx *c, const bd_dataset_kind *kind)
{
    int64_t buffer_size;
    if (!bd_input_scalar_int(c, 1, "buffer_size", &buffer_size)) return NULL;
    if (buffer_size <= 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "buffer_size must be greater than zero.");
        return NULL;
    }
    bd_dataset *d = bd_dataset_over_input(c, kind);
    if (!d) return NULL;
    dataset_of(d)->buffer_size = buffer_size;
    dataset_of(d)->count = 1;
    return dataset_of(d);
}

static bool read_seeds(bd_op_ctx *c, int64_t seeds[2], bool *are_random)
{
    if (!bd_input_scalar_int(c, 2, "seed", &seeds[0]) || !bd_input_scalar_int(c, 3, "seed2", &seeds[1]))
        return false;
    *are_random = bd_seeds_or_random(&seeds[0], &seeds[1]);
    return true;
}

static void shuffle_run(bd_op_ctx *c)
{
    int64_t seeds[2];
    bool are_random;
    shuffle_dataset *d = read_seeds(c, seeds, &are_random) ? new_shuffle(c, &shuffle_kind) : NULL;
    if (!d) return;
    d->has_random_seeds = are_random;
    memcpy(d->seeds, seeds, sizeof seeds);
    d->reshuffles = bd_node_attr_bool(c->node, "reshuffle_each_iteration");
    bd_output_dataset(c, &d->base);
}

BD_OP(ShuffleDataset) = {
    .signature =
        "(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64) -> (handle: variant)",
    .attrs = "reshuffle_each_iteration:bool=true; " BD_DATASET_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = shuffle_run}),
    .doc =
        "Elements drawn at random from a buffer of the next `buffer_size`; with seeds, in the same order each time.",
};

static bool read_count(bd_op_ctx *c, int64_t *count)
{
    if (!bd_input_scalar_int(c, 4, "count", count)) return false;
    if (*count > 0 || *count == -1) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "count must be greater than zero or equal to -1.");
    return false;
}

static void shuffle_and_repeat_run(bd_op_ctx *c)
{
    int64_t seeds[2], count;
    bool are_random;
    if (!read_seeds(c, seeds, &are_random) || !read_count(c, &count)) return;
    shuffle_dataset *d = new_shuffle(c, &repeat_kind);
    if (!d) return;
    memcpy(d->seeds, seeds, sizeof seeds);
    d->has_random_seeds = are_random;
    d->count = count;
    bd_output_dataset(c, &d->base);
}

BD_OP(ShuffleAndRepeatDataset) = {
    .signature =
        "(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64, count: int64) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = shuffle_and_repeat_run}),
    .doc =
        "A dataset `count` times over (-1: without end), each time shuffled, the buffer filled across the passes.",
};

static void output_with_generator(bd_op_ctx *c, const bd_dataset_kind *kind, int generator_input,
                                  int64_t count)
{
    int64_t seeds[2];
    bool are_random;
    if (!read_seeds(c, seeds, &are_random)) return;
    bd_resource *generator = bd_input_seed_generator(c, generator_input, seeds,
                                                     !bd_node_attr_bool(c->node, "reshuffle_each_iteration"));
    shuffle_dataset *d = generator ? new_shuffle(c, kind) : NULL;
    if (!d) {
        bd_resource_unref(generator);
        return;
    }
    d->reshuffles = true;
    d->generator = generator;
    d->base.state = c->node->def->name; // other pipelines draw from it, too
    d->count = count;
    bd_output_dataset(c, &d->base);
}

static void shuffle_v3_run(bd_op_ctx *c)
{
    output_with_generator(c, &shuffle_kind, 4, 1);
}

BD_OP(ShuffleDatasetV3) = {
    .signature =
        "(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64, seed_generator: resource) -> "
        "(handle: variant)",
    .attrs = "reshuffle_each_iteration:bool=true; " BD_DATASET_ATTRS "; " BD_DATASET_METADATA,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = shuffle_v3_run}),
    .doc =
        "ShuffleDataset with the seeds of each pass from a generator, or from one of its own that has these seeds.",
};

static void shuffle_and_repeat_v2_run(bd_op_ctx *c)
{
    int64_t count;
    if (read_count(c, &count)) output_with_generator(c, &repeat_kind, 5, count);
}

BD_OP(ShuffleAndRepeatDatasetV2) = {
    .signature = "(input_dataset: variant, buffer_size: int64, seed: int64, seed2: int64, count: int64, "
                 "seed_generator: resource) -> (handle: variant)",
    .attrs = "reshuffle_each_iteration:bool=true; " BD_DATASET_ATTRS "; " BD_DATASET_METADATA,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = shuffle_and_repeat_v2_run}),
    .doc =
        "ShuffleAndRepeatDataset with seeds from a generator, or from one of its own that has these seeds.",
};

static void shuffle_v2_run(bd_op_ctx *c)
{
    bd_resource *generator = bd_input_resource(c, 2, &bd_seed_generator_type);
    shuffle_dataset *d = generator ? new_shuffle(c, &shuffle_kind) : NULL;
    if (!d) {
        bd_resource_unref(generator);
        return;
    }
    d->reshuffles = true;
    d->generator = generator;
    d->base.state = c->node->def->name; // other pipelines draw from it, too
    bd_output_dataset(c, &d->base);
}

BD_OP(ShuffleDatasetV2) = {
    .signature =
        "(input_dataset: variant, buffer_size: int64, seed_generator: resource) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = shuffle_v2_run}),
    .doc = "ShuffleDataset with the seeds of each pass from a generator that outlives the pipeline.",
};

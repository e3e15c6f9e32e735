// Datasets of numbers: ranges and random ones.
#include "ops/dataset/dataset.h"
#include "ops/dataset/seeds.h"

typedef struct numbers_dataset {
    bd_dataset base;
    int64_t start, stop, step; // of a range
    int64_t seed, seed2;       // of random numbers
    bool has_random_seeds;
    bd_resource *generator; // of RandomDatasetV2: the generator of an iterator's seeds; a reference; NULL
} numbers_dataset;

typedef struct numbers_iterator {
    bd_iterator base;
    int64_t next;
    bool is_over; // the next number would be no int64
    bd_philox_stream stream;
} numbers_iterator;

static numbers_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, numbers_dataset, base);
}

static numbers_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, numbers_iterator, base);
}

static bd_turn give_number(bd_iterator *it, int64_t value)
{
    if (!bd_tensor_alloc(&it->answer.tensors[0], BRAID_INT64, &BD_SCALAR)) return bd_give_out_of_memory(it);
    bd_tensor_i64(&it->answer.tensors[0])[0] = value;
    return bd_give(it);
}

static numbers_dataset *new_dataset(bd_op_ctx *c, const bd_dataset_kind *kind)
{
    static const braid_dtype type = BRAID_INT64;
    BD_STATUS(st);
    bd_dataset *d;
    if (!bd_dataset_new(kind, (bd_components){1, &type, &BD_SCALAR}, NULL, 0, &d, st)) return dataset_of(d);
    bd_op_fail_status(c, st);
    return NULL;
}

// ---- RangeDataset ----

static int64_t range_count(const bd_dataset *base)
{
    const numbers_dataset *d = dataset_of(base);
    uint64_t distance, step;
    if (d->step > 0) {
        if (d->start >= d->stop) return 0;
        distance = (uint64_t)d->stop - (uint64_t)d->start;
        step = (uint64_t)d->step;
    } else {
        if (d->start <= d->stop) return 0;
        distance = (uint64_t)d->start - (uint64_t)d->stop;
        step = 0 - (uint64_t)d->step;
    }
    uint64_t count = (distance - 1) / step + 1;
    return count > INT64_MAX ? INT64_MAX : (int64_t)count;
}

static braid_code range_open(bd_iterator *it, braid_status *st)
{
    (void)st;
    iterator_of(it)->next = dataset_of(it->dataset)->start;
    return BRAID_OK;
}

static bd_turn range_next(bd_iterator *it)
{
    const numbers_dataset *d = dataset_of(it->dataset);
    numbers_iterator *r = iterator_of(it);
    int64_t value = r->next;
    if (r->is_over || (d->step > 0 ? value >= d->stop : value <= d->stop)) return bd_give_end(it);
    r->is_over = __builtin_add_overflow(value, d->step, &r->next);
    return give_number(it, value);
}

static const bd_dataset_kind range_kind = {
    .name = "Range",
    .dataset_size = sizeof(numbers_dataset),
    .iterator_size = sizeof(numbers_iterator),
    .cardinality = range_count,
    .open = range_open,
    .next = range_next,
};

static void range_run(bd_op_ctx *c)
{
    int64_t start, stop, step;
    if (!bd_input_scalar_int(c, 0, "start", &start) || !bd_input_scalar_int(c, 1, "stop", &stop) ||
        !bd_input_scalar_int(c, 2, "step", &step))
        return;
    if (step == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "step must be a non-zero integer.");
        return;
    }
    numbers_dataset *d = new_dataset(c, &range_kind);
    if (!d) return;
    d->start = start;
    d->stop = stop;
    d->step = step;
    bd_output_dataset(c, &d->base);
}

BD_OP(RangeDataset) = {
    .signature = "(start: int64, stop: int64, step: int64) -> (handle: variant)",
    .attrs = BD_DATASET_ATTRS "; +replicate_on_split:bool=false; " BD_DATASET_METADATA,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = range_run}),
    .doc =
        "A dataset of the numbers from `start` on, each `step` more than the one before, as long as they are before `stop`.",
};

// ---- RandomDataset ----

static int64_t without_end(const bd_dataset *d)
{
    (void)d;
    return BD_CARDINALITY_INFINITE;
}

static void random_destroy(bd_dataset *d)
{
    bd_resource_unref(dataset_of(d)->generator);
}

static braid_code random_open(bd_iterator *it, braid_status *st)
{
    (void)st;
    const numbers_dataset *d = dataset_of(it->dataset);
    int64_t seeds[2] = {d->seed, d->seed2};
    if (d->generator) {
        iterator_of(it)->stream = bd_seed_generator_stream(d->generator);
        return BRAID_OK;
    }
    if (d->has_random_seeds) bd_iterator_note_seeds(it, seeds);
    iterator_of(it)->stream = bd_philox_stream_init((uint64_t)seeds[0], (uint64_t)seeds[1]);
    return BRAID_OK;
}

static bd_turn random_next(bd_iterator *it)
{
    return give_number(it, bd_philox_stream_next(&iterator_of(it)->stream));
}

static const bd_dataset_kind random_kind = {
    .name = "Random",
    .dataset_size = sizeof(numbers_dataset),
    .iterator_size = sizeof(numbers_iterator),
    .destroy = random_destroy,
    .cardinality = without_end,
    .open = random_open,
    .next = random_next,
};

static void random_run(bd_op_ctx *c)
{
    int64_t seed, seed2;
    if (!bd_input_scalar_int(c, 0, "seed", &seed) || !bd_input_scalar_int(c, 1, "seed2", &seed2)) return;
    numbers_dataset *d = new_dataset(c, &random_kind);
    if (!d) return;
    d->has_random_seeds = bd_seeds_or_random(&seed, &seed2);
    d->seed = seed;
    d->seed2 = seed2;
    bd_output_dataset(c, &d->base);
}

#define RANDOM_OP                                                                                               \
    {                                                                                                           \
        .signature = "(seed: int64, seed2: int64) -> (handle: variant)", .attrs = BD_DATASET_ATTRS,             \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalars,                       \
        .kernels = BD_KERNELS({.run = random_run}),                                                             \
        .doc =                                                                                                  \
            "A dataset without end of random numbers in [0, 2^32), the same each time unless both seeds are 0." \
    }

BD_OP(RandomDataset) = RANDOM_OP;
BD_OP(ExperimentalRandomDataset) = RANDOM_OP;

static void random_v2_run(bd_op_ctx *c)
{
    int64_t seeds[2];
    if (!bd_input_scalar_int(c, 0, "seed", &seeds[0]) || !bd_input_scalar_int(c, 1, "seed2", &seeds[1]))
        return;
    bd_seeds_or_random(&seeds[0], &seeds[1]);
    bd_resource *generator =
        bd_input_seed_generator(c, 2, seeds, !bd_node_attr_bool(c->node, "rerandomize_each_iteration"));
    numbers_dataset *d = generator ? new_dataset(c, &random_kind) : NULL;
    if (!d) {
        bd_resource_unref(generator);
        return;
    }
    d->generator = generator;
    d->base.state = c->node->def->name; // other pipelines draw from it, too
    bd_output_dataset(c, &d->base);
}

BD_OP(RandomDatasetV2) = {
    .signature = "(seed: int64, seed2: int64, seed_generator: resource) -> (handle: variant)",
    .attrs = "rerandomize_each_iteration:bool=false; " BD_DATASET_ATTRS "; " BD_DATASET_METADATA,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = random_v2_run}),
    .doc =
        "RandomDataset with the seeds of each iteration from a generator, or from one of its own that has these seeds.",
};

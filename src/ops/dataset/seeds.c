// Generators of seeds, and the ops that make and delete them.
#include "ops/dataset/seeds.h"

#include "base/alloc.h"
#include "base/thread.h"
#include "ops/common/anonymous.h"
#include "ops/common/handle.h"
#include "ops/dataset/dataset.h"
#include <string.h>

typedef struct seed_generator {
    bd_resource base;
    int64_t seeds[2];
    bool is_fixed; // each time the same seeds
    bd_mutex mu;
    bd_philox_stream stream; // guarded by mu
} seed_generator;

static void destroy_generator(bd_resource *r)
{
    seed_generator *g = BD_CONTAINER_OF(r, seed_generator, base);
    bd_mutex_fini(&g->mu);
    bd_free(g);
}

const bd_resource_type bd_seed_generator_type = {.name = "tensorflow::data::RandomSeedGenerator",
                                                 .destroy = destroy_generator};

braid_code bd_seed_generator_create(void *spec, bd_resource **out, braid_status *st)
{
    (void)st;
    const bd_seed_generator_spec *s = spec;
    seed_generator *g = bd_calloc(1, sizeof *g);
    memcpy(g->seeds, s->seeds, sizeof g->seeds);
    g->is_fixed = s->is_fixed;
    bd_resource_init(&g->base, &bd_seed_generator_type);
    bd_mutex_init(&g->mu);
    g->stream = bd_philox_stream_init((uint64_t)s->seeds[0], (uint64_t)s->seeds[1]);
    *out = &g->base;
    return BRAID_OK;
}

bd_philox_stream bd_seed_generator_stream(bd_resource *r)
{
    seed_generator *g = BD_CONTAINER_OF(r, seed_generator, base);
    if (g->is_fixed) return bd_philox_stream_init((uint64_t)g->seeds[0], (uint64_t)g->seeds[1]);
    bd_mutex_lock(&g->mu);
    uint32_t seed = bd_philox_stream_next(&g->stream), seed2 = bd_philox_stream_next(&g->stream);
    bd_mutex_unlock(&g->mu);
    return bd_philox_stream_init(seed, seed2);
}

bd_resource *bd_input_seed_generator(bd_op_ctx *c, int i, const int64_t seeds[2], bool is_fixed)
{
    BD_STATUS(unused);
    bd_resource *r = NULL;
    if (!bd_input_is_dummy(c, i)) return bd_input_resource(c, i, &bd_seed_generator_type);
    bd_seed_generator_spec spec = {.seeds = {seeds[0], seeds[1]}, .is_fixed = is_fixed};
    bd_seed_generator_create(&spec, &r, unused);
    return r;
}

// ---- Ops ----

static void generator_run(bd_op_ctx *c)
{
    bd_seed_generator_spec spec = {0};
    if (!bd_input_scalar_int(c, 0, "seed", &spec.seeds[0]) ||
        !bd_input_scalar_int(c, 1, "seed2", &spec.seeds[1]))
        return;
    if (c->input_count > 2) {
        if (!bd_input_scalar(c, 2, "reshuffle", BRAID_BOOL)) return;
        spec.is_fixed = !bd_tensor_bool(bd_input(c, 2))[0];
    }
    bd_seeds_or_random(&spec.seeds[0], &spec.seeds[1]);
    bd_output_anonymous(c, "AnonymousSeedGenerator", &bd_seed_generator_type, bd_seed_generator_create,
                        &spec);
}

BD_OP(AnonymousSeedGenerator) = {
    .signature = "(seed: int64, seed2: int64, reshuffle: bool) -> (handle: resource, deleter: variant)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = generator_run}),
    .doc = "A generator of seeds for ShuffleDatasetV3; without `reshuffle` they are the same each time.",
};

static void dummy_generator_run(bd_op_ctx *c)
{
    bd_output_dummy(c, &bd_seed_generator_type);
}

BD_OP(DummySeedGenerator) = {
    .signature = "() -> (handle: resource)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = dummy_generator_run}),
    .doc = "Leaves it to ShuffleDatasetV3 to make a generator of seeds.",
};

BD_OP(AnonymousRandomSeedGenerator) = {
    .signature = "(seed: int64, seed2: int64) -> (handle: resource, deleter: variant)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalars,
    .kernels = BD_KERNELS({.run = generator_run}),
    .doc = "A generator of seeds for ShuffleDatasetV2.",
};

static void delete_generator_run(bd_op_ctx *c)
{
    bd_delete_anonymous(c, &bd_seed_generator_type);
}

#define DELETE_OP                                                                                            \
    {                                                                                                        \
        .signature = "(handle: resource, deleter: variant) -> ()",                                           \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_scalars,                    \
        .kernels = BD_KERNELS({.run = delete_generator_run}),                                                \
        .doc = "Deletes a generator of seeds; datasets that hold it keep it."                                \
    }

BD_OP(DeleteRandomSeedGenerator) = DELETE_OP;
BD_OP(DeleteSeedGenerator) = DELETE_OP;

// Generators of seeds: resources from which datasets draw the seeds of their passes.
#ifndef BD_OPS_DATASET_SEEDS_H
#define BD_OPS_DATASET_SEEDS_H

#include "op/kernel.h"
#include "ops/common/philox_stream.h"

extern const bd_resource_type bd_seed_generator_type;

typedef struct bd_seed_generator_spec {
    int64_t seeds[2];
    bool is_fixed; // each time the same seeds
} bd_seed_generator_spec;

// To be made by bd_resources_lookup_or_create, with a spec.
braid_code bd_seed_generator_create(void *spec, bd_resource **out, braid_status *st);
// The stream of the next pass.
bd_philox_stream bd_seed_generator_stream(bd_resource *r);

// Returns the generator in input `i`, or a new one with these seeds if the input is a dummy; with a reference
// for the caller. NULL: the kernel has failed.
bd_resource *bd_input_seed_generator(bd_op_ctx *c, int i, const int64_t seeds[2], bool is_fixed);

#endif

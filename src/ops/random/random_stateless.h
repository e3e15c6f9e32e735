// Streams of stateless random ops, which follow from a seed of two numbers.
#ifndef BD_OPS_RANDOM_RANDOM_STATELESS_H
#define BD_OPS_RANDOM_RANDOM_STATELESS_H

#include "base/random.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"

// The stream of the seed in input `i`. False: the kernel has failed.
bool bd_random_stateless_stream(bd_op_ctx *c, int i, bd_philox *out);

// Checks the seed's shape.
braid_code bd_shape_ctx_random_seed(bd_shape_ctx *c, int i, braid_status *st);

// The stream of key, counter and algorithm in inputs `i` to i + 2. False: the kernel has failed.
bool bd_random_keyed_stream(bd_op_ctx *c, int i, bd_philox *out);

// Checks their shapes.
braid_code bd_shape_ctx_random_key(bd_shape_ctx *c, int i, braid_status *st);

#endif

// Streams of stateless random ops, from a seed of two numbers or from a key and a counter.
#ifndef BD_OPS_RANDOM_RANDOM_STATELESS_H
#define BD_OPS_RANDOM_RANDOM_STATELESS_H

#include "base/random.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"

// Sets *out to the stream of the seed in input `i`. False: the kernel has failed.
bool bd_random_stateless_stream(bd_op_ctx *c, int i, bd_philox *out);

// Checks that input `i` has the shape of a seed, [2].
braid_code bd_shape_ctx_random_seed(bd_shape_ctx *c, int i, braid_status *st);

// Sets *out to the stream of key, counter and algorithm in inputs `i` to i + 2. False: the kernel has failed.
bool bd_random_keyed_stream(bd_op_ctx *c, int i, bd_philox *out);

// Checks the shapes of key, counter and algorithm in inputs `i` to i + 2.
braid_code bd_shape_ctx_random_key(bd_shape_ctx *c, int i, braid_status *st);

#endif

// The generator of a node that draws random numbers, and outputs filled from a stream.
#ifndef BD_OPS_RANDOM_RANDOM_SOURCE_H
#define BD_OPS_RANDOM_RANDOM_SOURCE_H

#include "base/thread.h"
#include "graph/shape_fn.h"
#include "kernels/random_fill.h"
#include "op/kernel.h"

// Belongs to the bound kernel, which lives as long as its session.
typedef struct bd_random_source {
    bd_mutex mu;
    bd_philox generator; // guarded by mu
} bd_random_source;

// Seeds by attrs seed and seed2; when both are 0, by the system.
void bd_random_source_init(bd_random_source *s, const braid_op *node);
void bd_random_source_fini(bd_random_source *s);

// Takes the next `steps` steps (of four words) of the stream: where they begin. Any thread.
bd_philox bd_random_source_take(bd_random_source *s, uint64_t steps);

// The single words of a stream, in order. Set `stream`, the rest is 0.
typedef struct bd_random_words {
    bd_philox stream;
    uint32_t word[4];
    int left; // of `word`
} bd_random_words;
uint32_t bd_random_word(bd_random_words *w);
// Uniform in [0, n), without bias: what would give one is drawn again. n > 0.
uint64_t bd_random_below64(bd_random_words *w, uint64_t n);
uint32_t bd_random_below32(bd_random_words *w, uint32_t n);

// Steps of the stream that belong to one element, whatever it needs, in the ops that say so.
#define BD_RANDOM_STEPS_PER_OUTPUT 256

// Takes the steps of so many outputs from the stream of the variable in input 0, for the algorithm in input
// 1. False: the kernel has failed.
bool bd_random_variable_stream(bd_op_ctx *c, int64_t outputs, bd_philox *start);

// Create and destroy of a kernel whose state begins with a bd_random_source.
braid_code bd_random_source_create(const braid_op *node, void *state, braid_status *st);
void bd_random_source_destroy(void *state);

// Fills all of `y` from the stream in `fill`; `out` and `count` are set here.
void bd_random_fill_output(bd_op_ctx *c, braid_tensor *y, const bd_random_kind *kind, bd_random_fill fill);

// Whether inputs `i` and `i` + 1, minval and maxval, are scalars. False: the kernel has failed.
bool bd_random_check_bounds(bd_op_ctx *c, int i);
// Scalars minval (input `i`) and maxval of 32 or 64 bits into `low` and `range` of *fill. False: the kernel
// has failed.
bool bd_random_bounds(bd_op_ctx *c, int i, bd_random_fill *fill);

// The kind for the element type of output 0.
typedef struct bd_random_kinds {
    const bd_random_kind *f32, *f64, *half, *bfloat16; // NULL: the kernel is run in float
} bd_random_kinds;
extern const bd_random_kinds bd_random_uniform, bd_random_normal, bd_random_truncated;
const bd_random_kind *bd_random_kind_of(const bd_random_kinds *kinds, braid_dtype dtype);

// Output 0 has the shape in input 0 followed by that of input 1.
braid_code bd_random_shape_fn_samples(bd_shape_ctx *c, braid_status *st);

#endif

// The random generator of a node, and outputs filled from a stream.
#ifndef BD_OPS_RANDOM_RANDOM_SOURCE_H
#define BD_OPS_RANDOM_RANDOM_SOURCE_H

#include "base/thread.h"
#include "graph/shape_fn.h"
#include "kernels/random_fill.h"
#include "op/kernel.h"

// The generator belongs to the bound kernel and lives as long as its session.
typedef struct bd_random_source {
    bd_mutex mu;
    bd_philox generator; // guarded by mu
} bd_random_source;

// Seeds the generator by attrs seed and seed2; from the system's random source when both are 0.
void bd_random_source_init(bd_random_source *s, const braid_op *node);
void bd_random_source_fini(bd_random_source *s);

// Takes the next `steps` steps (of four words) of the stream and returns their start. May be called on any
// thread.
bd_philox bd_random_source_take(bd_random_source *s, uint64_t steps);

// Reads a stream word by word. Initialize `stream`; the other fields are 0.
typedef struct bd_random_words {
    bd_philox stream;
    uint32_t word[4];
    int left; // unread words in `word`
} bd_random_words;
uint32_t bd_random_word(bd_random_words *w);
// Returns a number uniform in [0, n), without bias: draws that would cause bias are repeated. n must be above
// 0.
uint64_t bd_random_below64(bd_random_words *w, uint64_t n);
uint32_t bd_random_below32(bd_random_words *w, uint32_t n);

// The steps of the stream that belong to one output element, used or not, in the ops that count by elements.
#define BD_RANDOM_STEPS_PER_OUTPUT 256

// Takes the steps of `outputs` output elements from the stream of the variable in input 0, for the algorithm
// in input 1, and sets *start. False: the kernel has failed.
bool bd_random_variable_stream(bd_op_ctx *c, int64_t outputs, bd_philox *start);

// `create` and `destroy` of a kernel whose state begins with a bd_random_source.
braid_code bd_random_source_create(const braid_op *node, void *state, braid_status *st);
void bd_random_source_destroy(void *state);

// Fills all of `y` from the stream in `fill`; sets the fields `out` and `count` of `fill` itself.
void bd_random_fill_output(bd_op_ctx *c, braid_tensor *y, const bd_random_kind *kind, bd_random_fill fill);

// Checks that inputs `i` and `i` + 1, minval and maxval, are scalars. False: the kernel has failed.
bool bd_random_check_bounds(bd_op_ctx *c, int i);
// Reads scalars minval (input `i`) and maxval of 32 or 64 bits into `low` and `range` of *fill. False: the
// kernel has failed.
bool bd_random_bounds(bd_op_ctx *c, int i, bd_random_fill *fill);

// The kinds of numbers by element type; bd_random_kind_of selects one of them.
typedef struct bd_random_kinds {
    const bd_random_kind *f32, *f64, *half, *bfloat16; // NULL: computed in float and converted
} bd_random_kinds;
extern const bd_random_kinds bd_random_uniform, bd_random_normal, bd_random_truncated;
const bd_random_kind *bd_random_kind_of(const bd_random_kinds *kinds, braid_dtype dtype);

// Shape function: output 0 has the shape in input 0 followed by the shape of input 1.
braid_code bd_random_shape_fn_samples(bd_shape_ctx *c, braid_status *st);

#endif

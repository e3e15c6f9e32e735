// Accumulators of gradients: shared by dense and sparse ones.
//
// A gradient that was computed at a step before the accumulator's is dropped. A take waits for the required
// number of gradients, then takes all of them, and the accumulator's step increases: gradients that other
// replicas compute meanwhile are stale.
#ifndef BD_OPS_DATA_FLOW_ACCUMULATOR_H
#define BD_OPS_DATA_FLOW_ACCUMULATOR_H

#include "ops/common/handle.h"
#include "ops/common/wait_queue.h"

typedef struct bd_accumulator bd_accumulator;

// The sum of some gradients.
typedef struct bd_gradient_sum {
    braid_tensor values; // "no tensor" without gradients
    braid_tensor indices,
        counts; // of a sparse one: int64 vectors, of each row its index and how many gradients have it
} bd_gradient_sum;

void bd_gradient_sum_fini(bd_gradient_sum *s);

typedef struct bd_accumulator_kind {
    const char *name; // "dense", for messages
    // Adds the gradient in the inputs from 2 on to a->sum, of a->count gradients.
    braid_code (*add_locked)(bd_accumulator *a, bd_op_ctx *c, braid_status *st);
    // Sets the outputs of a take, the mean of `count` gradients where the accumulator is of that kind.
    void (*output)(const bd_accumulator *a, bd_op_ctx *c, bd_gradient_sum *sum, int64_t count);
} bd_accumulator_kind;

struct bd_accumulator {
    bd_resource base;
    bd_wait_queue wait_queue;
    const bd_accumulator_kind *kind;
    char *name; // owned
    braid_dtype dtype;
    braid_shape shape;   // of gradients, perhaps partly known
    bool is_mean;        // else the sum is taken
    bd_waitlist takes;   // guarded by wait_queue.mu, as all below
    bd_gradient_sum sum; // of `count` gradients
    int64_t count, step;
};

// Whether a sum may be changed in place: it has no other holder.
bool bd_accumulator_may_overwrite(const braid_tensor *t);
// z = x + y, element by element, and values / divisor (in the type of the values, integers cut off).
void bd_accumulator_add(braid_dtype dtype, const void *x, const void *y, void *z, int64_t count);
void bd_accumulator_divide(braid_dtype dtype, const void *values, int64_t divisor, void *out, int64_t count);

// ---- Kernels ----

// State of the kernel that makes an accumulator.
typedef struct bd_accumulator_source {
    bd_handle_source handle;
    const bd_accumulator_kind *kind;
    braid_dtype dtype;
    braid_shape shape;
    bool is_mean;
} bd_accumulator_source;

void bd_accumulator_source_init(bd_accumulator_source *s, const bd_accumulator_kind *kind,
                                const braid_op *node);
void bd_accumulator_source_destroy(void *state);
void bd_accumulator_source_run(bd_op_ctx *c);

// Applies, or takes, a gradient of that kind and of element type `dtype`.
void bd_accumulator_apply(bd_op_ctx *c, const bd_accumulator_kind *kind, braid_dtype dtype);
void bd_accumulator_take(bd_op_ctx *c, const bd_accumulator_kind *kind, braid_dtype dtype);

// Checks a handle and a scalar; infers no output shapes.
braid_code bd_shape_ctx_accumulator(bd_shape_ctx *c, braid_status *st);

#define BD_ACCUMULATOR_TYPES "dtype=float|double|int32|int64|half"
#define BD_ACCUMULATOR_ATTRS                                                                                 \
    "dtype:type{number}; shape:shape; container:string=''; shared_name:string=''; "                          \
    "reduction_type:string{MEAN,SUM}='MEAN'"
#define BD_ACCUMULATOR_SOURCE_KERNELS(CREATE)                                                                \
    BD_KERNELS({.types = BD_ACCUMULATOR_TYPES,                                                               \
                .state_size = sizeof(bd_accumulator_source),                                                 \
                .create = (CREATE),                                                                          \
                .destroy = bd_accumulator_source_destroy,                                                    \
                .run = bd_accumulator_source_run})

#endif

// Accumulators of gradients: shared by dense and sparse ones.
//
// A gradient that was computed at a step before the accumulator's is dropped. A take waits for the required
// number of gradients, then takes all of them, and the accumulator's step increases: gradients that other
// replicas compute meanwhile are stale.
//
// Deterministic sums: the node that applies a gradient may name its replica (attrs BD_REPLICA_ATTR and
// BD_REPLICA_SHARE_ATTR). Such gradients are kept apart until they are taken, and are then added in the order
// of the replicas, those of one replica in the order of their arrival. A replica gives its share of gradients
// to a step; further ones are dropped like stale ones. So a take of (replicas x share) gradients has the same
// gradients in the same order, however the timing falls.
#ifndef BD_OPS_DATA_FLOW_ACCUMULATOR_H
#define BD_OPS_DATA_FLOW_ACCUMULATOR_H

#include "base/array.h"
#include "ops/common/handle.h"
#include "ops/common/wait_queue.h"

typedef struct bd_accumulator bd_accumulator;

// Attrs of nodes that apply gradients, both int: the index of the replica, and how many gradients it gives to
// a step (1 without the attr).
#define BD_REPLICA_ATTR "_replica"
#define BD_REPLICA_SHARE_ATTR "_replica_share"
// Attr of AccumulatorNumAccumulated, bool: output the number of gradients dropped so far.
#define BD_NUM_DROPPED_ATTR "_dropped"

// Attr of both, int: the worker that applies, or whose dropped gradients are counted. It has no effect on
// sums.
#define BD_WORKER_ATTR "_worker"

// A gradient that is applied. The tensors are borrowed.
typedef struct bd_gradient {
    const braid_tensor *values;
    const braid_tensor *indices; // of a sparse one, else NULL
} bd_gradient;

// A gradient that is kept apart. The tensors are held.
typedef struct bd_kept_gradient {
    int64_t replica;
    braid_tensor values, indices;
} bd_kept_gradient;

typedef BD_ARRAY(bd_kept_gradient) bd_kept_gradients;

// The sum of some gradients.
typedef struct bd_gradient_sum {
    int64_t count;       // of gradients
    braid_tensor values; // "no tensor" without gradients
    braid_tensor indices,
        counts; // of a sparse one: int64 vectors, of each row its index and how many gradients have it
} bd_gradient_sum;

void bd_gradient_sum_fini(bd_gradient_sum *s);

// How many gradients of a worker were dropped.
typedef struct bd_worker_dropped {
    int64_t worker, count;
} bd_worker_dropped;

typedef struct bd_accumulator_kind {
    const char *name; // "dense", for messages
    // Checks the gradient in the inputs from 2 on. `held` has the shape of the values held already; NULL
    // without any.
    braid_code (*read_locked)(const bd_accumulator *a, bd_op_ctx *c, const braid_shape *held, bd_gradient *g,
                              braid_status *st);
    // Adds to the values of a sum of sum->count gradients. False: out of memory.
    bool (*add)(const bd_accumulator *a, bd_gradient_sum *sum, const bd_gradient *g);
    // Sets the outputs of a take: the mean where the accumulator is of that kind.
    void (*output)(const bd_accumulator *a, bd_op_ctx *c, bd_gradient_sum *sum);
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
    bd_gradient_sum sum; // of gradients of unnamed replicas
    bd_kept_gradients kept;
    int64_t step, dropped;
    BD_ARRAY(bd_worker_dropped) dropped_of; // of the workers that have told their number
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

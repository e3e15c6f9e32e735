// Shared by the update ops of optimizers: from the signature of an op to the numeric loop over its variables.
//
// Every optimizer has up to four forms, and one function serves them all: variables as references (Apply) or
// resources (ResourceApply), each updated whole or, with `indices`, only in some rows (SparseApply). All have
// one signature: variables first (the variable and its slots, of one shape), a gradient (`grad` or `delta`),
// scalars. The role of each input follows from the signature, so an op is its signature and a function that
// names its scalars.
#ifndef BD_OPS_TRAINING_TRAINING_H
#define BD_OPS_TRAINING_TRAINING_H

#include "graph/shape_fn.h"
#include "kernels/simd.h"
#include "op/kernel.h"

#define BD_UPDATE_VARS_MAX 4
#define BD_UPDATE_SCALARS_MAX 6

// The elements that an optimizer's function updates: all, or those of one row.
typedef struct bd_update {
    void *vars[BD_UPDATE_VARS_MAX];
    const void *grad;
    int64_t count;
    double scalars[BD_UPDATE_SCALARS_MAX]; // in the order of the signature
    bool option;                           // attr use_nesterov, update_slots or multiply_linear_by_lr
    const bd_training_fns *fns; // of float for 16-bit floating types, which are converted before and after
} bd_update;

typedef void (*bd_optimizer_fn)(const bd_update *u);

typedef struct bd_training_state {
    bd_optimizer_fn fn;
    const bd_training_fns *fns;
    braid_dtype dtype;
    bool is_resource, locks, option;
    bool has_ranges;   // of its scalars, as proximal Adagrad and FTRL
    int var_count;     // the first inputs
    int grad, indices; // input numbers; -1: the op has no such input
    int scalar_count, scalars[BD_UPDATE_SCALARS_MAX];
} bd_training_state;

void bd_training_bind(const braid_op *node, bd_optimizer_fn fn, bd_training_state *s);
void bd_training_run(bd_op_ctx *c);
braid_code bd_training_shape(bd_shape_ctx *c, braid_status *st);

#define BD_TRAINING_TYPES "T=float|double|half|bfloat16"

// Defines the `create` of the kernels of the optimizer with function FN; HAS_RANGES: its scalars are checked
// against the ranges of the definition.
#define BD_OPTIMIZER_OF(FN, HAS_RANGES)                                                                      \
    static braid_code create_##FN(const braid_op *node, void *state, braid_status *st)                       \
    {                                                                                                        \
        (void)st;                                                                                            \
        bd_training_bind(node, FN, state);                                                                   \
        ((bd_training_state *)state)->has_ranges = HAS_RANGES;                                               \
        return BRAID_OK;                                                                                     \
    }
#define BD_OPTIMIZER(FN) BD_OPTIMIZER_OF(FN, false)
#define BD_RANGED_OPTIMIZER(FN) BD_OPTIMIZER_OF(FN, true)

// The members of an update op that its signature does not give. ATTRS are those beyond T and use_locking: ""
// or "a:bool=false; ".
#define BD_UPDATE_OP(FN, ATTRS)                                                                              \
    .attrs = "T:type{number}; " ATTRS "use_locking:bool=false", .shape = bd_training_shape,                  \
    .kernels = BD_KERNELS({.types = BD_TRAINING_TYPES,                                                       \
                           .state_size = sizeof(bd_training_state),                                          \
                           .create = create_##FN,                                                            \
                           .run = bd_training_run})
#define BD_UPDATE_INDICES "Tindices:type{int32,int64}; "

#endif

// Shared by the files of optimizers: the op that updates a variable.
#ifndef BD_TRAIN_UPDATE_H
#define BD_TRAIN_UPDATE_H

#include <braid/optimizers.h>

enum {
    TRAIN_SLOTS_MAX = 3,
    TRAIN_SCALARS_MAX = 6
};

// An op ApplyX(var, slots..., scalars..., gradient); the gradient may be among the scalars.
typedef struct train_update {
    const char *op_type;                // "ApplyMomentum"
    const char *slots[TRAIN_SLOTS_MAX]; // names, up to the first NULL
    braid_out scalars[TRAIN_SCALARS_MAX];
    int scalar_count;
    int grad_at;    // the number of scalars before the gradient
    braid_out step; // the last input, as it is; op NULL: there is none
    bool use_locking, use_nesterov;
} train_update;

// The learning rate of an optimizer: the one that was set, or a constant `name` of the number.
braid_out train_learning_rate(const braid_optimizer *opt, const char *name, float number);

// Adds the op for one variable: ResourceApplyX for a resource variable. Scalars are cast to the gradient's
// type. With `indices`, `grad` is rows of the gradient, each index once, and the op is SparseApplyX.
braid_op *train_update_variable(braid_optimizer *opt, const train_update *update, braid_out grad,
                                braid_out indices, braid_out var);

// Sums the rows of equal indices, since two updates of one row mostly differ from one update by their sum.
// Returns the rows; `*indices` becomes their unique indices.
braid_out train_add_up_rows(braid_graph *g, braid_out rows, braid_out *indices);

#endif

// Attr learner_config: how tf.contrib.boosted_trees learns. Dropout of trees.
#ifndef BD_OPS_GRADIENT_TREES_LEARNER_H
#define BD_OPS_GRADIENT_TREES_LEARNER_H

#include "graph/graph.h"
#include "ops/gradient_trees/ensemble.h"

// The numbers are those of learner.proto.
enum {
    BD_GBT_PRE_PRUNE = 1,
    BD_GBT_POST_PRUNE = 2,
    BD_GBT_WHOLE_TREE = 1,
    BD_GBT_TREE_PER_CLASS = 1,
    BD_GBT_FULL_HESSIAN = 2,
    BD_GBT_DIAGONAL_HESSIAN = 3,
    BD_GBT_NORMAL_TREE = 0,
    BD_GBT_OBLIVIOUS_TREE = 1,
    BD_GBT_LAST_N_TREES = 1, // fields of AveragingConfig
    BD_GBT_LAST_PERCENT = 2,
};

// The state of kernels.
typedef struct bd_gbt_learner {
    uint32_t num_classes;
    int pruning, growing; // of any value
    bool limits_features;
    bool has_dropout;
    float dropout, skip_dropout;
    int averaging; // a field of AveragingConfig; 0: none
    float averaged;
    bool has_start;
    bd_gbt_tree start; // the first layers of each tree
    int32_t start_layers;
} bd_gbt_learner;

// For bd_kernel: read attr learner_config.
braid_code bd_gbt_learner_bind(const braid_op *node, void *state, braid_status *st);
void bd_gbt_learner_unbind(void *state);

// InvalidArgument: the probabilities of dropout are not in [0, 1].
braid_code bd_gbt_check_dropout(const bd_gbt_learner *l, braid_status *st);
// Draws the trees that are dropped, in ascending order, but for `first` and `last` (-1: neither), into
// `dropped` [number of trees]. InvalidArgument: as bd_gbt_check_dropout.
braid_code bd_gbt_drop_trees(const bd_gbt_learner *l, size_t trees, uint64_t seed, int64_t first,
                             int64_t last, int32_t *dropped, int32_t *count, braid_status *st);

#endif

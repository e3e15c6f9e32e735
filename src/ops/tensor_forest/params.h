// The parameters of a forest: attr `params` of the ops of tf.contrib.tensor_forest. (rf: random forest)
#ifndef BD_OPS_TENSOR_FOREST_PARAMS_H
#define BD_OPS_TENSOR_FOREST_PARAMS_H

#include "graph/graph.h"

// The numbers are those of tensor_forest_params.proto and generic_tree_model.proto.
typedef enum bd_rf_leaf_type {
    BD_RF_LEAF_DENSE = 0,
    BD_RF_LEAF_SPARSE = 1,
    BD_RF_LEAF_REGRESSION = 2,
    BD_RF_LEAF_SPARSE_OR_DENSE = 3,
} bd_rf_leaf_type;

typedef enum bd_rf_stats_kind {
    BD_RF_STATS_DENSE = 0,
    BD_RF_STATS_SPARSE = 1,
    BD_RF_STATS_REGRESSION = 2,
    BD_RF_STATS_FIXED_SIZE = 4,
} bd_rf_stats_kind;

typedef enum bd_rf_pruning {
    BD_RF_PRUNE_NONE = 0,
    BD_RF_PRUNE_HALF = 1,
    BD_RF_PRUNE_QUARTER = 2,
    BD_RF_PRUNE_10_PERCENT = 3,
    BD_RF_PRUNE_HOEFFDING = 4,
} bd_rf_pruning;

typedef enum bd_rf_finish {
    BD_RF_FINISH_BASIC = 0,
    BD_RF_FINISH_HOEFFDING = 2,
    BD_RF_FINISH_BOOTSTRAP = 3,
} bd_rf_finish;

typedef enum bd_rf_comparison {
    BD_RF_LESS_OR_EQUAL = 0,
    BD_RF_LESS = 1,
    BD_RF_GREATER_OR_EQUAL = 2,
    BD_RF_GREATER = 3,
} bd_rf_comparison;

// A number that may depend on the depth of the node.
typedef struct bd_rf_depth_param {
    int kind; // the number of its field; 0: it is not given
    float numbers[4];
} bd_rf_depth_param;

typedef struct bd_rf_params {
    int leaf_type, stats_type, collection_type, pruning, finish, comparison; // of any value before a check
    bool is_regression, collates, saves_stats, has_running_stats, averages_splits, gives_paths;
    int32_t max_nodes, num_outputs, num_features, classes_to_track;
    bd_rf_depth_param splits_to_consider, split_after, dominate_fraction, min_split_samples;
    bd_rf_depth_param prune_every, check_every;
} bd_rf_params;

// Reads attr `params` of a node. InvalidArgument: malformed.
braid_code bd_rf_params_read(bd_rf_params *p, const braid_op *node, braid_status *st);

// Checks what a tree needs: the kind of its leaves, and the number of their values.
braid_code bd_rf_params_check_tree(const bd_rf_params *p, braid_status *st);
// And what growing one needs. What depends on the depth is checked where a node is made.
braid_code bd_rf_params_check_stats(const bd_rf_params *p, braid_status *st);

// The value at a depth; 0 where none is given.
float bd_rf_resolve(const bd_rf_depth_param *p, int32_t depth);
// The same as a whole number, at most 2^30 in size.
int32_t bd_rf_resolve_int(const bd_rf_depth_param *p, int32_t depth);

#endif

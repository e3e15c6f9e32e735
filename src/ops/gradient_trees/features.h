// The examples that the ops of tf.contrib.boosted_trees take, and their ways through trees.
#ifndef BD_OPS_GRADIENT_TREES_FEATURES_H
#define BD_OPS_GRADIENT_TREES_FEATURES_H

#include "op/kernel.h"
#include "ops/gradient_trees/tree.h"

// A sparse column, sorted by row: `indices` are pairs of row and dimension.
typedef struct bd_gbt_sparse_column {
    const int64_t *indices; // [count, 2]
    int64_t count;
    const float *floats;  // [count] of a column of floats
    const int64_t *ids;   // [count] of a column of ids
    bool is_of_one_value; // its rows have one dimension
} bd_gbt_sparse_column;

typedef struct bd_gbt_features {
    int64_t rows;
    int32_t dense_count, float_count, id_count;
    const float **dense;           // [dense_count] of [rows]
    bd_gbt_sparse_column *columns; // [float_count + id_count]
} bd_gbt_features;

// Reads the feature inputs from input `from` on; their numbers are attrs num_dense_float_features and so on.
// The caller frees them, also where the kernel has failed: false.
bool bd_gbt_read_features(bd_op_ctx *c, int from, bd_gbt_features *f);
void bd_gbt_features_free(bd_gbt_features *f);

// The leaf that a row comes to. -1: the tree is malformed, or tests a feature that there is not; or the
// thread is interrupted, as a way through a client's tree may be long.
int32_t bd_gbt_find_leaf(const bd_gbt_tree *t, const bd_gbt_features *f, int64_t row);

#endif

// Ensembles of decision trees that boosting grows layer by layer: the resource of TensorFlow's BoostedTrees
// ops. Trees grow for one logit; those of a file may have leaves with several.
//
// A tree is an array of nodes; node 0 is the root. Trees come from files and clients, too, so what reads them
// relies only on what bd_forest_read has checked: children exist, and no node has two parents or is below
// itself. A way through a tree therefore ends.
#ifndef BD_OPS_BOOSTED_TREES_ENSEMBLE_H
#define BD_OPS_BOOSTED_TREES_ENSEMBLE_H

#include "base/array.h"
#include "base/thread.h"
#include "op/kernel.h"
#include "op/resource.h"

typedef enum bd_tree_node_kind {
    BD_TREE_EMPTY, // a node of a file that says nothing
    BD_TREE_LEAF,
    BD_TREE_BUCKETIZED,  // left: the feature's bucket is at most `threshold`
    BD_TREE_CATEGORICAL, // left: the feature is `threshold`
} bd_tree_node_kind;

// Logits of a node, or changes of them: values [at, at + count) of its tree.
typedef struct bd_logits {
    int32_t at, count; // 0: none
    bool is_vector;    // the message has them as a vector, even one
} bd_logits;

typedef struct bd_tree_node {
    bd_tree_node_kind kind;
    bd_logits value; // of a leaf
    // of a split
    int32_t feature, dimension, threshold;
    int32_t left, right;
    bool is_default_right; // where training put examples without a value; bd_tree_next does not read it
    // Of what was a leaf before: its logits then, and what the split gained.
    bool has_metadata;
    bd_logits original;
    float gain;
} bd_tree_node;

// Where a node went when its tree was pruned, and what that changed in its logits.
typedef struct bd_pruned_node {
    int32_t node;
    bd_logits change;
} bd_pruned_node;

typedef struct bd_tree {
    float weight;
    int32_t layers;         // that were grown
    bool is_finalized;      // no layer will be added
    BD_ARRAY(float) values; // that bd_logits refer to
    BD_ARRAY(bd_tree_node) nodes;
    BD_ARRAY(bd_pruned_node) pruned; // by the node's index before; empty: pruning changed nothing
} bd_tree;

// What a serialized ensemble says.
typedef struct bd_forest {
    BD_ARRAY(bd_tree) trees;
    bool is_growing; // the numbers below are set
    int64_t trees_attempted, layers_attempted;
    int32_t layer_begin, layer_end; // the nodes of the latest tree's latest layer
} bd_forest;

typedef struct bd_ensemble {
    bd_resource base;
    bd_mutex mu;
    int64_t stamp;    // guarded by mu; changes with the trees
    bd_forest forest; // guarded by mu
} bd_ensemble;

extern const bd_resource_type bd_ensemble_type;

// The ensemble in input 0; the caller drops the reference. NULL: the kernel has failed.
bd_ensemble *bd_input_ensemble(bd_op_ctx *c);

void bd_forest_fini(bd_forest *f);
// Reads a serialized TreeEnsemble into `f`, which is empty before, and on an error after. InvalidArgument:
// malformed; Unimplemented: leaves with sparse vectors, and dense splits.
braid_code bd_forest_read(bd_forest *f, const void *data, size_t len, braid_status *st);
// Makes element 0 of string output `i` the serialized TreeEnsemble.
void bd_forest_write(const bd_forest *f, bd_op_ctx *c, int i);

// ---- Growing ----

// Adds a tree of one leaf. Returns the tree.
bd_tree *bd_forest_add_tree(bd_forest *f, float logit);

typedef struct bd_tree_split {
    bd_tree_node_kind kind;
    int32_t node, feature, dimension, threshold;
    bool is_default_right;
    float gain, left, right; // what is added to the node's logit
} bd_tree_split;

// Whether a node is a leaf of one logit.
static inline bool bd_tree_can_split(const bd_tree *t, int32_t node)
{
    const bd_tree_node *n = &t->nodes.items[node];
    return n->kind == BD_TREE_LEAF && n->value.count == 1;
}
// Splits such a leaf (asserted).
void bd_tree_split_leaf(bd_tree *t, const bd_tree_split *split);

// Turns each split into a leaf that lost (its gain is below 0) and has two leaves below it, from the deepest
// on. t->pruned receives what became of all nodes, unless nothing was pruned.
void bd_tree_prune(bd_tree *t);

// ---- Reading ----

static inline bool bd_tree_is_leaf(const bd_tree *t, int32_t node)
{
    return t->nodes.items[node].kind == BD_TREE_LEAF;
}

// The logits of a leaf, or those of a split before it was split.
static inline const bd_logits *bd_tree_logits(const bd_tree *t, int32_t node)
{
    const bd_tree_node *n = &t->nodes.items[node];
    return n->kind == BD_TREE_LEAF ? &n->value : &n->original;
}

// Logit `k`; 0 where there are none.
static inline float bd_tree_value(const bd_tree *t, const bd_logits *logits, int64_t k)
{
    return logits->count ? t->values.items[logits->at + k] : 0;
}

// The values of a feature: int32 [rows, columns].
typedef struct bd_tree_feature {
    const int32_t *values;
    int64_t columns;
} bd_tree_feature;

// The child that row `row` goes to from a node that is no leaf; -1: the node is no split, or of a feature
// that is not there.
static inline int32_t bd_tree_next(const bd_tree *t, int32_t node, const bd_tree_feature *features,
                                   int feature_count, int64_t row)
{
    const bd_tree_node *n = &t->nodes.items[node];
    if (n->kind == BD_TREE_EMPTY || n->feature < 0 || n->feature >= feature_count || n->dimension < 0 ||
        n->dimension >= features[n->feature].columns)
        return -1;
    const int32_t value = features[n->feature].values[row * features[n->feature].columns + n->dimension];
    const bool is_left = n->kind == BD_TREE_BUCKETIZED ? value <= n->threshold : value == n->threshold;
    return is_left ? n->left : n->right;
}

#endif

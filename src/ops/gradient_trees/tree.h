// Trees of tf.contrib.boosted_trees and their messages. (gbt: gradient boosted trees)
//
// A tree is an array of nodes; node 0 is the root. Trees come from files and clients, too, and are kept as
// they come. What walks through a tree therefore checks it on the way: children stand behind their parents,
// so that a way ends.
#ifndef BD_OPS_GRADIENT_TREES_TREE_H
#define BD_OPS_GRADIENT_TREES_TREE_H

#include "base/array.h"
#include "base/status.h"
#include "ops/common/message_out.h"

// The numbers are those of the fields of tree_config.proto.
typedef enum bd_gbt_leaf_kind {
    BD_GBT_NO_LEAF = 0, // has no values
    BD_GBT_DENSE = 1,
    BD_GBT_SPARSE = 2,
} bd_gbt_leaf_kind;

typedef struct bd_gbt_leaf {
    bd_gbt_leaf_kind kind;
    int32_t count;
    float *values;    // owned; [count]
    int32_t *indices; // owned; [count] of a sparse leaf
} bd_gbt_leaf;

typedef enum bd_gbt_node_kind {
    BD_GBT_NO_NODE = 0,
    BD_GBT_LEAF = 1,
    BD_GBT_FLOAT_SPLIT = 2,        // feature <= threshold
    BD_GBT_SPARSE_SPLIT_LEFT = 3,  // the same of a sparse feature; an example without it goes left
    BD_GBT_SPARSE_SPLIT_RIGHT = 4, // or right
    BD_GBT_ID_SPLIT = 5,           // has feature_id
    BD_GBT_IDS_SPLIT = 6,          // has one of feature_ids
    BD_GBT_LAYER_FLOAT_SPLIT = 7,  // of a whole layer: the next layer is the next node
    BD_GBT_LAYER_ID_SPLIT = 8,
} bd_gbt_node_kind;

typedef struct bd_gbt_node {
    bd_gbt_node_kind kind;
    bd_gbt_leaf leaf;
    int32_t column, dimension;
    float threshold;
    int64_t feature_id;
    int32_t left, right;
    BD_ARRAY(int64_t) feature_ids;
    bool has_metadata, has_original;
    float gain;
    bd_gbt_leaf original;                  // what it was before it was split
    BD_ARRAY(bd_gbt_leaf) original_leaves; // the layer that it split
} bd_gbt_node;

typedef struct bd_gbt_tree {
    BD_ARRAY(bd_gbt_node) nodes;
    size_t bytes; // that the owner of the tree has counted for it
} bd_gbt_tree;

void bd_gbt_leaf_free(bd_gbt_leaf *l);
bd_gbt_leaf bd_gbt_leaf_copy(const bd_gbt_leaf *l);
void bd_gbt_node_free(bd_gbt_node *n);
bd_gbt_node bd_gbt_node_copy(const bd_gbt_node *n);
void bd_gbt_tree_free(bd_gbt_tree *t);
bd_gbt_tree bd_gbt_tree_copy(const bd_gbt_tree *t);

// The memory of a node, and of a tree.
size_t bd_gbt_node_bytes(const bd_gbt_node *n);
size_t bd_gbt_tree_bytes(const bd_gbt_tree *t);

// Whether a node has two children of its own.
bool bd_gbt_is_binary(bd_gbt_node_kind kind);
// Whether the two children of node `i`, which is binary, stand behind it in the tree.
bool bd_gbt_has_children(const bd_gbt_tree *t, size_t i);

// Adds the leaf of a parent to that of a new child, which has none or one of the same kind and size.
// InvalidArgument: it does not fit; bd_gbt_leaf_check_merge tells this without merging.
braid_code bd_gbt_leaf_check_merge(const bd_gbt_leaf *from, const bd_gbt_leaf *to, braid_status *st);
void bd_gbt_leaf_merge(const bd_gbt_leaf *from, bd_gbt_leaf *to);

// ---- Messages ----

struct Tensorflow__BoostedTrees__Trees__Leaf;
struct Tensorflow__BoostedTrees__Trees__TreeNode;
struct Tensorflow__BoostedTrees__Trees__DecisionTreeConfig;

// Read into what is empty before; NULL is a message without fields. On an error it is to be freed, too.
braid_code bd_gbt_leaf_read(bd_gbt_leaf *l, const struct Tensorflow__BoostedTrees__Trees__Leaf *m,
                            braid_status *st);
braid_code bd_gbt_node_read(bd_gbt_node *n, const struct Tensorflow__BoostedTrees__Trees__TreeNode *m,
                            braid_status *st);
braid_code bd_gbt_tree_read(bd_gbt_tree *t,
                            const struct Tensorflow__BoostedTrees__Trees__DecisionTreeConfig *m,
                            braid_status *st);

// Content of the messages of a bd_gbt_leaf, a bd_gbt_node and a bd_gbt_tree.
void bd_gbt_emit_leaf(bd_message_out *out, const void *leaf);
void bd_gbt_emit_node(bd_message_out *out, const void *node);
void bd_gbt_emit_tree(bd_message_out *out, const void *tree);

// Fields that are left out where they are 0, as proto3 does.
void bd_gbt_emit_int(bd_message_out *out, uint32_t field, int64_t value);
void bd_gbt_emit_float(bd_message_out *out, uint32_t field, float value);
// A packed list of int64, and of int32.
void bd_gbt_emit_ints(bd_message_out *out, uint32_t field, const int64_t *values, size_t count);

#endif

// Trees of tf.contrib.tensor_forest: the resource of the ops, and its messages.
//
// A tree is an array of nodes; node 0 is the root. Trees come from files and clients, too:
// bd_rf_tree_read takes only those whose nodes are leaves or tests with two children behind them, so that
// a way through a tree ends.
#ifndef BD_OPS_TENSOR_FOREST_TREE_H
#define BD_OPS_TENSOR_FOREST_TREE_H

#include "base/array.h"
#include "base/thread.h"
#include "op/resource.h"
#include "ops/common/message_out.h"
#include "ops/tensor_forest/data.h"
#include "tensor/charge.h"

// ---- Tests ----

typedef enum bd_rf_test_kind {
    BD_RF_INEQUALITY, // of a feature and a threshold
    BD_RF_OBLIQUE,    // of a weighted sum of features and a threshold
    BD_RF_MATCHING,   // whether a feature is one of some values
} bd_rf_test_kind;

// What a split asks of an example, which goes left if it passes.
typedef struct bd_rf_test {
    bd_rf_test_kind kind;
    int comparison;  // of an inequality: a bd_rf_comparison
    bool is_inverse; // of a match: whether it is none of the values
    bool is_default_right;
    int32_t feature;
    float threshold;
    int32_t count;     // of `numbers`
    int32_t *features; // owned; of an oblique test
    float *numbers;    // owned; the weights of the features, or the values
} bd_rf_test;

void bd_rf_test_free(bd_rf_test *t);
bd_rf_test bd_rf_test_copy(const bd_rf_test *t);
// A test that the example of the sample passes.
bd_rf_test bd_rf_test_of(const bd_rf_sample *sample, bd_rf_comparison comparison);

// Whether a row passes. False: the data does not have a feature of the test.
bool bd_rf_test_pass(const bd_rf_test *t, const bd_rf_data *data, int64_t row, bool *passes);

// ---- Leaves ----

// A number of a message, which may be there without a value (0).
typedef struct bd_rf_count {
    int64_t key; // of a sparse vector
    float value;
    bool is_set;
} bd_rf_count;

typedef BD_ARRAY(bd_rf_count) bd_rf_counts;

// Finds the count of a key, or adds one of 0, in a sparse vector: its keys ascend.
bd_rf_count *bd_rf_counts_at(bd_rf_counts *counts, int64_t key);
// The count of a key; NULL: there is none.
const bd_rf_count *bd_rf_counts_find(const bd_rf_counts *counts, int64_t key);
// The value of a key; 0: there is none.
float bd_rf_counts_get(const bd_rf_counts *counts, int64_t key);
void bd_rf_counts_copy(bd_rf_counts *to, const bd_rf_counts *from);

typedef enum bd_rf_vector_kind {
    BD_RF_NO_VECTOR,
    BD_RF_VECTOR, // dense: keys are not used
    BD_RF_SPARSE_VECTOR,
} bd_rf_vector_kind;

typedef struct bd_rf_leaf {
    bd_rf_vector_kind kind;
    bd_rf_counts counts;
} bd_rf_leaf;

// ---- Trees ----

typedef struct bd_rf_node {
    bool has_id; // its message has node_id
    bool is_leaf;
    bd_rf_leaf leaf;
    bd_rf_test test; // where it is no leaf
    int32_t left, right;
} bd_rf_node;

typedef struct bd_rf_tree {
    BD_ARRAY(bd_rf_node) nodes;
    bd_charge charge; // for the nodes and the values of their leaves, as they were made
} bd_rf_tree;

typedef struct bd_rf_tree_resource {
    bd_resource base;
    bd_rf_params params;
    bd_mutex mu;
    bd_rf_tree tree; // guarded by mu; has a root
} bd_rf_tree_resource;

extern const bd_resource_type bd_rf_tree_type;

// The tree in input `i`; the caller drops the reference. NULL: the kernel has failed.
bd_rf_tree_resource *bd_rf_input_tree(bd_op_ctx *c, int i);

void bd_rf_tree_fini(bd_rf_tree *t);
// Reads a serialized decision_trees.Model into `t`, which is empty before, and on an error after. A model
// without nodes gets a root. InvalidArgument: malformed; Unimplemented: models that are no tree, values that
// are not float, and tests that no op has; ResourceExhausted: the account of this thread allows no more.
braid_code bd_rf_tree_read(bd_rf_tree *t, const bd_rf_params *p, const void *data, size_t len,
                           braid_status *st);

// The leaf that a row comes to; -1: the data does not have the feature that a node tests. `pass` (NULL: no
// one) is told each node on the way.
int32_t bd_rf_tree_find(const bd_rf_tree *t, const bd_rf_data *data, int64_t row,
                        void (*pass)(void *arg, int32_t node), void *arg);

// Makes a leaf a split of two leaves, and takes over the test and what the leaves have, also on an error. The
// left child is *child; the right one is the next. ResourceExhausted: the account allows no more.
braid_code bd_rf_tree_split(bd_rf_tree *t, int32_t node, bd_rf_test *test, bd_rf_leaf *left,
                            bd_rf_leaf *right, int32_t *child, braid_status *st);
// Counts further nodes, and values of leaves.
braid_code bd_rf_tree_charge(bd_rf_tree *t, size_t nodes, size_t values, braid_status *st);

// ---- Messages ----

// Reads a BinaryNode's test; its children are left aside.
struct Tensorflow__DecisionTrees__BinaryNode;
braid_code bd_rf_test_read(bd_rf_test *t, const struct Tensorflow__DecisionTrees__BinaryNode *m,
                           braid_status *st);
// Adds the numbers of a message to `counts`, which is empty before.
struct Tensorflow__DecisionTrees__Vector;
struct Tensorflow__DecisionTrees__SparseVector;
braid_code bd_rf_vector_read(bd_rf_counts *counts, const struct Tensorflow__DecisionTrees__Vector *m,
                             braid_status *st);
braid_code bd_rf_sparse_vector_read(bd_rf_counts *counts,
                                    const struct Tensorflow__DecisionTrees__SparseVector *m,
                                    braid_status *st);

// Messages for bd_emit_message: of a bd_rf_tree, a bd_rf_node, a bd_rf_test, bd_rf_counts, and the
// index and the number of a node.
void bd_rf_put_model(bd_message_out *out, const void *tree);
void bd_rf_put_test(bd_message_out *out, const void *test); // a BinaryNode without children
void bd_rf_put_vector(bd_message_out *out, const void *counts);
void bd_rf_put_sparse_vector(bd_message_out *out, const void *counts);

// Node `i` of a tree.
typedef struct bd_rf_node_ref {
    const bd_rf_tree *tree;
    int32_t i;
} bd_rf_node_ref;
void bd_rf_put_node(bd_message_out *out, const void *node_ref);

#endif

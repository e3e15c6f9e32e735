// Trees as messages: decision_trees.Model and its parts.
#include "ops/tensor_forest/tree.h"

#include "base/check.h"
#include "proto/pack.h"
#include "tensorflow/contrib/decision_trees/proto/generic_tree_model.pb-c.h"
#include "tensorflow/contrib/decision_trees/proto/generic_tree_model_extensions.pb-c.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef Tensorflow__DecisionTrees__Model model_message;
typedef Tensorflow__DecisionTrees__DecisionTree tree_message;
typedef Tensorflow__DecisionTrees__TreeNode node_message;
typedef Tensorflow__DecisionTrees__BinaryNode split_message;
typedef Tensorflow__DecisionTrees__InequalityTest inequality_message;
typedef Tensorflow__DecisionTrees__MatchingValuesTest matching_message;
typedef Tensorflow__DecisionTrees__FeatureId feature_message;
typedef Tensorflow__DecisionTrees__Value value_message;

#define MATCHING_URL "type.googleapis.com/tensorflow.decision_trees.MatchingValuesTest"

// ---- Reading: values ----

static braid_code read_value(const value_message *m, bd_rf_count *count, braid_status *st)
{
    if (!m || m->value_case == TENSORFLOW__DECISION_TREES__VALUE__VALUE__NOT_SET) return BRAID_OK;
    if (m->value_case != TENSORFLOW__DECISION_TREES__VALUE__VALUE_FLOAT_VALUE)
        return bd_fail(st, BRAID_UNIMPLEMENTED, "The tree has a value that is not a float_value");
    count->value = m->float_value;
    count->is_set = true;
    return BRAID_OK;
}

braid_code bd_rf_vector_read(bd_rf_counts *counts, const Tensorflow__DecisionTrees__Vector *m,
                             braid_status *st)
{
    counts->items = bd_try_calloc(m->n_value + 1, sizeof *counts->items);
    if (!counts->items)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for a vector of %zu values", m->n_value);
    counts->len = counts->cap = m->n_value;
    for (size_t i = 0; i < m->n_value; i++)
        if (read_value(m->value[i], &counts->items[i], st)) return st->code;
    return BRAID_OK;
}

static int compare_keys(const void *a, const void *b)
{
    const int64_t x = ((const bd_rf_count *)a)->key, y = ((const bd_rf_count *)b)->key;
    return x < y ? -1 : x > y;
}

braid_code bd_rf_sparse_vector_read(bd_rf_counts *counts, const Tensorflow__DecisionTrees__SparseVector *m,
                                    braid_status *st)
{
    counts->items = bd_try_calloc(m->n_sparse_value + 1, sizeof *counts->items);
    if (!counts->items)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for %zu values", m->n_sparse_value);
    counts->len = counts->cap = m->n_sparse_value;
    for (size_t i = 0; i < m->n_sparse_value; i++) {
        counts->items[i].key = m->sparse_value[i]->key;
        if (read_value(m->sparse_value[i]->value, &counts->items[i], st)) return st->code;
    }
    if (counts->len > 0) qsort(counts->items, counts->len, sizeof *counts->items, compare_keys);
    for (size_t i = 1; i < counts->len; i++)
        if (counts->items[i].key == counts->items[i - 1].key)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "A sparse vector has key %lld twice",
                           (long long)counts->items[i].key);
    return BRAID_OK;
}

// ---- Reading: tests ----

static braid_code read_feature(const feature_message *m, int32_t *feature, braid_status *st)
{
    const char *id = m && m->id ? m->id->value : "";
    const size_t digits = strspn(id, "0123456789");
    const long long number = digits > 0 && digits <= 10 && !id[digits] ? atoll(id) : -1;
    if (number < 0 || number > INT32_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Invalid feature ID: [%.100s]", id);
    *feature = (int32_t)number;
    return BRAID_OK;
}

static braid_code read_oblique(bd_rf_test *t, const Tensorflow__DecisionTrees__ObliqueFeatures *m,
                               braid_status *st)
{
    if (m->n_features != m->n_weights || m->n_features > INT32_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "An oblique test has %zu features and %zu weights",
                       m->n_features, m->n_weights);
    t->kind = BD_RF_OBLIQUE;
    t->count = (int32_t)m->n_features;
    t->features = bd_try_calloc(m->n_features + 1, sizeof *t->features);
    t->numbers = bd_try_calloc(m->n_features + 1, sizeof *t->numbers);
    if (!t->features || !t->numbers) return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for a test");
    for (size_t i = 0; i < m->n_features; i++) {
        t->numbers[i] = m->weights[i];
        if (read_feature(m->features[i], &t->features[i], st)) return st->code;
    }
    return BRAID_OK;
}

static braid_code read_inequality(bd_rf_test *t, const inequality_message *m, braid_status *st)
{
    bd_rf_count threshold = {0};
    t->kind = BD_RF_INEQUALITY;
    t->comparison = (int)m->type;
    if (t->comparison < BD_RF_LESS_OR_EQUAL || t->comparison > BD_RF_GREATER)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Unknown split test type: %d", t->comparison);
    if (read_value(m->threshold, &threshold, st)) return st->code;
    t->threshold = threshold.value;
    if (m->feature_sum_case == TENSORFLOW__DECISION_TREES__INEQUALITY_TEST__FEATURE_SUM_OBLIQUE)
        return read_oblique(t, m->oblique, st);
    return read_feature(m->feature_sum_case ==
                                TENSORFLOW__DECISION_TREES__INEQUALITY_TEST__FEATURE_SUM_FEATURE_ID
                            ? m->feature_id
                            : NULL,
                        &t->feature, st);
}

static braid_code read_matching(bd_rf_test *t, const matching_message *m, braid_status *st)
{
    if (m->n_value > INT32_MAX || read_feature(m->feature_id, &t->feature, st))
        return st->code ? st->code : bd_fail(st, BRAID_INVALID_ARGUMENT, "A test has too many values");
    t->kind = BD_RF_MATCHING;
    t->is_inverse = m->inverse;
    t->count = (int32_t)m->n_value;
    t->numbers = bd_try_calloc(m->n_value + 1, sizeof *t->numbers);
    if (!t->numbers) return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for a test");
    for (size_t i = 0; i < m->n_value; i++) {
        bd_rf_count value = {0};
        if (read_value(m->value[i], &value, st)) return st->code;
        t->numbers[i] = value.value;
    }
    return BRAID_OK;
}

static braid_code read_custom(bd_rf_test *t, const Google__Protobuf__Any *any, braid_status *st)
{
    BD_PROTO_ARENA(arena);
    BD_STATUS(why);
    if (!any->type_url || strcmp(any->type_url, MATCHING_URL) != 0)
        return bd_fail(st, BRAID_UNIMPLEMENTED, "Unknown split test: %.100s",
                       any->type_url ? any->type_url : "");
    const matching_message *m = bd_proto_unpack(&tensorflow__decision_trees__matching_values_test__descriptor,
                                                any->value.data, any->value.len, arena, why);
    if (!m)
        return bd_fail(st, why->code, "Unable to parse a MatchingValuesTest: %s", braid_status_message(why));
    return read_matching(t, m, st);
}

braid_code bd_rf_test_read(bd_rf_test *t, const split_message *m, braid_status *st)
{
    *t = (bd_rf_test){.is_default_right =
                          m->default_direction == TENSORFLOW__DECISION_TREES__BINARY_NODE__DIRECTION__RIGHT};
    braid_code code;
    switch (m->left_child_test_case) {
    case TENSORFLOW__DECISION_TREES__BINARY_NODE__LEFT_CHILD_TEST_INEQUALITY_LEFT_CHILD_TEST:
        code = read_inequality(t, m->inequality_left_child_test, st);
        break;
    case TENSORFLOW__DECISION_TREES__BINARY_NODE__LEFT_CHILD_TEST_CUSTOM_LEFT_CHILD_TEST:
        code = read_custom(t, m->custom_left_child_test, st);
        break;
    default: code = bd_fail(st, BRAID_INVALID_ARGUMENT, "A split has no test"); break;
    }
    if (code) bd_rf_test_free(t);
    return code;
}

// ---- Reading: nodes ----

static braid_code read_leaf(bd_rf_leaf *leaf, const Tensorflow__DecisionTrees__Leaf *m, braid_status *st)
{
    switch (m->leaf_case) {
    case TENSORFLOW__DECISION_TREES__LEAF__LEAF_VECTOR:
        leaf->kind = BD_RF_VECTOR;
        return bd_rf_vector_read(&leaf->counts, m->vector, st);
    case TENSORFLOW__DECISION_TREES__LEAF__LEAF_SPARSE_VECTOR:
        leaf->kind = BD_RF_SPARSE_VECTOR;
        return bd_rf_sparse_vector_read(&leaf->counts, m->sparse_vector, st);
    default: return BRAID_OK;
    }
}

// A child stands behind its parent, which no way through the tree therefore passes twice.
static braid_code read_children(bd_rf_node *n, size_t i, const tree_message *tree, braid_status *st)
{
    const split_message *m = tree->nodes[i]->binary_node;
    const int32_t children[] = {m->left_child_id ? m->left_child_id->value : 0,
                                m->right_child_id ? m->right_child_id->value : 0};
    for (int k = 0; k < 2; k++) {
        if (children[k] < 0 || (size_t)children[k] >= tree->n_nodes || (size_t)children[k] <= i)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Node %zu of %zu has child %d; a child is a node behind its parent", i,
                           tree->n_nodes, children[k]);
        const node_message *child = tree->nodes[children[k]];
        const int32_t id = child->node_id ? child->node_id->value : 0;
        if (id != children[k])
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "Node %d of the tree has node_id %d", children[k], id);
    }
    n->left = children[0];
    n->right = children[1];
    return BRAID_OK;
}

static braid_code read_node(bd_rf_node *n, size_t i, const tree_message *tree, braid_status *st)
{
    const node_message *m = tree->nodes[i];
    n->has_id = m->node_id != NULL;
    switch (m->node_type_case) {
    case TENSORFLOW__DECISION_TREES__TREE_NODE__NODE_TYPE_LEAF:
        n->is_leaf = true;
        return read_leaf(&n->leaf, m->leaf, st);
    case TENSORFLOW__DECISION_TREES__TREE_NODE__NODE_TYPE_BINARY_NODE:
        return read_children(n, i, tree, st) ? st->code : bd_rf_test_read(&n->test, m->binary_node, st);
    case TENSORFLOW__DECISION_TREES__TREE_NODE__NODE_TYPE_CUSTOM_NODE_TYPE:
        return bd_fail(st, BRAID_UNIMPLEMENTED, "Node %zu of the tree is of a type of its own", i);
    default: return bd_fail(st, BRAID_INVALID_ARGUMENT, "Node %zu is neither a leaf nor a split", i);
    }
}

static braid_code read_nodes(bd_rf_tree *t, const tree_message *m, braid_status *st)
{
    if (m->n_nodes > INT32_MAX - 2) return bd_fail(st, BRAID_INVALID_ARGUMENT, "The tree has too many nodes");
    t->nodes.items = bd_try_calloc(m->n_nodes + 1, sizeof *t->nodes.items);
    if (!t->nodes.items)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for a tree of %zu nodes", m->n_nodes);
    t->nodes.len = m->n_nodes;
    t->nodes.cap = m->n_nodes + 1;
    for (size_t i = 0; i < m->n_nodes; i++)
        if (read_node(&t->nodes.items[i], i, m, st)) return st->code;
    return BRAID_OK;
}

static braid_code charge_nodes(bd_rf_tree *t, braid_status *st)
{
    size_t values = 0;
    for (size_t i = 0; i < t->nodes.len; i++)
        values += t->nodes.items[i].leaf.counts.len;
    return bd_rf_tree_charge(t, t->nodes.len, values, st);
}

static braid_code add_root(bd_rf_tree *t, const bd_rf_params *p, braid_status *st)
{
    bd_rf_node root = {.is_leaf = true};
    const bool is_dense = p->leaf_type == BD_RF_LEAF_DENSE || p->leaf_type == BD_RF_LEAF_REGRESSION;
    const size_t values = is_dense ? (size_t)p->num_outputs : 0;
    if (bd_rf_tree_charge(t, 1, values, st)) return st->code;
    if (is_dense) root.leaf.kind = BD_RF_VECTOR;
    bd_array_reserve(&root.leaf.counts, values);
    for (size_t k = 0; k < values; k++)
        bd_array_push(&root.leaf.counts, (bd_rf_count){0});
    bd_array_push(&t->nodes, root);
    return BRAID_OK;
}

braid_code bd_rf_tree_read(bd_rf_tree *t, const bd_rf_params *p, const void *data, size_t len,
                           braid_status *st)
{
    BD_PROTO_ARENA(arena);
    BD_STATUS(why);
    const model_message *m =
        bd_proto_unpack(&tensorflow__decision_trees__model__descriptor, data, len, arena, why);
    if (!m) return bd_fail(st, why->code, "Unable to parse tree config: %s", braid_status_message(why));
    braid_code code = BRAID_OK;
    if (m->model_case == TENSORFLOW__DECISION_TREES__MODEL__MODEL_DECISION_TREE)
        code = read_nodes(t, m->decision_tree, st);
    else if (m->model_case != TENSORFLOW__DECISION_TREES__MODEL__MODEL__NOT_SET)
        code = bd_fail(st, BRAID_UNIMPLEMENTED, "The tree config is a model other than a decision_tree");
    if (!code) code = t->nodes.len > 0 ? charge_nodes(t, st) : add_root(t, p, st);
    if (code) bd_rf_tree_fini(t);
    return code;
}

// ---- Writing ----

// google.protobuf.Int32Value and StringValue.
static void put_int_wrapper(bd_message_out *out, const void *arg)
{
    const int32_t value = *(const int32_t *)arg;
    if (value != 0) bd_emit_int(out, 1, value);
}

static void put_id(bd_message_out *out, const void *arg)
{
    char digits[16];
    const int len = snprintf(digits, sizeof digits, "%d", *(const int32_t *)arg);
    bd_emit_bytes(out, 1, digits, (size_t)len);
}

static void put_feature(bd_message_out *out, const void *arg)
{
    bd_emit_message(out, 1, put_id, arg);
}

static void put_value(bd_message_out *out, const void *arg)
{
    const bd_rf_count *count = arg;
    if (count->is_set) bd_emit_float(out, 1, count->value);
}

void bd_rf_put_vector(bd_message_out *out, const void *counts)
{
    const bd_rf_counts *c = counts;
    for (size_t i = 0; i < c->len; i++)
        bd_emit_message(out, 1, put_value, &c->items[i]);
}

static void put_entry(bd_message_out *out, const void *arg)
{
    const bd_rf_count *count = arg;
    bd_emit_int(out, 1, count->key);
    bd_emit_message(out, 2, put_value, count);
}

void bd_rf_put_sparse_vector(bd_message_out *out, const void *counts)
{
    const bd_rf_counts *c = counts;
    for (size_t i = 0; i < c->len; i++)
        bd_emit_message(out, 1, put_entry, &c->items[i]);
}

static void put_leaf(bd_message_out *out, const void *arg)
{
    const bd_rf_leaf *leaf = arg;
    if (leaf->kind == BD_RF_VECTOR) bd_emit_message(out, 1, bd_rf_put_vector, &leaf->counts);
    if (leaf->kind == BD_RF_SPARSE_VECTOR) bd_emit_message(out, 2, bd_rf_put_sparse_vector, &leaf->counts);
}

static void put_oblique(bd_message_out *out, const void *arg)
{
    const bd_rf_test *t = arg;
    for (int32_t i = 0; i < t->count; i++)
        bd_emit_message(out, 1, put_feature, &t->features[i]);
    if (t->count > 0) bd_emit_bytes(out, 2, t->numbers, sizeof *t->numbers * (size_t)t->count);
}

static void put_inequality(bd_message_out *out, const void *arg)
{
    const bd_rf_test *t = arg;
    const bd_rf_count threshold = {.value = t->threshold, .is_set = true};
    if (t->kind == BD_RF_INEQUALITY) bd_emit_message(out, 1, put_feature, &t->feature);
    if (t->comparison != 0) bd_emit_int(out, 2, t->comparison);
    bd_emit_message(out, 3, put_value, &threshold);
    if (t->kind == BD_RF_OBLIQUE) bd_emit_message(out, 4, put_oblique, t);
}

static void put_matching(bd_message_out *out, const void *arg)
{
    const bd_rf_test *t = arg;
    bd_emit_message(out, 1, put_feature, &t->feature);
    for (int32_t i = 0; i < t->count; i++) {
        const bd_rf_count value = {.value = t->numbers[i], .is_set = true};
        bd_emit_message(out, 2, put_value, &value);
    }
    if (t->is_inverse) bd_emit_int(out, 3, 1);
}

static void put_any(bd_message_out *out, const void *arg)
{
    bd_emit_bytes(out, 1, MATCHING_URL, strlen(MATCHING_URL));
    bd_emit_message(out, 2, put_matching, arg);
}

void bd_rf_put_test(bd_message_out *out, const void *test)
{
    const bd_rf_test *t = test;
    if (t->is_default_right) bd_emit_int(out, 3, 1);
    if (t->kind == BD_RF_MATCHING)
        bd_emit_message(out, 5, put_any, t);
    else
        bd_emit_message(out, 4, put_inequality, t);
}

static void put_split(bd_message_out *out, const void *arg)
{
    const bd_rf_node *n = arg;
    bd_emit_message(out, 1, put_int_wrapper, &n->left);
    bd_emit_message(out, 2, put_int_wrapper, &n->right);
    bd_rf_put_test(out, &n->test);
}

void bd_rf_put_node(bd_message_out *out, const void *node_ref)
{
    const bd_rf_node_ref *ref = node_ref;
    const bd_rf_node *n = &ref->tree->nodes.items[ref->i];
    if (n->has_id) bd_emit_message(out, 1, put_int_wrapper, &ref->i);
    if (n->is_leaf)
        bd_emit_message(out, 5, put_leaf, &n->leaf);
    else
        bd_emit_message(out, 4, put_split, n);
}

static void put_tree(bd_message_out *out, const void *tree)
{
    const bd_rf_tree *t = tree;
    for (size_t i = 0; i < t->nodes.len; i++) {
        const bd_rf_node_ref ref = {t, (int32_t)i};
        bd_emit_message(out, 1, bd_rf_put_node, &ref);
    }
}

void bd_rf_put_model(bd_message_out *out, const void *tree)
{
    bd_emit_message(out, 1, put_tree, tree);
}

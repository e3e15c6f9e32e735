// Trees as messages: tree_config.proto.
#include "ops/gradient_trees/tree.h"

#include "tensorflow/contrib/boosted_trees/proto/tree_config.pb-c.h"
#include <string.h>

typedef Tensorflow__BoostedTrees__Trees__Leaf leaf_message;
typedef Tensorflow__BoostedTrees__Trees__TreeNode node_message;
typedef Tensorflow__BoostedTrees__Trees__TreeNodeMetadata metadata_message;
typedef Tensorflow__BoostedTrees__Trees__DenseFloatBinarySplit float_split_message;

#define LEAF(NAME) TENSORFLOW__BOOSTED_TREES__TREES__LEAF__LEAF_##NAME
#define NODE(NAME) TENSORFLOW__BOOSTED_TREES__TREES__TREE_NODE__NODE_##NAME

_Static_assert((int)BD_GBT_DENSE == (int)LEAF(VECTOR), "kinds are fields");
_Static_assert((int)BD_GBT_SPARSE == (int)LEAF(SPARSE_VECTOR), "kinds are fields");
_Static_assert((int)BD_GBT_LEAF == (int)NODE(LEAF), "kinds are fields");
_Static_assert((int)BD_GBT_LAYER_ID_SPLIT == (int)NODE(OBLIVIOUS_CATEGORICAL_ID_BINARY_SPLIT),
               "kinds are fields");

enum {
    METADATA_FIELD = 777
};

// ---- Reading ----

// Copies `count` elements; *to stays NULL where there are none.
static braid_code copy_elements(void *to, const void *from, size_t count, size_t size, braid_status *st)
{
    if (count > INT32_MAX) return bd_fail(st, BRAID_INVALID_ARGUMENT, "A leaf has %zu values", count);
    if (count == 0) return BRAID_OK;
    void *copy = bd_try_calloc(count, size);
    if (!copy) return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for %zu values", count);
    memcpy(copy, from, count * size);
    memcpy(to, &copy, sizeof copy); // of any type of pointer
    return BRAID_OK;
}

braid_code bd_gbt_leaf_read(bd_gbt_leaf *l, const leaf_message *m, braid_status *st)
{
    if (!m) return BRAID_OK;
    if (m->leaf_case == LEAF(VECTOR)) {
        l->kind = BD_GBT_DENSE;
        if (copy_elements(&l->values, m->vector->value, m->vector->n_value, sizeof(float), st))
            return st->code;
        l->count = (int32_t)m->vector->n_value;
    } else if (m->leaf_case == LEAF(SPARSE_VECTOR)) {
        const Tensorflow__BoostedTrees__Trees__SparseVector *v = m->sparse_vector;
        l->kind = BD_GBT_SPARSE;
        if (v->n_index != v->n_value)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "A sparse leaf has %zu indices and %zu values",
                           v->n_index, v->n_value);
        if (copy_elements(&l->values, v->value, v->n_value, sizeof(float), st) ||
            copy_elements(&l->indices, v->index, v->n_index, sizeof(int32_t), st))
            return st->code;
        l->count = (int32_t)v->n_value;
    }
    return BRAID_OK;
}

static void read_float_split(bd_gbt_node *n, const float_split_message *m)
{
    if (!m) return;
    n->column = m->feature_column;
    n->dimension = m->dimension_id;
    n->threshold = m->threshold;
    n->left = m->left_id;
    n->right = m->right_id;
}

static braid_code read_ids(bd_gbt_node *n, const node_message *m, braid_status *st)
{
    const Tensorflow__BoostedTrees__Trees__CategoricalIdSetMembershipBinarySplit *s =
        m->categorical_id_set_membership_binary_split;
    n->column = s->feature_column;
    n->left = s->left_id;
    n->right = s->right_id;
    if (copy_elements(&n->feature_ids.items, s->feature_ids, s->n_feature_ids, sizeof(int64_t), st))
        return st->code;
    n->feature_ids.len = n->feature_ids.cap = s->n_feature_ids;
    return BRAID_OK;
}

static braid_code read_metadata(bd_gbt_node *n, const metadata_message *m, braid_status *st)
{
    if (!m) return BRAID_OK;
    n->has_metadata = true;
    n->gain = m->gain;
    n->has_original = m->original_leaf != NULL;
    if (bd_gbt_leaf_read(&n->original, m->original_leaf, st)) return st->code;
    for (size_t i = 0; i < m->n_original_oblivious_leaves; i++) {
        bd_array_push(&n->original_leaves, (bd_gbt_leaf){0});
        if (bd_gbt_leaf_read(&n->original_leaves.items[i], m->original_oblivious_leaves[i], st))
            return st->code;
    }
    return BRAID_OK;
}

braid_code bd_gbt_node_read(bd_gbt_node *n, const node_message *m, braid_status *st)
{
    if (!m) return BRAID_OK;
    n->kind = (bd_gbt_node_kind)m->node_case;
    switch (n->kind) {
    case BD_GBT_LEAF:
        if (bd_gbt_leaf_read(&n->leaf, m->leaf, st)) return st->code;
        break;
    case BD_GBT_FLOAT_SPLIT: read_float_split(n, m->dense_float_binary_split); break;
    case BD_GBT_SPARSE_SPLIT_LEFT:
        read_float_split(n, m->sparse_float_binary_split_default_left->split);
        break;
    case BD_GBT_SPARSE_SPLIT_RIGHT:
        read_float_split(n, m->sparse_float_binary_split_default_right->split);
        break;
    case BD_GBT_ID_SPLIT:
        n->column = m->categorical_id_binary_split->feature_column;
        n->feature_id = m->categorical_id_binary_split->feature_id;
        n->left = m->categorical_id_binary_split->left_id;
        n->right = m->categorical_id_binary_split->right_id;
        break;
    case BD_GBT_IDS_SPLIT:
        if (read_ids(n, m, st)) return st->code;
        break;
    case BD_GBT_LAYER_FLOAT_SPLIT:
        n->column = m->oblivious_dense_float_binary_split->feature_column;
        n->threshold = m->oblivious_dense_float_binary_split->threshold;
        break;
    case BD_GBT_LAYER_ID_SPLIT:
        n->column = m->oblivious_categorical_id_binary_split->feature_column;
        n->feature_id = m->oblivious_categorical_id_binary_split->feature_id;
        break;
    default: n->kind = BD_GBT_NO_NODE; break;
    }
    return read_metadata(n, m->node_metadata, st);
}

braid_code bd_gbt_tree_read(bd_gbt_tree *t, const Tensorflow__BoostedTrees__Trees__DecisionTreeConfig *m,
                            braid_status *st)
{
    if (!m) return BRAID_OK;
    if (m->n_nodes > INT32_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "A tree has %zu nodes", m->n_nodes);
    for (size_t i = 0; i < m->n_nodes; i++) {
        bd_array_push(&t->nodes, (bd_gbt_node){0});
        if (bd_gbt_node_read(&t->nodes.items[i], m->nodes[i], st)) return st->code;
    }
    return BRAID_OK;
}

// ---- Writing ----

void bd_gbt_emit_int(bd_message_out *out, uint32_t field, int64_t value)
{
    if (value != 0) bd_emit_int(out, field, value);
}

void bd_gbt_emit_float(bd_message_out *out, uint32_t field, float value)
{
    if (!(value == 0)) bd_emit_float(out, field, value);
}

// A list of integers, as field 1 of a message would have it: only their bytes.
typedef struct int_list {
    const int64_t *wide;
    const int32_t *narrow; // where `wide` is NULL
    size_t count;
} int_list;

static void emit_varints(bd_message_out *out, const void *arg)
{
    const int_list *list = arg;
    for (size_t i = 0; i < list->count; i++)
        bd_emit_varint(out, (uint64_t)(list->wide ? list->wide[i] : list->narrow[i]));
}

void bd_gbt_emit_ints(bd_message_out *out, uint32_t field, const int64_t *values, size_t count)
{
    const int_list list = {.wide = values, .count = count};
    if (count > 0) bd_emit_message(out, field, emit_varints, &list);
}

static void emit_floats(bd_message_out *out, uint32_t field, const bd_gbt_leaf *l)
{
    if (l->count > 0) bd_emit_bytes(out, field, l->values, sizeof *l->values * (size_t)l->count);
}

static void emit_vector(bd_message_out *out, const void *leaf)
{
    emit_floats(out, 1, leaf);
}

static void emit_sparse_vector(bd_message_out *out, const void *leaf)
{
    const bd_gbt_leaf *l = leaf;
    const int_list indices = {.narrow = l->indices, .count = (size_t)l->count};
    if (l->count > 0) bd_emit_message(out, 1, emit_varints, &indices);
    emit_floats(out, 2, l);
}

void bd_gbt_emit_leaf(bd_message_out *out, const void *leaf)
{
    const bd_gbt_leaf *l = leaf;
    if (l->kind == BD_GBT_DENSE) bd_emit_message(out, LEAF(VECTOR), emit_vector, l);
    if (l->kind == BD_GBT_SPARSE) bd_emit_message(out, LEAF(SPARSE_VECTOR), emit_sparse_vector, l);
}

static void emit_float_split(bd_message_out *out, const void *node)
{
    const bd_gbt_node *n = node;
    bd_gbt_emit_int(out, 1, n->column);
    bd_gbt_emit_float(out, 2, n->threshold);
    bd_gbt_emit_int(out, 3, n->left);
    bd_gbt_emit_int(out, 4, n->right);
    bd_gbt_emit_int(out, 5, n->dimension);
}

static void emit_sparse_split(bd_message_out *out, const void *node)
{
    bd_emit_message(out, 1, emit_float_split, node);
}

// Splits by ids, and those of layers.
static void emit_other_split(bd_message_out *out, const void *node)
{
    const bd_gbt_node *n = node;
    bd_gbt_emit_int(out, 1, n->column);
    if (n->kind == BD_GBT_IDS_SPLIT)
        bd_gbt_emit_ints(out, 2, n->feature_ids.items, n->feature_ids.len);
    else if (n->kind == BD_GBT_LAYER_FLOAT_SPLIT)
        bd_gbt_emit_float(out, 2, n->threshold);
    else
        bd_gbt_emit_int(out, 2, n->feature_id);
    if (bd_gbt_is_binary(n->kind)) {
        bd_gbt_emit_int(out, 3, n->left);
        bd_gbt_emit_int(out, 4, n->right);
    }
}

static void emit_metadata(bd_message_out *out, const void *node)
{
    const bd_gbt_node *n = node;
    bd_gbt_emit_float(out, 1, n->gain);
    if (n->has_original) bd_emit_message(out, 2, bd_gbt_emit_leaf, &n->original);
    for (size_t i = 0; i < n->original_leaves.len; i++)
        bd_emit_message(out, 3, bd_gbt_emit_leaf, &n->original_leaves.items[i]);
}

void bd_gbt_emit_node(bd_message_out *out, const void *node)
{
    const bd_gbt_node *n = node;
    const uint32_t field = (uint32_t)n->kind;
    switch (n->kind) {
    case BD_GBT_NO_NODE: break;
    case BD_GBT_LEAF: bd_emit_message(out, field, bd_gbt_emit_leaf, &n->leaf); break;
    case BD_GBT_FLOAT_SPLIT: bd_emit_message(out, field, emit_float_split, n); break;
    case BD_GBT_SPARSE_SPLIT_LEFT:
    case BD_GBT_SPARSE_SPLIT_RIGHT: bd_emit_message(out, field, emit_sparse_split, n); break;
    default: bd_emit_message(out, field, emit_other_split, n); break;
    }
    if (n->has_metadata) bd_emit_message(out, METADATA_FIELD, emit_metadata, n);
}

void bd_gbt_emit_tree(bd_message_out *out, const void *tree)
{
    const bd_gbt_tree *t = tree;
    for (size_t i = 0; i < t->nodes.len; i++)
        bd_emit_message(out, 1, bd_gbt_emit_node, &t->nodes.items[i]);
}

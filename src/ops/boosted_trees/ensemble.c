// Ensembles of decision trees in memory and as TreeEnsemble messages; splitting leaves and pruning trees.
//
// Layer-by-layer boosting: a leaf's children continue from its logit (Ponomareva et al., "TF Boosted Trees",
// arXiv 1710.11555). Pruning by gains: Chen and Guestrin, "XGBoost", arXiv 1603.02754, section 2.2.
#include "ops/boosted_trees/ensemble.h"

#include "base/check.h"
#include "ops/common/handle.h"
#include "ops/common/string_out.h"
#include "proto/pack.h"
#include "tensorflow/core/kernels/boosted_trees/boosted_trees.pb-c.h"
#include <string.h>

typedef Tensorflow__BoostedTrees__TreeEnsemble ensemble_message;
typedef Tensorflow__BoostedTrees__Tree tree_message;
typedef Tensorflow__BoostedTrees__TreeMetadata tree_metadata_message;
typedef Tensorflow__BoostedTrees__TreeMetadata__PostPruneNodeUpdate pruned_message;
typedef Tensorflow__BoostedTrees__Node node_message;
typedef Tensorflow__BoostedTrees__NodeMetadata node_metadata_message;
typedef Tensorflow__BoostedTrees__Leaf leaf_message;

// ---- The resource ----

static void destroy(bd_resource *r)
{
    bd_ensemble *e = BD_CONTAINER_OF(r, bd_ensemble, base);
    bd_forest_fini(&e->forest);
    bd_mutex_fini(&e->mu);
    bd_free(e);
}

const bd_resource_type bd_ensemble_type = {.name = "BoostedTreesEnsembleResource", .destroy = destroy};

bd_ensemble *bd_input_ensemble(bd_op_ctx *c)
{
    bd_resource *r = bd_input_resource(c, 0, &bd_ensemble_type);
    return r ? BD_CONTAINER_OF(r, bd_ensemble, base) : NULL;
}

void bd_forest_fini(bd_forest *f)
{
    for (size_t i = 0; i < f->trees.len; i++) {
        bd_array_free(&f->trees.items[i].values);
        bd_array_free(&f->trees.items[i].nodes);
        bd_array_free(&f->trees.items[i].pruned);
    }
    bd_array_free(&f->trees);
    *f = (bd_forest){0};
}

// ---- Reading messages ----

// Adds values to the tree's.
static bd_logits add_values(bd_tree *t, const float *values, size_t count, bool is_vector)
{
    const bd_logits logits = {(int32_t)t->values.len, (int32_t)count, is_vector};
    bd_array_reserve(&t->values, t->values.len + count);
    if (count > 0) memcpy(t->values.items + t->values.len, values, count * sizeof *values);
    t->values.len += count;
    return logits;
}

// The numbers of values in a leaf's message.
static size_t count_values(const leaf_message *m)
{
    if (!m) return 0;
    return m->leaf_case == TENSORFLOW__BOOSTED_TREES__LEAF__LEAF_VECTOR ? m->vector->n_value : 1;
}

static braid_code read_leaf(bd_tree *t, const leaf_message *m, bd_logits *logits, braid_status *st)
{
    if (m->leaf_case == TENSORFLOW__BOOSTED_TREES__LEAF__LEAF_SPARSE_VECTOR)
        return bd_fail(st, BRAID_UNIMPLEMENTED,
                       "A leaf of the tree ensemble holds a sparse vector, which no op reads");
    if (m->leaf_case == TENSORFLOW__BOOSTED_TREES__LEAF__LEAF_VECTOR)
        *logits = add_values(t, m->vector->value, m->vector->n_value, true);
    else
        *logits = add_values(t, &m->scalar, 1, false);
    return BRAID_OK;
}

static braid_code read_node(bd_tree *t, const node_message *m, bd_tree_node *n, braid_status *st)
{
    if (m->metadata) {
        n->has_metadata = true;
        n->gain = m->metadata->gain;
        if (m->metadata->original_leaf && read_leaf(t, m->metadata->original_leaf, &n->original, st))
            return st->code;
    }
    switch (m->node_case) {
    case TENSORFLOW__BOOSTED_TREES__NODE__NODE_LEAF:
        n->kind = BD_TREE_LEAF;
        return read_leaf(t, m->leaf, &n->value, st);
    case TENSORFLOW__BOOSTED_TREES__NODE__NODE_BUCKETIZED_SPLIT:
        n->kind = BD_TREE_BUCKETIZED;
        n->feature = m->bucketized_split->feature_id;
        n->dimension = m->bucketized_split->dimension_id;
        n->threshold = m->bucketized_split->threshold;
        n->left = m->bucketized_split->left_id;
        n->right = m->bucketized_split->right_id;
        n->is_default_right = m->bucketized_split->default_direction ==
                              TENSORFLOW__BOOSTED_TREES__DEFAULT_DIRECTION__DEFAULT_RIGHT;
        return BRAID_OK;
    case TENSORFLOW__BOOSTED_TREES__NODE__NODE_CATEGORICAL_SPLIT:
        n->kind = BD_TREE_CATEGORICAL;
        n->feature = m->categorical_split->feature_id;
        n->dimension = m->categorical_split->dimension_id;
        n->threshold = m->categorical_split->value;
        n->left = m->categorical_split->left_id;
        n->right = m->categorical_split->right_id;
        return BRAID_OK;
    case TENSORFLOW__BOOSTED_TREES__NODE__NODE_DENSE_SPLIT:
        return bd_fail(st, BRAID_UNIMPLEMENTED,
                       "A node of the tree ensemble is a dense split, which no op reads");
    default: return BRAID_OK;
    }
}

static bool is_split(const bd_tree_node *n)
{
    return n->kind == BD_TREE_BUCKETIZED || n->kind == BD_TREE_CATEGORICAL;
}

// Checks that the children of splits exist and that no node is the child of two.
static braid_code check_children(const bd_tree *t, size_t tree, bool *has_parent, braid_status *st)
{
    for (size_t i = 0; i < t->nodes.len; i++) {
        const bd_tree_node *n = &t->nodes.items[i];
        if (!is_split(n)) continue;
        const int32_t children[] = {n->left, n->right};
        for (int k = 0; k < 2; k++) {
            if (children[k] < 0 || (size_t)children[k] >= t->nodes.len)
                return bd_fail(st, BRAID_INVALID_ARGUMENT,
                               "Node %zu of tree %zu has child %d, but the tree has %zu nodes", i, tree,
                               children[k], t->nodes.len);
            if (has_parent[children[k]] || children[k] == 0)
                return bd_fail(st, BRAID_INVALID_ARGUMENT, "Node %d of tree %zu is %s", children[k], tree,
                               children[k] == 0 ? "the root and the child of another one"
                                                : "the child of two nodes");
            has_parent[children[k]] = true;
        }
    }
    return BRAID_OK;
}

// Fills `order` [nodes] with the nodes that are below the `count` nodes it begins with, parents first.
// Returns their number.
static size_t add_descendants(const bd_tree *t, int32_t *order, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const bd_tree_node *n = &t->nodes.items[order[i]];
        if (!is_split(n)) continue;
        order[count++] = n->left;
        order[count++] = n->right;
    }
    return count;
}

// Nodes with one parent each are a forest unless some of them are in a circle: these are below no node that
// has no parent.
static braid_code check_tree(const bd_tree *t, size_t tree, braid_status *st)
{
    bool *has_parent = bd_try_calloc(t->nodes.len + 1, sizeof *has_parent);
    int32_t *order = bd_try_calloc(t->nodes.len + 1, sizeof *order);
    braid_code code = has_parent && order
                          ? check_children(t, tree, has_parent, st)
                          : bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory to check a tree");
    if (!code) {
        size_t count = 0;
        for (size_t i = 0; i < t->nodes.len; i++)
            if (!has_parent[i]) order[count++] = (int32_t)i;
        if (add_descendants(t, order, count) != t->nodes.len)
            code = bd_fail(st, BRAID_INVALID_ARGUMENT, "Nodes of tree %zu are below themselves", tree);
    }
    bd_free(has_parent);
    bd_free(order);
    return code;
}

static braid_code read_pruned(const tree_metadata_message *m, bd_tree *t, size_t tree, braid_status *st)
{
    for (size_t i = 0; i < m->n_post_pruned_nodes_meta; i++) {
        const pruned_message *p = m->post_pruned_nodes_meta[i];
        if (p->new_node_id < 0 || (size_t)p->new_node_id >= t->nodes.len)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Node %zu of tree %zu was pruned into node %d, but the tree has %zu nodes", i,
                           tree, p->new_node_id, t->nodes.len);
        const bd_logits change = add_values(t, p->logit_change, p->n_logit_change, false);
        bd_array_push(&t->pruned, (bd_pruned_node){p->new_node_id, change});
    }
    return BRAID_OK;
}

// Makes room for all that the messages of a tree hold.
static braid_code reserve(bd_tree *t, const tree_message *m, const tree_metadata_message *metadata,
                          braid_status *st)
{
    size_t values = 0;
    for (size_t i = 0; i < m->n_nodes; i++) {
        const node_message *n = m->nodes[i];
        if (n->node_case == TENSORFLOW__BOOSTED_TREES__NODE__NODE_LEAF) values += count_values(n->leaf);
        if (n->metadata) values += count_values(n->metadata->original_leaf);
    }
    const size_t pruned = metadata ? metadata->n_post_pruned_nodes_meta : 0;
    for (size_t i = 0; i < pruned; i++)
        values += metadata->post_pruned_nodes_meta[i]->n_logit_change;
    t->nodes.items = bd_try_calloc(m->n_nodes, sizeof *t->nodes.items);
    t->pruned.items = bd_try_calloc(pruned, sizeof *t->pruned.items);
    t->values.items = bd_try_calloc(values, sizeof *t->values.items);
    if (!t->nodes.items || !t->pruned.items || !t->values.items)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for a tree of %zu nodes", m->n_nodes);
    t->nodes.cap = m->n_nodes;
    t->pruned.cap = pruned;
    t->values.cap = values;
    return BRAID_OK;
}

// `metadata` is NULL where a file has none of a tree.
static braid_code read_tree(bd_tree *t, size_t i, const tree_message *m,
                            const tree_metadata_message *metadata, braid_status *st)
{
    if (m->n_nodes == 0) return bd_fail(st, BRAID_INVALID_ARGUMENT, "Tree %zu has no nodes", i);
    if (reserve(t, m, metadata, st)) return st->code;
    for (size_t n = 0; n < m->n_nodes; n++) {
        bd_tree_node node = {.kind = BD_TREE_EMPTY};
        if (read_node(t, m->nodes[n], &node, st)) return st->code;
        bd_array_push(&t->nodes, node);
    }
    if (check_tree(t, i, st)) return st->code;
    if (!metadata) return BRAID_OK;
    t->layers = metadata->num_layers_grown;
    t->is_finalized = metadata->is_finalized;
    return read_pruned(metadata, t, i, st);
}

static braid_code read_message(bd_forest *f, const ensemble_message *m, braid_status *st)
{
    if (m->n_tree_weights != m->n_trees || m->n_tree_metadata > m->n_trees)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "The tree ensemble has %zu trees, but %zu tree_weights and %zu tree_metadata",
                       m->n_trees, m->n_tree_weights, m->n_tree_metadata);
    f->trees.items = bd_try_calloc(m->n_trees, sizeof *f->trees.items);
    if (!f->trees.items)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for an ensemble of %zu trees", m->n_trees);
    f->trees.len = f->trees.cap = m->n_trees;
    for (size_t i = 0; i < m->n_trees; i++) {
        f->trees.items[i].weight = m->tree_weights[i];
        if (read_tree(&f->trees.items[i], i, m->trees[i], i < m->n_tree_metadata ? m->tree_metadata[i] : NULL,
                      st))
            return st->code;
    }
    if (m->growing_metadata) {
        f->is_growing = true;
        f->trees_attempted = m->growing_metadata->num_trees_attempted;
        f->layers_attempted = m->growing_metadata->num_layers_attempted;
        f->layer_begin = m->growing_metadata->last_layer_node_start;
        f->layer_end = m->growing_metadata->last_layer_node_end;
    }
    return BRAID_OK;
}

braid_code bd_forest_read(bd_forest *f, const void *data, size_t len, braid_status *st)
{
    BD_PROTO_ARENA(arena);
    BD_STATUS(why);
    const ensemble_message *m =
        bd_proto_unpack(&tensorflow__boosted_trees__tree_ensemble__descriptor, data, len, arena, why);
    if (!m)
        return bd_fail(st, why->code, "Unable to parse tree ensemble proto: %s", braid_status_message(why));
    braid_code code = read_message(f, m, st);
    if (code) bd_forest_fini(f);
    return code;
}

// ---- Writing messages ----

// The messages of one node.
typedef struct node_messages {
    node_message node;
    leaf_message leaf, original;
    Tensorflow__BoostedTrees__Vector leaf_vector, original_vector;
    node_metadata_message metadata;
    Tensorflow__BoostedTrees__BucketizedSplit bucketized;
    Tensorflow__BoostedTrees__CategoricalSplit categorical;
} node_messages;

static void make_split(const bd_tree_node *n, node_messages *m)
{
    if (n->kind == BD_TREE_BUCKETIZED) {
        tensorflow__boosted_trees__bucketized_split__init(&m->bucketized);
        m->node.node_case = TENSORFLOW__BOOSTED_TREES__NODE__NODE_BUCKETIZED_SPLIT;
        m->node.bucketized_split = &m->bucketized;
        m->bucketized.feature_id = n->feature;
        m->bucketized.threshold = n->threshold;
        m->bucketized.dimension_id = n->dimension;
        m->bucketized.left_id = n->left;
        m->bucketized.right_id = n->right;
        if (n->is_default_right)
            m->bucketized.default_direction = TENSORFLOW__BOOSTED_TREES__DEFAULT_DIRECTION__DEFAULT_RIGHT;
    } else if (n->kind == BD_TREE_CATEGORICAL) {
        tensorflow__boosted_trees__categorical_split__init(&m->categorical);
        m->node.node_case = TENSORFLOW__BOOSTED_TREES__NODE__NODE_CATEGORICAL_SPLIT;
        m->node.categorical_split = &m->categorical;
        m->categorical.feature_id = n->feature;
        m->categorical.value = n->threshold;
        m->categorical.dimension_id = n->dimension;
        m->categorical.left_id = n->left;
        m->categorical.right_id = n->right;
    }
}

static void make_leaf(const bd_tree *t, const bd_logits *logits, leaf_message *m,
                      Tensorflow__BoostedTrees__Vector *vector)
{
    tensorflow__boosted_trees__leaf__init(m);
    if (logits->is_vector) {
        tensorflow__boosted_trees__vector__init(vector);
        vector->n_value = (size_t)logits->count;
        vector->value = t->values.items + logits->at;
        m->leaf_case = TENSORFLOW__BOOSTED_TREES__LEAF__LEAF_VECTOR;
        m->vector = vector;
    } else {
        m->scalar = bd_tree_value(t, logits, 0);
    }
}

static void put_node(const bd_tree *t, const bd_tree_node *n, bd_wire_writer *out)
{
    node_messages m;
    tensorflow__boosted_trees__node__init(&m.node);
    if (n->kind == BD_TREE_LEAF) {
        make_leaf(t, &n->value, &m.leaf, &m.leaf_vector);
        m.node.node_case = TENSORFLOW__BOOSTED_TREES__NODE__NODE_LEAF;
        m.node.leaf = &m.leaf;
    }
    make_split(n, &m);
    if (n->has_metadata) {
        tensorflow__boosted_trees__node_metadata__init(&m.metadata);
        m.metadata.gain = n->gain;
        m.node.metadata = &m.metadata;
    }
    if (n->has_metadata && n->original.count > 0) {
        make_leaf(t, &n->original, &m.original, &m.original_vector);
        m.metadata.original_leaf = &m.original;
    }
    bd_proto_put(&m.node.base, 1, out);
}

static void put_tree(const bd_tree *t, bd_wire_writer *out)
{
    bd_message nodes;
    bd_wire_writer w;
    bd_message_init(&nodes);
    bd_wire_writer_init(&w, &nodes);
    for (size_t i = 0; i < t->nodes.len; i++)
        put_node(t, &t->nodes.items[i], &w);
    bd_wire_writer_finish(&w);
    bd_wire_put_message(out, 1, &nodes);
    bd_message_fini(&nodes);
}

static void put_metadata(const bd_tree *t, bd_wire_writer *out)
{
    bd_message fields;
    bd_wire_writer w;
    bd_message_init(&fields);
    bd_wire_writer_init(&w, &fields);
    tree_metadata_message m;
    tensorflow__boosted_trees__tree_metadata__init(&m);
    m.num_layers_grown = t->layers;
    m.is_finalized = t->is_finalized;
    bd_proto_pack(&m.base, &w);
    for (size_t i = 0; i < t->pruned.len; i++) {
        pruned_message p;
        tensorflow__boosted_trees__tree_metadata__post_prune_node_update__init(&p);
        p.new_node_id = t->pruned.items[i].node;
        p.n_logit_change = (size_t)t->pruned.items[i].change.count;
        p.logit_change = t->values.items + t->pruned.items[i].change.at;
        bd_proto_put(&p.base, 4, &w);
    }
    bd_wire_writer_finish(&w);
    bd_wire_put_message(out, 3, &fields);
    bd_message_fini(&fields);
}

static void put_growing(const bd_forest *f, bd_wire_writer *out)
{
    Tensorflow__BoostedTrees__GrowingMetadata m;
    tensorflow__boosted_trees__growing_metadata__init(&m);
    m.num_trees_attempted = f->trees_attempted;
    m.num_layers_attempted = f->layers_attempted;
    m.last_layer_node_start = f->layer_begin;
    m.last_layer_node_end = f->layer_end;
    bd_proto_put(&m.base, 4, out);
}

static void put_weights(const bd_forest *f, bd_wire_writer *out)
{
    if (f->trees.len == 0) return;
    float *weights = bd_malloc(sizeof *weights * f->trees.len);
    for (size_t i = 0; i < f->trees.len; i++)
        weights[i] = f->trees.items[i].weight;
    ensemble_message m;
    tensorflow__boosted_trees__tree_ensemble__init(&m);
    m.n_tree_weights = f->trees.len;
    m.tree_weights = weights;
    bd_proto_pack(&m.base, out);
    bd_free(weights);
}

void bd_forest_write(const bd_forest *f, bd_op_ctx *c, int i)
{
    const braid_tensor *y = bd_output(c, i, BRAID_STRING, &BD_SCALAR);
    if (!y) return;
    bd_message bytes;
    bd_wire_writer w;
    bd_message_init(&bytes);
    bd_wire_writer_init(&w, &bytes);
    for (size_t t = 0; t < f->trees.len; t++)
        put_tree(&f->trees.items[t], &w);
    put_weights(f, &w);
    for (size_t t = 0; t < f->trees.len; t++)
        put_metadata(&f->trees.items[t], &w);
    if (f->is_growing) put_growing(f, &w);
    bd_wire_writer_finish(&w);
    char *room = bd_string_room(c, y, 0, bytes.bytes);
    if (room) bd_message_gather(&bytes, room);
    bd_message_fini(&bytes);
}

// ---- Growing ----

static bd_tree_node new_leaf(bd_tree *t, float logit)
{
    return (bd_tree_node){.kind = BD_TREE_LEAF, .value = add_values(t, &logit, 1, false)};
}

bd_tree *bd_forest_add_tree(bd_forest *f, float logit)
{
    bd_array_push(&f->trees, (bd_tree){.weight = 1});
    bd_tree *t = &f->trees.items[f->trees.len - 1];
    bd_array_push(&t->nodes, new_leaf(t, logit));
    return t;
}

void bd_tree_split_leaf(bd_tree *t, const bd_tree_split *split)
{
    BD_ASSERT(bd_tree_can_split(t, split->node));
    const bd_logits value = t->nodes.items[split->node].value;
    const float logit = bd_tree_value(t, &value, 0);
    bd_tree_node n = {.kind = split->kind,
                      .feature = split->feature,
                      .dimension = split->dimension,
                      .threshold = split->threshold,
                      .left = (int32_t)t->nodes.len,
                      .right = (int32_t)t->nodes.len + 1,
                      .is_default_right = split->is_default_right,
                      .has_metadata = true,
                      .gain = split->gain};
    if (split->node != 0 || logit != 0) n.original = value; // a root with a logit of 0 was a placeholder
    t->nodes.items[split->node] = n;
    bd_array_push(&t->nodes, new_leaf(t, logit + split->left));
    bd_array_push(&t->nodes, new_leaf(t, logit + split->right));
}

// ---- Pruning ----

// What becomes of a node: itself, or a leaf that was a split above it.
typedef struct fate {
    int32_t parent; // -1: it stays
    float change;   // of its logit, when it becomes its parent
    int32_t index;  // of a node that stays: its new one
} fate;

static bool is_lost(const bd_tree *t, const bd_tree_node *n)
{
    return is_split(n) && n->gain < 0 && n->original.count <= 1 && bd_tree_can_split(t, n->left) &&
           bd_tree_can_split(t, n->right);
}

// Children come before their parents. Returns whether a split became a leaf.
static bool merge_children(bd_tree *t, const int32_t *order, size_t count, fate *fates)
{
    bool has_merged = false;
    for (size_t i = count; i-- > 0;) {
        bd_tree_node *n = &t->nodes.items[order[i]];
        if (!is_lost(t, n)) continue;
        const float logit = bd_tree_value(t, &n->original, 0);
        const int32_t children[] = {n->left, n->right};
        for (int k = 0; k < 2; k++)
            fates[children[k]] = (fate){
                .parent = order[i], .change = logit - bd_tree_value(t, bd_tree_logits(t, children[k]), 0)};
        *n = n->original.count ? (bd_tree_node){.kind = BD_TREE_LEAF, .value = n->original} : new_leaf(t, 0);
        has_merged = true;
    }
    return has_merged;
}

// Removes the nodes that became others, and notes what became of all. `order` [count] has parents before
// their children.
static void remove_merged(bd_tree *t, const int32_t *order, size_t count, fate *fates)
{
    const size_t before = t->nodes.len;
    size_t kept = 0;
    for (size_t i = 0; i < before; i++)
        if (fates[i].parent < 0) fates[i].index = (int32_t)kept++;
    for (size_t i = 0; i < count; i++) {
        fate *f = &fates[order[i]];
        if (f->parent < 0) continue;
        f->change += fates[f->parent].change; // 0 of a node that stays
        f->index = fates[f->parent].index;
    }
    bd_array_reserve(&t->pruned, before);
    t->pruned.len = 0;
    for (size_t i = 0; i < before; i++) {
        const bd_pruned_node p = {fates[i].index, add_values(t, &fates[i].change, 1, false)};
        bd_array_push(&t->pruned, p);
    }
    for (size_t i = 0; i < before; i++) {
        bd_tree_node n = t->nodes.items[i];
        if (fates[i].parent >= 0) continue;
        if (is_split(&n)) {
            n.left = fates[n.left].index;
            n.right = fates[n.right].index;
        }
        t->nodes.items[fates[i].index] = n;
    }
    t->nodes.len = kept;
}

void bd_tree_prune(bd_tree *t)
{
    int32_t *order = bd_malloc(sizeof *order * t->nodes.len);
    fate *fates = bd_malloc(sizeof *fates * t->nodes.len);
    for (size_t i = 0; i < t->nodes.len; i++)
        fates[i] = (fate){.parent = -1};
    order[0] = 0;
    const size_t count = add_descendants(t, order, 1);
    if (merge_children(t, order, count, fates)) remove_merged(t, order, count, fates);
    bd_free(order);
    bd_free(fates);
}

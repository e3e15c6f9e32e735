// Ops that change an ensemble: the bias of its first tree, and the next layer of its last one.
#include "base/map.h"
#include "ops/boosted_trees/inputs.h"
#include "ops/gradient_trees/learner.h"
#include "proto/pack.h"
#include "tensorflow/contrib/boosted_trees/proto/split_info.pb-c.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef Tensorflow__BoostedTrees__Learner__SplitInfo split_message;
typedef Tensorflow__BoostedTrees__Learner__ObliviousSplitInfo layer_message;
typedef struct Tensorflow__BoostedTrees__Trees__Leaf leaf_message;

enum {
    LAYERS_MAX = 24 // of an oblivious tree
};

// ---- CenterTreeEnsembleBias ----

// The leaf of the only tree. NULL: `st` tells what is wrong.
static bd_gbt_leaf *get_bias(bd_gbt_ensemble *e, int64_t dimensions, braid_status *st)
{
    const size_t more = sizeof(bd_gbt_tree) + sizeof(bd_gbt_node) + (size_t)dimensions * sizeof(float);
    if (e->trees.len > 1) {
        bd_fail(st, BRAID_INVALID_ARGUMENT, "Unable to center bias on an already grown ensemble");
        return NULL;
    }
    if (e->trees.len == 1) {
        const bd_gbt_tree *t = bd_gbt_last_tree(e);
        bd_gbt_leaf *leaf = t->nodes.len == 1 ? &t->nodes.items[0].leaf : NULL;
        if (leaf && t->nodes.items[0].kind == BD_GBT_LEAF && leaf->kind == BD_GBT_DENSE &&
            leaf->count <= dimensions)
            return leaf;
        bd_fail(st, BRAID_INVALID_ARGUMENT, "The first tree is no bias of %lld logits",
                (long long)dimensions);
        return NULL;
    }
    if (bd_gbt_charge_more(e, more, st)) return NULL;
    bd_gbt_node bias = {.kind = BD_GBT_LEAF, .leaf = {.kind = BD_GBT_DENSE, .count = (int32_t)dimensions}};
    bias.leaf.values = bd_calloc((size_t)dimensions + 1, sizeof *bias.leaf.values);
    bd_gbt_count_attempt(e);
    bd_gbt_tree *t = bd_gbt_add_tree(e, 1);
    bd_array_push(&t->nodes, bias);
    bd_gbt_settle_charge(e, more);
    return &t->nodes.items[0].leaf;
}

static void center(bd_op_ctx *c, bd_gbt_ensemble_resource *r, int64_t next)
{
    BD_STATUS(st);
    const braid_tensor *deltas = bd_input(c, 3);
    const int64_t dimensions = deltas->shape.dims[0];
    bd_gbt_leaf *bias =
        bd_gbt_ensemble_check(&r->ensemble, st) ? NULL : get_bias(&r->ensemble, dimensions, st);
    if (!bias) {
        bd_op_fail_status(c, st);
        return;
    }
    r->stamp = next;
    float total = 0;
    for (int32_t i = 0; i < bias->count; i++) {
        const float delta = bd_tensor_f32(deltas)[i];
        bias->values[i] += delta;
        total += fabsf(delta);
    }
    const bool goes_on = total > bd_node_attr_float(c->node, "centering_epsilon");
    if (!goes_on) bd_gbt_last_metadata(&r->ensemble)->is_finalized = true;
    bd_gbt_output_bool(c, 0, goes_on);
}

static void center_run(bd_op_ctx *c)
{
    int64_t next;
    if (!bd_input_has_rank(c, 3, 1, "delta_updates") || !bd_gbt_input_int64(c, 2, "next_stamp_token", &next))
        return;
    if (bd_input(c, 3)->shape.dims[0] > INT32_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "delta_updates has more than 2147483647 values");
        return;
    }
    bd_gbt_ensemble_resource *r = bd_gbt_lock_stamped(c, 2);
    if (!r) return;
    center(c, r, next);
    bd_gbt_release(r);
}

// ---- Candidates ----

// A split that a handler of features offers, of a node or of a layer.
typedef struct candidate {
    int32_t partition;
    int64_t handler;
    float gain;
    bd_gbt_node split;
    BD_ARRAY(bd_gbt_leaf) leaves; // two of each parent
    BD_ARRAY(int32_t) parents;    // of a layer
} candidate;

typedef BD_ARRAY(candidate) candidate_list;

static void candidate_free(candidate *x)
{
    bd_gbt_node_free(&x->split);
    for (size_t i = 0; i < x->leaves.len; i++)
        bd_gbt_leaf_free(&x->leaves.items[i]);
    bd_array_free(&x->leaves);
    bd_array_free(&x->parents);
}

// What the kernel does, for its helpers.
typedef struct growth {
    bd_op_ctx *c;
    const bd_gbt_learner *learner;
    int32_t weak_learner, max_depth;
    int64_t handlers, next_stamp;
    float rate;
    uint64_t seed;
    candidate_list best;  // of partitions, which ascend in the end
    bd_imap by_partition; // 1 + the index in `best`
    size_t charged;       // in advance
} growth;

static bool fail_status(growth *g, const braid_status *st)
{
    bd_op_fail_status(g->c, st);
    return false;
}

// Simpler kinds of nodes win ties, then later handlers.
static bool is_better(float gain, bd_gbt_node_kind kind, const candidate *than)
{
    if (gain != than->gain) return gain > than->gain;
    return kind <= than->split.kind;
}

static bool read_leaf(growth *g, candidate *x, const leaf_message *m)
{
    BD_STATUS(st);
    bd_array_push(&x->leaves, (bd_gbt_leaf){0});
    return !bd_gbt_leaf_read(&x->leaves.items[x->leaves.len - 1], m, st) || fail_status(g, st);
}

// Takes a candidate over, in place of the one of the same partition.
static void put_candidate(growth *g, candidate *x, const candidate *before)
{
    if (before) {
        candidate *at = &g->best.items[before - g->best.items];
        candidate_free(at);
        *at = *x;
        return;
    }
    bd_array_push(&g->best, *x);
    bd_imap_put(&g->by_partition, (uint64_t)(uint32_t)x->partition, (void *)(uintptr_t)g->best.len);
}

static const candidate *find_best(const growth *g, int32_t partition)
{
    const uintptr_t at = (uintptr_t)bd_imap_get(&g->by_partition, (uint64_t)(uint32_t)partition);
    return at ? &g->best.items[at - 1] : NULL;
}

static bool has_values(const leaf_message *m)
{
    return m && m->leaf_case != TENSORFLOW__BOOSTED_TREES__TREES__LEAF__LEAF__NOT_SET;
}

static bool is_pruned(const growth *g, float gain)
{
    return g->learner->pruning == BD_GBT_PRE_PRUNE && gain < 0;
}

// Reads a SplitInfo and keeps it if it is the best one of its partition. False: the kernel has failed.
static bool offer_split(growth *g, int64_t handler, int32_t partition, float gain, const bd_string *message)
{
    BD_PROTO_ARENA(arena);
    BD_STATUS(st);
    const split_message *m = bd_proto_unpack(&tensorflow__boosted_trees__learner__split_info__descriptor,
                                             message->data, message->len, arena, st);
    if (!m) {
        bd_status_prefix(st, "Unable to parse split info: ");
        return fail_status(g, st);
    }
    // A node that is pure has an empty child: there is nothing to split.
    if (!m->split_node || is_pruned(g, gain) || !has_values(m->left_child) || !has_values(m->right_child))
        return true;
    const bd_gbt_node_kind kind = (bd_gbt_node_kind)m->split_node->node_case;
    const candidate *before = find_best(g, partition);
    if (kind == BD_GBT_NO_NODE || (before && !is_better(gain, kind, before))) return true;
    candidate x = {.partition = partition, .handler = handler, .gain = gain};
    const bool ok = (!bd_gbt_node_read(&x.split, m->split_node, st) || fail_status(g, st)) &&
                    read_leaf(g, &x, m->left_child) && read_leaf(g, &x, m->right_child);
    if (ok)
        put_candidate(g, &x, before);
    else
        candidate_free(&x);
    return ok;
}

static bool is_pure(const layer_message *m)
{
    for (size_t i = 0; i + 1 < m->n_children; i += 2)
        if (has_values(m->children[i]) && has_values(m->children[i + 1])) return false;
    return true;
}

static bool offer_layer(growth *g, int64_t handler, float gain, const bd_string *message)
{
    BD_PROTO_ARENA(arena);
    BD_STATUS(st);
    const layer_message *m =
        bd_proto_unpack(&tensorflow__boosted_trees__learner__oblivious_split_info__descriptor, message->data,
                        message->len, arena, st);
    if (!m) {
        bd_status_prefix(st, "Unable to parse oblivious split info: ");
        return fail_status(g, st);
    }
    if (m->n_children != 2 * m->n_children_parent_id) {
        bd_op_fail(g->c, BRAID_INVALID_ARGUMENT, "An oblivious split has %zu children of %zu parents",
                   m->n_children, m->n_children_parent_id);
        return false;
    }
    if (is_pure(m) || is_pruned(g, gain)) return true;
    const bd_gbt_node_kind kind = m->split_node ? (bd_gbt_node_kind)m->split_node->node_case : BD_GBT_NO_NODE;
    const candidate *before = find_best(g, 0);
    if (before && !is_better(gain, kind, before)) return true;
    candidate x = {.handler = handler, .gain = gain};
    bool ok = !bd_gbt_node_read(&x.split, m->split_node, st) || fail_status(g, st);
    for (size_t i = 0; ok && i < m->n_children; i++)
        ok = read_leaf(g, &x, m->children[i]);
    for (size_t i = 0; ok && i < m->n_children_parent_id; i++)
        bd_array_push(&x.parents, m->children_parent_id[i]);
    if (ok)
        put_candidate(g, &x, before);
    else
        candidate_free(&x);
    return ok;
}

// The inputs of a handler: partition ids, gains and splits.
static bool offer_handler(growth *g, int64_t handler)
{
    bd_op_ctx *c = g->c;
    const int at = 7 + (int)handler, step = (int)g->handlers;
    const bool is_normal = g->weak_learner == BD_GBT_NORMAL_TREE;
    if (!bd_input_has_rank(c, at, 1, "partition_ids") || !bd_input_has_rank(c, at + step, 1, "gains") ||
        !bd_input_has_rank(c, at + 2 * step, 1, "splits"))
        return false;
    const int64_t partitions = bd_input(c, at)->shape.dims[0], gains = bd_input(c, at + step)->shape.dims[0],
                  splits = bd_input(c, at + 2 * step)->shape.dims[0], want = is_normal ? partitions : 1;
    if (gains != want || splits != want) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   is_normal
                       ? "Inconsistent partition Ids and gains tensors: %lld partitions, %lld gains, %lld "
                         "splits"
                       : "Gains size must be one for oblivious weak learner: %lld partitions, %lld gains, "
                         "%lld splits",
                   (long long)partitions, (long long)gains, (long long)splits);
        return false;
    }
    const int32_t *ids = bd_tensor_i32(bd_input(c, at));
    const float *gain = bd_tensor_f32(bd_input(c, at + step));
    const bd_string *split = bd_tensor_str(bd_input(c, at + 2 * step));
    for (int64_t i = 0; i < want; i++)
        if (!(is_normal ? offer_split(g, handler, ids[i], gain[i], &split[i])
                        : offer_layer(g, handler, gain[i], &split[i])))
            return false;
    return true;
}

static int compare_candidates(const void *a, const void *b)
{
    const int32_t x = ((const candidate *)a)->partition, y = ((const candidate *)b)->partition;
    return x < y ? -1 : x > y;
}

// ---- Checks, before anything is changed ----

// The tree that grows; one leaf where it is still to be made.
static const bd_gbt_tree *growing_tree(const bd_gbt_ensemble *e, bd_gbt_tree *one_leaf)
{
    if (!bd_gbt_begins_tree(e)) return &e->trees.items[e->trees.len - 1];
    bd_array_push(&one_leaf->nodes, (bd_gbt_node){.kind = BD_GBT_LEAF});
    return one_leaf;
}

static bool is_merged(const growth *g)
{
    return g->learner->growing != BD_GBT_WHOLE_TREE;
}

static braid_code check_split(const growth *g, const bd_gbt_tree *t, const candidate *x, braid_status *st)
{
    if (x->partition < 0 || (size_t)x->partition >= t->nodes.len)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Invalid node %d to split.", x->partition);
    const bd_gbt_node *n = &t->nodes.items[x->partition];
    if (n->kind != BD_GBT_LEAF)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Unexpected node type to split %d for node_id %d",
                       (int)n->kind, x->partition);
    if (!bd_gbt_is_binary(x->split.kind))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "A split of type %d does not have two children",
                       (int)x->split.kind);
    for (size_t i = 0; i < 2 && is_merged(g); i++)
        if (bd_gbt_leaf_check_merge(&n->leaf, &x->leaves.items[i], st)) return st->code;
    return BRAID_OK;
}

static bool splits_layer(bd_gbt_node_kind kind)
{
    return kind == BD_GBT_LAYER_FLOAT_SPLIT || kind == BD_GBT_LAYER_ID_SPLIT;
}

// The number of layers that an oblivious tree has; -1: it is none.
static int layers_of(const bd_gbt_tree *t)
{
    size_t depth = 0;
    while (depth < t->nodes.len && splits_layer(t->nodes.items[depth].kind))
        depth++;
    if (depth >= LAYERS_MAX || t->nodes.len != depth + ((size_t)1 << depth)) return -1;
    for (size_t i = depth; i < t->nodes.len; i++)
        if (t->nodes.items[i].kind != BD_GBT_LEAF) return -1;
    return (int)depth;
}

static braid_code check_layer(const growth *g, const bd_gbt_tree *t, const candidate *x, braid_status *st)
{
    const int depth = layers_of(t);
    if (depth < 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "The tree is not oblivious, or has more than %d layers: it has %zu nodes", LAYERS_MAX,
                       t->nodes.len);
    if (!splits_layer(x->split.kind))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "A split of type %d does not split a layer",
                       (int)x->split.kind);
    for (size_t i = 0; i < x->parents.len; i++) {
        const int32_t parent = x->parents.items[i];
        if (parent < depth || (size_t)parent >= t->nodes.len || (i > 0 && parent <= x->parents.items[i - 1]))
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "An oblivious split has parent %d, and the tree %zu nodes", parent, t->nodes.len);
        for (size_t k = 2 * i; k < 2 * i + 2 && is_merged(g); k++)
            if (bd_gbt_leaf_check_merge(&t->nodes.items[parent].leaf, &x->leaves.items[k], st))
                return st->code;
    }
    return BRAID_OK;
}

static bool becomes_final(const growth *g, const bd_gbt_ensemble *e)
{
    if (bd_gbt_begins_tree(e)) return g->max_depth <= 1;
    return (int64_t)e->metadata.items[e->metadata.len - 1].layers + 1 >= g->max_depth;
}

// Checks all splits, and counts what they may need.
static braid_code check_growth(growth *g, bd_gbt_ensemble *e, braid_status *st)
{
    bd_gbt_tree one_leaf = {0};
    const bd_gbt_tree *t = growing_tree(e, &one_leaf);
    const bool is_layer = g->weak_learner == BD_GBT_OBLIVIOUS_TREE;
    size_t more = sizeof *t + sizeof(bd_gbt_node) + bd_gbt_tree_bytes(&g->learner->start);
    for (size_t i = 0; i < g->best.len && !st->code; i++) {
        const candidate *x = &g->best.items[i];
        if ((is_layer ? check_layer : check_split)(g, t, x, st)) break;
        more += bd_gbt_node_bytes(&x->split);
        for (size_t k = 0; k < x->leaves.len; k++)
            more += sizeof(bd_gbt_node) + 2 * (size_t)x->leaves.items[k].count * sizeof(int64_t);
    }
    more += (is_layer ? 4 : 2) * bd_gbt_tree_bytes(t);
    if (!st->code && is_layer && g->learner->pruning == BD_GBT_POST_PRUNE && becomes_final(g, e))
        bd_fail(st, BRAID_INVALID_ARGUMENT, "Post-prunning is not implemented for Oblivious trees.");
    if (!st->code && g->learner->has_dropout && becomes_final(g, e)) bd_gbt_check_dropout(g->learner, st);
    if (!st->code && !bd_gbt_charge_more(e, more, st)) g->charged = more;
    bd_gbt_tree_free(&one_leaf);
    return st->code;
}

// ---- Growing ----

// Ensembles that were read have any numbers.
static void count_one(int32_t *number)
{
    if (*number < INT32_MAX) ++*number;
}

// Trees that were dropped while the last tree was built give a part of their weights to it.
static void share_weights(const growth *g, bd_gbt_ensemble *e)
{
    BD_STATUS(checked); // by check_growth
    const size_t trees = e->trees.len, last = trees - 1;
    const bool centers = bd_node_attr_bool(g->c->node, "center_bias");
    int32_t *dropped = bd_calloc(trees, sizeof *dropped), count;
    if (!bd_gbt_drop_trees(g->learner, trees, g->seed, centers ? 0 : -1, (int64_t)last, dropped, &count,
                           checked) &&
        count > 0) {
        double sum = 0;
        for (int32_t i = 0; i < count; i++)
            sum += (double)e->weights.items[dropped[i]];
        e->weights.items[last] = (float)sum / (float)(count + 1);
        count_one(&e->metadata.items[last].weight_updates);
        for (int32_t i = 0; i < count; i++) {
            float *weight = &e->weights.items[dropped[i]];
            *weight = *weight * (float)count / (float)(count + 1);
            count_one(&e->metadata.items[dropped[i]].weight_updates);
        }
    }
    bd_free(dropped);
}

static void begin_layer(const growth *g, bd_gbt_ensemble *e)
{
    const bool is_final = becomes_final(g, e);
    if (bd_gbt_begins_tree(e)) {
        bd_gbt_tree *t = bd_gbt_add_tree(e, g->rate);
        bd_array_push(&t->nodes, (bd_gbt_node){.kind = BD_GBT_LEAF});
        bd_gbt_last_metadata(e)->weight_updates = 1;
    } else {
        count_one(&bd_gbt_last_metadata(e)->layers);
    }
    bd_gbt_last_metadata(e)->is_finalized = is_final;
}

static void use_handler(bd_gbt_ensemble *e, int64_t handler)
{
    size_t at = 0;
    while (at < e->used_handlers.len && e->used_handlers.items[at] < handler)
        at++;
    if (at < e->used_handlers.len && e->used_handlers.items[at] == handler) return;
    bd_array_push(&e->used_handlers, handler);
    int64_t *items = e->used_handlers.items;
    memmove(items + at + 1, items + at, sizeof *items * (e->used_handlers.len - 1 - at));
    items[at] = handler;
    e->has_growing_metadata = true;
}

static void add_child(const growth *g, bd_gbt_tree *t, const bd_gbt_leaf *parent, bd_gbt_leaf *leaf)
{
    bd_gbt_node child = {.kind = BD_GBT_LEAF, .leaf = *leaf};
    *leaf = (bd_gbt_leaf){0};
    if (is_merged(g)) bd_gbt_leaf_merge(parent, &child.leaf);
    bd_array_push(&t->nodes, child);
}

static void split_node(const growth *g, bd_gbt_ensemble *e, bd_gbt_tree *t, candidate *x)
{
    bd_gbt_node *n = &t->nodes.items[x->partition];
    bd_gbt_leaf parent = n->leaf;
    n->leaf = (bd_gbt_leaf){0};
    x->split.left = (int32_t)t->nodes.len;
    x->split.right = x->split.left + 1;
    x->split.has_metadata = true;
    x->split.gain = x->gain;
    add_child(g, t, &parent, &x->leaves.items[0]);
    add_child(g, t, &parent, &x->leaves.items[1]);
    if (g->learner->pruning == BD_GBT_POST_PRUNE) {
        bd_gbt_leaf_free(&x->split.original);
        x->split.has_original = true;
        x->split.original = parent;
    } else {
        bd_gbt_leaf_free(&parent);
    }
    n = &t->nodes.items[x->partition];
    bd_gbt_node_free(n);
    *n = x->split;
    x->split = (bd_gbt_node){0};
    if (g->learner->limits_features) use_handler(e, x->handler);
}

// Puts the split before the leaves, each of which becomes two.
static void split_layer(const growth *g, bd_gbt_tree *t, candidate *x)
{
    const size_t depth = (size_t)layers_of(t), parents = (size_t)1 << depth;
    bd_gbt_tree grown = {.bytes = t->bytes};
    for (size_t i = 0; i < depth; i++)
        bd_array_push(&grown.nodes, t->nodes.items[i]);
    x->split.has_metadata = true;
    x->split.gain = x->gain;
    bd_array_push(&grown.nodes, x->split);
    x->split = (bd_gbt_node){0};
    size_t next = 0;
    for (size_t i = 0; i < parents; i++) {
        bd_gbt_node *old = &t->nodes.items[depth + i];
        const bool has_split = next < x->parents.len && (size_t)x->parents.items[next] == depth + i;
        for (size_t k = 0; k < 2; k++) {
            if (has_split)
                add_child(g, &grown, &old->leaf, &x->leaves.items[2 * next + k]);
            else
                bd_array_push(&grown.nodes,
                              (bd_gbt_node){.kind = BD_GBT_LEAF, .leaf = bd_gbt_leaf_copy(&old->leaf)});
        }
        next += has_split;
        bd_array_push(&grown.nodes.items[depth].original_leaves, old->leaf);
        old->leaf = (bd_gbt_leaf){0};
        bd_gbt_node_free(old);
    }
    bd_array_free(&t->nodes);
    *t = grown;
}

// ---- Pruning ----

static bool is_terminal(const bd_gbt_tree *t, const bd_gbt_node *n)
{
    return t->nodes.items[n->left].kind == BD_GBT_LEAF && t->nodes.items[n->right].kind == BD_GBT_LEAF;
}

// Makes splits of a negative gain leaves, from the last one on: children stand behind their parents.
static void prune_nodes(bd_gbt_tree *t)
{
    for (size_t i = t->nodes.len; i-- > 0;) {
        bd_gbt_node *n = &t->nodes.items[i];
        if (!bd_gbt_is_binary(n->kind) || !bd_gbt_has_children(t, i)) continue;
        if (n->gain < 0 && is_terminal(t, n)) {
            bd_gbt_node_free(&t->nodes.items[n->left]);
            bd_gbt_node_free(&t->nodes.items[n->right]);
            const bd_gbt_leaf leaf = n->original;
            n->original = (bd_gbt_leaf){0};
            bd_gbt_node_free(n);
            *n = (bd_gbt_node){.kind = BD_GBT_LEAF, .leaf = leaf};
        } else {
            bd_gbt_leaf_free(&n->original);
            n->has_original = false;
            n->has_metadata = true;
        }
    }
}

// Takes out the nodes that are no more. A parent's children come next to each other, in the order of parents.
static void compact(bd_gbt_tree *t)
{
    const size_t count = t->nodes.len;
    int32_t *to = bd_calloc(count, sizeof *to);
    bd_gbt_tree kept = {.bytes = t->bytes};
    for (size_t i = 0; i < count; i++)
        to[i] = -1;
    bd_array_push(&kept.nodes, t->nodes.items[0]);
    to[0] = 0;
    for (size_t i = 0; i < count; i++) {
        const bd_gbt_node *n = &t->nodes.items[i];
        if (to[i] < 0 || !bd_gbt_is_binary(n->kind) || !bd_gbt_has_children(t, i)) continue;
        const int32_t children[] = {n->left, n->right};
        for (int k = 0; k < 2; k++) {
            to[children[k]] = (int32_t)kept.nodes.len;
            bd_array_push(&kept.nodes, t->nodes.items[children[k]]);
        }
        kept.nodes.items[to[i]].left = to[n->left];
        kept.nodes.items[to[i]].right = to[n->right];
    }
    for (size_t i = 0; i < count; i++)
        if (to[i] < 0) bd_gbt_node_free(&t->nodes.items[i]);
    bd_free(to);
    bd_array_free(&t->nodes);
    *t = kept;
}

// Whether each binary node has two children of its own, and each other node than the root one parent.
static bool is_tree(const bd_gbt_tree *t)
{
    bool ok = true;
    bool *has_parent = bd_calloc(t->nodes.len, sizeof *has_parent);
    for (size_t i = 0; ok && i < t->nodes.len; i++) {
        const bd_gbt_node *n = &t->nodes.items[i];
        if (!bd_gbt_is_binary(n->kind)) continue;
        ok =
            bd_gbt_has_children(t, i) && n->left != n->right && !has_parent[n->left] && !has_parent[n->right];
        if (ok) has_parent[n->left] = has_parent[n->right] = true;
    }
    bd_free(has_parent);
    return ok;
}

static void prune(const growth *g, bd_gbt_ensemble *e)
{
    bd_gbt_tree *t = bd_gbt_last_tree(e);
    if (is_tree(t)) {
        prune_nodes(t);
        compact(t);
        if (t->nodes.len == 1 && t->nodes.items[0].gain <= 0) bd_gbt_remove_last_tree(e);
    }
    if (!bd_gbt_begins_tree(e) || !g->learner->has_start) return;
    BD_STATUS(none);
    if (bd_gbt_ensemble_check(e, none)) return;
    if (e->trees.len > 0) bd_gbt_settle_charge(e, 0);
    *bd_gbt_add_tree(e, g->rate) = bd_gbt_tree_copy(&g->learner->start);
    *bd_gbt_last_metadata(e) = (bd_gbt_metadata){1, g->learner->start_layers, g->max_depth <= 1};
    bd_gbt_last_tree(e)->bytes = 0;
}

// ---- GrowTreeEnsemble ----

static bool find_candidates(growth *g)
{
    if (g->weak_learner != BD_GBT_NORMAL_TREE && g->weak_learner != BD_GBT_OBLIVIOUS_TREE) return true;
    for (int64_t i = 0; i < g->handlers; i++)
        if (!offer_handler(g, i)) return false;
    if (g->best.len > 0) qsort(g->best.items, g->best.len, sizeof *g->best.items, compare_candidates);
    return true;
}

static void apply(growth *g, bd_gbt_ensemble *e)
{
    begin_layer(g, e);
    bd_gbt_tree *t = bd_gbt_last_tree(e);
    if (g->learner->has_dropout && bd_gbt_last_metadata(e)->is_finalized) share_weights(g, e);
    for (size_t i = 0; i < g->best.len; i++) {
        if (g->weak_learner == BD_GBT_OBLIVIOUS_TREE)
            split_layer(g, t, &g->best.items[i]);
        else
            split_node(g, e, t, &g->best.items[i]);
    }
    const size_t trees = e->trees.len;
    if (g->learner->pruning == BD_GBT_POST_PRUNE && bd_gbt_last_metadata(e)->is_finalized) prune(g, e);
    if (e->trees.len >= trees || e->trees.len > 0) {
        bd_gbt_settle_charge(e, g->charged);
    } else {
        BD_STATUS(less);
        bd_charge_set(&e->charge, e->charge.bytes - g->charged, "The ensemble", less);
    }
}

static void grow(growth *g, bd_gbt_ensemble_resource *r)
{
    BD_STATUS(st);
    bd_gbt_ensemble *e = &r->ensemble;
    if (!find_candidates(g)) return;
    if (bd_gbt_ensemble_check(e, st) || (g->best.len > 0 && check_growth(g, e, st))) {
        bd_op_fail_status(g->c, st);
        return;
    }
    r->stamp = g->next_stamp;
    bd_gbt_count_attempt(e);
    if (g->best.len > 0) apply(g, e);
}

static void grow_run(bd_op_ctx *c)
{
    int64_t seed;
    growth g = {.c = c, .learner = c->state, .handlers = bd_node_attr_int(c->node, "num_handlers")};
    if (!bd_gbt_input_int64(c, 2, "next_stamp_token", &g.next_stamp) ||
        !bd_input_float(c, 3, "learning_rate", &g.rate) || !bd_gbt_input_int64(c, 4, "dropout_seed", &seed) ||
        !bd_gbt_input_int32(c, 5, "max_tree_depth", &g.max_depth) ||
        !bd_gbt_input_int32(c, 6, "weak_learner_type", &g.weak_learner))
        return;
    g.seed = (uint64_t)seed;
    bd_gbt_ensemble_resource *r = bd_gbt_lock_stamped(c, 2);
    if (!r) return;
    grow(&g, r);
    bd_gbt_release(r);
    for (size_t i = 0; i < g.best.len; i++)
        candidate_free(&g.best.items[i]);
    bd_array_free(&g.best);
    bd_imap_fini(&g.by_partition);
}

// ---- Definitions ----

static braid_code center_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SCALAR;
    return bd_shape_ctx_ranks(c, 0, 3, 0, st) ? st->code : bd_shape_ctx_rank(c, 3, 1, st);
}

static braid_code grow_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_shape_ctx_ranks(c, 0, 6, 0, st);
}

#define STAMP_DEVIATION                                                                                      \
    "TensorFlow ends the process for a stamp other than the ensemble's, and for splits that do not fit the " \
    "tree."
#define KERNEL(RUN)                                                                                          \
    BD_KERNELS({.state_size = sizeof(bd_gbt_learner),                                                        \
                .create = bd_gbt_learner_bind,                                                               \
                .destroy = bd_gbt_learner_unbind,                                                            \
                .run = (RUN)})

BD_OP(CenterTreeEnsembleBias) = {
    .signature =
        "(tree_ensemble_handle: resource, stamp_token: int64, next_stamp_token: int64, delta_updates: float) -> "
        "(continue_centering: bool)",
    .attrs = "learner_config:string; centering_epsilon:float=0.01",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = center_shape,
    .kernels = KERNEL(center_run),
    .doc =
        "Adds to the bias, the first tree, which it makes if there is none. Tells whether the change was larger "
        "than centering_epsilon; otherwise the bias is final.",
    .deviation = STAMP_DEVIATION,
};

BD_OP(GrowTreeEnsemble) = {
    .signature =
        "(tree_ensemble_handle: resource, stamp_token: int64, next_stamp_token: int64, learning_rate: float, "
        "dropout_seed: int64, max_tree_depth: int32, weak_learner_type: int32, partition_ids: "
        "num_handlers*int32, gains: num_handlers*float, splits: num_handlers*string) -> ()",
    .attrs = "learner_config:string; num_handlers:int>=0; center_bias:bool",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = grow_shape,
    .kernels = KERNEL(grow_run),
    .doc =
        "Adds a layer to the last tree, or begins one: each leaf is split by the best of the splits that the "
        "handlers of features offer. With POST_PRUNE a tree loses splits of a negative gain when it is final.",
    .deviation = STAMP_DEVIATION " Oblivious trees have at most 24 layers.",
};

// Growing an ensemble by a layer, and centering its bias: BoostedTreesUpdateEnsemble, its V2,
// BoostedTreesCenterBias.
//
// Layer-by-layer boosting (Ponomareva et al., "TF Boosted Trees", arXiv 1710.11555): the leaves of the latest
// layer are split; a tree of max_depth layers is final, and the next one begins as a leaf of 0.
#include "base/check.h"
#include "ops/boosted_trees/inputs.h"
#include "ops/boosted_trees/split.h"
#include <math.h>
#include <string.h>

enum {
    PRUNE_BEFORE = 1,
    PRUNE_AFTER = 2
}; // pruning_mode

// Where the inputs of each feature begin. -1: the op has none of these.
typedef struct layout {
    int features;
    int dimensions, nodes, gains, thresholds, left, right, types, max_depth, learning_rate;
} layout;

typedef struct growth {
    layout in;
    int32_t max_depth;
    float learning_rate;
    int64_t pruning_mode;
} growth;

// The best split of each node of a tree that may be split.
typedef struct best_splits {
    bd_tree_split *items; // [nodes]; kind BD_TREE_EMPTY: none
    int64_t nodes, found;
} best_splits;

// ---- Reading candidates ----

// Checks that a feature's element of the list at `first` has as many elements as the feature has candidates:
// a vector, or a column.
static bool check_list(bd_op_ctx *c, int first, int feature, int64_t count, int rank, const char *what)
{
    if (first < 0) return true;
    const braid_shape *s = &bd_input(c, first + feature)->shape;
    if (s->rank == rank && s->dims[0] == count && (rank == 1 || s->dims[1] == 1)) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s of feature %d have shape %s for %lld node_ids", what, feature,
               bd_shape_str(s, (char[BD_SHAPE_STR_MAX]){0}), (long long)count);
    return false;
}

static bool check_feature(bd_op_ctx *c, const layout *in, int feature)
{
    const braid_shape *nodes = &bd_input(c, in->nodes + feature)->shape;
    if (!bd_input_has_rank(c, in->nodes + feature, 1, "Each node_id in node_ids_list")) return false;
    return check_list(c, in->dimensions, feature, nodes->dims[0], 1, "dimension_ids") &&
           check_list(c, in->gains, feature, nodes->dims[0], 1, "gains") &&
           check_list(c, in->thresholds, feature, nodes->dims[0], 1, "thresholds") &&
           check_list(c, in->left, feature, nodes->dims[0], 2, "left_node_contribs") &&
           check_list(c, in->right, feature, nodes->dims[0], 2, "right_node_contribs") &&
           check_list(c, in->types, feature, nodes->dims[0], 1, "split_types");
}

static bool check_inputs(bd_op_ctx *c, growth *g)
{
    if (!bd_input_has_rank(c, 1, 1, "feature_ids") ||
        !bd_input_has_rank(c, g->in.max_depth, 0, "max_depth") ||
        !bd_input_float(c, g->in.learning_rate, "learning_rate", &g->learning_rate))
        return false;
    g->max_depth = bd_tensor_i32(bd_input(c, g->in.max_depth))[0];
    if (bd_input(c, 1)->shape.dims[0] != g->in.features) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "feature_ids has %lld elements for %d features",
                   (long long)bd_input(c, 1)->shape.dims[0], g->in.features);
        return false;
    }
    for (int f = 0; f < g->in.features; f++)
        if (!check_feature(c, &g->in, f)) return false;
    return true;
}

// Sets kind and default direction of a split by the name of its type.
static bool read_type(bd_op_ctx *c, const bd_string *s, bd_tree_split *split)
{
    static const struct {
        const char *name;
        bd_tree_node_kind kind;
        bool is_default_right;
    } types[] = {{"INEQUALITY_DEFAULT_LEFT", BD_TREE_BUCKETIZED, false},
                 {"INEQUALITY_DEFAULT_RIGHT", BD_TREE_BUCKETIZED, true},
                 {"EQUALITY_DEFAULT_RIGHT", BD_TREE_CATEGORICAL, false}};
    for (size_t i = 0; i < BD_COUNTOF(types); i++) {
        if (s->len != strlen(types[i].name) || memcmp(s->data, types[i].name, s->len) != 0) continue;
        split->kind = types[i].kind;
        split->is_default_right = types[i].is_default_right;
        return true;
    }
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "split_types has '%.*s', which is no type of split",
               (int)(s->len < 64 ? s->len : 64), s->data ? s->data : "");
    return false;
}

// Candidate `i` of a feature.
static bool read_candidate(bd_op_ctx *c, const growth *g, int feature, int64_t i, bd_tree_split *split)
{
    const layout *in = &g->in;
    *split = (bd_tree_split){
        .kind = BD_TREE_BUCKETIZED,
        .node = bd_tensor_i32(bd_input(c, in->nodes + feature))[i],
        .feature = bd_tensor_i32(bd_input(c, 1))[feature],
        .dimension = in->dimensions < 0 ? 0 : bd_tensor_i32(bd_input(c, in->dimensions + feature))[i],
        .threshold = bd_tensor_i32(bd_input(c, in->thresholds + feature))[i],
        .gain = bd_tensor_f32(bd_input(c, in->gains + feature))[i],
        .left = g->learning_rate * bd_tensor_f32(bd_input(c, in->left + feature))[i],
        .right = g->learning_rate * bd_tensor_f32(bd_input(c, in->right + feature))[i],
    };
    if (split->feature < 0 || split->dimension < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Feature %d, dimension %d is none", split->feature,
                   split->dimension);
        return false;
    }
    return in->types < 0 || read_type(c, &bd_tensor_str(bd_input(c, in->types + feature))[i], split);
}

// Of candidates that gain the same, the one of the lower feature is better.
static bool is_better(const bd_tree_split *a, const bd_tree_split *b)
{
    if (b->kind == BD_TREE_EMPTY) return true;
    if (bd_gains_are_equal(a->gain, b->gain)) return a->feature < b->feature;
    return bd_gain_is_larger(a->gain, b->gain);
}

// Finds the best split of each node of `tree`; NULL: of the leaf that a first tree begins with. The caller
// frees `best`. False: the kernel has failed.
static bool find_best(bd_op_ctx *c, const growth *g, const bd_tree *tree, best_splits *best)
{
    best->nodes = tree ? (int64_t)tree->nodes.len : 1;
    best->found = 0;
    best->items = bd_try_calloc((size_t)best->nodes, sizeof *best->items);
    if (!best->items) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "no memory for the splits of a tree");
        return false;
    }
    for (int f = 0; f < g->in.features; f++) {
        const int64_t count = bd_input(c, g->in.nodes + f)->shape.dims[0];
        for (int64_t i = 0; i < count; i++) {
            bd_tree_split split;
            if (!read_candidate(c, g, f, i, &split)) return false;
            if (split.node < 0 || split.node >= best->nodes ||
                (tree && !bd_tree_can_split(tree, split.node))) {
                bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                           "Node %d cannot be split: the tree has %lld nodes, and this is no "
                           "leaf of one logit",
                           split.node, (long long)best->nodes);
                return false;
            }
            best->found += best->items[split.node].kind == BD_TREE_EMPTY;
            if (is_better(&split, &best->items[split.node])) best->items[split.node] = split;
        }
    }
    // A split adds two nodes, and each of them a value.
    if (best->nodes > INT32_MAX - 2 * best->found || (tree && tree->values.len > INT32_MAX / 4))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "A tree of %lld nodes cannot grow", (long long)best->nodes);
    return !bd_op_failed(c);
}

// ---- Growing ----

// A stamp that a client has set may be the greatest one.
static void count_update(bd_ensemble *e)
{
    e->stamp = (int64_t)((uint64_t)e->stamp + 1);
}

// Counts an attempt to add a layer, and to add a tree where the latest one has only its root.
static void count_attempt(bd_forest *f)
{
    const size_t n = f->trees.len;
    f->is_growing = true;
    if (f->layers_attempted < INT64_MAX) f->layers_attempted++;
    const bool is_new_tree =
        n == 0 || ((n == 1 || f->trees.items[n - 2].is_finalized) && f->trees.items[n - 1].nodes.len == 1);
    if (is_new_tree && f->trees_attempted < INT64_MAX) f->trees_attempted++;
}

// Splits the leaves. Returns whether any was split.
static bool add_layer(bd_tree *t, const growth *g, const best_splits *best)
{
    const size_t before = t->nodes.len;
    for (int64_t i = 0; i < best->nodes; i++) {
        const bd_tree_split *s = &best->items[i];
        if (s->kind == BD_TREE_EMPTY || (g->pruning_mode == PRUNE_BEFORE && s->gain < 0)) continue;
        bd_tree_split_leaf(t, s);
    }
    return t->nodes.len > before;
}

static void grow(bd_forest *f, const growth *g, const best_splits *best)
{
    count_attempt(f);
    if (f->trees.len == 0) bd_forest_add_tree(f, 0);
    bd_tree *t = &f->trees.items[f->trees.len - 1];
    const int32_t before = (int32_t)t->nodes.len;
    if (best->found == 0 || !add_layer(t, g, best)) return;
    f->layer_begin = before;
    f->layer_end = (int32_t)t->nodes.len;
    if (t->layers < INT32_MAX) t->layers++;
    if (t->layers < g->max_depth) return;
    t->is_finalized = true;
    if (g->pruning_mode == PRUNE_AFTER) bd_tree_prune(t);
    bd_forest_add_tree(f, 0);
    f->layer_begin = 0;
    f->layer_end = 1;
}

static void update(bd_op_ctx *c, growth *g)
{
    bd_ensemble *e = bd_input_ensemble(c);
    if (!e) return;
    if (check_inputs(c, g)) {
        best_splits best = {0};
        bd_mutex_lock(&e->mu);
        bd_forest *f = &e->forest;
        if (find_best(c, g, f->trees.len ? &f->trees.items[f->trees.len - 1] : NULL, &best)) {
            count_update(e);
            grow(f, g, &best);
        }
        bd_mutex_unlock(&e->mu);
        bd_free(best.items);
    }
    bd_resource_unref(&e->base);
}

static void update_run(bd_op_ctx *c)
{
    const int n = (int)bd_node_attr_int(c->node, "num_features");
    growth g = {.in = {.features = n,
                       .dimensions = -1,
                       .nodes = 2,
                       .gains = 2 + n,
                       .thresholds = 2 + 2 * n,
                       .left = 2 + 3 * n,
                       .right = 2 + 4 * n,
                       .types = -1,
                       .max_depth = 2 + 5 * n,
                       .learning_rate = 3 + 5 * n},
                .pruning_mode = bd_node_attr_int(c->node, "pruning_mode")};
    update(c, &g);
}

static void update_v2_run(bd_op_ctx *c)
{
    const int n = (int)bd_node_attr_int(c->node, "num_features");
    growth g = {.in = {.features = n,
                       .dimensions = 2,
                       .nodes = 2 + n,
                       .gains = 2 + 2 * n,
                       .thresholds = 2 + 3 * n,
                       .left = 2 + 4 * n,
                       .right = 2 + 5 * n,
                       .types = 2 + 6 * n,
                       .max_depth = 2 + 7 * n,
                       .learning_rate = 3 + 7 * n}};
    if (!bd_input_has_rank(c, 4 + 7 * n, 0, "pruning_mode")) return;
    g.pruning_mode = bd_tensor_i32(bd_input(c, 4 + 7 * n))[0];
    update(c, &g);
}

// Checks feature_ids and lists of vectors, but for the lists of contributions, which are columns.
static braid_code lists_shape(bd_shape_ctx *c, int lists, int left, braid_status *st)
{
    const int n = (int)bd_node_attr_int(c->node, "num_features");
    const braid_shape ids = bd_shape1(n);
    braid_shape merged;
    if (bd_shape_ctx_rank(c, 0, 0, st)) return st->code;
    if (!bd_shape_merge(&c->inputs[1], &ids, &merged))
        return bd_shape_ctx_fail(c, st, "feature_ids must have shape [%d]", n);
    for (int k = 0; k < lists; k++)
        if (bd_shape_ctx_ranks(c, 2 + k * n, 2 + (k + 1) * n, k == left || k == left + 1 ? 2 : 1, st))
            return st->code;
    return bd_shape_ctx_ranks(c, 2 + lists * n, c->input_count, 0, st);
}

static braid_code update_shape(bd_shape_ctx *c, braid_status *st)
{
    return lists_shape(c, 5, 3, st);
}

static braid_code update_v2_shape(bd_shape_ctx *c, braid_status *st)
{
    return lists_shape(c, 7, 4, st);
}

BD_OP(BoostedTreesUpdateEnsemble) = {
    .signature =
        "(tree_ensemble_handle: resource, feature_ids: int32, node_ids: num_features*int32, gains: "
        "num_features*float, thresholds: num_features*int32, left_node_contribs: num_features*float, "
        "right_node_contribs: num_features*float, max_depth: int32, learning_rate: float) -> ()",
    .attrs = "pruning_mode:int>=0; num_features:int>=0",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = update_shape,
    .kernels = BD_KERNELS({.run = update_run}),
    .doc =
        "Splits each node by the candidate that gains most, and begins a tree when the latest one has max_depth layers. "
        "pruning_mode: 0 none, 1 no split that loses, 2 remove these when the tree is complete.",
};

BD_OP(BoostedTreesUpdateEnsembleV2) = {
    .signature =
        "(tree_ensemble_handle: resource, feature_ids: int32, dimension_ids: num_features*int32, node_ids: "
        "num_features*int32, gains: num_features*float, thresholds: num_features*int32, left_node_contribs: "
        "num_features*float, right_node_contribs: num_features*float, split_types: num_features*string, max_depth: "
        "int32, learning_rate: float, pruning_mode: int32) -> ()",
    .attrs = "num_features:int>=0",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = update_v2_shape,
    .kernels = BD_KERNELS({.run = update_v2_run}),
    .doc = "BoostedTreesUpdateEnsemble with features of several columns and splits of several types.",
};

// ---- BoostedTreesCenterBias ----

// Adds the logit to the root of the first tree. False: the kernel has failed.
static bool center(bd_op_ctx *c, bd_ensemble *e, float logit, bool *goes_on)
{
    bd_forest *f = &e->forest;
    *goes_on = true;
    if (f->trees.len == 0) {
        bd_forest_add_tree(f, logit);
    } else if (!bd_tree_can_split(&f->trees.items[0], 0)) {
        bd_op_fail(c, BRAID_FAILED_PRECONDITION,
                   "The first tree has been split, so its bias cannot be centered");
        return false;
    } else {
        float *bias = &f->trees.items[0].values.items[f->trees.items[0].nodes.items[0].value.at];
        *goes_on = fabsf(logit / *bias) > 0.01f;
        *bias += logit;
    }
    count_update(e);
    return true;
}

static void center_run(bd_op_ctx *c)
{
    float l1, l2, gain;
    bool goes_on = false;
    if (!bd_input_float(c, 3, "l1", &l1) || !bd_input_float(c, 4, "l2", &l2)) return;
    for (int i = 1; i <= 2; i++) {
        if (bd_tensor_count(bd_input(c, i)) == 1) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be one number, received shape %s",
                   i == 1 ? "mean_gradients" : "mean_hessians",
                   bd_shape_str(&bd_input(c, i)->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return;
    }
    bd_ensemble *e = bd_input_ensemble(c);
    if (!e) return;
    const float logit =
        bd_leaf_weight(bd_tensor_f32(bd_input(c, 1))[0], bd_tensor_f32(bd_input(c, 2))[0], l1, l2, &gain);
    bd_mutex_lock(&e->mu);
    const bool is_centered = center(c, e, logit, &goes_on);
    bd_mutex_unlock(&e->mu);
    const braid_tensor *y = is_centered ? bd_output(c, 0, BRAID_BOOL, &BD_SCALAR) : NULL;
    if (y) bd_tensor_bool(y)[0] = goes_on;
    bd_resource_unref(&e->base);
}

static braid_code center_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape merged;
    if (bd_shape_ctx_rank(c, 0, 0, st) || bd_shape_ctx_ranks(c, 1, 3, 2, st) ||
        bd_shape_ctx_ranks(c, 3, 5, 0, st))
        return st->code;
    if (!bd_shape_merge(&c->inputs[1], &c->inputs[2], &merged))
        return bd_shape_ctx_fail(c, st, "mean_gradients and mean_hessians must have the same shape");
    c->outputs[0] = BD_SCALAR;
    return BRAID_OK;
}

BD_OP(BoostedTreesCenterBias) = {
    .signature =
        "(tree_ensemble_handle: resource, mean_gradients: float, mean_hessians: float, l1: float, l2: float) -> "
        "(continue_centering: bool)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = center_shape,
    .kernels = BD_KERNELS({.run = center_run}),
    .doc = "Adds the weight of all examples to the root of the first tree, which is made if there is none. "
           "continue_centering: the root changed by more than a hundredth.",
};

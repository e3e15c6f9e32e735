// Ops that give the predictions of ensembles, and the leaves of examples.
#include "base/interrupt.h"
#include "ops/boosted_trees/inputs.h"
#include "ops/gradient_trees/features.h"
#include "ops/gradient_trees/learner.h"
#include <math.h>
#include <string.h>

// Rows of a piece of work that is worth a thread.
enum {
    ROWS_GRAIN = 128,
    COLUMNS_MAX = 1 << 24
};

// Of a kernel that predicts.
typedef struct binding {
    bd_gbt_learner learner;
    bool drops, averages, centers_bias;
    int64_t columns;
} binding;

static braid_code check(const binding *b, braid_status *st)
{
    const bd_gbt_learner *l = &b->learner;
    if (l->num_classes < 2 || l->num_classes > COLUMNS_MAX)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Number of classes must be >=2 and at most %d, got %u",
                       COLUMNS_MAX, l->num_classes);
    if (b->averages && l->averaging == BD_GBT_LAST_N_TREES && !(l->averaged > 0))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Average last n trees must be a positive number");
    if (b->averages && l->averaging == BD_GBT_LAST_PERCENT && !(l->averaged > 0 && l->averaged <= 1))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Average last percent must be in (0,1] interval.");
    return BRAID_OK;
}

static braid_code bind(const braid_op *node, void *state, braid_status *st)
{
    binding *b = state;
    if (bd_gbt_learner_bind(node, &b->learner, st)) return st->code;
    b->drops = bd_node_attr_bool(node, "apply_dropout") && b->learner.has_dropout;
    b->averages = bd_node_attr_bool(node, "apply_averaging") && b->learner.averaging != 0;
    b->centers_bias = bd_node_attr_bool(node, "center_bias");
    b->columns = (int64_t)b->learner.num_classes - bd_node_attr_bool(node, "reduce_dim");
    if (check(b, st)) bd_gbt_learner_unbind(&b->learner);
    return st->code;
}

// ---- The trees that take part ----

typedef struct plan {
    const bd_gbt_ensemble *e;
    const bd_gbt_features *f;
    int32_t *dropped; // [trees]
    int32_t dropped_count;
    int32_t *trees; // [trees] those that take part
    float *weights; // [trees] of all trees
    int32_t tree_count;
    float *out;      // [rows, columns]
    int32_t *leaves; // [rows, all trees]; NULL: not wanted
    int64_t columns;
    _Atomic int64_t stuck; // 1 + a row whose way through a tree does not end; 0: none
} plan;

static void plan_free(plan *p)
{
    bd_free(p->dropped);
    bd_free(p->trees);
    bd_free(p->weights);
}

// Averaging ensembles of the first i trees is the same as weighing the last trees less.
static void average(const binding *b, plan *p)
{
    const double trees = (double)p->e->trees.len, averaged = (double)b->learner.averaged;
    const double begin = b->learner.averaging == BD_GBT_LAST_N_TREES
                             ? (double)((float)p->e->trees.len - b->learner.averaged)
                             : trees * (1.0 - averaged);
    const int32_t start = begin > 0 ? (int32_t)begin : 0, count = (int32_t)p->e->trees.len - start;
    for (int32_t i = start; i < start + count; i++)
        p->weights[i] = p->weights[i] * (float)(count - i + start) / (float)count;
}

static bool is_included(const binding *b, const plan *p, int32_t tree, int32_t *next_dropped)
{
    if (*next_dropped < p->dropped_count && p->dropped[*next_dropped] == tree) {
        ++*next_dropped;
        return false;
    }
    const bool is_bias = b->centers_bias && tree == 0;
    return b->learner.growing != BD_GBT_WHOLE_TREE || is_bias || p->e->metadata.len == 0 ||
           ((size_t)tree < p->e->metadata.len && p->e->metadata.items[tree].is_finalized);
}

static braid_code make_plan(const binding *b, int64_t seed, plan *p, braid_status *st)
{
    const size_t trees = p->e->trees.len;
    if (p->e->weights.len < trees)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "The ensemble has %zu trees, but %zu tree_weights", trees,
                       p->e->weights.len);
    p->dropped = bd_calloc(trees + 1, sizeof *p->dropped);
    p->trees = bd_calloc(trees + 1, sizeof *p->trees);
    p->weights = bd_calloc(trees + 1, sizeof *p->weights);
    if (trees > 0) memcpy(p->weights, p->e->weights.items, sizeof *p->weights * trees);
    // The tree that grows is not dropped.
    if (b->drops && bd_gbt_drop_trees(&b->learner, trees, (uint64_t)seed, b->centers_bias ? 0 : -1,
                                      p->e->has_growing_metadata ? (int64_t)trees - 1 : -1, p->dropped,
                                      &p->dropped_count, st))
        return st->code;
    int32_t next = 0;
    for (size_t i = 0; i < trees; i++)
        if (is_included(b, p, (int32_t)i, &next)) p->trees[p->tree_count++] = (int32_t)i;
    if (b->averages) average(b, p);
    return BRAID_OK;
}

// ---- Predictions ----

// False: the leaf has no values, or more than there are columns.
static bool add_leaf(const bd_gbt_leaf *l, float weight, float *out, int64_t columns)
{
    if (l->kind == BD_GBT_NO_LEAF || (l->kind == BD_GBT_DENSE && l->count > columns)) return false;
    for (int32_t i = 0; i < l->count; i++) {
        const int32_t column = l->kind == BD_GBT_SPARSE ? l->indices[i] : i;
        if (column < 0 || column >= columns) return false;
        out[column] += weight * l->values[i];
    }
    return true;
}

static bool predict_row(const plan *p, int64_t row)
{
    for (int32_t i = 0; i < p->tree_count; i++) {
        const int32_t tree = p->trees[i];
        const bd_gbt_tree *t = &p->e->trees.items[tree];
        const int32_t leaf = bd_gbt_find_leaf(t, p->f, row);
        if (leaf < 0) return false;
        if (p->leaves) p->leaves[row * (int64_t)p->e->trees.len + tree] = leaf;
        if (!add_leaf(&t->nodes.items[leaf].leaf, p->weights[tree], p->out + row * p->columns, p->columns))
            return false;
    }
    return true;
}

static void predict_rows(void *arg, int64_t from, int64_t to)
{
    plan *p = arg;
    for (int64_t row = from; row < to && !bd_interrupted(); row++)
        if (!predict_row(p, row)) atomic_store(&p->stuck, row + 1);
}

static bool fail_stuck(bd_op_ctx *c, int64_t stuck)
{
    if (stuck > 0)
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Invalid tree: example %lld comes to a node without children, to one that tests a feature that "
            "is not there, or to a leaf whose values do not fit",
            (long long)stuck - 1);
    return stuck > 0;
}

static void output_dropped(bd_op_ctx *c, const plan *p)
{
    const braid_shape shape = bd_shape2(2, p->dropped_count);
    const braid_tensor *y = bd_output(c, 1, BRAID_FLOAT, &shape);
    for (int32_t i = 0; y && i < p->dropped_count; i++) {
        bd_tensor_f32(y)[i] = (float)p->dropped[i];
        bd_tensor_f32(y)[p->dropped_count + i] = p->e->weights.items[p->dropped[i]];
    }
}

static void predict(bd_op_ctx *c, plan *p)
{
    const binding *b = c->state;
    const braid_shape shape = bd_shape2(p->f->rows, b->columns);
    const braid_shape leaf_shape = bd_shape2(p->f->rows, (int64_t)p->e->trees.len);
    const bool gives_leaves = c->output_count > 2;
    const braid_tensor *y = bd_output(c, 0, BRAID_FLOAT, &shape);
    const braid_tensor *leaves = y && gives_leaves ? bd_output(c, 2, BRAID_INT32, &leaf_shape) : NULL;
    if (!y || (gives_leaves && !leaves)) return;
    const size_t bytes = (size_t)bd_tensor_count(y) * sizeof(float);
    if (bytes > 0) memset(y->data, 0, bytes);
    if (leaves && bd_tensor_count(leaves) > 0)
        memset(leaves->data, 0, (size_t)bd_tensor_count(leaves) * sizeof(int32_t));
    p->columns = b->columns;
    p->out = bd_tensor_f32(y);
    p->leaves = leaves ? bd_tensor_i32(leaves) : NULL;
    if (p->tree_count > 0) bd_parallel_for(c, p->f->rows, ROWS_GRAIN, predict_rows, p);
    if (!fail_stuck(c, atomic_load(&p->stuck))) output_dropped(c, p);
}

static void predict_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    const binding *b = c->state;
    int64_t seed;
    bd_gbt_features f = {0};
    bd_gbt_ensemble_resource *r = bd_gbt_input_ensemble(c);
    if (!r) return;
    if (bd_gbt_input_int64(c, 1, "seed", &seed) && bd_gbt_read_features(c, 2, &f)) {
        bd_mutex_lock(&r->mu);
        plan p = {.e = &r->ensemble, .f = &f};
        if (make_plan(b, seed, &p, st))
            bd_op_fail_status(c, st);
        else
            predict(c, &p);
        bd_mutex_unlock(&r->mu);
        plan_free(&p);
    }
    bd_gbt_features_free(&f);
    bd_resource_unref(&r->base);
}

// ---- Partitions ----

typedef struct search {
    const bd_gbt_tree *tree;
    const bd_gbt_features *f;
    int32_t *leaves;       // [rows]
    _Atomic int64_t stuck; // as a plan's
} search;

static void search_rows(void *arg, int64_t from, int64_t to)
{
    search *s = arg;
    for (int64_t row = from; row < to && !bd_interrupted(); row++) {
        s->leaves[row] = bd_gbt_find_leaf(s->tree, s->f, row);
        if (s->leaves[row] < 0) atomic_store(&s->stuck, row + 1);
    }
}

static void partition_run(bd_op_ctx *c)
{
    bd_gbt_features f = {0};
    bd_gbt_ensemble_resource *r = bd_gbt_input_ensemble(c);
    if (!r) return;
    if (bd_gbt_read_features(c, 1, &f)) {
        const braid_shape shape = bd_shape1(f.rows);
        const braid_tensor *y = bd_output(c, 0, BRAID_INT32, &shape);
        bd_mutex_lock(&r->mu);
        if (y && (bd_gbt_begins_tree(&r->ensemble) || bd_gbt_last_tree(&r->ensemble)->nodes.len == 0)) {
            if (f.rows > 0) memset(y->data, 0, sizeof(int32_t) * (size_t)f.rows);
        } else if (y) {
            search s = {.tree = bd_gbt_last_tree(&r->ensemble), .f = &f, .leaves = bd_tensor_i32(y)};
            bd_parallel_for(c, f.rows, ROWS_GRAIN, search_rows, &s);
            if (!fail_stuck(c, atomic_load(&s.stuck))) bd_op_interrupted(c);
        }
        bd_mutex_unlock(&r->mu);
    }
    bd_gbt_features_free(&f);
    bd_resource_unref(&r->base);
}

// ---- Definitions ----

static braid_code predict_shape(bd_shape_ctx *c, braid_status *st)
{
    binding b = {0};
    BD_STATUS(why);
    (void)st;
    if (!bd_gbt_learner_bind(c->node, &b.learner, why)) {
        const int64_t columns = (int64_t)b.learner.num_classes - bd_node_attr_bool(c->node, "reduce_dim");
        c->outputs[0] = bd_shape2(-1, columns >= 0 ? columns : -1);
        bd_gbt_learner_unbind(&b.learner);
    }
    if (c->output_count > 2) c->outputs[2] = bd_shape2(-1, -1);
    return BRAID_OK;
}

static braid_code partition_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = bd_shape1(-1);
    return BRAID_OK;
}

#define COUNTS                                                                                               \
    "num_dense_float_features:int>=0; num_sparse_float_features:int>=0; num_sparse_int_features:int>=0; "    \
    "use_locking:bool=false"
#define FEATURES                                                                                             \
    "dense_float_features: num_dense_float_features*float, sparse_float_feature_indices: "                   \
    "num_sparse_float_features*int64, sparse_float_feature_values: num_sparse_float_features*float, "        \
    "sparse_float_feature_shapes: num_sparse_float_features*int64, sparse_int_feature_indices: "             \
    "num_sparse_int_features*int64, sparse_int_feature_values: num_sparse_int_features*int64, "              \
    "sparse_int_feature_shapes: num_sparse_int_features*int64"
#define PREDICTION_ATTRS                                                                                     \
    "learner_config:string; " COUNTS                                                                         \
    "; apply_dropout:bool; apply_averaging:bool; center_bias:bool; reduce_dim:bool"
#define PREDICT_KERNEL                                                                                       \
    BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_INTERRUPTIBLE,                                      \
                .state_size = sizeof(binding),                                                               \
                .create = bind,                                                                              \
                .destroy = bd_gbt_learner_unbind,                                                            \
                .run = predict_run})
_Static_assert(offsetof(binding, learner) == 0, "bd_gbt_learner_unbind takes the binding");

BD_OP(GradientTreesPrediction) = {
    .signature = "(tree_ensemble_handle: resource, seed: int64, " FEATURES
                 ") -> (predictions: float, drop_out_tree_indices_weights: float)",
    .attrs = PREDICTION_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = predict_shape,
    .kernels = PREDICT_KERNEL,
    .doc =
        "Sums of the leaves that each example comes to, weighted by the trees, for each class. With "
        "apply_dropout and LearningRateDropoutDrivenConfig trees are left out at random: output 1 has their "
        "numbers and weights.",
    .deviation = "The ensemble is locked also without use_locking.",
};

BD_OP(GradientTreesPredictionVerbose) = {
    .signature = "(tree_ensemble_handle: resource, seed: int64, " FEATURES
                 ") -> (predictions: float, drop_out_tree_indices_weights: float, leaf_index: int32)",
    .attrs = PREDICTION_ATTRS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = predict_shape,
    .kernels = PREDICT_KERNEL,
    .doc = "As GradientTreesPrediction, and the leaf of each example in each tree.",
    .deviation =
        "The ensemble is locked also without use_locking. leaf_index is 0 of trees that are left out, "
        "where TensorFlow leaves it undefined.",
};

BD_OP(GradientTreesPartitionExamples) = {
    .signature = "(tree_ensemble_handle: resource, " FEATURES ") -> (partition_ids: int32)",
    .attrs = COUNTS,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = partition_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_INTERRUPTIBLE, .run = partition_run}),
    .doc = "The leaf of each example in the tree that grows; 0 where the next layer begins a tree.",
    .deviation = "The ensemble is locked also without use_locking.",
};

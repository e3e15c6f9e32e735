// Logits of examples by an ensemble: BoostedTreesPredict, BoostedTreesTrainingPredict,
// BoostedTreesExampleDebugOutputs.
//
// An example goes from the root of each tree to a leaf. In training it goes on from the node that it had
// reached when the ensemble was last used, and what is new is added to the logit of then.
#include "base/interrupt.h"
#include "ops/boosted_trees/inputs.h"
#include "ops/common/string_out.h"
#include "proto/pack.h"
#include "tensorflow/core/kernels/boosted_trees/boosted_trees.pb-c.h"
#include <string.h>

// Rows of a piece of work that is worth a thread, for one tree.
enum {
    ROWS_GRAIN = 4096
};

// The rows of a batch on their way through the trees.
typedef struct batch {
    const bd_forest *forest;
    bd_tree_feature *features;
    int feature_count;
    int64_t rows;
    const int32_t *cached_trees, *cached_nodes; // [rows]; of training
    int32_t *nodes;                             // [rows]; of training
    int64_t logit_count;
    float *logits;         // [rows, logit_count]
    _Atomic int64_t stuck; // 1 + a row that cannot go on; 0: none
} batch;

static int latest_tree(const batch *b)
{
    return (int)b->forest->trees.len - 1;
}

static void set_stuck(batch *b, int64_t row)
{
    atomic_store(&b->stuck, row + 1);
}

// Follows a row from `node` to a leaf, which has as many logits as are asked for. -1: it cannot go on.
static int32_t find_leaf(batch *b, const bd_tree *t, int32_t node, int64_t row)
{
    while (node >= 0 && !bd_tree_is_leaf(t, node))
        node = bd_tree_next(t, node, b->features, b->feature_count, row);
    if (node >= 0 && t->nodes.items[node].value.count == b->logit_count) return node;
    set_stuck(b, row);
    return -1;
}

static void fail_row(bd_op_ctx *c, const batch *b, int64_t row)
{
    bd_op_fail(
        c, BRAID_INVALID_ARGUMENT,
        "Row %lld cannot pass the trees: it is at a node that they do not have, that is no split, that splits by a "
        "feature or a column that is not there (there are %d features), or that does not have %lld logits",
        (long long)row, b->feature_count, (long long)b->logit_count);
}

// Runs `fn` over the rows, in parallel. False: the kernel has failed.
static bool for_rows(bd_op_ctx *c, batch *b, void (*fn)(void *arg, int64_t from, int64_t to))
{
    const int64_t trees = (int64_t)b->forest->trees.len;
    bd_parallel_for(c, b->rows, trees < ROWS_GRAIN ? ROWS_GRAIN / (trees + 1) : 1, fn, b);
    const int64_t stuck = atomic_load(&b->stuck);
    if (stuck > 0) fail_row(c, b, stuck - 1);
    return stuck == 0;
}

// Reads the features from input `from` on. Free b->features afterwards in any case. False: the kernel has
// failed.
static bool read_batch(bd_op_ctx *c, int from, batch *b)
{
    b->feature_count = c->input_count - from;
    b->features = bd_calloc((size_t)b->feature_count, sizeof *b->features);
    b->logit_count = bd_node_attr_int(c->node, "logits_dimension");
    if (b->logit_count < 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "logits_dimension must be positive, got %lld",
                   (long long)b->logit_count);
        return false;
    }
    return bd_input_features(c, from, b->feature_count, b->features, &b->rows);
}

// ---- BoostedTreesPredict ----

static void predict_rows(void *arg, int64_t from, int64_t to)
{
    batch *b = arg;
    for (int64_t row = from; row < to && !bd_interrupted(); row++) {
        float *logits = b->logits + row * b->logit_count;
        memset(logits, 0, sizeof *logits * (size_t)b->logit_count);
        for (int i = 0; i <= latest_tree(b); i++) {
            const bd_tree *t = &b->forest->trees.items[i];
            const int32_t leaf = find_leaf(b, t, 0, row);
            if (leaf < 0) return;
            for (int64_t k = 0; k < b->logit_count; k++)
                logits[k] += t->weight * bd_tree_value(t, bd_tree_logits(t, leaf), k);
        }
    }
}

static void predict_run(bd_op_ctx *c)
{
    bd_ensemble *e = bd_input_ensemble(c);
    batch b = {0};
    if (!e) return;
    if (read_batch(c, 1, &b)) {
        const braid_shape shape = bd_shape2(b.rows, b.logit_count);
        const braid_tensor *logits = bd_output(c, 0, BRAID_FLOAT, &shape);
        if (logits) {
            b.logits = bd_tensor_f32(logits);
            b.forest = &e->forest;
            bd_mutex_lock(&e->mu);
            for_rows(c, &b, predict_rows);
            bd_mutex_unlock(&e->mu);
        }
    }
    bd_free(b.features);
    bd_resource_unref(&e->base);
}

// ---- BoostedTreesTrainingPredict ----

// Whether a node has as many logits as are asked for, or none.
static bool has_logits(const batch *b, const bd_logits *logits)
{
    return logits->count == 0 || logits->count == b->logit_count;
}

// Where a row goes on: its tree, its node and what is to be added to the logits of then. False: it had a node
// that there is not.
static bool resume(const batch *b, int64_t row, int32_t *tree, int32_t *node, float *logits)
{
    *tree = b->cached_trees[row];
    *node = b->cached_nodes[row];
    memset(logits, 0, sizeof *logits * (size_t)b->logit_count);
    if (*tree < 0 || *tree > latest_tree(b)) return false;
    const bd_tree *t = &b->forest->trees.items[*tree];
    if (*node < 0) { // it has not been in the tree yet
        *node = 0;
        return true;
    }
    if (t->is_finalized && t->pruned.len > 0) {
        if ((size_t)*node >= t->pruned.len) return false;
        const bd_pruned_node *p = &t->pruned.items[*node];
        if (!has_logits(b, &p->change)) return false;
        for (int64_t k = 0; k < b->logit_count; k++)
            logits[k] = bd_tree_value(t, &p->change, k);
        *node = p->node;
    }
    if ((size_t)*node >= t->nodes.len || !has_logits(b, bd_tree_logits(t, *node))) return false;
    for (int64_t k = 0; k < b->logit_count;
         k++) // the logits of then have these, and a leaf's are added below
        logits[k] -= bd_tree_value(t, bd_tree_logits(t, *node), k);
    return true;
}

static void continue_rows(void *arg, int64_t from, int64_t to)
{
    batch *b = arg;
    for (int64_t row = from; row < to && !bd_interrupted(); row++) {
        float *logits = b->logits + row * b->logit_count;
        int32_t first, node;
        if (!resume(b, row, &first, &node, logits)) {
            set_stuck(b, row);
            return;
        }
        for (int i = first; i <= latest_tree(b); i++) {
            const bd_tree *t = &b->forest->trees.items[i];
            node = find_leaf(b, t, i == first ? node : 0, row);
            if (node < 0) return;
            for (int64_t k = 0; k < b->logit_count; k++) {
                const float value = bd_tree_value(t, bd_tree_logits(t, node), k);
                logits[k] = i == first ? t->weight * (logits[k] + value) : logits[k] + t->weight * value;
            }
        }
        b->nodes[row] = node;
    }
}

static bool read_cache(bd_op_ctx *c, batch *b)
{
    for (int i = 1; i <= 2; i++) {
        const braid_shape *s = &bd_input(c, i)->shape;
        if (!bd_input_has_rank(c, i, 1, i == 1 ? "cached_tree_ids" : "cached_node_ids")) return false;
        if (s->dims[0] == b->rows) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s has %lld elements for %lld rows",
                   i == 1 ? "cached_tree_ids" : "cached_node_ids", (long long)s->dims[0], (long long)b->rows);
        return false;
    }
    b->cached_trees = bd_tensor_i32(bd_input(c, 1));
    b->cached_nodes = bd_tensor_i32(bd_input(c, 2));
    return true;
}

// Without trees, rows keep their tree and are at its root.
static void stay(batch *b, int32_t *trees)
{
    memset(b->logits, 0, sizeof *b->logits * (size_t)(b->rows * b->logit_count));
    for (int64_t row = 0; row < b->rows; row++) {
        trees[row] = b->cached_trees[row];
        b->nodes[row] = 0;
    }
}

static void continue_batch(bd_op_ctx *c, bd_ensemble *e, batch *b)
{
    const braid_shape matrix = bd_shape2(b->rows, b->logit_count), vector = bd_shape1(b->rows);
    const braid_tensor *logits = bd_output(c, 0, BRAID_FLOAT, &matrix);
    const braid_tensor *trees = logits ? bd_output(c, 1, BRAID_INT32, &vector) : NULL;
    const braid_tensor *nodes = trees ? bd_output(c, 2, BRAID_INT32, &vector) : NULL;
    if (!nodes) return;
    b->logits = bd_tensor_f32(logits);
    b->nodes = bd_tensor_i32(nodes);
    b->forest = &e->forest;
    bd_mutex_lock(&e->mu);
    if (b->forest->trees.len == 0) {
        stay(b, bd_tensor_i32(trees));
    } else if (for_rows(c, b, continue_rows)) {
        for (int64_t row = 0; row < b->rows; row++)
            bd_tensor_i32(trees)[row] = latest_tree(b);
    }
    bd_mutex_unlock(&e->mu);
}

static void training_run(bd_op_ctx *c)
{
    bd_ensemble *e = bd_input_ensemble(c);
    batch b = {0};
    if (!e) return;
    if (read_batch(c, 3, &b) && read_cache(c, &b)) continue_batch(c, e, &b);
    bd_free(b.features);
    bd_resource_unref(&e->base);
}

// ---- BoostedTreesExampleDebugOutputs ----

// What an example met: the features of splits, and the logit before the first and after each of them.
typedef struct path {
    BD_ARRAY(int32_t) features;
    BD_ARRAY(float) logits;
} path;

// The logit of a node, weighted. False: it has several.
static bool weigh(const bd_tree *t, int32_t node, float *logit)
{
    const bd_logits *logits = bd_tree_logits(t, node);
    *logit = t->weight * bd_tree_value(t, logits, 0);
    return logits->count <= 1;
}

// False: the row cannot go on.
static bool trace(const batch *b, int64_t row, path *p)
{
    const bd_tree *t = b->forest->trees.items;
    float logit, before = 0; // `before`: of the trees before this one
    p->features.len = p->logits.len = 0;
    if (!weigh(t, 0, &logit)) return false;
    bd_array_push(&p->logits, logit);
    for (int i = 0; i <= latest_tree(b); i++, t++) {
        int32_t node = 0;
        while (!bd_tree_is_leaf(t, node)) {
            const int32_t feature = t->nodes.items[node].feature;
            node = bd_tree_next(t, node, b->features, b->feature_count, row);
            if (node < 0 || !weigh(t, node, &logit)) return false;
            bd_array_push(&p->features, feature);
            bd_array_push(&p->logits, logit + before);
        }
        // A tree that is only a root adds nothing, but for the first one, whose root is the bias.
        if (i == 0 || node > 0) before += logit;
    }
    return true;
}

static void put_path(bd_op_ctx *c, const braid_tensor *y, int64_t row, const path *p)
{
    Tensorflow__BoostedTrees__DebugOutput m;
    tensorflow__boosted_trees__debug_output__init(&m);
    m.n_feature_ids = p->features.len;
    m.feature_ids = p->features.items;
    m.n_logits_path = p->logits.len;
    m.logits_path = p->logits.items;
    bd_message bytes;
    bd_message_init(&bytes);
    bd_proto_pack_message(&m.base, &bytes);
    char *room = bd_string_room(c, y, row, bytes.bytes);
    if (room) bd_message_gather(&bytes, room);
    bd_message_fini(&bytes);
}

static void trace_rows(bd_op_ctx *c, const batch *b, const braid_tensor *y)
{
    path p = {0};
    for (int64_t row = 0; row < b->rows && !bd_op_interrupted(c); row++) {
        if (!trace(b, row, &p))
            fail_row(c, b, row);
        else
            put_path(c, y, row, &p);
        if (bd_op_failed(c)) break;
    }
    bd_array_free(&p.features);
    bd_array_free(&p.logits);
}

static void debug_run(bd_op_ctx *c)
{
    bd_ensemble *e = bd_input_ensemble(c);
    batch b = {0};
    if (!e) return;
    if (read_batch(c, 1, &b)) {
        const braid_shape shape = bd_shape1(b.rows);
        const braid_tensor *y = bd_output(c, 0, BRAID_STRING, &shape);
        b.forest = &e->forest;
        bd_mutex_lock(&e->mu);
        if (y && b.logit_count != 1)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Currently only one dimensional outputs are supported.");
        else if (y && e->forest.trees.len == 0)
            bd_op_fail(c, BRAID_FAILED_PRECONDITION, "The tree ensemble has no trees to explain");
        else if (y)
            trace_rows(c, &b, y);
        bd_mutex_unlock(&e->mu);
    }
    bd_free(b.features);
    bd_resource_unref(&e->base);
}

// ---- Definitions ----

static braid_code predict_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t rows;
    if (bd_shape_ctx_rank(c, 0, 0, st) || bd_shape_ctx_rows(c, 1, c->input_count, 2, &rows, st))
        return st->code;
    c->outputs[0] = bd_shape2(rows, bd_node_attr_int(c->node, "logits_dimension"));
    return BRAID_OK;
}

static braid_code debug_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t rows;
    if (bd_shape_ctx_rank(c, 0, 0, st) || bd_shape_ctx_rows(c, 1, c->input_count, 2, &rows, st))
        return st->code;
    c->outputs[0] = bd_shape1(rows);
    return BRAID_OK;
}

static braid_code training_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t rows;
    if (bd_shape_ctx_rank(c, 0, 0, st) || bd_shape_ctx_ranks(c, 1, 3, 1, st) ||
        bd_shape_ctx_rows(c, 1, c->input_count, 2, &rows, st))
        return st->code;
    c->outputs[0] = bd_shape2(rows, bd_node_attr_int(c->node, "logits_dimension"));
    c->outputs[1] = c->outputs[2] = bd_shape1(rows);
    return BRAID_OK;
}

BD_OP(BoostedTreesPredict) = {
    .signature =
        "(tree_ensemble_handle: resource, bucketized_features: num_bucketized_features*int32) -> (logits: float)",
    .attrs = "num_bucketized_features:int>=1; logits_dimension:int",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = predict_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_INTERRUPTIBLE, .run = predict_run}),
    .doc =
        "The sum of the leaves that an example comes to, weighted by the trees' weights: [rows, logits_dimension]. Features are vectors "
        "or matrices [rows, columns].",
};

BD_OP(BoostedTreesTrainingPredict) = {
    .signature =
        "(tree_ensemble_handle: resource, cached_tree_ids: int32, cached_node_ids: int32, bucketized_features: "
        "num_bucketized_features*int32) -> (partial_logits: float, tree_ids: int32, node_ids: int32)",
    .attrs = "num_bucketized_features:int>=1; logits_dimension:int",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = training_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_INTERRUPTIBLE, .run = training_run}),
    .doc =
        "Follows examples from the nodes that they had reached (node -1: from the root) to leaves of the latest tree: what "
        "that adds to their logits, and where they are.",
};

BD_OP(BoostedTreesExampleDebugOutputs) = {
    .signature = "(tree_ensemble_handle: resource, bucketized_features: num_bucketized_features*int32) -> "
                 "(examples_debug_outputs_serialized: string)",
    .attrs = "num_bucketized_features:int>=1; logits_dimension:int",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = debug_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_INTERRUPTIBLE, .run = debug_run}),
    .doc =
        "For each example a serialized DebugOutput: the features of the splits that it passes, and its logit after each.",
};

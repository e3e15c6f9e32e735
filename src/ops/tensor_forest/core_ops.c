// The TensorForest ops: trees of dense splits, boosted_trees.Tree as a message, that only predict.
#include "base/array.h"
#include "base/interrupt.h"
#include "base/thread.h"
#include "graph/shape_fn.h"
#include "op/resource.h"
#include "ops/boosted_trees/inputs.h"
#include "ops/common/handle.h"
#include "ops/common/string_out.h"
#include "ops/tensor_forest/binding.h"
#include "proto/pack.h"
#include "tensorflow/core/kernels/boosted_trees/boosted_trees.pb-c.h"
#include <string.h>

// Rows of a piece of work that is worth a thread.
enum {
    ROWS_GRAIN = 512
};

// A leaf's values are [value, value + count) of the tree's; other nodes test a feature.
typedef struct dense_node {
    bool is_leaf;
    int32_t feature, left, right;
    float threshold;
    size_t value, count;
} dense_node;

typedef struct dense_tree {
    char *config; // the message
    size_t len;
    BD_ARRAY(dense_node) nodes;
    BD_ARRAY(float) values;
} dense_tree;

typedef struct tree_resource {
    bd_resource base;
    bd_mutex mu;
    dense_tree tree; // guarded by mu
} tree_resource;

// ---- Trees ----

static void free_tree(dense_tree *t)
{
    bd_free(t->config);
    bd_array_free(&t->nodes);
    bd_array_free(&t->values);
    *t = (dense_tree){0};
}

static void destroy(bd_resource *r)
{
    tree_resource *t = BD_CONTAINER_OF(r, tree_resource, base);
    free_tree(&t->tree);
    bd_mutex_fini(&t->mu);
    bd_free(t);
}

static const bd_resource_type tree_type = {.name = "TensorForestTreeResource", .destroy = destroy};

static tree_resource *input_tree(bd_op_ctx *c)
{
    bd_resource *r = bd_input_resource(c, 0, &tree_type);
    return r ? BD_CONTAINER_OF(r, tree_resource, base) : NULL;
}

static void read_leaf(dense_tree *t, dense_node *n, const Tensorflow__BoostedTrees__Leaf *m)
{
    n->is_leaf = true;
    n->value = t->values.len;
    if (m->leaf_case != TENSORFLOW__BOOSTED_TREES__LEAF__LEAF_VECTOR) return;
    n->count = m->vector->n_value;
    bd_array_reserve(&t->values, t->values.len + n->count);
    if (n->count > 0) memcpy(t->values.items + n->value, m->vector->value, n->count * sizeof(float));
    t->values.len += n->count;
}

// A child stands behind its parent, which no way through the tree therefore passes twice.
static braid_code read_split(dense_node *n, size_t i, size_t count,
                             const Tensorflow__BoostedTrees__DenseSplit *m, braid_status *st)
{
    *n = (dense_node){
        .feature = m->feature_id, .left = m->left_id, .right = m->right_id, .threshold = m->threshold};
    if (n->left <= 0 || n->right <= 0 || (size_t)n->left >= count || (size_t)n->right >= count ||
        (size_t)n->left <= i || (size_t)n->right <= i)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Node %zu of %zu has children %d and %d; a child is a node behind its parent", i,
                       count, n->left, n->right);
    return BRAID_OK;
}

static braid_code read_nodes(dense_tree *t, const Tensorflow__BoostedTrees__Tree *m, braid_status *st)
{
    for (size_t i = 0; i < m->n_nodes; i++) {
        dense_node n = {0};
        if (m->nodes[i]->node_case == TENSORFLOW__BOOSTED_TREES__NODE__NODE_LEAF)
            read_leaf(t, &n, m->nodes[i]->leaf);
        else if (m->nodes[i]->node_case != TENSORFLOW__BOOSTED_TREES__NODE__NODE_DENSE_SPLIT)
            return bd_fail(st, BRAID_INVALID_ARGUMENT,
                           "Node %zu of the tree is neither a leaf nor a dense split", i);
        else if (read_split(&n, i, m->n_nodes, m->nodes[i]->dense_split, st))
            return st->code;
        bd_array_push(&t->nodes, n);
    }
    return BRAID_OK;
}

// Reads the tree in input 1. False: the kernel has failed, and the tree is empty.
static bool read_tree(bd_op_ctx *c, dense_tree *t)
{
    BD_PROTO_ARENA(arena);
    BD_STATUS(st);
    const bd_string *config;
    if (!bd_rf_read_config(c, "Tree config", &config)) return false;
    const Tensorflow__BoostedTrees__Tree *m =
        bd_proto_unpack(&tensorflow__boosted_trees__tree__descriptor, config->data, config->len, arena, st);
    if (!m || read_nodes(t, m, st)) {
        if (!m) bd_status_prefix(st, "Unable to parse tree config: ");
        bd_op_fail_status(c, st);
        free_tree(t);
        return false;
    }
    t->len = config->len;
    t->config = bd_malloc(t->len + 1);
    if (t->len > 0) memcpy(t->config, config->data, t->len);
    return true;
}

// ---- The resource ----

// Only names the resource.
static void handle_run(bd_op_ctx *c)
{
    bd_output_handle(c, bd_node_attr_string(c->node, "container"),
                     bd_node_attr_string(c->node, "shared_name"), &tree_type);
}

static void is_initialized_run(bd_op_ctx *c)
{
    bd_boosted_trees_is_initialized(c, &tree_type);
}

static braid_code create_tree(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    dense_tree *made = arg;
    tree_resource *t = bd_calloc(1, sizeof *t);
    bd_resource_init(&t->base, &tree_type);
    bd_mutex_init(&t->mu);
    t->tree = *made;
    *made = (dense_tree){0};
    *out = &t->base;
    return BRAID_OK;
}

// A tree that exists already stays as it is.
static void create_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    dense_tree made = {0};
    char *container, *name;
    if (!bd_boosted_trees_handle(c, &tree_type, &container, &name)) return;
    if (read_tree(c, &made)) {
        bd_resource *r = NULL;
        const bd_resource_spec spec = {container, name, &tree_type, create_tree, &made};
        if (bd_resources_lookup_or_create(c->step->resources, &spec, &r, st)) bd_op_fail_status(c, st);
        bd_resource_unref(r);
    }
    free_tree(&made);
    bd_free(container);
    bd_free(name);
}

static void deserialize_run(bd_op_ctx *c)
{
    tree_resource *t = input_tree(c);
    dense_tree tree = {0};
    if (t && read_tree(c, &tree)) {
        bd_mutex_lock(&t->mu);
        const dense_tree old = t->tree;
        t->tree = tree;
        bd_mutex_unlock(&t->mu);
        tree = old;
    }
    free_tree(&tree);
    if (t) bd_resource_unref(&t->base);
}

static void serialize_run(bd_op_ctx *c)
{
    tree_resource *t = input_tree(c);
    if (!t) return;
    const braid_tensor *y = bd_output(c, 0, BRAID_STRING, &BD_SCALAR);
    if (y) {
        bd_mutex_lock(&t->mu);
        bd_string_put(c, y, 0, t->tree.config, t->tree.len);
        bd_mutex_unlock(&t->mu);
    }
    bd_resource_unref(&t->base);
}

static void size_run(bd_op_ctx *c)
{
    tree_resource *t = input_tree(c);
    if (!t) return;
    const braid_tensor *y = bd_output(c, 0, BRAID_INT32, &BD_SCALAR);
    if (y) {
        bd_mutex_lock(&t->mu);
        bd_tensor_i32(y)[0] = (int32_t)t->tree.nodes.len;
        bd_mutex_unlock(&t->mu);
    }
    bd_resource_unref(&t->base);
}

// ---- Predictions ----

typedef struct batch {
    const dense_tree *tree;
    const float *features; // [rows, columns]
    int64_t rows, columns, logit_count;
    float *logits;         // [rows, logit_count]
    _Atomic int64_t stuck; // 1 + a row that has no prediction; 0: none
} batch;

// The leaf of a row; NULL: the row does not have a feature.
static const dense_node *find_leaf(const batch *b, int64_t row)
{
    const dense_node *n = b->tree->nodes.items;
    const float *features = b->features + row * b->columns;
    while (!n->is_leaf) {
        if (n->feature < 0 || n->feature >= b->columns) return NULL;
        n = &b->tree->nodes.items[features[n->feature] <= n->threshold ? n->left : n->right];
    }
    return n;
}

static void predict_rows(void *arg, int64_t from, int64_t to)
{
    batch *b = arg;
    for (int64_t row = from; row < to && !bd_interrupted(); row++) {
        const dense_node *leaf = find_leaf(b, row);
        if (!leaf || leaf->count < (size_t)b->logit_count)
            atomic_store(&b->stuck, row + 1);
        else
            memcpy(b->logits + row * b->logit_count, b->tree->values.items + leaf->value,
                   sizeof *b->logits * (size_t)b->logit_count);
    }
}

static void predict(bd_op_ctx *c, batch *b)
{
    if (b->tree->nodes.len == 0) {
        if (b->rows > 0) memset(b->logits, 0, sizeof *b->logits * (size_t)(b->rows * b->logit_count));
        return;
    }
    bd_parallel_for(c, b->rows, ROWS_GRAIN, predict_rows, b);
    const int64_t stuck = atomic_load(&b->stuck);
    if (stuck > 0)
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Row %lld cannot pass the tree: it does not have a feature that is tested (there are %lld), or "
            "its leaf does not have %lld logits",
            (long long)stuck - 1, (long long)b->columns, (long long)b->logit_count);
}

static void predict_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 1);
    tree_resource *t = input_tree(c);
    if (!t) return;
    batch b = {.tree = &t->tree, .logit_count = bd_node_attr_int(c->node, "logits_dimension")};
    if (b.logit_count < 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "logits_dimension must be positive, got %lld",
                   (long long)b.logit_count);
    } else if (bd_input_has_rank(c, 1, 2, "dense_features")) {
        const braid_shape shape = bd_shape2(x->shape.dims[0], b.logit_count);
        const braid_tensor *y = bd_output(c, 0, BRAID_FLOAT, &shape);
        if (y) {
            b.features = bd_tensor_f32(x);
            b.rows = x->shape.dims[0];
            b.columns = x->shape.dims[1];
            b.logits = bd_tensor_f32(y);
            bd_mutex_lock(&t->mu);
            predict(c, &b);
            bd_mutex_unlock(&t->mu);
        }
    }
    bd_resource_unref(&t->base);
}

// ---- Definitions ----

static braid_code predict_shape(bd_shape_ctx *c, braid_status *st)
{
    if (bd_shape_ctx_rank(c, 1, 2, st)) return st->code;
    c->outputs[0] = bd_shape2(bd_shape_ctx_dim(c, 1, 0), bd_node_attr_int(c->node, "logits_dimension"));
    return BRAID_OK;
}

BD_OP(TensorForestTreeResourceHandleOp) = {
    .signature = "() -> (resource: resource)",
    .attrs = "container:string=''; shared_name:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = handle_run}),
    .doc = "A handle to a tree.",
};

BD_OP(TensorForestTreeIsInitializedOp) = {
    .signature = "(tree_handle: resource) -> (is_initialized: bool)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = is_initialized_run}),
    .doc = "Whether the tree exists.",
};

BD_OP(TensorForestCreateTreeVariable) = {
    .signature = "(tree_handle: resource, tree_config: string) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_rf_no_outputs_shape,
    .kernels = BD_KERNELS({.run = create_run}),
    .doc = "Makes the tree of a serialized boosted_trees.Tree, unless it exists.",
    .deviation =
        "A tree is refused if a node is neither a leaf nor a dense split with two children behind it.",
};

BD_OP(TensorForestTreeDeserialize) = {
    .signature = "(tree_handle: resource, tree_config: string) -> ()",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_rf_no_outputs_shape,
    .kernels = BD_KERNELS({.run = deserialize_run}),
    .doc = "Replaces the tree by a serialized boosted_trees.Tree.",
};

BD_OP(TensorForestTreeSerialize) = {
    .signature = "(tree_handle: resource) -> (tree_config: string)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = serialize_run}),
    .doc = "The tree as a serialized boosted_trees.Tree.",
};

BD_OP(TensorForestTreeSize) = {
    .signature = "(tree_handle: resource) -> (tree_size: int32)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = size_run}),
    .doc = "The number of the tree's nodes, leaves included.",
};

BD_OP(TensorForestTreePredict) = {
    .signature = "(tree_handle: resource, dense_features: float) -> (logits: float)",
    .attrs = "logits_dimension:int",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = predict_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_INTERRUPTIBLE, .run = predict_run}),
    .doc = "The logits of each row's leaf; 0 of a tree without nodes.",
};

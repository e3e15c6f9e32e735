// Ops that make, save, restore, use and update the trees of tf.contrib.tensor_forest.
#include "base/interrupt.h"
#include "ops/boosted_trees/inputs.h"
#include "ops/common/handle.h"
#include "ops/common/string_out.h"
#include "ops/tensor_forest/binding.h"
#include "ops/tensor_forest/tree.h"
#include <string.h>

// Rows of a piece of work that is worth a thread.
enum {
    ROWS_GRAIN = 512
};

// ---- The resource ----

// Only names the resource.
static void handle_run(bd_op_ctx *c)
{
    bd_output_handle(c, bd_node_attr_string(c->node, "container"),
                     bd_node_attr_string(c->node, "shared_name"), &bd_rf_tree_type);
}

static void is_initialized_run(bd_op_ctx *c)
{
    bd_boosted_trees_is_initialized(c, &bd_rf_tree_type);
}

// A tree that is to become a resource.
typedef struct made_tree {
    bd_rf_params params;
    bd_rf_tree tree;
} made_tree;

static braid_code create_tree(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    made_tree *made = arg;
    bd_rf_tree_resource *t = bd_calloc(1, sizeof *t);
    bd_resource_init(&t->base, &bd_rf_tree_type);
    bd_mutex_init(&t->mu);
    t->params = made->params;
    t->tree = made->tree;
    made->tree = (bd_rf_tree){0};
    *out = &t->base;
    return BRAID_OK;
}

// Reads the serialized tree in input 1. False: the kernel has failed.
static bool read_tree(bd_op_ctx *c, const bd_rf_params *p, bd_rf_tree *tree)
{
    BD_STATUS(st);
    const bd_string *config;
    if (!bd_rf_read_config(c, "Tree config", &config)) return false;
    if (!bd_rf_params_check_tree(p, st) && !bd_rf_tree_read(tree, p, config->data, config->len, st))
        return true;
    bd_op_fail_status(c, st);
    return false;
}

// A tree that exists already stays as it is.
static void create_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    const bd_rf_binding *b = c->state;
    made_tree made = {.params = b->params};
    char *container, *name;
    if (!bd_boosted_trees_handle(c, &bd_rf_tree_type, &container, &name)) return;
    if (read_tree(c, &b->params, &made.tree)) {
        bd_resource *r = NULL;
        const bd_resource_spec spec = {container, name, &bd_rf_tree_type, create_tree, &made};
        if (bd_resources_lookup_or_create(c->step->resources, &spec, &r, st)) bd_op_fail_status(c, st);
        bd_resource_unref(r);
    }
    bd_rf_tree_fini(&made.tree);
    bd_free(container);
    bd_free(name);
}

static void deserialize_run(bd_op_ctx *c)
{
    bd_rf_tree_resource *t = bd_rf_input_tree(c, 0);
    bd_rf_tree tree = {0};
    if (t && read_tree(c, &t->params, &tree)) {
        bd_mutex_lock(&t->mu);
        const bd_rf_tree old = t->tree;
        t->tree = tree;
        bd_mutex_unlock(&t->mu);
        tree = old;
    }
    bd_rf_tree_fini(&tree);
    if (t) bd_resource_unref(&t->base);
}

static void serialize_run(bd_op_ctx *c)
{
    bd_rf_tree_resource *t = bd_rf_input_tree(c, 0);
    if (!t) return;
    const braid_tensor *y = bd_output(c, 0, BRAID_STRING, &BD_SCALAR);
    if (y) {
        bd_mutex_lock(&t->mu);
        bd_output_message(c, y, 0, bd_rf_put_model, &t->tree);
        bd_mutex_unlock(&t->mu);
    }
    bd_resource_unref(&t->base);
}

static void size_run(bd_op_ctx *c)
{
    bd_rf_tree_resource *t = bd_rf_input_tree(c, 0);
    if (!t) return;
    const braid_tensor *y = bd_output(c, 0, BRAID_INT32, &BD_SCALAR);
    if (y) {
        bd_mutex_lock(&t->mu);
        bd_tensor_i32(y)[0] = (int32_t)t->tree.nodes.len;
        bd_mutex_unlock(&t->mu);
    }
    bd_resource_unref(&t->base);
}

// ---- The leaves of examples ----

typedef struct search {
    const bd_rf_tree *tree;
    const bd_rf_data *data;
    int32_t *leaves;       // [rows]
    _Atomic int64_t stuck; // 1 + a row that cannot go on; 0: none
} search;

static void search_rows(void *arg, int64_t from, int64_t to)
{
    search *s = arg;
    for (int64_t row = from; row < to && !bd_interrupted(); row++) {
        s->leaves[row] = bd_rf_tree_find(s->tree, s->data, row, NULL, NULL);
        if (s->leaves[row] < 0) atomic_store(&s->stuck, row + 1);
    }
}

// Fills `leaves` [rows]. False: the kernel has failed.
static bool find_leaves(bd_op_ctx *c, const bd_rf_tree *tree, const bd_rf_data *data, int32_t *leaves)
{
    search s = {.tree = tree, .data = data, .leaves = leaves};
    bd_parallel_for(c, data->rows, ROWS_GRAIN, search_rows, &s);
    const int64_t stuck = atomic_load(&s.stuck);
    if (stuck > 0)
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Example %lld comes to a node of the tree that tests a feature that the example does not have: "
            "input_spec has %d dense features, input_data has %lld columns, and there are %ssparse features",
            (long long)stuck - 1, data->spec->dense_count, (long long)data->columns,
            data->indices ? "" : "no ");
    return stuck == 0 && !bd_op_interrupted(c);
}

static void traverse_run(bd_op_ctx *c)
{
    const bd_rf_binding *b = c->state;
    bd_rf_tree_resource *t = bd_rf_input_tree(c, 0);
    bd_rf_data data;
    if (!t) return;
    if (bd_rf_read_data(c, 1, &b->spec, &data)) {
        const braid_shape shape = bd_shape1(data.rows);
        const braid_tensor *y = bd_output(c, 0, BRAID_INT32, &shape);
        if (y) {
            bd_mutex_lock(&t->mu);
            find_leaves(c, &t->tree, &data, bd_tensor_i32(y));
            bd_mutex_unlock(&t->mu);
        }
    }
    bd_resource_unref(&t->base);
}

// ---- Predictions ----

static float value_of(const bd_rf_leaf *leaf, int32_t output)
{
    return leaf->kind == BD_RF_VECTOR ? leaf->counts.items[output].value
                                      : bd_rf_counts_get(&leaf->counts, output);
}

// Whether a leaf has what the kind of model reads.
static bool can_read(const bd_rf_params *p, const bd_rf_leaf *leaf)
{
    if (leaf->kind == BD_RF_VECTOR)
        return p->leaf_type != BD_RF_LEAF_SPARSE && leaf->counts.len >= (size_t)p->num_outputs;
    return p->leaf_type == BD_RF_LEAF_SPARSE || p->leaf_type == BD_RF_LEAF_SPARSE_OR_DENSE;
}

// Classes get probabilities.
static bool predict(bd_op_ctx *c, const bd_rf_params *p, const bd_rf_tree *tree, int32_t node, float *out)
{
    const bd_rf_leaf *leaf = &tree->nodes.items[node].leaf;
    float sum = 0;
    if (!can_read(p, leaf)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Leaf %d of the tree has no values for %d outputs of leaf type %d", node, p->num_outputs,
                   p->leaf_type);
        return false;
    }
    for (int32_t j = 0; j < p->num_outputs; j++) {
        out[j] = value_of(leaf, j);
        sum += out[j];
    }
    if (!p->is_regression && sum > 0 && sum != 1)
        for (int32_t j = 0; j < p->num_outputs; j++)
            out[j] /= sum;
    return true;
}

// The nodes that an example passes: a TreePath.
typedef BD_ARRAY(int32_t) node_list;
typedef struct path {
    const bd_rf_tree *tree;
    node_list nodes;
} path;

static void pass_node(void *arg, int32_t node)
{
    path *p = arg;
    bd_array_push(&p->nodes, node);
}

static void put_path(bd_message_out *out, const void *arg)
{
    const path *p = arg;
    for (size_t i = 0; i < p->nodes.len; i++) {
        const bd_rf_node_ref ref = {p->tree, p->nodes.items[i]};
        bd_emit_message(out, 1, bd_rf_put_node, &ref);
    }
}

static void output_paths(bd_op_ctx *c, const bd_rf_params *p, const bd_rf_tree *tree, const bd_rf_data *data)
{
    const braid_shape shape = bd_shape1(p->gives_paths ? data->rows : 0);
    const braid_tensor *y = bd_output(c, 1, BRAID_STRING, &shape);
    path way = {.tree = tree};
    bool ok = y != NULL;
    for (int64_t row = 0; ok && row < shape.dims[0] && !bd_interrupted(); row++) {
        way.nodes.len = 0;
        bd_rf_tree_find(tree, data, row, pass_node, &way);
        ok = bd_output_message(c, y, row, put_path, &way);
    }
    bd_array_free(&way.nodes);
}

static void predict_rows(bd_op_ctx *c, const bd_rf_binding *b, const bd_rf_tree *tree, const bd_rf_data *data,
                         float *out)
{
    int32_t *leaves = bd_try_malloc(sizeof *leaves * (size_t)(data->rows + 1));
    bool ok = leaves != NULL;
    if (!ok)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "no memory for the leaves of %lld examples",
                   (long long)data->rows);
    ok = ok && find_leaves(c, tree, data, leaves);
    for (int64_t row = 0; ok && row < data->rows; row++)
        ok = predict(c, &b->params, tree, leaves[row], out + row * b->params.num_outputs);
    bd_free(leaves);
    if (ok) output_paths(c, &b->params, tree, data);
}

static void predictions_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    const bd_rf_binding *b = c->state;
    bd_rf_tree_resource *t = bd_rf_input_tree(c, 0);
    bd_rf_data data;
    if (!t) return;
    if (bd_rf_params_check_tree(&b->params, st)) {
        bd_op_fail_status(c, st);
    } else if (bd_rf_read_data(c, 1, &b->spec, &data)) {
        const braid_shape shape = bd_shape2(data.rows, b->params.num_outputs);
        const braid_tensor *y = bd_output(c, 0, BRAID_FLOAT, &shape);
        if (y) {
            bd_mutex_lock(&t->mu);
            predict_rows(c, b, &t->tree, &data, bd_tensor_f32(y));
            bd_mutex_unlock(&t->mu);
        }
    }
    bd_resource_unref(&t->base);
}

// ---- Updates of leaves ----

static bool update_leaf(bd_op_ctx *c, const bd_rf_params *p, bd_rf_tree *tree, int32_t node, int32_t class,
                        float weight)
{
    if (node < 0 || (size_t)node >= tree->nodes.len) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "leaf_ids has %d, but the tree has %zu nodes", node,
                   tree->nodes.len);
        return false;
    }
    bd_rf_node *n = &tree->nodes.items[node];
    bd_rf_leaf *leaf = &n->leaf;
    if (!n->is_leaf) return true; // it was split after the example had come to it
    if (leaf->kind == BD_RF_NO_VECTOR && p->leaf_type != BD_RF_LEAF_DENSE) leaf->kind = BD_RF_SPARSE_VECTOR;
    if (!can_read(p, leaf)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Leaf %d of the tree has no count of class %d of leaf type %d",
                   node, class, p->leaf_type);
        return false;
    }
    bd_rf_count *count =
        leaf->kind == BD_RF_VECTOR ? &leaf->counts.items[class] : bd_rf_counts_at(&leaf->counts, class);
    count->value += weight;
    count->is_set = true;
    return true;
}

// The leaves of a regression stay as they are.
static void update_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    const bd_rf_binding *b = c->state;
    const bd_rf_params *p = &b->params;
    bd_rf_tree_resource *t = bd_rf_input_tree(c, 0);
    bd_rf_target target;
    const int32_t *leaves;
    if (!t) return;
    if (bd_rf_params_check_tree(p, st)) {
        bd_op_fail_status(c, st);
    } else if (bd_rf_read_target(c, 2, p, -1, &target) && bd_rf_read_leaves(c, 1, target.rows, &leaves)) {
        bd_mutex_lock(&t->mu);
        bool ok = p->leaf_type != BD_RF_LEAF_REGRESSION && !p->is_regression;
        for (int64_t row = 0; ok && row < target.rows; row++)
            ok = update_leaf(c, p, &t->tree, leaves[row], bd_rf_class(&target, row),
                             bd_rf_weight(&target, row));
        bd_mutex_unlock(&t->mu);
    }
    bd_resource_unref(&t->base);
}

// ---- Use of features ----

static bool add_use(bd_op_ctx *c, int32_t *counts, int32_t count, int32_t feature)
{
    if (feature < count) {
        counts[feature]++;
        return true;
    }
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "The tree tests feature %d, but num_features is %d", feature,
               count);
    return false;
}

static bool count_test(bd_op_ctx *c, int32_t *counts, int32_t count, const bd_rf_test *test)
{
    if (test->kind != BD_RF_OBLIQUE) return add_use(c, counts, count, test->feature);
    for (int32_t i = 0; i < test->count; i++)
        if (!add_use(c, counts, count, test->features[i])) return false;
    return true;
}

static void usage_run(bd_op_ctx *c)
{
    const bd_rf_binding *b = c->state;
    const int32_t count = b->params.num_features;
    bd_rf_tree_resource *t = bd_rf_input_tree(c, 0);
    if (!t) return;
    const braid_shape shape = bd_shape1(count);
    const braid_tensor *y = NULL;
    if (count < 0)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "num_features must not be negative, got %d", count);
    else
        y = bd_output(c, 0, BRAID_INT32, &shape);
    if (y) {
        int32_t *counts = bd_tensor_i32(y);
        if (count > 0) memset(counts, 0, sizeof *counts * (size_t)count);
        bd_mutex_lock(&t->mu);
        bool ok = true;
        for (size_t i = 0; ok && i < t->tree.nodes.len; i++)
            if (!t->tree.nodes.items[i].is_leaf)
                ok = count_test(c, counts, count, &t->tree.nodes.items[i].test);
        bd_mutex_unlock(&t->mu);
    }
    bd_resource_unref(&t->base);
}

// ---- Definitions ----

// The rows of input_data, where there are some.
static int64_t rows_of(const bd_shape_ctx *c)
{
    return c->inputs[1].rank > 0 && c->inputs[1].dims[0] > 0 ? c->inputs[1].dims[0] : -1;
}

static braid_code traverse_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = bd_shape1(rows_of(c));
    return BRAID_OK;
}

static braid_code predictions_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = bd_shape2(rows_of(c), -1);
    c->outputs[1] = bd_shape1(-1);
    return BRAID_OK;
}

#define KERNEL(RUN, BIND)                                                                                    \
    BD_KERNELS({.state_size = sizeof(bd_rf_binding), .create = (BIND), .destroy = bd_rf_unbind, .run = (RUN)})

#define EXPENSIVE_KERNEL(RUN)                                                                                \
    BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_INTERRUPTIBLE,                                      \
                .state_size = sizeof(bd_rf_binding),                                                         \
                .create = bd_rf_bind_data,                                                                   \
                .destroy = bd_rf_unbind,                                                                     \
                .run = (RUN)})

#define EXAMPLES                                                                                             \
    "(tree_handle: resource, input_data: float, sparse_input_indices: int64, sparse_input_values: float, "   \
    "sparse_input_shape: int64)"

BD_OP(DecisionTreeResourceHandleOp) = {
    .signature = "() -> (resource: resource)",
    .attrs = "container:string=''; shared_name:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = handle_run}),
    .doc = "A handle to a tree of tf.contrib.tensor_forest.",
};

BD_OP(TreeIsInitializedOp) = {
    .signature = "(tree_handle: resource) -> (is_initialized: bool)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = is_initialized_run}),
    .doc = "Whether the tree exists.",
};

BD_OP(CreateTreeVariable) = {
    .signature = "(tree_handle: resource, tree_config: string) -> ()",
    .attrs = "params:string",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_rf_no_outputs_shape,
    .kernels = KERNEL(create_run, bd_rf_bind),
    .doc =
        "Makes the tree of a serialized decision_trees.Model (empty: one leaf), unless it exists. `params` is a "
        "serialized TensorForestParams.",
    .deviation =
        "A tree is refused if a node is neither a leaf nor a test with two children behind it, if values "
        "are not float_value, and if tests are neither of inequality nor MatchingValuesTest.",
};

BD_OP(TreeSerialize) = {
    .signature = "(tree_handle: resource) -> (tree_config: string)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = serialize_run}),
    .doc = "The tree as a serialized decision_trees.Model.",
    .deviation =
        "What the ops do not use of a model is not kept: depths, sizes of subtrees, and additional data.",
};

BD_OP(TreeDeserialize) = {
    .signature = "(tree_handle: resource, tree_config: string) -> ()",
    .attrs = "params:string",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_rf_no_outputs_shape,
    .kernels = KERNEL(deserialize_run, bd_rf_bind),
    .doc = "Replaces the tree by a serialized decision_trees.Model.",
    .deviation = "As CreateTreeVariable's.",
};

BD_OP(TreeSize) = {
    .signature = "(tree_handle: resource) -> (tree_size: int32)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = size_run}),
    .doc = "The number of the tree's nodes, leaves included.",
};

BD_OP(TreePredictionsV4) = {
    .signature = EXAMPLES " -> (predictions: float, tree_paths: string)",
    .attrs = "input_spec:string; params:string",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = predictions_shape,
    .kernels = EXPENSIVE_KERNEL(predictions_run),
    .doc = "The probabilities of the classes, or the outputs of the regression, for each example. With "
           "inference_tree_paths, each example's way through the tree as a serialized TreePath.",
};

BD_OP(TraverseTreeV4) = {
    .signature = EXAMPLES " -> (leaf_ids: int32)",
    .attrs = "input_spec:string; params:string",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = traverse_shape,
    .kernels = EXPENSIVE_KERNEL(traverse_run),
    .doc = "The leaf that each example comes to.",
};

BD_OP(UpdateModelV4) = {
    .signature = "(tree_handle: resource, leaf_ids: int32, input_labels: float, input_weights: float) -> ()",
    .attrs = "params:string",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_rf_no_outputs_shape,
    .kernels = KERNEL(update_run, bd_rf_bind),
    .doc =
        "Counts each example's class in its leaf. An example is left out if its leaf was split after it had come "
        "there. The leaves of a regression stay as they are.",
};

BD_OP(FeatureUsageCounts) = {
    .signature = "(tree_handle: resource) -> (feature_counts: int32)",
    .attrs = "params:string",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_rf_vector_shape,
    .kernels = KERNEL(usage_run, bd_rf_bind),
    .doc = "How many nodes of the tree test each of the num_features features.",
};

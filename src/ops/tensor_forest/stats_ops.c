// Ops that make, save and restore the statistics of leaves, and that grow trees of tf.contrib.tensor_forest.
#include "base/interrupt.h"
#include "ops/boosted_trees/inputs.h"
#include "ops/common/handle.h"
#include "ops/tensor_forest/binding.h"
#include "ops/tensor_forest/hash_order.h"
#include "ops/tensor_forest/stats.h"
#include <stdlib.h>

// ---- The resource ----

// Only names the resource.
static void handle_run(bd_op_ctx *c)
{
    bd_output_handle(c, bd_node_attr_string(c->node, "container"),
                     bd_node_attr_string(c->node, "shared_name"), &bd_rf_stats_type);
}

static void is_initialized_run(bd_op_ctx *c)
{
    bd_boosted_trees_is_initialized(c, &bd_rf_stats_type);
}

// Reads the serialized statistics in input 1. False: the kernel has failed.
static bool read_slots(bd_op_ctx *c, const bd_rf_params *p, bd_imap *slots)
{
    BD_STATUS(st);
    const bd_string *config;
    if (!bd_rf_read_config(c, "Stats config", &config)) return false;
    if (!bd_rf_params_check_stats(p, st) && !bd_rf_slots_read(slots, p, config->data, config->len, st))
        return true;
    bd_op_fail_status(c, st);
    return false;
}

static bd_rf_stats *new_stats(const bd_rf_params *p)
{
    bd_rf_stats *s = bd_calloc(1, sizeof *s);
    bd_resource_init(&s->base, &bd_rf_stats_type);
    bd_mutex_init(&s->mu);
    s->params = *p;
    return s;
}

static braid_code take_stats(void *arg, bd_resource **out, braid_status *st)
{
    (void)st;
    *out = bd_resource_ref(arg);
    return BRAID_OK;
}

// Statistics that exist already stay as they are.
static void create_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    const bd_rf_binding *b = c->state;
    char *container, *name;
    if (!bd_boosted_trees_handle(c, &bd_rf_stats_type, &container, &name)) return;
    bd_rf_stats *made = new_stats(&b->params);
    if (read_slots(c, &made->params, &made->slots)) {
        bd_resource *r = NULL;
        const bd_resource_spec spec = {container, name, &bd_rf_stats_type, take_stats, &made->base};
        if (bd_resources_lookup_or_create(c->step->resources, &spec, &r, st)) bd_op_fail_status(c, st);
        bd_resource_unref(r);
    }
    bd_resource_unref(&made->base);
    bd_free(container);
    bd_free(name);
}

static void deserialize_run(bd_op_ctx *c)
{
    bd_rf_stats *s = bd_rf_input_stats(c, 0);
    bd_imap slots = {0};
    if (s && read_slots(c, &s->params, &slots)) {
        bd_mutex_lock(&s->mu);
        const bd_imap old = s->slots;
        s->slots = slots;
        bd_mutex_unlock(&s->mu);
        slots = old;
    }
    bd_rf_slots_free(&slots);
    if (s) bd_resource_unref(&s->base);
}

static void serialize_run(bd_op_ctx *c)
{
    bd_rf_stats *s = bd_rf_input_stats(c, 0);
    if (!s) return;
    bd_mutex_lock(&s->mu);
    bd_rf_slots_write(c, &s->slots);
    bd_mutex_unlock(&s->mu);
    bd_resource_unref(&s->base);
}

// ---- ProcessInputV4 ----
//
// Examples make candidates one after the other, in the order in which they stand in the batch, since each
// draws random numbers. What is only to be counted is put off, and then counted leaf by leaf, in
// parallel: a leaf does not depend on others, and its own examples keep their order. The leaves that are
// finished are given in TensorFlow's order: as an unordered_set gives back what was added when it was
// finished.

// A leaf that the batch has come to.
typedef struct touched {
    int32_t leaf;
    bd_rf_slot *slot;       // NULL: it has been split already
    BD_ARRAY(int32_t) rows; // to be counted
    int64_t finished;       // when it was: the number of the example; -1
    int64_t failed;         // 1 + the example that cannot be counted; 0
} touched;

typedef struct batch {
    const bd_rf_params *op, *p; // of the op, and of the statistics
    bd_rf_data data;
    bd_rf_target target;
    const int32_t *leaf_ids;
    bd_philox_stream random;
    bd_hash_order leaves; // by index in `touched`
    BD_ARRAY(touched) touched;
} batch;

static void note_finished(touched *t, int64_t row)
{
    if (t->finished < 0 && bd_rf_slot_is_finished(t->slot)) t->finished = row;
}

// Makes a candidate of an example.
static braid_code make_candidate(batch *b, bd_rf_slot *slot, int64_t row, braid_status *st)
{
    bd_rf_sample sample;
    if (!bd_rf_draw(&b->data, row, &b->random, &sample, st)) return st->code; // it may have no feature
    bd_rf_test test = bd_rf_test_of(&sample, (bd_rf_comparison)b->p->comparison);
    if (bd_rf_slot_add_candidate(slot, &test, &b->target, row, st)) return st->code;
    if (b->p->averages_splits && !bd_rf_slot_average(slot, &b->data, &b->target, row))
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Example %lld does not have a feature of a candidate",
                       (long long)row);
    return BRAID_OK;
}

// The leaf of an example; NULL: the kernel has failed.
static touched *touch(bd_op_ctx *c, batch *b, const bd_imap *slots, int64_t row)
{
    const int32_t leaf = b->leaf_ids[row];
    if (leaf < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "leaf_ids has %d", leaf);
        return NULL;
    }
    const int32_t i = bd_hash_order_add(&b->leaves, leaf);
    if ((size_t)i == b->touched.len)
        bd_array_push(&b->touched,
                      (touched){.leaf = leaf, .slot = bd_imap_get(slots, (uint64_t)leaf), .finished = -1});
    return &b->touched.items[i];
}

// An example makes a candidate, or waits to be counted. False: the kernel has failed.
static bool take_example(bd_op_ctx *c, batch *b, const bd_imap *slots, int64_t row)
{
    BD_STATUS(st);
    touched *t = touch(c, b, slots, row);
    if (!t || !t->slot) return t != NULL;
    if (t->rows.len > 0 || bd_rf_slot_is_initialized(t->slot)) {
        bd_array_push(&t->rows, (int32_t)row);
        return true;
    }
    if (make_candidate(b, t->slot, row, st)) {
        bd_op_fail_status(c, st);
        return false;
    }
    note_finished(t, row);
    return true;
}

// The same with collate_examples: a leaf either counts all of its examples in the batch, or makes candidates
// of the first ones and leaves out the rest. It is looked at for the end after the last one.
static bool take_collated(bd_op_ctx *c, batch *b, touched *t, int64_t position)
{
    BD_STATUS(st);
    if (!t->slot) return true;
    const bool is_initialized = bd_rf_slot_is_initialized(t->slot);
    for (size_t i = 0; !is_initialized && i < t->rows.len; i++) {
        if (make_candidate(b, t->slot, t->rows.items[i], st)) {
            bd_op_fail_status(c, st);
            return false;
        }
        if (bd_rf_slot_is_initialized(t->slot)) break;
    }
    if (!is_initialized) {
        t->rows.len = 0;
        note_finished(t, position);
    }
    return true;
}

static bool take_all_collated(bd_op_ctx *c, batch *b, const bd_imap *slots)
{
    for (int64_t row = 0; row < b->data.rows; row++) {
        touched *t = touch(c, b, slots, row);
        if (!t) return false;
        bd_array_push(&t->rows, (int32_t)row);
    }
    int64_t position = 0;
    for (int32_t i = b->leaves.first; i >= 0; i = b->leaves.entries.items[i].next)
        if (!take_collated(c, b, &b->touched.items[i], position++)) return false;
    return true;
}

static void count_leaves(void *arg, int64_t from, int64_t to)
{
    batch *b = arg;
    for (int64_t i = from; i < to; i++) {
        touched *t = &b->touched.items[i];
        for (size_t k = 0; k < t->rows.len; k++) {
            if (!bd_rf_slot_count(t->slot, &b->data, &b->target, t->rows.items[k])) {
                t->failed = t->rows.items[k] + 1;
                break;
            }
            if (!b->op->collates) note_finished(t, t->rows.items[k]);
        }
    }
}

// With collate_examples, leaves are finished in the order of their groups.
static void note_collated(batch *b)
{
    int64_t position = 0;
    for (int32_t i = b->leaves.first; i >= 0; i = b->leaves.entries.items[i].next, position++)
        if (b->touched.items[i].rows.len > 0 && b->touched.items[i].slot)
            note_finished(&b->touched.items[i], position);
}

static bool process(bd_op_ctx *c, batch *b, const bd_imap *slots)
{
    bool ok = true;
    if (b->op->collates) {
        ok = take_all_collated(c, b, slots);
    } else {
        for (int64_t row = 0; ok && row < b->data.rows; row++)
            ok = take_example(c, b, slots, row);
    }
    if (!ok) return false;
    for (size_t i = 0; i < b->touched.len; i++) // of a leaf that was split nothing is counted
        if (!b->touched.items[i].slot) b->touched.items[i].rows.len = 0;
    bd_parallel_for(c, (int64_t)b->touched.len, 1, count_leaves, b);
    if (b->op->collates) note_collated(b);
    for (size_t i = 0; i < b->touched.len; i++)
        if (b->touched.items[i].failed) {
            bd_op_fail(
                c, BRAID_INVALID_ARGUMENT,
                "Example %lld does not have a feature of a candidate of node %d: input_spec has %d dense "
                "features, input_data has %lld columns, and there are %ssparse features",
                (long long)b->touched.items[i].failed - 1, b->touched.items[i].leaf,
                b->data.spec->dense_count, (long long)b->data.columns, b->data.indices ? "" : "no ");
            return false;
        }
    return true;
}

static int compare_finished(const void *a, const void *b)
{
    const int64_t x = ((const touched *)a)->finished, y = ((const touched *)b)->finished;
    return x < y ? -1 : x > y;
}

static void output_finished(bd_op_ctx *c, batch *b)
{
    bd_hash_order finished = bd_hash_order_new();
    if (b->touched.len > 0)
        qsort(b->touched.items, b->touched.len, sizeof *b->touched.items, compare_finished);
    for (size_t i = 0; i < b->touched.len; i++)
        if (b->touched.items[i].finished >= 0) bd_hash_order_add(&finished, b->touched.items[i].leaf);
    const braid_shape shape = bd_shape1((int64_t)finished.entries.len);
    const braid_tensor *y = bd_output(c, 0, BRAID_INT32, &shape);
    int64_t k = 0;
    for (int32_t i = finished.first; y && i >= 0; i = finished.entries.items[i].next)
        bd_tensor_i32(y)[k++] = finished.entries.items[i].number;
    bd_hash_order_free(&finished);
}

// The classes of the labels fit the statistics, which may be of another number of them than the op's.
static bool read_batch(bd_op_ctx *c, const bd_rf_binding *binding, batch *b)
{
    bd_rf_params labels = *b->p;
    labels.is_regression = b->p->stats_type == BD_RF_STATS_REGRESSION;
    return bd_rf_read_data(c, 2, &binding->spec, &b->data) &&
           bd_rf_read_target(c, 6, &labels, b->data.rows, &b->target) &&
           bd_rf_read_leaves(c, 8, b->data.rows, &b->leaf_ids);
}

static void process_run(bd_op_ctx *c)
{
    const bd_rf_binding *binding = c->state;
    bd_rf_stats *s = bd_rf_input_stats(c, 1);
    bd_rf_tree_resource *t = s ? bd_rf_input_tree(c, 0) : NULL;
    if (t) {
        batch b = {.op = &binding->params, .p = &s->params, .leaves = bd_hash_order_new()};
        b.random = bd_philox_stream_init(binding->seed ? (uint64_t)binding->seed : bd_random_u64(), 0);
        if (read_batch(c, binding, &b)) {
            bd_mutex_lock(&s->mu);
            if (process(c, &b, &s->slots)) output_finished(c, &b);
            bd_mutex_unlock(&s->mu);
        }
        for (size_t i = 0; i < b.touched.len; i++)
            bd_array_free(&b.touched.items[i].rows);
        bd_array_free(&b.touched);
        bd_hash_order_free(&b.leaves);
        bd_resource_unref(&t->base);
    }
    if (s) bd_resource_unref(&s->base);
}

// ---- GrowTreeV4 ----

// Makes a node's best candidate its split, or begins anew with its statistics. A node that another step has
// split is left alone.
static braid_code grow_node(bd_rf_stats *s, bd_rf_tree *tree, int32_t node, braid_status *st)
{
    if (node < 0 || (size_t)node >= tree->nodes.len)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "finished_nodes has %d, but the tree has %zu nodes", node,
                       tree->nodes.len);
    const bd_rf_slot *slot = bd_imap_get(&s->slots, (uint64_t)node);
    if (!slot || !tree->nodes.items[node].is_leaf) return BRAID_OK;
    bd_rf_test test;
    bd_rf_leaf left, right;
    const int32_t depth = slot->depth, below = depth < INT32_MAX ? depth + 1 : depth;
    if (!bd_rf_slot_best(slot, &test, &left, &right))
        return bd_rf_slots_reset(&s->slots, &s->params, node, depth, st);
    int32_t child;
    if (bd_rf_tree_split(tree, node, &test, &left, &right, &child, st) ||
        bd_rf_slots_reset(&s->slots, &s->params, child, below, st) ||
        bd_rf_slots_reset(&s->slots, &s->params, child + 1, below, st))
        return st->code;
    bd_rf_slot_free(bd_imap_remove(&s->slots, (uint64_t)node));
    return BRAID_OK;
}

static void grow_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    const bd_rf_binding *b = c->state;
    bd_rf_stats *s = bd_rf_input_stats(c, 1);
    bd_rf_tree_resource *t = s ? bd_rf_input_tree(c, 0) : NULL;
    if (t && bd_input_has_rank(c, 2, 1, "finished_nodes")) {
        const int64_t count = bd_tensor_count(bd_input(c, 2));
        const int32_t *finished = bd_tensor_i32(bd_input(c, 2));
        bd_mutex_lock(&s->mu);
        bd_mutex_lock(&t->mu);
        for (int64_t i = 0; i < count && (int64_t)t->tree.nodes.len < b->params.max_nodes; i++)
            if (grow_node(s, &t->tree, finished[i], st)) break;
        bd_mutex_unlock(&t->mu);
        bd_mutex_unlock(&s->mu);
        if (st->code) bd_op_fail_status(c, st);
    }
    if (t) bd_resource_unref(&t->base);
    if (s) bd_resource_unref(&s->base);
}

// ---- FinalizeTree ----

// The leaves of a regression are in their final form. TensorFlow ends the process for other ones.
static void finalize_run(bd_op_ctx *c)
{
    const bd_rf_binding *b = c->state;
    bd_rf_stats *s = bd_rf_input_stats(c, 1);
    bd_rf_tree_resource *t = s ? bd_rf_input_tree(c, 0) : NULL;
    if (t && !b->params.is_regression)
        bd_op_fail(c, BRAID_UNIMPLEMENTED, "FinalizeTreeOp is disabled for now.");
    if (t) bd_resource_unref(&t->base);
    if (s) bd_resource_unref(&s->base);
}

// ---- Definitions ----

BD_OP(FertileStatsResourceHandleOp) = {
    .signature = "() -> (resource: resource)",
    .attrs = "container:string=''; shared_name:string=''",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = handle_run}),
    .doc = "A handle to the statistics of the leaves of a tree.",
};

BD_OP(FertileStatsIsInitializedOp) = {
    .signature = "(stats_handle: resource) -> (is_initialized: bool)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = is_initialized_run}),
    .doc = "Whether the statistics exist.",
};

BD_OP(CreateFertileStatsVariable) = {
    .signature = "(stats_handle: resource, stats_config: string) -> ()",
    .attrs = "params:string",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_rf_no_outputs_shape,
    .kernels = BD_KERNELS({.state_size = sizeof(bd_rf_binding), .create = bd_rf_bind, .run = create_run}),
    .doc =
        "Makes the statistics of a serialized FertileStats (empty: of a tree of one leaf), unless they exist. "
        "`params` is a serialized TensorForestParams.",
    .deviation =
        "GRAPH_RUNNER_COLLECTION is refused. SPLIT_FINISH_DOMINATE_BOOTSTRAP finishes leaves early; in TensorFlow its "
        "test never passes. Running statistics of a restored leaf follow from its counts; in TensorFlow those of the "
        "right side are the left side's.",
};

BD_OP(FertileStatsSerialize) = {
    .signature = "(stats_handle: resource) -> (stats_config: string)",
    .attrs = "params:string",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.state_size = sizeof(bd_rf_binding), .create = bd_rf_bind, .run = serialize_run}),
    .doc =
        "The statistics as a serialized FertileStats: with checkpoint_stats what was counted, otherwise only the "
        "nodes and their depths.",
};

BD_OP(FertileStatsDeserialize) = {
    .signature = "(stats_handle: resource, stats_config: string) -> ()",
    .attrs = "params:string",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_rf_no_outputs_shape,
    .kernels =
        BD_KERNELS({.state_size = sizeof(bd_rf_binding), .create = bd_rf_bind, .run = deserialize_run}),
    .doc = "Replaces the statistics by a serialized FertileStats.",
};

BD_OP(ProcessInputV4) = {
    .signature =
        "(tree_handle: resource, stats_handle: resource, input_data: float, sparse_input_indices: int64, "
        "sparse_input_values: float, sparse_input_shape: int64, input_labels: float, input_weights: float, leaf_ids: "
        "int32) -> (finished_nodes: int32)",
    .attrs = "random_seed:int; input_spec:string; params:string",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_rf_vector_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE,
                           .state_size = sizeof(bd_rf_binding),
                           .create = bd_rf_bind_data,
                           .destroy = bd_rf_unbind,
                           .run = process_run}),
    .doc =
        "Counts examples in the statistics of their leaves, or makes candidates for splits of them. Gives the leaves "
        "that are ready to be split. An example is left out if its leaf was split after it had come there.",
    .deviation =
        "Threads do not change the result, which is TensorFlow's with one thread. An example without any "
        "feature makes no candidate. Without all columns of input_spec, candidates are of those that are there.",
};

BD_OP(GrowTreeV4) = {
    .signature = "(tree_handle: resource, stats_handle: resource, finished_nodes: int32) -> ()",
    .attrs = "params:string",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_rf_no_outputs_shape,
    .kernels = BD_KERNELS({.state_size = sizeof(bd_rf_binding), .create = bd_rf_bind, .run = grow_run}),
    .doc =
        "Splits the finished leaves by their best candidates, until the tree has max_nodes nodes. A leaf whose "
        "candidates do not split anything begins anew.",
};

BD_OP(FinalizeTree) = {
    .signature = "(tree_handle: resource, stats_handle: resource) -> ()",
    .attrs = "params:string",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_rf_no_outputs_shape,
    .kernels = BD_KERNELS({.state_size = sizeof(bd_rf_binding), .create = bd_rf_bind, .run = finalize_run}),
    .doc = "Leaves the tree of a regression as it is, and refuses that of a classification.",
    .deviation = "TensorFlow ends the process for a classification.",
};

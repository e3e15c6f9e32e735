// BoostedTreesCalculateBestGainsPerFeature: for each feature and node, the bucket after which to split.
//
// Chen and Guestrin, "XGBoost", arXiv 1603.02754, algorithm 1, over buckets.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "ops/boosted_trees/inputs.h"
#include "ops/boosted_trees/split.h"
#include <float.h>

typedef struct gain_rule {
    float l1, l2, tree_complexity, min_node_weight;
} gain_rule;

typedef struct best {
    int32_t node, bucket;
    float gain, left, right;
} best;

// `stats` [buckets, 2] are sums of gradients and hessians. False: the node is too light to be split.
static bool find_best(const float *stats, int64_t buckets, const gain_rule *rule, best *b)
{
    float g = 0, h = 0, parent, left_g = 0, left_h = 0;
    for (int64_t i = 0; i < buckets; i++) {
        g += stats[2 * i];
        h += stats[2 * i + 1];
    }
    if (h < rule->min_node_weight) return false;
    bd_leaf_weight(g, h, rule->l1, rule->l2, &parent);
    b->gain = -FLT_MAX;
    for (int64_t i = 0; i < buckets; i++) {
        float left_gain, right_gain;
        left_g += stats[2 * i];
        left_h += stats[2 * i + 1];
        const float left = bd_leaf_weight(left_g, left_h, rule->l1, rule->l2, &left_gain);
        const float right = bd_leaf_weight(g - left_g, h - left_h, rule->l1, rule->l2, &right_gain);
        if (!bd_gain_is_larger(left_gain + right_gain, b->gain)) continue;
        b->gain = left_gain + right_gain;
        b->bucket = (int32_t)i;
        b->left = left;
        b->right = right;
    }
    b->gain = b->gain - parent - rule->tree_complexity;
    return true;
}

// Outputs are lists: [node_ids, gains, thresholds, left contributions, right contributions][features].
static void put(bd_op_ctx *c, int feature, int features, const best *found, int64_t count)
{
    static const braid_dtype types[] = {BRAID_INT32, BRAID_FLOAT, BRAID_INT32, BRAID_FLOAT, BRAID_FLOAT};
    const braid_tensor *y[5];
    for (int k = 0; k < 5; k++) {
        const braid_shape shape = k < 3 ? bd_shape1(count) : bd_shape2(count, 1);
        y[k] = bd_output(c, k * features + feature, types[k], &shape);
        if (!y[k]) return;
    }
    for (int64_t i = 0; i < count; i++) {
        bd_tensor_i32(y[0])[i] = found[i].node;
        bd_tensor_f32(y[1])[i] = found[i].gain;
        bd_tensor_i32(y[2])[i] = found[i].bucket;
        bd_tensor_f32(y[3])[i] = found[i].left;
        bd_tensor_f32(y[4])[i] = found[i].right;
    }
}

// Checks statistics [max_splits, buckets, 2] of all features.
static bool check_stats(bd_op_ctx *c, int features)
{
    const braid_shape *first = &bd_input(c, 1)->shape;
    if (first->rank != 3 || first->dims[2] != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "stats_summary_list[0] must have shape [max_splits,buckets,2], received %s",
                   bd_shape_str(first, (char[BD_SHAPE_STR_MAX]){0}));
        return false;
    }
    for (int f = 1; f < features; f++) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        if (bd_shape_equal(&bd_input(c, 1 + f)->shape, first)) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "stats_summary_list[%d] has shape %s, stats_summary_list[0] %s",
                   f, bd_shape_str(&bd_input(c, 1 + f)->shape, a), bd_shape_str(first, b));
        return false;
    }
    return true;
}

static void run(bd_op_ctx *c)
{
    const int features = c->input_count - 5;
    gain_rule rule;
    int32_t first, last;
    if (!check_stats(c, features) || !bd_input_float(c, features + 1, "l1", &rule.l1) ||
        !bd_input_float(c, features + 2, "l2", &rule.l2) ||
        !bd_input_float(c, features + 3, "tree_complexity", &rule.tree_complexity) ||
        !bd_input_float(c, features + 4, "min_node_weight", &rule.min_node_weight))
        return;
    const braid_shape *shape = &bd_input(c, 1)->shape;
    if (!bd_input_node_range(c, 0, shape->dims[0], &first, &last)) return;
    best *found = bd_try_calloc((size_t)(last - first), sizeof *found);
    if (!found) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "no memory for the splits of %d nodes", last - first);
        return;
    }
    for (int f = 0; f < features && !bd_op_failed(c); f++) {
        int64_t count = 0;
        const float *stats = bd_tensor_f32(bd_input(c, 1 + f));
        for (int32_t node = first; node < last && !bd_interrupted(); node++) {
            found[count] = (best){.node = node};
            count += find_best(stats + node * shape->dims[1] * 2, shape->dims[1], &rule, &found[count]);
        }
        put(c, f, features, found, count);
    }
    bd_free(found);
}

static braid_code shape_fn(bd_shape_ctx *c, braid_status *st)
{
    const int features = c->input_count - 5;
    braid_shape range, stats = {.rank = 3, .dims = {bd_node_attr_int(c->node, "max_splits"), -1, 2}};
    const braid_shape two = bd_shape1(2);
    if (bd_shape_ctx_ranks(c, features + 1, c->input_count, 0, st)) return st->code;
    if (!bd_shape_merge(&c->inputs[0], &two, &range))
        return bd_shape_ctx_fail(c, st, "node_id_range must have shape [2]");
    for (int f = 0; f < features; f++)
        if (!bd_shape_merge(&stats, &c->inputs[1 + f], &stats))
            return bd_shape_ctx_fail(c, st,
                                     "stats_summary_list must have shapes [max_splits,buckets,2], all alike");
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = i < 3 * features ? bd_shape1(-1) : bd_shape2(-1, 1);
    return BRAID_OK;
}

BD_OP(BoostedTreesCalculateBestGainsPerFeature) = {
    .signature =
        "(node_id_range: int32, stats_summary_list: num_features*float, l1: float, l2: float, tree_complexity: float, "
        "min_node_weight: float) -> (node_ids_list: num_features*int32, gains_list: num_features*float, "
        "thresholds_list: num_features*int32, left_node_contribs_list: num_features*float, "
        "right_node_contribs_list: num_features*float)",
    .attrs = "max_splits:int>=1; num_features:int>=1",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = shape_fn,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = run}),
    .doc =
        "The best split of each node by each feature: the bucket that is the last one on the left, the weights of both "
        "sides and the gain. Nodes of less weight than min_node_weight are left out.",
};

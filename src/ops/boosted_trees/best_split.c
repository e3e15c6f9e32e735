// The best split of each node by one feature: BoostedTreesCalculateBestFeatureSplit, and
// BoostedTreesSparseCalculateBestFeatureSplit of sparse statistics.
//
// Chen and Guestrin, "XGBoost", arXiv 1603.02754, algorithms 1 and 3: examples without a value go to the side
// that gains more. Their statistics are in the last bucket.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "kernels/sort.h"
#include "ops/boosted_trees/inputs.h"
#include "ops/boosted_trees/split.h"
#include "ops/common/string_out.h"
#include <float.h>
#include <math.h>
#include <string.h>

static const char default_left[] = "INEQUALITY_DEFAULT_LEFT";
static const char default_right[] = "INEQUALITY_DEFAULT_RIGHT";
static const char equality[] = "EQUALITY_DEFAULT_RIGHT";

typedef struct best {
    int32_t node, column, bucket;
    float gain;
    const char *type; // NULL: no split was found
} best;

// The splits that were found, and those under way.
typedef struct search {
    bd_split_rule rule;
    float tree_complexity, min_node_weight;
    best *found;           // [nodes]
    float *weights;        // [nodes, 2, logits], left and right
    int64_t count;         // of found
    float *left, *right;   // [logits + hessians] each: sums of the two sides
    float *total, *so_far; // the same of the node, and of the buckets up to the current one
    float *trial;          // [2, logits]
    double *scratch;       // of bd_leaf_weights
} search;

// Reads the four numbers behind the statistics, from input `i` on.
static bool read_rule(bd_op_ctx *c, int i, search *s)
{
    return bd_input_float(c, i, "l1", &s->rule.l1) && bd_input_float(c, i + 1, "l2", &s->rule.l2) &&
           bd_input_float(c, i + 2, "tree_complexity", &s->tree_complexity) &&
           bd_input_float(c, i + 3, "min_node_weight", &s->min_node_weight);
}

static void search_fini(search *s)
{
    bd_free(s->found);
    bd_free(s->weights);
    bd_free(s->left);
    bd_free(s->right);
    bd_free(s->total);
    bd_free(s->so_far);
    bd_free(s->trial);
    bd_free(s->scratch);
}

// Memory for the splits of as many nodes.
static bool search_init(bd_op_ctx *c, search *s, int64_t nodes)
{
    const size_t logits = (size_t)s->rule.logits, stats = logits + (size_t)s->rule.hessians;
    const int64_t scratch = bd_leaf_scratch(&s->rule);
    size_t weights;
    s->found = bd_try_calloc((size_t)nodes, sizeof *s->found);
    s->weights = __builtin_mul_overflow((size_t)nodes, 2 * logits, &weights)
                     ? NULL
                     : bd_try_calloc(weights, sizeof *s->weights);
    s->left = bd_try_calloc(stats, sizeof *s->left);
    s->right = bd_try_calloc(stats, sizeof *s->right);
    s->total = bd_try_calloc(stats, sizeof *s->total);
    s->so_far = bd_try_calloc(stats, sizeof *s->so_far);
    s->trial = bd_try_calloc(2 * logits, sizeof *s->trial);
    s->scratch = scratch < 0 ? NULL : bd_try_calloc((size_t)scratch, sizeof *s->scratch);
    if (s->found && s->weights && s->left && s->right && s->total && s->so_far && s->trial && s->scratch)
        return true;
    bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "no memory for the splits of %lld nodes of %lld logits",
               (long long)nodes, (long long)s->rule.logits);
    return false;
}

static int64_t stat_count(const search *s)
{
    return s->rule.logits + s->rule.hessians;
}

// Tries the split whose left side is s->left.
static void try_split(search *s, best *b, int32_t column, int64_t bucket, const char *type)
{
    const int64_t logits = s->rule.logits;
    for (int64_t k = 0; k < stat_count(s); k++)
        s->right[k] = s->total[k] - s->left[k];
    const float gain = bd_leaf_weights(&s->rule, s->left, s->left + logits, s->trial, s->scratch) +
                       bd_leaf_weights(&s->rule, s->right, s->right + logits, s->trial + logits, s->scratch);
    if (!bd_gain_is_larger(gain, b->gain)) return;
    b->gain = gain;
    b->column = column;
    b->bucket = (int32_t)bucket;
    b->type = type;
    memcpy(s->weights + s->count * 2 * logits, s->trial, sizeof *s->trial * 2 * (size_t)logits);
}

// Ends the search for a node. `parent_gain` is what the node gains as a leaf.
static void end_node(search *s, const best *b, float parent_gain)
{
    if (!b->type) return;
    s->found[s->count] = *b;
    s->found[s->count++].gain = b->gain - parent_gain - s->tree_complexity;
}

// ---- Dense statistics: [max_splits, columns, buckets + 1, logits + hessians] ----

static void add_stats(const search *s, float *sums, const float *stats)
{
    for (int64_t k = 0; k < stat_count(s); k++)
        sums[k] += stats[k];
}

// Makes s->total the sum of a column's buckets.
static void sum_column(search *s, const float *stats, int64_t buckets)
{
    memset(s->total, 0, sizeof *s->total * (size_t)stat_count(s));
    for (int64_t b = 0; b <= buckets; b++)
        add_stats(s, s->total, stats + b * stat_count(s));
}

static void try_inequalities(search *s, best *b, const float *stats, int32_t column, int64_t buckets)
{
    const size_t bytes = sizeof *s->left * (size_t)stat_count(s);
    sum_column(s, stats, buckets);
    memset(s->so_far, 0, bytes);
    for (int64_t i = 0; i < buckets && !bd_interrupted_at(i); i++) {
        add_stats(s, s->so_far, stats + i * stat_count(s));
        memcpy(s->left, s->so_far, bytes);
        add_stats(s, s->left, stats + buckets * stat_count(s));
        try_split(s, b, column, i, default_left);
        memcpy(s->left, s->so_far, bytes);
        try_split(s, b, column, i, default_right);
    }
}

static void try_equalities(search *s, best *b, const float *stats, int32_t column, int64_t buckets)
{
    for (int64_t i = 0; i < buckets && !bd_interrupted_at(i); i++) {
        memcpy(s->left, stats + i * stat_count(s), sizeof *s->left * (size_t)stat_count(s));
        try_split(s, b, column, i, equality);
    }
}

static bool is_light(const search *s)
{
    float squares = 0;
    for (int64_t k = s->rule.logits; k < stat_count(s); k++)
        squares += s->total[k] * s->total[k];
    return sqrtf(squares) < s->min_node_weight;
}

static void search_node(search *s, int32_t node, const braid_tensor *t, bool is_equality)
{
    const int64_t columns = t->shape.dims[1], buckets = t->shape.dims[2] - 1;
    const int64_t column_size = (buckets + 1) * stat_count(s);
    const float *stats = bd_tensor_f32(t) + node * columns * column_size;
    best b = {.node = node, .gain = -FLT_MAX};
    sum_column(s, stats, buckets);
    if (is_light(s)) return;
    const float parent = bd_leaf_weights(&s->rule, s->total, s->total + s->rule.logits, s->trial, s->scratch);
    for (int64_t k = 0; k < columns && !bd_interrupted(); k++) {
        if (is_equality)
            try_equalities(s, &b, stats + k * column_size, (int32_t)k, buckets);
        else
            try_inequalities(s, &b, stats + k * column_size, (int32_t)k, buckets);
    }
    end_node(s, &b, parent);
}

static void put(bd_op_ctx *c, const search *s)
{
    const int64_t n = s->count, logits = s->rule.logits;
    const braid_shape vector = bd_shape1(n), matrix = bd_shape2(n, logits);
    static const braid_dtype types[] = {BRAID_INT32, BRAID_FLOAT, BRAID_INT32, BRAID_INT32,
                                        BRAID_FLOAT, BRAID_FLOAT, BRAID_STRING};
    const braid_tensor *y[7];
    for (int k = 0; k < 7; k++) {
        y[k] = bd_output(c, k, types[k], k == 4 || k == 5 ? &matrix : &vector);
        if (!y[k]) return;
    }
    for (int64_t i = 0; i < n; i++) {
        bd_tensor_i32(y[0])[i] = s->found[i].node;
        bd_tensor_f32(y[1])[i] = s->found[i].gain;
        bd_tensor_i32(y[2])[i] = s->found[i].column;
        bd_tensor_i32(y[3])[i] = s->found[i].bucket;
        for (int64_t k = 0; k < logits; k++) {
            bd_tensor_f32(y[4])[i * logits + k] = s->weights[i * 2 * logits + k];
            bd_tensor_f32(y[5])[i * logits + k] = s->weights[(i * 2 + 1) * logits + k];
        }
        if (!bd_string_put(c, y[6], i, s->found[i].type, strlen(s->found[i].type))) return;
    }
}

static bool check_dense(bd_op_ctx *c, search *s)
{
    if (!bd_input_has_rank(c, 1, 4, "stats_summary")) return false;
    const braid_shape *shape = &bd_input(c, 1)->shape;
    int64_t squared;
    s->rule.logits = bd_node_attr_int(c->node, "logits_dimension");
    s->rule.hessians = shape->dims[3] - s->rule.logits;
    if (__builtin_mul_overflow(s->rule.logits, s->rule.logits, &squared)) squared = INT64_MIN; // no size
    if (shape->dims[2] < 1 || shape->dims[2] > INT32_MAX || shape->dims[1] > INT32_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "stats_summary of shape %s has no bucket for what is missing",
                   bd_shape_str(shape, (char[BD_SHAPE_STR_MAX]){0}));
    } else if (s->rule.hessians != s->rule.logits && s->rule.hessians != squared) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "hessian dim should be %lld or its square, got %lld in stats_summary of shape %s",
                   (long long)s->rule.logits, (long long)s->rule.hessians,
                   bd_shape_str(shape, (char[BD_SHAPE_STR_MAX]){0}));
    }
    return !bd_op_failed(c);
}

static void dense_run(bd_op_ctx *c)
{
    const bool is_equality = strcmp(bd_node_attr_string(c->node, "split_type"), "equality") == 0;
    search s = {0};
    int32_t first, last;
    if (!check_dense(c, &s) || !read_rule(c, 2, &s) ||
        !bd_input_node_range(c, 0, bd_input(c, 1)->shape.dims[0], &first, &last))
        return;
    if (bd_input(c, 1)->shape.dims[1] == 0) last = first; // no column to split by
    if (search_init(c, &s, last - first)) {
        for (int32_t node = first; node < last && !bd_interrupted(); node++)
            search_node(&s, node, bd_input(c, 1), is_equality);
        put(c, &s);
    }
    search_fini(&s);
}

static void set_outputs(bd_shape_ctx *c, int64_t logits)
{
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = i == 4 || i == 5 ? bd_shape2(-1, logits) : bd_shape1(-1);
}

static braid_code check_range_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape range;
    const braid_shape two = bd_shape1(2);
    if (bd_shape_merge(&c->inputs[0], &two, &range)) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "node_id_range must have shape [2]");
}

static braid_code dense_shape(bd_shape_ctx *c, braid_status *st)
{
    if (check_range_shape(c, st) || bd_shape_ctx_ranks(c, 1, 2, 4, st) ||
        bd_shape_ctx_ranks(c, 2, c->input_count, 0, st))
        return st->code;
    set_outputs(c, bd_node_attr_int(c->node, "logits_dimension"));
    return BRAID_OK;
}

#define OUTPUTS                                                                                              \
    "(node_ids: int32, gains: float, feature_dimensions: int32, thresholds: int32, left_node_contribs: "     \
    "float, right_node_contribs: float, split_with_default_directions: string)"

BD_OP(BoostedTreesCalculateBestFeatureSplit) = {
    .signature = "(node_id_range: int32, stats_summary: float, l1: float, l2: float, tree_complexity: float, "
                 "min_node_weight: float) -> " OUTPUTS,
    .attrs = "logits_dimension:int>=1; split_type:string{inequality,equality}='inequality'",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = dense_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = dense_run}),
    .doc =
        "The best split of each node by a feature of several columns, from BoostedTreesAggregateStats' sums: the column, "
        "the last bucket on the left (or, for equality, the only one), the weights of both sides and the gain. l1 is of "
        "one logit only.",
};

// ---- Sparse statistics: entries of one node are adjacent ----

// An entry, with where it was.
typedef struct stat_entry {
    int32_t column, bucket, stat;
    int64_t at;
} stat_entry;

static int compare_entries(const void *left, const void *right, void *arg)
{
    (void)arg;
    const stat_entry *a = left, *b = right;
    if (a->column != b->column) return a->column < b->column ? -1 : 1;
    if (a->bucket != b->bucket) return a->bucket < b->bucket ? -1 : 1;
    return a->at < b->at ? -1 : a->at > b->at;
}

// The gradients and hessians of one bucket of a column.
typedef struct bucket_sums {
    int32_t column, bucket;
    float sums[2];
} bucket_sums;

// Gathers sorted entries of a node by column and bucket. Returns the number of buckets.
static int64_t gather(const stat_entry *entries, int64_t count, const float *values, bucket_sums *buckets)
{
    int64_t n = 0;
    for (int64_t i = 0; i < count; i++) {
        if (i == 0 || entries[i].column != entries[i - 1].column ||
            entries[i].bucket != entries[i - 1].bucket)
            buckets[n++] = (bucket_sums){.column = entries[i].column, .bucket = entries[i].bucket};
        if (entries[i].stat < 2) buckets[n - 1].sums[entries[i].stat] = values[entries[i].at];
    }
    return n;
}

// Tries the splits of a column, which has `count` buckets; the one of what is missing may be the last.
static void try_column(search *s, best *b, const bucket_sums *buckets, int64_t count, int64_t missing_bucket)
{
    const bool has_missing = buckets[count - 1].bucket == missing_bucket;
    const float missing[2] = {has_missing ? buckets[count - 1].sums[0] : 0,
                              has_missing ? buckets[count - 1].sums[1] : 0};
    s->so_far[0] = s->so_far[1] = 0;
    for (int64_t i = 0; i < count - has_missing; i++) {
        add_stats(s, s->so_far, buckets[i].sums);
        memcpy(s->left, s->so_far, sizeof missing);
        try_split(s, b, buckets[i].column, buckets[i].bucket, default_right);
        add_stats(s, s->left, missing);
        try_split(s, b, buckets[i].column, buckets[i].bucket, default_left);
    }
}

static void search_sparse_node(search *s, int32_t node, const bucket_sums *buckets, int64_t count,
                               int64_t missing_bucket)
{
    best b = {.node = node, .gain = -FLT_MAX};
    float parent = 0;
    for (int64_t from = 0, to; from < count && !bd_interrupted(); from = to) {
        for (to = from; to < count && buckets[to].column == buckets[from].column;)
            to++;
        if (from == 0) { // each column has all of the node's examples
            s->total[0] = s->total[1] = 0;
            for (int64_t i = 0; i < to; i++)
                add_stats(s, s->total, buckets[i].sums);
            if (s->total[1] < s->min_node_weight) return;
            bd_leaf_weight(s->total[0], s->total[1], s->rule.l1, s->rule.l2, &parent);
        }
        try_column(s, &b, buckets + from, to - from, missing_bucket);
    }
    end_node(s, &b, parent);
}

typedef struct sparse_stats {
    const int32_t *indices; // [entries, 4]
    const float *values;
    int64_t entries, missing_bucket, stats;
} sparse_stats;

static bool read_sparse(bd_op_ctx *c, sparse_stats *in)
{
    if (!bd_input_has_rank(c, 1, 2, "stats_summary_indices") ||
        !bd_input_has_rank(c, 2, 1, "stats_summary_values") ||
        !bd_input_has_rank(c, 3, 1, "stats_summary_shape"))
        return false;
    const braid_shape *indices = &bd_input(c, 1)->shape;
    *in = (sparse_stats){.indices = bd_tensor_i32(bd_input(c, 1)),
                         .values = bd_tensor_f32(bd_input(c, 2)),
                         .entries = indices->dims[0]};
    if (indices->dims[1] != 4 || bd_input(c, 2)->shape.dims[0] != in->entries ||
        bd_input(c, 3)->shape.dims[0] != 4) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "stats_summary_indices, _values and _shape must have shapes [n,4], [n] and [4], received %s, [%lld] "
            "and [%lld]",
            bd_shape_str(indices, (char[BD_SHAPE_STR_MAX]){0}), (long long)bd_input(c, 2)->shape.dims[0],
            (long long)bd_input(c, 3)->shape.dims[0]);
        return false;
    }
    in->missing_bucket = (int64_t)bd_tensor_i32(bd_input(c, 3))[2] - 1;
    in->stats = bd_tensor_i32(bd_input(c, 3))[3];
    for (int64_t i = 0; i < in->entries; i++) {
        const int32_t stat = in->indices[4 * i + 3];
        if (stat >= 0 && stat < in->stats) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "stats_summary_indices[%lld] is of statistic %d, but there are %lld", (long long)i, stat,
                   (long long)in->stats);
        return false;
    }
    return true;
}

static bool check_sparse_nodes(bd_op_ctx *c, const sparse_stats *in, int64_t *nodes)
{
    int32_t first, last;
    if (!bd_input_node_range(c, 0, INT32_MAX, &first, &last)) return false;
    *nodes = 0;
    for (int64_t i = 0; i < in->entries; i++) {
        const int32_t node = in->indices[4 * i];
        *nodes += i == 0 || node != in->indices[4 * (i - 1)];
        if (node >= first && node < last) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "stats_summary_indices[%lld] is of node %d, which is not in [%d, %d)", (long long)i, node,
                   first, last);
        return false;
    }
    return true;
}

static void search_sparse(search *s, const sparse_stats *in, stat_entry *entries, bucket_sums *buckets)
{
    for (int64_t from = 0, to; from < in->entries && !bd_interrupted(); from = to) {
        const int32_t node = in->indices[4 * from];
        for (to = from; to < in->entries && in->indices[4 * to] == node; to++)
            entries[to - from] =
                (stat_entry){in->indices[4 * to + 1], in->indices[4 * to + 2], in->indices[4 * to + 3], to};
        bd_sort(entries, to - from, sizeof *entries, compare_entries, NULL);
        const int64_t count = gather(entries, to - from, in->values, buckets);
        search_sparse_node(s, node, buckets, count, in->missing_bucket);
    }
}

static void sparse_run(bd_op_ctx *c)
{
    search s = {.rule = {.logits = 1, .hessians = 1}};
    sparse_stats in;
    int64_t nodes;
    if (!read_sparse(c, &in) || !read_rule(c, 4, &s) || !check_sparse_nodes(c, &in, &nodes)) return;
    if (bd_node_attr_int(c->node, "logits_dimension") != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Currently only one dimensional outputs are supported.");
        return;
    }
    stat_entry *entries = bd_try_calloc((size_t)in.entries, sizeof *entries);
    bucket_sums *buckets = bd_try_calloc((size_t)in.entries, sizeof *buckets);
    if (!entries || !buckets) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "no memory for %lld statistics", (long long)in.entries);
    } else if (search_init(c, &s, nodes)) {
        search_sparse(&s, &in, entries, buckets);
        put(c, &s);
    }
    search_fini(&s);
    bd_free(entries);
    bd_free(buckets);
}

static braid_code sparse_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t rows;
    if (check_range_shape(c, st) || bd_shape_ctx_ranks(c, 1, 2, 2, st) ||
        bd_shape_ctx_ranks(c, 2, 4, 1, st) || bd_shape_ctx_rows(c, 1, 3, 2, &rows, st) ||
        bd_shape_ctx_ranks(c, 4, c->input_count, 0, st))
        return st->code;
    set_outputs(c, 1);
    return BRAID_OK;
}

BD_OP(BoostedTreesSparseCalculateBestFeatureSplit) = {
    .signature =
        "(node_id_range: int32, stats_summary_indices: int32, stats_summary_values: float, "
        "stats_summary_shape: int32, l1: float, l2: float, tree_complexity: float, min_node_weight: float) -> " OUTPUTS,
    .attrs = "logits_dimension:int>=1; split_type:string{inequality}='inequality'",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = sparse_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = sparse_run}),
    .doc =
        "BoostedTreesCalculateBestFeatureSplit of the sums of BoostedTreesSparseAggregateStats, for one logit. The "
        "entries of a node are adjacent.",
};

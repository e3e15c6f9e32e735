// Sums of gradients and hessians by node of the tree, feature and bucket, of which splits are made:
// BoostedTreesMakeStatsSummary, BoostedTreesAggregateStats, BoostedTreesSparseAggregateStats.
//
// Histograms of gradients: Chen and Guestrin, "XGBoost", arXiv 1603.02754, sections 2.2 and 3.2. Sums are made
// in double. A feature's bucket may be missing; what is missing has a bucket of its own, the last.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "kernels/sort.h"
#include "ops/boosted_trees/inputs.h"

// The inputs that all three have: node_ids [rows], gradients [rows, logits], hessians [rows, hessians].
typedef struct examples {
    const int32_t *nodes;
    const float *gradients, *hessians;
    int64_t rows, logits, hessian_count;
} examples;

// Attrs max_splits and num_buckets, which int32 tensors count. False: the kernel has failed.
static bool read_sizes(bd_op_ctx *c, int64_t *max_splits, int64_t *buckets)
{
    *max_splits = bd_node_attr_int(c->node, "max_splits");
    *buckets = bd_node_attr_int(c->node, "num_buckets");
    if (*max_splits <= INT32_MAX && *buckets < INT32_MAX) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%lld splits or %lld buckets are more than an int32 can count",
               (long long)*max_splits, (long long)*buckets);
    return false;
}

static bool read_examples(bd_op_ctx *c, int64_t max_splits, examples *e)
{
    if (!bd_input_has_rank(c, 0, 1, "node_ids") || !bd_input_has_rank(c, 1, 2, "gradients") ||
        !bd_input_has_rank(c, 2, 2, "hessians"))
        return false;
    const braid_tensor *nodes = bd_input(c, 0), *gradients = bd_input(c, 1), *hessians = bd_input(c, 2);
    *e = (examples){.nodes = bd_tensor_i32(nodes),
                    .gradients = bd_tensor_f32(gradients),
                    .hessians = bd_tensor_f32(hessians),
                    .rows = nodes->shape.dims[0],
                    .logits = gradients->shape.dims[1],
                    .hessian_count = hessians->shape.dims[1]};
    if (gradients->shape.dims[0] != e->rows || hessians->shape.dims[0] != e->rows) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "node_ids has %lld elements, but gradients has %lld rows and hessians has %lld",
                   (long long)e->rows, (long long)gradients->shape.dims[0],
                   (long long)hessians->shape.dims[0]);
        return false;
    }
    for (int64_t i = 0; i < e->rows; i++) {
        if (e->nodes[i] >= 0 && e->nodes[i] < max_splits) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "node_ids[%lld] = %d is not in [0, %lld)", (long long)i,
                   e->nodes[i], (long long)max_splits);
        return false;
    }
    return true;
}

// The sums of an output of this shape; NULL: the kernel has failed.
static double *new_sums(bd_op_ctx *c, const braid_shape *shape, int64_t *count)
{
    BD_STATUS(st);
    if (bd_shape_checked_count(shape, count, st)) {
        bd_op_fail_status(c, st);
        return NULL;
    }
    double *sums = bd_try_calloc((size_t)*count, sizeof *sums);
    if (!sums)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "no memory for statistics of shape %s",
                   bd_shape_str(shape, (char[BD_SHAPE_STR_MAX]){0}));
    return sums;
}

static void put_sums(bd_op_ctx *c, const braid_shape *shape, const double *sums, int64_t count)
{
    const braid_tensor *y = bd_op_failed(c) ? NULL : bd_output(c, 0, BRAID_FLOAT, shape);
    for (int64_t i = 0, end; y && (end = bd_block_end(i, count)) > i;)
        for (; i < end; i++)
            bd_tensor_f32(y)[i] = (float)sums[i];
}

// Adds the gradients and hessians of a row.
static void add_row(const examples *e, int64_t row, double *sums)
{
    for (int64_t k = 0; k < e->logits; k++)
        sums[k] += (double)e->gradients[row * e->logits + k];
    for (int64_t k = 0; k < e->hessian_count; k++)
        sums[e->logits + k] += (double)e->hessians[row * e->hessian_count + k];
}

static void fail_bucket(bd_op_ctx *c, int64_t row, int64_t feature, int32_t bucket, int64_t buckets)
{
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Row %lld of feature %lld is in bucket %d, but there are %lld buckets", (long long)row,
               (long long)feature, bucket, (long long)buckets);
}

// ---- BoostedTreesMakeStatsSummary ----

// [features, max_splits, buckets, 2]
static void add_feature(bd_op_ctx *c, const examples *e, int64_t feature, int64_t buckets, double *sums)
{
    const int32_t *values = bd_tensor_i32(bd_input(c, 3 + (int)feature));
    for (int64_t i = 0; i < e->rows && !bd_interrupted_at(i); i++) {
        if (values[i] < 0 || values[i] >= buckets) {
            fail_bucket(c, i, feature, values[i], buckets);
            return;
        }
        add_row(e, i, sums + (e->nodes[i] * buckets + values[i]) * 2);
    }
}

static bool is_of_one_logit(bd_op_ctx *c, const examples *e)
{
    if (e->logits == 1 && e->hessian_count == 1) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "gradients and hessians must have one column, but have %lld and %lld", (long long)e->logits,
               (long long)e->hessian_count);
    return false;
}

static void make_run(bd_op_ctx *c)
{
    examples e;
    int64_t count, max_splits, buckets;
    if (!read_sizes(c, &max_splits, &buckets) || !read_examples(c, max_splits, &e) || !is_of_one_logit(c, &e))
        return;
    for (int i = 3; i < c->input_count; i++) {
        if (!bd_input_has_rank(c, i, 1, "bucketized_features_list")) return;
        if (bd_input(c, i)->shape.dims[0] == e.rows) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Bucketized feature %d has %lld rows, node_ids has %lld", i - 3,
                   (long long)bd_input(c, i)->shape.dims[0], (long long)e.rows);
        return;
    }
    const braid_shape shape = {.rank = 4, .dims = {c->input_count - 3, max_splits, buckets, 2}};
    double *sums = new_sums(c, &shape, &count);
    if (!sums) return;
    for (int64_t f = 0; f < c->input_count - 3 && !bd_op_failed(c); f++)
        add_feature(c, &e, f, buckets, sums + f * max_splits * buckets * 2);
    put_sums(c, &shape, sums, count);
    bd_free(sums);
}

static braid_code make_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t rows;
    if (bd_shape_ctx_ranks(c, 0, 1, 1, st) || bd_shape_ctx_ranks(c, 1, 3, 2, st) ||
        bd_shape_ctx_ranks(c, 3, c->input_count, 1, st) ||
        bd_shape_ctx_rows(c, 0, c->input_count, 2, &rows, st))
        return st->code;
    c->outputs[0] = (braid_shape){.rank = 4,
                                  .dims = {c->input_count - 3, bd_node_attr_int(c->node, "max_splits"),
                                           bd_node_attr_int(c->node, "num_buckets"), 2}};
    return BRAID_OK;
}

BD_OP(BoostedTreesMakeStatsSummary) = {
    .signature =
        "(node_ids: int32, gradients: float, hessians: float, bucketized_features_list: num_features*int32) -> "
        "(stats_summary: float)",
    .attrs = "max_splits:int>=1; num_buckets:int>=1; num_features:int>=1",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = make_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = make_run}),
    .doc =
        "Sums of gradients and hessians by feature, node and bucket: [num_features, max_splits, num_buckets, 2].",
    .deviation =
        "Sums are made in double. Gradients of several columns are refused: TensorFlow 1.15 takes the first "
        "column alone, and trains on one class.",
};

// ---- BoostedTreesAggregateStats ----

// [max_splits, columns, buckets + 1, stats]
static void add_matrix(bd_op_ctx *c, const examples *e, int64_t buckets, double *sums)
{
    const int64_t columns = bd_input(c, 3)->shape.dims[1], stats = e->logits + e->hessian_count;
    const int32_t *values = bd_tensor_i32(bd_input(c, 3));
    for (int64_t i = 0; i < e->rows && !bd_interrupted_at(i); i++) {
        for (int64_t k = 0; k < columns; k++) {
            const int64_t bucket = values[i * columns + k] == -1 ? buckets : values[i * columns + k];
            if (bucket < 0 || bucket > buckets) {
                fail_bucket(c, i, k, values[i * columns + k], buckets);
                return;
            }
            add_row(e, i, sums + ((e->nodes[i] * columns + k) * (buckets + 1) + bucket) * stats);
        }
    }
}

static void aggregate_run(bd_op_ctx *c)
{
    examples e;
    int64_t count, max_splits, buckets;
    if (!read_sizes(c, &max_splits, &buckets) || !read_examples(c, max_splits, &e) ||
        !bd_input_has_rank(c, 3, 2, "feature"))
        return;
    const braid_shape *feature = &bd_input(c, 3)->shape;
    if (feature->dims[0] != e.rows) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "feature has %lld rows, node_ids has %lld",
                   (long long)feature->dims[0], (long long)e.rows);
        return;
    }
    const braid_shape shape = {
        .rank = 4, .dims = {max_splits, feature->dims[1], buckets + 1, e.logits + e.hessian_count}};
    double *sums = new_sums(c, &shape, &count);
    if (!sums) return;
    add_matrix(c, &e, buckets, sums);
    put_sums(c, &shape, sums, count);
    bd_free(sums);
}

static int64_t stats_dim(const bd_shape_ctx *c)
{
    const int64_t logits = bd_shape_ctx_dim(c, 1, 1), hessians = bd_shape_ctx_dim(c, 2, 1);
    return logits < 0 || hessians < 0 ? -1 : logits + hessians;
}

static braid_code aggregate_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t rows;
    if (bd_shape_ctx_ranks(c, 0, 1, 1, st) || bd_shape_ctx_ranks(c, 1, 4, 2, st) ||
        bd_shape_ctx_rows(c, 0, 4, 2, &rows, st))
        return st->code;
    const int64_t buckets = bd_node_attr_int(c->node, "num_buckets");
    c->outputs[0] = (braid_shape){.rank = 4,
                                  .dims = {bd_node_attr_int(c->node, "max_splits"), bd_shape_ctx_dim(c, 3, 1),
                                           buckets < INT32_MAX ? buckets + 1 : -1, stats_dim(c)}};
    return BRAID_OK;
}

BD_OP(BoostedTreesAggregateStats) = {
    .signature =
        "(node_ids: int32, gradients: float, hessians: float, feature: int32) -> (stats_summary: float)",
    .attrs = "max_splits:int>=1; num_buckets:int>=1",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = aggregate_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = aggregate_run}),
    .doc =
        "Sums of gradients and hessians by node, column of the feature and bucket, with one more bucket for values "
        "that are missing (-1): [max_splits, columns, num_buckets + 1, logits + hessians].",
    .deviation = "Sums are made in double.",
};

// ---- BoostedTreesSparseAggregateStats ----

// An example in a bucket of a column.
typedef struct member {
    int32_t node, column, bucket;
    int64_t row;
} member;

static int compare_keys(const member *a, const member *b)
{
    if (a->node != b->node) return a->node < b->node ? -1 : 1;
    if (a->column != b->column) return a->column < b->column ? -1 : 1;
    return a->bucket != b->bucket ? (a->bucket < b->bucket ? -1 : 1) : 0;
}

static int compare_members(const void *left, const void *right, void *arg)
{
    (void)arg;
    const member *a = left, *b = right;
    const int order = compare_keys(a, b);
    return order ? order : (a->row < b->row ? -1 : a->row > b->row);
}

// The sparse matrix in inputs 3 to 5.
typedef struct sparse_feature {
    const int32_t *indices, *values; // [entries, 2], [entries]
    int64_t entries, columns;
} sparse_feature;

static bool check_entry(bd_op_ctx *c, const sparse_feature *f, const examples *e, int64_t i, int64_t buckets)
{
    const int32_t *at = f->indices + 2 * i;
    if (at[0] < 0 || at[0] >= e->rows || at[1] < 0 || at[1] >= f->columns) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "feature_indices[%lld] = [%d,%d] is not within [%lld,%lld]",
                   (long long)i, at[0], at[1], (long long)e->rows, (long long)f->columns);
    } else if (i > 0 && (at[0] < at[-2] || (at[0] == at[-2] && at[1] <= at[-1]))) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "feature_indices[%lld] = [%d,%d] is not behind [%d,%d]",
                   (long long)i, at[0], at[1], at[-2], at[-1]);
    } else if (f->values[i] < 0 || f->values[i] > buckets) {
        fail_bucket(c, at[0], at[1], f->values[i], buckets);
    }
    return !bd_op_failed(c);
}

static bool read_sparse(bd_op_ctx *c, const examples *e, int64_t buckets, sparse_feature *f)
{
    if (!bd_input_has_rank(c, 3, 2, "feature_indices") || !bd_input_has_rank(c, 4, 1, "feature_values") ||
        !bd_input_has_rank(c, 5, 1, "feature_shape"))
        return false;
    const braid_shape *indices = &bd_input(c, 3)->shape;
    *f = (sparse_feature){.indices = bd_tensor_i32(bd_input(c, 3)),
                          .values = bd_tensor_i32(bd_input(c, 4)),
                          .entries = indices->dims[0]};
    if (indices->dims[1] != 2 || bd_input(c, 4)->shape.dims[0] != f->entries ||
        bd_input(c, 5)->shape.dims[0] != 2) {
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "feature_indices, feature_values and feature_shape must have shapes [n,2], [n] and [2], received %s, "
            "[%lld] and [%lld]",
            bd_shape_str(indices, (char[BD_SHAPE_STR_MAX]){0}), (long long)bd_input(c, 4)->shape.dims[0],
            (long long)bd_input(c, 5)->shape.dims[0]);
        return false;
    }
    f->columns = bd_tensor_i32(bd_input(c, 5))[1];
    if (f->columns < 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "feature_shape has %lld columns", (long long)f->columns);
        return false;
    }
    for (int64_t i = 0; i < f->entries; i++)
        if (!check_entry(c, f, e, i, buckets)) return false;
    return true;
}

// Every example is a member of one bucket of each column: [count] members in a buffer that the caller unrefs.
// NULL: the kernel has failed.
static bd_buffer *sorted_members(bd_op_ctx *c, const examples *e, const sparse_feature *f, int64_t buckets,
                                 int64_t *count)
{
    bd_buffer *buffer = NULL;
    if (!__builtin_mul_overflow(e->rows, f->columns, count) && *count < INT64_MAX / (int64_t)sizeof(member))
        buffer = bd_buffer_new(sizeof(member) * (size_t)*count);
    if (!buffer) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "no memory for statistics of %lld rows and %lld columns",
                   (long long)e->rows, (long long)f->columns);
        return NULL;
    }
    member *all = buffer->data;
    int64_t entry = 0;
    for (int64_t i = 0; i < *count && !bd_interrupted_at(i); i++) {
        const int64_t row = i / f->columns, column = i % f->columns;
        const bool is_there =
            entry < f->entries && f->indices[2 * entry] == row && f->indices[2 * entry + 1] == column;
        all[i] =
            (member){e->nodes[row], (int32_t)column, is_there ? f->values[entry] : (int32_t)buckets, row};
        if (is_there) entry++;
    }
    bd_sort(all, *count, sizeof *all, compare_members, NULL);
    if (!bd_op_interrupted(c)) return buffer;
    bd_buffer_unref(buffer);
    return NULL;
}

static int64_t count_groups(const member *all, int64_t count)
{
    int64_t groups = 0;
    for (int64_t i = 0; i < count; i++)
        groups += i == 0 || compare_keys(&all[i - 1], &all[i]) != 0;
    return groups;
}

static double sum_of_statistic(const examples *e, const member *members, int64_t count, int64_t k)
{
    const bool is_gradient = k < e->logits;
    const float *of = is_gradient ? e->gradients + k : e->hessians + (k - e->logits);
    const int64_t stride = is_gradient ? e->logits : e->hessian_count;
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)of[members[i].row * stride];
    return sum;
}

static void put_groups(const examples *e, const member *all, int64_t count, int32_t *indices, float *values)
{
    const int64_t stats = e->logits + e->hessian_count;
    for (int64_t from = 0, to, at = 0; from < count; from = to, at += stats) {
        for (to = from + 1; to < count && compare_keys(&all[from], &all[to]) == 0;)
            to++;
        for (int64_t k = 0; k < stats; k++) {
            int32_t *index = indices + (at + k) * 4;
            index[0] = all[from].node;
            index[1] = all[from].column;
            index[2] = all[from].bucket;
            index[3] = (int32_t)k;
            values[at + k] = (float)sum_of_statistic(e, all + from, to - from, k);
        }
    }
}

static void sparse_run(bd_op_ctx *c)
{
    examples e;
    sparse_feature f;
    int64_t count, max_splits, buckets;
    if (!read_sizes(c, &max_splits, &buckets) || !read_examples(c, max_splits, &e) ||
        !read_sparse(c, &e, buckets, &f))
        return;
    bd_buffer *members = sorted_members(c, &e, &f, buckets, &count);
    if (!members) return;
    const member *all = members->data;
    const int64_t stats = e.logits + e.hessian_count, slots = count_groups(all, count) * stats;
    const braid_shape pairs = bd_shape2(slots, 4), vector = bd_shape1(slots), four = bd_shape1(4);
    const braid_tensor *indices = bd_output(c, 0, BRAID_INT32, &pairs);
    const braid_tensor *values = indices ? bd_output(c, 1, BRAID_FLOAT, &vector) : NULL;
    const braid_tensor *shape = values ? bd_output(c, 2, BRAID_INT32, &four) : NULL;
    if (shape) {
        put_groups(&e, all, count, bd_tensor_i32(indices), bd_tensor_f32(values));
        const int64_t dims[] = {max_splits, f.columns, buckets + 1, stats};
        for (int i = 0; i < 4; i++)
            bd_tensor_i32(shape)[i] = (int32_t)dims[i];
    }
    bd_buffer_unref(members);
}

static braid_code sparse_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t rows;
    if (bd_shape_ctx_ranks(c, 0, 1, 1, st) || bd_shape_ctx_ranks(c, 1, 4, 2, st) ||
        bd_shape_ctx_ranks(c, 4, 6, 1, st) || bd_shape_ctx_rows(c, 0, 3, 2, &rows, st) ||
        bd_shape_ctx_rows(c, 3, 5, 2, &rows, st))
        return st->code;
    c->outputs[0] = bd_shape2(-1, 4);
    c->outputs[1] = bd_shape1(-1);
    c->outputs[2] = bd_shape1(4);
    return BRAID_OK;
}

BD_OP(BoostedTreesSparseAggregateStats) = {
    .signature =
        "(node_ids: int32, gradients: float, hessians: float, feature_indices: int32, feature_values: int32, "
        "feature_shape: int32) -> (stats_summary_indices: int32, stats_summary_values: float, "
        "stats_summary_shape: int32)",
    .attrs = "max_splits:int>=1; num_buckets:int>=1",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = sparse_shape,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = sparse_run}),
    .doc =
        "BoostedTreesAggregateStats of a sparse feature, as a sparse tensor: entries are indices [node, column, bucket, "
        "statistic]. What the feature does not have is in bucket num_buckets.",
};

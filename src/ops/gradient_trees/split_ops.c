// Ops that find the best split of each node by a feature, from sums of gradients and hessians.
//
// Rows of the sums are slots: a partition (a node of the tree), and a bucket or an id of the feature. Slots
// are sorted by partition, and within one by bucket.
#include "base/interrupt.h"
#include "ops/boosted_trees/inputs.h"
#include "ops/gradient_trees/learner.h"
#include "ops/gradient_trees/node_stats.h"
#include <float.h>
#include <string.h>

enum {
    VALUES_MAX = 1 << 12 // of a gradient
};

typedef enum split_kind {
    SPLIT_DENSE,
    SPLIT_SPARSE,
    SPLIT_IDS,
} split_kind;

// A partition's slots.
typedef struct range {
    int64_t from, to;
} range;

typedef BD_ARRAY(range) range_list;

// A split that was found.
typedef struct best {
    float gain;
    int64_t slot;
    bool default_right;
    bd_gbt_node_values left, right;
} best;

typedef struct work {
    bd_op_ctx *c;
    split_kind kind;
    bd_gbt_node_rule rule;
    int64_t slots, width; // gradients and hessians of a slot
    float ratio;          // what sums are multiplied by
    const int32_t *partitions;
    const int64_t *ids; // [slots, 2]: the bucket or id, and the dimension
    const float *gradients, *hessians, *boundaries;
    int64_t boundary_count, bias_id;
    int32_t class_id, column, learner;
    float complexity;
    range_list ranges;                           // partitions that may be split
    float *memory;                               // of what follows, and of the rule's scratch
    float *root, *left, *right, *present, *slot; // [width] sums
    best found, tried;
} work;

// ---- Reading ----

static bool fail_input(work *w, const char *what)
{
    bd_op_fail(w->c, BRAID_INVALID_ARGUMENT, "%s", what);
    return false;
}

// Reads the gradients and hessians: [slots, ...].
static bool read_sums(work *w)
{
    const braid_tensor *g = bd_input(w->c, 3), *h = bd_input(w->c, 4);
    if (g->shape.rank < 1 || h->shape.rank < 1 || g->shape.dims[0] != w->slots ||
        h->shape.dims[0] != w->slots)
        return fail_input(w, "gradients and hessians must have a row for each of the partition_ids");
    const int64_t gradients = bd_shape_count_range(&g->shape, 1, g->shape.rank),
                  hessians = bd_shape_count_range(&h->shape, 1, h->shape.rank);
    if (gradients > VALUES_MAX || hessians > VALUES_MAX * VALUES_MAX)
        return fail_input(w, "gradients have more than 4096 values for each slot");
    w->rule.gradients = (int32_t)gradients;
    w->rule.hessians = (int32_t)hessians;
    w->width = gradients + hessians;
    w->gradients = bd_tensor_f32(g);
    w->hessians = bd_tensor_f32(h);
    return true;
}

// The hessian must be of the strategy's form.
static bool check_strategy(work *w)
{
    const int g = bd_input(w->c, 3)->shape.rank, h = bd_input(w->c, 4)->shape.rank;
    const int64_t n = w->rule.gradients;
    bool fits;
    switch (w->rule.strategy) {
    case BD_GBT_TREE_PER_CLASS: fits = n >= 1 && w->rule.hessians >= 1; break;
    case BD_GBT_FULL_HESSIAN:
        fits = g == 2 && h == 3 && bd_input(w->c, 4)->shape.dims[1] == n && w->rule.hessians == n * n;
        break;
    case BD_GBT_DIAGONAL_HESSIAN: fits = g == 2 && h == 2 && w->rule.hessians == n; break;
    default: return fail_input(w, "Wrong multiclass strategy passed.");
    }
    return fits ||
           fail_input(w, "Gradients and hessians do not have the ranks and sizes of multiclass_strategy");
}

// Scalars of the end of the list of inputs, where ops differ.
static bool read_scalars(work *w)
{
    bd_op_ctx *c = w->c;
    const int at = w->kind == SPLIT_IDS ? 5 : 6; // class_id
    const bool has_bias = w->kind != SPLIT_DENSE;
    int64_t minibatches;
    int32_t strategy;
    int i = at;
    if (!bd_gbt_input_int64(c, 0, "num_minibatches", &minibatches) ||
        !bd_gbt_input_int32(c, i++, "class_id", &w->class_id) ||
        !bd_gbt_input_int32(c, i++, "feature_column_group_id", &w->column) ||
        (has_bias && !bd_gbt_input_int64(c, i++, "bias_feature_id", &w->bias_id)) ||
        !bd_input_float(c, i++, "l1_regularization", &w->rule.l1) ||
        !bd_input_float(c, i++, "l2_regularization", &w->rule.l2) ||
        !bd_input_float(c, i++, "tree_complexity_regularization", &w->complexity) ||
        !bd_input_float(c, i++, "min_node_weight", &w->rule.min_weight) ||
        !bd_gbt_input_int32(c, i++, "multiclass_strategy", &strategy) ||
        (w->kind != SPLIT_SPARSE && !bd_gbt_input_int32(c, i, "weak_learner_type", &w->learner)))
        return false;
    w->rule.strategy = strategy;
    w->ratio = 1.0f / (float)minibatches;
    return true;
}

static bool read_inputs(work *w)
{
    bd_op_ctx *c = w->c;
    if (!bd_input_has_rank(c, 1, 1, "partition_ids") || !bd_input_has_rank(c, 2, 2, "bucket_ids"))
        return false;
    w->slots = bd_input(c, 1)->shape.dims[0];
    w->partitions = bd_tensor_i32(bd_input(c, 1));
    w->ids = bd_tensor_i64(bd_input(c, 2));
    if (w->slots > 0 && (bd_input(c, 2)->shape.dims[0] != w->slots || bd_input(c, 2)->shape.dims[1] != 2))
        return fail_input(w, "The ids of a feature must be pairs of id and dimension, one for each of the "
                             "partition_ids");
    if (w->kind != SPLIT_IDS) {
        if (!bd_input_has_rank(c, 5, 1, "bucket_boundaries")) return false;
        w->boundaries = bd_tensor_f32(bd_input(c, 5));
        w->boundary_count = bd_input(c, 5)->shape.dims[0];
    }
    return read_sums(w) && read_scalars(w);
}

// Lists the partitions of at least `least` slots.
static bool find_ranges(work *w, int64_t least)
{
    int64_t from = 0;
    for (int64_t i = 1; i <= w->slots; i++) {
        if (i < w->slots && w->partitions[i] < w->partitions[i - 1])
            return fail_input(w, "Input should be sorted: partition_ids must be sorted.");
        if (i < w->slots && w->partitions[i] == w->partitions[from]) continue;
        if (i - from >= least) bd_array_push(&w->ranges, (range){from, i});
        from = i;
    }
    return true;
}

static bool take_memory(work *w)
{
    const size_t n = (size_t)w->rule.gradients, width = (size_t)w->width;
    w->memory = bd_try_calloc(5 * width + 4 * (n + 1) + bd_gbt_scratch_size(&w->rule), sizeof *w->memory);
    if (!w->memory) {
        bd_op_fail(w->c, BRAID_RESOURCE_EXHAUSTED, "no memory for hessians of %lld values",
                   (long long)w->width);
        return false;
    }
    float *at = w->memory, **const sums[] = {&w->root, &w->left, &w->right, &w->present, &w->slot};
    for (size_t i = 0; i < BD_COUNTOF(sums); i++, at += width)
        *sums[i] = at;
    float **const values[] = {&w->found.left.values, &w->found.right.values, &w->tried.left.values,
                              &w->tried.right.values};
    for (size_t i = 0; i < BD_COUNTOF(values); i++, at += n + 1)
        *values[i] = at;
    w->rule.scratch = at;
    return true;
}

// ---- Sums ----

// The sums of a slot, as they are.
static void get_slot(const work *w, int64_t slot, float *to)
{
    const size_t g = (size_t)w->rule.gradients, h = (size_t)w->rule.hessians;
    memcpy(to, w->gradients + slot * w->rule.gradients, g * sizeof *to);
    memcpy(to + g, w->hessians + slot * w->rule.hessians, h * sizeof *to);
}

static void add(const work *w, float *to, const float *from)
{
    for (int64_t i = 0; i < w->width; i++)
        to[i] += from[i];
}

static void subtract(const work *w, float *to, const float *a, const float *b)
{
    for (int64_t i = 0; i < w->width; i++)
        to[i] = a[i] - b[i];
}

static void scale(const work *w, float *sums)
{
    for (int64_t i = 0; i < w->width; i++)
        sums[i] *= w->ratio;
}

static void clear(const work *w, float *sums)
{
    memset(sums, 0, sizeof *sums * (size_t)w->width);
}

// The sums of slots [from, to), multiplied by the ratio afterwards.
static void sum_slots(work *w, int64_t from, int64_t to, float *sums)
{
    clear(w, sums);
    for (int64_t i = from; i < to; i++) {
        get_slot(w, i, w->slot);
        if (i == from)
            memcpy(sums, w->slot, sizeof *sums * (size_t)w->width);
        else
            add(w, sums, w->slot);
    }
    scale(w, sums);
}

// ---- The best split of a partition ----

static void take_if_better(work *w, const float *left, const float *right, int64_t slot, bool default_right)
{
    const float left_gain = bd_gbt_node_gain(&w->rule, left, &w->tried.left);
    const float gain = left_gain + bd_gbt_node_gain(&w->rule, right, &w->tried.right);
    if (!(gain > w->found.gain)) return;
    const best was = w->found;
    w->found = w->tried;
    w->found.gain = gain;
    w->found.slot = slot;
    w->found.default_right = default_right;
    w->tried.left.values = was.left.values;
    w->tried.right.values = was.right.values;
}

static void begin_search(work *w, int64_t slot)
{
    w->found.gain = -FLT_MAX;
    w->found.slot = slot;
    w->found.default_right = false;
    w->found.left.count = w->found.right.count = 0;
}

// Adds the slot to the sums on the left.
static void move_left(work *w, int64_t slot, bool is_first)
{
    get_slot(w, slot, w->slot);
    scale(w, w->slot);
    if (is_first)
        memcpy(w->left, w->slot, sizeof *w->left * (size_t)w->width);
    else
        add(w, w->left, w->slot);
}

static void search_dense(work *w, range r)
{
    sum_slots(w, r.from, r.to, w->root);
    begin_search(w, r.from);
    for (int64_t i = r.from; i < r.to && !bd_interrupted_at(i); i++) {
        move_left(w, i, i == r.from);
        subtract(w, w->right, w->root, w->left);
        take_if_better(w, w->left, w->right, i, false);
    }
}

static void search_ids(work *w, range r)
{
    sum_slots(w, r.from, r.from + 1, w->root);
    begin_search(w, r.from + 1);
    for (int64_t i = r.from + 1; i < r.to && !bd_interrupted_at(i); i++) {
        move_left(w, i, true);
        subtract(w, w->right, w->root, w->left);
        take_if_better(w, w->left, w->right, i, false);
    }
}

// Slots of one dimension: examples without a value go left, or right.
static bool search_dimension(work *w, int64_t from, int64_t to)
{
    sum_slots(w, from, to, w->present);
    subtract(w, w->right, w->root, w->present);
    const bool is_full = bd_gbt_is_almost_zero(&w->rule, w->right);
    float *rest = w->slot; // only used between moves
    for (int64_t i = from; i < to && !bd_interrupted_at(i); i++) {
        if (i > from && w->ids[2 * i - 2] >= w->ids[2 * i])
            return fail_input(w, "Bucket ids must be sorted.");
        move_left(w, i, i == from);
        subtract(w, w->right, w->present, w->left);
        subtract(w, rest, w->root, w->right);
        take_if_better(w, rest, w->right, i, false);
        if (is_full) continue;
        subtract(w, rest, w->root, w->left);
        take_if_better(w, w->left, rest, i, true);
    }
    return true;
}

static bool search_sparse(work *w, range r)
{
    sum_slots(w, r.from, r.from + 1, w->root);
    begin_search(w, r.from);
    int64_t from = r.from + 1; // behind the slot of all examples
    for (int64_t to = from; from < r.to; from = to) {
        while (to < r.to && w->ids[2 * to + 1] == w->ids[2 * from + 1])
            to++;
        if (w->ids[2 * from] == w->bias_id && w->ids[2 * from + 1] == 0)
            return fail_input(w, "A partition has two bias slots.");
        if (!search_dimension(w, from, to)) return false;
    }
    return true;
}

// ---- Messages ----

static bool make_leaf(work *w, bd_gbt_node_values *values, bd_gbt_leaf *leaf)
{
    *leaf = (bd_gbt_leaf){.values = values->values, .count = values->count};
    if (w->class_id == -1) {
        leaf->kind = values->count > 0 ? BD_GBT_DENSE : BD_GBT_NO_LEAF;
        return true;
    }
    if (values->count != 1) {
        bd_op_fail(w->c, BRAID_INVALID_ARGUMENT, "A leaf of class %d has %d values", w->class_id,
                   values->count);
        return false;
    }
    leaf->kind = BD_GBT_SPARSE;
    leaf->indices = &w->class_id;
    return true;
}

typedef struct split {
    bd_gbt_node node;
    bd_gbt_leaf left, right;
} split;

static void emit_split(bd_message_out *out, const void *arg)
{
    const split *s = arg;
    bd_emit_message(out, 1, bd_gbt_emit_node, &s->node);
    bd_emit_message(out, 2, bd_gbt_emit_leaf, &s->left);
    bd_emit_message(out, 3, bd_gbt_emit_leaf, &s->right);
}

static bool get_threshold(work *w, int64_t bucket, float *threshold)
{
    if (bucket >= 0 && bucket < w->boundary_count) {
        *threshold = w->boundaries[bucket];
        return true;
    }
    bd_op_fail(w->c, BRAID_INVALID_ARGUMENT, "Bucket %lld is not within the %lld bucket_boundaries",
               (long long)bucket, (long long)w->boundary_count);
    return false;
}

static bool put_split(work *w, const braid_tensor *y, int64_t at)
{
    split s = {.node = {.column = w->column}};
    const int64_t *id = w->ids + 2 * w->found.slot;
    if (w->kind == SPLIT_IDS) {
        s.node.kind = BD_GBT_ID_SPLIT;
        s.node.feature_id = id[0];
    } else {
        s.node.kind = w->kind == SPLIT_DENSE   ? BD_GBT_FLOAT_SPLIT
                      : w->found.default_right ? BD_GBT_SPARSE_SPLIT_RIGHT
                                               : BD_GBT_SPARSE_SPLIT_LEFT;
        if (w->kind == SPLIT_SPARSE) s.node.dimension = (int32_t)id[1];
        if (!get_threshold(w, id[0], &s.node.threshold)) return false;
    }
    return make_leaf(w, &w->found.left, &s.left) && make_leaf(w, &w->found.right, &s.right) &&
           bd_output_message(w->c, y, at, emit_split, &s);
}

// ---- Splits of partitions ----

// Each partition's first slot holds all of its examples.
static bool check_bias(work *w, range r)
{
    if (w->ids[2 * r.from] != w->bias_id) return fail_input(w, "Bias feature ID missing.");
    return w->kind != SPLIT_SPARSE || w->ids[2 * r.from + 1] == 0 ||
           fail_input(w, "Bias feature ID must be with dimension 0.");
}

typedef struct outputs {
    const braid_tensor *partitions, *gains, *splits;
} outputs;

static bool make_outputs(work *w, int64_t partitions, int64_t splits, outputs *y)
{
    const braid_shape shape = bd_shape1(partitions), split_shape = bd_shape1(splits);
    y->partitions = bd_output(w->c, 0, BRAID_INT32, &shape);
    y->gains = y->partitions ? bd_output(w->c, 1, BRAID_FLOAT, &split_shape) : NULL;
    y->splits = y->gains ? bd_output(w->c, 2, BRAID_STRING, &split_shape) : NULL;
    return y->splits != NULL;
}

static bool search(work *w, range r)
{
    switch (w->kind) {
    case SPLIT_DENSE: search_dense(w, r); return true;
    case SPLIT_IDS: search_ids(w, r); return true;
    default: return search_sparse(w, r);
    }
}

static void split_partitions(work *w)
{
    outputs y;
    if (!make_outputs(w, (int64_t)w->ranges.len, (int64_t)w->ranges.len, &y)) return;
    for (size_t i = 0; i < w->ranges.len; i++) {
        const range r = w->ranges.items[i];
        if ((w->kind != SPLIT_DENSE && !check_bias(w, r)) || !search(w, r) || bd_op_interrupted(w->c)) return;
        const float root_gain = bd_gbt_node_gain(&w->rule, w->root, NULL);
        bd_tensor_i32(y.partitions)[i] = w->partitions[r.from];
        bd_tensor_f32(y.gains)[i] = w->found.gain - root_gain - w->complexity;
        if (!put_split(w, y.splits, (int64_t)i)) return;
    }
}

// ---- One split of all partitions ----

// The sums and values of all partitions, for a layer that is split as a whole.
typedef struct layer {
    int64_t count;
    float *memory;
    float *root, *left;            // [count, width]
    float *values, *best_values;   // [count, 2, gradients + 1]
    int32_t *counts, *best_counts; // [count, 2]
    int64_t *next;                 // [count] the slot that comes next
    bool *has_left;                // [count]
} layer;

static void layer_free(layer *l)
{
    bd_free(l->memory);
    bd_free(l->counts);
    bd_free(l->next);
    bd_free(l->has_left);
}

static bool layer_init(work *w, layer *l)
{
    size_t floats, n = w->ranges.len;
    const size_t leaf = (size_t)w->rule.gradients + 1;
    *l = (layer){.count = (int64_t)n};
    if (!__builtin_mul_overflow(n, 2 * (size_t)w->width + 4 * leaf, &floats))
        l->memory = bd_try_calloc(floats + 1, sizeof *l->memory);
    l->counts = bd_try_calloc(n + 1, 4 * sizeof *l->counts);
    l->next = bd_try_calloc(n + 1, sizeof *l->next);
    l->has_left = bd_try_calloc(n + 1, sizeof *l->has_left);
    if (!l->memory || !l->counts || !l->next || !l->has_left) {
        bd_op_fail(w->c, BRAID_RESOURCE_EXHAUSTED, "no memory for a layer of %zu nodes", n);
        return false;
    }
    l->root = l->memory;
    l->left = l->root + n * (size_t)w->width;
    l->values = l->left + n * (size_t)w->width;
    l->best_values = l->values + n * 2 * leaf;
    l->best_counts = l->counts + 2 * n;
    return true;
}

static bool layer_begin(work *w, layer *l)
{
    const bool has_bias = w->kind == SPLIT_IDS;
    for (int64_t i = 0; i < l->count; i++) {
        const range r = w->ranges.items[i];
        if (has_bias && !check_bias(w, r)) return false;
        sum_slots(w, r.from, has_bias ? r.from + 1 : r.to, w->root);
        memcpy(l->root + i * w->width, w->root, sizeof *w->root * (size_t)w->width);
        l->next[i] = r.from + has_bias;
    }
    return true;
}

// Moves the slots of a bucket to the left. Returns the least bucket that follows; -1: none.
static int64_t layer_move(work *w, layer *l, int64_t bucket)
{
    int64_t following = -1;
    for (int64_t i = 0; i < l->count; i++) {
        const int64_t end = w->ranges.items[i].to;
        float *left = l->left + i * w->width;
        if (w->kind == SPLIT_IDS) l->has_left[i] = false; // an id stands for itself alone
        if (l->next[i] < end && w->ids[2 * l->next[i]] == bucket) {
            get_slot(w, l->next[i]++, w->slot);
            scale(w, w->slot);
            if (l->has_left[i])
                add(w, left, w->slot);
            else
                memcpy(left, w->slot, sizeof *left * (size_t)w->width);
            l->has_left[i] = true;
        }
        if (l->next[i] < end && (following == -1 || w->ids[2 * l->next[i]] < following))
            following = w->ids[2 * l->next[i]];
    }
    return following;
}

static float layer_gain(work *w, layer *l)
{
    const int64_t leaf = w->rule.gradients + 1;
    float sum = 0;
    for (int64_t i = 0; i < l->count; i++) {
        const float *root = l->root + i * w->width, *left = l->has_left[i] ? l->left + i * w->width : NULL;
        bd_gbt_node_values values[2] = {{.values = l->values + 2 * i * leaf},
                                        {.values = l->values + (2 * i + 1) * leaf}};
        if (left)
            subtract(w, w->right, root, left);
        else
            memcpy(w->right, root, sizeof *root * (size_t)w->width);
        const float left_gain = bd_gbt_node_gain(&w->rule, left, &values[0]);
        sum += left_gain + bd_gbt_node_gain(&w->rule, w->right, &values[1]);
        l->counts[2 * i] = values[0].count;
        l->counts[2 * i + 1] = values[1].count;
    }
    return sum;
}

static void layer_keep(layer *l)
{
    float *values = l->best_values;
    int32_t *counts = l->best_counts;
    l->best_values = l->values;
    l->best_counts = l->counts;
    l->values = values;
    l->counts = counts;
}

typedef struct layer_split {
    bd_gbt_node node;
    const bd_gbt_leaf *leaves; // two of each partition
    const work *w;
} layer_split;

static void emit_parents(bd_message_out *out, const void *arg)
{
    const layer_split *s = arg;
    for (size_t i = 0; i < s->w->ranges.len; i++)
        bd_emit_varint(out, (uint64_t)(int64_t)s->w->partitions[s->w->ranges.items[i].from]);
}

static void emit_layer_split(bd_message_out *out, const void *arg)
{
    const layer_split *s = arg;
    bd_emit_message(out, 1, bd_gbt_emit_node, &s->node);
    for (size_t i = 0; i < 2 * s->w->ranges.len; i++)
        bd_emit_message(out, 2, bd_gbt_emit_leaf, &s->leaves[i]);
    bd_emit_message(out, 3, emit_parents, s);
}

static bool put_layer_split(work *w, layer *l, int64_t bucket, const braid_tensor *y)
{
    layer_split s = {.node = {.column = w->column, .kind = BD_GBT_LAYER_ID_SPLIT}, .w = w};
    if (w->kind == SPLIT_IDS) {
        s.node.feature_id = bucket;
    } else {
        s.node.kind = BD_GBT_LAYER_FLOAT_SPLIT;
        if (!get_threshold(w, bucket, &s.node.threshold)) return false;
    }
    bd_gbt_leaf *leaves = bd_calloc(2 * w->ranges.len + 1, sizeof *leaves);
    s.leaves = leaves;
    bool ok = true;
    for (int64_t i = 0; ok && i < 2 * l->count; i++) {
        bd_gbt_node_values values = {.values = l->best_values + i * (w->rule.gradients + 1),
                                     .count = l->best_counts[i]};
        ok = make_leaf(w, &values, &leaves[i]);
    }
    ok = ok && bd_output_message(w->c, y, 0, emit_layer_split, &s);
    bd_free(leaves);
    return ok;
}

// Tries all buckets, or ids, in ascending order.
static void search_layer(work *w, layer *l, outputs *y)
{
    float gain = -FLT_MAX;
    int64_t last = -1, best_bucket = 0, bucket = INT64_MAX;
    for (int64_t i = 0; i < l->count; i++)
        if (w->ids[2 * l->next[i]] < bucket) bucket = w->ids[2 * l->next[i]];
    while (bucket > last && !bd_op_interrupted(w->c)) {
        last = bucket;
        const int64_t following = layer_move(w, l, bucket);
        const float tried = layer_gain(w, l);
        if (tried > gain) {
            gain = tried;
            best_bucket = bucket;
            layer_keep(l);
        }
        bucket = following;
    }
    for (int64_t i = 0; i < l->count; i++) {
        gain -= bd_gbt_node_gain(&w->rule, l->root + i * w->width, NULL);
        bd_tensor_i32(y->partitions)[i] = w->partitions[w->ranges.items[i].from];
    }
    bd_tensor_f32(y->gains)[0] = gain - (float)l->count * w->complexity;
    put_layer_split(w, l, best_bucket, y->splits);
}

static void split_layer(work *w)
{
    layer l;
    outputs y;
    if (!make_outputs(w, (int64_t)w->ranges.len, w->ranges.len > 0, &y) || w->ranges.len == 0) return;
    int32_t *counts = NULL;
    if (layer_init(w, &l)) {
        counts = l.counts;
        if (layer_begin(w, &l)) search_layer(w, &l, &y);
    }
    if (counts) l.counts = counts; // where the memory begins
    layer_free(&l);
}

static void run(bd_op_ctx *c, split_kind kind)
{
    work w = {.c = c, .kind = kind};
    if (read_inputs(&w) && find_ranges(&w, kind == SPLIT_DENSE ? 1 : 2)) {
        // Without boundaries the handler of the feature is not active.
        if (kind == SPLIT_DENSE && w.boundary_count == 0) w.ranges.len = 0;
        const bool is_normal = w.learner == BD_GBT_NORMAL_TREE;
        if (!is_normal && w.learner != BD_GBT_OBLIVIOUS_TREE)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Unknown weak_learner_type %d", w.learner);
        else if ((w.ranges.len == 0 || check_strategy(&w)) && take_memory(&w))
            (is_normal ? split_partitions : split_layer)(&w);
    }
    bd_array_free(&w.ranges);
    bd_free(w.memory);
}

static void dense_run(bd_op_ctx *c)
{
    run(c, SPLIT_DENSE);
}

static void sparse_run(bd_op_ctx *c)
{
    run(c, SPLIT_SPARSE);
}

static void ids_run(bd_op_ctx *c)
{
    run(c, SPLIT_IDS);
}

// ---- Definitions ----

static braid_code split_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < 3; i++)
        c->outputs[i] = bd_shape1(-1);
    if (bd_shape_ctx_rank(c, 0, 0, st) || bd_shape_ctx_rank(c, 1, 1, st) || bd_shape_ctx_rank(c, 2, 2, st))
        return st->code;
    for (int i = 3; i < 5; i++) {
        const int64_t rows = bd_shape_ctx_dim(c, 1, 0), own = bd_shape_ctx_dim(c, i, 0);
        if (c->inputs[i].rank == 0)
            return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
        if (rows >= 0 && own >= 0 && rows != own)
            return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                                     (long long)rows, (long long)own);
    }
    return BRAID_OK;
}

static braid_code bucket_split_shape(bd_shape_ctx *c, braid_status *st)
{
    return split_shape(c, st) ? st->code : bd_shape_ctx_rank(c, 5, 1, st);
}

#define SUMS                                                                                                 \
    "num_minibatches: int64, partition_ids: int32, bucket_ids: int64, gradients: float, hessians: float, "
#define ID_SUMS                                                                                              \
    "num_minibatches: int64, partition_ids: int32, feature_ids: int64, gradients: float, hessians: float, "
#define RULE                                                                                                 \
    "l1_regularization: float, l2_regularization: float, tree_complexity_regularization: float, "            \
    "min_node_weight: float, multiclass_strategy: int32"
#define CLASS "class_id: int32, feature_column_group_id: int32, "
#define SPLITS ") -> (output_partition_ids: int32, gains: float, split_infos: string)"
#define KERNEL(RUN) BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = (RUN)})

BD_OP(BuildDenseInequalitySplits) = {
    .signature = "(" SUMS "bucket_boundaries: float, " CLASS RULE ", weak_learner_type: int32" SPLITS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bucket_split_shape,
    .kernels = KERNEL(dense_run),
    .doc = "The best split of each partition by a dense feature: its gain, and a serialized SplitInfo. With "
           "OBLIVIOUS_DECISION_TREE one ObliviousSplitInfo for all partitions.",
    .deviation = "A gradient has at most 4096 values.",
};

BD_OP(BuildSparseInequalitySplits) = {
    .signature = "(" SUMS "bucket_boundaries: float, " CLASS "bias_feature_id: int64, " RULE SPLITS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bucket_split_shape,
    .kernels = KERNEL(sparse_run),
    .doc = "The best split of each partition by a sparse feature. The first slot of a partition, of "
           "bias_feature_id, has the sums of all its examples.",
    .deviation = "A gradient has at most 4096 values.",
};

BD_OP(BuildCategoricalEqualitySplits) = {
    .signature = "(" ID_SUMS CLASS "bias_feature_id: int64, " RULE ", weak_learner_type: int32" SPLITS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = split_shape,
    .kernels = KERNEL(ids_run),
    .doc = "The best split of each partition by an id of a feature. The first slot of a partition, of "
           "bias_feature_id, has the sums of all its examples.",
    .deviation = "A gradient has at most 4096 values.",
};

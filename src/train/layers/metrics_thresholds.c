// Streaming metrics over thresholds: counts, precision and recall, the area under the ROC curve, and what is
// reached at a given sensitivity or specificity.
#include "train/layers/metrics_common.h"

#include "base/alloc.h"

// ---- Counts of each kind at each threshold ----

enum {
    TRUE_POSITIVES,
    FALSE_NEGATIVES,
    TRUE_NEGATIVES,
    FALSE_POSITIVES,
    COUNTS
};

static const char *const kind_names[COUNTS] = {"true_positives", "false_negatives", "true_negatives",
                                               "false_positives"};

enum {
    ALL = (1 << COUNTS) - 1
};

// Vectors over the thresholds: the sums of weights of each kind, those of all batches and after this one.
typedef struct counts {
    braid_out refs[COUNTS], updated[COUNTS];
} kind_counts;

// A metric over thresholds while it is built.
typedef struct curve {
    train_metric m;
    float *thresholds; // [count]
    int count;
} curve;

// Evenly spaced thresholds; the ends are just outside of [0, 1].
static bool spread_thresholds(braid_graph *g, curve *c, const char *what, int count)
{
    c->count = count ? count : 200;
    if (c->count < 2 || c->count > 1000000) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: %d thresholds; 2 to 1000000 are possible", what,
                         c->count);
        return false;
    }
    c->thresholds = bd_calloc((size_t)c->count, sizeof *c->thresholds);
    for (int i = 0; i < c->count; i++)
        c->thresholds[i] = (float)i / (float)(c->count - 1);
    c->thresholds[0] = -1e-7f;
    c->thresholds[c->count - 1] = 1 + 1e-7f;
    return true;
}

static bool copy_thresholds(braid_graph *g, curve *c, const char *what, const float *thresholds, int count)
{
    c->count = count;
    if (!thresholds || count < 1 || count > 1000000) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: %d thresholds; 1 to 1000000 are possible", what,
                         thresholds ? count : 0);
        return false;
    }
    c->thresholds = bd_memdup(thresholds, (size_t)count * sizeof *thresholds);
    return true;
}

// [count, 1]
static braid_out thresholds_node(braid_graph *g, const curve *c)
{
    braid_tensor *t = braid_tensor_from(BRAID_FLOAT, BRAID_SHAPE(c->count, 1), c->thresholds, NULL);
    const braid_out out = braid_const(g, "thresholds", t);
    braid_tensor_free(t);
    return out;
}

static braid_out count_kind(braid_graph *g, int kind, braid_out is_label, braid_out is_above,
                            braid_out weights)
{
    const bool label = kind == TRUE_POSITIVES || kind == FALSE_NEGATIVES;
    const bool above = kind == TRUE_POSITIVES || kind == FALSE_POSITIVES;
    if (!label) is_label = train_node1(g, "LogicalNot", NULL, is_label);
    if (!above) is_above = train_node1(g, "LogicalNot", NULL, is_above);
    braid_out both = braid_cast(g, train_node2(g, "LogicalAnd", NULL, is_label, is_above), BRAID_FLOAT);
    if (weights.op) both = braid_mul(g, both, weights);
    return braid_reduce(g, "Sum", both, &(int32_t){1}, 1, false);
}

// Enters the metric's scope, which the caller leaves, and counts the kinds in the set `kinds`. False: the
// graph has failed. Takes the thresholds.
static bool count_kinds(braid_graph *g, curve *c, const char *what, unsigned kinds,
                        const braid_metric_options *options, kind_counts *out)
{
    *out = (kind_counts){0};
    const bool ok = train_metric_begin(g, &c->m, what, options);
    if (ok) {
        const braid_shape row = BRAID_SHAPE(1, -1);
        const braid_out predictions = braid_cast(g, c->m.predictions, BRAID_FLOAT);
        braid_out weights = train_metric_weights(g, &c->m, predictions);
        if (weights.op) weights = braid_reshape(g, train_broadcast_weights(g, weights, predictions), row);
        const braid_out is_label = braid_reshape(g, braid_cast(g, c->m.labels, BRAID_BOOL), row);
        const braid_out is_above =
            train_node2(g, "Greater", NULL, braid_reshape(g, predictions, row), thresholds_node(g, c));
        for (int i = 0; i < COUNTS; i++) {
            if (!(kinds & 1U << i)) continue;
            const braid_out sums = count_kind(g, i, is_label, is_above, weights);
            out->refs[i] = train_metric_variable(g, kind_names[i], BRAID_FLOAT, BRAID_SHAPE(c->count));
            out->updated[i] = braid_assign_add(g, out->refs[i], sums);
        }
    }
    bd_free(c->thresholds);
    return ok && !braid_graph_status(g, NULL);
}

// ---- The area under the ROC curve ----

// Keeps divisors from zero, as TensorFlow does.
static const double epsilon = 1e-6;

static braid_out slice(braid_graph *g, braid_out x, int from, int size)
{
    const char *scope = braid_push_name_scope(g, "Slice");
    braid_out begin = braid_const_int32s(g, "begin", &(int32_t){from}, 1);
    braid_out length = braid_const_int32s(g, "size", &(int32_t){size}, 1);
    braid_pop_name_scope(g);
    return train_node3(g, "Slice", scope, x, begin, length);
}

// The area by the trapezoidal rule; `counts` are vectors over the thresholds.
static braid_out area(braid_graph *g, const char *name, const braid_out *counts, int thresholds)
{
    braid_out hits = train_op_number(g, "Add", "add", counts[TRUE_POSITIVES], epsilon);
    braid_out positives = braid_add(g, hits, counts[FALSE_NEGATIVES]);
    braid_out y = braid_div(g, hits, positives);
    braid_out negatives = braid_add(g, counts[FALSE_POSITIVES], counts[TRUE_NEGATIVES]);
    braid_out x = braid_div(g, counts[FALSE_POSITIVES], train_op_number(g, "Add", "add", negatives, epsilon));
    const int n = thresholds - 1;
    braid_out width = braid_sub(g, slice(g, x, 0, n), slice(g, x, 1, n));
    braid_out height = braid_add(g, slice(g, y, 0, n), slice(g, y, 1, n));
    height = train_op_number(g, "RealDiv", "truediv", height, 2);
    return train_sum_named(g, name, train_node2(g, "Mul", NULL, width, height));
}

braid_metric braid_metric_auc(braid_graph *g, braid_out labels, braid_out predictions, int num_thresholds,
                              const braid_metric_options *options)
{
    curve c = {.m = {.labels = labels, .predictions = predictions}};
    kind_counts n;
    braid_metric result = {0};
    if (!spread_thresholds(g, &c, "auc", num_thresholds)) return result;
    if (!count_kinds(g, &c, "auc", ALL, options, &n)) return result;
    result.value = area(g, "value", n.refs, c.count);
    result.update = area(g, "update_op", n.updated, c.count);
    braid_pop_name_scope(g);
    return result;
}

// ---- At given thresholds ----

static braid_metric kind_at(braid_graph *g, int kind, curve *c, const float *thresholds, int count,
                            const braid_metric_options *options)
{
    kind_counts n;
    const char *what = kind_names[kind];
    braid_metric result = {0};
    if (!copy_thresholds(g, c, what, thresholds, count)) return result;
    if (!count_kinds(g, c, what, 1U << kind, options, &n)) return result;
    result.value = braid_identity(g, NULL, n.refs[kind]);
    result.update = n.updated[kind];
    braid_pop_name_scope(g);
    return result;
}

braid_metric braid_metric_true_positives_at_thresholds(braid_graph *g, braid_out labels,
                                                       braid_out predictions, const float *thresholds,
                                                       int count, const braid_metric_options *options)
{
    curve c = {.m = {.labels = labels, .predictions = predictions}};
    return kind_at(g, TRUE_POSITIVES, &c, thresholds, count, options);
}

braid_metric braid_metric_false_positives_at_thresholds(braid_graph *g, braid_out labels,
                                                        braid_out predictions, const float *thresholds,
                                                        int count, const braid_metric_options *options)
{
    curve c = {.m = {.labels = labels, .predictions = predictions}};
    return kind_at(g, FALSE_POSITIVES, &c, thresholds, count, options);
}

braid_metric braid_metric_true_negatives_at_thresholds(braid_graph *g, braid_out labels,
                                                       braid_out predictions, const float *thresholds,
                                                       int count, const braid_metric_options *options)
{
    curve c = {.m = {.labels = labels, .predictions = predictions}};
    return kind_at(g, TRUE_NEGATIVES, &c, thresholds, count, options);
}

braid_metric braid_metric_false_negatives_at_thresholds(braid_graph *g, braid_out labels,
                                                        braid_out predictions, const float *thresholds,
                                                        int count, const braid_metric_options *options)
{
    curve c = {.m = {.labels = labels, .predictions = predictions}};
    return kind_at(g, FALSE_NEGATIVES, &c, thresholds, count, options);
}

// part / (epsilon + part + rest)
static braid_out share(braid_graph *g, const char *name, braid_out part, braid_out rest)
{
    const braid_out above_zero = train_number_op(g, "Add", "add", 1e-7, part);
    return train_node2(g, "RealDiv", name, part, braid_add(g, above_zero, rest));
}

// The share of the true positives in them and `other`.
static braid_metric share_at(braid_graph *g, const char *what, int other, curve *c, const float *thresholds,
                             int count, const braid_metric_options *options)
{
    const bool is_precision = other == FALSE_POSITIVES;
    kind_counts n;
    braid_metric result = {0};
    if (!copy_thresholds(g, c, what, thresholds, count)) return result;
    if (!count_kinds(g, c, what, 1U << TRUE_POSITIVES | 1U << other, options, &n)) return result;
    result.value =
        share(g, is_precision ? "precision_value" : "recall_value", n.refs[TRUE_POSITIVES], n.refs[other]);
    result.update = share(g, is_precision ? "precision_update_op" : "recall_update_op",
                          n.updated[TRUE_POSITIVES], n.updated[other]);
    braid_pop_name_scope(g);
    return result;
}

braid_metric braid_metric_precision_at_thresholds(braid_graph *g, braid_out labels, braid_out predictions,
                                                  const float *thresholds, int count,
                                                  const braid_metric_options *options)
{
    curve c = {.m = {.labels = labels, .predictions = predictions}};
    return share_at(g, "precision_at_thresholds", FALSE_POSITIVES, &c, thresholds, count, options);
}

braid_metric braid_metric_recall_at_thresholds(braid_graph *g, braid_out labels, braid_out predictions,
                                               const float *thresholds, int count,
                                               const braid_metric_options *options)
{
    curve c = {.m = {.labels = labels, .predictions = predictions}};
    return share_at(g, "recall_at_thresholds", FALSE_NEGATIVES, &c, thresholds, count, options);
}

// ---- Sensitivity and specificity ----

// |shares - wanted|
static braid_out distance(braid_graph *g, braid_out shares, double wanted)
{
    return braid_abs(g, train_op_number(g, "Sub", "sub", shares, wanted));
}

// The sensitivity at the first of the thresholds whose specificity is nearest to `wanted`.
static braid_out sensitivity_near(braid_graph *g, const char *name, const braid_out *n, double wanted)
{
    const braid_out specificities = share(g, NULL, n[TRUE_NEGATIVES], n[FALSE_POSITIVES]);
    const braid_out at = braid_argmin(g, distance(g, specificities, wanted), 0);
    return share(g, name, braid_gather(g, n[TRUE_POSITIVES], at), braid_gather(g, n[FALSE_NEGATIVES], at));
}

// The specificity at the last of the thresholds whose sensitivity is nearest to `wanted`.
static braid_out specificity_near(braid_graph *g, const char *name, const braid_out *n, double wanted)
{
    const braid_out sensitivities = share(g, NULL, n[TRUE_POSITIVES], n[FALSE_NEGATIVES]);
    const braid_out distances = distance(g, sensitivities, wanted);
    const braid_out nearest = braid_reduce(g, "Min", distances, &(int32_t){0}, 1, false);
    const braid_out are_nearest = braid_cast(g, braid_equal(g, distances, nearest), BRAID_INT64);
    const braid_out at = braid_argmax(g, braid_cumsum(g, are_nearest, 0, false, false), 0);
    return share(g, name, braid_gather(g, n[TRUE_NEGATIVES], at), braid_gather(g, n[FALSE_POSITIVES], at));
}

typedef braid_out (*near_fn)(braid_graph *g, const char *name, const braid_out *n, double wanted);

static braid_metric metric_near(braid_graph *g, const char *what, near_fn near, double wanted, curve *c,
                                int num_thresholds, const braid_metric_options *options)
{
    kind_counts n;
    braid_metric result = {0};
    if (!(wanted >= 0 && wanted <= 1)) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: %g is not in [0, 1]", what, wanted);
        return result;
    }
    if (!spread_thresholds(g, c, what, num_thresholds)) return result;
    if (!count_kinds(g, c, what, ALL, options, &n)) return result;
    result.value = near(g, "value", n.refs, wanted);
    result.update = near(g, "update_op", n.updated, wanted);
    braid_pop_name_scope(g);
    return result;
}

braid_metric braid_metric_sensitivity_at_specificity(braid_graph *g, braid_out labels, braid_out predictions,
                                                     double specificity, int num_thresholds,
                                                     const braid_metric_options *options)
{
    curve c = {.m = {.labels = labels, .predictions = predictions}};
    return metric_near(g, "sensitivity_at_specificity", sensitivity_near, specificity, &c, num_thresholds,
                       options);
}

braid_metric braid_metric_specificity_at_sensitivity(braid_graph *g, braid_out labels, braid_out predictions,
                                                     double sensitivity, int num_thresholds,
                                                     const braid_metric_options *options)
{
    curve c = {.m = {.labels = labels, .predictions = predictions}};
    return metric_near(g, "specificity_at_sensitivity", specificity_near, sensitivity, &c, num_thresholds,
                       options);
}

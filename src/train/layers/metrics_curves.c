// Streaming metrics over vectors and matrices of counts: the area under a curve, and intersection by union.
#include "train/layers/metrics_common.h"

#include "base/alloc.h"

// ---- The area under the ROC curve ----

enum {
    TRUE_POSITIVES,
    FALSE_NEGATIVES,
    TRUE_NEGATIVES,
    FALSE_POSITIVES,
    COUNTS
};

// Keeps divisors from zero, as TensorFlow does.
static const double epsilon = 1e-6;

// Evenly spaced thresholds [count, 1]; the ends are just outside of [0, 1].
static braid_out make_thresholds(braid_graph *g, int count)
{
    braid_tensor *t = braid_tensor_new(BRAID_FLOAT, BRAID_SHAPE(count, 1), NULL);
    float *values = braid_tensor_data(t);
    for (int i = 0; i < count; i++)
        values[i] = (float)i / (float)(count - 1);
    values[0] = -1e-7f;
    values[count - 1] = 1 + 1e-7f;
    braid_out out = braid_const(g, "thresholds", t);
    braid_tensor_free(t);
    return out;
}

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

// The weights of the values of each kind, for each threshold: [thresholds].
static void count_kinds(braid_graph *g, braid_out is_label, braid_out is_above, braid_out weights,
                        braid_out *sums)
{
    braid_out not_label = train_node1(g, "LogicalNot", NULL, is_label);
    braid_out not_above = train_node1(g, "LogicalNot", NULL, is_above);
    const braid_out pairs[COUNTS][2] = {
        [TRUE_POSITIVES] = {is_label, is_above},
        [FALSE_NEGATIVES] = {is_label, not_above},
        [TRUE_NEGATIVES] = {not_label, not_above},
        [FALSE_POSITIVES] = {not_label, is_above},
    };
    for (int i = 0; i < COUNTS; i++) {
        braid_out both = train_node2(g, "LogicalAnd", NULL, pairs[i][0], pairs[i][1]);
        both = braid_cast(g, both, BRAID_FLOAT);
        if (weights.op) both = braid_mul(g, both, weights);
        sums[i] = braid_reduce(g, "Sum", both, &(int32_t){1}, 1, false);
    }
}

braid_metric braid_metric_auc(braid_graph *g, braid_out labels, braid_out predictions, int num_thresholds,
                              const braid_metric_options *options)
{
    static const char *const names[COUNTS] = {"true_positives", "false_negatives", "true_negatives",
                                              "false_positives"};
    train_metric m = {.labels = labels, .predictions = predictions};
    braid_metric result = {0};
    const int count = num_thresholds ? num_thresholds : 200;
    if (count < 2 || count > 1000000) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "auc: %d thresholds; 2 to 1000000 are possible", count);
        return result;
    }
    if (!train_metric_begin(g, &m, "auc", options)) return result;
    const braid_shape row = BRAID_SHAPE(1, -1);
    predictions = braid_cast(g, predictions, BRAID_FLOAT);
    braid_out weights = train_metric_weights(g, &m, predictions);
    if (weights.op) weights = braid_reshape(g, train_broadcast_weights(g, weights, predictions), row);
    braid_out is_label = braid_reshape(g, braid_cast(g, labels, BRAID_BOOL), row);
    braid_out is_above =
        train_node2(g, "Greater", NULL, braid_reshape(g, predictions, row), make_thresholds(g, count));
    braid_out sums[COUNTS], refs[COUNTS], updated[COUNTS];
    count_kinds(g, is_label, is_above, weights, sums);
    for (int i = 0; i < COUNTS; i++) {
        refs[i] = train_metric_variable(g, names[i], BRAID_FLOAT, BRAID_SHAPE(count));
        updated[i] = braid_assign_add(g, refs[i], sums[i]);
    }
    if (updated[COUNTS - 1].op) {
        result.value = area(g, "value", refs, count);
        result.update = area(g, "update_op", updated, count);
    }
    braid_pop_name_scope(g);
    return result;
}

// ---- Intersection by union ----

static braid_out flat_classes(braid_graph *g, braid_out x)
{
    return braid_reshape(g, braid_cast(g, x, BRAID_INT64), BRAID_SHAPE(-1));
}

// The weights [classes, classes] of the pairs of label and prediction.
static braid_out confusion_matrix(braid_graph *g, const train_metric *m, int classes)
{
    (void)braid_push_name_scope(g, "confusion_matrix");
    braid_out pair[2] = {flat_classes(g, m->labels), flat_classes(g, m->predictions)};
    braid_out values, weights = train_metric_weights(g, m, m->labels);
    braid_op_desc *d = braid_op_begin(g, "Pack", "stack");
    braid_op_input_list(d, pair, 2);
    braid_op_attr_int(d, "axis", 1);
    braid_out indices = braid_op_end_out(d);
    braid_out ones = braid_cast(g, train_ones_like(g, m->labels), BRAID_FLOAT);
    values = weights.op ? braid_mul(g, ones, weights) : ones;
    values = braid_cast(g, braid_reshape(g, values, BRAID_SHAPE(-1)), BRAID_DOUBLE);
    const int64_t size[] = {classes, classes};
    braid_tensor *t = braid_tensor_from(BRAID_INT64, BRAID_SHAPE(2), size, NULL);
    braid_out shape = braid_const(g, "shape", t);
    braid_tensor_free(t);
    braid_out matrix = train_node3(g, "ScatterNd", NULL, indices, values, shape);
    braid_pop_name_scope(g);
    return matrix;
}

static braid_out mean_of_shares(braid_graph *g, const char *name, braid_out matrix)
{
    braid_out rows = braid_reduce(g, "Sum", matrix, &(int32_t){0}, 1, false);
    braid_out columns = braid_reduce(g, "Sum", matrix, &(int32_t){1}, 1, false);
    braid_out both = train_node1(g, "DiagPart", NULL, matrix);
    braid_out either = braid_sub(g, braid_add(g, rows, columns), both);
    braid_out is_seen = train_op_number(g, "Greater", "Greater", either, 0);
    braid_out seen = train_sum_named(g, NULL, braid_cast(g, is_seen, BRAID_DOUBLE));
    braid_out shares = train_node2(g, "DivNoNan", NULL, both, either);
    return train_node2(g, "DivNoNan", name, train_sum_named(g, NULL, shares), seen);
}

braid_metric braid_metric_mean_iou(braid_graph *g, braid_out labels, braid_out predictions, int num_classes,
                                   const braid_metric_options *options)
{
    train_metric m = {.labels = labels, .predictions = predictions};
    braid_metric result = {0};
    if (num_classes < 1) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "mean_iou: %d classes", num_classes);
        return result;
    }
    if (!train_metric_begin(g, &m, "mean_iou", options)) return result;
    const braid_shape shape = BRAID_SHAPE(num_classes, num_classes);
    braid_out total = train_metric_variable(g, "total_confusion_matrix", BRAID_DOUBLE, shape);
    braid_out updated = braid_assign_add(g, total, confusion_matrix(g, &m, num_classes));
    if (updated.op) {
        result.value = mean_of_shares(g, "mean_iou", total);
        result.update = mean_of_shares(g, "update_op", updated);
    }
    braid_pop_name_scope(g);
    return result;
}

// Streaming metrics over classes: intersection by union, and accuracy by class.
#include "train/layers/metrics_common.h"

static bool begin_classes(braid_graph *g, train_metric *m, const char *what, int num_classes,
                          const braid_metric_options *options)
{
    if (num_classes >= 1) return train_metric_begin(g, m, what, options);
    braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "%s: %d classes", what, num_classes);
    return false;
}

// ---- Intersection by union ----

// The class numbers in a row.
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
    braid_out ones = braid_cast(g, braid_ones_like(g, m->labels), BRAID_FLOAT);
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
    if (!begin_classes(g, &m, "mean_iou", num_classes, options)) return result;
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

// ---- Accuracy by class ----

static braid_out mean_share(braid_graph *g, const char *name, braid_out right, braid_out all)
{
    const braid_out shares = train_node2(g, "DivNoNan", NULL, right, all);
    return shares.op ? train_node2(g, "Mean", name, shares, train_all_axes(g, shares)) : BRAID_NONE;
}

static braid_out add_by_class(braid_graph *g, braid_out counts, braid_out labels, braid_out values)
{
    if (!counts.op) return BRAID_NONE;
    braid_push_colocate(g, counts.op);
    const braid_out out = train_node3(g, "ScatterAdd", NULL, counts, labels, values);
    braid_pop_colocate(g);
    return out;
}

braid_metric braid_metric_mean_per_class_accuracy(braid_graph *g, braid_out labels, braid_out predictions,
                                                  int num_classes, const braid_metric_options *options)
{
    train_metric m = {.labels = labels, .predictions = predictions};
    braid_metric result = {0};
    if (!begin_classes(g, &m, "mean_accuracy", num_classes, options)) return result;
    const braid_out flat = flat_classes(g, labels);
    const braid_out all = train_metric_variable(g, "total", BRAID_FLOAT, BRAID_SHAPE(num_classes));
    const braid_out right = train_metric_variable(g, "count", BRAID_FLOAT, BRAID_SHAPE(num_classes));
    braid_out hits = braid_cast(g, braid_equal(g, flat_classes(g, predictions), flat), BRAID_FLOAT);
    braid_out ones = braid_ones_like(g, hits), weights = train_metric_weights(g, &m, labels);
    if (weights.op) {
        weights = braid_reshape(g, train_broadcast_weights(g, weights, braid_cast(g, labels, BRAID_FLOAT)),
                                BRAID_SHAPE(-1));
        hits = braid_mul(g, hits, weights);
        ones = braid_mul(g, ones, weights);
    }
    const braid_out new_all = add_by_class(g, all, flat, ones);
    const braid_out new_right = add_by_class(g, right, flat, hits);
    if (new_right.op) {
        result.value = mean_share(g, "mean_accuracy", right, all);
        result.update = mean_share(g, "update_op", new_right, new_all);
    }
    braid_pop_name_scope(g);
    return result;
}

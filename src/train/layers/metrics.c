// Streaming metrics that are means or counts of values.
#include "train/layers/metrics_common.h"

#include "train/variables/variable_internal.h"
#include <string.h>

// ---- Common beginnings ----

bool train_metric_begin(braid_graph *g, train_metric *m, const char *what,
                        const braid_metric_options *options)
{
    m->what = what;
    if (options) m->options = *options;
    if (!train_shapes_agree(g, what, m->labels, m->predictions)) return false;
    (void)braid_push_name_scope(g, m->options.name ? m->options.name : what);
    return true;
}

braid_out train_metric_variable(braid_graph *g, const char *name, braid_dtype dtype, braid_shape shape)
{
    braid_tensor *zeros = braid_tensor_new(dtype, shape, NULL);
    if (!zeros) {
        braid_graph_fail(g, BRAID_RESOURCE_EXHAUSTED, "Metric '%s': no memory for its variable", name);
        return BRAID_NONE;
    }
    memset(braid_tensor_data(zeros), 0, braid_tensor_bytes(zeros));
    const braid_out ref = train_local_variable(g, name, zeros).ref;
    braid_tensor_free(zeros);
    if (ref.op) braid_collect(g, BRAID_METRIC_VARIABLES, ref);
    return ref;
}

braid_out train_metric_weights(braid_graph *g, const train_metric *m, braid_out values)
{
    if (!m->options.weights.op) return BRAID_NONE;
    return braid_cast(g, train_check_weights(g, m->what, m->options.weights, values), BRAID_FLOAT);
}

// ---- Means ----

// The mean of float `values`, in the current scope, which it pops. The count waits for the values: a run
// whose values fail counts nothing.
static braid_metric finish_mean(braid_graph *g, const train_metric *m, braid_out values)
{
    braid_metric mean = {0};
    braid_out total = train_metric_variable(g, "total", BRAID_FLOAT, BRAID_SCALAR);
    braid_out count = train_metric_variable(g, "count", BRAID_FLOAT, BRAID_SCALAR);
    braid_out weights = train_metric_weights(g, m, values), added;
    if (weights.op) {
        values = train_node2(g, "Mul", NULL, values, weights);
        added = train_sum_named(g, NULL, train_broadcast_weights(g, weights, values));
    } else {
        added = braid_cast(g, train_size_of(g, values), BRAID_FLOAT);
    }
    if (values.op && total.op) {
        braid_out new_total = braid_assign_add(g, total, train_sum_named(g, NULL, values));
        braid_push_control(g, &values.op, 1);
        braid_out new_count = braid_assign_add(g, count, added);
        braid_pop_control(g);
        mean.value = train_node2(g, "DivNoNan", "value", total, count);
        mean.update = train_node2(g, "DivNoNan", "update_op", new_total, new_count);
    }
    braid_pop_name_scope(g);
    return mean;
}

// Begins a metric of `values` alone.
static bool begin_values(braid_graph *g, train_metric *m, const char *what, braid_out values,
                         const braid_metric_options *options)
{
    m->labels = m->predictions = values;
    return train_metric_begin(g, m, what, options);
}

braid_metric braid_metric_mean(braid_graph *g, braid_out values, const braid_metric_options *options)
{
    train_metric m = {0};
    if (!begin_values(g, &m, "mean", values, options)) return (braid_metric){0};
    return finish_mean(g, &m, braid_cast(g, values, BRAID_FLOAT));
}

braid_metric braid_metric_accuracy(braid_graph *g, braid_out labels, braid_out predictions,
                                   const braid_metric_options *options)
{
    train_metric m = {.labels = labels, .predictions = predictions};
    if (!train_metric_begin(g, &m, "accuracy", options)) return (braid_metric){0};
    predictions = braid_cast(g, predictions, train_base_dtype(braid_out_dtype(labels)));
    return finish_mean(g, &m, braid_cast(g, braid_equal(g, predictions, labels), BRAID_FLOAT));
}

static braid_metric squared_error(braid_graph *g, const char *what, train_metric *m,
                                  const braid_metric_options *options)
{
    if (!train_metric_begin(g, m, what, options)) return (braid_metric){0};
    m->predictions = braid_cast(g, m->predictions, BRAID_FLOAT);
    m->labels = braid_cast(g, m->labels, BRAID_FLOAT);
    return finish_mean(g, m, train_node2(g, "SquaredDifference", NULL, m->predictions, m->labels));
}

braid_metric braid_metric_mean_squared_error(braid_graph *g, braid_out labels, braid_out predictions,
                                             const braid_metric_options *options)
{
    train_metric m = {.labels = labels, .predictions = predictions};
    return squared_error(g, "mean_squared_error", &m, options);
}

braid_metric braid_metric_root_mean_squared_error(braid_graph *g, braid_out labels, braid_out predictions,
                                                  const braid_metric_options *options)
{
    train_metric m = {.labels = labels, .predictions = predictions};
    braid_metric mean = squared_error(g, "root_mean_squared_error", &m, options);
    if (!mean.update.op) return mean;
    return (braid_metric){.value = braid_sqrt(g, mean.value), .update = braid_sqrt(g, mean.update)};
}

braid_metric braid_metric_mean_absolute_error(braid_graph *g, braid_out labels, braid_out predictions,
                                              const braid_metric_options *options)
{
    train_metric m = {.labels = labels, .predictions = predictions};
    if (!train_metric_begin(g, &m, "mean_absolute_error", options)) return (braid_metric){0};
    predictions = braid_cast(g, predictions, BRAID_FLOAT);
    labels = braid_cast(g, labels, BRAID_FLOAT);
    return finish_mean(g, &m, braid_abs(g, train_node2(g, "Sub", NULL, predictions, labels)));
}

// |predictions - labels| / normalizer, 0 where the normalizer is.
braid_metric braid_metric_mean_relative_error(braid_graph *g, braid_out labels, braid_out predictions,
                                              braid_out normalizer, const braid_metric_options *options)
{
    static const char what[] = "mean_relative_error";
    train_metric m = {.labels = labels, .predictions = predictions};
    if (!train_shapes_agree(g, what, predictions, normalizer)) return (braid_metric){0};
    if (!train_metric_begin(g, &m, what, options)) return (braid_metric){0};
    predictions = braid_cast(g, predictions, BRAID_FLOAT);
    labels = braid_cast(g, labels, BRAID_FLOAT);
    normalizer = braid_cast(g, normalizer, BRAID_FLOAT);
    braid_out error = braid_abs(g, train_node2(g, "Sub", NULL, labels, predictions));
    return finish_mean(g, &m, train_node2(g, "DivNoNan", NULL, error, normalizer));
}

braid_metric braid_metric_mean_cosine_distance(braid_graph *g, braid_out labels, braid_out predictions,
                                               int axis, const braid_metric_options *options)
{
    train_metric m = {.labels = labels, .predictions = predictions};
    if (!train_metric_begin(g, &m, "mean_cosine_distance", options)) return (braid_metric){0};
    predictions = braid_cast(g, predictions, BRAID_FLOAT);
    labels = braid_cast(g, labels, BRAID_FLOAT);
    braid_out products = train_node2(g, "Mul", NULL, predictions, labels);
    braid_metric mean = finish_mean(g, &m, braid_reduce(g, "Sum", products, &axis, 1, true));
    if (!mean.update.op) return mean;
    return (braid_metric){.value = train_number_op(g, "Sub", "Sub", 1, mean.value),
                          .update = train_number_op(g, "Sub", "Sub", 1, mean.update)};
}

braid_metric braid_metric_mean_tensor(braid_graph *g, braid_out values, const braid_metric_options *options)
{
    train_metric m = {0};
    braid_metric mean = {0};
    const braid_shape shape = braid_out_shape(values);
    if (values.op && braid_shape_num_elements(shape) < 0)
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "mean_tensor: the shape of '%s' is not fully known",
                         braid_op_name(values.op));
    if (!begin_values(g, &m, "mean", values, options)) return mean;
    values = braid_cast(g, values, BRAID_FLOAT);
    braid_out total = train_metric_variable(g, "total_tensor", BRAID_FLOAT, shape);
    braid_out count = train_metric_variable(g, "count_tensor", BRAID_FLOAT, shape);
    braid_out added = braid_ones_like(g, values), weights = train_metric_weights(g, &m, values);
    if (weights.op) {
        values = train_node2(g, "Mul", NULL, values, weights);
        added = train_node2(g, "Mul", NULL, added, weights);
    }
    if (values.op && total.op) {
        braid_out new_total = braid_assign_add(g, total, values);
        braid_push_control(g, &values.op, 1);
        braid_out new_count = braid_assign_add(g, count, added);
        braid_pop_control(g);
        mean.value = train_node2(g, "DivNoNan", "value", total, count);
        mean.update = train_node2(g, "DivNoNan", "update_op", new_total, new_count);
    }
    braid_pop_name_scope(g);
    return mean;
}

braid_metric braid_metric_percentage_below(braid_graph *g, braid_out values, double threshold,
                                           const braid_metric_options *options)
{
    train_metric m = {0};
    if (!begin_values(g, &m, "percentage_below_threshold", values, options)) return (braid_metric){0};
    braid_out below = train_op_number(g, "Less", "Less", values, threshold);
    return finish_mean(g, &m, braid_cast(g, below, BRAID_FLOAT));
}

braid_metric braid_metric_top_k_accuracy(braid_graph *g, braid_out labels, braid_out predictions, int k,
                                         const braid_metric_options *options)
{
    train_metric m = {0};
    if (!predictions.op || !begin_values(g, &m, "recall_at_k", labels, options)) return (braid_metric){0};
    return finish_mean(g, &m, braid_cast(g, braid_in_top_k(g, predictions, labels, k), BRAID_FLOAT));
}

// ---- Counts ----

// Which labels and predictions a count counts.
typedef struct kind {
    const char *name;
    bool label, prediction;
} kind;

static const kind true_positives = {"true_positives", true, true};
static const kind false_positives = {"false_positives", false, true};
static const kind true_negatives = {"true_negatives", false, false};
static const kind false_negatives = {"false_negatives", true, false};

static braid_out is(braid_graph *g, braid_out x, bool wanted)
{
    return wanted ? x : train_node1(g, "LogicalNot", NULL, x);
}

static braid_metric count(braid_graph *g, const kind *k, braid_out labels, braid_out predictions,
                          const braid_metric_options *options)
{
    train_metric m = {.labels = labels, .predictions = predictions};
    if (!train_metric_begin(g, &m, k->name, options)) return (braid_metric){0};
    braid_metric result = {0};
    labels = is(g, braid_cast(g, labels, BRAID_BOOL), k->label);
    predictions = is(g, braid_cast(g, predictions, BRAID_BOOL), k->prediction);
    braid_out values = braid_cast(g, train_node2(g, "LogicalAnd", NULL, labels, predictions), BRAID_FLOAT);
    braid_out sum = train_metric_variable(g, "count", BRAID_FLOAT, BRAID_SCALAR);
    braid_out weights = train_metric_weights(g, &m, values);
    if (weights.op) values = train_node2(g, "Mul", NULL, values, weights);
    if (values.op && sum.op) {
        result.value = braid_identity(g, NULL, sum);
        result.update = braid_assign_add(g, sum, train_sum_named(g, NULL, values));
    }
    braid_pop_name_scope(g);
    return result;
}

braid_metric braid_metric_true_positives(braid_graph *g, braid_out labels, braid_out predictions,
                                         const braid_metric_options *options)
{
    return count(g, &true_positives, labels, predictions, options);
}

braid_metric braid_metric_false_positives(braid_graph *g, braid_out labels, braid_out predictions,
                                          const braid_metric_options *options)
{
    return count(g, &false_positives, labels, predictions, options);
}

braid_metric braid_metric_true_negatives(braid_graph *g, braid_out labels, braid_out predictions,
                                         const braid_metric_options *options)
{
    return count(g, &true_negatives, labels, predictions, options);
}

braid_metric braid_metric_false_negatives(braid_graph *g, braid_out labels, braid_out predictions,
                                          const braid_metric_options *options)
{
    return count(g, &false_negatives, labels, predictions, options);
}

// The share of the true positives in them and the counts of `other`.
static braid_metric share(braid_graph *g, const char *what, const kind *other, train_metric *m,
                          const braid_metric_options *options)
{
    if (!train_metric_begin(g, m, what, options)) return (braid_metric){0};
    const braid_metric_options inner = {.weights = m->options.weights};
    braid_metric hits = count(g, &true_positives, m->labels, m->predictions, &inner);
    braid_metric others = count(g, other, m->labels, m->predictions, &inner), result = {0};
    if (hits.update.op && others.update.op) {
        braid_out all = braid_add(g, hits.value, others.value);
        result.value = train_node2(g, "DivNoNan", "value", hits.value, all);
        all = braid_add(g, hits.update, others.update);
        result.update = train_node2(g, "DivNoNan", "update_op", hits.update, all);
    }
    braid_pop_name_scope(g);
    return result;
}

braid_metric braid_metric_precision(braid_graph *g, braid_out labels, braid_out predictions,
                                    const braid_metric_options *options)
{
    train_metric m = {.labels = labels, .predictions = predictions};
    return share(g, "precision", &false_positives, &m, options);
}

braid_metric braid_metric_recall(braid_graph *g, braid_out labels, braid_out predictions,
                                 const braid_metric_options *options)
{
    train_metric m = {.labels = labels, .predictions = predictions};
    return share(g, "recall", &false_negatives, &m, options);
}

// Metrics of heads: those of metrics.h under TensorFlow's names, and two that are made of others.
#include "train/estimator/head_metrics.h"
#include "train/common/build.h"

#define CURVE_THRESHOLDS 200
#define CURVE_EPSILON 1e-7f // TensorFlow's: the first and the last threshold are outside of [0, 1]
#define SHARE_EPSILON 1e-6f // TensorFlow's, of both parts of a quotient

static braid_metric_options options_of(const train_judged *j, const char *name)
{
    return (braid_metric_options){.weights = j->weights, .name = name};
}

void train_metric_average_loss(braid_graph *g, const train_judged *j, braid_estimator_spec *spec)
{
    const braid_metric_options o = options_of(j, "average_loss");
    braid_spec_eval_metric(spec, "average_loss", braid_metric_mean(g, j->losses, &o));
}

void train_metric_accuracy(braid_graph *g, const train_judged *j, braid_out class_ids,
                           braid_estimator_spec *spec)
{
    const braid_metric_options o = options_of(j, "accuracy");
    braid_spec_eval_metric(spec, "accuracy", braid_metric_accuracy(g, j->labels, class_ids, &o));
}

static braid_metric mean_of(braid_graph *g, const train_judged *j, const char *name, braid_out values)
{
    const braid_metric_options o = options_of(j, name);
    return braid_metric_mean(g, values, &o);
}

void train_metrics_regression(braid_graph *g, const train_judged *j, braid_out predictions,
                              braid_estimator_spec *spec)
{
    braid_spec_eval_metric(spec, "label/mean", mean_of(g, j, "label_mean", j->labels));
    braid_spec_eval_metric(spec, "prediction/mean", mean_of(g, j, "prediction_mean", predictions));
}

// The accuracy of always predicting the more frequent class.
static braid_out baseline(braid_graph *g, braid_out mean)
{
    return braid_maximum(g, mean, train_number_op(g, "Sub", "other", 1, mean));
}

// ---- The area under the curve of precision over recall ----

typedef struct curve_counts {
    braid_out true_positives, false_positives, false_negatives; // [CURVE_THRESHOLDS]
} curve_counts;

static braid_out part(braid_graph *g, braid_out x, int64_t first)
{
    return braid_slice(g, x, &first, BRAID_SHAPE(CURVE_THRESHOLDS - 1));
}

static braid_out share(braid_graph *g, braid_out some, braid_out others)
{
    const braid_out all = braid_add(g, some, others), epsilon = braid_const_float(g, NULL, SHARE_EPSILON);
    return braid_div(g, braid_add(g, some, epsilon), braid_add(g, all, epsilon));
}

// By the trapezoidal rule, as TensorFlow's heads do, although precision is not linear in recall.
static braid_out area(braid_graph *g, const curve_counts *c)
{
    const braid_out recall = share(g, c->true_positives, c->false_negatives);
    const braid_out precision = share(g, c->true_positives, c->false_positives);
    const braid_out width = braid_sub(g, part(g, recall, 0), part(g, recall, 1));
    const braid_out height = braid_add(g, part(g, precision, 0), part(g, precision, 1));
    const braid_out doubled = braid_reduce_sum(g, braid_mul(g, width, height));
    return train_op_number(g, "Mul", "area", doubled, 0.5);
}

static braid_metric precision_recall_area(braid_graph *g, const train_judged *j, braid_out logistic)
{
    float thresholds[CURVE_THRESHOLDS];
    for (int i = 0; i < CURVE_THRESHOLDS; i++)
        thresholds[i] = (float)i / (CURVE_THRESHOLDS - 1);
    thresholds[0] = -CURVE_EPSILON;
    thresholds[CURVE_THRESHOLDS - 1] = 1 + CURVE_EPSILON;
    const braid_metric_options o = options_of(j, NULL);
    (void)braid_push_name_scope(g, "auc_precision_recall");
    const braid_metric tp =
        braid_metric_true_positives_at_thresholds(g, j->labels, logistic, thresholds, CURVE_THRESHOLDS, &o);
    const braid_metric fp =
        braid_metric_false_positives_at_thresholds(g, j->labels, logistic, thresholds, CURVE_THRESHOLDS, &o);
    const braid_metric fn =
        braid_metric_false_negatives_at_thresholds(g, j->labels, logistic, thresholds, CURVE_THRESHOLDS, &o);
    const braid_metric m = {
        .value = area(g, &(curve_counts){tp.value, fp.value, fn.value}),
        .update = area(g, &(curve_counts){tp.update, fp.update, fn.update}),
    };
    braid_pop_name_scope(g);
    return m;
}

void train_metrics_binary(braid_graph *g, const train_judged *j, braid_out logistic, braid_out class_ids,
                          braid_estimator_spec *spec)
{
    train_metric_accuracy(g, j, class_ids, spec);
    braid_metric_options o = options_of(j, "precision");
    braid_spec_eval_metric(spec, "precision", braid_metric_precision(g, j->labels, class_ids, &o));
    o.name = "recall";
    braid_spec_eval_metric(spec, "recall", braid_metric_recall(g, j->labels, class_ids, &o));
    train_metrics_regression(g, j, logistic, spec);
    const braid_metric mean = mean_of(g, j, "accuracy_baseline", j->labels);
    const braid_metric base = {baseline(g, mean.value), baseline(g, mean.update)};
    braid_spec_eval_metric(spec, "accuracy_baseline", base);
    o.name = "auc";
    braid_spec_eval_metric(spec, "auc", braid_metric_auc(g, j->labels, logistic, 0, &o));
    braid_spec_eval_metric(spec, "auc_precision_recall", precision_recall_area(g, j, logistic));
}

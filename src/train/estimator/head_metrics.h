// The metrics of heads, with TensorFlow's names.
#ifndef BD_TRAIN_HEAD_METRICS_H
#define BD_TRAIN_HEAD_METRICS_H

#include <braid/estimator.h>

// What an evaluation compares.
typedef struct train_judged {
    braid_out labels;  // [batch, n]
    braid_out weights; // [batch, 1]; op NULL: 1
    braid_out losses;  // [batch, n]
} train_judged;

void train_metric_average_loss(braid_graph *g, const train_judged *j, braid_estimator_spec *spec);
void train_metric_accuracy(braid_graph *g, const train_judged *j, braid_out class_ids,
                           braid_estimator_spec *spec);
// Accuracy, its baseline, precision, recall, means and the areas under the two curves.
void train_metrics_binary(braid_graph *g, const train_judged *j, braid_out logistic, braid_out class_ids,
                          braid_estimator_spec *spec);
// The means of labels and predictions.
void train_metrics_regression(braid_graph *g, const train_judged *j, braid_out predictions,
                              braid_estimator_spec *spec);

#endif

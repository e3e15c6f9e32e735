// Beginnings of streaming metrics: their variables and inputs.
#ifndef BD_TRAIN_METRICS_COMMON_H
#define BD_TRAIN_METRICS_COMMON_H

#include "train/common/build.h"
#include "train/common/weights.h"
#include <braid/metrics.h>

// A metric while it is built.
typedef struct train_metric {
    const char *what;
    braid_metric_options options;
    braid_out labels, predictions;
} train_metric;

// Checks labels and predictions and enters the metric's name scope, which the caller pops. False: the graph
// has failed.
bool train_metric_begin(braid_graph *g, train_metric *m, const char *what,
                        const braid_metric_options *options);

// A variable of zeros, local and in the collection of metrics.
braid_out train_metric_variable(braid_graph *g, const char *name, braid_dtype dtype, braid_shape shape);

// Element-wise weights for `values`, float; op NULL: none.
braid_out train_metric_weights(braid_graph *g, const train_metric *m, braid_out values);

#endif

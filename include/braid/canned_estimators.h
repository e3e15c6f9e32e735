// Estimators whose models are ready made: linear models, networks of dense layers, and both together
// (tf.estimator.LinearClassifier, DNNClassifier, DNNLinearCombinedClassifier and their regressors).
//
//     braid_estimator *e = braid_linear_classifier(&(braid_canned_options){
//         .linear_columns = columns, .linear_column_count = 3, .config = config}, status);
//
// Names of variables, of the optimizers' slots, of metrics, predictions and signatures are TensorFlow's.
//
// Labels. Of a classifier of two classes: 0 or 1, of any number type. Of more classes: numbers in [0,
// num_classes), int32 or int64. Either takes strings with a label vocabulary. Other labels fail the step with
// InvalidArgument. Of a regressor: numbers. [batch] or [batch, label_dimension].
//
// Predictions. Of two classes: "logits" and "logistic" [batch, 1], "probabilities" [batch, 2], "class_ids"
// and "classes" (strings) [batch, 1], "all_class_ids" and "all_classes" [batch, 2]. Of more classes: the same
// without "logistic". Of a regressor: "predictions" [batch, label_dimension].
//
// Metrics. "loss" (the mean of the batches' losses), "average_loss" (of the examples), "label/mean" and
// "prediction/mean", which classifiers of more than two classes do not have; of classifiers "accuracy"; of
// two classes also "accuracy_baseline", "precision", "recall", "auc", "auc_precision_recall".
#ifndef BRAID_CANNED_ESTIMATORS_H
#define BRAID_CANNED_ESTIMATORS_H

#include <braid/estimator.h>
#include <braid/feature_column.h>
#include <braid/losses.h>
#include <braid/optimizers.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Makes an optimizer of a graph; `arg` is the caller's.
typedef struct braid_optimizer_maker {
    braid_optimizer *(*make)(void *arg, braid_graph *graph); ///< NULL: the default of the model
    void *arg;
} braid_optimizer_maker;

/// Options of all models; all zero is the default of each. The structure is copied; what it points to lives
/// as long as the estimator.
typedef struct braid_canned_options {
    const braid_run_config *config;     ///< as for braid_estimator_options
    const char *warm_start_from;        ///< the same
    const braid_warm_start *warm_start; ///< the same
    /// Of the linear part: numeric and categorical columns. [linear_column_count]
    const braid_feature_column *linear_columns;
    int linear_column_count;
    /// Of the network: dense columns. [dnn_column_count]
    const braid_feature_column *dnn_columns;
    int dnn_column_count;
    const int *hidden_units; ///< [hidden_layer_count] of the network
    int hidden_layer_count;
    braid_activation activation; ///< of the hidden layers; NULL: braid_relu
    double dropout;              ///< the share of hidden units that are dropped in training
    bool batch_norm;             ///< batch normalization after each hidden layer, with a momentum of 0.999
    int64_t num_classes;         ///< of a classifier; 0: 2
    /// Of a classifier whose labels are strings: those of its classes [num_classes], in order. NULL: labels
    /// are numbers.
    const braid_tensor *label_vocabulary;
    int64_t label_dimension;   ///< of a regressor; 0: 1
    const char *weight_column; ///< a feature that weighs the examples, [batch] or [batch, 1]; NULL: none
    /// How the losses of a batch become one, if `has_loss_reduction`; else their sum (TensorFlow 1.x).
    braid_reduction loss_reduction;
    bool has_loss_reduction;
    /// Of the linear part: Ftrl with a learning rate of 0.2, in a combined model min(0.005, 1 /
    /// sqrt(columns)). Of the network: Adagrad with a learning rate of 0.05, in a combined model 0.001. These
    /// are TensorFlow's.
    braid_optimizer_maker linear_optimizer, dnn_optimizer;
    /// Divides linear weights and the tables of embeddings into parts of rows (axis 0), each on a parameter
    /// server (`partitioner` of LinearClassifier, `input_layer_partitioner` of the others). `shards` NULL: at
    /// most as many parts as there are parameter servers, of 64 MiB at least. The layers of the network are
    /// divided likewise, into parts of 256 KiB at least, whatever is set here.
    braid_partitioner partitioner;
} braid_canned_options;

/// The caller frees the estimator. NULL on an error: InvalidArgument for missing columns or hidden layers, or
/// for num_classes below 2; as braid_estimator_new.
BRAID_API braid_estimator *braid_linear_classifier(const braid_canned_options *options, braid_status *status);
BRAID_API braid_estimator *braid_linear_regressor(const braid_canned_options *options, braid_status *status);
BRAID_API braid_estimator *braid_dnn_classifier(const braid_canned_options *options, braid_status *status);
BRAID_API braid_estimator *braid_dnn_regressor(const braid_canned_options *options, braid_status *status);
BRAID_API braid_estimator *braid_dnn_linear_combined_classifier(const braid_canned_options *options,
                                                                braid_status *status);
BRAID_API braid_estimator *braid_dnn_linear_combined_regressor(const braid_canned_options *options,
                                                               braid_status *status);

#ifdef __cplusplus
}
#endif
#endif

// Estimators: a model and the loops that train it, evaluate it, predict with it and export it, alone or in a
// cluster (tf.estimator).
//
//     static void model(const braid_model_args *args, braid_estimator_spec *spec)
//     {
//         braid_graph *g = args->graph;
//         braid_out logits = braid_dense(g, "logits", braid_features_get(args, "x"), 10);
//         braid_spec_prediction(spec, "class_ids", braid_argmax(g, logits, 1));
//         if (args->mode == BRAID_MODE_PREDICT) return;
//         braid_out loss = braid_loss_sparse_softmax_cross_entropy(g, braid_labels_get(args), logits, NULL);
//         braid_spec_loss(spec, loss);
//         if (args->mode == BRAID_MODE_TRAIN)
//             braid_spec_train_op(spec, braid_minimize(braid_adam(g, 0.001f), loss, braid_global_step(g)));
//     }
//     braid_estimator *e = braid_estimator_new(&(braid_estimator_options){.model_fn = model}, status);
//     braid_estimator_train(e, &(braid_train_options){.input = input, .steps = 1000}, status);
//
// Each call builds a graph anew: the global step, the input, then the model. Models that are ready made are
// in canned_estimators.h, input functions in estimator_inputs.h. All functions block. An estimator is used by
// one thread at a time.
#ifndef BRAID_ESTIMATOR_H
#define BRAID_ESTIMATOR_H

#include <braid/hooks.h>
#include <braid/metrics.h>
#include <braid/parsing.h>
#include <braid/run_config.h>
#include <braid/scaffold.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a graph is built for (tf.estimator.ModeKeys).
typedef enum braid_mode {
    BRAID_MODE_TRAIN = 0,
    BRAID_MODE_EVAL = 1,
    BRAID_MODE_PREDICT = 2 ///< also for models that are exported
} braid_mode;

/// A tensor with a name.
typedef struct braid_named_tensor {
    const char *name;
    braid_out values; ///< dense: [batch, ...]; sparse: [n]
    /// Of a sparse tensor (braid_sparse): [n, 2] and [2]; op NULL: the tensor is dense.
    braid_out indices, dense_shape;
} braid_named_tensor;

// ---- Input functions ----

/// The features and labels that an input function makes.
typedef struct braid_inputs braid_inputs;

/// Builds the nodes that give a batch of features and labels in each run, and names them. `arg` is the
/// caller's. A step ends the input by OutOfRange, as iterators do at the end of their dataset.
typedef void (*braid_input_build)(void *arg, braid_graph *graph, braid_inputs *inputs);

/// An input function: a value.
typedef struct braid_input {
    braid_input_build build;
    void *arg;
} braid_input;

/// Adds a feature. Names are copied.
BRAID_API void braid_inputs_feature(braid_inputs *inputs, const char *name, braid_out value);
BRAID_API void braid_inputs_sparse_feature(braid_inputs *inputs, const char *name, braid_sparse value);
/// Adds a label. `name` NULL: the only one.
BRAID_API void braid_inputs_label(braid_inputs *inputs, const char *name, braid_out value);
/// Adds a hook of the sessions that use the input, which take it and free it.
BRAID_API void braid_inputs_hook(braid_inputs *inputs, braid_hook *hook);
/// What the input is for: the mode, the configuration (a worker's part of the data, for instance), and the
/// params of the estimator.
BRAID_API braid_mode braid_inputs_mode(const braid_inputs *inputs);
BRAID_API const braid_run_config *braid_inputs_config(const braid_inputs *inputs);
BRAID_API void *braid_inputs_params(const braid_inputs *inputs);

// ---- Model functions ----

/// What a model function builds from.
typedef struct braid_model_args {
    braid_graph *graph;
    const braid_named_tensor *features; ///< [feature_count]
    int feature_count;
    const braid_named_tensor *labels; ///< [label_count]; none to predict
    int label_count;
    braid_mode mode;
    void *params; ///< of the estimator's options
    const braid_run_config *config;
} braid_model_args;

/// The feature of that name. The graph fails with NotFound, listing the features, when there is none; the op
/// is NULL then. `name` NULL: the only feature.
BRAID_API braid_out braid_features_get(const braid_model_args *args, const char *name);
/// The same with the parts of a sparse feature; NULL when there is none.
BRAID_API const braid_named_tensor *braid_features_find(const braid_model_args *args, const char *name);
/// The label of that name, and the only label. The graph fails when there is none.
BRAID_API braid_out braid_labels_find(const braid_model_args *args, const char *name);
BRAID_API braid_out braid_labels_get(const braid_model_args *args);

/// What a model function makes (tf.estimator.EstimatorSpec).
typedef struct braid_estimator_spec braid_estimator_spec;

/// Builds a model in `args->graph` and says in `spec` what it consists of: predictions to predict, the loss
/// to evaluate, loss and train_op to train. Errors are the graph's.
typedef void (*braid_model_fn)(const braid_model_args *args, braid_estimator_spec *spec);

/// Adds a prediction [batch, ...].
BRAID_API void braid_spec_prediction(braid_estimator_spec *spec, const char *name, braid_out value);
/// Sets the loss, a scalar, and the node that makes a step of training, which counts the global step up.
BRAID_API void braid_spec_loss(braid_estimator_spec *spec, braid_out loss);
BRAID_API void braid_spec_train_op(braid_estimator_spec *spec, braid_op *train_op);
/// The prediction of that name; `name` NULL: the only one. The graph fails with NotFound, listing the
/// predictions, when there is none; the op is NULL then.
BRAID_API braid_out braid_predictions_get(const braid_model_args *args, const braid_estimator_spec *spec,
                                          const char *name);
/// Adds a metric, or replaces the one of that name. The name "loss" is the estimator's: the mean of the losses
/// of all batches.
BRAID_API void braid_spec_eval_metric(braid_estimator_spec *spec, const char *name, braid_metric metric);
/// Adds hooks to training, to the chief's training alone, to evaluation and to prediction. The session takes
/// and frees them; a spec that is not used for that mode frees them.
BRAID_API void braid_spec_training_hook(braid_estimator_spec *spec, braid_hook *hook);
BRAID_API void braid_spec_training_chief_hook(braid_estimator_spec *spec, braid_hook *hook);
BRAID_API void braid_spec_evaluation_hook(braid_estimator_spec *spec, braid_hook *hook);
BRAID_API void braid_spec_prediction_hook(braid_estimator_spec *spec, braid_hook *hook);
/// Sets the scaffold, which is copied; what it names lives as long as the graph.
BRAID_API void braid_spec_scaffold(braid_estimator_spec *spec, const braid_scaffold *scaffold);

/// The key of the signature that servers take when a request names none.
#define BRAID_SERVING_DEFAULT "serving_default"

/// Adds an output of exported models (export_outputs): what a request of the signature `key` gets. Without
/// any, BRAID_SERVING_DEFAULT gives the predictions. One output alone is the default, too.
///
/// Regression: `value`, float [batch] or [batch, 1]. Classification: `scores`, float [batch, classes], and
/// `classes`, string [batch, classes]; one of them may be none. Both need an input of serialized Examples;
/// without it their signatures are left out. Predict: any outputs.
BRAID_API void braid_spec_export_regression(braid_estimator_spec *spec, const char *key, braid_out value);
BRAID_API void braid_spec_export_classification(braid_estimator_spec *spec, const char *key, braid_out scores,
                                                braid_out classes);
BRAID_API void braid_spec_export_predict(braid_estimator_spec *spec, const char *key,
                                         const braid_named_tensor *outputs, int count);

// ---- Estimators ----

typedef struct braid_estimator braid_estimator;

/// A variable of a model that has another name in the checkpoint of an earlier model.
typedef struct braid_renamed_variable {
    const char *name, *previous;
} braid_renamed_variable;

/// Which variables begin with values of another model (tf.estimator.WarmStartSettings). Partitioned variables
/// have the names of the whole.
typedef struct braid_warm_start {
    const char *from; ///< a checkpoint, or a directory whose newest one is taken (ckpt_to_initialize_from)
    /// A regular expression (POSIX extended) that matches the beginning of their names (vars_to_warm_start).
    /// NULL: all.
    const char *variables;
    /// Variables that are not trained are considered, too: slots of optimizers, moving averages.
    bool untrained;
    /// [renamed_count] Variables that the checkpoint has under other names (var_name_to_prev_var_name).
    const braid_renamed_variable *renamed;
    int renamed_count;
} braid_warm_start;

typedef struct braid_estimator_options {
    braid_model_fn model_fn;
    void *params; ///< passed to model and input functions; not owned
    /// Must outlive the estimator. NULL: braid_run_config_new of the defaults.
    const braid_run_config *config;
    /// A checkpoint, or a directory whose newest one is taken, from which the first training begins:
    /// trainable variables that it has get its values. Copied; NULL: none. A model that has a checkpoint of
    /// its own goes on from that.
    const char *warm_start_from;
    /// The same, with more to say. Copied, with what it points to; NULL: none.
    const braid_warm_start *warm_start;
} braid_estimator_options;

/// Makes an estimator. The caller frees it. NULL on an error: those of braid_run_config_new, InvalidArgument
/// without a model function, for both kinds of warm start at once, and for a wrong regular expression.
BRAID_API braid_estimator *braid_estimator_new(const braid_estimator_options *options, braid_status *status);
/// Ends the server of the task, if the estimator has started it, and frees. NULL is accepted.
BRAID_API void braid_estimator_free(braid_estimator *estimator);

BRAID_API const char *braid_estimator_model_dir(const braid_estimator *estimator);
BRAID_API const braid_run_config *braid_estimator_config(const braid_estimator *estimator);
BRAID_API void *braid_estimator_params(const braid_estimator *estimator);
/// The prefix of the newest checkpoint (free() it); NULL on an error: NotFound when there is none. For names
/// and values of variables give it, or the model directory, to a checkpoint reader (checkpoint_reader.h).
BRAID_API char *braid_estimator_latest_checkpoint(const braid_estimator *estimator, braid_status *status);

/// Builds metrics in the graph of an evaluation, after the model: from features and labels, and from its
/// predictions (braid_predictions_get), and adds them (braid_spec_eval_metric).
typedef void (*braid_metric_fn)(const braid_model_args *args, braid_estimator_spec *spec, void *arg);

/// Adds metrics to all later evaluations (tf.estimator.add_metrics, which makes another estimator). `arg`
/// lives as long as the estimator.
BRAID_API void braid_estimator_add_metrics(braid_estimator *estimator, braid_metric_fn metric_fn, void *arg);

// ---- Training ----

typedef struct braid_train_options {
    braid_input input;
    /// Steps from the step at which training begins, or the global step at which it ends; neither given:
    /// until the input ends. Training that has reached `max_steps` before makes no step.
    int64_t steps, max_steps;
    braid_hook *const *hooks;                   ///< BRAID_HOOKS; taken and freed, also on an error
    const braid_checkpoint_listener *listeners; ///< [listener_count], of the chief's checkpoints
    int listener_count;
} braid_train_options;

/// Trains, from the newest checkpoint of the model directory if there is one. In a cluster the chief and the
/// workers call it, and the variables are on the parameter servers. Errors: InvalidArgument for `steps` and
/// `max_steps` at once, for a spec without loss or train_op; NotFound for a warm start whose checkpoint, or a
/// renamed variable of it, does not exist; FailedPrecondition in a parameter server or an
/// evaluator, and for a loss that is not a number; those of the graph and of the session.
BRAID_API braid_code braid_estimator_train(braid_estimator *estimator, const braid_train_options *options,
                                           braid_status *status);

// ---- Evaluation ----

typedef struct braid_evaluate_options {
    braid_input input;
    int64_t steps;               ///< batches; 0: until the input ends
    braid_hook *const *hooks;    ///< taken and freed, also on an error
    const char *checkpoint_path; ///< NULL: the newest of the model directory
    const char *name;            ///< of the directory eval_NAME; NULL: "eval"
} braid_evaluate_options;

/// Named values of one evaluation.
typedef struct braid_evaluation braid_evaluation;

/// Evaluates a checkpoint: runs the metrics over the input, and writes their values to an event file in the
/// directory "eval" of the model directory. A model that has no checkpoint is evaluated with the first values
/// of its variables, and a warning says so. The caller frees the result. NULL on an error: InvalidArgument
/// for a spec without loss; NotFound for a `checkpoint_path` that does not exist; those of graph and session.
BRAID_API braid_evaluation *braid_estimator_evaluate(braid_estimator *estimator,
                                                     const braid_evaluate_options *options,
                                                     braid_status *status);
BRAID_API void braid_evaluation_free(braid_evaluation *evaluation);
/// The number of values, their names in order, and the values: those of the metrics, "loss" and
/// "global_step". Owned by the evaluation.
BRAID_API int braid_evaluation_count(const braid_evaluation *evaluation);
BRAID_API const char *braid_evaluation_name(const braid_evaluation *evaluation, int index);
BRAID_API const braid_tensor *braid_evaluation_value(const braid_evaluation *evaluation, int index);
/// Stores the number of that name; false when there is none, or when its value is not one number.
BRAID_API bool braid_evaluation_get(const braid_evaluation *evaluation, const char *name, double *value);

// ---- Prediction ----

typedef struct braid_predict_options {
    braid_input input; ///< its labels are ignored
    /// [key_count] names of predictions; NULL: all (predict_keys)
    const char *const *keys;
    int key_count;
    braid_hook *const *hooks;    ///< taken and freed, also on an error
    const char *checkpoint_path; ///< NULL: the newest of the model directory
    /// Each result is a batch as the model gives it; else one example (yield_single_examples=False).
    bool whole_batches;
} braid_predict_options;

/// The results of a model for an input, one after another.
typedef struct braid_predictor braid_predictor;

/// Opens a session of the model with the values of a checkpoint. The caller frees it, before the estimator.
/// NULL on an error: NotFound for a key that the model does not predict; as for evaluation.
BRAID_API braid_predictor *braid_estimator_predict(braid_estimator *estimator,
                                                   const braid_predict_options *options,
                                                   braid_status *status);
/// The number of predictions of each result, and their names. Owned by the predictor.
BRAID_API int braid_predictor_count(const braid_predictor *predictor);
BRAID_API const char *braid_predictor_name(const braid_predictor *predictor, int index);
/// Computes the next result and stores its predictions to `values` [braid_predictor_count], which are the
/// predictor's and valid until the next call. OutOfRange after the last one; InvalidArgument when predictions
/// of one batch differ in their first dimension and `whole_batches` is not set.
BRAID_API braid_code braid_predictor_next(braid_predictor *predictor, const braid_tensor **values,
                                          braid_status *status);
/// Closes the session. NULL is accepted.
BRAID_API void braid_predictor_free(braid_predictor *predictor);

// ---- Export ----

/// The inputs of an exported model.
typedef struct braid_receiver braid_receiver;

/// Builds the placeholders of requests and the features from them (serving_input_receiver_fn).
typedef struct braid_serving_input {
    void (*build)(void *arg, braid_graph *graph, braid_receiver *receiver);
    void *arg;
} braid_serving_input;

/// Adds a placeholder that requests feed under `name`, and a feature of the model.
BRAID_API void braid_receiver_tensor(braid_receiver *receiver, const char *name, braid_out placeholder);
BRAID_API void braid_receiver_feature(braid_receiver *receiver, const char *name, braid_out value);
BRAID_API void braid_receiver_sparse_feature(braid_receiver *receiver, const char *name, braid_sparse value);

/// Inputs that requests feed as they are: a placeholder for each feature
/// (build_raw_serving_input_receiver_fn).
typedef struct braid_raw_feature {
    const char *name;
    braid_dtype dtype;
    braid_shape shape; ///< with the batch: BRAID_SHAPE(-1, 784)
} braid_raw_feature;
typedef struct braid_raw_features {
    const braid_raw_feature *features; ///< [count]
    int count;
} braid_raw_features;
/// `features` lives as long as the serving input is used.
BRAID_API braid_serving_input braid_raw_serving_input(const braid_raw_features *features);

/// Inputs of serialized Examples, a string vector that requests feed as "examples"
/// (build_parsing_serving_input_receiver_fn).
typedef struct braid_parsed_features {
    const braid_feature *features; ///< [count]
    int count;
} braid_parsed_features;
BRAID_API braid_serving_input braid_parsing_serving_input(const braid_parsed_features *features);

typedef struct braid_export_options {
    const char *checkpoint_path; ///< NULL: the newest of the model directory
} braid_export_options;

/// Exports a model as a SavedModel with the tag "serve": DIR/SECONDS/saved_model.pb, variables/, and in
/// assets/ copies of the files that the graph reads (vocabularies of columns; BRAID_ASSET_FILEPATHS of
/// scaffold.h), so that the directory may be moved. Other programs see it when it is complete. Returns its
/// path (free() it). `options` NULL: the defaults. NULL on an error: NotFound without a checkpoint or for a
/// file that this process cannot read, InvalidArgument for a spec without predictions or a serving input
/// without placeholders.
BRAID_API char *braid_estimator_export_saved_model(braid_estimator *estimator, const char *export_dir_base,
                                                   braid_serving_input input,
                                                   const braid_export_options *options, braid_status *status);

// ---- Training and evaluation in a cluster ----

typedef struct braid_train_spec {
    braid_input input;
    int64_t max_steps;        ///< the global step at which training ends; 0: until the input ends
    braid_hook *const *hooks; ///< taken and freed, also where this task does not train
} braid_train_spec;

typedef struct braid_exporter braid_exporter;
/// Exports a model after evaluations (tf.estimator.Exporter). A value; make your own by setting
/// `export_model`.
struct braid_exporter {
    const char *name; ///< models are below MODEL_DIR/export/NAME
    /// Called after each evaluation. `is_final`: training has ended.
    braid_code (*export_model)(const braid_exporter *exporter, braid_estimator *estimator,
                               const char *export_path, const char *checkpoint_path,
                               const braid_evaluation *evaluation, bool is_final, braid_status *status);
    braid_serving_input input;
    int exports_to_keep; ///< older ones are removed; 0: 5; negative: all stay
};
/// A model once, when training has ended (FinalExporter); after each evaluation (LatestExporter); and
/// whenever "loss" is smaller than in all evaluations before, those of earlier runs included (BestExporter).
BRAID_API braid_exporter braid_final_exporter(const char *name, braid_serving_input input);
BRAID_API braid_exporter braid_latest_exporter(const char *name, braid_serving_input input);
BRAID_API braid_exporter braid_best_exporter(const char *name, braid_serving_input input);

typedef struct braid_eval_spec {
    braid_input input;
    int64_t steps;                   ///< batches of an evaluation; 0: 100; negative: until the input ends
    const char *name;                ///< as of braid_evaluate_options
    const braid_exporter *exporters; ///< [exporter_count]
    int exporter_count;
    double throttle_seconds; ///< the least time between the starts of two evaluations; 0: 600; negative: none
    /// How long an evaluator waits for a new checkpoint; 0: two hours, or what the environment variable
    /// BRAID_START_TIMEOUT_SECONDS says.
    double checkpoint_timeout_seconds;
} braid_eval_spec;

/// Does the work of this task (tf.estimator.train_and_evaluate).
///
/// Alone: trains, and evaluates checkpoints when they are saved (`throttle_seconds` apart) and at the end; so
/// does a master. The chief and workers train; workers begin at once, because they wait for the chief and not
/// for a time. A parameter server serves until they are done. An evaluator evaluates new checkpoints as they
/// come, and ends when it has evaluated the last one: one of step `max_steps` or later, or the newest of a
/// chief that has ended without an error (the chief then makes the file MODEL_DIR/training_ended).
/// DeadlineExceeded when no checkpoint comes for `checkpoint_timeout_seconds`. The last evaluation is final
/// for exporters.
///
/// The server of the task, if the estimator has started it, ends with this call.
BRAID_API braid_code braid_train_and_evaluate(braid_estimator *estimator, const braid_train_spec *train,
                                              const braid_eval_spec *eval, braid_status *status);

#ifdef __cplusplus
}
#endif
#endif

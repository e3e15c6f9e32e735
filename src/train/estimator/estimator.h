// The inside of an estimator: what a call builds, and the server of the task.
#ifndef BD_TRAIN_ESTIMATOR_H
#define BD_TRAIN_ESTIMATOR_H

#include "base/array.h"
#include "base/check.h"
#include "base/status.h"
#include "train/estimator/warm_start.h"
#include <braid/estimator.h>

// Metrics beside those of the model.
typedef struct train_more_metrics {
    braid_metric_fn build;
    void *arg;
} train_more_metrics;

struct braid_estimator {
    braid_model_fn model_fn;
    BD_ARRAY(train_more_metrics) metrics;
    void *params;
    void *own_params; // NULL: the program's; owned, a block of memory
    const braid_run_config *config;
    braid_run_config *own_config; // NULL: the program's
    braid_server *server;         // NULL: not needed, or not started yet; owned
    train_warm_start *warm_start; // NULL: none; owned
};

// Tensors by name; the names are owned.
typedef BD_ARRAY(braid_named_tensor) train_tensors;
typedef BD_ARRAY(braid_hook *) train_hook_list;

void train_tensors_add(train_tensors *list, const char *name, braid_out value);
void train_tensors_add_sparse(train_tensors *list, const char *name, braid_sparse value);
void train_tensors_fini(train_tensors *list);

struct braid_inputs {
    braid_estimator *estimator;
    braid_mode mode;
    train_tensors features, labels;
    train_hook_list hooks;
};

typedef struct train_named_metric {
    char *name;
    braid_metric metric;
} train_named_metric;

typedef enum train_export_kind {
    TRAIN_EXPORT_REGRESSION,
    TRAIN_EXPORT_CLASSIFICATION,
    TRAIN_EXPORT_PREDICT
} train_export_kind;

typedef struct train_export {
    char *key;
    train_export_kind kind;
    train_tensors outputs;
} train_export;

struct braid_estimator_spec {
    train_tensors predictions;
    braid_out loss;
    braid_op *train_op;
    BD_ARRAY(train_named_metric) metrics;
    train_hook_list hooks[BRAID_MODE_PREDICT + 1]; // of each mode
    train_hook_list chief_hooks;                   // of training
    braid_scaffold scaffold;
    BD_ARRAY(train_export) exports;
};

struct braid_receiver {
    train_tensors tensors, features;
};

// The graph of one call, with what the input function and the model function have said.
typedef struct train_model {
    braid_graph *graph;
    braid_inputs inputs;
    braid_estimator_spec spec;
} train_model;

// A serving input, and what it says.
typedef struct train_serving {
    const braid_serving_input *input;
    braid_receiver *receiver;
} train_serving;

// Builds the graph of an input, or with `serving` that of a serving input, and of the model. `m` is to be
// finished on an error, too.
braid_code train_model_build(train_model *m, braid_estimator *e, braid_mode mode, const braid_input *input,
                             const train_serving *serving, braid_status *st);
void train_model_fini(train_model *m); // and frees the hooks that no session has taken

// Hooks: those of a list of the program's, or of another list, which is empty afterwards.
void train_hooks_take(train_hook_list *to, braid_hook *const *list);
void train_hooks_move(train_hook_list *to, train_hook_list *from);
void train_hooks_free(train_hook_list *list); // frees the hooks, too

// A session that has the values of a checkpoint, to evaluate or to predict; the hooks are taken. `path` NULL:
// the variables get their first values.
braid_monitored_session *train_open_restored(const braid_estimator *e, train_model *m, const char *path,
                                             train_hook_list *hooks);

// The checkpoint to use (bd_free): the wanted one, or the newest. *path NULL: there is none, which is logged.
braid_code train_find_checkpoint(const braid_estimator *e, const char *wanted, const char *what, char **path,
                                 braid_status *st);

// Fills `st` with what a session has failed with, unless it has an error; `code` is that of its close.
braid_code train_session_result(braid_code code, braid_status *st);

// Starts the server of the task in its cluster, unless it runs or is the program's.
braid_code train_start_server(braid_estimator *e, braid_status *st);
// The server of the task: the program's or the estimator's; NULL: there is none.
braid_server *train_server_of(const braid_estimator *e);

// The global step of a checkpoint by its values; -1: it has none, or cannot be read.
int64_t train_checkpoint_step(const char *prefix);

#endif

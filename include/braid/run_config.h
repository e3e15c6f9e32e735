// Run configurations of estimators: where a model is kept, how often it is saved, and which task of which
// cluster this process is (tf.estimator.RunConfig).
//
//     braid_run_config *config = braid_run_config_new(&(braid_run_config_options){
//         .model_dir = "/tmp/model", .save_checkpoints_steps = 500}, status);
//
// The cluster and the task come from TF_CONFIG, as tf.estimator reads it:
//
//     {"cluster": {"chief": ["a:2222"], "worker": ["b:2222"], "ps": ["c:2222"]},
//      "task": {"type": "worker", "index": 0}, "model_dir": "/shared/model"}
//
// A cluster may have a chief or a master; in one that has neither, worker 0 is the chief. The task
// "evaluator" is in no cluster. Without "cluster" the program trains alone, by a session of this process or,
// with "session_master", by the server that it names. mpirun and srun are understood as well (cluster.h).
#ifndef BRAID_RUN_CONFIG_H
#define BRAID_RUN_CONFIG_H

#include <braid/checkpoint.h>
#include <braid/cluster.h>
#include <braid/server.h>
#include <braid/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a program wishes; all zero is the default of each. Texts are copied.
typedef struct braid_run_config_options {
    /// Where the model is kept. NULL: the model_dir of TF_CONFIG, or else a new temporary directory. Tasks of
    /// a cluster have the same one only if `braid run` started them all on one host; elsewhere NULL is an
    /// error.
    const char *model_dir;
    const char *tf_config;        ///< in place of the environment; NULL: the environment
    int64_t random_seed;          ///< of the graphs, if `has_random_seed` (tf_random_seed)
    bool has_random_seed;         ///< else random values are others in each run
    int64_t save_summary_steps;   ///< 0: 100; negative: never
    int64_t log_step_count_steps; ///< of the log of steps and loss; 0: 100; negative: never
    int64_t save_checkpoints_steps;
    double save_checkpoints_seconds; ///< neither given: 600; negative: only at the start and the end
    braid_checkpoint_policy keep;    ///< which checkpoints stay
    /// Options of the sessions. Target and device filters are the configuration's own, where they are not
    /// given; `server` is the program's server of this task, or NULL: the estimator starts one.
    braid_session_options session;
    /// Of the server that the estimator starts; NULL: the defaults. Borrowed by the configuration.
    const braid_server_options *server;
} braid_run_config_options;

/// A configuration: constant once made. Its members are owned by it.
typedef struct braid_run_config {
    braid_run_config_options options; ///< the wishes, with the defaults filled in
    const char *model_dir;            ///< never NULL; it need not exist
    const braid_cluster *cluster;     ///< without jobs for a program that trains alone, and for an evaluator
    const char *task_type;            ///< "chief", "master", "worker", "ps" or "evaluator"
    int task_id;
    bool is_chief;           ///< saves checkpoints and initializes the variables
    bool is_distributed;     ///< this task is in a cluster of several tasks
    int num_ps_replicas;     ///< 0 for an evaluator, and alone
    int num_worker_replicas; ///< tasks that train, the chief included; 0 for an evaluator, 1 alone
    /// Of the tasks that train: 0 for the chief, then workers, then parameter servers; -1 for an evaluator.
    int global_id_in_cluster;
    const char *evaluation_master; ///< target of sessions that evaluate and predict; "": in this process
} braid_run_config;

/// Makes a configuration. `options` NULL: the defaults. The caller frees it. NULL on an error:
/// InvalidArgument, naming the member, for a TF_CONFIG that is malformed, names no task of its cluster, has a
/// task other than worker 0 or evaluator without a cluster, or a model_dir other than that of `options`; or
/// for checkpoints by steps and by seconds at once.
BRAID_API braid_run_config *braid_run_config_new(const braid_run_config_options *options,
                                                 braid_status *status);
/// NULL is accepted.
BRAID_API void braid_run_config_free(braid_run_config *config);

#ifdef __cplusplus
}
#endif
#endif

// Algorithms of distributed training: how several workers share the variables of one model.
//
//     braid_algorithm_options options = braid_algorithm_defaults("easgd");
//     options.num_workers = 2, options.worker = task_index;
//     braid_algorithm *algorithm = braid_algorithm_new(graph, "easgd", &options);
//     braid_push_algorithm(graph, algorithm); // trainable variables made from here on are the algorithm's
//     ... build the model ...
//     braid_pop_algorithm(graph);
//     braid_op *train = braid_algorithm_minimize(algorithm, loss, braid_global_step(graph));
//     ... .hooks = BRAID_HOOKS(braid_algorithm_sync_hook(algorithm), braid_algorithm_hook(algorithm)) ...
//
// Some algorithms train the variables on the parameter servers in each step. In the others each worker has a
// copy of the variables (the local variables), trains it by itself for a period of steps, and then exchanges
// something with the variables on the parameter servers (the centre): an exchange. The model reads the
// copies; a checkpoint holds the centre, under the variables' own names, so that it fits the same model
// without an algorithm. Steps between two exchanges make no call to another task.
//
// The global step counts updates of the centre. Each algorithm is one file of src/train/algorithms, which
// begins with its equations and their source; braid_algorithm_at gives all of them. Errors are the graph's.
// An algorithm belongs to its graph and lives as long.
#ifndef BRAID_ALGORITHMS_H
#define BRAID_ALGORITHMS_H

#include <braid/gradient_compression.h>
#include <braid/monitored_session.h>
#include <braid/optimizers.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_algorithm braid_algorithm;

/// What an algorithm can be told; each reads what its equations have. Begin with braid_algorithm_defaults.
typedef struct braid_algorithm_options {
    int num_workers; ///< that train; 1
    int worker;      ///< the number of this one, 0 to num_workers - 1
    bool is_chief;   ///< this worker initializes the variables and applies synchronous updates; true
    /// Of the worker's steps, and of the centre where the algorithm applies gradients to it.
    float learning_rate;
    int period;         ///< steps of a worker between two exchanges: T, tau, or the communication window
    float rho;          ///< elastic averaging: the elasticity; the moving rate is alpha = learning_rate * rho
    float momentum;     ///< of elastic averaging with momentum
    int staleness;      ///< of bounded staleness: the maximum s, in exchanges
    int backup_workers; ///< gradients of this number of workers, the slowest of each step, are dropped
    /// Applies gradients to the centre (asynchronous, synchronous, downpour, agn, sagn) or to the copies
    /// (easgd, aeasgd, model_averaging). NULL: the algorithm's own, with `learning_rate`.
    braid_optimizer *optimizer;
    /// Of the gradients that a worker sends to the centre (gradient_compression.h), where the algorithm sends
    /// such: not hogwild, elastic averaging and model averaging, for which the graph fails. `method` is
    /// borrowed until the step is built.
    braid_compression_options compression;
    /// Directory of event files: the staleness, waiting time, and bytes of this worker, as summaries. NULL:
    /// none is written. Copied.
    const char *summary_dir;
} braid_algorithm_options;

typedef struct braid_algorithm_info {
    const char *name;    ///< "downpour"
    const char *about;   ///< one line
    bool is_synchronous; ///< all workers take part in each update of the centre
    bool has_copies;     ///< each worker trains a copy of the variables
} braid_algorithm_info;

/// The algorithm of number `index`, from 0, in the order of their names; NULL after the last. Static.
BRAID_API const braid_algorithm_info *braid_algorithm_at(int index);

/// The options of an algorithm as its paper has them; all zero for an unknown name.
BRAID_API braid_algorithm_options braid_algorithm_defaults(const char *name);

/// Makes an algorithm by name. Options are copied. The graph fails with InvalidArgument for an unknown name,
/// naming those there are, and for options out of range.
BRAID_API braid_algorithm *braid_algorithm_new(braid_graph *graph, const char *name,
                                               const braid_algorithm_options *options);

/// From here on trainable variables that are made are for the algorithm to train: where it has copies,
/// variable NAME is the centre, on the device that variables get, and what is returned, and trained, is the
/// copy "local/NAME" on the device of other nodes. Undone by braid_pop_algorithm.
BRAID_API void braid_push_algorithm(braid_graph *graph, braid_algorithm *algorithm);
BRAID_API void braid_pop_algorithm(braid_graph *graph);

/// Builds a worker's step from `loss`, once, and returns its node, which is run for each step. `global_step`
/// counts updates of the centre and is required.
BRAID_API braid_op *braid_algorithm_minimize(braid_algorithm *algorithm, braid_out loss,
                                             braid_out global_step);
/// The same from gradients that were computed already (braid_compute_gradients), such as clipped ones.
BRAID_API braid_op *braid_algorithm_apply(braid_algorithm *algorithm,
                                          const braid_grad_and_var *grads_and_vars, int count,
                                          braid_out global_step);

/// The hook that each worker's monitored session needs: it makes the exchanges and measures. At the end the
/// chief gathers the numbers of all workers and logs them as a table.
BRAID_API braid_hook *braid_algorithm_hook(braid_algorithm *algorithm);
/// The hook of a synchronous algorithm, to stand before the other; NULL for an asynchronous one (which
/// BRAID_HOOKS accepts).
BRAID_API braid_hook *braid_algorithm_sync_hook(braid_algorithm *algorithm);

/// Gives the copies the values of the centre, to evaluate what all workers have learnt; no effect without
/// copies. An error is the session's.
BRAID_API braid_code braid_algorithm_pull(braid_algorithm *algorithm, braid_monitored_session *session);

// ---- Hogwild! ----

/// One of the threads that train the variables of one process.
typedef struct braid_hogwild_thread braid_hogwild_thread;

/// Calls `fn` from `threads` threads at once, with numbers from 0, and blocks until all have returned. Each
/// runs steps of its own, which update the same variables without locks:
///
///     static void work(braid_hogwild_thread *thread, int number, void *arg)
///     {
///         while (!braid_hogwild_should_stop(thread)) {
///             ... the next batch of this thread ...
///             braid_hogwild_run(thread, BRAID_FEED({x, batch}), NULL, train);
///         }
///     }
///
/// Thread 0 is the caller's: its steps have the hooks of the session around them, those of the others have
/// not. `session` must be one in this process. Returns the session's error so far: InvalidArgument for
/// another kind of session or fewer than one thread; the first error of a step, of any thread.
BRAID_API braid_code braid_hogwild(braid_algorithm *algorithm, braid_monitored_session *session, int threads,
                                   void (*fn)(braid_hogwild_thread *thread, int number, void *arg),
                                   void *arg);
/// Runs a step, as braid_run. An error ends the training of all threads.
BRAID_API braid_code braid_hogwild_run(braid_hogwild_thread *thread, const braid_feed *feeds,
                                       const braid_fetch *fetches, braid_op *target);
/// True when training is over: braid_should_stop, or after an error of any thread.
BRAID_API bool braid_hogwild_should_stop(const braid_hogwild_thread *thread);

// ---- Reports ----

/// The number of entries of a histogram of staleness: 0, 1, ..., and the last for all above.
#define BRAID_STALENESS_CLASSES 64

/// What a worker has done.
typedef struct braid_worker_report {
    int worker;
    int64_t steps;   ///< gradients computed
    int64_t updates; ///< of the centre by this worker, those that were dropped not counted
    int64_t dropped; ///< gradients that came too late for a synchronous update
    /// Of the updates: how many updates of others the centre got between the worker's last read of it and its
    /// own update.
    double mean_staleness;
    int64_t max_staleness;
    int64_t staleness[BRAID_STALENESS_CLASSES]; ///< how many updates had this staleness
    int64_t bytes;  ///< of tensors that the task has sent and received; 0 in a session without a server
    double seconds; ///< from the first step to the end of the last
    double waiting; ///< seconds of these in which the worker did not compute, but waited for other tasks
} braid_worker_report;

/// What is known of the workers, ordered by number: of this one, and, once the chief's session has ended,
/// of all that have ended, too. `*reports` belongs to the algorithm and is valid until the next call; returns
/// their number.
BRAID_API int braid_algorithm_reports(braid_algorithm *algorithm, const braid_worker_report **reports);

#ifdef __cplusplus
}
#endif
#endif

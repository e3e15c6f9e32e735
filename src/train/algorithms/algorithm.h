// Training algorithms: what the file of each gives, and what its nodes are.
#ifndef BD_TRAIN_ALGORITHM_H
#define BD_TRAIN_ALGORITHM_H

#include "base/array.h"
#include "train/algorithms/curve.h"
#include "train/algorithms/report.h"
#include "train/sessions/sync_replicas.h"
#include <braid/algorithms.h>

// What an algorithm is. Each file of this directory defines one: BD_ALGORITHM(easgd) = {...}.
typedef struct train_algorithm {
    braid_algorithm_info info; // its name is the table's
    braid_algorithm_options defaults;
    bool compresses; // takes the option `compression`
    // Adds the nodes of a worker's step and, with copies, of the exchange.
    void (*build)(braid_algorithm *a, const braid_grad_and_var *grads_and_vars, int count);
    // Optional: called when a session is opened; and makes an exchange by train_run_exchange and more.
    braid_code (*begin)(braid_algorithm *a, braid_status *st);
    braid_code (*exchange)(braid_algorithm *a, braid_monitored_session *s, braid_status *st);
} train_algorithm;

#define BD_ALGORITHM(NAME) const train_algorithm train_algorithm_##NAME

// The generated table, sorted by name: build/generated/algorithm_table.c.
extern const train_algorithm *const train_algorithm_table[];
extern const size_t train_algorithm_table_len;

// A copy, the variable that sums its gradients since the last exchange up, and the centre.
typedef struct train_accrued {
    braid_out copy, centre;
    braid_variable sum;
} train_accrued;

struct braid_algorithm {
    braid_graph *graph; // not owned: it owns the algorithm
    const train_algorithm *type;
    braid_algorithm_options o;
    char *summary_dir;
    braid_op *here; // the worker's own nodes and copies lie beside it
    const char *scope;
    braid_out step;            // the global step, a variable
    braid_sync_replicas *sync; // NULL: asynchronous
    BD_ARRAY(train_accrued) accrued;

    braid_out loss;     // op NULL: not known
    train_curve *curve; // NULL: none is written

    // The nodes of a step.
    braid_op *train;
    // Without copies: the global step that follows the one that the step has read, and times (double scalars,
    // seconds) of begin and end of the worker's part.
    braid_out next_step, compute_begin, compute_end;
    // Fetched with the update of the centre: the global step just before it; op NULL: synchronous.
    braid_out counted;
    // Synchronous: how many gradients of this worker were dropped so far; op NULL: asynchronous.
    braid_out dropped;

    // The nodes of an exchange; NULL without copies.
    braid_op *exchange, *pull;
    braid_out fetched;      // with the exchange: `counted`, or, synchronous, the global step after it
    braid_variable seen;    // with copies: this worker's copy of the global step
    braid_out pull_step;    // fetched with `pull`: the global step
    int64_t pulled;         // the global step at the last pull, or exchange that pulls
    int64_t own_since_pull; // updates of the centre
    void *state;            // of the algorithm's own, freed with it
    train_report report;
};

// ---- Parts of algorithms; those with copies are in local_global.h ----

// Gradient descent with the algorithm's learning rate.
braid_optimizer *train_sgd(const braid_algorithm *a);
// The optimizer that the program has given, else `own`.
braid_optimizer *train_optimizer_or(const braid_algorithm *a, braid_optimizer *own);

// Begins or ends a part of the graph whose nodes lie on the worker.
void train_begin_here(const braid_algorithm *a);
void train_end_here(const braid_algorithm *a);

// Compresses gradients for the centre in place, if the options say so.
void train_compress(const braid_algorithm *a, braid_grad_and_var *grads_and_vars, int count);

// The worker's step: gradients are applied to the variables by `optimizer`, without regard for other workers.
void train_build_asynchronous(braid_algorithm *a, braid_optimizer *optimizer,
                              const braid_grad_and_var *grads_and_vars, int count);
// The same by the mean of the gradients of `required` workers.
void train_build_synchronous(braid_algorithm *a, braid_optimizer *optimizer, int required,
                             const braid_grad_and_var *grads_and_vars, int count);

// Counts the global step up after these nodes, and sets a->counted. Returns the node.
braid_op *train_count_update(braid_algorithm *a, braid_op *after);

// Runs the exchange's nodes and notes the staleness of the update. Fetches `also` with it (op NULL: nothing)
// to `*value`, which is the caller's.
braid_code train_run_exchange(braid_algorithm *a, braid_monitored_session *s, braid_out also,
                              braid_tensor **value, braid_status *st);
// Gives the copies the values of the centre.
braid_code train_run_pull(braid_algorithm *a, braid_session *s, braid_status *st);

#endif

// The nodes that the hook of synchronous training runs.
#ifndef BD_TRAIN_SYNC_REPLICAS_H
#define BD_TRAIN_SYNC_REPLICAS_H

#include "base/array.h"
#include "train/sessions/bootstrap.h"
#include <braid/sync_replicas.h>

typedef BD_ARRAY(braid_op *) train_ops;

// The accumulator of a variable's gradients.
typedef struct train_accumulator {
    braid_out out;
    const char *device;
} train_accumulator;

struct braid_sync_replicas {
    braid_graph *graph; // not owned: it owns this
    braid_optimizer *optimizer;
    char *name;
    int required, total, replica;
    bool is_deterministic, counts_dropped;
    braid_moving_average *averages;
    BD_ARRAY(braid_out) averaged; // empty: all trainable variables
    bool averages_all;
    BD_ARRAY(train_accumulator) accumulators;
    braid_out step;                   // the global step, a variable
    braid_variable local_step;        // of this replica: its gradients are of that step
    BD_ARRAY(braid_out) queues;       // of tokens: one, or in deterministic mode one of each replica
    braid_out in_progress;            // of an update, a variable; op NULL without deterministic mode
    braid_op *mark;                   // sets it
    braid_out num_stale, num_dropped; // op NULL before they are asked for
    // To be run; NULL before the updates are built.
    braid_op *update;                 // by the chief, again and again
    braid_op *begin_as_chief, *begin; // before the first step, by the chief and by other workers
    bool resets_tokens;               // begin_as_chief does
    braid_op *first_tokens;           // by the chief, after that
    braid_op *no_more_tokens;         // ends the steps of all replicas
};

// Returns whether the process of this hook may take the chief's place: the hook is one of synchronous
// training, and enough replicas are left without the chief.
bool train_sync_may_lead(const braid_hook *hook);
// Returns whether the hook is one of synchronous training.
bool train_is_sync_hook(const braid_hook *hook);

// The global step's value and type.
braid_out train_sync_step(const braid_sync_replicas *s);
braid_dtype train_sync_step_type(const braid_sync_replicas *s);

// ---- Tokens ----

void train_make_token_queues(braid_sync_replicas *s);
// Builds the training step's end: takes a token after these nodes.
braid_op *train_take_token(braid_sync_replicas *s, braid_op *const *after, int count);
// Adds so many tokens to each queue.
braid_op *train_add_tokens(braid_sync_replicas *s, int count, braid_out step);
// Adds to begin_as_chief, once: all tokens are removed and the queues opened again. A chief that starts anew
// hands out its own tokens.
void train_build_token_reset(braid_sync_replicas *s);
void train_build_no_more_tokens(braid_sync_replicas *s);
// Builds first_tokens, once; see braid_sync_replicas_hook.
void train_build_first_tokens(braid_sync_replicas *s, int num_tokens);

// If `hook` is one of synchronous training that may lead: what its session does before it notifies the
// others.
void train_sync_hook_prepare(braid_hook *hook, train_role *role);

#endif

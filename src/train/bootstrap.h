// Brings a session to the state in which each variable is initialized: by the chief's ops, or by waiting for
// the chief.
#ifndef BD_TRAIN_BOOTSTRAP_H
#define BD_TRAIN_BOOTSTRAP_H

#include "base/status.h"
#include <braid/saver.h>
#include <braid/session.h>

typedef struct train_bootstrap {
    bool is_chief;
    int64_t wait_timeout_ms; // of the wait for the chief
    braid_op *init_op;       // NULL before train_bootstrap_build: all global variables' initializers
    braid_op *local_init_op;
    const char *checkpoint_dir;     // NULL: variables are not restored
    braid_saver *saver;             // restores them
    braid_out ready;                // names of variables without a value
    braid_out ready_for_local_init; // the global ones among them
} train_bootstrap;

// The key that the chief notifies when all variables have values.
#define TRAIN_VARIABLES_INITIALIZED "variables_initialized"

// Adds the nodes that are missing; errors are the graph's.
void train_bootstrap_build(train_bootstrap *b, braid_graph *g);

// Initializes or restores the variables, or waits for the chief to do so. Blocks; the wait ends with the
// chief's notification, at the timeout (DeadlineExceeded), or when the chief or the owner of notifications is
// gone for good (Unavailable).
braid_code train_bootstrap_run(const train_bootstrap *b, braid_session *session, braid_status *st);

#endif

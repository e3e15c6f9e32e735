// How a session comes to where every variable has a value: by the chief's doing, or by waiting for it.
#ifndef BD_TRAIN_BOOTSTRAP_H
#define BD_TRAIN_BOOTSTRAP_H

#include "base/status.h"
#include <braid/session.h>

typedef struct train_bootstrap {
    bool is_chief;
    int64_t wait_timeout_ms; // for the chief; 0: none
    braid_op *init_op;       // NULL before train_bootstrap_build: all global variables' initializers
    braid_op *local_init_op;
    braid_out ready;                // names of variables without a value
    braid_out ready_for_local_init; // the global ones among them
} train_bootstrap;

// Adds the nodes that are missing; errors are the graph's.
void train_bootstrap_build(train_bootstrap *b, braid_graph *g);

// Initializes or waits. Blocks; the wait ends when the chief announces that it is done, at the timeout
// (DeadlineExceeded), or when whoever would announce it is gone for good (Unavailable).
braid_code train_bootstrap_run(const train_bootstrap *b, braid_session *session, braid_status *st);

#endif

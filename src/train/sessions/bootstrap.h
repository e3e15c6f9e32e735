// Brings a session to the state in which each variable is initialized: by the chief's ops, or by waiting for
// the chief.
#ifndef BD_TRAIN_BOOTSTRAP_H
#define BD_TRAIN_BOOTSTRAP_H

#include "base/status.h"
#include <braid/scaffold.h>

// What the process does for the others.
typedef struct train_role {
    bool is_chief; // set when this process takes the chief's place while it waits
    bool may_lead; // it may take the place of a chief that is gone for good
    // Of synchronous training, at the chief:
    braid_op *begin; // run before the others are notified; NULL: nothing
    // A variable that says whether an update is in progress, which `mark` sets and `begin` resets: the newest
    // checkpoint is restored, because the update was cut off, also when all variables have values. op NULL:
    // none.
    braid_out in_progress;
    braid_op *mark;
} train_role;

typedef struct train_bootstrap {
    train_role role;
    const braid_session_options *session; // how the session was opened; not owned
    int64_t wait_timeout_ms;              // of the wait for the chief or for a checkpoint
    braid_scaffold scaffold;              // finalized; its saver restores the variables
    const char *checkpoint_dir;           // NULL: variables are not restored
    const char *checkpoint_path;          // of one checkpoint, instead of the directory's newest; NULL: none
    bool wait_for_checkpoint;             // before variables without a value are restored
    // A session was lost while it gave values: some parameter servers may have those of the checkpoint,
    // others newer ones.
    bool is_half_restored;
    bool is_hopeless; // set when the wait for the chief ends because it is gone for good
} train_bootstrap;

// The key that the chief notifies when all variables have values.
#define TRAIN_VARIABLES_INITIALIZED "variables_initialized"

// Initializes or restores the variables, or waits for the chief to do so. Blocks; the wait ends with the
// chief's notification, at the timeout (DeadlineExceeded), or when the chief or the owner of notifications is
// gone for good (Unavailable).
braid_code train_bootstrap_run(train_bootstrap *b, braid_session *session, braid_status *st);

// Restores the checkpoint if there is one and variables have no value, and runs local_init_op once the global
// variables have values. *is_ready is false when variables have no value in the end.
braid_code train_bootstrap_recover(const train_bootstrap *b, braid_session *session, bool *is_ready,
                                   braid_status *st);

#endif

// Sessions whose variables have values, for programs without a monitored session (tf.train.SessionManager).
//
// The chief calls braid_prepare_session; the other processes call braid_wait_for_session, which returns when
// the chief's variables are ready, at once when it notifies them. A monitored session does the same by
// itself.
#ifndef BRAID_SESSION_MANAGER_H
#define BRAID_SESSION_MANAGER_H

#include <braid/scaffold.h>

#ifdef __cplusplus
extern "C" {
#endif

/// All zero is the default of each.
typedef struct braid_session_manager {
    braid_session_options session; ///< where and how
    braid_scaffold scaffold;       ///< finalized by the first call, so that later calls add no nodes
    /// Whose newest checkpoint is restored; NULL: none. Ignored when `checkpoint_path` is given.
    const char *checkpoint_dir;
    const char *checkpoint_path; ///< a checkpoint that must be there; NULL: none
    /// braid_prepare_session and braid_recover_session wait for the first checkpoint of `checkpoint_dir` when
    /// there is none yet and variables have no values; DeadlineExceeded, naming the directory, after
    /// `wait_timeout_ms`. No effect on `checkpoint_path`.
    bool wait_for_checkpoint;
    /// Of braid_wait_for_session and `wait_for_checkpoint`; 0: as for a monitored session.
    int64_t wait_timeout_ms;
} braid_session_manager;

/// Opens a session and gives the variables values, unless they have values: those of the checkpoint, or else
/// by init_op and init_fn. Runs local_init_op and notifies the processes that wait. NULL on an error: that of
/// the graph, of opening or of a run; FailedPrecondition naming variables that have no value afterwards;
/// InvalidArgument for `wait_for_checkpoint` without a checkpoint_dir.
BRAID_API braid_session *braid_prepare_session(braid_graph *graph, braid_session_manager *manager,
                                               braid_status *status);

/// Opens a session and waits until the variables have values, which another process gives them; then runs
/// local_init_op. NULL on an error: DeadlineExceeded after `wait_timeout_ms`, Unavailable when the chief is
/// gone for good, FailedPrecondition when no other process can be the chief: the session is one in this
/// process, or on the server of the chief's task (braid_is_chief).
BRAID_API braid_session *braid_wait_for_session(braid_graph *graph, braid_session_manager *manager,
                                                braid_status *status);

/// Opens a session, restores the checkpoint if there is one and the variables have no values, and runs
/// local_init_op. `*is_ready` is false when variables have no value then: they are still to be initialized.
BRAID_API braid_session *braid_recover_session(braid_graph *graph, braid_session_manager *manager,
                                               bool *is_ready, braid_status *status);

#ifdef __cplusplus
}
#endif
#endif

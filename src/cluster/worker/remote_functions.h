// Calls of functions on devices of other tasks, for the graphs of one session on this task (RemoteCall).
#ifndef BD_CLUSTER_WORKER_REMOTE_FUNCTIONS_H
#define BD_CLUSTER_WORKER_REMOTE_FUNCTIONS_H

#include "cluster/rpc/peers.h"
#include "cluster/worker/session_cluster.h"
#include "runtime/function_runtime.h"

// With count 1. The session has the handle `session_handle` on all of its tasks. `peers` outlive it, or are
// those of `cluster` (NULL: none), to which one more reference is taken.
bd_remote_functions *bd_remote_functions_new(const char *session_handle, const bd_peers *peers,
                                             bd_session_cluster *cluster);

#endif

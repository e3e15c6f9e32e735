// The worker of another task, as its files see it.
#ifndef BD_CLUSTER_WORKER_REMOTE_WORKER_INTERNAL_H
#define BD_CLUSTER_WORKER_REMOTE_WORKER_INTERNAL_H

#include "base/map.h"
#include "base/thread.h"
#include "cluster/rpc/peers.h"

typedef struct remote_worker {
    bd_worker base;
    const bd_peer *peer; // not owned
    bd_mutex mu;
    bd_map deleted; // handles of sessions whose deletion the task has not confirmed; guarded by mu
} remote_worker;

// Starts a call whose answer is empty. `method` is static; fn NULL: the result is ignored.
void remote_worker_start_simple(bd_worker *w, const char *method, const ProtobufCMessage *request,
                                bd_cancellation *cancellation, bd_worker_done_fn fn, void *arg);

// remote_sessions.c: functions of bd_worker_ops.
void remote_worker_create_session(bd_worker *w, const char *session_handle, const bd_session_owner *owner,
                                  bool is_isolated, bd_cancellation *cancellation, bd_worker_done_fn fn,
                                  void *arg);
void remote_worker_delete_session(bd_worker *w, const char *session_handle, bd_worker_done_fn fn, void *arg);

#endif

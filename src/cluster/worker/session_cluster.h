// The clusters of sessions that have one of their own (ClusterSpec propagation): a client names jobs, tasks
// and the addresses of servers, which were started with other clusters, perhaps each as a cluster of one
// task.
//
// In such a session each server is a task of the session's cluster, and its devices have the names of that
// task. The sessions that name one cluster share its channels.
#ifndef BD_CLUSTER_WORKER_SESSION_CLUSTER_H
#define BD_CLUSTER_WORKER_SESSION_CLUSTER_H

#include "cluster/rpc/peers.h"
#include "cluster/spec/address_list.h"
#include "op/collective.h"
#include "runtime/device.h"

typedef struct bd_session_clusters bd_session_clusters;

// One cluster, as this server's task sees it. Counted; immutable but for that.
typedef struct bd_session_cluster {
    bd_session_clusters *all; // not owned
    char *key;
    braid_cluster *cluster;
    bd_peers peers;           // `self` is this server
    bd_local_devices devices; // those of this server by their names in this cluster; owned by `all`
    bool is_closed;           // its channels; written when no session has it
    int refs;                 // guarded by the mu of `all`; 0: no session has it
} bd_session_cluster;

// All that it points to outlives the clusters.
typedef struct bd_session_clusters_env {
    const bd_peers *peers;        // of the cluster that the server was started with
    const braid_cluster *cluster; // the same
    bd_transport *transport;
    bd_timers *timers;
    bd_thread_pool *pool; // closes clusters that no session has; its tasks may wait
    const bd_local_devices *devices;
    bd_worker *worker; // of this server
    // Addresses that any session may name.
    const bd_address_list *hosts;
    // Every process that reaches the server may call it, so that no caller is known.
    bool is_open;
} bd_session_clusters_env;

bd_session_clusters *bd_session_clusters_new(const bd_session_clusters_env *env);
// Closes all channels and waits for the calls in progress. When no step runs and none will start.
void bd_session_clusters_close(bd_session_clusters *all);
// When all references are dropped, and no plan uses the devices.
void bd_session_clusters_free(bd_session_clusters *all); // NULL is accepted

// The devices of this server by their names in a task that a session has made it; NULL: it is no such task.
// They stay until bd_session_clusters_free.
const bd_local_devices *bd_session_clusters_devices(bd_session_clusters *all, const char *task, size_t len);

// Stores the cluster with a reference, as task `index` of `job`, which it has, sees it; NULL where it is the
// cluster that the server was started with, and that its task. `caller` (NULL: this process) may have the
// server call only
//   - the tasks of the cluster that the server was started with
//   - the addresses that its operator names (`hosts`)
//   - any address, if the caller is known and has the role task: it may do all that the server may
// PermissionDenied names another address, InvalidArgument a task of two processes. ResourceExhausted when too
// many names of tasks are used, or too many clusters.
braid_code bd_session_cluster_get(bd_session_clusters *all, const braid_cluster *cluster, const char *job,
                                  int index, const bd_caller *caller, bd_session_cluster **out,
                                  braid_status *st);
bd_session_cluster *bd_session_cluster_ref(bd_session_cluster *c); // NULL is accepted
void bd_session_cluster_unref(bd_session_cluster *c);              // NULL is accepted; does not wait

// Finds the task of `cluster` that a server is: that with the address `reached_at` ("grpc://" before it is
// skipped; NULL or "": not known), or else with the address of the server. InvalidArgument when it has none.
braid_code bd_session_cluster_find_self(bd_session_clusters *all, const braid_cluster *cluster,
                                        const char *reached_at, const char **job, int *index,
                                        braid_status *st);

// For the steps of such sessions: members of groups do not find each other there (Unimplemented).
bd_collectives *bd_session_cluster_collectives(void);

#endif

// The parts of a server.
#ifndef BD_CLUSTER_SERVER_INTERNAL_H
#define BD_CLUSTER_SERVER_INTERNAL_H

#include "base/thread.h"
#include "base/thread_pool.h"
#include "base/timer.h"
#include "cluster/monitoring/web.h"
#include "cluster/server.h"
#include "cluster/server_files.h"
#include "cluster/server_limits.h"
#include "cluster/service/services.h"

struct braid_server {
    braid_cluster *cluster; // a copy
    char *target;           // "grpc://host:port"
    int replica;            // of the task: which of its addresses is this server's
    bd_transport *transport;
    bool owns_transport, uses_tls;
    bd_listener *listener;
    bd_timers *timers;
    bd_thread_pool *nodes;   // runs nodes of graphs
    bd_thread_pool *control; // reads and compiles graphs; its tasks never wait
    bd_thread_pool *waiting; // makes sessions and plans: its tasks wait for other tasks, never for this pool
    bd_device **devices;     // [device_count]; the others share the resources of the first
    bd_device_info *device_infos;
    int device_count;
    bd_local_devices local_devices; // the same
    bd_peers peers;
    bd_mpi *mpi; // NULL: none
    // the server owns all of it but `cluster` and `peers`, which point to the fields above
    bd_service_env env;
    bd_web *web; // NULL: none

    bd_server_files files;         // that graphs may use
    bd_address_list session_hosts; // that sessions with a cluster of their own may name
    bd_users users;                // who may call, if the transport is the server's
    bd_server_limits limits;
    bd_accounts *accounts; // of clients, that master and worker use
    bd_mutex mu;
    bd_cond changed;
    bool is_stopping, is_stopped; // guarded by mu
    bool has_failed;              // guarded by mu: the work of this task
    bool only_serves;             // guarded by mu: this task has no work
    char *partner;                // the address of the other process of a replicated task; NULL: it has one
    // Guarded by mu: this process of a replicated task has no task any more; why (OK: the work is done).
    bool has_left;
    braid_status left;
};

// server_monitoring.c: what the server says of itself; after its parts are made.
void bd_server_make_description(braid_server *s);
// Starts the web page, if there is to be one; after bd_server_make_description. Errors are those of
// bd_web_new.
braid_code bd_server_start_web(braid_server *s, const braid_server_options *options, braid_status *st);

// A server of a task with two addresses starts as a standby. A standby refuses calls with Unavailable, except
// to services that answer while_standby (server.c); calls in progress go on. Any thread.
void bd_server_set_serving(braid_server *s, bool is_serving);

#endif

// What a server is made of.
#ifndef BD_CLUSTER_SERVER_INTERNAL_H
#define BD_CLUSTER_SERVER_INTERNAL_H

#include "base/thread_pool.h"
#include "base/thread.h"
#include "base/timer.h"
#include "cluster/membership/notifications.h"
#include "cluster/membership/membership.h"
#include "cluster/worker/collectives.h"
#include "cluster/worker/local_worker.h"
#include "cluster/master/master.h"
#include "cluster/rpc/tensor_chunks.h"
#include "cluster/rpc/peers.h"
#include "cluster/rpc/request_id.h"
#include "cluster/server.h"
#include "op/cancellation.h"

struct braid_server {
    braid_cluster *cluster; // a copy
    char *target;           // "grpc://host:port"
    bd_transport *transport;
    bool owns_transport;
    bd_listener *listener;
    bd_timers *timers;
    bd_pool *nodes;                // runs nodes of graphs
    bd_pool *control;              // reads and compiles graphs; waits for nobody
    bd_pool *waiting;              // makes sessions and plans: waits for other tasks, never for this pool
    bd_cancellation *cancellation; // of everything the server does
    bd_device *device;
    bd_peers peers;
    bd_task_collectives *collectives;
    bd_local_worker *worker;
    bd_held_parts *held_parts; // of tensors that other tasks are fetching
    bd_master *master;
    bd_attendance *attendance;
    bd_announcements *announcements;
    bd_request_ids run_ids;  // of RunStep and RunGraph
    bd_request_ids recv_ids; // of RecvTensor

    bd_mutex mu;
    bd_cond changed;
    bool is_stopping, is_stopped; // guarded by mu
};

#endif

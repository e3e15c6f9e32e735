// The gRPC services of a server: the table of methods of each, and the environment that their handlers work
// with.
#ifndef BD_CLUSTER_SERVICE_SERVICES_H
#define BD_CLUSTER_SERVICE_SERVICES_H

#include "cluster/master/master.h"
#include "cluster/membership/membership.h"
#include "cluster/membership/notifications.h"
#include "cluster/membership/spec_check.h"
#include "cluster/monitoring/description.h"
#include "cluster/replication/replication.h"
#include "cluster/rpc/peers.h"
#include "cluster/rpc/request_id.h"
#include "cluster/rpc/tensor_chunks.h"
#include "cluster/transport/transport.h"
#include "cluster/worker/collectives.h"
#include "cluster/worker/local_worker.h"
#include "op/cancellation.h"

// Whether a server serves, or is the standby of its task: health_service.c.
typedef struct bd_health bd_health;
bd_health *bd_health_new(bool is_serving);
void bd_health_free(bd_health *h); // after the last call has ended
bool bd_health_is_serving(const bd_health *h);
// Tells all watches. Any thread; returns before they are told.
void bd_health_set_serving(bd_health *h, bool is_serving);

// The parts of a server that handlers use. The server owns them and outlives every call.
typedef struct bd_service_env {
    const braid_cluster *cluster; // the cluster that the server was started with
    const bd_peers *peers;
    bd_cancellation *cancellation; // of the server
    bd_local_worker *worker;
    bd_session_clusters *session_clusters; // of sessions that have one of their own
    bd_master *master;
    bd_chunk_store *chunk_store; // tensors that other tasks fetch in chunks
    bd_task_collectives *collectives;
    bd_spec_check *spec_check;
    bd_membership *membership;
    bd_notifications *notifications;
    bd_replication *replication; // NULL: the task has one process
    bd_health *health;
    bd_description_env description;
    bd_request_ids run_ids;  // of RunStep and RunGraph
    bd_request_ids recv_ids; // of RecvTensor and PushTensors
} bd_service_env;

// The thread that a handler runs on.
typedef enum bd_method_place {
    BD_ON_ARRIVAL, // the thread that received the call: the handler is cheap and never waits
    BD_ON_POOL,    // a thread of the control pool: the handler reads or compiles a graph, but does not wait
} bd_method_place;

typedef struct bd_method {
    const char *name; // without the service
    bd_method_place place;
    // Replies to the call, at once or later. NULL: the method is not implemented.
    void (*handle)(bd_service_env *env, bd_incoming *call);
} bd_method;

// Each table ends with a name of NULL: master_service.c, worker_service.c, cluster_service.c (the methods
// that tasks call, and those that sessions call), replication_service.c, health_service.c,
// reflection_service.c, monitoring_service.c.
// Methods of ClusterService in files of their own.
void bd_serve_send_by_mpi(bd_service_env *env, bd_incoming *call);

extern const bd_method bd_master_methods[], bd_worker_methods[], bd_cluster_methods[],
    bd_cluster_session_methods[], bd_replication_methods[], bd_health_methods[], bd_reflection_methods[],
    bd_monitoring_methods[];

// The names of the services for clients of any kind; ends with NULL. health_service.c.
extern const char *const bd_public_services[];

#endif

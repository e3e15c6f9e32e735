// The services of a server on the wire, by method.
#ifndef BD_CLUSTER_SERVICE_SERVICES_H
#define BD_CLUSTER_SERVICE_SERVICES_H

#include "cluster/transport/transport.h"

struct braid_server;

// Where a handler runs.
typedef enum bd_method_place {
    BD_ON_ARRIVAL, // on the thread that received the call: it is cheap and never waits
    BD_ON_POOL,    // it takes long (a graph is read or compiled), but waits for nobody
} bd_method_place;

typedef struct bd_method {
    const char *name; // without the service
    bd_method_place place;
    void (*handle)(struct braid_server *server,
                   bd_incoming *call); // replies, perhaps later; NULL: not implemented
} bd_method;

// Ends with a name of NULL. master_service.c, worker_service.c, cluster_service.c, health_service.c, reflection_service.c.
extern const bd_method bd_master_methods[], bd_worker_methods[], bd_cluster_methods[], bd_health_methods[],
    bd_reflection_methods[];

// The services that are there for clients of any kind, by their names; ends with NULL. health_service.c.
extern const char *const bd_public_services[];

#endif

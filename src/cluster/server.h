// Servers inside Braid: on a transport of the caller's.
#ifndef BD_CLUSTER_SERVER_H
#define BD_CLUSTER_SERVER_H

#include "cluster/transport/transport.h"
#include <braid/server.h>

// braid_server_start on `transport` (not owned, outlives the server); NULL: a new gRPC transport.
braid_server *bd_server_start(const braid_cluster *cluster, const char *job, int index,
                              const braid_server_options *options, bd_transport *transport, braid_status *st);

#endif

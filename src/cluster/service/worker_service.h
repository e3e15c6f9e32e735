// The handlers of WorkerService that have files of their own.
#ifndef BD_CLUSTER_SERVICE_WORKER_SERVICE_H
#define BD_CLUSTER_SERVICE_WORKER_SERVICE_H

#include "cluster/transport/transport.h"

struct braid_server;

// worker_noop_methods.c
void bd_serve_logging(struct braid_server *server, bd_incoming *call);
void bd_serve_tracing(struct braid_server *server, bd_incoming *call);
void bd_serve_mark_recv_finished(struct braid_server *server, bd_incoming *call);

// collective_service.c
void bd_serve_complete_group(struct braid_server *server, bd_incoming *call);
void bd_serve_complete_instance(struct braid_server *server, bd_incoming *call);
void bd_serve_get_step_sequence(struct braid_server *server, bd_incoming *call);
void bd_serve_recv_buf(struct braid_server *server, bd_incoming *call);

#endif

// The handlers of WorkerService that have files of their own.
#ifndef BD_CLUSTER_SERVICE_WORKER_SERVICE_H
#define BD_CLUSTER_SERVICE_WORKER_SERVICE_H

#include "cluster/service/services.h"
#include "cluster/transport/transport.h"

// worker_noop_methods.c
void bd_serve_logging(bd_service_env *env, bd_incoming *call);
void bd_serve_tracing(bd_service_env *env, bd_incoming *call);
void bd_serve_mark_recv_finished(bd_service_env *env, bd_incoming *call);

// collective_service.c
void bd_serve_complete_group(bd_service_env *env, bd_incoming *call);
void bd_serve_complete_instance(bd_service_env *env, bd_incoming *call);
void bd_serve_get_step_sequence(bd_service_env *env, bd_incoming *call);
void bd_serve_recv_buf(bd_service_env *env, bd_incoming *call);

// recv_tensor_service.c
void bd_serve_recv_tensor(bd_service_env *env, bd_incoming *call);

#endif

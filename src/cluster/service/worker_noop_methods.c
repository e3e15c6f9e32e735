// Calls of WorkerService without an effect: TensorFlow's masters and tasks make them and expect an answer.
//
// Logging: transfers of a traced step are in the StepStats of its RunGraph, so no log of its own is
// collected. Tracing: there is no profiler of the process. MarkRecvFinished: answers are not kept for
// repeated requests, so there is none to drop.
#include "cluster/rpc/rpc.h"
#include "cluster/service/services.h"
#include "cluster/service/worker_service.h"
#include "proto/pack.h"
#include "tensorflow/core/protobuf/worker.pb-c.h"

static void answer(bd_incoming *call, const ProtobufCMessageDescriptor *request)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_proto_unpack_message(request, &call->request, arena, st);
    bd_incoming_reply_status(call, st);
}

void bd_serve_logging(bd_service_env *env, bd_incoming *call)
{
    (void)env;
    answer(call, &tensorflow__logging_request__descriptor);
}

void bd_serve_tracing(bd_service_env *env, bd_incoming *call)
{
    (void)env;
    answer(call, &tensorflow__tracing_request__descriptor);
}

void bd_serve_mark_recv_finished(bd_service_env *env, bd_incoming *call)
{
    (void)env;
    answer(call, &tensorflow__mark_recv_finished_request__descriptor);
}

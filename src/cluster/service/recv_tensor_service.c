// RecvTensor of WorkerService: another task asks for a tensor that this task sends in a step.
#include "base/slab.h"
#include "cluster/rpc/recv_tensor_response.h"
#include "cluster/rpc/wire_fields.h"
#include "cluster/service/services.h"
#include "cluster/service/worker_service.h"
#include "proto/pack.h"
#include "tensorflow/core/protobuf/worker.pb-c.h"
#include <string.h>

typedef struct recv_call {
    bd_incoming *call;
    const bd_peer *self;
    const bd_peer *to;      // NULL: the caller is no task of the cluster
    bd_chunk_store *chunks; // holds large tensors; NULL: the caller takes no chunks
    int64_t step_id;
} recv_call;

static void tensor_received(void *arg, braid_tensor *tensor, bool is_dead, const braid_status *st)
{
    const recv_call c = *(const recv_call *)arg;
    bd_slab_free(arg);
    bd_incoming *call = c.call;
    if (st->code) {
        bd_incoming_reply_error(call, st);
        return;
    }
    if (!is_dead) bd_peer_count_sent(c.self, tensor);
    bd_message response;
    bd_message_init(&response);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &response);
    bd_recv_tensor_response_put(c.chunks, c.step_id, tensor, is_dead, c.to, &writer);
    bd_wire_writer_finish(&writer);
    bd_incoming_reply(call, &response, st);
}

// The task that receives the tensor of a key. It offers to read tensors from memory, or does not any more.
static const bd_peer *find_receiver(const bd_peers *peers, const Tensorflow__RecvTensorRequest *request)
{
    BD_STATUS(st);
    bd_rendezvous_parsed_key key;
    if (bd_proto_has_unknown(&request->base, BD_RECV_OF_SESSION)) return NULL; // other names than `peers` has
    if (bd_rendezvous_key_parse(request->rendezvous_key, strlen(request->rendezvous_key), &key, st))
        return NULL;
    const bd_peer *to = bd_peers_of_device(peers, key.dst_device, key.dst_device_len);
    if (!to) return NULL;
    size_t len = 0;
    const uint8_t *offer = bd_proto_unknown_bytes(&request->base, BD_RECV_MEMORY_OFFER, &len);
    bd_cross_memory_accept(to->memory, offer, len);
    return to;
}

void bd_serve_recv_tensor(bd_service_env *env, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Tensorflow__RecvTensorRequest *request =
        bd_proto_unpack_message(&tensorflow__recv_tensor_request__descriptor, &call->request, arena, st);
    bd_message_fini(&call->request); // not kept while the receive waits
    if (request && strlen(request->rendezvous_key) > BD_RENDEZVOUS_KEY_LEN_MAX)
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "RecvTensor: a key is longer than %d",
                BD_RENDEZVOUS_KEY_LEN_MAX);
    else if (request && !bd_request_ids_add(&env->recv_ids, request->request_id))
        bd_fail(st, BRAID_ABORTED, "RecvTensor: request %lld has come before",
                (long long)request->request_id);
    if (!request || st->code) {
        bd_incoming_reply_error(call, st);
        return;
    }
    recv_call *c = bd_slab_alloc(sizeof *c);
    const bool takes_chunks = bd_proto_has_unknown(&request->base, BD_RECV_TAKES_CHUNKS);
    *c = (recv_call){.call = call,
                     .self = env->peers->self,
                     .to = takes_chunks ? find_receiver(env->peers, request) : NULL,
                     .chunks = takes_chunks ? env->chunk_store : NULL,
                     .step_id = request->step_id};
    bd_local_worker_recv_tensor(env->worker, request->step_id, request->rendezvous_key, tensor_received, c);
}

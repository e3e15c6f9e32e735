// A live server for fuzzers.
#include "support/live_server.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "cluster/server.h"
#include "cluster/spec/cluster_spec.h"
#include "proto/pack.h"
#include "proto/text_format.h"
#include "tensor/buffer.h"
#include "tensorflow/core/protobuf/worker.pb-c.h"
#include <braid/braid.h>
#include <string.h>

#define TENSOR_BYTES_MAX ((size_t)256 << 20)

static struct {
    bd_transport *network;
    bd_channel *channel;
    const uint8_t *answer; // of the fuzzer's task
    size_t answer_size;
} live;

// ---- The fuzzer's task ----

static void answer(void *arg, bd_incoming *call)
{
    (void)arg;
    BD_STATUS(st);
    bd_message response;
    bd_message_init(&response);
    if (strcmp(call->method, "/tensorflow.WorkerService/RecvTensor") == 0)
        bd_message_add_copy(&response, live.answer, live.answer_size);
    else
        bd_fail(st, BRAID_UNIMPLEMENTED, "Only RecvTensor");
    bd_incoming_reply(call, &response, st);
    bd_message_fini(&response);
}

void live_peer_answers(const uint8_t *data, size_t size)
{
    live.answer = data;
    live.answer_size = size;
}

// ---- The server ----

void live_start(int workers)
{
    BD_STATUS(st);
    bd_listener *listener;
    char *bound;
    braid_set_log_level(BRAID_LOG_NONE);
    live.network = bd_inprocess_transport_new(NULL, NULL, st);
    braid_cluster *cluster = bd_cluster_new();
    bd_cluster_add(cluster, "worker", 0, "127.0.0.1:1", st);
    if (workers > 1) {
        live.network->listen(live.network, "127.0.0.1:2", answer, NULL, &listener, &bound, st);
        bd_cluster_add(cluster, "worker", 1, bound, st);
        bd_free(bound);
    }
    BD_ASSERT(st->code == BRAID_OK);
    BD_ASSERT(bd_server_start(cluster, "worker", 0, NULL, live.network, st));
    braid_cluster_free(cluster);
    live.channel = live.network->connect(live.network, "127.0.0.1:1");
    bd_buffer_pool_set_limit(TENSOR_BYTES_MAX);
}

// ---- Calls ----

static void keep(void *arg, bd_message *response, const braid_status *st)
{
    live_call *c = arg;
    bd_message_move(&c->response, response);
    bd_status_copy(&c->st, st);
    bd_event_set(&c->has_come);
}

void live_call_begin(live_call *c, const char *method, bd_message *request)
{
    *c = (live_call){0};
    bd_event_init(&c->has_come);
    bd_message_init(&c->response);
    const bd_call_options options = {.method = method, .deadline_ns = BD_FOREVER};
    c->call = live.network->call(live.channel, &options, request, keep, c);
}

void live_call_wait(live_call *c)
{
    bd_event_wait(&c->has_come); // the fuzzer ends what hangs
    BD_ASSERT(c->st.code == BRAID_OK || c->st.message[0]);
}

void live_call_cancel(live_call *c)
{
    live.network->call_cancel(c->call);
}

void live_call_fini(live_call *c)
{
    live.network->call_release(c->call);
    bd_event_fini(&c->has_come);
    bd_message_fini(&c->response);
    bd_status_fini(&c->st);
}

void live_must_call(live_call *c, const char *method, const ProtobufCMessage *request)
{
    bd_message m;
    bd_message_init(&m);
    bd_proto_pack_message(request, &m);
    live_call_begin(c, method, &m);
    live_call_wait(c);
    BD_ASSERT(c->st.code == BRAID_OK);
}

char *live_register(const char *graph_text)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    live_call c;
    Tensorflow__CreateWorkerSessionRequest create = TENSORFLOW__CREATE_WORKER_SESSION_REQUEST__INIT;
    create.session_handle = "s";
    live_must_call(&c, "/tensorflow.WorkerService/CreateWorkerSession", &create.base);
    live_call_fini(&c);
    Tensorflow__RegisterGraphRequest request = TENSORFLOW__REGISTER_GRAPH_REQUEST__INIT;
    request.session_handle = "s";
    request.create_worker_session_called = true;
    ProtobufCMessage *graph;
    bd_text_format_parse(&tensorflow__graph_def__descriptor, graph_text, strlen(graph_text), &graph, st);
    BD_ASSERT(graph);
    request.graph_def = (Tensorflow__GraphDef *)graph;
    live_must_call(&c, "/tensorflow.WorkerService/RegisterGraph", &request.base);
    const Tensorflow__RegisterGraphResponse *response =
        bd_proto_unpack_message(&tensorflow__register_graph_response__descriptor, &c.response, arena, st);
    char *handle = bd_strdup(response->graph_handle);
    protobuf_c_message_free_unpacked(graph, NULL);
    live_call_fini(&c);
    return handle;
}

void live_clean_up(int64_t step_id)
{
    live_call c;
    Tensorflow__CleanupGraphRequest request = TENSORFLOW__CLEANUP_GRAPH_REQUEST__INIT;
    request.step_id = step_id;
    live_must_call(&c, "/tensorflow.WorkerService/CleanupGraph", &request.base);
    live_call_fini(&c);
}

int64_t live_field(const bd_message *m, uint32_t field)
{
    bd_wire_reader in = bd_wire_reader_of(m);
    uint64_t value = 0;
    uint32_t number;
    bd_wire_type type;
    while (bd_wire_next(&in, &number, &type)) {
        if (number == field && type == BD_WIRE_VARINT)
            bd_wire_get_varint(&in, &value);
        else
            bd_wire_skip(&in, type);
    }
    return (int64_t)value;
}

// Fuzzes RunStep: any request to a live server, whose session has a small graph, is answered; with a tensor or with words.
#include "base/alloc.h"
#include "base/check.h"
#include "base/status.h"
#include "base/thread.h"
#include "base/wire.h"
#include "cluster/cluster_spec.h"
#include "cluster/server.h"
#include "proto/pack.h"
#include "tensor/buffer.h"
#include "tensorflow/core/protobuf/master.pb-c.h"
#include <braid/braid.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// What a request may make the server allocate.
#define TENSOR_BYTES_MAX ((size_t)256 << 20)

static struct {
    bd_transport *network;
    bd_channel *channel;
    braid_server *server;
    char *handle; // of the session
} live;

// ---- Calls ----

typedef struct answer {
    bd_event come;
    bd_message message;
    braid_status st;
} answer;

static void keep(void *arg, bd_message *response, const braid_status *st)
{
    answer *a = arg;
    bd_message_move(&a->message, response);
    bd_status_copy(&a->st, st);
    bd_event_set(&a->come);
}

static void call(const char *method, bd_message *request, answer *a)
{
    *a = (answer){0};
    bd_event_init(&a->come);
    bd_message_init(&a->message);
    const bd_call_options options = {.method = method, .deadline_ns = BD_FOREVER};
    bd_call *c = live.network->call(live.channel, &options, request, keep, a);
    bd_event_wait(&a->come); // the graph has nothing that waits
    live.network->call_release(c);
    bd_event_fini(&a->come);
}

static void answer_fini(answer *a)
{
    bd_message_fini(&a->message);
    bd_status_fini(&a->st);
}

// ---- The session ----

static braid_graph *make_graph(void)
{
    braid_graph *g = braid_graph_new();
    const braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE_UNKNOWN);
    const braid_out n = braid_placeholder(g, "n", BRAID_INT32, BRAID_SHAPE_UNKNOWN);
    const braid_out s = braid_placeholder(g, "s", BRAID_STRING, BRAID_SHAPE_UNKNOWN);
    braid_tensor *zero = braid_tensor_float(0);
    const braid_variable v = braid_variable_of(g, "v", zero, true);
    braid_tensor_free(zero);
    braid_matmul(g, x, x);
    braid_assign_add(g, v.ref, x);
    braid_identity(g, "n2", n);
    braid_identity(g, "s2", s);
    BD_ASSERT(braid_graph_status(g, NULL) == BRAID_OK);
    return g;
}

static void open_session(void)
{
    BD_STATUS(st);
    braid_graph *g = make_graph();
    size_t len;
    void *graph_def = braid_graph_export(g, &len, st);
    bd_message request;
    bd_message_init(&request);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &request);
    bd_wire_put_bytes(&writer, 1, graph_def, len);
    bd_wire_writer_finish(&writer);
    answer a;
    call("/tensorflow.MasterService/CreateSession", &request, &a);
    BD_ASSERT(a.st.code == BRAID_OK);
    BD_PROTO_ARENA(arena);
    const Tensorflow__CreateSessionResponse *response =
        bd_proto_unpack_message(&tensorflow__create_session_response__descriptor, &a.message, arena, st);
    live.handle = bd_strdup(response->session_handle);
    answer_fini(&a);
    free(graph_def);
    braid_graph_free(g);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    BD_STATUS(st);
    braid_set_log_level(BRAID_LOG_NONE);
    live.network = bd_inprocess_transport_new(NULL, NULL, st);
    braid_cluster *cluster = bd_cluster_new();
    bd_cluster_add(cluster, "worker", 0, "127.0.0.1:1", st);
    live.server = bd_server_start(cluster, "worker", 0, NULL, live.network, st);
    BD_ASSERT(live.server);
    braid_cluster_free(cluster);
    live.channel = live.network->connect(live.network, "127.0.0.1:1");
    open_session();
    bd_buffer_pool_set_limit(TENSOR_BYTES_MAX);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bd_message request;
    bd_message_init(&request);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &request);
    bd_wire_put_raw(&writer, data, size);
    bd_wire_put_bytes(&writer, 1, live.handle, strlen(live.handle)); // the last one wins
    bd_wire_writer_finish(&writer);
    answer a;
    call("/tensorflow.MasterService/RunStep", &request, &a);
    BD_ASSERT(a.st.code == BRAID_OK || a.st.message[0]);
    answer_fini(&a);
    return 0;
}

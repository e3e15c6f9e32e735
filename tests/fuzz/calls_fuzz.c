// Fuzzes calls of a live server that store objects or read little: callables, partial runs, groups of
// collectives, specifications of the cluster.
//
// The first byte chooses the call, the rest is its request; the handle of a session or the id of a step is
// appended.
#include "base/alloc.h"
#include "base/check.h"
#include "proto/pack.h"
#include "support/live_server.h"
#include "tensorflow/core/protobuf/master.pb-c.h"
#include <braid/braid.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// How a call that may wait for others comes to its end.
typedef enum call_end {
    BY_ITSELF,
    BY_CANCELLING,
    BY_CLEANING_UP, // of its step
} call_end;

static const struct {
    const char *method;
    bool is_of_session; // field 1 is its handle
    call_end end;
} calls[] = {
    {"/tensorflow.MasterService/MakeCallable", true, BY_ITSELF},
    {"/tensorflow.MasterService/RunCallable", true, BY_ITSELF},
    {"/tensorflow.MasterService/ReleaseCallable", true, BY_ITSELF},
    {"/tensorflow.MasterService/PartialRunSetup", true, BY_ITSELF},
    {"/tensorflow.MasterService/RunStep", true, BY_ITSELF}, // of a partial run
    {"/tensorflow.WorkerService/CompleteGroup", false, BY_CANCELLING},
    {"/tensorflow.WorkerService/CompleteInstance", false, BY_CANCELLING},
    {"/tensorflow.WorkerService/GetStepSequence", false, BY_ITSELF},
    {"/tensorflow.WorkerService/RecvBuf", false, BY_CLEANING_UP},
    {"/tensorflow.WorkerService/Logging", false, BY_ITSELF},
    {"/tensorflow.WorkerService/Tracing", false, BY_ITSELF},
    {"/tensorflow.WorkerService/MarkRecvFinished", false, BY_ITSELF},
    {"/grpc.health.v1.Health/Check", false, BY_ITSELF},
    {"/grpc.health.v1.Health/Watch", false, BY_ITSELF}, // refused: the network in memory does not stream
    {"/braid.ClusterService/CompareSpecifications", false, BY_ITSELF},
};

// A session keeps callables and partial runs until it ends.
#define INPUTS_OF_SESSION 1024

static char *session_handle;
static int inputs_left;                     // until the next session
static uint64_t steps = 0x5eed000000000000; // no request hits upon them: a step that was cleaned up is over

static void *make_graph_def(size_t *len)
{
    braid_graph *g = braid_graph_new();
    const braid_out x = braid_placeholder(g, "x", BRAID_FLOAT, BRAID_SHAPE_UNKNOWN);
    const braid_out y = braid_placeholder(g, "y", BRAID_FLOAT, BRAID_SHAPE_UNKNOWN);
    braid_identity(g, "z", braid_matmul(g, x, y));
    BD_ASSERT(braid_graph_status(g, NULL) == BRAID_OK);
    BD_STATUS(st);
    void *graph_def = braid_graph_export(g, len, st);
    braid_graph_free(g);
    return graph_def;
}

static void close_session(void)
{
    if (!session_handle) return;
    Tensorflow__CloseSessionRequest request = TENSORFLOW__CLOSE_SESSION_REQUEST__INIT;
    request.session_handle = session_handle;
    live_call c;
    live_must_call(&c, "/tensorflow.MasterService/CloseSession", &request.base);
    live_call_fini(&c);
    bd_free(session_handle);
}

static void open_session(void)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    size_t len;
    void *graph_def = make_graph_def(&len);
    bd_message request;
    bd_message_init(&request);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &request);
    bd_wire_put_bytes(&writer, 1, graph_def, len);
    bd_wire_writer_finish(&writer);
    live_call c;
    live_call_begin(&c, "/tensorflow.MasterService/CreateSession", &request);
    live_call_wait(&c);
    BD_ASSERT(c.st.code == BRAID_OK);
    const Tensorflow__CreateSessionResponse *response =
        bd_proto_unpack_message(&tensorflow__create_session_response__descriptor, &c.response, arena, st);
    session_handle = bd_strdup(response->session_handle);
    live_call_fini(&c);
    free(graph_def);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    live_start(1);
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    if (inputs_left-- == 0) {
        close_session();
        open_session();
        inputs_left = INPUTS_OF_SESSION;
    }
    const size_t k = data[0] % BD_COUNTOF(calls);
    bd_message request;
    bd_message_init(&request);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &request);
    bd_wire_put_raw(&writer, data + 1, size - 1);
    if (calls[k].is_of_session) bd_wire_put_bytes(&writer, 1, session_handle, strlen(session_handle));
    if (calls[k].end == BY_CLEANING_UP) bd_wire_put_uint(&writer, 1, ++steps);
    bd_wire_writer_finish(&writer);
    const int64_t step = live_field(&request, 1); // the data may contain the appended field
    live_call c;
    live_call_begin(&c, calls[k].method, &request);
    if (calls[k].end == BY_CANCELLING) live_call_cancel(&c);
    if (calls[k].end == BY_CLEANING_UP) live_clean_up(step);
    live_call_wait(&c);
    live_call_fini(&c);
    return 0;
}

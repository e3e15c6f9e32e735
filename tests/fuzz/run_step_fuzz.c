// Fuzzes RunStep: a live server, whose session has a small graph, answers each request with a tensor or an
// error.
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

static char *session_handle;

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
    BD_PROTO_ARENA(arena);
    braid_graph *g = make_graph();
    size_t len;
    void *graph_def = braid_graph_export(g, &len, st);
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
    braid_graph_free(g);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    live_start(1);
    open_session();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    bd_message request;
    bd_message_init(&request);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &request);
    bd_wire_put_raw(&writer, data, size);
    bd_wire_put_bytes(&writer, 1, session_handle, strlen(session_handle)); // the last one wins
    bd_wire_writer_finish(&writer);
    live_call c;
    live_call_begin(&c, "/tensorflow.MasterService/RunStep", &request);
    live_call_wait(&c); // the graph has no node that waits
    live_call_fini(&c);
    return 0;
}

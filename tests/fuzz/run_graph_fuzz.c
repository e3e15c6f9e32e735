// Fuzzes RunGraph: a live server with a small graph answers any request, although the graph's feeds are
// missing.
//
// The first byte decides whether the server's handles are appended to the request.
#include "support/live_server.h"
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The fields of RunGraphRequest.
enum {
    GRAPH_HANDLE = 1,
    STEP_ID = 2,
    SESSION_HANDLE = 8,
    REQUEST_ID = 11
};

// Values come from the client and go to it under these keys: DEVICE;1;DEVICE;x:0;0:0.
#define FEED(NAME, TYPE)                                                                                     \
    "node { name: '" NAME "' op: '_Recv' device: '" LIVE_DEVICE "'"                                          \
    "  attr { key: 'tensor_type' value { type: " TYPE                                                        \
    " } } attr { key: 'client_terminated' value { b: true } }"                                               \
    "  attr { key: 'tensor_name' value { s: '" NAME                                                          \
    ":0' } } attr { key: 'send_device_incarnation' value { i: 1 } }"                                         \
    "  attr { key: 'send_device' value { s: '" LIVE_DEVICE "' } }"                                           \
    "  attr { key: 'recv_device' value { s: '" LIVE_DEVICE "' } } }\n"
#define FETCH(NAME, TYPE)                                                                                    \
    "node { name: '" NAME "_send' op: '_Send' input: '" NAME "' device: '" LIVE_DEVICE "'"                   \
    "  attr { key: 'T' value { type: " TYPE " } } attr { key: 'client_terminated' value { b: true } }"       \
    "  attr { key: 'tensor_name' value { s: '" NAME                                                          \
    ":0' } } attr { key: 'send_device_incarnation' value { i: 1 } }"                                         \
    "  attr { key: 'send_device' value { s: '" LIVE_DEVICE "' } }"                                           \
    "  attr { key: 'recv_device' value { s: '" LIVE_DEVICE "' } } }\n"
#define NODE(NAME, OP, INPUTS, TYPE)                                                                         \
    "node { name: '" NAME "' op: '" OP "' " INPUTS " device: '" LIVE_DEVICE "'"                              \
    "  attr { key: 'T' value { type: " TYPE " } } }\n"

static const char graph_text[] =
    FEED("x", "DT_FLOAT") FEED("s", "DT_STRING") NODE("xx", "MatMul", "input: 'x' input: 'x'", "DT_FLOAT")
        NODE("t", "Identity", "input: 's'", "DT_STRING") FETCH("xx", "DT_FLOAT") FETCH("t", "DT_STRING");

static char *graph_handle;
static uint64_t steps = 0x5eed000000000000; // no request hits upon them: a step that was cleaned up is over

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    live_start(1);
    graph_handle = live_register(graph_text);
    return 0;
}

static void write_request(const uint8_t *data, size_t size, bool with_handles, bd_message *request)
{
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, request);
    bd_wire_put_raw(&writer, data, size);
    // The last one wins. A step of its own each time; a request number would be refused when it comes again.
    if (with_handles) {
        bd_wire_put_bytes(&writer, SESSION_HANDLE, "s", 1);
        bd_wire_put_bytes(&writer, GRAPH_HANDLE, graph_handle, strlen(graph_handle));
        bd_wire_put_uint(&writer, REQUEST_ID, 0);
    }
    bd_wire_put_uint(&writer, STEP_ID, ++steps);
    bd_wire_writer_finish(&writer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    bd_message request;
    bd_message_init(&request);
    write_request(data + 1, size - 1, data[0] & 1, &request);
    const int64_t step = live_field(&request, STEP_ID); // the data may contain the appended field
    live_call running;
    live_call_begin(&running, "/tensorflow.WorkerService/RunGraph", &request);
    live_clean_up(step); // ends waits for values that the request does not feed
    live_call_wait(&running);
    live_call_fini(&running);
    return 0;
}

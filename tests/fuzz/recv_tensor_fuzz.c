// Fuzzes RecvTensor on both sides, and PushTensors: a live server answers any request; whatever another task
// answers to the server's own request, or pushes, the step that waits for the tensor ends.
//
// The first byte decides: 0 a request, 1 one with the right key behind it, 2 an answer, 3 a push, 4 a pushed
// tensor with the right key behind it. A second byte decides whether a push comes before its step.
#include "base/alloc.h"
#include "base/check.h"
#include "cluster/rpc/recv_tensor_response.h"
#include "cluster/rpc/wire_fields.h"
#include "cluster/worker/outbox.h"
#include "proto/pack.h"
#include "support/live_server.h"
#include "tensorflow/core/protobuf/worker.pb-c.h"
#include <inttypes.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The fields of RecvTensorRequest.
enum {
    STEP_ID = 1,
    RENDEZVOUS_KEY = 2,
    REQUEST_ID = 7
};

// Sends a constant to the other task.
static const char sending[] =
    "node { name: 'c' op: 'Const' device: '" LIVE_DEVICE "' attr { key: 'dtype' value { type: DT_FLOAT } }"
    "  attr { key: 'value' value { tensor { dtype: DT_FLOAT tensor_shape { dim { size: 3 } } float_val: [1, 2, 3] } } } }"
    "node { name: 'out' op: '_Send' input: 'c' device: '" LIVE_DEVICE "'"
    "  attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'tensor_name' value { s: 'c' } }"
    "  attr { key: 'send_device_incarnation' value { i: %" PRId64 " } }"
    "  attr { key: 'send_device' value { s: '" LIVE_DEVICE "' } }"
    "  attr { key: 'recv_device' value { s: '" LIVE_PEER_DEVICE "' } } }";

// Receives a tensor from the other task and gives it to the client.
static const char receiving[] =
    "node { name: 'in' op: '_Recv' device: '" LIVE_DEVICE "'"
    "  attr { key: 'tensor_type' value { type: DT_FLOAT } } attr { key: 'tensor_name' value { s: 'd' } }"
    "  attr { key: 'send_device_incarnation' value { i: 1 } }"
    "  attr { key: 'send_device' value { s: '" LIVE_PEER_DEVICE "' } }"
    "  attr { key: 'recv_device' value { s: '" LIVE_DEVICE "' } } }"
    "node { name: 'in2' op: 'Relu' input: 'in' device: '" LIVE_DEVICE
    "' attr { key: 'T' value { type: DT_FLOAT } } }"
    "node { name: 'out' op: '_Send' input: 'in2' device: '" LIVE_DEVICE "'"
    "  attr { key: 'T' value { type: DT_FLOAT } } attr { key: 'tensor_name' value { s: 'in2:0' } }"
    "  attr { key: 'client_terminated' value { b: true } } attr { key: 'send_device_incarnation' value { i: 1 } }"
    "  attr { key: 'send_device' value { s: '" LIVE_DEVICE "' } }"
    "  attr { key: 'recv_device' value { s: '" LIVE_DEVICE "' } } }";
#define PUSHED_KEY LIVE_PEER_DEVICE ";0000000000000001;" LIVE_DEVICE ";d;0:0"
#define FETCHED_KEY LIVE_DEVICE ";0000000000000001;" LIVE_DEVICE ";in2:0;0:0"

static struct {
    char *sender, *receiver; // handles of the graphs
    char *key;               // of the constant
    int64_t step;            // from a number on that no request hits upon: a step that was cleaned up is over
} graphs = {.step = 0x5eed000000000000};

static int64_t device_incarnation(void)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    live_call c;
    const Tensorflow__GetStatusRequest request = TENSORFLOW__GET_STATUS_REQUEST__INIT;
    live_must_call(&c, "/tensorflow.WorkerService/GetStatus", &request.base);
    const Tensorflow__GetStatusResponse *response =
        bd_proto_unpack_message(&tensorflow__get_status_response__descriptor, &c.response, arena, st);
    BD_ASSERT(response && response->n_device_attributes > 0);
    int64_t incarnation = (int64_t)response->device_attributes[0]->incarnation;
    live_call_fini(&c);
    return incarnation;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    live_start(2);
    int64_t incarnation = device_incarnation();
    char *text = bd_asprintf(sending, incarnation);
    graphs.sender = live_register(text);
    graphs.receiver = live_register(receiving);
    graphs.key =
        bd_asprintf("%s;%016" PRIx64 ";%s;c;0:0", LIVE_DEVICE, (uint64_t)incarnation, LIVE_PEER_DEVICE);
    bd_free(text);
    return 0;
}

// A step of one of the graphs; the caller's calls end with it.
static void run(live_call *c, char *graph_handle, char *recv_key, bool pushes)
{
    Tensorflow__RunGraphRequest run = TENSORFLOW__RUN_GRAPH_REQUEST__INIT;
    run.session_handle = "s";
    run.graph_handle = graph_handle;
    run.step_id = graphs.step;
    run.recv_key = &recv_key;
    run.n_recv_key = recv_key != NULL;
    bd_message m;
    bd_message_init(&m);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &m);
    bd_proto_pack(&run.base, &writer);
    if (pushes) bd_wire_put_uint(&writer, BD_RUN_GRAPH_PUSHES, 1);
    bd_wire_writer_finish(&writer);
    live_call_begin(c, "/tensorflow.WorkerService/RunGraph", &m);
}

static void write_request(const uint8_t *data, size_t size, bool with_key, bd_message *request)
{
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, request);
    bd_wire_put_raw(&writer, data, size);
    bd_wire_put_uint(&writer, STEP_ID, (uint64_t)graphs.step); // the last one wins
    if (with_key) {
        bd_wire_put_bytes(&writer, RENDEZVOUS_KEY, graphs.key, strlen(graphs.key));
        bd_wire_put_uint(&writer, REQUEST_ID, 0);
    }
    bd_wire_writer_finish(&writer);
}

static void ask(const uint8_t *data, size_t size, bool with_key)
{
    live_call running, asking;
    bd_message request;
    bd_message_init(&request);
    run(&running, graphs.sender, NULL, false);
    write_request(data, size, with_key, &request);
    const int64_t step = live_field(&request, STEP_ID); // the data may contain the appended field
    live_call_begin(&asking, "/tensorflow.WorkerService/RecvTensor", &request);
    live_call_wait(&running);
    BD_ASSERT(running.st.code == BRAID_OK);
    live_clean_up(step); // ends receives without a sender
    live_call_wait(&asking);
    live_call_fini(&running);
    live_call_fini(&asking);
    live_clean_up(graphs.step);
}

static void answer(const uint8_t *data, size_t size)
{
    live_call running;
    live_peer_answers(data, size);
    run(&running, graphs.receiver, FETCHED_KEY, false);
    live_call_wait(&running); // a response has arrived, whichever it is
    live_call_fini(&running);
    live_clean_up(graphs.step);
}

static void write_push(const uint8_t *data, size_t size, bool with_key, bd_message *request)
{
    bd_message tensor;
    bd_wire_writer writer;
    bd_message_init(&tensor);
    if (with_key) {
        bd_wire_writer_init(&writer, &tensor);
        bd_wire_put_raw(&writer, data, size);
        bd_wire_put_bytes(&writer, BD_PUSHED_KEY, PUSHED_KEY, strlen(PUSHED_KEY));
        bd_wire_writer_finish(&writer);
    }
    bd_wire_writer_init(&writer, request);
    if (with_key)
        bd_wire_put_message(&writer, BD_PUSH_TENSOR, &tensor);
    else
        bd_wire_put_raw(&writer, data, size);
    bd_wire_put_uint(&writer, BD_PUSH_STEP_ID, (uint64_t)graphs.step);
    bd_wire_put_uint(&writer, BD_PUSH_REQUEST_ID, 0);
    bd_wire_writer_finish(&writer);
}

// A refused tensor is fetched by RecvTensor: the response has the same bytes.
static void push(const uint8_t *data, size_t size, bool with_key, bool is_early)
{
    live_call running, pushing;
    bd_message request;
    bd_message_init(&request);
    live_peer_answers(data, size);
    write_push(data, size, with_key, &request);
    const int64_t step = live_field(&request, BD_PUSH_STEP_ID);
    if (!is_early) run(&running, graphs.receiver, FETCHED_KEY, true);
    live_call_begin(&pushing, "/braid.ClusterService/PushTensors", &request);
    if (is_early) run(&running, graphs.receiver, FETCHED_KEY, true);
    live_call_wait(&pushing);
    live_clean_up(step);
    live_clean_up(graphs.step);
    live_call_wait(&running);
    live_call_fini(&running);
    live_call_fini(&pushing);
    live_clean_up(graphs.step); // the server has let go of the calls when it answers this
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    graphs.step++;
    const int kind = data[0] % 5;
    if (kind < 2)
        ask(data + 1, size - 1, kind == 1);
    else if (kind == 2)
        answer(data + 1, size - 1);
    else if (size > 1)
        push(data + 2, size - 2, kind == 4, data[1] & 1);
    return 0;
}

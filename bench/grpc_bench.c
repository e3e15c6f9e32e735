// The limit beside a null step: a round trip of 64 bytes by gRPC C-core between two processes on loopback.
#include "peer.h"
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <signal.h>

enum {
    MESSAGE_SIZE = 64
};

static void wait_for(grpc_completion_queue *cq)
{
    grpc_event event = grpc_completion_queue_next(cq, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
    bench_check(event.type == GRPC_OP_COMPLETE && event.success, "gRPC", "a call failed");
}

static grpc_byte_buffer *message(void)
{
    grpc_slice slice = grpc_slice_malloc(MESSAGE_SIZE);
    memset(GRPC_SLICE_START_PTR(slice), 1, MESSAGE_SIZE);
    grpc_byte_buffer *b = grpc_raw_byte_buffer_create(&slice, 1);
    grpc_slice_unref(slice);
    return b;
}

// ---- Server: answers one call after the other until it is killed ----

static void answer(grpc_server *server, grpc_completion_queue *cq)
{
    grpc_call *call;
    grpc_call_details details;
    grpc_metadata_array metadata;
    grpc_byte_buffer *request = NULL, *response = message();
    int cancelled;
    grpc_call_details_init(&details);
    grpc_metadata_array_init(&metadata);
    bench_check(!grpc_server_request_call(server, &call, &details, &metadata, cq, cq, NULL), "gRPC",
                "no server");
    wait_for(cq);
    grpc_op receive[] = {{.op = GRPC_OP_SEND_INITIAL_METADATA},
                         {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &request}};
    grpc_call_start_batch(call, receive, 2, NULL, NULL);
    wait_for(cq);
    grpc_op reply[] = {
        {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = response},
        {.op = GRPC_OP_SEND_STATUS_FROM_SERVER},
        {.op = GRPC_OP_RECV_CLOSE_ON_SERVER, .data.recv_close_on_server.cancelled = &cancelled}};
    grpc_call_start_batch(call, reply, 3, NULL, NULL);
    wait_for(cq);
    grpc_byte_buffer_destroy(request);
    grpc_byte_buffer_destroy(response);
    grpc_metadata_array_destroy(&metadata);
    grpc_call_details_destroy(&details);
    grpc_call_unref(call);
}

static void serve(void)
{
    grpc_completion_queue *cq = grpc_completion_queue_create_for_next(NULL);
    grpc_server *server = grpc_server_create(NULL, NULL);
    grpc_server_register_completion_queue(server, cq, NULL);
    grpc_server_credentials *credentials = grpc_insecure_server_credentials_create();
    int port = grpc_server_add_http2_port(server, "127.0.0.1:0", credentials);
    bench_check(port > 0, "gRPC", "cannot listen");
    grpc_server_start(server);
    printf("127.0.0.1:%d\n", port);
    fflush(stdout);
    for (;;)
        answer(server, cq);
}

// ---- Client ----

typedef struct client {
    grpc_channel *channel;
    grpc_completion_queue *cq;
    grpc_byte_buffer *request;
} client;

static void step(void *arg)
{
    client *c = arg;
    grpc_metadata_array initial, trailing;
    grpc_metadata_array_init(&initial);
    grpc_metadata_array_init(&trailing);
    grpc_byte_buffer *response = NULL;
    grpc_status_code code = GRPC_STATUS_UNKNOWN;
    grpc_slice details = grpc_empty_slice();
    grpc_call *call = grpc_channel_create_call(c->channel, NULL, GRPC_PROPAGATE_DEFAULTS, c->cq,
                                               grpc_slice_from_static_string("/bench/echo"), NULL,
                                               gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
    grpc_op ops[] = {
        {.op = GRPC_OP_SEND_INITIAL_METADATA, .flags = GRPC_INITIAL_METADATA_WAIT_FOR_READY},
        {.op = GRPC_OP_SEND_MESSAGE, .data.send_message.send_message = c->request},
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
        {.op = GRPC_OP_RECV_INITIAL_METADATA, .data.recv_initial_metadata.recv_initial_metadata = &initial},
        {.op = GRPC_OP_RECV_MESSAGE, .data.recv_message.recv_message = &response},
        {.op = GRPC_OP_RECV_STATUS_ON_CLIENT,
         .data.recv_status_on_client = {
             .trailing_metadata = &trailing, .status = &code, .status_details = &details}}};
    grpc_call_start_batch(call, ops, sizeof ops / sizeof *ops, NULL, NULL);
    wait_for(c->cq);
    bench_check(code == GRPC_STATUS_OK && response, "gRPC", "a call was not answered");
    grpc_byte_buffer_destroy(response);
    grpc_slice_unref(details);
    grpc_metadata_array_destroy(&initial);
    grpc_metadata_array_destroy(&trailing);
    grpc_call_unref(call);
}

int main(int argc, char **argv)
{
    if (argc == 2) {
        grpc_init();
        serve();
    }
    char address[64];
    bench_peer server = bench_peer_start((char *[]){argv[0], "serve", NULL});
    bench_peer_line(&server, address, sizeof address);
    grpc_init();
    grpc_channel_credentials *credentials = grpc_insecure_credentials_create();
    client c = {.channel = grpc_channel_create(address, credentials, NULL),
                .cq = grpc_completion_queue_create_for_next(NULL),
                .request = message()};
    bench_serve(step, &c, 1);
    kill(server.pid, SIGKILL);
    bench_peer_end(&server);
    return 0;
}

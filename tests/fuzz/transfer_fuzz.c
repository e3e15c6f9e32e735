// Fuzzes what a standby receives: the pieces of transfers, and the variables and tasks in them. Whatever has
// been applied is copied on to another process without an error.
//
// The first byte decides: 0 a ReplicaTransfer, sent in pieces whose lengths the second byte determines; 1
// TransferRequests, each behind a byte with its length.
#include "base/alloc.h"
#include "base/check.h"
#include "base/log.h"
#include "base/random.h"
#include "cluster/replication/replication_internal.h"
#include "cluster/rpc/methods.h"
#include "cluster/rpc/wire_fields.h"
#include "cluster/spec/cluster_spec.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TENSOR_BYTES_MAX ((size_t)1 << 24) // small messages may stand for large tensors
#define INCARNATION 100                    // of the serving process
#define PIECE_BYTES_MAX 64

static struct {
    braid_cluster *cluster;
    bd_transport *network;
    bd_timers *timers;
    bd_peers peers;
    bd_membership *membership;
} task;

// ---- The task ----

static void changed(void *arg)
{
    (void)arg;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    BD_STATUS(st);
    braid_set_log_level(BRAID_LOG_NONE);
    task.network = bd_inprocess_transport_new(NULL, NULL, st);
    bd_timers_new(&task.timers, st);
    task.cluster = bd_cluster_new();
    bd_cluster_add(task.cluster, "ps", 0, "127.0.0.1:1", st);
    bd_cluster_add(task.cluster, "worker", 0, "127.0.0.1:2", st);
    BD_ASSERT(st->code == BRAID_OK);
    bd_peers_init(&task.peers, task.cluster, "ps", 0, task.network, task.timers);
    task.membership = bd_membership_new(&(bd_membership_env){.peers = &task.peers,
                                                             .timers = task.timers,
                                                             .cancellation = bd_cancellation_new(NULL),
                                                             .gone_timeout_ms = 1000,
                                                             .start_timeout_ms = 1000,
                                                             .changed = changed});
    bd_buffer_pool_set_limit(TENSOR_BYTES_MAX);
    return 0;
}

// ---- The standby ----

static void serve(void *arg)
{
    (void)arg;
    BD_ASSERT(false); // it only follows
}

static void ended(void *arg, const braid_status *st)
{
    (void)arg;
    BD_ASSERT(st->code != BRAID_OK); // a malformed transfer
}

// A process that follows, without its thread.
static bd_replication *new_standby(bd_resources *resources, bd_cancellation *cancellation)
{
    bd_replication *r = bd_replication_new(&(bd_replication_env){.label = "/job:ps/task:0",
                                                                 .replica = 1,
                                                                 .partner = "127.0.0.1:3",
                                                                 .transport = task.network,
                                                                 .replicated = {resources, task.membership},
                                                                 .cancellation = cancellation,
                                                                 .incarnation = 200,
                                                                 .grace_ms = 1000,
                                                                 .serve = serve,
                                                                 .ended = ended});
    r->followed = INCARNATION;
    return r;
}

static void free_standby(bd_replication *r)
{
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "the input ends");
    bd_replication_close(r, true, why);
    bd_replication_free(r);
}

// ---- Requests ----

typedef struct incoming {
    bd_incoming base;
    int replies;
    braid_code code;
} incoming;

static void reply(bd_incoming *call, bd_message *response, const braid_status *st)
{
    (void)response;
    incoming *in = BD_CONTAINER_OF(call, incoming, base);
    in->replies++;
    in->code = st->code;
}

static const bd_transport replies = {.name = "fuzzer", .reply = reply};

// Takes the request over.
static braid_code send_request(bd_replication *r, bd_message *request)
{
    incoming in = {.base = {.transport = &replies, .deadline_ns = BD_FOREVER}};
    in.base.method = BD_REPLICATION_SERVICE "Transfer";
    bd_message_init(&in.base.request);
    bd_message_move(&in.base.request, request);
    bd_replication_serve_transfer(r, &in.base);
    BD_ASSERT(in.replies == 1);
    bd_message_fini(&in.base.request);
    return in.code;
}

// Each comes from the process that is followed: the last value of a field wins.
static void send_requests(bd_replication *r, const uint8_t *data, size_t size)
{
    while (size > 0) {
        const size_t len = bd_min((size_t)data[0], size - 1);
        bd_message request;
        bd_wire_writer w;
        bd_message_init(&request);
        bd_wire_writer_init(&w, &request);
        bd_wire_put_raw(&w, data + 1, len);
        bd_wire_put_fixed64(&w, BD_TRANSFER_INCARNATION, INCARNATION);
        bd_wire_put_uint(&w, BD_TRANSFER_CALL, r->call);
        bd_wire_writer_finish(&w);
        send_request(r, &request);
        data += 1 + len;
        size -= 1 + len;
    }
}

static void write_piece(const bd_replication *r, const uint8_t *data, size_t at, size_t len, size_t size,
                        bd_message *request)
{
    bd_wire_writer w;
    bd_message_init(request);
    bd_wire_writer_init(&w, request);
    bd_wire_put_fixed64(&w, BD_TRANSFER_INCARNATION, INCARNATION);
    bd_wire_put_uint(&w, BD_TRANSFER_CALL, r->call);
    bd_wire_put_uint(&w, BD_TRANSFER_NUMBER, 1);
    bd_wire_put_uint(&w, BD_TRANSFER_OFFSET, at);
    bd_wire_put_uint(&w, BD_TRANSFER_IS_LAST, at + len == size);
    bd_wire_put_bytes(&w, BD_TRANSFER_DATA, data + at, len);
    bd_wire_writer_finish(&w);
}

static void send_transfer(bd_replication *r, const uint8_t *data, size_t size, uint8_t seed)
{
    bd_rng rng = bd_rng_init(seed);
    size_t at = 0, len;
    do {
        bd_message request;
        len = bd_min(1 + (size_t)bd_rng_below(&rng, PIECE_BYTES_MAX), size - at);
        write_piece(r, data, at, len, size, &request);
        at += len;
        const braid_code code = send_request(r, &request);
        BD_ASSERT(code == BRAID_OK || at == size); // only the last one is parsed
    } while (at < size);
}

// ---- What it has ----

// The bytes of a full transfer of all that `from` has; 0 when there is no room for it. It is applied to `to`.
static size_t copy(bd_resources *from, bd_resources *to)
{
    BD_STATUS(st);
    bd_transfer t;
    size_t copied = 0, bytes = 0;
    bool is_complete;
    if (!bd_transfer_build(&t, &(bd_replicated){from, task.membership}, true, true, &copied, st) &&
        !bd_transfer_apply(&t.message, &(bd_replicated){to, task.membership}, &is_complete, st)) {
        BD_ASSERT(is_complete);
        bytes = t.message.bytes;
    }
    BD_ASSERT(st->code == BRAID_OK || st->code == BRAID_RESOURCE_EXHAUSTED);
    bd_transfer_fini(&t);
    return bytes;
}

static void check(bd_resources *resources)
{
    bd_resources *second = bd_resources_new("ps"), *third = bd_resources_new("ps");
    const size_t bytes = copy(resources, second);
    const size_t again = bytes > 0 ? copy(second, third) : 0;
    BD_ASSERT(again == 0 || again == bytes);
    bd_resources_free(second);
    bd_resources_free(third);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2) return 0;
    bd_cancellation *cancellation = bd_cancellation_new(NULL);
    bd_resources *resources = bd_resources_new("ps");
    bd_replication *r = new_standby(resources, cancellation);
    if (data[0] % 2 == 0)
        send_transfer(r, data + 2, size - 2, data[1]);
    else
        send_requests(r, data + 1, size - 1);
    check(resources);
    free_standby(r);
    bd_resources_free(resources);
    bd_cancellation_unref(cancellation);
    return 0;
}

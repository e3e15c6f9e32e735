// Descriptions of tasks for a client: calls of MonitoringService to several tasks at the same time.
#include "base/alloc.h"
#include "cluster/monitoring/description.h"
#include "cluster/rpc/methods.h"
#include "cluster/spec/cluster_spec.h"
#include "proto/pack.h"
#include "runtime/run_metadata.h"
#include <inttypes.h>

#define TIMEOUT_DEFAULT_MS 5000

struct braid_monitor {
    bd_transport *transport;
    int64_t timeout_ms;
    bool waits;
    bd_map channels; // by address
    bd_rpc_count calls;
};

braid_monitor *braid_monitor_new(const braid_monitor_options *options, braid_status *status)
{
    static const braid_monitor_options defaults;
    if (!options) options = &defaults;
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    braid_role role;
    bd_transport *transport = bd_grpc_transport_new(st);
    if (!transport) return NULL;
    if (bd_grpc_transport_use_tls(transport, options->tls_dir, &role, st)) {
        transport->free(transport);
        return NULL;
    }
    braid_monitor *m = bd_calloc(1, sizeof *m);
    m->transport = transport;
    m->timeout_ms = options->timeout_ms > 0 ? options->timeout_ms : TIMEOUT_DEFAULT_MS;
    m->waits = options->waits;
    bd_rpc_count_init(&m->calls);
    return m;
}

void braid_monitor_free(braid_monitor *m)
{
    if (!m) return;
    size_t pos = 0;
    void *channel;
    bd_rpc_count_wait(&m->calls);
    while (bd_map_next(&m->channels, &pos, NULL, &channel))
        m->transport->channel_close(channel);
    bd_map_fini(&m->channels);
    m->transport->free(m->transport);
    bd_rpc_count_fini(&m->calls);
    bd_free(m);
}

// ---- Asking ----

typedef struct question {
    const char *address, *method;
    const char *late; // what has not happened within the timeout
    int64_t timeout_ms;
    void (*take)(void *out, bd_message *response, braid_status *st);
    void *out;
    braid_status *st;
} question;

static void explain(const question *q, const braid_status *from)
{
    if (from->code == BRAID_DEADLINE_EXCEEDED)
        bd_fail(q->st, from->code, "%s %s within %.1f s", q->address, q->late, (double)q->timeout_ms / 1e3);
    else if (from->code == BRAID_UNIMPLEMENTED)
        bd_fail(q->st, from->code, "%s is no server of this version of Braid: %s", q->address, from->message);
    else if (from->code == BRAID_UNAVAILABLE)
        bd_fail(q->st, from->code, "%s is unavailable: %s", q->address, from->message);
    else
        bd_status_copy(q->st, from);
}

static void answered(void *arg, bd_message *response, const braid_status *st)
{
    const question *q = arg;
    if (st->code)
        explain(q, st);
    else
        q->take(q->out, response, q->st);
}

static bd_channel *channel_to(braid_monitor *m, const char *address)
{
    bd_channel *channel = bd_map_get(&m->channels, address);
    if (channel) return channel;
    channel = m->transport->connect(m->transport, address);
    bd_map_put(&m->channels, address, channel);
    return channel;
}

// The requests of both methods have no fields.
static void ask(braid_monitor *m, question *q)
{
    char host[BD_HOST_LEN_MAX + 1];
    int port;
    if (!bd_address_unix_path(q->address) && bd_host_port_parse(q->address, host, &port, q->st)) return;
    const Braid__DescribeRequest request = BRAID__DESCRIBE_REQUEST__INIT;
    const bd_rpc_options options = {.transport = m->transport,
                                    .channel = channel_to(m, q->address),
                                    .method = q->method,
                                    .deadline_ns = bd_deadline_after_ms(m->timeout_ms),
                                    .wait_for_ready = m->waits,
                                    .count = &m->calls};
    q->timeout_ms = m->timeout_ms;
    bd_rpc_start_proto(&options, &request.base, answered, q);
}

static void take_description(void *out, bd_message *response, braid_status *st)
{
    BD_PROTO_ARENA(arena);
    const Braid__DescribeResponse *message =
        bd_proto_unpack_message(&braid__describe_response__descriptor, response, arena, st);
    if (message) *(braid_task_description **)out = bd_description_of(message);
}

static question describe_question(const char *address, braid_task_description **out, braid_status *st)
{
    return (question){.address = address,
                      .method = BD_MONITORING_SERVICE "Describe",
                      .late = "does not answer",
                      .take = take_description,
                      .out = out,
                      .st = st};
}

void braid_monitor_describe(braid_monitor *m, const char *const *addresses, int count,
                            braid_task_description **descriptions, braid_status *const *statuses)
{
    question *questions = bd_calloc((size_t)count, sizeof *questions);
    for (int i = 0; i < count; i++) {
        questions[i] = describe_question(addresses[i], &descriptions[i], statuses[i]);
        descriptions[i] = NULL;
        braid_status_clear(statuses[i]);
        ask(m, &questions[i]);
    }
    bd_rpc_count_wait(&m->calls); // ends: each call has a deadline
    bd_free(questions);
}

static void take_trace(void *out, bd_message *response, braid_status *st)
{
    (void)st;
    braid_run_metadata *metadata = braid_run_metadata_new();
    bd_run_metadata_set(metadata, response);
    *(braid_run_metadata **)out = metadata;
}

// Asks one task over a connection of its own; q->take gets the answer.
static void ask_once(question *q, const braid_monitor_options *options)
{
    braid_monitor *m = braid_monitor_new(options, q->st);
    if (!m) return;
    ask(m, q);
    bd_rpc_count_wait(&m->calls); // ends: the call has a deadline
    braid_monitor_free(m);
}

braid_task_description *braid_describe_task(const char *address, const braid_monitor_options *options,
                                            braid_status *status)
{
    BD_STATUS(unwanted);
    braid_task_description *description = NULL;
    question q = describe_question(address, &description, status ? status : unwanted);
    ask_once(&q, options);
    return description;
}

braid_run_metadata *braid_trace_task(const char *address, const braid_monitor_options *options,
                                     braid_status *status)
{
    BD_STATUS(unwanted);
    braid_run_metadata *metadata = NULL;
    question q = {.address = address,
                  .method = BD_MONITORING_SERVICE "Trace",
                  .late = "has begun and ended no step",
                  .take = take_trace,
                  .out = &metadata,
                  .st = status ? status : unwanted};
    ask_once(&q, options);
    return metadata;
}

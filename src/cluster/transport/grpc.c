// The gRPC transport: generic unary calls over gRPC C-core, one completion queue, a few threads that poll it.
//
// Every operation given to gRPC carries a bd_grpc_tag; a poll thread takes it off the queue and runs it. The
// queue ends after the last listener and the last call are gone, and the threads with it.
//
// A thread that reads from a connection goes on as long as more arrives there. When other connections wait
// for that, one more thread polls for a while (bd_grpc_help): more threads all the time would be slower.
//
// ThreadSanitizer cannot see the order that libgrpc makes between giving a tag and getting it back:
// bd_grpc_tag_publish and `poll_until` below say it, for all files of this transport.
#include "base/clock.h"
#include "base/fork.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "cluster/transport/grpc_internal.h"
#include <grpc/support/log.h>
#include <limits.h>
#include <string.h>

// ---- Arguments ----

#define INTEGER(name, number)                                                                                \
    {                                                                                                        \
        .type = GRPC_ARG_INTEGER, .key = (char *)(name), .value.integer = (number)                           \
    }
#define STRING(name, text)                                                                                   \
    {                                                                                                        \
        .type = GRPC_ARG_STRING, .key = (char *)(name), .value.string = (char *)(text)                       \
    }

#define READ_CHUNK(bytes)                                                                                    \
    INTEGER(GRPC_ARG_TCP_READ_CHUNK_SIZE, bytes), INTEGER(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, bytes)

// Large reads make large tensors cheap (twice the speed at 400 KB), and mostly clients receive these. A
// server parses all that it has read before it can end a connection: 4 MB of tiny calls keep it busy for
// seconds.
#define CLIENT_READ_CHUNK READ_CHUNK(4 << 20)
#define SERVER_READ_CHUNK READ_CHUNK(256 << 10)

// A step's tensors may have any size; large frames make them cheap.
#define COMMON_ARGS                                                                                          \
    INTEGER(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, -1), INTEGER(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1),         \
        INTEGER(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, 16777215),                                                    \
        STRING(GRPC_ARG_OPTIMIZATION_TARGET, "throughput"), INTEGER(GRPC_ARG_MAX_METADATA_SIZE, 64 << 10),   \
        INTEGER(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0), INTEGER(GRPC_ARG_HTTP2_BDP_PROBE, 1),             \
        INTEGER(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, 8 << 20)

// MIN_RECONNECT_BACKOFF is, in spite of its name, how long an attempt to connect may take: a busy host is
// slow to answer, not gone. Whether a call may be repeated (RETRIES) is ours to decide.
#define CLIENT_ARGS                                                                                          \
    COMMON_ARGS, CLIENT_READ_CHUNK, INTEGER(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 4000),                            \
        INTEGER(GRPC_ARG_ENABLE_CHANNELZ, 0), INTEGER(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 20),            \
        INTEGER(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 5000), INTEGER(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000),  \
        INTEGER(GRPC_ARG_DNS_MIN_TIME_BETWEEN_RESOLUTIONS_MS, 1000), INTEGER(GRPC_ARG_ENABLE_HTTP_PROXY, 0), \
        INTEGER(GRPC_ARG_ENABLE_RETRIES, 0), INTEGER(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1)

// A watched connection to a server notices within 8 s that the host is gone; a server notices it by
// grpc_keepalive.c. A lost task is gone for good a grace time later: within the grace time and 10 s in all.
#define PING_MS 4000
// By default a server ends a connection with more than one ping in 5 minutes without data.
#define PING_ANY_SERVER_MS 310000

const grpc_channel_args *bd_grpc_client_args(void)
{
    static grpc_arg args[] = {CLIENT_ARGS, INTEGER(GRPC_ARG_KEEPALIVE_TIME_MS, PING_ANY_SERVER_MS)};
    static const grpc_channel_args list = {BD_COUNTOF(args), args};
    return &list;
}

const grpc_channel_args *bd_grpc_watching_args(void)
{
    static grpc_arg args[] = {CLIENT_ARGS, INTEGER(GRPC_ARG_KEEPALIVE_TIME_MS, PING_MS)};
    static const grpc_channel_args list = {BD_COUNTOF(args), args};
    return &list;
}

// A connection that has not said its first words (of TLS, of HTTP/2) by then ends.
#define HANDSHAKE_MS 10000

// gRPC connects to both processes, watches their health, and gives calls to the one that says SERVING.
#define TO_THE_SERVING                                                                                       \
    "{\"loadBalancingConfig\": [{\"round_robin\": {}}], \"healthCheckConfig\": {\"serviceName\": \"\"}}"

const grpc_channel_args *bd_grpc_replicas_args(void)
{
    static grpc_arg args[] = {CLIENT_ARGS, INTEGER(GRPC_ARG_KEEPALIVE_TIME_MS, PING_MS),
                              STRING(GRPC_ARG_SERVICE_CONFIG, TO_THE_SERVING)};
    static const grpc_channel_args list = {BD_COUNTOF(args), args};
    return &list;
}

const grpc_channel_args *bd_grpc_server_args(void)
{
    static grpc_arg args[] = {
        COMMON_ARGS,
        SERVER_READ_CHUNK,
        INTEGER(GRPC_ARG_ENABLE_CHANNELZ, 1), // grpc_statistics.h
        INTEGER(GRPC_ARG_MAX_CHANNEL_TRACE_EVENT_MEMORY_PER_NODE, 0),
        INTEGER(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000),
        INTEGER(GRPC_ARG_HTTP2_MAX_PING_STRIKES, 0),
        INTEGER("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
    };
    static const grpc_channel_args list = {BD_COUNTOF(args), args};
    return &list;
}

grpc_metadata bd_grpc_pings(void)
{
    return (grpc_metadata){.key = grpc_slice_from_static_string(BD_GRPC_PINGS_KEY),
                           .value = grpc_slice_from_static_string("1")};
}

bool bd_grpc_has_pings(const grpc_metadata_array *a)
{
    for (size_t i = 0; i < a->count; i++)
        if (grpc_slice_str_cmp(a->metadata[i].key, BD_GRPC_PINGS_KEY) == 0) return true;
    return false;
}

// ---- Time ----

gpr_timespec bd_grpc_deadline(int64_t deadline_ns)
{
    if (deadline_ns == BD_FOREVER) return gpr_inf_future(GPR_CLOCK_MONOTONIC);
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
                        gpr_time_from_nanos(deadline_ns - bd_now_ns(), GPR_TIMESPAN));
}

int64_t bd_grpc_deadline_ns(gpr_timespec deadline)
{
    if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) return BD_FOREVER;
    const gpr_timespec left = gpr_time_sub(deadline, gpr_now(deadline.clock_type));
    if (left.tv_sec > INT64_MAX / 4000000000) return BD_FOREVER;
    return bd_now_ns() + left.tv_sec * 1000000000 + left.tv_nsec;
}

// ---- Log ----

#define WARNING_NS INT64_C(10000000000) // between two

// Calls over a connection whose handshake fails wait or end with Unavailable, and the end that refuses is the
// only one to know why.
static void warn_of_handshake(const char *why)
{
    static _Atomic int64_t warned_ns;
    const int64_t now_ns = bd_now_ns(), before_ns = atomic_load(&warned_ns);
    if (before_ns && now_ns - before_ns < WARNING_NS) return;
    atomic_store(&warned_ns, now_ns);
    bd_warn(
        "A TLS handshake failed: %s Both ends need a certificate of one authority (--tls-dir, BRAID_TLS_DIR)",
        why);
}

// gRPC logs errors that are normal (no server listens at an address yet). The caller gets the important ones
// as a status.
static void log_line(gpr_log_func_args *args)
{
    static const char failed[] = "Handshake failed with fatal error ";
    if (bd_str_starts_with(args->message, failed))
        warn_of_handshake(args->message + strlen(failed));
    else
        bd_debug("gRPC: %s", args->message);
}

static unsigned forks; // bd_fork_count of the process that has started gRPC

static void set_up(void *arg)
{
    (void)arg;
    forks = bd_fork_count();
    gpr_set_log_function(log_line);
}

// ---- Polling ----

void bd_grpc_tag_publish(bd_grpc_tag *tag)
{
    bd_tsan_release(tag);
}

bool bd_grpc_start(grpc_call *call, const grpc_op *ops, size_t count, bd_grpc_tag *tag)
{
    bd_grpc_tag_publish(tag);
    return grpc_call_start_batch(call, ops, count, tag, NULL) == GRPC_CALL_OK;
}

// Ends when the queue is shut down and empty, or at the time `until` when nothing is to be done.
static void poll_until(bd_grpc *g, gpr_timespec until)
{
    for (;;) {
        const grpc_event event = grpc_completion_queue_next(g->cq, until, NULL);
        if (event.type != GRPC_OP_COMPLETE) return;
        bd_grpc_tag *tag = event.tag;
        bd_tsan_acquire(tag);
        tag->run(tag, event.success);
    }
}

static void poll(void *arg)
{
    poll_until(arg, gpr_inf_future(GPR_CLOCK_MONOTONIC));
}

// ---- Helpers ----

#define HELP_MS 1000

static void help(void *arg)
{
    bd_grpc_helper *h = arg;
    poll_until(h->transport,
               gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), gpr_time_from_millis(HELP_MS, GPR_TIMESPAN)));
    atomic_store(&h->is_running, false);
}

// Whether this one begins to help.
static bool start_helper(bd_grpc *g, bd_grpc_helper *h)
{
    if (atomic_load(&h->is_running)) return false;
    if (h->is_started) bd_thread_join(&h->thread); // ends: it polls no more
    BD_STATUS(st);
    h->transport = g;
    atomic_store(&h->is_running, true);
    h->is_started = !bd_thread_start(&h->thread, "bd-grpc-help", help, h, st);
    if (!h->is_started) atomic_store(&h->is_running, false);
    return h->is_started;
}

void bd_grpc_help(bd_grpc *g)
{
    bd_mutex_lock(&g->mu);
    for (int i = 0; i < BD_GRPC_HELPERS_MAX; i++)
        if (start_helper(g, &g->helpers[i])) break;
    bd_mutex_unlock(&g->mu);
}

static void grpc_free(bd_transport *t)
{
    bd_grpc *g = BD_CONTAINER_OF(t, bd_grpc, base);
    grpc_completion_queue_shutdown(g->cq);
    for (int i = 0; i < g->thread_count; i++)
        bd_thread_join(&g->threads[i]);
    for (int i = 0; i < BD_GRPC_HELPERS_MAX; i++)
        if (g->helpers[i].is_started) bd_thread_join(&g->helpers[i].thread);
    grpc_completion_queue_destroy(g->cq);
    bd_grpc_tls_free(g->tls);
    bd_mutex_fini(&g->mu);
    bd_free(g);
    grpc_shutdown();
}

void bd_grpc_transport_limit(bd_transport *t, const bd_transport_limits *limits)
{
    BD_CONTAINER_OF(t, bd_grpc, base)->limits = *limits;
}

void bd_grpc_transport_admit(bd_transport *t, const bd_users *users, braid_role (*needed)(const char *method))
{
    bd_grpc *g = BD_CONTAINER_OF(t, bd_grpc, base);
    g->users = users;
    g->needed = needed;
}

braid_code bd_grpc_transport_use_tls(bd_transport *t, const char *dir, braid_role *role, braid_status *st)
{
    bd_grpc *g = BD_CONTAINER_OF(t, bd_grpc, base);
    if (!bd_grpc_tls_new(dir, bd_grpc_end_revoked, g, &g->tls, st))
        *role = g->tls ? bd_grpc_tls_role(g->tls) : BRAID_ROLE_NONE;
    return st->code;
}

bd_transport *bd_grpc_transport_new(braid_status *st)
{
    static bd_once once = BD_ONCE_INIT;
    bd_once_run(&once, set_up, NULL);
    if (forks != bd_fork_count()) {
        bd_fail(
            st, BRAID_FAILED_PRECONDITION,
            "gRPC was started before this process was forked, and its threads are those of the parent: fork "
            "first, or start the process by spawn");
        return NULL;
    }
    grpc_init();
    bd_grpc *g = bd_calloc(1, sizeof *g);
    g->base = (bd_transport){
        .name = "grpc",
        .listen = bd_grpc_listen,
        .listener_close = bd_grpc_listener_close,
        .listener_stop = bd_grpc_listener_stop,
        .listener_free = bd_grpc_listener_free,
        .connect = bd_grpc_connect,
        .channel_close = bd_grpc_channel_close,
        .call = bd_grpc_call,
        .call_cancel = bd_grpc_call_cancel,
        .call_release = bd_grpc_call_release,
        .reply = bd_grpc_reply,
        .on_end = bd_grpc_on_end,
        .peer = bd_grpc_peer,
        .caller = bd_grpc_caller,
        .is_connected = bd_grpc_is_connected,
        .callers = bd_grpc_callers,
        .send = bd_grpc_send,
        .receive = bd_grpc_receive,
        .free = grpc_free,
    };
    g->limits = bd_transport_limits_default;
    bd_mutex_init(&g->mu);
    g->cq = grpc_completion_queue_create_for_next(NULL);
    // Threads that poll one queue wake each other at each event, so there are as few as suffice: callbacks do
    // not wait.
    const int threads = (int)bd_min(bd_max(bd_cpu_count() / 2, 1), BD_GRPC_POLL_THREADS_MAX);
    while (g->thread_count < threads) {
        if (bd_thread_start(&g->threads[g->thread_count], "bd-grpc", poll, g, st)) {
            grpc_free(&g->base);
            return NULL;
        }
        g->thread_count++;
    }
    return &g->base;
}

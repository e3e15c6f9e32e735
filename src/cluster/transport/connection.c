// What connections have in progress, by caller, and the bytes that they send.
#include "cluster/transport/connection.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/strbuf.h"
#include <inttypes.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

// A program that loses a session cancels what it has in progress; 10,000 waiting calls are many.
#define CANCELLED_AT_ONCE 10000
#define CANCELLED_PER_S 1000
// Pings, settings and windows are a few dozen bytes each. gRPC begins no call before it has read all that has
// arrived: the headers of 20,000 calls at once have up to 4 MB, and a large message may arrive whole, which
// takes a busy machine seconds. While that may be what it does, more may arrive.
#define CONTROL_MAX (4 << 20)
#define CONTROL_PER_S (64 << 10)
#define CONTROL_AT_ONCE (32 << 20)
#define BUSY_NS INT64_C(10000000000)
#define MESSAGE_FACTOR 16
// gRPC's client may send so much of the message of a call before it learns that the call is refused.
#define REFUSED_MESSAGE (16 << 20)

const bd_transport_limits bd_transport_limits_default = {.calls = 20000, .message_bytes = INT64_C(8) << 30};

struct bd_caller_usage {
    int refs; // guarded by the mutex of the callers
    atomic_int calls;
    atomic_int_fast64_t bytes;
    char name[];
};

// ---- Allowances ----

// Uses `amount`. False when more than `max` is used.
static bool use(bd_allowance *a, double amount, double max, double per_s)
{
    const int64_t now_ns = bd_now_ns();
    const double back = a->at_ns ? (double)(now_ns - a->at_ns) * 1e-9 * per_s : 0;
    a->at_ns = now_ns;
    a->used = (a->used > back ? a->used - back : 0) + amount;
    return a->used <= max;
}

// ---- Callers ----

static bd_caller_usage *get_usage(bd_callers *callers, const char *name)
{
    bd_mutex_lock(&callers->mu);
    bd_caller_usage *usage = bd_map_get(&callers->by_name, name);
    if (!usage) {
        usage = bd_calloc(1, sizeof *usage + strlen(name) + 1);
        strcpy(usage->name, name);
        bd_map_put(&callers->by_name, name, usage);
    }
    usage->refs++;
    bd_mutex_unlock(&callers->mu);
    return usage;
}

static void drop_usage(bd_callers *callers, bd_caller_usage *usage)
{
    if (!usage) return;
    bd_mutex_lock(&callers->mu);
    const bool is_last = --usage->refs == 0;
    if (is_last) bd_map_remove(&callers->by_name, usage->name);
    bd_mutex_unlock(&callers->mu);
    if (is_last) bd_free(usage);
}

// "ipv4:10.0.0.7:4321" without the port.
static char *host_of(const char *peer)
{
    const char *colon = strrchr(peer, ':');
    return bd_strndup(peer, colon ? (size_t)(colon - peer) : strlen(peer));
}

void bd_connection_set_caller(bd_connection *c, const bd_caller *caller)
{
    char *name = caller->name[0] ? bd_strdup(caller->name) : host_of(c->peer);
    bd_mutex_lock(&c->mu);
    if (!c->is_known) {
        c->caller = *caller;
        c->usage = get_usage(c->callers, name);
        c->is_known = true;
    }
    bd_mutex_unlock(&c->mu);
    bd_free(name);
}

bool bd_connection_caller(bd_connection *c, bd_caller *out)
{
    bd_mutex_lock(&c->mu);
    const bool is_known = c->is_known;
    if (is_known) *out = c->caller;
    bd_mutex_unlock(&c->mu);
    return is_known;
}

// ---- Life ----

bd_connection *bd_connection_new(bd_callers *callers, char *peer)
{
    bd_connection *c = bd_calloc(1, sizeof *c);
    atomic_init(&c->refs, 1);
    c->callers = callers;
    c->peer = peer;
    bd_turns_init(&c->turns);
    bd_mutex_init(&c->mu);
    return c;
}

void bd_connection_ref(bd_connection *c)
{
    atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
}

void bd_connection_unref(bd_connection *c)
{
    if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1) return;
    drop_usage(c->callers, c->usage);
    bd_mutex_fini(&c->mu);
    bd_turns_fini(&c->turns);
    bd_free(c->peer);
    bd_free(c);
}

// ---- Calls ----

braid_code bd_connection_begin_call(bd_connection *c, const bd_transport_limits *limits, braid_status *st)
{
    bd_connection_progress(c);
    const int before = atomic_fetch_add_explicit(&c->usage->calls, 1, memory_order_relaxed);
    if (before < limits->calls) {
        atomic_store_explicit(&c->has_called, true, memory_order_relaxed);
        atomic_fetch_add_explicit(&c->receiving, 1, memory_order_relaxed);
        return BRAID_OK;
    }
    atomic_fetch_sub_explicit(&c->usage->calls, 1, memory_order_relaxed);
    return bd_fail(
        st, BRAID_RESOURCE_EXHAUSTED,
        "%s has %d calls in progress, the most that the server allows (start it with --limit calls=N)",
        c->usage->name, before);
}

braid_code bd_connection_hold(bd_connection *c, size_t bytes, const bd_transport_limits *limits,
                              braid_status *st)
{
    bd_connection_progress(c);
    atomic_fetch_sub_explicit(&c->receiving, 1, memory_order_relaxed);
    const int64_t now =
        atomic_fetch_add_explicit(&c->usage->bytes, (int64_t)bytes, memory_order_relaxed) + (int64_t)bytes;
    if (now <= limits->message_bytes) return BRAID_OK;
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED,
                   "%s has messages of %" PRId64 " bytes in progress, and the server allows %" PRId64
                   " (start it with --limit messages=BYTES)",
                   c->usage->name, now, limits->message_bytes);
}

void bd_connection_end_call(bd_connection *c, size_t bytes)
{
    atomic_fetch_sub_explicit(&c->usage->calls, 1, memory_order_relaxed);
    atomic_fetch_sub_explicit(&c->usage->bytes, (int64_t)bytes, memory_order_relaxed);
}

bool bd_connection_cancelled(bd_connection *c)
{
    bd_mutex_lock(&c->mu);
    const bool is_allowed = use(&c->cancelled, 1, CANCELLED_AT_ONCE, CANCELLED_PER_S);
    bd_mutex_unlock(&c->mu);
    return is_allowed;
}

// ---- Bytes ----

static int bytes_unread(int socket)
{
    int unread = 0;
    return ioctl(socket, FIONREAD, &unread) == 0 ? unread : 0;
}

// What gRPC has read. 0 for a socket in the file system: the kernel does not count there.
static uint64_t bytes_read(int socket)
{
    struct tcp_info info = {0};
    socklen_t len = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &len) != 0) return 0;
    const uint64_t unread = (uint64_t)bytes_unread(socket);
    return info.tcpi_bytes_received > unread ? info.tcpi_bytes_received - unread : 0;
}

void bd_connection_look(bd_connection *c)
{
    c->bytes_looked_at = bytes_read(c->watch);
}

// A socket in the file system has no count by which to tell.
bool bd_connection_is_starved(const bd_connection *c)
{
    if (bd_str_starts_with(c->peer, "unix:")) return false;
    return bytes_unread(c->watch) > 0 && bytes_read(c->watch) == c->bytes_looked_at;
}

// Few bytes of messages are of calls; they cannot be told from others while a message is expected.
static void count_load(bd_connection *c, uint64_t new_bytes)
{
    const unsigned arrived = atomic_load_explicit(&c->arrived, memory_order_relaxed);
    const bool has_message = atomic_load_explicit(&c->receiving, memory_order_relaxed) > 0;
    c->load += (arrived - c->arrived_seen) * BD_LOAD_OF_A_CALL +
               (double)new_bytes / (has_message ? MESSAGE_FACTOR : 1);
    c->arrived_seen = arrived;
}

static const char *check_message(bd_connection *c, uint64_t bytes, const bd_transport_limits *limits)
{
    c->message_bytes += bytes;
    return c->message_bytes <= (uint64_t)limits->message_bytes + REFUSED_MESSAGE
               ? NULL
               : "its message is too long (--limit messages=BYTES)";
}

static const char *check_control(bd_connection *c, uint64_t bytes)
{
    const int64_t now_ns = bd_now_ns();
    if (c->control.used <= 0) c->control_ns = now_ns;
    const bool is_busy = now_ns - c->control_ns < BUSY_NS;
    const bool has_refused = atomic_load_explicit(&c->has_refused, memory_order_relaxed);
    const double max = (is_busy ? CONTROL_AT_ONCE : CONTROL_MAX) + (has_refused ? REFUSED_MESSAGE : 0);
    return use(&c->control, (double)bytes, max, CONTROL_PER_S)
               ? NULL
               : "it sends headers without an end, or frames of no call";
}

const char *bd_connection_check(bd_connection *c, const bd_transport_limits *limits)
{
    const unsigned progress = atomic_load_explicit(&c->progress, memory_order_relaxed);
    const uint64_t read = bytes_read(c->watch), new_bytes = read > c->bytes_seen ? read - c->bytes_seen : 0;
    c->bytes_seen = read;
    count_load(c, new_bytes);
    if (progress != c->progress_seen) {
        c->progress_seen = progress;
        c->message_bytes = 0;
        c->control = (bd_allowance){0};
        return NULL;
    }
    return atomic_load_explicit(&c->receiving, memory_order_relaxed) > 0 ? check_message(c, new_bytes, limits)
                                                                         : check_control(c, new_bytes);
}

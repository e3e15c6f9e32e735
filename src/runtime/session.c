// The public session over any implementation: sends new nodes of the graph, turns operations into names, and closes when
// no call is inside any more.
#include "runtime/session.h"
#include "runtime/run_metadata.h"

#include "base/alloc.h"
#include "base/thread.h"
#include <string.h>

struct braid_session {
    braid_graph *graph;               // not owned
    bd_session *impl;                 // owned
    bd_mutex mu;                      // held while nodes are sent
    atomic_size_t sent;               // nodes of the graph that the implementation has; written under mu
    braid_device_attributes *devices; // of the last braid_session_list_devices
    bd_device_info *device_infos;
    bd_mutex calls_mu;
    bd_cond all_left; // `inside` has become 0 while closing
    bool is_closing;  // guarded by calls_mu: no call begins
    int inside;       // calls in progress; guarded by calls_mu
};

braid_session *bd_session_wrap(braid_graph *graph, bd_session *impl)
{
    braid_session *s = bd_calloc(1, sizeof *s);
    s->graph = graph;
    s->impl = impl;
    bd_mutex_init(&s->mu);
    bd_mutex_init(&s->calls_mu);
    bd_cond_init(&s->all_left);
    return s;
}

// ---- Calls in progress ----

// Every function but close is between enter and leave. False: the session is closing.
static bool enter(braid_session *s, braid_status *st)
{
    bd_mutex_lock(&s->calls_mu);
    bool is_open = !s->is_closing;
    if (is_open) s->inside++;
    bd_mutex_unlock(&s->calls_mu);
    if (!is_open) bd_fail(st, BRAID_CANCELLED, "Session has been closed.");
    return is_open;
}

// The session may be gone after this.
static void leave(braid_session *s)
{
    bd_mutex_lock(&s->calls_mu);
    if (--s->inside == 0 && s->is_closing) bd_cond_broadcast(&s->all_left);
    bd_mutex_unlock(&s->calls_mu);
}

static void end_calls(braid_session *s)
{
    bd_mutex_lock(&s->calls_mu);
    s->is_closing = true;
    bd_mutex_unlock(&s->calls_mu);
    s->impl->ops->cancel(s->impl);
    bd_mutex_lock(&s->calls_mu);
    while (s->inside > 0)
        bd_cond_wait(&s->all_left, &s->calls_mu); // ends: all are cancelled
    bd_mutex_unlock(&s->calls_mu);
}

static braid_code report(braid_status *to, braid_status *from)
{
    braid_code code = from->code;
    if (to) bd_status_move(to, from);
    return code;
}

static braid_code send_new_nodes(braid_session *s, braid_status *st)
{
    size_t count = s->graph->nodes.len;
    if (atomic_load_explicit(&s->sent, memory_order_acquire) == count) return BRAID_OK;
    bd_mutex_lock(&s->mu);
    size_t sent = atomic_load_explicit(&s->sent, memory_order_relaxed);
    braid_code code = BRAID_OK;
    if (sent < count) code = s->impl->ops->extend(s->impl, s->graph, (int)sent, st);
    if (!code) atomic_store_explicit(&s->sent, count, memory_order_release);
    bd_mutex_unlock(&s->mu);
    return code;
}

// ---- Names of what a run asks for ----

enum {
    INLINE_BYTES = 1024,
    INLINE_NAMES = 16,
    INDEX_DIGITS_MAX = 11
};

// The signature of a run and what its implementation fills, in the struct when it is small.
typedef struct request {
    bd_run_signature signature;
    const char **names; // feeds, fetches, targets
    char *text;
    const braid_tensor **feed_values;
    braid_tensor *fetch_values;
    char *next; // in text
    char inline_text[INLINE_BYTES];
    const char *inline_names[INLINE_NAMES];
    const braid_tensor *inline_feeds[INLINE_NAMES];
    braid_tensor inline_fetches[INLINE_NAMES];
} request;

static const char *put_text(request *q, const char *text)
{
    size_t len = strlen(text);
    char *at = q->next;
    memcpy(at, text, len + 1);
    q->next += len; // a suffix may follow
    return at;
}

static const char *put_output(request *q, braid_out out)
{
    char *at = (char *)put_text(q, out.op->name);
    char digits[INDEX_DIGITS_MAX];
    int count = 0, left = out.index;
    do {
        digits[count++] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    *q->next++ = ':';
    while (count > 0)
        *q->next++ = digits[--count];
    *q->next++ = 0;
    return at;
}

static size_t text_needed(const braid_run_args *args)
{
    size_t len = 0;
    for (int i = 0; i < args->feed_count; i++)
        len += strlen(args->feeds[i].out.op->name) + INDEX_DIGITS_MAX + 2;
    for (int i = 0; i < args->fetch_count; i++)
        len += strlen(args->fetches[i].out.op->name) + INDEX_DIGITS_MAX + 2;
    for (int i = 0; i < args->target_count; i++)
        len += strlen(args->targets[i]->name) + 1;
    return len;
}

static void fill_names(request *q, const braid_run_args *args)
{
    const char **name = q->names;
    q->signature = (bd_run_signature){.feeds = name,
                                      .feed_count = args->feed_count,
                                      .fetches = name + args->feed_count,
                                      .fetch_count = args->fetch_count,
                                      .targets = name + args->feed_count + args->fetch_count,
                                      .target_count = args->target_count};
    for (int i = 0; i < args->feed_count; i++) {
        *name++ = put_output(q, args->feeds[i].out);
        q->feed_values[i] = args->feeds[i].value;
    }
    for (int i = 0; i < args->fetch_count; i++) {
        *name++ = put_output(q, args->fetches[i].out);
        q->fetch_values[i] = (braid_tensor){0};
    }
    for (int i = 0; i < args->target_count; i++) {
        *name++ = put_text(q, args->targets[i]->name);
        q->next++;
    }
}

static void open_request(request *q, const braid_run_args *args)
{
    size_t feeds = (size_t)args->feed_count, fetches = (size_t)args->fetch_count;
    size_t names = feeds + fetches + (size_t)args->target_count, text = text_needed(args);
    q->text = text <= INLINE_BYTES ? q->inline_text : bd_malloc(text);
    q->names = names <= INLINE_NAMES ? q->inline_names : bd_malloc(names * sizeof *q->names);
    q->feed_values = feeds <= INLINE_NAMES ? q->inline_feeds : bd_malloc(feeds * sizeof *q->feed_values);
    q->fetch_values =
        fetches <= INLINE_NAMES ? q->inline_fetches : bd_malloc(fetches * sizeof *q->fetch_values);
    q->next = q->text;
    fill_names(q, args);
}

static void close_request(request *q)
{
    if (q->text != q->inline_text) bd_free(q->text);
    if (q->names != q->inline_names) bd_free(q->names);
    if (q->feed_values != q->inline_feeds) bd_free(q->feed_values);
    if (q->fetch_values != q->inline_fetches) bd_free(q->fetch_values);
}

// ---- Running ----

static braid_code check_output(const braid_session *s, const char *what, int i, braid_out out,
                               braid_status *st)
{
    if (!out.op) return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s %d is no output", what, i);
    if (out.op->graph != s->graph)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s %d, '%s', is of another graph", what, i, out.op->name);
    if (out.index < 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s %d: '%s' has no output %d", what, i, out.op->name,
                       out.index);
    return BRAID_OK;
}

static braid_code check_args(const braid_session *s, const braid_run_args *args, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (int i = 0; !code && i < args->feed_count; i++) {
        code = check_output(s, "feed", i, args->feeds[i].out, st);
        if (!code && !args->feeds[i].value)
            code = bd_fail(st, BRAID_INVALID_ARGUMENT, "feed %d, '%s', has no value", i,
                           args->feeds[i].out.op->name);
    }
    for (int i = 0; !code && i < args->fetch_count; i++) {
        code = check_output(s, "fetch", i, args->fetches[i].out, st);
        if (!code && !args->fetches[i].value)
            code = bd_fail(st, BRAID_INVALID_ARGUMENT, "fetch %d has no place to be stored", i);
    }
    for (int i = 0; !code && i < args->target_count; i++)
        code = check_output(s, "target", i, (braid_out){.op = args->targets[i]}, st);
    return code;
}

static void store_fetches(const braid_run_args *args, braid_tensor *values)
{
    for (int i = 0; i < args->fetch_count; i++) {
        braid_tensor *box = bd_malloc(sizeof *box);
        bd_tensor_move(box, &values[i]);
        *args->fetches[i].value = box;
    }
}

static braid_code run(braid_session *s, const braid_run_args *args, braid_status *st)
{
    braid_code code = braid_graph_status(s->graph, st);
    if (!code) code = check_args(s, args, st);
    if (!code) code = send_new_nodes(s, st);
    if (code) return code;
    request q;
    open_request(&q, args);
    bd_message metadata;
    bd_message_init(&metadata);
    code = s->impl->ops->run(s->impl, &q.signature, q.feed_values, q.fetch_values, args->timeout_ms,
                             args->metadata ? &metadata : NULL, st);
    if (!code) store_fetches(args, q.fetch_values);
    if (!code && args->metadata) bd_run_metadata_set(args->metadata, &metadata);
    bd_message_fini(&metadata);
    close_request(&q);
    return code;
}

braid_code braid_session_run(braid_session *session, const braid_run_args *args, braid_status *status)
{
    BD_STATUS(st);
    if (enter(session, st)) {
        run(session, args, st);
        leave(session);
    }
    return report(status, st);
}

braid_code braid_session_close(braid_session *session, braid_status *status)
{
    if (!session) return BRAID_OK;
    BD_STATUS(st);
    end_calls(session);
    session->impl->ops->close(session->impl, st);
    bd_mutex_fini(&session->mu);
    bd_mutex_fini(&session->calls_mu);
    bd_cond_fini(&session->all_left);
    bd_free(session->devices);
    bd_free(session->device_infos);
    bd_free(session);
    return report(status, st);
}

// ---- The rest ----

static void keep_devices(braid_session *s, bd_device_info *infos, int count)
{
    bd_free(s->devices);
    bd_free(s->device_infos);
    s->device_infos = infos; // the names lie in it
    s->devices = bd_calloc((size_t)count + 1, sizeof *s->devices);
    for (int i = 0; i < count; i++) {
        s->devices[i] = (braid_device_attributes){.name = infos[i].name,
                                                  .type = infos[i].type,
                                                  .memory_limit = infos[i].memory_limit,
                                                  .incarnation = infos[i].incarnation};
    }
}

static void list_devices(braid_session *s, const braid_device_attributes **devices, int *count,
                         braid_status *st)
{
    bd_device_info *infos = NULL;
    int n = 0;
    bd_mutex_lock(&s->mu);
    if (!s->impl->ops->list_devices(s->impl, &infos, &n, st)) {
        keep_devices(s, infos, n);
        *devices = s->devices;
        *count = n;
    }
    bd_mutex_unlock(&s->mu);
}

braid_code braid_session_list_devices(braid_session *session, const braid_device_attributes **devices,
                                      int *count, braid_status *status)
{
    BD_STATUS(st);
    *devices = NULL;
    *count = 0;
    if (enter(session, st)) {
        list_devices(session, devices, count, st);
        leave(session);
    }
    return report(status, st);
}

braid_code braid_session_announce(braid_session *session, const char *key, braid_status *status)
{
    BD_STATUS(st);
    if (enter(session, st)) {
        session->impl->ops->announce(session->impl, key, st);
        leave(session);
    }
    return report(status, st);
}

braid_code braid_session_await(braid_session *session, const char *key, int64_t seen, int64_t timeout_ms,
                               int64_t *generation, braid_status *status)
{
    BD_STATUS(st);
    int64_t reached = 0;
    if (enter(session, st)) {
        session->impl->ops->await(session->impl, key, seen, timeout_ms, &reached, st);
        leave(session);
    }
    if (generation) *generation = reached;
    return report(status, st);
}

// The public session over any implementation: sends new nodes of the graph before a run, and closes when no
// call is inside any more.
#include "runtime/session_internal.h"

#include "base/alloc.h"
#include "base/fork.h"
#include "graph/location.h"
#include "graph/turns.h"
#include "runtime/debug_nodes.h"
#include "runtime/run_metadata.h"

braid_session *bd_session_wrap(braid_graph *graph, bd_session *impl)
{
    braid_session *s = bd_calloc(1, sizeof *s);
    s->graph = graph;
    s->impl = impl;
    s->forks = bd_fork_count();
    atomic_init(&s->refs, 1);
    bd_mutex_init(&s->mu);
    bd_mutex_init(&s->calls_mu);
    bd_cond_init(&s->all_left);
    return s;
}

// ---- Calls in progress ----

// A child that was forked has none of the session's threads, and its locks may be held for ever.
static bool is_of_a_parent(const braid_session *s)
{
    return s->forks != bd_fork_count();
}

bool bd_session_enter(braid_session *s, braid_status *st)
{
    bd_location_forget();
    if (is_of_a_parent(s)) {
        bd_fail(
            st, BRAID_FAILED_PRECONDITION,
            "The session was opened before this process was forked, and its threads are those of the parent: "
            "open a session in the child");
        return false;
    }
    bd_mutex_lock(&s->calls_mu);
    bool is_open = !s->is_closing;
    if (is_open) s->inside++;
    bd_mutex_unlock(&s->calls_mu);
    if (!is_open) bd_fail(st, BRAID_CANCELLED, "Session has been closed.");
    return is_open;
}

void bd_session_leave(braid_session *s, braid_status *st)
{
    if (st && st->code) {
        BD_GRAPH_TURN(s->graph);
        bd_location_name_nodes(s->graph, st);
    }
    bd_mutex_lock(&s->calls_mu);
    if (--s->inside == 0 && s->is_closing) bd_cond_broadcast(&s->all_left);
    bd_mutex_unlock(&s->calls_mu);
}

void braid_session_cancel(braid_session *s)
{
    if (is_of_a_parent(s)) return;
    bd_mutex_lock(&s->calls_mu);
    const bool is_first = !s->is_closing;
    s->is_closing = true;
    if (is_first) s->inside++; // closing waits for this call, too
    bd_mutex_unlock(&s->calls_mu);
    if (!is_first) return;
    s->impl->ops->cancel(s->impl);
    bd_session_leave(s, NULL);
}

static void end_calls(braid_session *s)
{
    braid_session_cancel(s);
    bd_mutex_lock(&s->calls_mu);
    while (s->inside > 0)
        bd_cond_wait(&s->all_left, &s->calls_mu); // ends: all are cancelled
    bd_mutex_unlock(&s->calls_mu);
}

braid_code bd_session_report(braid_status *to, braid_status *from)
{
    braid_code code = from->code;
    if (to) bd_status_move(to, from);
    return code;
}

braid_code bd_session_check_graph(const braid_session *s, braid_status *st)
{
    return bd_graph_visible_error(s->graph) ? braid_graph_status(s->graph, st) : BRAID_OK;
}

braid_code bd_session_send_new_nodes(braid_session *s, braid_status *st)
{
    if (atomic_load_explicit(&s->sent, memory_order_acquire) == bd_graph_visible_nodes(s->graph) ||
        bd_graph_is_half_built_here())
        return BRAID_OK;
    bd_mutex_lock(&s->mu);
    const size_t sent = atomic_load_explicit(&s->sent, memory_order_relaxed);
    braid_code code = BRAID_OK;
    bd_graph_lock_whole(s->graph);
    const size_t count = s->graph->nodes.len;
    if (sent < count)
        code = s->impl->ops->extend(s->impl, s->graph, (int)sent, st);
    else
        bd_graph_unlock(s->graph);
    if (!code) atomic_store_explicit(&s->sent, count, memory_order_release);
    bd_mutex_unlock(&s->mu);
    return code;
}

// ---- Running ----

static braid_code run(braid_session *s, const braid_run_args *args, braid_status *st)
{
    braid_code code = bd_session_check_graph(s, st);
    if (!code) code = bd_session_check_args(s, args, st);
    bd_cancellation *cancellation;
    if (!code) code = bd_session_check_cancellation(s, args->cancellation, &cancellation, st);
    if (!code) code = bd_session_send_new_nodes(s, st);
    if (code) return code;
    bd_session_request q;
    BD_PROTO_ARENA(arena);
    const Tensorflow__DebugOptions *debug = NULL;
    if (args->debug_options) debug = bd_debug_parse(args->debug_options, args->debug_options_len, arena, st);
    if (st->code) return st->code;
    bd_session_request_open(&q, args);
    q.signature.debug = debug;
    bd_message metadata;
    bd_message_init(&metadata);
    if (q.signature.fetch_count || q.signature.target_count)
        code = s->impl->ops->run(s->impl,
                                 &(bd_session_run){.signature = &q.signature,
                                                   .feeds = q.feed_values,
                                                   .fetches = q.fetch_values,
                                                   .timeout_ms = args->timeout_ms,
                                                   .metadata = args->metadata ? &metadata : NULL,
                                                   .records = bd_records(args->metadata, args->records),
                                                   .cancellation = cancellation},
                                 st);
    if (!code) bd_session_store_fetches(args, q.fetch_values);
    if (!code && args->metadata) bd_run_metadata_set(args->metadata, &metadata);
    bd_message_fini(&metadata);
    bd_session_request_close(&q);
    return code;
}

braid_code braid_session_run(braid_session *session, const braid_run_args *args, braid_status *status)
{
    BD_STATUS(st);
    if (!session || !args) {
        bd_fail(st, BRAID_INVALID_ARGUMENT, "A run needs %s",
                session ? "arguments (braid_run_args)" : "a session");
    } else if (bd_session_enter(session, st)) {
        run(session, args, st);
        bd_session_leave(session, st);
    }
    return bd_session_report(status, st);
}

braid_session *bd_session_ref(braid_session *session)
{
    atomic_fetch_add_explicit(&session->refs, 1, memory_order_relaxed);
    return session;
}

void bd_session_unref(braid_session *session)
{
    if (atomic_fetch_sub_explicit(&session->refs, 1, memory_order_acq_rel) != 1) return;
    bd_mutex_fini(&session->mu);
    bd_mutex_fini(&session->calls_mu);
    bd_cond_fini(&session->all_left);
    bd_free(session->devices);
    bd_free(session->device_infos);
    bd_free(session);
}

braid_code braid_session_close(braid_session *session, braid_status *status)
{
    if (!session || is_of_a_parent(session)) return BRAID_OK;
    BD_STATUS(st);
    end_calls(session);
    session->impl->ops->close(session->impl, st);
    bd_session_unref(session);
    return bd_session_report(status, st);
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
    if (bd_session_enter(session, st)) {
        list_devices(session, devices, count, st);
        bd_session_leave(session, st);
    }
    return bd_session_report(status, st);
}

braid_code braid_session_notify(braid_session *session, const char *key, braid_status *status)
{
    BD_STATUS(st);
    if (bd_session_enter(session, st)) {
        session->impl->ops->notify(session->impl, key, st);
        bd_session_leave(session, st);
    }
    return bd_session_report(status, st);
}

braid_code braid_session_wait_notification(braid_session *session, const braid_notification_wait *wait,
                                           int64_t *generation, braid_status *status)
{
    BD_STATUS(st);
    int64_t reached = 0;
    if (bd_session_enter(session, st)) {
        session->impl->ops->wait_notification(session->impl, wait, &reached, st);
        bd_session_leave(session, st);
    }
    if (generation) *generation = reached;
    return bd_session_report(status, st);
}

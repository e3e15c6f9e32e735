// The session on a server of this process: calls its master directly, so that only the graph is serialized.
//
// A run waits on its own thread, and the partition of this task executes on it, too.
#include "base/alloc.h"
#include "base/progress.h"
#include "base/wire.h"
#include "cluster/session/client_session.h"
#include "cluster/spec/cluster_spec.h"
#include "graph/turns.h"

typedef struct server_session {
    bd_session base;
    bd_server_session_env env;
    bd_master_session *session; // a reference
    int64_t operation_timeout_ms;
} server_session;

static server_session *of(bd_session *s)
{
    return BD_CONTAINER_OF(s, server_session, base);
}

// The result of a call with a callback, for the thread that waits for it.
typedef struct result {
    bd_event event;
    braid_status *st; // not owned
    bd_master_session *session;
    bd_device_info *devices;
    int device_count;
    int64_t generation;
    int64_t callable;
    char *partial_run;
} result;

static void set_done(void *arg, const braid_status *st)
{
    result *r = arg;
    bd_status_copy(r->st, st);
    bd_event_set(&r->event);
}

static braid_code wait(result *r)
{
    bd_event_wait_polling(&r->event,
                          BD_FOREVER); // ends as the operation does: see master.h and notifications.h
    bd_event_fini(&r->event);
    return r->st->code;
}

static braid_code extend(bd_session *base, const braid_graph *graph, int from, braid_status *st)
{
    bd_message graph_def;
    bd_message_init(&graph_def);
    bd_wire_writer writer;
    bd_wire_writer_init(&writer, &graph_def);
    bd_graph_write(graph, from, 0, &writer);
    bd_graph_unlock(graph);
    bd_wire_writer_finish(&writer);
    int64_t version = -1;
    bd_master_extend(of(base)->session, &graph_def, &version, st);
    bd_message_fini(&graph_def);
    return st->code;
}

static bd_cancellation *cancellation_of(const server_session *s, const bd_session_run *run)
{
    return run->cancellation ? run->cancellation : bd_master_session_cancellation(s->session);
}

static braid_code run(bd_session *base, const bd_session_run *run, braid_status *st)
{
    server_session *s = of(base);
    const bd_master_run_args args = {
        .signature = run->signature,
        .feeds = run->feeds,
        .fetches = run->fetches,
        .timeout_ms = run->timeout_ms,
        .may_wait = true,
        .wants_stats = run->records & BRAID_RECORD_STATS,
        .wants_partition_graphs = run->records & BRAID_RECORD_GRAPHS,
        .metadata = run->metadata,
    };
    result r = {.st = st};
    bd_event_init(&r.event);
    bd_master_run(s->session, &args, cancellation_of(s, run), set_done, &r);
    return wait(&r);
}

// ---- Callables and partial runs ----

static void set_callable(void *arg, int64_t handle, const braid_status *st)
{
    result *r = arg;
    r->callable = handle;
    set_done(r, st);
}

static braid_code make_callable(bd_session *base, const bd_run_signature *signature,
                                const bd_callable_options *options, int64_t *handle, braid_status *st)
{
    server_session *s = of(base);
    const bd_master_run_args args = {
        .signature = signature,
        .timeout_ms = options->timeout_ms,
        .wants_stats = options->records & BRAID_RECORD_STATS,
        .wants_partition_graphs = options->records & BRAID_RECORD_GRAPHS,
        .may_wait = true,
    };
    result r = {.st = st};
    bd_event_init(&r.event);
    bd_master_make_callable(s->session, &args, bd_master_session_cancellation(s->session), set_callable, &r);
    wait(&r);
    *handle = r.callable;
    return st->code;
}

static braid_code run_callable(bd_session *base, int64_t handle, const bd_session_run *run, braid_status *st)
{
    server_session *s = of(base);
    bd_callable *c = bd_master_find_callable(s->session, handle, st);
    if (!c) return st->code;
    bd_message unwanted;
    bd_message_init(&unwanted);
    bd_master_run_args args = bd_callable_args(c);
    args.feeds = run->feeds;
    args.fetches = run->fetches;
    args.may_wait = true;
    if (args.wants_stats || args.wants_partition_graphs)
        args.metadata = run->metadata ? run->metadata : &unwanted;
    result r = {.st = st};
    bd_event_init(&r.event);
    bd_master_run(s->session, &args, cancellation_of(s, run), set_done, &r);
    wait(&r);
    bd_callable_unref(c);
    bd_message_fini(&unwanted);
    return st->code;
}

static void release_callable(bd_session *base, int64_t handle)
{
    bd_master_release_callable(of(base)->session, handle);
}

static void set_partial_run(void *arg, const char *handle, const braid_status *st)
{
    result *r = arg;
    if (handle) r->partial_run = bd_strdup(handle);
    set_done(r, st);
}

static braid_code setup_partial_run(bd_session *base, const bd_run_signature *signature, char **handle,
                                    braid_status *st)
{
    server_session *s = of(base);
    result r = {.st = st};
    bd_event_init(&r.event);
    bd_master_setup_partial_run(s->session, signature, bd_master_session_cancellation(s->session),
                                set_partial_run, &r);
    wait(&r);
    *handle = r.partial_run;
    return st->code;
}

static braid_code run_partial(bd_session *base, const char *handle, const bd_session_run *run,
                              braid_status *st)
{
    server_session *s = of(base);
    const bd_master_run_args args = {
        .signature = run->signature,
        .feeds = run->feeds,
        .fetches = run->fetches,
        .timeout_ms = run->timeout_ms,
        .may_wait = true,
    };
    result r = {.st = st};
    bd_event_init(&r.event);
    bd_master_run_partial(s->session, handle, &args, cancellation_of(s, run), set_done, &r);
    return wait(&r);
}

static void end_partial_run(bd_session *base, const char *handle)
{
    bd_master_end_partial(of(base)->session, handle);
}

// ---- Devices, notifications ----

static void set_devices(void *arg, const bd_device_info *devices, int count, const braid_status *st)
{
    result *r = arg;
    if (!st->code) r->devices = bd_device_infos_copy(devices, count);
    r->device_count = count;
    set_done(r, st);
}

static braid_code list_devices(bd_session *base, bd_device_info **devices, int *count, braid_status *st)
{
    server_session *s = of(base);
    result r = {.st = st};
    bd_event_init(&r.event);
    bd_master_list_devices(s->env.master, bd_master_session_handle(s->session),
                           bd_master_session_cancellation(s->session), set_devices, &r);
    wait(&r);
    *devices = r.devices;
    *count = r.device_count;
    return st->code;
}

static void set_generation(void *arg, int64_t generation, const braid_status *st)
{
    result *r = arg;
    r->generation = generation;
    set_done(r, st);
}

static braid_code notify(bd_session *base, const char *key, braid_status *st)
{
    server_session *s = of(base);
    result r = {.st = st};
    bd_event_init(&r.event);
    bd_notifications_notify(s->env.notifications, key, true, bd_master_session_cancellation(s->session),
                            set_generation, &r);
    return wait(&r);
}

static braid_code wait_notification(bd_session *base, const braid_notification_wait *wanted,
                                    int64_t *generation, braid_status *st)
{
    server_session *s = of(base);
    result r = {.st = st};
    bd_event_init(&r.event);
    const bd_notification_wait options = {
        .key = wanted->key,
        .seen = wanted->seen,
        .min_tasks = wanted->min_tasks,
        .successors = wanted->successors,
        .leads = wanted->leads,
        .forward = true,
        .deadline_ns = wanted->timeout_ms > 0 ? bd_deadline_after_ms(wanted->timeout_ms) : BD_FOREVER,
        .cancellation = wanted->cancellation ? bd_cancellation_of(wanted->cancellation)
                                             : bd_master_session_cancellation(s->session),
    };
    bd_notifications_wait(s->env.notifications, &options, set_generation, &r);
    wait(&r);
    *generation = r.generation;
    return st->code;
}

static bd_cancellation *cancellation(bd_session *base)
{
    return bd_master_session_cancellation(of(base)->session);
}

// Closes the master's session, which ends its steps. A Reset or the end of the server may have closed it
// before.
static void cancel(bd_session *base)
{
    server_session *s = of(base);
    BD_STATUS(unwanted);
    result r = {.st = unwanted};
    bd_event_init(&r.event);
    bd_master_close_session(s->env.master, bd_master_session_handle(s->session), set_done, &r);
    wait(&r);
}

static braid_code close_session(bd_session *base, braid_status *st)
{
    server_session *s = of(base);
    bd_master_session_unref(s->session);
    bd_free(s);
    return st->code;
}

static void set_session(void *arg, bd_master_session *session, const braid_status *st)
{
    result *r = arg;
    r->session = session;
    set_done(r, st);
}

// Opening a session ends with the server, or when the program cancels it.
typedef struct opening {
    bd_cancel_hook hook;
    bd_cancellation *token, *by; // `by`: the program's; NULL
} opening;

static void opening_cancelled(bd_cancel_hook *hook, const braid_status *why)
{
    bd_cancellation_cancel(BD_CONTAINER_OF(hook, opening, hook)->token, why);
}

static void opening_begin(opening *o, bd_cancellation *by)
{
    BD_STATUS(why);
    o->by = by;
    if (by && !bd_cancellation_add(by, &o->hook) && bd_cancellation_status(by, why))
        bd_cancellation_cancel(o->token, why);
}

static void opening_end(opening *o)
{
    if (o->by) bd_cancellation_remove(o->by, &o->hook);
    bd_cancellation_unref(o->token);
}

// The cluster of the session with a reference; NULL for that of the server.
static braid_code find_cluster(const bd_server_session_env *env, const braid_session_options *options,
                               bd_session_cluster **out, braid_status *st)
{
    const char *job;
    int index;
    *out = NULL;
    if (!options->cluster || bd_cluster_task_count(options->cluster) == 0) return BRAID_OK;
    if (bd_session_cluster_find_self(env->clusters, options->cluster, NULL, &job, &index, st))
        return st->code;
    return bd_session_cluster_get(env->clusters, options->cluster, job, index, NULL, out, st);
}

braid_code bd_server_session_new(const bd_server_session_env *env, const braid_session_options *options,
                                 bd_session **out, braid_status *st)
{
    static const bd_session_ops ops = {.extend = extend,
                                       .run = run,
                                       .make_callable = make_callable,
                                       .run_callable = run_callable,
                                       .release_callable = release_callable,
                                       .setup_partial_run = setup_partial_run,
                                       .run_partial = run_partial,
                                       .end_partial_run = end_partial_run,
                                       .list_devices = list_devices,
                                       .notify = notify,
                                       .wait_notification = wait_notification,
                                       .cancellation = cancellation,
                                       .cancel = cancel,
                                       .close = close_session};
    bd_session_cluster *cluster;
    if (find_cluster(env, options, &cluster, st)) return st->code;
    const bd_session_config config = {
        .device_filters = options->device_filters,
        .device_filter_count = options->device_filter_count,
        .allow_soft_placement = options->allow_soft_placement,
        .log_device_placement = options->log_device_placement,
        .place_pruned_graph = options->place_pruned_graph,
        .sends_bfloat16 = options->enable_bfloat16_sendrecv,
        .is_isolated = options->cluster ? !options->shares_session_state : options->isolate_session_state,
        .cluster = cluster,
        .operation_timeout_ms = options->operation_timeout_ms,
        .disabled_rewrites = options->disabled_rewrites,
        .collective_leader = options->collective_leader,
    };
    braid_graph empty;
    bd_graph_init(&empty);
    result r = {.st = st};
    bd_event_init(&r.event);
    const int64_t deadline_ns =
        options->open_timeout_ms > 0 ? bd_deadline_after_ms(options->open_timeout_ms) : BD_FOREVER;
    opening o = {.hook = {.fn = opening_cancelled}, .token = bd_cancellation_new(env->cancellation)};
    opening_begin(&o, bd_cancellation_of(options->cancellation));
    bd_master_create_session(env->master, &empty, &config, deadline_ns, o.token, set_session, &r);
    wait(&r);
    opening_end(&o);
    bd_session_cluster_unref(cluster);
    if (st->code) return st->code;
    server_session *s = bd_calloc(1, sizeof *s);
    s->base.ops = &ops;
    s->env = *env;
    s->session = r.session;
    bd_master_hold(r.session); // its client is this process
    *out = &s->base;
    return BRAID_OK;
}

braid_code bd_server_session_reset(const bd_server_session_env *env, const braid_session_options *options,
                                   const char *const *containers, int count, braid_status *st)
{
    const bd_caller self = {.role = BRAID_ROLE_TASK};
    result r = {.st = st};
    bd_event_init(&r.event);
    bd_master_reset(env->master, &self, containers, count, options->device_filters,
                    options->device_filter_count, env->cancellation, set_done, &r);
    return wait(&r);
}

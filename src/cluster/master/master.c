// The master: its sessions, from their making to their end.
//
// A session is made in four parts: its tasks are found (device_finder.c) and told of it, both holding no
// thread, its graph is placed (on the master's pool), and it goes into the table. Closing takes it out of the
// table, cancels its steps and waits for the last of them to leave, holding no thread either.
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "cluster/master/master_internal.h"
#include "graph/device_name.h"
#include "runtime/session.h"
#include <string.h>

bd_master *bd_master_new(const bd_master_env *env)
{
    bd_master *m = bd_calloc(1, sizeof *m);
    m->env = *env;
    bd_session_config *defaults = &m->env.defaults;
    const char **filters = bd_calloc((size_t)defaults->device_filter_count + 1, sizeof *filters);
    for (int i = 0; i < defaults->device_filter_count; i++)
        filters[i] = bd_strdup(env->defaults.device_filters[i]);
    defaults->device_filters = filters;
    defaults->collective_leader = bd_strdup(defaults->collective_leader ? defaults->collective_leader : "");
    bd_mutex_init(&m->mu);
    bd_cond_init(&m->changed);
    return m;
}

void bd_master_free(bd_master *m)
{
    if (!m) return;
    BD_ASSERT(bd_map_count(&m->sessions) == 0 && m->closing == 0);
    const bd_session_config *defaults = &m->env.defaults;
    for (int i = 0; i < defaults->device_filter_count; i++)
        bd_free((char *)defaults->device_filters[i]);
    bd_free((void *)defaults->device_filters);
    bd_free((char *)defaults->collective_leader);
    bd_map_fini(&m->sessions);
    bd_cond_fini(&m->changed);
    bd_mutex_fini(&m->mu);
    bd_free(m);
}

bd_account *bd_master_account(bd_master *m, const bd_caller *client)
{
    return bd_accounts_of(m->env.accounts, bd_caller_client(client));
}

// Callers of the role task may use what others have made.
static bool may_use(const bd_caller *caller, const char *owner)
{
    return !caller || caller->role >= BRAID_ROLE_TASK || strcmp(caller->name, owner) == 0;
}

bd_master_session *bd_master_find_session(bd_master *m, const char *handle, const bd_caller *caller,
                                          braid_status *st)
{
    bd_mutex_lock(&m->mu);
    bd_master_session *s = bd_map_get(&m->sessions, handle);
    if (!s)
        bd_fail(st, BRAID_ABORTED, "Session %s is not found. Possibly, this master has restarted.", handle);
    else if (!may_use(caller, s->owner.name))
        bd_fail(
            st, BRAID_PERMISSION_DENIED,
            "Session %s belongs to %s, which has opened it, and the caller is %s: that needs the role task",
            handle, bd_caller_name(&s->owner), bd_caller_name(caller));
    if (!st->code) {
        bd_master_session_ref(s);
        atomic_store_explicit(&s->last_use_ns, bd_now_ns(), memory_order_relaxed);
    }
    bd_mutex_unlock(&m->mu);
    return st->code ? NULL : s;
}

// ---- Making a session ----

// The owner of `config` may open one more session.
static braid_code check_room_locked(const bd_master *m, const bd_caller *owner, braid_status *st)
{
    if (m->env.sessions_max == 0 || !owner->name[0]) return BRAID_OK;
    int count = 0;
    size_t pos = 0;
    void *session;
    while (bd_map_next(&m->sessions, &pos, NULL, &session))
        count += strcmp(((bd_master_session *)session)->owner.name, owner->name) == 0;
    if (count < m->env.sessions_max) return BRAID_OK;
    return bd_fail(
        st, BRAID_RESOURCE_EXHAUSTED,
        "%s has %d sessions open, the most that the server allows: close some, or start the server with "
        "--limit sessions=N",
        owner->name, count);
}

static braid_code check_room(bd_master *m, const bd_caller *owner, braid_status *st)
{
    bd_mutex_lock(&m->mu);
    check_room_locked(m, owner, st);
    bd_mutex_unlock(&m->mu);
    return st->code;
}

typedef struct creation creation;

// The session on one of its tasks.
typedef struct task_creation {
    creation *c;
    const bd_peer *peer;
    bd_cancellation *cancellation; // of the requests to the tasks
    bd_worker_done_fn done;
    void *done_arg;
    braid_status why; // it is unavailable
} task_creation;

struct creation {
    bd_master *master;
    braid_graph graph;
    bd_session_config
        config; // without names: the finder has used the filters; with a reference to the cluster
    const bd_peer *leader;
    bd_master_created_fn fn;
    void *arg;
    bd_master_session *session;
    task_creation *tasks; // of the session
    bool *has_ended;      // [tasks]: is done with its work, and has ended since it was found
    int64_t deadline_ns;
    bd_cancellation *cancellation; // a reference to the caller's
};

static void creation_end(creation *c, const braid_status *st)
{
    c->fn(c->arg, st->code ? NULL : c->session, st);
    if (st->code) bd_master_session_unref(c->session);
    bd_graph_fini(&c->graph);
    bd_free(c->tasks);
    bd_free(c->has_ended);
    bd_session_cluster_unref(c->config.cluster);
    bd_cancellation_unref(c->cancellation);
    bd_free(c);
}

static void deleted_on_task(void *arg, const braid_status *st)
{
    (void)st; // the worker deletes it again before it creates the next one
    bd_session_cluster_unref(arg);
}

// The channels of the session's cluster stay until the tasks have answered.
static void delete_on_tasks(const bd_master_session *s)
{
    for (int i = 0; i < s->tasks.count; i++) {
        bd_worker *w = s->tasks.items[i].peer->worker;
        w->ops->delete_session(w, s->handle, deleted_on_task, bd_session_cluster_ref(s->cluster));
    }
}

// A task that is done with its work may end between the search for tasks and this request.
static void done_known(void *arg, const bd_done_notice *tasks, int count)
{
    task_creation *t = arg;
    BD_STATUS(st);
    bd_status_move(st, &t->why);
    if (bd_done_notices_have(tasks, count, t->peer)) {
        bd_info("CreateSession goes on without %s: it is done with its work", t->peer->label);
        t->c->has_ended[t - t->c->tasks] = true;
        bd_status_fini(st);
    }
    t->done(t->done_arg, st);
}

static void created_on_task(void *arg, const braid_status *st)
{
    task_creation *t = arg;
    bd_membership *m = t->c->session->cluster ? NULL : t->c->master->env.membership;
    if (st->code == BRAID_UNAVAILABLE && m && !t->peer->is_self) {
        bd_status_copy(&t->why, st);
        bd_membership_ask_done(m, t->cancellation, done_known, t);
    } else {
        t->done(t->done_arg, st);
    }
}

static void create_on_task(void *arg, bd_worker *w, bd_cancellation *cancellation, bd_worker_done_fn done,
                           void *done_arg)
{
    const creation *c = arg;
    // Servers know the master of a session with a cluster of its own by its address.
    const bd_session_owner self = {.task = c->session->cluster ? c->session->peers->self->address
                                                               : c->session->peers->self->task,
                                   .incarnation = c->session->client->incarnation,
                                   .collective_leader = c->leader ? c->leader->task : "",
                                   .client = bd_caller_client(&c->session->owner),
                                   .cluster = c->session->cluster};
    task_creation *t = c->tasks;
    while (t->peer->worker != w)
        t++;
    t->cancellation = cancellation;
    t->done = done;
    t->done_arg = done_arg;
    w->ops->create_session(w, c->session->handle, &self, c->config.is_isolated, cancellation, created_on_task,
                           t);
}

// Others of its owner may have been opened meanwhile.
static braid_code add_session(creation *c, braid_status *st)
{
    bd_master *m = c->master;
    bd_mutex_lock(&m->mu);
    if (!check_room_locked(m, &c->session->owner, st)) {
        bd_map_put(&m->sessions, c->session->handle, c->session);
        bd_master_session_ref(c->session);
    }
    bd_mutex_unlock(&m->mu);
    return st->code;
}

static void place(void *arg)
{
    creation *c = arg;
    BD_STATUS(st);
    bd_master_session_leave_out(c->session, c->has_ended);
    const bd_account_turn turn = bd_account_enter(bd_master_account(c->master, &c->config.owner));
    bd_master_session_place(c->session, &c->graph, st);
    bd_account_leave(turn);
    if (st->code || add_session(c, st))
        delete_on_tasks(c->session);
    else
        bd_master_watch_client(c->session);
    creation_end(c, st);
}

static void created_on_tasks(void *arg, const braid_status *from)
{
    creation *c = arg;
    BD_STATUS(st);
    bd_status_copy(st, from);
    if (!st->code) {
        if (bd_thread_pool_submit(c->master->env.pool, place, c)) return;
        bd_fail(st, BRAID_CANCELLED, "The server is stopping");
    }
    delete_on_tasks(c->session);
    creation_end(c, st);
}

static void create_on_tasks(creation *c)
{
    const bd_found_tasks *found = &c->session->tasks;
    c->tasks = bd_calloc((size_t)found->count, sizeof *c->tasks);
    c->has_ended = bd_calloc((size_t)found->count, sizeof *c->has_ended);
    for (int i = 0; i < found->count; i++)
        c->tasks[i] = (task_creation){.c = c, .peer = found->items[i].peer};
    const bd_fanout_options options = {
        .timers = c->master->env.timers,
        .what = "CreateSession",
        .tasks = found,
        .deadline_ns = c->deadline_ns,
        .cancellation = c->cancellation,
        .send = create_on_task,
    };
    bd_master_fanout(&options, created_on_tasks, c);
}

// Tasks of a cluster that a session names may be one server, at two of its addresses. Its parts of a step
// would not find each other.
static braid_code check_servers(const bd_found_tasks *found, braid_status *st)
{
    for (int a = 0; a < found->count; a++)
        for (int b = a + 1; b < found->count; b++)
            if (found->items[a].devices[0].incarnation == found->items[b].devices[0].incarnation)
                return bd_fail(st, BRAID_INVALID_ARGUMENT,
                               "CreateSession: %s and %s in the cluster of the session are the same server",
                               found->items[a].peer->label, found->items[b].peer->label);
    return BRAID_OK;
}

static void tasks_found(void *arg, bd_found_tasks *found, const braid_status *from)
{
    creation *c = arg;
    BD_STATUS(st);
    bd_status_copy(st, from);
    if (!st->code && c->config.cluster) check_servers(found, st);
    if (st->code) {
        creation_end(c, st);
        return;
    }
    c->session = bd_master_session_new(c->master, found, &c->config);
    c->session->leader = c->leader;
    c->session->owner = c->config.owner;
    create_on_tasks(c);
}

static int64_t creation_deadline(const bd_master *m, const bd_session_config *config, int64_t deadline_ns)
{
    if (config->operation_timeout_ms > 0)
        deadline_ns = bd_min(deadline_ns, bd_deadline_after_ms(config->operation_timeout_ms));
    if (m->env.session_timeout_ms > 0)
        deadline_ns = bd_min(deadline_ns, bd_deadline_after_ms(m->env.session_timeout_ms));
    return deadline_ns;
}

// `asked` with the defaults of all sessions; free the array of filters with bd_free.
static bd_session_config with_defaults(const bd_master *m, const bd_session_config *asked)
{
    const bd_session_config *defaults = &m->env.defaults;
    bd_session_config config = *asked;
    const int count = defaults->device_filter_count;
    const char **filters = bd_calloc((size_t)(count + asked->device_filter_count) + 1, sizeof *filters);
    for (int i = 0; i < count; i++)
        filters[i] = defaults->device_filters[i];
    for (int i = 0; i < asked->device_filter_count; i++)
        filters[count + i] = asked->device_filters[i];
    config.device_filters = filters;
    config.device_filter_count += count;
    config.allow_soft_placement |= defaults->allow_soft_placement;
    config.log_device_placement |= defaults->log_device_placement;
    config.place_pruned_graph |= defaults->place_pruned_graph;
    config.sends_bfloat16 |= defaults->sends_bfloat16;
    config.is_isolated |= defaults->is_isolated;
    config.disabled_rewrites |= defaults->disabled_rewrites;
    if (!config.collective_leader || !config.collective_leader[0])
        config.collective_leader = defaults->collective_leader;
    return config;
}

void bd_master_create_session(bd_master *m, braid_graph *graph, const bd_session_config *asked,
                              int64_t deadline_ns, bd_cancellation *cancellation, bd_master_created_fn fn,
                              void *arg)
{
    bd_session_config joined = with_defaults(m, asked);
    const bd_session_config *config = &joined;
    creation *c = bd_calloc(1, sizeof *c);
    c->master = m;
    c->graph = *graph;
    bd_graph_init(graph);
    for (size_t i = 0; i < c->graph.nodes.len; i++)
        c->graph.nodes.items[i]->graph = &c->graph;
    c->config = *config;
    bd_session_cluster_ref(config->cluster);
    c->fn = fn;
    c->arg = arg;
    c->deadline_ns = creation_deadline(m, config, deadline_ns);
    c->cancellation = bd_cancellation_ref(cancellation);
    BD_STATUS(st);
    if (!check_room(m, &config->owner, st)) c->leader = bd_master_leader(m, config, st);
    if (st->code) {
        creation_end(c, st);
        bd_free((void *)joined.device_filters);
        return;
    }
    const bd_find_options options = {
        .peers = bd_master_peers(m, config->cluster),
        .timers = m->env.timers,
        .what = "CreateSession",
        .filters = config->device_filters,
        .filter_count = config->device_filter_count,
        .deadline_ns = c->deadline_ns,
        .cancellation = cancellation,
        .spec_check = config->cluster ? NULL : m->env.spec_check,
        .membership = config->cluster ? NULL : m->env.membership,
        .renames_devices = config->cluster != NULL,
    };
    bd_find_devices(&options, tasks_found, c);
    bd_free((void *)joined.device_filters);
}

// ---- Closing ----

typedef struct closing {
    bd_master *master;
    bd_master_session *session; // the table's reference
    bd_master_done_fn fn;
    void *arg;
} closing;

static void session_closed(void *arg, const braid_status *st)
{
    closing *c = arg;
    bd_master *m = c->master;
    bd_master_drop_partial_runs(c->session);
    delete_on_tasks(c->session);
    bd_master_session_unref(c->session);
    if (c->fn) c->fn(c->arg, st);
    bd_mutex_lock(&m->mu);
    m->closing--;
    bd_cond_broadcast(&m->changed);
    bd_mutex_unlock(&m->mu);
    bd_free(c);
}

// The session is out of the table, and `closing` counts it.
static void begin_closing(bd_master *m, bd_master_session *s, bd_master_done_fn fn, void *arg)
{
    closing *c = bd_malloc(sizeof *c);
    *c = (closing){m, s, fn, arg};
    bd_mutex_lock(&s->mu);
    s->running++; // until all tasks are notified
    s->is_closing = true;
    s->closed_fn = session_closed;
    s->closed_arg = c;
    bd_mutex_unlock(&s->mu);
    bd_master_unwatch_client(s);
    bd_master_session_ref(s);
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, BD_SESSION_CLOSED);
    bd_cancellation_cancel(s->cancellation, why);
    bd_master_session_leave(s);
    bd_master_session_unref(s);
}

void bd_master_close_session(bd_master *m, const char *handle, bd_master_done_fn fn, void *arg)
{
    bd_mutex_lock(&m->mu);
    bd_master_session *s = bd_map_remove(&m->sessions, handle);
    if (s) m->closing++;
    bd_mutex_unlock(&m->mu);
    if (s) {
        begin_closing(m, s, fn, arg);
        return;
    }
    BD_STATUS(st);
    bd_fail(st, BRAID_ABORTED, "Session %s is not found. Possibly, this master has restarted.", handle);
    if (fn) fn(arg, st);
}

// Takes a session of the client off the table ("": of any), and counts it as closing. NULL: there is none.
static bd_master_session *take_session_of(bd_master *m, const char *client)
{
    size_t pos = 0;
    const char *handle;
    void *found;
    bd_master_session *s = NULL;
    bd_mutex_lock(&m->mu);
    while (!s && bd_map_next(&m->sessions, &pos, &handle, &found)) {
        s = found;
        if (client[0] && strcmp(s->owner.name, client) != 0) s = NULL;
    }
    if (s) {
        bd_map_remove(&m->sessions, handle);
        m->closing++;
    }
    bd_mutex_unlock(&m->mu);
    return s;
}

static void close_sessions(bd_master *m, const char *client)
{
    for (bd_master_session *s; (s = take_session_of(m, client));)
        begin_closing(m, s, NULL, NULL);
}

void bd_master_stop(bd_master *m)
{
    close_sessions(m, "");
    bd_mutex_lock(&m->mu);
    while (m->closing > 0) // ends: their steps are cancelled
        bd_cond_wait(&m->changed, &m->mu);
    bd_mutex_unlock(&m->mu);
}

// ---- Devices ----

typedef struct listing {
    bd_master_devices_fn fn;
    void *arg;
} listing;

static void give_found(void *arg, bd_found_tasks *found, const braid_status *st)
{
    listing *l = arg;
    BD_ARRAY(bd_device_info) devices = {0};
    for (int own = 1; own >= 0 && !st->code; own--)
        for (int i = 0; i < found->count; i++)
            for (int d = 0; d < found->items[i].device_count && found->items[i].peer->is_self == (own == 1);
                 d++)
                bd_array_push(&devices, found->items[i].devices[d]);
    l->fn(l->arg, devices.items, (int)devices.len, st);
    bd_array_free(&devices);
    bd_free(l);
}

void bd_master_list_devices(bd_master *m, const char *handle, bd_cancellation *cancellation,
                            bd_master_devices_fn fn, void *arg)
{
    BD_STATUS(st);
    if (handle && handle[0]) {
        bd_master_session *s = bd_master_find_session(m, handle, NULL, st);
        if (!s) st->code = BRAID_INVALID_ARGUMENT;
        fn(arg, s ? s->devices : NULL, s ? s->device_count : 0, st);
        bd_master_session_unref(s);
        return;
    }
    listing *l = bd_malloc(sizeof *l);
    *l = (listing){fn, arg};
    const bd_session_config no_config = {0};
    const bd_find_options options = {
        .peers = m->env.peers,
        .timers = m->env.timers,
        .what = "ListDevices",
        .deadline_ns = creation_deadline(m, &no_config, BD_FOREVER),
        .cancellation = cancellation,
        .membership = m->env.membership,
    };
    bd_find_devices(&options, give_found, l);
}

// ---- Reset ----

typedef struct reset {
    bd_master *master;
    bd_arena arena;
    const char **containers;
    int container_count;
    const char *client;
    bd_master_done_fn fn;
    void *arg;
    int64_t deadline_ns;
    bd_cancellation *cancellation; // a reference to the caller's
} reset;

static void reset_end(void *arg, const braid_status *st)
{
    reset *r = arg;
    r->fn(r->arg, st);
    bd_arena_fini(&r->arena);
    bd_cancellation_unref(r->cancellation);
    bd_free(r);
}

static void clear_task(void *arg, bd_worker *w, bd_cancellation *cancellation, bd_worker_done_fn done,
                       void *done_arg)
{
    const reset *r = arg;
    w->ops->cleanup_all(w, r->containers, r->container_count, r->client, cancellation, done, done_arg);
}

// The found tasks are those that exist: a missing task has no containers to clear, but the caller of Reset
// gets the list of devices.
static void clear_tasks(void *arg, bd_found_tasks *found, const braid_status *st)
{
    reset *r = arg;
    if (st->code) {
        reset_end(r, st);
        return;
    }
    const bd_fanout_options options = {
        .timers = r->master->env.timers,
        .what = "Reset",
        .tasks = found,
        .deadline_ns = r->deadline_ns,
        .cancellation = r->cancellation,
        .send = clear_task,
    };
    bd_master_fanout(&options, reset_end, r);
}

void bd_master_reset(bd_master *m, const bd_caller *caller, const char *const *containers,
                     int container_count, const char *const *filters, int filter_count,
                     bd_cancellation *cancellation, bd_master_done_fn fn, void *arg)
{
    const char *client = bd_caller_client(caller);
    close_sessions(m, client);
    reset *r = bd_calloc(1, sizeof *r);
    r->master = m;
    r->fn = fn;
    r->arg = arg;
    r->containers = BD_ARENA_ARRAY(&r->arena, const char *, (size_t)container_count);
    r->container_count = container_count;
    r->client = bd_arena_strdup(&r->arena, client);
    for (int i = 0; i < container_count; i++)
        r->containers[i] = bd_arena_strdup(&r->arena, containers[i]);
    const bd_session_config no_config = {0};
    r->deadline_ns = creation_deadline(m, &no_config, BD_FOREVER);
    r->cancellation = bd_cancellation_ref(cancellation);
    const bd_find_options options = {
        .peers = m->env.peers,
        .timers = m->env.timers,
        .what = "Reset",
        .filters = filters,
        .filter_count = filter_count,
        .deadline_ns = r->deadline_ns,
        .cancellation = cancellation,
        .membership = m->env.membership,
    };
    bd_find_devices(&options, clear_tasks, r);
}

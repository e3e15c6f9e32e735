// The clusters of sessions that have one of their own.
//
//   used    a session has it
//   unused  no session has it: it stays, for the next session, until UNUSED_MAX younger ones are unused
//   closed  it is out of the table, and a thread of the pool ends its calls and frees it
//
// The devices of a task outlive the clusters that have the task: resources that sessions share may know them.
#include "cluster/worker/session_cluster.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/strbuf.h"
#include "base/thread.h"
#include "cluster/worker/remote_worker.h"
#include <string.h>

#define UNUSED_MAX 8
#define CLUSTERS_MAX 1024
#define TASKS_MAX 4096

// This server's devices by their names in one task.
typedef struct task_devices {
    bd_local_devices base;
    bd_device **devices;
    bd_device_info *infos;
} task_devices;

struct bd_session_clusters {
    bd_session_clusters_env env;
    bd_mutex mu;
    bd_cond changed;
    bd_map clusters;                       // by key; guarded by mu
    bd_map devices;                        // task -> task_devices; guarded by mu
    BD_ARRAY(bd_session_cluster *) unused; // the one that was released first is the first; guarded by mu
    int closing;                           // on the pool; guarded by mu
    bool is_closed;                        // none is closed on the pool any more; guarded by mu
};

// ---- Devices ----

static task_devices *devices_new(const bd_session_clusters *all, const char *task)
{
    const bd_local_devices *own = all->env.devices;
    task_devices *d = bd_calloc(1, sizeof *d);
    d->devices = bd_calloc((size_t)own->count, sizeof(bd_device *));
    d->infos = bd_calloc((size_t)own->count, sizeof *d->infos);
    for (int i = 0; i < own->count; i++) {
        d->devices[i] = bd_device_new_sharing(own->devices[0], task, i);
        d->devices[i]->incarnation = own->devices[i]->incarnation; // as GetStatus gives it
        d->infos[i] = bd_device_info_of(d->devices[i]);
    }
    d->base = (bd_local_devices){d->devices, d->infos, own->count};
    return d;
}

static void devices_free(task_devices *d)
{
    for (int i = 0; i < d->base.count; i++)
        bd_device_free(d->devices[i]);
    bd_free(d->devices);
    bd_free(d->infos);
    bd_free(d);
}

static const task_devices *devices_of_locked(bd_session_clusters *all, const char *task, braid_status *st)
{
    task_devices *d = bd_map_get(&all->devices, task);
    if (d) return d;
    if (bd_map_count(&all->devices) >= TASKS_MAX) {
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED,
                "Sessions have named the server %s as %d different tasks, the most that it allows",
                all->env.peers->self->label, TASKS_MAX);
        return NULL;
    }
    d = devices_new(all, task);
    bd_map_put(&all->devices, task, d);
    return d;
}

const bd_local_devices *bd_session_clusters_devices(bd_session_clusters *all, const char *task, size_t len)
{
    bd_mutex_lock(&all->mu);
    const task_devices *d = bd_map_get_n(&all->devices, task, len);
    bd_mutex_unlock(&all->mu);
    return d ? &d->base : NULL;
}

// ---- Clusters ----

// A line for each task, and the own task at the end.
static char *key_of(const braid_cluster *c, const char *job, int index)
{
    bd_strbuf key = {0};
    for (size_t j = 0; j < c->jobs.len; j++)
        for (size_t i = 0; i < c->jobs.items[j].tasks.len; i++)
            bd_strbuf_appendf(&key, "%s:%d=%s\n", c->jobs.items[j].name,
                              c->jobs.items[j].tasks.items[i].index, c->jobs.items[j].tasks.items[i].address);
    bd_strbuf_appendf(&key, "%s:%d", job, index);
    return bd_strbuf_take(&key);
}

static bd_session_cluster *cluster_new(bd_session_clusters *all, const braid_cluster *cluster,
                                       const char *job, int index, char *key)
{
    bd_session_cluster *c = bd_calloc(1, sizeof *c);
    c->all = all;
    c->key = key;
    c->cluster = bd_cluster_copy(cluster);
    bd_peers_init(&c->peers, c->cluster, job, index, all->env.transport, all->env.timers);
    bd_peers_of_session(&c->peers, all->env.peers);
    bd_remote_workers_new(&c->peers);
    c->peers.self->worker = all->env.worker;
    return c;
}

static void close_peers(bd_session_cluster *c)
{
    if (!c->is_closed) bd_peers_close(&c->peers);
    c->is_closed = true;
}

static void cluster_free(bd_session_cluster *c)
{
    close_peers(c);
    bd_remote_workers_free(&c->peers);
    bd_peers_fini(&c->peers);
    braid_cluster_free(c->cluster);
    bd_free(c->key);
    bd_free(c);
}

static void close_unused(void *arg)
{
    bd_session_cluster *c = arg;
    bd_session_clusters *all = c->all;
    cluster_free(c);
    bd_mutex_lock(&all->mu);
    all->closing--;
    bd_cond_broadcast(&all->changed);
    bd_mutex_unlock(&all->mu);
}

static void take_off_unused_locked(bd_session_clusters *all, const bd_session_cluster *c)
{
    size_t at = 0;
    while (all->unused.items[at] != c)
        at++;
    for (all->unused.len--; at < all->unused.len; at++)
        all->unused.items[at] = all->unused.items[at + 1];
}

static void close_oldest_locked(bd_session_clusters *all)
{
    bd_session_cluster *oldest = all->unused.items[0];
    take_off_unused_locked(all, oldest);
    bd_map_remove(&all->clusters, oldest->key);
    all->closing++;
    if (bd_thread_pool_submit(all->env.pool, close_unused, oldest)) return;
    all->closing--; // the server is stopping: bd_session_clusters_free frees it
    bd_map_put(&all->clusters, oldest->key, oldest);
    bd_array_push(&all->unused, oldest);
}

bd_session_cluster *bd_session_cluster_ref(bd_session_cluster *c)
{
    if (!c) return NULL;
    bd_mutex_lock(&c->all->mu);
    c->refs++;
    bd_mutex_unlock(&c->all->mu);
    return c;
}

void bd_session_cluster_unref(bd_session_cluster *c)
{
    if (!c) return;
    bd_session_clusters *all = c->all;
    bd_mutex_lock(&all->mu);
    if (--c->refs == 0) {
        bd_array_push(&all->unused, c);
        if (all->unused.len > UNUSED_MAX && !all->is_closed) close_oldest_locked(all);
    }
    bd_mutex_unlock(&all->mu);
}

static bd_session_cluster *find_or_add_locked(bd_session_clusters *all, const braid_cluster *cluster,
                                              const char *job, int index, braid_status *st)
{
    char *key = key_of(cluster, job, index);
    bd_session_cluster *c = bd_map_get(&all->clusters, key);
    if (!c && bd_map_count(&all->clusters) >= CLUSTERS_MAX) {
        bd_fail(st, BRAID_RESOURCE_EXHAUSTED,
                "Sessions on the server %s have %d different clusters, the most that it allows",
                all->env.peers->self->label, CLUSTERS_MAX);
    } else if (!c) {
        char *task = bd_asprintf("/job:%s/replica:0/task:%d", job, index);
        const task_devices *devices = devices_of_locked(all, task, st);
        bd_free(task);
        if (devices) {
            c = cluster_new(all, cluster, job, index, key);
            key = NULL; // taken over
            c->devices = devices->base;
            c->refs = 1;
            bd_map_put(&all->clusters, c->key, c);
        }
    } else if (c->refs++ == 0) {
        take_off_unused_locked(all, c);
    }
    bd_free(key);
    return c;
}

// ---- Who may have the server call whom ----

static bool is_of_server(const bd_session_clusters *all, const char *address)
{
    for (int i = 0; i < all->env.peers->count; i++)
        if (bd_address_is_same(all->env.peers->items[i].address, address)) return true;
    return false;
}

// To look up the hosts of a task of two processes would block.
static braid_code check_replicas(const bd_cluster_task *task, const char *job, braid_status *st)
{
    if (bd_address_replicas(task->address) == 1) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "The cluster of the session has %s for /job:%s/task:%d: its tasks have one process each",
                   task->address, job, task->index);
}

static bool is_trusted(const bd_session_clusters *all, const bd_caller *caller)
{
    return !caller || (!all->env.is_open && caller->role >= BRAID_ROLE_TASK);
}

static braid_code check_addresses(const bd_session_clusters *all, const braid_cluster *c,
                                  const bd_caller *caller, const char *job, int index, braid_status *st)
{
    for (size_t j = 0; j < c->jobs.len; j++)
        for (size_t i = 0; i < c->jobs.items[j].tasks.len; i++) {
            const bd_cluster_task *task = &c->jobs.items[j].tasks.items[i];
            const bool is_self = task->index == index && strcmp(c->jobs.items[j].name, job) == 0;
            if (check_replicas(task, c->jobs.items[j].name, st)) return st->code;
            if (is_self || is_trusted(all, caller) || is_of_server(all, task->address) ||
                bd_address_list_has(all->env.hosts, task->address))
                continue;
            return bd_fail(st, BRAID_PERMISSION_DENIED,
                           "The cluster of the session has %s for /job:%s/task:%d, which the server %s does "
                           "not call for %s: start it with --session-hosts (BRAID_SESSION_HOSTS) that names "
                           "this address, or open the session with a certificate of the role task",
                           task->address, c->jobs.items[j].name, task->index, all->env.peers->self->label,
                           all->env.is_open  ? "callers that it does not know"
                           : caller->name[0] ? caller->name
                                             : "the caller");
        }
    return BRAID_OK;
}

// ---- Finding ----

static bool is_same_cluster(const braid_cluster *a, const braid_cluster *b)
{
    if (bd_cluster_task_count(a) != bd_cluster_task_count(b)) return false;
    for (size_t j = 0; j < a->jobs.len; j++)
        for (size_t i = 0; i < a->jobs.items[j].tasks.len; i++) {
            const bd_cluster_task *task = &a->jobs.items[j].tasks.items[i];
            const char *other = braid_cluster_address(b, a->jobs.items[j].name, task->index);
            if (!other || strcmp(other, task->address) != 0) return false;
        }
    return true;
}

braid_code bd_session_cluster_get(bd_session_clusters *all, const braid_cluster *cluster, const char *job,
                                  int index, const bd_caller *caller, bd_session_cluster **out,
                                  braid_status *st)
{
    *out = NULL;
    const bd_peer *self = all->env.peers->self;
    if (strcmp(job, self->job) == 0 && index == self->index && is_same_cluster(cluster, all->env.cluster))
        return BRAID_OK;
    if (check_addresses(all, cluster, caller, job, index, st)) return st->code;
    bd_mutex_lock(&all->mu);
    *out = find_or_add_locked(all, cluster, job, index, st);
    bd_mutex_unlock(&all->mu);
    return st->code;
}

static bool find_address(const braid_cluster *c, const char *address, const char **job, int *index)
{
    for (size_t j = 0; j < c->jobs.len; j++)
        for (size_t i = 0; i < c->jobs.items[j].tasks.len; i++) {
            if (!bd_address_is_same(c->jobs.items[j].tasks.items[i].address, address)) continue;
            *job = c->jobs.items[j].name;
            *index = c->jobs.items[j].tasks.items[i].index;
            return true;
        }
    return false;
}

braid_code bd_session_cluster_find_self(bd_session_clusters *all, const braid_cluster *cluster,
                                        const char *reached_at, const char **job, int *index,
                                        braid_status *st)
{
    static const char scheme[] = "grpc://";
    BD_STATUS(unwanted);
    const char *address = reached_at ? reached_at : "";
    if (strncmp(address, scheme, strlen(scheme)) == 0) address += strlen(scheme);
    const bool is_known = address[0] && !bd_address_check(address, unwanted);
    const bd_peer *self = all->env.peers->self;
    if (is_known && find_address(cluster, address, job, index)) return BRAID_OK;
    if (find_address(cluster, self->address, job, index)) return BRAID_OK;
    return bd_fail(
        st, BRAID_INVALID_ARGUMENT,
        "The cluster of the session has no task with the address of the server that the session is "
        "opened on: %s%s%s",
        self->address, is_known ? ", reached at " : "", is_known ? address : "");
}

// ---- Collectives ----

static void refuse_join(bd_collectives *c, const bd_collective_join *join, const char *leader,
                        bd_cancellation *cancellation, bd_collective_fn fn, void *arg)
{
    (void)c;
    (void)leader;
    (void)cancellation;
    BD_STATUS(st);
    bd_fail(
        st, BRAID_UNIMPLEMENTED,
        "node '%s': collectives need the cluster that the servers were started with, and this session has "
        "a cluster of its own (ConfigProto.cluster_def)",
        join->name);
    fn(arg, NULL, st);
}

static void forget_nothing(bd_collectives *c, int32_t group_key)
{
    (void)c;
    (void)group_key;
}

bd_collectives *bd_session_cluster_collectives(void)
{
    static bd_collectives refusing = {.join = refuse_join, .forget = forget_nothing};
    return &refusing;
}

// ---- Beginning and end ----

bd_session_clusters *bd_session_clusters_new(const bd_session_clusters_env *env)
{
    bd_session_clusters *all = bd_calloc(1, sizeof *all);
    all->env = *env;
    bd_mutex_init(&all->mu);
    bd_cond_init(&all->changed);
    return all;
}

void bd_session_clusters_close(bd_session_clusters *all)
{
    size_t pos = 0;
    void *found;
    bd_mutex_lock(&all->mu);
    all->is_closed = true;
    while (all->closing > 0) // ends: the channels close
        bd_cond_wait(&all->changed, &all->mu);
    bd_mutex_unlock(&all->mu);
    while (bd_map_next(&all->clusters, &pos, NULL, &found)) // no thread adds or takes one any more
        close_peers(found);
}

void bd_session_clusters_free(bd_session_clusters *all)
{
    if (!all) return;
    size_t pos = 0;
    void *found;
    while (bd_map_next(&all->clusters, &pos, NULL, &found)) {
        BD_ASSERT(((bd_session_cluster *)found)->refs == 0);
        cluster_free(found);
    }
    pos = 0;
    while (bd_map_next(&all->devices, &pos, NULL, &found))
        devices_free(found);
    bd_map_fini(&all->clusters);
    bd_map_fini(&all->devices);
    bd_array_free(&all->unused);
    bd_cond_fini(&all->changed);
    bd_mutex_fini(&all->mu);
    bd_free(all);
}

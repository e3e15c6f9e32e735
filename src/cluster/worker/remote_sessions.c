// CreateWorkerSession and DeleteWorkerSession of another task.
//
// A deletion can be lost with the connection. The task may then still receive calls of the deleted session,
// whose steps would change variables under the session that comes after it, for example after that one has
// restored a checkpoint. A deletion is therefore made again, until the task has confirmed it, before the next
// session is created on the task.
#include "base/alloc.h"
#include "cluster/rpc/methods.h"
#include "cluster/spec/cluster_def.h"
#include "cluster/worker/remote_worker_internal.h"
#include "cluster/worker/session_cluster.h"
#include "tensorflow/core/protobuf/worker.pb-c.h"

static remote_worker *of(bd_worker *w)
{
    return BD_CONTAINER_OF(w, remote_worker, base);
}

// ---- DeleteWorkerSession ----

typedef struct deletion {
    remote_worker *w;
    char *handle;
    bd_worker_done_fn fn; // NULL: none
    void *arg;
} deletion;

static void session_deleted(void *arg, const braid_status *st)
{
    deletion *d = arg;
    if (!st->code) {
        bd_mutex_lock(&d->w->mu);
        bd_map_remove(&d->w->deleted, d->handle);
        bd_mutex_unlock(&d->w->mu);
    }
    if (d->fn) d->fn(d->arg, st);
    bd_free(d->handle);
    bd_free(d);
}

static void send_deletion(remote_worker *w, const char *handle, bd_cancellation *cancellation,
                          bd_worker_done_fn fn, void *arg)
{
    deletion *d = bd_malloc(sizeof *d);
    *d = (deletion){w, bd_strdup(handle), fn, arg};
    Tensorflow__DeleteWorkerSessionRequest request = TENSORFLOW__DELETE_WORKER_SESSION_REQUEST__INIT;
    request.session_handle = d->handle;
    remote_worker_start_simple(&w->base, BD_WORKER_SERVICE "DeleteWorkerSession", &request.base, cancellation,
                               session_deleted, d);
}

void remote_worker_delete_session(bd_worker *base, const char *handle, bd_worker_done_fn fn, void *arg)
{
    remote_worker *w = of(base);
    bd_mutex_lock(&w->mu);
    bd_map_put(&w->deleted, handle, w);
    bd_mutex_unlock(&w->mu);
    send_deletion(w, handle, NULL, fn, arg);
}

// ---- CreateWorkerSession ----

// A session that is created when the deletions before it are confirmed.
typedef struct creation {
    remote_worker *w;
    char *handle, *task, *leader, *client;
    uint64_t incarnation;
    bool is_isolated;
    bd_session_cluster *cluster;   // a reference; NULL
    bd_cancellation *cancellation; // the caller's, until fn
    bd_worker_done_fn fn;
    void *arg;
} creation;

static void creation_free(creation *c)
{
    bd_free(c->handle);
    bd_free(c->task);
    bd_free(c->leader);
    bd_free(c->client);
    bd_session_cluster_unref(c->cluster);
    bd_free(c);
}

static void send_creation(const creation *c)
{
    Tensorflow__CreateWorkerSessionRequest request = TENSORFLOW__CREATE_WORKER_SESSION_REQUEST__INIT;
    request.session_handle = c->handle;
    request.isolate_session_state = c->is_isolated;
    request.master_task = c->task;
    request.master_incarnation = (int64_t)c->incarnation;
    request.client = c->client;
    Tensorflow__ServerDef server = TENSORFLOW__SERVER_DEF__INIT;
    Tensorflow__ConfigProto config = TENSORFLOW__CONFIG_PROTO__INIT;
    Tensorflow__ConfigProto__Experimental experimental = TENSORFLOW__CONFIG_PROTO__EXPERIMENTAL__INIT;
    experimental.collective_group_leader = c->leader;
    config.experimental = &experimental;
    if (c->leader[0]) server.default_session_config = &config;
    const bd_peer *peer = c->w->peer;
    if (c->cluster) server.cluster = bd_cluster_def_new(c->cluster->cluster);
    server.job_name = (char *)peer->job;
    server.task_index = peer->index;
    server.protocol = "grpc";
    if (c->leader[0] || c->cluster) request.server_def = &server;
    remote_worker_start_simple(&c->w->base, BD_WORKER_SERVICE "CreateWorkerSession", &request.base,
                               c->cancellation, c->fn, c->arg);
    bd_cluster_def_free(server.cluster);
}

// An unconfirmed deletion (bd_free); NULL: there is none.
static char *next_deletion(remote_worker *w)
{
    size_t pos = 0;
    const char *handle;
    bd_mutex_lock(&w->mu);
    char *next = bd_map_next(&w->deleted, &pos, &handle, NULL) ? bd_strdup(handle) : NULL;
    bd_mutex_unlock(&w->mu);
    return next;
}

static void delete_and_create(void *arg, const braid_status *st)
{
    creation *c = arg;
    char *handle = st->code ? NULL : next_deletion(c->w);
    if (handle) {
        send_deletion(c->w, handle, c->cancellation, delete_and_create, c);
        bd_free(handle);
        return;
    }
    if (st->code)
        c->fn(c->arg, st);
    else
        send_creation(c);
    creation_free(c);
}

void remote_worker_create_session(bd_worker *base, const char *session_handle, const bd_session_owner *owner,
                                  bool is_isolated, bd_cancellation *cancellation, bd_worker_done_fn fn,
                                  void *arg)
{
    creation *c = bd_malloc(sizeof *c);
    *c = (creation){
        .w = of(base),
        .handle = bd_strdup(session_handle),
        .task = bd_strdup(owner->task),
        .leader = bd_strdup(owner->collective_leader),
        .client = bd_strdup(owner->client),
        .incarnation = owner->incarnation,
        .is_isolated = is_isolated,
        .cluster = bd_session_cluster_ref(owner->cluster),
        .cancellation = cancellation,
        .fn = fn,
        .arg = arg,
    };
    BD_STATUS(ok);
    delete_and_create(c, ok);
}

// A server: one task of a cluster in this process. It listens, passes each call to the service that has the
// method, and owns the environment of the services: worker, master, membership, notifications.
//
// starting -> serving -> stopping (braid_server_stop, once) -> stopped -> freed
//
// Stopping, in order: liveness calls are answered; new calls are refused; everything in progress is
// cancelled, sessions first; handlers have replied; pools are empty. Freeing, in order: calls to other tasks
// have ended; timers have stopped; the rest. The membership decides when a parameter server ends
// (membership/membership.c); join waits for that or for stopping.
#include "cluster/server.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/done_notice.h"
#include "base/log.h"
#include "base/random.h"
#include "base/strbuf.h"
#include "base/system_memory.h"
#include "base/wait_limits.h"
#include "cluster/rpc/methods.h"
#include "cluster/server_internal.h"
#include "cluster/server_signals.h"
#include "cluster/transport/shm.h"
#include "cluster/worker/remote_worker.h"
#include "tensor/buffer.h"
#include "tensor/shared_memory.h"
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CLIENT_LOST_TIMEOUT_DEFAULT_MS 600000
#define SESSION_HOSTS_VARIABLE "BRAID_SESSION_HOSTS"
// The number of graphs that are read and compiled at the same time; more than the number of processors gains
// nothing.
#define CONTROL_THREADS 2
// Sessions and plans that are made at the same time, each of which mostly waits for other tasks.
#define WAITING_THREADS 4
#define FREE_GRACE_MS 500
// All calls are cancelled by then, and their responses are being sent.
#define STOP_GRACE_MIN_MS 100

// ---- Dispatch ----

typedef struct pooled_call {
    bd_service_env *env;
    const bd_method *method;
    bd_incoming *call;
} pooled_call;

static void run_pooled(void *arg)
{
    const pooled_call p = *(pooled_call *)arg;
    bd_free(arg);
    p.method->handle(p.env, p.call);
}

typedef struct service {
    const char *path;
    const bd_method *methods;
    bool while_standby; // it answers when the server does not serve
    braid_role role;    // that a caller needs over TLS
} service;

static const service services[] = {
    {BD_WORKER_SERVICE, bd_worker_methods, false, BRAID_ROLE_TASK},
    {BD_MASTER_SERVICE, bd_master_methods, false, BRAID_ROLE_CLIENT},
    {BD_CLUSTER_SERVICE, bd_cluster_methods, false, BRAID_ROLE_TASK},
    {BD_CLUSTER_SERVICE, bd_cluster_session_methods, false, BRAID_ROLE_CLIENT},
    {BD_REPLICATION_SERVICE, bd_replication_methods, true, BRAID_ROLE_TASK},
    {BD_HEALTH_SERVICE, bd_health_methods, true, BRAID_ROLE_VIEWER},
    {BD_REFLECTION_SERVICE, bd_reflection_methods, true, BRAID_ROLE_VIEWER},
    {BD_MONITORING_SERVICE, bd_monitoring_methods, true, BRAID_ROLE_VIEWER},
};

static const bd_method *find_method(const char *path, const service **found)
{
    for (const service *s = services; s < services + BD_COUNTOF(services); s++) {
        *found = s;
        if (!bd_str_starts_with(path, s->path)) continue;
        for (const bd_method *m = s->methods; m->name; m++)
            if (strcmp(m->name, path + strlen(s->path)) == 0) return m;
    }
    return NULL;
}

// A method that there is not needs a task's certificate.
static braid_role needed_role(const char *path)
{
    const service *of;
    const bd_method *m = find_method(path, &of);
    return m ? of->role : BRAID_ROLE_TASK;
}

static void refuse(bd_incoming *call, braid_code code, const char *text)
{
    BD_STATUS(st);
    bd_fail(st, code, "%s%s", call->method, text);
    bd_incoming_reply(call, NULL, st);
}

static void handle(void *arg, bd_incoming *call)
{
    braid_server *s = arg;
    const service *of;
    const bd_method *m = find_method(call->method, &of);
    atomic_fetch_add_explicit(&s->env.description.calls, 1, memory_order_relaxed);
    if (bd_str_starts_with(call->method, BD_EAGER_SERVICE)) {
        refuse(call, BRAID_UNIMPLEMENTED,
               ": a server runs graphs of sessions (tf.compat.v1), not single operations (eager execution)");
    } else if (!m) {
        refuse(call, BRAID_UNIMPLEMENTED, ": a server has no such method");
    } else if (!m->handle) {
        refuse(call, BRAID_UNIMPLEMENTED, " is not implemented");
    } else if (!of->while_standby && !bd_health_is_serving(s->env.health)) {
        refuse(call, BRAID_UNAVAILABLE, ": this is the standby of the task, whose other process serves");
    } else if (m->place == BD_ON_ARRIVAL) {
        m->handle(&s->env, call);
    } else {
        pooled_call *p = bd_malloc(sizeof *p);
        *p = (pooled_call){&s->env, m, call};
        if (bd_thread_pool_submit(s->control, run_pooled, p)) return;
        bd_free(p);
        refuse(call, BRAID_UNAVAILABLE, ": the server is stopping");
    }
}

// ---- Stopping ----

static void stop_work(braid_server *s, int64_t deadline_ns)
{
    BD_STATUS(why);
    bd_fail(why, BRAID_CANCELLED, "The server %s is stopping", s->peers.self->label);
    bd_web_free(s->web);
    s->web = NULL;
    if (s->listener) s->transport->listener_close(s->listener);
    bd_cancellation_cancel(s->env.cancellation, why);
    why->code = BRAID_ABORTED; // to other tasks
    bd_local_worker_close(s->env.worker, why);
    bd_master_stop(s->env.master);
    if (s->listener) s->transport->listener_stop(s->listener, deadline_ns);
    bd_local_worker_stop(s->env.worker);
    bd_device_close(s->devices[0]);
    bd_thread_pool_stop(s->control);
    bd_thread_pool_stop(s->waiting);
    bd_thread_pool_stop(s->nodes);
}

// Before the work is stopped: what has been done is acknowledged no more, and the standby may serve.
static void close_replication(braid_server *s, bool is_done)
{
    BD_STATUS(why);
    bd_fail(why, BRAID_ABORTED, "The server %s is stopping", s->peers.self->label);
    bd_replication_close(s->env.replication, is_done, why);
}

void braid_server_stop(braid_server *s, int64_t grace_ms)
{
    bd_mutex_lock(&s->mu);
    const bool is_first = !s->is_stopping;
    s->is_stopping = true;
    bd_cond_broadcast(&s->changed);
    while (!is_first && !s->is_stopped) // ends: the first does
        bd_cond_wait(&s->changed, &s->mu);
    bd_mutex_unlock(&s->mu);
    if (!is_first) return;
    const bool is_done = bd_membership_is_over(s->env.membership);
    bd_membership_close(s->env.membership, is_done ? "its work is done" : "it was stopped");
    if (s->env.replication) close_replication(s, is_done);
    stop_work(s, bd_deadline_after_ms(bd_max(grace_ms, STOP_GRACE_MIN_MS)));
    bd_mutex_lock(&s->mu);
    s->is_stopped = true;
    bd_cond_broadcast(&s->changed);
    bd_mutex_unlock(&s->mu);
}

static void make_devices(braid_server *s, int count)
{
    const char *task = s->peers.self->task;
    s->device_count = count;
    s->devices = bd_calloc((size_t)count, sizeof(bd_device *));
    s->device_infos = bd_calloc((size_t)count, sizeof *s->device_infos);
    for (int i = 0; i < count; i++) {
        s->devices[i] =
            i == 0 ? bd_device_new(task, "CPU", 0, s->nodes) : bd_device_new_sharing(s->devices[0], task, i);
        s->devices[i]->fs = &s->files.fs;
        s->device_infos[i] = bd_device_info_of(s->devices[i]);
    }
}

static void free_devices(braid_server *s)
{
    for (int i = s->device_count - 1; i >= 0; i--)
        bd_device_free(s->devices[i]);
    bd_free(s->devices);
    bd_free(s->device_infos);
}

static void free_parts(braid_server *s)
{
    bd_peers_close(&s->peers);
    if (s->env.session_clusters) bd_session_clusters_close(s->env.session_clusters);
    bd_master_free(s->env.master);
    bd_local_worker_free(s->env.worker);
    bd_task_collectives_free(s->env.collectives);
    bd_chunk_store_free(s->env.chunk_store);
    bd_timers_free(s->timers);
    bd_notifications_free(s->env.notifications);
    bd_replication_free(s->env.replication);
    bd_membership_free(s->env.membership);
    bd_spec_check_free(s->env.spec_check);
    bd_thread_pool_free(s->control);
    bd_thread_pool_free(s->waiting);
    bd_session_clusters_free(s->env.session_clusters);
    free_devices(s);
    bd_thread_pool_free(s->nodes);
    bd_accounts_free(s->accounts); // of calls that have run there
    bd_remote_workers_free(&s->peers);
    bd_peers_fini(&s->peers);
    if (s->listener) s->transport->listener_free(s->listener);
    if (s->owns_transport) s->transport->free(s->transport);
    bd_mpi_end(s->mpi);
    bd_users_fini(&s->users);
    bd_address_list_fini(&s->session_hosts);
    bd_server_files_fini(&s->files);
    bd_cancellation_unref(s->env.cancellation);
    bd_health_free(s->env.health);
    bd_request_ids_fini(&s->env.run_ids);
    bd_request_ids_fini(&s->env.recv_ids);
    bd_cond_fini(&s->changed);
    bd_mutex_fini(&s->mu);
    braid_cluster_free(s->cluster);
    bd_status_fini(&s->left);
    bd_free(s->partner);
    bd_free(s->target);
    bd_free(s);
}

void braid_server_free(braid_server *s)
{
    if (!s) return;
    bd_server_signals_off(s);
    bd_mutex_lock(&s->mu);
    const bool is_done = !s->is_stopping && !s->has_failed, only_serves = s->only_serves;
    bd_mutex_unlock(&s->mu);
    if (is_done) {
        if (!only_serves) braid_server_done(s);
        bd_membership_wait_notified(s->env.membership);
    }
    braid_server_stop(s, FREE_GRACE_MS);
    free_parts(s);
}

// ---- Starting ----

static void membership_changed(void *arg)
{
    braid_server *s = arg;
    bd_notifications_check(s->env.notifications);
    for (int i = 0; i < s->peers.count; i++) {
        bool is_done;
        if (bd_membership_has_left(s->env.membership, &s->peers.items[i], &is_done) && !is_done)
            bd_local_worker_master_gone(s->env.worker, s->peers.items[i].task);
    }
    bd_mutex_lock(&s->mu);
    bd_cond_broadcast(&s->changed);
    bd_mutex_unlock(&s->mu);
}

// Whether the name of a host leads to this host only, as its own name in /etc/hosts may.
static bool is_known_as_loopback(const char *host)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    if (bd_host_is_loopback(host) || getaddrinfo(host, NULL, &hints, &found)) return false;
    bool is = false;
    for (const struct addrinfo *at = found; at && !is; at = at->ai_next) {
        char text[INET6_ADDRSTRLEN];
        is = getnameinfo(at->ai_addr, at->ai_addrlen, text, sizeof text, NULL, 0, NI_NUMERICHOST) == 0 &&
             bd_host_is_loopback(text);
    }
    freeaddrinfo(found);
    return is;
}

// The name in a task's address may be one of a proxy in front of this host, or one that only other hosts look
// up as they must: the task then listens on all addresses of this host.
static braid_code listen_at(braid_server *s, const char *address, braid_status *st)
{
    char host[BD_HOST_LEN_MAX + 1], *bound = NULL;
    int port;
    bd_transport *t = s->transport;
    const bool is_unix = bd_address_unix_path(address) != NULL;
    if (!is_unix && bd_host_port_parse(address, host, &port, st)) return st->code;
    if (is_unix || !s->owns_transport || !is_known_as_loopback(host))
        t->listen(t, address, handle, s, &s->listener, &bound, st);
    if (!s->listener && s->owns_transport && !is_unix && (!st->code || st->code == BRAID_INVALID_ARGUMENT) &&
        !bd_host_is_loopback(host)) {
        char *all = bd_asprintf("0.0.0.0:%d", port);
        bd_warn("%s is not known as an address of this host: the task listens on all addresses of this host",
                host);
        braid_status_clear(st);
        t->listen(t, all, handle, s, &s->listener, &bound, st);
        bd_free(all);
    }
    bd_free(bound);
    return st->code;
}

static braid_code start_pools(braid_server *s, const braid_server_options *options, braid_status *st)
{
    const int threads = options->inter_op_threads > 0 ? options->inter_op_threads : bd_cpu_count();
    braid_code code = bd_timers_new(&s->timers, st);
    if (!code) code = bd_thread_pool_new("bd-nodes", threads, &s->nodes, st);
    if (!code) code = bd_thread_pool_new("bd-control", CONTROL_THREADS, &s->control, st);
    if (!code) code = bd_thread_pool_new("bd-waiting", WAITING_THREADS, &s->waiting, st);
    return code;
}

// How long a server waits for other tasks.
typedef struct wait_limits {
    int64_t gone_ms, start_ms;
} wait_limits;

// Addresses that sessions may name: of the options, or of the environment.
static braid_code find_session_hosts(const braid_server_options *options, bd_address_list *out,
                                     braid_status *st)
{
    const char *text = options->session_hosts ? options->session_hosts : getenv(SESSION_HOSTS_VARIABLE);
    if (bd_address_list_parse(text, out, st))
        bd_status_prefix(st, "%s: ", options->session_hosts ? "session_hosts" : SESSION_HOSTS_VARIABLE);
    return st->code;
}

static braid_code find_limits(const braid_server_options *options, wait_limits *limits, braid_status *st)
{
    if (bd_grace_ms(&limits->gone_ms, st) || bd_start_timeout_ms(&limits->start_ms, st)) return st->code;
    if (options->worker_gone_timeout_ms > 0) limits->gone_ms = options->worker_gone_timeout_ms;
    return BRAID_OK;
}

static bd_session_config session_defaults(const braid_server_options *options)
{
    const braid_session_options *o = options->session_options;
    bd_session_config config = {.log_device_placement = options->log_device_placement};
    if (!o) return config;
    config.log_device_placement |= o->log_device_placement;
    config.device_filters = o->device_filters;
    config.device_filter_count = o->device_filter_count;
    config.allow_soft_placement = o->allow_soft_placement;
    config.place_pruned_graph = o->place_pruned_graph;
    config.sends_bfloat16 = o->enable_bfloat16_sendrecv;
    config.is_isolated = o->isolate_session_state;
    config.disabled_rewrites = o->disabled_rewrites;
    config.collective_leader = o->collective_leader;
    return config;
}

static void make_parts(braid_server *s, const char *job, int index, const braid_server_options *options,
                       const wait_limits *limits)
{
    bd_peers_init(&s->peers, s->cluster, job, index, s->transport, s->timers);
    if (s->owns_transport) bd_peers_share_memory(&s->peers, s->nodes);
    if (s->cluster->is_mpi_world) s->mpi = bd_mpi_new(s->uses_tls);
    bd_peers_use_mpi(&s->peers, s->mpi);
    bd_remote_workers_new(&s->peers);
    make_devices(s, bd_max(1, options->cpu_devices));
    s->env.spec_check = bd_spec_check_new(s->cluster, &s->peers);
    s->env.chunk_store = bd_chunk_store_new(s->timers, (size_t)bd_system_memory() / 4);
    s->local_devices = (bd_local_devices){s->devices, s->device_infos, s->device_count};
    s->env.collectives = bd_task_collectives_new(&s->peers, &s->local_devices);
    s->env.worker =
        bd_local_worker_new(&s->peers, &s->local_devices, s->timers, s->env.chunk_store, s->env.collectives);
    s->accounts = bd_accounts_new(s->limits.client.memory_bytes, s->limits.client.processors);
    bd_local_worker_use_accounts(s->env.worker, s->accounts);
    s->peers.self->worker = bd_local_worker_base(s->env.worker);
    s->env.session_clusters =
        bd_session_clusters_new(&(bd_session_clusters_env){.peers = &s->peers,
                                                           .cluster = s->cluster,
                                                           .transport = s->transport,
                                                           .timers = s->timers,
                                                           .pool = s->waiting,
                                                           .devices = &s->local_devices,
                                                           .worker = s->peers.self->worker,
                                                           .hosts = &s->session_hosts,
                                                           .is_open = options->insecure && !s->uses_tls});
    bd_local_worker_use_clusters(s->env.worker, s->env.session_clusters);
    s->env.membership = bd_membership_new(&(bd_membership_env){.peers = &s->peers,
                                                               .timers = s->timers,
                                                               .cancellation = s->env.cancellation,
                                                               .spec_check = s->env.spec_check,
                                                               .incarnation = s->devices[0]->incarnation,
                                                               .gone_timeout_ms = limits->gone_ms,
                                                               .start_timeout_ms = limits->start_ms,
                                                               .changed = membership_changed,
                                                               .arg = s});
    s->env.master = bd_master_new(&(bd_master_env){.peers = &s->peers,
                                                   .fs = &s->files.fs,
                                                   .timers = s->timers,
                                                   .pool = s->waiting,
                                                   .cancellation = s->env.cancellation,
                                                   .collectives = s->env.collectives,
                                                   .spec_check = s->env.spec_check,
                                                   .membership = s->env.membership,
                                                   .accounts = s->accounts,
                                                   .session_timeout_ms = options->session_timeout_ms,
                                                   .defaults = session_defaults(options),
                                                   .operation_timeout_ms = options->operation_timeout_ms,
                                                   .client_gone_ms = limits->gone_ms,
                                                   .session_idle_ms = options->session_idle_timeout_ms,
                                                   .sessions_max = s->limits.sessions,
                                                   .step_ms_max = s->limits.step_ms,
                                                   .caller_lost_ms = options->client_lost_timeout_ms > 0
                                                                         ? options->client_lost_timeout_ms
                                                                         : CLIENT_LOST_TIMEOUT_DEFAULT_MS});
    s->env.notifications = bd_notifications_new(&(bd_notifications_env){.peers = &s->peers,
                                                                        .timers = s->timers,
                                                                        .cancellation = s->env.cancellation,
                                                                        .membership = s->env.membership,
                                                                        .gone_timeout_ms = limits->gone_ms});
}

// ---- A replicated task ----

static void begin_to_serve(void *arg)
{
    braid_server *s = arg;
    bd_membership_start(s->env.membership);
    bd_server_set_serving(s, true);
}

static void replication_ended(void *arg, const braid_status *st)
{
    braid_server *s = arg;
    bd_server_set_serving(s, false);
    bd_mutex_lock(&s->mu);
    s->has_left = true;
    bd_status_copy(&s->left, st);
    bd_cond_broadcast(&s->changed);
    bd_mutex_unlock(&s->mu);
}

static void commit(void *arg, bd_worker_done_fn fn, void *fn_arg)
{
    bd_replication_commit(arg, fn, fn_arg);
}

static void make_replication(braid_server *s, const wait_limits *limits)
{
    s->partner = bd_address_of_replica(s->peers.self->address, 1 - s->replica);
    s->env.replication =
        bd_replication_new(&(bd_replication_env){.label = s->peers.self->label,
                                                 .replica = s->replica,
                                                 .partner = s->partner,
                                                 .transport = s->transport,
                                                 .replicated = {s->devices[0]->resources, s->env.membership},
                                                 .cancellation = s->env.cancellation,
                                                 .incarnation = s->devices[0]->incarnation,
                                                 .grace_ms = limits->gone_ms,
                                                 .serve = begin_to_serve,
                                                 .ended = replication_ended,
                                                 .arg = s});
    bd_local_worker_set_commit(s->env.worker, commit, s->env.replication);
}

static braid_server *server_new(const braid_cluster *cluster, bd_transport *transport, bool is_serving)
{
    braid_server *s = bd_calloc(1, sizeof *s);
    s->cluster = bd_cluster_copy(cluster);
    s->env.cluster = s->cluster;
    s->env.peers = &s->peers;
    s->transport = transport;
    s->env.cancellation = bd_cancellation_new(NULL);
    s->env.health = bd_health_new(is_serving);
    bd_mutex_init(&s->mu);
    bd_cond_init(&s->changed);
    bd_request_ids_init(&s->env.run_ids);
    bd_request_ids_init(&s->env.recv_ids);
    return s;
}

static braid_code check_address(const char *address, const char *task, braid_status *st)
{
    char host[BD_HOST_LEN_MAX + 1];
    int port;
    if (bd_address_unix_path(address)) return BRAID_OK;
    const braid_code code = bd_host_port_parse(address, host, &port, st);
    if (code || bd_host_is_loopback(host)) return code;
    return bd_fail(
        st, BRAID_PERMISSION_DENIED,
        "%s would listen on %s, where anyone with access to the network may run graphs: give it a certificate (braid keys, "
        "--tls-dir, options.tls_dir), or say that it may be insecure (--insecure, options.insecure)",
        task, address);
}

static braid_code use_tls(braid_server *s, const char *dir, braid_status *st)
{
    braid_role role;
    if (!s->owns_transport || bd_grpc_transport_use_tls(s->transport, dir, &role, st)) return st->code;
    s->uses_tls = role != BRAID_ROLE_NONE;
    if (!s->uses_tls || role == BRAID_ROLE_TASK) return BRAID_OK;
    return bd_fail(
        st, BRAID_UNAUTHENTICATED,
        "A server needs a certificate of the role task, and this one is of the role %s (braid keys add)",
        braid_role_name(role));
}

// Who may call, and how much of the server each caller may use.
static braid_code admit(braid_server *s, const char *task, const char *address,
                        const braid_server_options *options, braid_status *st)
{
    if (bd_server_limits_parse(options->limits, &s->limits, st)) return st->code;
    if (use_tls(s, options->tls_dir, st)) return st->code;
    if (!s->uses_tls && !options->insecure && check_address(address, task, st)) return st->code;
    if (!s->owns_transport) return BRAID_OK;
    bd_grpc_transport_limit(s->transport, &s->limits.transport);
    if (!s->uses_tls && options->insecure) {
        bd_warn(
            "Insecure: every process that reaches %s may run graphs, which read and write the files of this server (file roots) as this user",
            address);
        return BRAID_OK;
    }
    if (bd_users_parse(options->allow_users, &s->users, st)) return st->code;
    bd_grpc_transport_admit(s->transport, &s->users, needed_role);
    return BRAID_OK;
}

// Calls and tensors of processes of this host go through memory that they share.
static void share_memory(braid_server *s)
{
    bd_transport *base = s->transport;
    s->transport = bd_shm_transport_new(base, &s->limits.transport);
    if (s->transport != base) bd_shared_memory_start();
}

static braid_code start(braid_server *s, const char *job, int index, const char *address,
                        const braid_server_options *options, braid_status *st)
{
    if (!s->transport) {
        s->transport = bd_grpc_transport_new(st);
        s->owns_transport = s->transport != NULL;
        if (!s->transport) return st->code;
    }
    char *task = bd_asprintf("/job:%s/task:%d", job, index);
    braid_code code = admit(s, task, address, options, st);
    bd_free(task);
    if (!code && s->owns_transport) share_memory(s);
    wait_limits limits;
    if (!code) code = find_limits(options, &limits, st);
    if (!code) code = find_session_hosts(options, &s->session_hosts, st);
    if (!code) code = bd_server_files_init(&s->files, options->file_roots, st);
    if (!code) code = start_pools(s, options, st);
    if (code) return code;
    s->target = bd_asprintf("grpc://%s", address);
    bd_buffer_pool_set_limit((size_t)s->limits.memory_bytes);
    make_parts(s, job, index, options, &limits);
    bd_server_make_description(s);
    if (bd_address_replicas(s->peers.self->address) > 1) make_replication(s, &limits);
    code = listen_at(s, address, st);
    if (!code) code = bd_server_start_web(s, options, st);
    if (!code && s->env.replication) code = bd_replication_start(s->env.replication, st);
    if (code && s->env.replication) close_replication(s, false);
    if (code)
        stop_work(s, 0);
    else if (!s->env.replication)
        bd_membership_start(s->env.membership);
    if (!code && s->mpi) bd_mpi_start(s->mpi); // a server that cannot start does not make other ranks wait
    return code;
}

// The replica that TF_CONFIG gives for the task, else 0.
static int this_replica(const braid_cluster *cluster, const char *job, int index)
{
    const bool is_this = cluster->this_job && job && strcmp(cluster->this_job, job) == 0;
    return is_this && cluster->this_task == index ? cluster->this_replica : 0;
}

braid_server *bd_server_start(const braid_cluster *cluster, const char *job, int index,
                              const braid_server_options *options, bd_transport *transport, braid_status *st)
{
    static const braid_server_options defaults;
    if (!options) options = &defaults;
    const int replica = options->replica ? options->replica : this_replica(cluster, job, index);
    char *address = bd_cluster_replica_address(cluster, job, index, replica, st);
    if (!address) return NULL;
    braid_server *s = NULL;
    if (!bd_cpu_devices_check(options->cpu_devices, st)) {
        bd_done_notice_keep();
        s = server_new(cluster, transport,
                       bd_address_replicas(braid_cluster_address(cluster, job, index)) == 1);
        s->replica = replica;
        if (start(s, job, index, address, options, st)) {
            free_parts(s);
            s = NULL;
        }
    }
    bd_free(address);
    return s;
}

braid_server *braid_server_start(const braid_cluster *cluster, const char *job, int index,
                                 const braid_server_options *options, braid_status *status)
{
    BD_STATUS(unwanted);
    return bd_server_start(cluster, job, index, options, NULL, status ? status : unwanted);
}

// Ports outside of the range that outgoing connections use.
#define LOCAL_PORT_FIRST 20000
#define LOCAL_PORT_COUNT 12000
#define LOCAL_PORT_TRIES 100

braid_server *braid_server_start_local(const braid_server_options *options, braid_status *status)
{
    BD_STATUS(unwanted);
    braid_status *st = status ? status : unwanted;
    braid_server *s = NULL;
    for (int i = 0; i < LOCAL_PORT_TRIES && !s; i++) {
        char address[32];
        braid_status_clear(st);
        snprintf(address, sizeof address, "127.0.0.1:%d",
                 LOCAL_PORT_FIRST + (int)(bd_random_u64() % LOCAL_PORT_COUNT));
        braid_cluster *cluster = bd_cluster_new();
        if (!bd_cluster_add(cluster, "local", 0, address, st))
            s = bd_server_start(cluster, "local", 0, options, NULL, st);
        braid_cluster_free(cluster);
        if (!s && st->code != BRAID_ALREADY_EXISTS) break;
    }
    return s;
}

// ---- The rest ----

const char *braid_server_target(const braid_server *s)
{
    return s->target;
}

int64_t braid_server_tensor_bytes(const braid_server *s)
{
    const bd_traffic *t = s->peers.traffic;
    return (int64_t)(atomic_load_explicit(&t->sent_bytes, memory_order_relaxed) +
                     atomic_load_explicit(&t->received_bytes, memory_order_relaxed));
}

const char *braid_server_chief(const braid_server *s)
{
    const bd_peer *chief = bd_membership_chief(&s->peers);
    return chief ? chief->label : NULL;
}

bool braid_server_is_chief(const braid_server *s)
{
    const bd_peer *chief = bd_membership_chief(&s->peers);
    return chief && chief->is_self;
}

braid_code braid_server_join(braid_server *s, braid_status *status)
{
    BD_STATUS(unwanted);
    bd_mutex_lock(&s->mu);
    while (!s->is_stopping && !s->has_left &&
           !bd_membership_is_over(s->env.membership)) // also ends with braid_server_stop
        bd_cond_wait(&s->changed, &s->mu);
    const bool was_stopped = s->is_stopping, has_left = s->has_left;
    bd_mutex_unlock(&s->mu);
    if (was_stopped) return BRAID_OK;
    braid_status *st = status ? status : unwanted;
    if (has_left)
        bd_status_copy(st, &s->left); // constant once it is set
    else
        bd_membership_check_done(s->env.membership, st);
    if (!st->code) bd_done_notice_write(s->peers.self->job, s->peers.self->index);
    if (!st->code && s->env.replication && !has_left) bd_replication_await_partner(s->env.replication);
    if (!st->code) bd_info("The work of %s is done", s->peers.self->label);
    return st->code;
}

void braid_server_failed(braid_server *s)
{
    bd_mutex_lock(&s->mu);
    s->has_failed = true;
    bd_mutex_unlock(&s->mu);
}

void bd_server_set_serving(braid_server *s, bool is_serving)
{
    bd_health_set_serving(s->env.health, is_serving);
}

// Notes what the task says of itself, and tells the others.
static void say_done(braid_server *s, bool only_serves)
{
    bd_mutex_lock(&s->mu);
    s->only_serves = only_serves;
    bd_mutex_unlock(&s->mu);
    bd_membership_notify_done(s->env.membership, only_serves);
}

void braid_server_done(braid_server *s)
{
    say_done(s, false);
}

void braid_server_only_serves(braid_server *s)
{
    say_done(s, true);
}

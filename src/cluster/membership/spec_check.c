// Compares the cluster specification of this task with those of the tasks that it meets.
//
// A task tells the fingerprint of its specification in its status (GetStatusResponse), which every task asks
// for before it calls another one further. When the fingerprint is another one than its own, the asking task
// sends its specification (CompareSpecifications) and gets the other one back, so that both can name the
// difference. Tasks that were started alike exchange nothing more than the fingerprint. A task that tells
// none, as one of TensorFlow, is not compared.
#include "cluster/membership/spec_check.h"
#include "base/alloc.h"
#include "base/arena.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/fingerprint.h"
#include "base/log.h"
#include "base/thread.h"
#include "braid/cluster.pb-c.h"
#include "cluster/rpc/methods.h"
#include "cluster/spec/cluster_compare.h"
#include "proto/pack.h"
#include <string.h>

// A comparison is no reason to let a session wait longer.
#define TIMEOUT_MS 5000
// More tasks are no cluster.
#define TASKS_MAX 10000
// Differences that are logged; a task that is restarted with ever different specifications must not fill the
// log.
#define LOGGED_MAX 1000

struct bd_spec_check {
    const braid_cluster *cluster;
    const bd_peers *peers;
    uint64_t fingerprint;
    bd_mutex mu;
    BD_ARRAY(uint64_t) logged; // the tasks with their specifications; guarded by mu
};

bd_spec_check *bd_spec_check_new(const braid_cluster *cluster, const bd_peers *peers)
{
    bd_spec_check *c = bd_calloc(1, sizeof *c);
    c->cluster = cluster;
    c->peers = peers;
    c->fingerprint = bd_cluster_fingerprint(cluster);
    bd_mutex_init(&c->mu);
    return c;
}

void bd_spec_check_free(bd_spec_check *c)
{
    if (!c) return;
    bd_mutex_fini(&c->mu);
    bd_array_free(&c->logged);
    bd_free(c);
}

uint64_t bd_spec_check_fingerprint(const bd_spec_check *c)
{
    return c->fingerprint;
}

// ---- Specifications as messages ----

static Braid__SpecifiedTask *pack_task(bd_arena *arena, const bd_cluster_task *task)
{
    Braid__SpecifiedTask *to = BD_ARENA_ARRAY(arena, Braid__SpecifiedTask, 1);
    braid__specified_task__init(to);
    to->index = task->index;
    to->address = task->address;
    return to;
}

static Braid__SpecifiedJob *pack_job(bd_arena *arena, const bd_cluster_job *job)
{
    Braid__SpecifiedJob *to = BD_ARENA_ARRAY(arena, Braid__SpecifiedJob, 1);
    braid__specified_job__init(to);
    to->name = job->name;
    to->is_sparse = job->is_sparse;
    to->n_task = job->tasks.len;
    to->task = BD_ARENA_ARRAY(arena, Braid__SpecifiedTask *, job->tasks.len);
    for (size_t i = 0; i < job->tasks.len; i++)
        to->task[i] = pack_task(arena, &job->tasks.items[i]);
    return to;
}

// The message is valid as long as the cluster and the arena are.
static void pack_cluster(const braid_cluster *c, Braid__ClusterSpecification *to, bd_arena *arena)
{
    braid__cluster_specification__init(to);
    to->is_sparse = c->is_sparse;
    to->n_job = c->jobs.len;
    to->job = BD_ARENA_ARRAY(arena, Braid__SpecifiedJob *, c->jobs.len);
    for (size_t j = 0; j < c->jobs.len; j++)
        to->job[j] = pack_job(arena, &c->jobs.items[j]);
}

static braid_code unpack_job(braid_cluster *c, const Braid__SpecifiedJob *job, braid_status *st)
{
    for (size_t i = 0; i < job->n_task; i++)
        if (bd_cluster_add(c, job->name, job->task[i]->index, job->task[i]->address, st)) return st->code;
    if (job->is_sparse) bd_cluster_set_sparse(c, job->name);
    return BRAID_OK;
}

// Returns the caller's cluster; NULL and InvalidArgument when it is none.
static braid_cluster *unpack_cluster(const Braid__ClusterSpecification *from, braid_status *st)
{
    size_t count = 0;
    for (size_t j = 0; from && j < from->n_job; j++)
        count += from->job[j]->n_task;
    if (count > TASKS_MAX)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "The specification has more than %d tasks", TASKS_MAX);
    braid_cluster *c = bd_cluster_new();
    c->is_sparse = from && from->is_sparse;
    for (size_t j = 0; from && j < from->n_job && !st->code; j++)
        unpack_job(c, from->job[j], st);
    if (!st->code) return c;
    braid_cluster_free(c);
    return NULL;
}

// ---- Comparing ----

// Another task, and what it was started with.
typedef struct other_task {
    const char *job;
    int index;
    const char *label; // as messages name it
    const braid_cluster *cluster;
} other_task;

// Returns whether this difference has not been logged before.
static bool is_news(bd_spec_check *c, const other_task *other)
{
    const uint64_t job = bd_fingerprint64(other->job, strlen(other->job));
    const uint64_t key = bd_fingerprint_cat64(bd_fingerprint_cat64(job, (uint64_t)other->index),
                                              bd_cluster_fingerprint(other->cluster));
    bd_mutex_lock(&c->mu);
    bool is_known = c->logged.len == LOGGED_MAX;
    for (size_t i = 0; i < c->logged.len && !is_known; i++)
        is_known = c->logged.items[i] == key;
    if (!is_known) bd_array_push(&c->logged, key);
    bd_mutex_unlock(&c->mu);
    return !is_known;
}

static char *describe(const bd_spec_check *c, const char *label, bd_cluster_difference kind, const char *what)
{
    const bd_peer *self = c->peers->self;
    if (kind == BD_CLUSTERS_SPELLING)
        return bd_asprintf("%s and this task, /job:%s/task:%d, were started with addresses that are written "
                           "differently: %s. Write them alike for all tasks",
                           label, self->job, self->index, what);
    return bd_asprintf("%s and this task, /job:%s/task:%d, were started with different cluster "
                       "specifications: %s. Start all tasks with the same one",
                       label, self->job, self->index, what);
}

// Logs how the specifications differ. InvalidArgument: the two do not know the same tasks.
static braid_code compare(bd_spec_check *c, const other_task *other, braid_status *st)
{
    bd_strbuf what = {0};
    const bd_cluster_difference kind = bd_cluster_compare(c->cluster, other->cluster, &what);
    if (kind != BD_CLUSTERS_AGREE) {
        char *text = describe(c, other->label, kind, bd_strbuf_str(&what));
        if (is_news(c, other)) bd_log(kind == BD_CLUSTERS_SPELLING ? BD_WARNING : BD_ERROR, "%s", text);
        if (kind == BD_CLUSTERS_TASKS) bd_fail(st, BRAID_INVALID_ARGUMENT, "%s", text);
        bd_free(text);
    }
    bd_strbuf_fini(&what);
    return st->code;
}

// ---- At the task that asks ----

typedef struct comparison {
    bd_spec_check *c;
    const bd_peer *peer;
    bd_worker_done_fn fn;
    void *arg;
} comparison;

static void answered(void *arg, bd_message *response, const braid_status *from)
{
    comparison *p = arg;
    BD_STATUS(unknown);
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    bd_status_copy(unknown, from);
    const Braid__CompareSpecificationsResponse *message =
        from->code ? NULL
                   : bd_proto_unpack_message(&braid__compare_specifications_response__descriptor, response,
                                             arena, unknown);
    const bd_peer *peer = p->peer;
    braid_cluster *cluster = message ? unpack_cluster(message->cluster, unknown) : NULL;
    if (cluster)
        compare(p->c, &(other_task){peer->job, peer->index, peer->label, cluster}, st);
    else
        bd_debug("The specification of %s is not known: %s", peer->label, unknown->message);
    braid_cluster_free(cluster);
    p->fn(p->arg, st);
    bd_free(p);
}

static void exchange(comparison *p, bd_cancellation *cancellation)
{
    const bd_peer *self = p->c->peers->self;
    bd_arena arena = {0};
    Braid__ClusterSpecification cluster;
    pack_cluster(p->c->cluster, &cluster, &arena);
    Braid__CompareSpecificationsRequest request = BRAID__COMPARE_SPECIFICATIONS_REQUEST__INIT;
    request.job = (char *)self->job;
    request.task = self->index;
    request.cluster = &cluster;
    bd_rpc_options options = bd_peer_rpc(p->peer, BD_CLUSTER_SERVICE "CompareSpecifications");
    options.deadline_ns = bd_deadline_after_ms(TIMEOUT_MS);
    options.cancellation = cancellation;
    bd_rpc_start_proto(&options, &request.base, answered, p);
    bd_arena_fini(&arena);
}

void bd_spec_check_peer(bd_spec_check *c, const bd_peer *peer, bd_cancellation *cancellation,
                        bd_worker_done_fn fn, void *arg)
{
    const uint64_t theirs = atomic_load_explicit(&peer->worker->spec_fingerprint, memory_order_relaxed);
    if (peer->is_self || theirs == 0 || theirs == c->fingerprint) {
        BD_STATUS(st);
        fn(arg, st);
        return;
    }
    comparison *p = bd_malloc(sizeof *p);
    *p = (comparison){c, peer, fn, arg};
    exchange(p, cancellation);
}

// ---- At the task that is asked ----

static void reply_own(const bd_spec_check *c, bd_incoming *call)
{
    bd_arena arena = {0};
    Braid__ClusterSpecification cluster;
    pack_cluster(c->cluster, &cluster, &arena);
    Braid__CompareSpecificationsResponse response = BRAID__COMPARE_SPECIFICATIONS_RESPONSE__INIT;
    response.cluster = &cluster;
    bd_incoming_reply_proto(call, &response.base);
    bd_arena_fini(&arena);
}

// The caller is known by the address that its own specification gives it.
static braid_code compare_with_caller(bd_spec_check *c, const Braid__CompareSpecificationsRequest *request,
                                      const braid_cluster *cluster, braid_status *st)
{
    const char *address = braid_cluster_address(cluster, request->job, request->task);
    if (!address)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "CompareSpecifications: the specification of /job:%s/task:%d does not have this task",
                       request->job, request->task);
    BD_STATUS(unwanted);
    char *label = bd_asprintf("/job:%s/task:%d at %s", request->job, request->task, address);
    compare(c, &(other_task){request->job, request->task, label, cluster}, unwanted);
    bd_free(label);
    return BRAID_OK;
}

void bd_spec_check_serve(bd_spec_check *c, bd_incoming *call)
{
    BD_STATUS(st);
    BD_PROTO_ARENA(arena);
    const Braid__CompareSpecificationsRequest *request = bd_proto_unpack_message(
        &braid__compare_specifications_request__descriptor, &call->request, arena, st);
    braid_cluster *cluster = request ? unpack_cluster(request->cluster, st) : NULL;
    if (!cluster || compare_with_caller(c, request, cluster, st))
        bd_incoming_reply_error(call, st);
    else
        reply_own(c, call);
    braid_cluster_free(cluster);
}

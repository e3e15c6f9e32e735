// A server's description of its own task.
//
// A variable whose lock is held is not waited for: it counts with the bytes that the last description found.
#include "base/array.h"
#include "cluster/monitoring/description.h"
#include "cluster/transport/shm.h"
#include "op/variable.h"
#include <braid/version.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define SESSIONS_MAX 256
#define STEPS_MAX 256
#define EXECUTIONS_MAX 64
#define WAITS_FOR_MAX 400 // bytes

#define MS_NS 1000000

static int64_t age_ms(int64_t since_ns)
{
    return (bd_now_ns() - since_ns) / MS_NS;
}

// ---- The process ----

static int64_t resident_bytes(void)
{
    long long size, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file) return 0;
    if (fscanf(file, "%lld %lld", &size, &resident) != 2) resident = 0;
    fclose(file);
    return resident * sysconf(_SC_PAGESIZE);
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double processor_seconds(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
    return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

static void describe_process(const bd_description_env *env, Braid__DescribeResponse *out)
{
    out->version = (char *)braid_version();
    out->incarnation = env->incarnation;
    out->pid = getpid();
    out->uptime_ms = age_ms(env->start_ns);
    out->resident_bytes = resident_bytes();
    out->tensor_bytes = (int64_t)bd_buffer_pool_get_stats().bytes_in_use;
    out->processor_seconds = processor_seconds();
    out->calls = atomic_load_explicit(&env->calls, memory_order_relaxed);
}

// ---- Variables ----

static void add_variable(void *arg, const char *container, const char *name, bd_resource *r)
{
    (void)container, (void)name;
    Braid__DescribeResponse *out = arg;
    bd_variable *v = BD_CONTAINER_OF(r, bd_variable, base);
    if (bd_mutex_trylock(&v->mu)) {
        const size_t bytes = bd_tensor_is_set(&v->tensor) ? bd_tensor_bytes(&v->tensor) : 0;
        atomic_store_explicit(&v->described_bytes, bytes, memory_order_relaxed);
        bd_mutex_unlock(&v->mu);
    }
    out->variable_count++;
    out->variable_bytes += (int64_t)atomic_load_explicit(&v->described_bytes, memory_order_relaxed);
}

static void add_variables(void *arg, bd_resources *rs)
{
    bd_resources_each(rs, &bd_variable_type, add_variable, arg);
    bd_resources_each(rs, &bd_ref_variable_type, add_variable, arg);
}

// ---- The cluster ----

static void describe_tasks(const bd_description_env *env, Braid__DescribeResponse *out, bd_arena *arena)
{
    const bd_peers *peers = env->peers;
    out->n_known_task = (size_t)peers->count;
    out->known_task = BD_ARENA_ARRAY(arena, Braid__KnownTask *, out->n_known_task);
    for (int i = 0; i < peers->count; i++) {
        const bd_peer *peer = &peers->items[i];
        Braid__KnownTask *task = BD_ARENA_NEW(arena, Braid__KnownTask);
        braid__known_task__init(task);
        task->job = (char *)peer->job;
        task->task = peer->index;
        task->address = (char *)peer->address;
        task->state = (Braid__KnownState)bd_membership_state(env->membership, peer);
        out->known_task[i] = task;
    }
}

// ---- Sessions and steps ----

typedef struct collecting {
    Braid__DescribeResponse *out;
    bd_arena *arena;
} collecting;

static Braid__RunningStep *running_step(bd_arena *arena, int64_t id, const char *session, int64_t begin_ns)
{
    Braid__RunningStep *step = BD_ARENA_NEW(arena, Braid__RunningStep);
    braid__running_step__init(step);
    step->id = id;
    step->session = bd_arena_strdup(arena, session);
    step->age_ms = age_ms(begin_ns);
    return step;
}

static void add_session(void *arg, const bd_watched_session *s)
{
    const collecting *c = arg;
    Braid__DescribeResponse *out = c->out;
    out->sessions_open++;
    out->steps_running += s->running;
    for (int i = 0; i < s->oldest_count && out->n_step < STEPS_MAX; i++)
        out->step[out->n_step++] = running_step(c->arena, s->oldest[i].id, s->handle, s->oldest[i].begin_ns);
    if (out->n_session == SESSIONS_MAX) return;
    Braid__DescribedSession *session = BD_ARENA_NEW(c->arena, Braid__DescribedSession);
    braid__described_session__init(session);
    session->handle = bd_arena_strdup(c->arena, s->handle);
    session->owner = bd_arena_strdup(c->arena, s->owner);
    session->age_ms = age_ms(s->created_ns);
    session->steps = s->steps;
    session->steps_failed = s->failed;
    session->steps_running = s->running;
    out->session[out->n_session++] = session;
}

static void describe_steps(const bd_master *m, Braid__DescribeResponse *out, bd_arena *arena)
{
    const bd_step_counts counts = bd_master_step_counts(m);
    out->steps_failed = counts.failed;
    out->step_seconds = (double)counts.total_ns / 1e9;
    out->step_class = BD_ARENA_ARRAY(arena, Braid__StepClass *, BD_STEP_CLASSES);
    for (int i = 0; i < BD_STEP_CLASSES; i++) {
        Braid__StepClass *class = BD_ARENA_NEW(arena, Braid__StepClass);
        braid__step_class__init(class);
        class->up_to_seconds =
            i < BD_STEP_CLASSES - 1 ? (double)bd_step_class_bounds_ns[i] / 1e9 : (double)INFINITY;
        class->count = counts.classes[i];
        out->steps += class->count;
        out->step_class[out->n_step_class++] = class;
    }
}

static void describe_sessions(bd_master *m, Braid__DescribeResponse *out, bd_arena *arena)
{
    out->session = BD_ARENA_ARRAY(arena, Braid__DescribedSession *, SESSIONS_MAX);
    out->step = BD_ARENA_ARRAY(arena, Braid__RunningStep *, STEPS_MAX);
    collecting c = {out, arena};
    bd_master_watch_sessions(m, add_session, &c);
}

static char *shortened(bd_arena *arena, const char *text)
{
    const size_t len = strlen(text);
    if (len <= WAITS_FOR_MAX) return bd_arena_strndup(arena, text, len);
    return bd_arena_asprintf(arena, "%.*s...", WAITS_FOR_MAX, text);
}

static void add_execution(void *arg, const bd_watched_execution *e)
{
    const collecting *c = arg;
    Braid__RunningStep *step = running_step(c->arena, e->step_id, e->session, e->begin_ns);
    step->waits_for = shortened(c->arena, e->waits_for);
    c->out->execution[c->out->n_execution++] = step;
}

static void describe_executions(bd_local_worker *w, Braid__DescribeResponse *out, bd_arena *arena)
{
    const bd_execution_counts counts = bd_local_worker_execution_counts(w);
    out->executions = counts.ended;
    out->executions_failed = counts.failed;
    out->executions_running = counts.running;
    out->execution = BD_ARENA_ARRAY(arena, Braid__RunningStep *, EXECUTIONS_MAX);
    collecting c = {out, arena};
    bd_local_worker_watch(w, EXECUTIONS_MAX, add_execution, &c);
}

Braid__DescribeResponse *bd_describe(const bd_description_env *env, bool is_serving, bd_arena *arena)
{
    const bd_peers *peers = env->peers;
    Braid__DescribeResponse *out = BD_ARENA_NEW(arena, Braid__DescribeResponse);
    braid__describe_response__init(out);
    out->job = (char *)peers->self->job;
    out->task = peers->self->index;
    out->address = (char *)env->address;
    out->is_serving = is_serving;
    describe_process(env, out);
    bd_local_worker_each_resources(env->worker, add_variables, out);
    describe_tasks(env, out, arena);
    describe_steps(env->master, out, arena);
    describe_sessions(env->master, out, arena);
    describe_executions(env->worker, out, arena);
    out->sent_bytes = atomic_load_explicit(&peers->traffic->sent_bytes, memory_order_relaxed);
    out->received_bytes = atomic_load_explicit(&peers->traffic->received_bytes, memory_order_relaxed);
    out->memory_bytes = atomic_load_explicit(&peers->traffic->memory_bytes, memory_order_relaxed);
    out->mpi_bytes = atomic_load_explicit(&peers->traffic->mpi_bytes, memory_order_relaxed);
    out->shared_memory_links = bd_shm_transport_links(peers->self->transport);
    out->calls_made = bd_rpc_count_now(peers->self->calls);
    return out;
}

braid_task_description *bd_describe_publicly(const bd_description_env *env, bool is_serving)
{
    bd_arena arena = {0};
    braid_task_description *d = bd_description_of(bd_describe(env, is_serving, &arena));
    bd_arena_fini(&arena);
    return d;
}

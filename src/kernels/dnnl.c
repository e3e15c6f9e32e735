// The engine of oneDNN and its threads.
#include "kernels/dnnl.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/thread.h"

// A function of OpenMP's runtime, which oneDNN links; declared here because clang has no <omp.h>.
void omp_set_num_threads(int count);

void bd_dnnl_one_thread(void)
{
    static _Thread_local bool done;
    if (done) return;
    omp_set_num_threads(1);
    done = true;
}

// Whether this thread blocks signals anyway. It keeps that: it is one of Braid's.
static _Thread_local bool blocks_signals;

void bd_dnnl_begin_call(sigset_t *before)
{
    if (blocks_signals) return;
    sigset_t blocked;
    sigfillset(&blocked);
    static const int of_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS};
    for (size_t i = 0; i < sizeof of_faults / sizeof of_faults[0]; i++)
        sigdelset(&blocked, of_faults[i]);
    pthread_sigmask(SIG_BLOCK, &blocked, before);
    blocks_signals = sigismember(before, SIGINT) == 1 && sigismember(before, SIGALRM) == 1 &&
                     sigismember(before, SIGPROF) == 1 && sigismember(before, SIGUSR1) == 1 &&
                     sigismember(before, SIGCHLD) == 1;
    if (blocks_signals) pthread_sigmask(SIG_SETMASK, before, NULL);
}

void bd_dnnl_end_call(const sigset_t *before)
{
    if (!blocks_signals) pthread_sigmask(SIG_SETMASK, before, NULL);
}

bool bd_dnnl_execute(const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count,
                     const dnnl_exec_arg_t *args)
{
    sigset_t before;
    bd_dnnl_begin_call(&before);
    const bool ok = dnnl_primitive_execute(primitive, stream, count, args) == dnnl_success;
    bd_dnnl_end_call(&before);
    return ok;
}

// A batch of fewer multiplications, some 0.15 ms, is not worth another thread, and each call that it takes
// over is to be worth some 30 microseconds. More calls than these are of no use to it.
#define SHARED_BATCH_MULTIPLICATIONS (INT64_C(20) << 20)
#define SHARED_MULTIPLICATIONS (INT64_C(4) << 20)
#define SHARED_CALLS 8

int64_t bd_dnnl_images_of_call(int64_t batch, int64_t multiplications)
{
    int64_t calls = 1;
    while (calls < batch &&
           (batch % calls != 0 || batch / calls * multiplications > BD_DNNL_CALL_MULTIPLICATIONS))
        calls++;
    int64_t best = calls;
    if (batch / calls * multiplications < SHARED_BATCH_MULTIPLICATIONS) return batch / calls;
    for (calls++; best < SHARED_CALLS && calls <= batch; calls++) {
        if (batch / calls * multiplications < SHARED_MULTIPLICATIONS) break;
        if (batch % calls == 0) best = calls;
    }
    return batch / best;
}

// ---- Sharing ----

static bool make_lane(const bd_dnnl_lanes *l, bd_dnnl_lane *lane)
{
    const dnnl_engine_t engine = bd_dnnl_engine();
    return dnnl_stream_create(&lane->stream, engine, dnnl_stream_default_flags) == dnnl_success &&
           dnnl_memory_create(&lane->input, &l->input, engine, DNNL_MEMORY_NONE) == dnnl_success &&
           dnnl_memory_create(&lane->output, &l->output, engine, DNNL_MEMORY_NONE) == dnnl_success &&
           dnnl_memory_create(&lane->scratch, &l->scratch, engine, DNNL_MEMORY_NONE) == dnnl_success;
}

static void free_lane(const bd_dnnl_lane *lane)
{
    dnnl_memory_t memories[] = {lane->input, lane->output, lane->scratch};
    for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++)
        if (memories[i]) dnnl_memory_destroy(memories[i]);
    if (lane->stream) dnnl_stream_destroy(lane->stream);
}

bool bd_dnnl_lanes_grow(bd_dnnl_lanes *l, int64_t count)
{
    if (!l->lanes) l->lanes = bd_calloc((size_t)l->max, sizeof *l->lanes);
    for (; l->count < count; l->count++) {
        bd_dnnl_lane *lane = &l->lanes[l->count];
        if (make_lane(l, lane)) continue;
        free_lane(lane);
        *lane = (bd_dnnl_lane){0};
        return false;
    }
    return true;
}

void bd_dnnl_lanes_fini(bd_dnnl_lanes *l)
{
    for (int64_t i = 0; i < l->count; i++)
        free_lane(&l->lanes[i]);
    bd_free(l->lanes);
}

typedef struct shared {
    const bd_dnnl_job *job;
    _Atomic int64_t next; // call to be made
    atomic_bool failed;
} shared;

static void run_lane(void *arg, int64_t i)
{
    shared *s = arg;
    const bd_dnnl_job *job = s->job;
    const bd_dnnl_lane *lane = &job->lanes->lanes[i];
    char *scratch = (char *)job->scratch + (size_t)i * job->scratch_size;
    bd_dnnl_one_thread();
    if (dnnl_memory_set_data_handle(lane->scratch, scratch) != dnnl_success) s->failed = true;
    while (!s->failed && !bd_interrupted()) {
        const int64_t call = atomic_fetch_add_explicit(&s->next, 1, memory_order_relaxed);
        if (call >= job->calls) return;
        if (!job->fn(job->arg, lane, call)) s->failed = true;
    }
}

bool bd_dnnl_share(const bd_dnnl_job *job, const bd_team *team)
{
    shared s = {.job = job};
    if (!bd_dnnl_lanes_grow(job->lanes, job->threads)) return false;
    if (job->threads > 1)
        team->share(team, job->threads, run_lane, &s);
    else
        run_lane(&s, 0);
    return !s.failed;
}

static void make_engine(void *arg)
{
    dnnl_engine_t *engine = arg;
    if (dnnl_engine_create(engine, dnnl_cpu, 0) != dnnl_success) *engine = NULL;
}

dnnl_engine_t bd_dnnl_engine(void)
{
    static bd_once once = BD_ONCE_INIT;
    static dnnl_engine_t engine; // for the life of the process
    bd_once_run(&once, make_engine, &engine);
    return engine;
}

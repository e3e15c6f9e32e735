// The engine of oneDNN and its threads.
#include "kernels/dnnl.h"

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

int64_t bd_dnnl_images_of_call(int64_t batch, int64_t multiplications)
{
    int64_t calls = 1;
    while (calls < batch &&
           (batch % calls != 0 || batch / calls * multiplications > BD_DNNL_CALL_MULTIPLICATIONS))
        calls++;
    return batch / calls;
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

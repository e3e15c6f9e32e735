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

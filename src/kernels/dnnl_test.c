// oneDNN computes on the thread that calls it, and starts none: the time of that thread is all that a kernel
// uses of the processors (base/account.h). It leaves the signals of that thread as they were.
#include "kernels/dnnl.h"

#include "base/alloc.h"
#include "base/testing/test.h"
#include "base/thread.h"
#include "kernels/conv.h"
#include "kernels/gemm.h"
#include "kernels/pooling.h"
#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

// Large enough for oneDNN to share it among threads.
#define BATCH 32
#define SIDE 28
#define CHANNELS 32

static int threads_of_process(void)
{
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    int count = 0;
    for (const struct dirent *e; (e = readdir(tasks));)
        count += e->d_name[0] != '.';
    closedir(tasks);
    return count;
}

static float *zeros(int64_t count)
{
    return bd_calloc((size_t)count, sizeof(float));
}

static void run(bd_primitive_cache *cache, bd_primitive *p, const void *data)
{
    assert_non_null(p); // oneDNN can do it
    void *scratch = bd_try_aligned(bd_primitive_scratch(p, NULL) + 1);
    assert_true(p->run(p, data, scratch, NULL));
    bd_free(scratch);
    bd_primitive_give(cache, p);
}

static void convolve(bd_primitive_cache *cache, float *in, float *out, float *filter)
{
    const bd_conv_shape shape = {.batch = BATCH,
                                 .in_channels = CHANNELS,
                                 .out_channels = CHANNELS,
                                 .in = {1, SIDE, SIDE},
                                 .out = {1, SIDE, SIDE},
                                 .filter = {1, 3, 3},
                                 .stride = {1, 1, 1},
                                 .dilation = {1, 1, 1},
                                 .pad_before = {0, 1, 1},
                                 .pad_after = {0, 1, 1},
                                 .groups = 1};
    const bd_conv_data data = {.input = in, .filter = filter, .output = out};
    for (int kind = BD_CONV_OUTPUT; kind <= BD_CONV_FILTER_GRAD; kind++)
        run(cache, bd_conv_take(cache, (bd_conv_kind)kind, &shape), &data);
}

static void pool(bd_primitive_cache *cache, float *in, float *out, float *unused)
{
    (void)unused;
    const bd_pooling_shape shape = {.batch = BATCH,
                                    .channels = CHANNELS,
                                    .in = {1, SIDE, SIDE},
                                    .out = {1, SIDE / 2, SIDE / 2},
                                    .window = {1, 2, 2},
                                    .stride = {1, 2, 2}};
    const bd_pooling_data data = {.x = in, .dx = in, .y = out, .dy = out};
    const bd_pooling_kind kinds[] = {BD_POOLING_MAX, BD_POOLING_MAX_GRAD, BD_POOLING_MEAN,
                                     BD_POOLING_MEAN_GRAD};
    for (int i = 0; i < 4; i++)
        run(cache, bd_pooling_take(cache, kinds[i], &shape), &data);
}

static void multiply(bd_primitive_cache *cache, float *a, float *b, float *c)
{
    (void)cache;
    const bd_gemm_shape shape = {.m = 512, .n = 512, .k = 512};
    bd_gemm(BD_F32, &shape, a, b, c);
}

typedef struct work {
    void (*fn)(bd_primitive_cache *cache, float *x, float *y, float *z);
    int threads; // of the process after it
} work;

// Threads that OpenMP has started stay until the thread ends that they were started for.
static void work_and_count(void *arg)
{
    work *w = arg;
    bd_primitive_cache cache;
    bd_primitive_cache_init(&cache);
    const int64_t count = BATCH * SIDE * SIDE * CHANNELS;
    float *x = zeros(count), *y = zeros(count), *z = zeros(count);
    w->fn(&cache, x, y, z);
    w->threads = threads_of_process();
    bd_free(x);
    bd_free(y);
    bd_free(z);
    bd_primitive_cache_fini(&cache);
}

static void expect_no_threads(void (*fn)(bd_primitive_cache *cache, float *x, float *y, float *z))
{
    BD_STATUS(st);
    work w = {.fn = fn};
    bd_thread thread;
    const int before = threads_of_process();
    assert_int_equal(bd_thread_start(&thread, "kernel", work_and_count, &w, st), BRAID_OK);
    bd_thread_join(&thread);
    assert_int_equal(w.threads, before + 1);
}

static void a_convolution_starts_no_threads(void **state)
{
    (void)state;
    expect_no_threads(convolve);
}

static void pooling_starts_no_threads(void **state)
{
    (void)state;
    expect_no_threads(pool);
}

static void a_product_starts_no_threads(void **state)
{
    (void)state;
    expect_no_threads(multiply);
}

// OpenMP reads how many threads it may start when the process begins, so the program begins anew: with more
// than one thread also where there is one processor.
static void product(void)
{
    float *x = zeros(SIDE * SIDE), *y = zeros(SIDE * SIDE);
    bd_gemm(BD_F32, &(bd_gemm_shape){.m = SIDE, .n = SIDE, .k = SIDE}, x, x, y);
    bd_free(x);
    bd_free(y);
}

static void check_mask(const sigset_t *want)
{
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    for (int s = 1; s < SIGRTMAX; s++)
        assert_int_equal(sigismember(&mask, s), sigismember(want, s));
}

// Signals are blocked within calls of oneDNN alone.
static void a_product_leaves_the_mask_of_signals(void **state)
{
    (void)state;
    sigset_t own;
    sigemptyset(&own);
    sigaddset(&own, SIGUSR2);
    pthread_sigmask(SIG_SETMASK, &own, NULL);
    product();
    check_mask(&own);
    sigfillset(&own);
    sigdelset(&own, SIGWINCH); // one that a thread of the program may have left
    pthread_sigmask(SIG_SETMASK, &own, NULL);
    product();
    product();
    sigdelset(&own, SIGKILL), sigdelset(&own, SIGSTOP); // they cannot be blocked
    for (int s = SIGSYS + 1; s < SIGRTMIN; s++)
        sigdelset(&own, s); // those of the C library
    check_mask(&own);
}

int main(int argc, char **argv)
{
    (void)argc;
    if (!getenv("OMP_NUM_THREADS")) {
        setenv("OMP_NUM_THREADS", "4", 1);
        execv("/proc/self/exe", argv);
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_convolution_starts_no_threads),
        cmocka_unit_test(pooling_starts_no_threads),
        cmocka_unit_test(a_product_starts_no_threads),
        cmocka_unit_test(a_product_leaves_the_mask_of_signals),
    };
    return BD_RUN_TESTS(tests);
}

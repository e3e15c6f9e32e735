// A pool of threads over one queue.
//
// Invariants, all under mu:
//   1. A worker goes to sleep only when the queue is empty; before, it may spin for SPIN_NS without the lock.
//   2. The thread that queues a task wakes a sleeper when there are more tasks than spinning workers; a
//      spinning worker always checks the queue again under the lock before it sleeps. So no task waits while
//      a worker sleeps.
//   3. Once `closed`, the queue only shrinks; workers leave when it is empty.
#include "base/thread_pool.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/float_mode.h"
#include "base/thread.h"

// Waking a sleeping thread costs about 35 us, so a shorter spin pays when work arrives in bursts.
enum {
    SPIN_NS = 20000
};

struct task {
    bd_task_fn fn;
    void *arg;
};

struct bd_thread_pool {
    bd_mutex mu;
    bd_cond wake;
    struct task *ring;      // guarded by mu [ring_cap]
    size_t ring_cap;        // a power of two
    size_t head;            // guarded by mu: position of the oldest task
    atomic_size_t queued;   // written under mu; spinning workers read it without
    int sleeping, spinning; // guarded by mu
    atomic_bool closed;     // written under mu
    bool joined;            // guarded by stop_mu
    bd_mutex stop_mu;       // held while the threads are joined
    bd_thread *threads;
    int thread_count; // that were started
};

// Spinning workers of all pools: at least one processor is left to working threads.
static atomic_int spinners;

static bool may_spin(void)
{
    if (!bd_platform_is_posix()) return false; // under simulation only one thread runs at all
    static atomic_int cpus;
    int n = atomic_load_explicit(&cpus, memory_order_relaxed);
    if (n == 0) {
        n = bd_cpu_count();
        atomic_store_explicit(&cpus, n, memory_order_relaxed);
    }
    if (atomic_fetch_add(&spinners, 1) < n - 1) return true;
    atomic_fetch_sub(&spinners, 1);
    return false;
}

static inline void cpu_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

// Spins until a task may be queued, SPIN_NS at most.
static void spin(bd_thread_pool *pool)
{
    int64_t deadline = bd_now_ns() + SPIN_NS;
    do {
        for (int i = 0; i < 32; i++) {
            if (atomic_load_explicit(&pool->queued, memory_order_relaxed) > 0) return;
            if (atomic_load_explicit(&pool->closed, memory_order_relaxed)) return;
            cpu_pause();
        }
    } while (bd_now_ns() < deadline);
}

static void spin_unlocked(bd_thread_pool *pool)
{
    if (!may_spin()) return;
    pool->spinning++;
    bd_mutex_unlock(&pool->mu);
    spin(pool);
    bd_mutex_lock(&pool->mu);
    pool->spinning--;
    atomic_fetch_sub(&spinners, 1);
}

// Waits for a task and takes it. Returns false when the pool is closed and empty.
static bool take_locked(bd_thread_pool *pool, struct task *task)
{
    if (atomic_load(&pool->queued) == 0 && !atomic_load(&pool->closed)) spin_unlocked(pool);
    while (atomic_load(&pool->queued) == 0) {
        if (atomic_load(&pool->closed)) return false;
        pool->sleeping++;
        bd_cond_wait(&pool->wake, &pool->mu); // ended by submit or close
        pool->sleeping--;
    }
    *task = pool->ring[pool->head];
    pool->head = (pool->head + 1) & (pool->ring_cap - 1);
    atomic_fetch_sub(&pool->queued, 1);
    return true;
}

static void worker_main(void *arg)
{
    bd_thread_pool *pool = arg;
    struct task task;
    bd_float_mode_flush_denormals(); // parts of kernels run here
    bd_mutex_lock(&pool->mu);
    while (take_locked(pool, &task)) {
        bd_mutex_unlock(&pool->mu);
        task.fn(task.arg);
        bd_mutex_lock(&pool->mu);
    }
    bd_mutex_unlock(&pool->mu);
}

braid_code bd_thread_pool_new(const char *name, int threads, bd_thread_pool **out, braid_status *st)
{
    BD_ASSERT(threads >= 1);
    *out = NULL;
    bd_thread_pool *pool = bd_calloc(1, sizeof *pool);
    bd_mutex_init(&pool->mu);
    bd_mutex_init(&pool->stop_mu);
    bd_cond_init(&pool->wake);
    pool->ring_cap = 64;
    pool->ring = bd_calloc(pool->ring_cap, sizeof *pool->ring);
    pool->threads = bd_calloc((size_t)threads, sizeof *pool->threads);
    for (; pool->thread_count < threads; pool->thread_count++) {
        braid_code code = bd_thread_start(&pool->threads[pool->thread_count], name, worker_main, pool, st);
        if (code) {
            bd_thread_pool_free(pool);
            return code;
        }
    }
    *out = pool;
    return BRAID_OK;
}

static void grow_ring_locked(bd_thread_pool *pool, size_t queued)
{
    struct task *ring = bd_calloc(pool->ring_cap * 2, sizeof *ring);
    for (size_t i = 0; i < queued; i++)
        ring[i] = pool->ring[(pool->head + i) & (pool->ring_cap - 1)];
    bd_free(pool->ring);
    pool->ring = ring;
    pool->ring_cap *= 2;
    pool->head = 0;
}

bool bd_thread_pool_submit(bd_thread_pool *pool, bd_task_fn fn, void *arg)
{
    bd_mutex_lock(&pool->mu);
    bool open = !atomic_load(&pool->closed);
    if (open) {
        size_t queued = atomic_load(&pool->queued);
        if (queued == pool->ring_cap) grow_ring_locked(pool, queued);
        pool->ring[(pool->head + queued) & (pool->ring_cap - 1)] = (struct task){.fn = fn, .arg = arg};
        atomic_store(&pool->queued, queued + 1);
        if (pool->sleeping > 0 && queued + 1 > (size_t)pool->spinning) bd_cond_signal(&pool->wake);
    }
    bd_mutex_unlock(&pool->mu);
    return open;
}

void bd_thread_pool_close(bd_thread_pool *pool)
{
    bd_mutex_lock(&pool->mu);
    atomic_store(&pool->closed, true);
    bd_cond_broadcast(&pool->wake);
    bd_mutex_unlock(&pool->mu);
}

void bd_thread_pool_stop(bd_thread_pool *pool)
{
    bd_thread_pool_close(pool);
    bd_mutex_lock(&pool->stop_mu);
    for (int i = 0; i < pool->thread_count && !pool->joined; i++)
        bd_thread_join(&pool->threads[i]);
    pool->joined = true;
    bd_mutex_unlock(&pool->stop_mu);
}

void bd_thread_pool_free(bd_thread_pool *pool)
{
    if (!pool) return;
    bd_thread_pool_stop(pool);
    bd_cond_fini(&pool->wake);
    bd_mutex_fini(&pool->stop_mu);
    bd_mutex_fini(&pool->mu);
    bd_free(pool->threads);
    bd_free(pool->ring);
    bd_free(pool);
}

int bd_thread_pool_threads(const bd_thread_pool *pool)
{
    return pool->thread_count;
}

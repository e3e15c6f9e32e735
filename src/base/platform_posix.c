// The platform of a real process: POSIX threads and clocks, Linux entropy.
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/fork.h"
#include "base/platform.h"
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

// ---- Clock, entropy, processors ----

static int64_t read_clock(clockid_t id, int64_t units_per_second)
{
    struct timespec t;
    int rc = clock_gettime(id, &t);
    BD_ASSERT(rc == 0);
    return (int64_t)t.tv_sec * units_per_second + t.tv_nsec / (1000000000 / units_per_second);
}

static int64_t now_ns(void)
{
    return read_clock(CLOCK_MONOTONIC, 1000000000);
}

static int64_t thread_time_ns(void)
{
    return read_clock(CLOCK_THREAD_CPUTIME_ID, 1000000000);
}

static int64_t wall_micros(void)
{
    return read_clock(CLOCK_REALTIME, 1000000);
}

static void get_random(void *out, size_t len)
{
    char *p = out;
    while (len > 0) {
        ssize_t got = getrandom(p, len, 0);
        BD_ASSERT(got > 0 || (got < 0 && errno == EINTR));
        if (got > 0) {
            p += got;
            len -= (size_t)got;
        }
    }
}

// A thread takes a few bytes, those of an id, from a store of its own: a system call for each took 4 % of the
// time of a small all-reduce. A child process drops the store that it has from its parent.
#define STORE_BYTES 256
#define FROM_STORE_MAX 16

static _Thread_local struct random_store {
    unsigned char bytes[STORE_BYTES];
    size_t left;
    unsigned forks; // when it was filled
} random_store;
static void fill_store(struct random_store *s)
{
    s->forks = bd_fork_count();
    get_random(s->bytes, sizeof s->bytes);
    s->left = sizeof s->bytes;
}

static void random_bytes(void *out, size_t len)
{
    if (len > FROM_STORE_MAX) {
        get_random(out, len);
        return;
    }
    struct random_store *s = &random_store;
    if (s->left < len || s->forks != bd_fork_count()) fill_store(s);
    s->left -= len;
    memcpy(out, s->bytes + s->left, len);
    memset(s->bytes + s->left, 0, len); // nothing reads them again
}

static int cpu_count(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1; // more processors than a cpu_set_t holds
    int n = CPU_COUNT(&set);
    return n > 0 ? n : 1;
}

// ---- Mutex and condition ----

static void mutex_init(bd_mutex *m)
{
    m->other = NULL;
    int rc = pthread_mutex_init(&m->native, NULL);
    BD_ASSERT(rc == 0);
}

static void mutex_fini(bd_mutex *m)
{
    int rc = pthread_mutex_destroy(&m->native);
    BD_ASSERT(rc == 0);
}

static void mutex_lock(bd_mutex *m)
{
    int rc = pthread_mutex_lock(&m->native);
    BD_ASSERT(rc == 0);
}

static bool mutex_trylock(bd_mutex *m)
{
    int rc = pthread_mutex_trylock(&m->native);
    BD_ASSERT(rc == 0 || rc == EBUSY);
    return rc == 0;
}

static void mutex_unlock(bd_mutex *m)
{
    int rc = pthread_mutex_unlock(&m->native);
    BD_ASSERT(rc == 0);
}

static void cond_init(bd_cond *c)
{
    c->other = NULL;
    int rc = pthread_cond_init(&c->native, NULL);
    BD_ASSERT(rc == 0);
}

static void cond_fini(bd_cond *c)
{
    int rc = pthread_cond_destroy(&c->native);
    BD_ASSERT(rc == 0);
}

static void cond_signal(bd_cond *c)
{
    int rc = pthread_cond_signal(&c->native);
    BD_ASSERT(rc == 0);
}

static void cond_broadcast(bd_cond *c)
{
    int rc = pthread_cond_broadcast(&c->native);
    BD_ASSERT(rc == 0);
}

static bool cond_wait_until(bd_cond *c, bd_mutex *m, int64_t deadline_ns)
{
    if (deadline_ns == BD_FOREVER) {
        int rc = pthread_cond_wait(&c->native, &m->native);
        BD_ASSERT(rc == 0);
        return false;
    }
    if (deadline_ns < 0) deadline_ns = 0;
    struct timespec t = {.tv_sec = deadline_ns / 1000000000, .tv_nsec = deadline_ns % 1000000000};
    int rc = pthread_cond_clockwait(&c->native, &m->native, CLOCK_MONOTONIC, &t);
    BD_ASSERT(rc == 0 || rc == ETIMEDOUT);
    return rc == ETIMEDOUT;
}

// ---- Thread ----

struct start {
    bd_thread_fn fn;
    void *arg;
    char name[16]; // the longest that Linux keeps
};

static void *thread_main(void *p)
{
    struct start start = *(struct start *)p;
    bd_free(p);
    pthread_setname_np(pthread_self(), start.name);
    start.fn(start.arg);
    return NULL;
}

static braid_code thread_start(bd_thread *t, const char *name, bd_thread_fn fn, void *arg, braid_status *st)
{
    struct start *start = bd_calloc(1, sizeof *start);
    start->fn = fn;
    start->arg = arg;
    strncpy(start->name, name, sizeof start->name - 1);
    t->other = NULL;

    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = pthread_create(&t->native, NULL, thread_main, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0) {
        bd_free(start);
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "cannot start thread %s: %s", name, strerror(rc));
    }
    return BRAID_OK;
}

static void thread_join(bd_thread *t)
{
    int rc = pthread_join(t->native, NULL);
    BD_ASSERT(rc == 0);
}

static void thread_detach(bd_thread *t)
{
    int rc = pthread_detach(t->native);
    BD_ASSERT(rc == 0);
}

const bd_platform bd_platform_posix = {
    .now_ns = now_ns,
    .thread_time_ns = thread_time_ns,
    .wall_micros = wall_micros,
    .random_bytes = random_bytes,
    .cpu_count = cpu_count,
    .mutex_init = mutex_init,
    .mutex_fini = mutex_fini,
    .mutex_lock = mutex_lock,
    .mutex_trylock = mutex_trylock,
    .mutex_unlock = mutex_unlock,
    .cond_init = cond_init,
    .cond_fini = cond_fini,
    .cond_signal = cond_signal,
    .cond_broadcast = cond_broadcast,
    .cond_wait_until = cond_wait_until,
    .thread_start = thread_start,
    .thread_join = thread_join,
    .thread_detach = thread_detach,
};

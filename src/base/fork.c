// Functions that run in a fork.
#include "base/fork.h"
#include "base/array.h"
#include "base/check.h"
#include "base/thread.h"
#include <pthread.h>
#include <stdatomic.h>

void bd_at_fork(void (*before)(void), void (*in_parent)(void), void (*in_child)(void))
{
    BD_ASSERT(pthread_atfork(before, in_parent, in_child) == 0);
}

static atomic_uint forks;
static pthread_once_t forks_once = PTHREAD_ONCE_INIT;

static void count_fork(void)
{
    atomic_fetch_add_explicit(&forks, 1, memory_order_relaxed);
}

static void watch_forks(void)
{
    bd_at_fork(NULL, NULL, count_fork);
}

unsigned bd_fork_count(void)
{
    pthread_once(&forks_once, watch_forks);
    return atomic_load_explicit(&forks, memory_order_relaxed);
}

static BD_ARRAY(bd_mutex *) kept; // guarded by kept_mu
static bd_mutex kept_mu = BD_MUTEX_INIT;
static pthread_once_t kept_once = PTHREAD_ONCE_INIT;

static void lock_kept(void)
{
    bd_mutex_lock(&kept_mu);
    for (size_t i = 0; i < kept.len; i++)
        bd_mutex_lock(kept.items[i]);
}

static void unlock_kept(void)
{
    for (size_t i = kept.len; i > 0; i--)
        bd_mutex_unlock(kept.items[i - 1]);
    bd_mutex_unlock(&kept_mu);
}

static void keep(void)
{
    bd_at_fork(lock_kept, unlock_kept, unlock_kept);
}

void bd_mutex_across_forks(bd_mutex *mu)
{
    pthread_once(&kept_once, keep);
    bd_mutex_lock(&kept_mu);
    bd_array_push(&kept, mu);
    bd_mutex_unlock(&kept_mu);
}

bool bd_mutex_renew(bd_mutex *mu)
{
    const bool is_free = bd_mutex_trylock(mu);
    if (is_free)
        bd_mutex_unlock(mu);
    else
        bd_mutex_init(mu);
    return !is_free;
}

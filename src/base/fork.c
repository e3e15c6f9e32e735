// Functions that run in a fork.
#include "base/fork.h"
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

bool bd_mutex_renew(bd_mutex *mu)
{
    const bool is_free = bd_mutex_trylock(mu);
    if (is_free)
        bd_mutex_unlock(mu);
    else
        bd_mutex_init(mu);
    return !is_free;
}

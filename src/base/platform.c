// Which platform is in use.
#include "base/platform.h"
#include "base/check.h"

const bd_platform *bd_platform_current = &bd_platform_posix;

void bd_platform_set(const bd_platform *p)
{
    BD_ASSERT(p->now_ns && p->thread_time_ns && p->wall_micros && p->random_bytes && p->cpu_count);
    BD_ASSERT(p->mutex_init && p->mutex_fini && p->mutex_lock && p->mutex_trylock && p->mutex_unlock);
    BD_ASSERT(p->cond_init && p->cond_fini && p->cond_signal && p->cond_broadcast && p->cond_wait_until);
    BD_ASSERT(p->thread_start && p->thread_join);
    bd_platform_current = p;
}

// When a hook that acts every so many steps, or seconds, is due.
#include "base/clock.h"
#include <braid/hooks.h>

braid_step_timer braid_step_timer_make(int64_t every_steps, double every_seconds)
{
    return (braid_step_timer){.every_steps = every_steps,
                              .every_ns = every_steps ? 0 : (int64_t)(every_seconds * 1e9),
                              .last_step = -1};
}

bool braid_step_timer_is_due(const braid_step_timer *t, int64_t step)
{
    if (t->last_step < 0) return true;
    if (step == t->last_step) return false;
    return t->every_steps ? step - t->last_step >= t->every_steps : bd_now_ns() - t->last_ns >= t->every_ns;
}

void braid_step_timer_mark(braid_step_timer *t, int64_t step)
{
    t->last_step = step;
    t->last_ns = bd_now_ns();
}

// When a hook that acts every so many steps, or seconds, is due.
#ifndef BD_TRAIN_STEP_TIMER_H
#define BD_TRAIN_STEP_TIMER_H

#include "base/clock.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct train_step_timer {
    int64_t every_steps, every_ns; // one of them is 0
    int64_t last_step, last_ns;    // of the last time; last_step -1: there was none
} train_step_timer;

static inline train_step_timer train_step_timer_of(int64_t every_steps, double every_seconds)
{
    return (train_step_timer){.every_steps = every_steps,
                              .every_ns = every_steps ? 0 : (int64_t)(every_seconds * 1e9),
                              .last_step = -1};
}

static inline bool train_step_timer_is_due(const train_step_timer *t, int64_t step)
{
    if (t->last_step < 0) return true;
    if (step == t->last_step) return false;
    return t->every_steps ? step - t->last_step >= t->every_steps : bd_now_ns() - t->last_ns >= t->every_ns;
}

static inline void train_step_timer_mark(train_step_timer *t, int64_t step)
{
    t->last_step = step;
    t->last_ns = bd_now_ns();
}

#endif

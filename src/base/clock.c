// Time through the platform.
#include "base/clock.h"
#include "base/platform.h"

int64_t bd_thread_time_ns(void)
{
    return bd_platform_current->thread_time_ns();
}

int64_t bd_now_ns(void)
{
    return bd_platform_current->now_ns();
}

int64_t bd_wall_micros(void)
{
    return bd_platform_current->wall_micros();
}

int64_t bd_deadline_after_ms(int64_t ms)
{
    int64_t ns, deadline, now = bd_now_ns();
    if (ms <= 0) return now;
    if (__builtin_mul_overflow(ms, INT64_C(1000000), &ns) || __builtin_add_overflow(now, ns, &deadline)) {
        return BD_FOREVER;
    }
    return deadline;
}

int64_t bd_deadline_left_ms(int64_t deadline_ns)
{
    if (deadline_ns == BD_FOREVER) return INT64_MAX;
    int64_t left, now = bd_now_ns();
    if (deadline_ns <= now) return 0;
    if (__builtin_sub_overflow(deadline_ns, now, &left)) return INT64_MAX;
    return left / 1000000 + (left % 1000000 != 0);
}

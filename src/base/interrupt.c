// The flag of the thread's run, or its limit of time.
#include "base/interrupt.h"

#include "base/clock.h"

_Thread_local const atomic_bool *bd_interrupt_flag __attribute__((tls_model("initial-exec")));
const atomic_bool bd_interrupt_clock = true;
static _Thread_local int64_t due = BD_FOREVER;

bool bd_interrupt_is_due(void)
{
    return due != BD_FOREVER && bd_thread_time_ns() >= due;
}

bd_interruption bd_interrupt_after(int64_t ns)
{
    const bd_interruption before = {bd_interrupt_set(&bd_interrupt_clock), due};
    due = bd_thread_time_ns() + ns;
    return before;
}

void bd_interrupt_restore(bd_interruption before)
{
    bd_interrupt_set(before.flag);
    due = before.due;
}

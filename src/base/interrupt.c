// The flag of the thread's run, or its limit of time.
#include "base/interrupt.h"

#include "base/clock.h"

_Thread_local const atomic_bool *bd_interrupt_flag __attribute__((tls_model("initial-exec")));
const atomic_bool bd_interrupt_clock = true;
static _Thread_local int64_t due = BD_FOREVER;

void bd_interrupt_after(int64_t thread_time_ns)
{
    due = thread_time_ns;
}

bool bd_interrupt_is_due(void)
{
    return due != BD_FOREVER && bd_thread_time_ns() >= due;
}

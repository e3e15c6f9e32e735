// The flag of the thread's run.
#include "base/interrupt.h"

_Thread_local const atomic_bool *bd_interrupt_flag __attribute__((tls_model("initial-exec")));

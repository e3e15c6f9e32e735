// Timers: functions that one thread calls at given times.
#ifndef BD_BASE_TIMER_H
#define BD_BASE_TIMER_H

#include "base/status.h"
#include <stdint.h>

typedef struct bd_timers bd_timers;
typedef uint64_t bd_timer_id; // 0 is never one

// Starts the service and its thread. On an error *timers is NULL.
braid_code bd_timers_new(bd_timers **timers, braid_status *st);

// Stops the thread, and waits for a function that is running; pending functions will not run. In a timer
// function it does not wait, and the service is not used any more. NULL is accepted.
void bd_timers_free(bd_timers *timers);

// Calls fn(arg) once on the timer thread, with no lock held, when bd_now_ns() has reached `deadline_ns` (at
// once when that is past; never for BD_FOREVER). Equal deadlines run in order of their adding. fn must be
// short and may add and cancel timers. Any thread.
bd_timer_id bd_timer_add(bd_timers *timers, int64_t deadline_ns, void (*fn)(void *arg), void *arg);

// True: fn has not run and never will. False: it has run, is running now, or was cancelled before. Never
// blocks.
bool bd_timer_cancel(bd_timers *timers, bd_timer_id id);

// As bd_timer_cancel, but when fn is running now on another thread it waits until fn has returned: afterwards
// `arg` may be freed. A lock that fn takes must not be held.
bool bd_timer_cancel_wait(bd_timers *timers, bd_timer_id id);

#endif

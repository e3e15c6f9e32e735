// Time: a monotonic clock for deadlines and durations, the wall clock for logs and files.
#ifndef BD_BASE_CLOCK_H
#define BD_BASE_CLOCK_H

#include <stdint.h>

// A deadline (in the time of bd_now_ns) that never passes.
#define BD_FOREVER INT64_MAX

// Nanoseconds of the monotonic clock; only differences mean anything.
int64_t bd_now_ns(void);

// Nanoseconds for which this thread has run on a processor.
int64_t bd_thread_time_ns(void);

// Microseconds since 1970-01-01 UTC.
int64_t bd_wall_micros(void);

// The deadline `ms` milliseconds from now; BD_FOREVER when it is out of range, now when `ms` is negative.
int64_t bd_deadline_after_ms(int64_t ms);

// Milliseconds from now to a deadline, rounded up; 0 when it has passed; INT64_MAX for BD_FOREVER.
int64_t bd_deadline_left_ms(int64_t deadline_ns);

#endif

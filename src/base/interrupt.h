// The interruption of kernels: a loop that takes long asks between blocks whether its results are still
// wanted, and returns early when they are not.
//
// The executor sets the flag of its run for the threads that execute it. The flag is never taken back, so no
// node of the run reads what an interrupted kernel has left in its outputs. A kernel that changes what
// outlives the step (variables, queues, iterators) runs with no flag: it is never cut off half-way.
#ifndef BD_BASE_INTERRUPT_H
#define BD_BASE_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The flag for this thread, true once its results are not wanted; NULL: none. It outlives its use here.
extern _Thread_local const atomic_bool *bd_interrupt_flag __attribute__((tls_model("initial-exec")));

// The flag of a thread whose time is limited. It interrupts no other thread that gets it.
extern const atomic_bool bd_interrupt_clock;
bool bd_interrupt_is_due(void);

// What interrupts a thread: its flag, and the limit of its time.
typedef struct bd_interruption {
    const atomic_bool *flag;
    int64_t due; // in the time of bd_thread_time_ns
} bd_interruption;

// From now on this thread is interrupted, in place of by its flag, once it has run on a processor for `ns`
// more. Returns what was before, for bd_interrupt_restore.
bd_interruption bd_interrupt_after(int64_t ns);
void bd_interrupt_restore(bd_interruption before);

// Sets the flag for this thread. Returns the one before, to be set again.
static inline const atomic_bool *bd_interrupt_set(const atomic_bool *flag)
{
    const atomic_bool *before = bd_interrupt_flag;
    bd_interrupt_flag = flag;
    return before;
}

// Costs about a nanosecond: ask every few microseconds.
static inline bool bd_interrupted(void)
{
    const atomic_bool *flag = bd_interrupt_flag;
    return flag && atomic_load_explicit(flag, memory_order_relaxed) &&
           (flag != &bd_interrupt_clock || bd_interrupt_is_due());
}

// The same for iteration `i` of a loop whose iterations are short: asks in a few of them.
static inline bool bd_interrupted_at(int64_t i)
{
    return i % 1024 == 0 && bd_interrupted();
}

// The number of elements of a block of an element-wise loop, after which it asks.
#define BD_INTERRUPT_BLOCK 65536

// The end of the block of a loop of `n` iterations that begins at `at`; `at` itself when there is no further
// one, or none is wanted. For inner loops that stay free of questions, so that they can be vectorized:
//     for (int64_t i = 0, end; (end = bd_block_end(i, n)) > i;)
//         for (; i < end; i++)
static inline int64_t bd_block_end(int64_t at, int64_t n)
{
    if (at >= n || bd_interrupted()) return at;
    return n - at < BD_INTERRUPT_BLOCK ? n : at + BD_INTERRUPT_BLOCK;
}

#endif

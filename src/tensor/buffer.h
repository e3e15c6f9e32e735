// Reference-counted tensor memory and its pool.
//
// Freed buffers go to free lists by size class and stay there: in the steady state training allocates nothing
// from the system and returns nothing (the first touch of a page costs more than the arithmetic on it).
// bd_buffer_pool_trim returns the free buffers when a session ends. Large ones that no step takes for some
// time, as initial values and what a variable had before, return earlier (bd_buffer_pool_step_ended).
#ifndef BD_TENSOR_BUFFER_H
#define BD_TENSOR_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct bd_buffer {
    atomic_int refs;
    uint16_t size_class; // of the pool; BD_BUFFER_FOREIGN for memory that is not the pool's
    // The memory of a reference variable: it changes under its readers by design, is never a target of
    // in-place forwarding, and is copied when it is fetched. A snapshot of the variable clears it: the
    // content then stays as long as the buffer has another holder than the variable.
    atomic_bool is_variable;
    atomic_bool is_incomplete; // memory was short for a string in it: no step may see it
    size_t size;               // bytes asked for
    void *data;                // aligned to 64 bytes when it belongs to the pool
    // Destroys the content (strings, borrowed memory) at the last unref; may be NULL.
    void (*release)(struct bd_buffer *);
    void *release_arg;
    struct bd_account *account; // that the bytes count against, a reference; NULL: none
} bd_buffer;

#define BD_BUFFER_FOREIGN UINT16_MAX

// A buffer of `size` bytes (0 is allowed) with count 1 from the pool. NULL when memory is short, the account
// of this thread (base/account.h) allows no more, or `size` is above the maximum of this thread.
bd_buffer *bd_buffer_new(size_t size);

// Sets the maximum size of the buffers that this thread makes. Returns the one before, to be set again.
size_t bd_buffer_set_size_max(size_t bytes);

// Lets a buffer that counts against no account count against that of this thread. False when that allows no
// more: nothing is changed. The caller is its only holder.
bool bd_buffer_charge(bd_buffer *b);

// A buffer with count 1 over the caller's memory; `release(arg)` is called once after the last unref.
bd_buffer *bd_buffer_wrap(void *data, size_t size, void (*release)(void *arg), void *arg);

static inline bd_buffer *bd_buffer_ref(bd_buffer *b)
{
    if (b) atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
    return b;
}
void bd_buffer_destroy(bd_buffer *b); // for bd_buffer_unref only
static inline void bd_buffer_unref(bd_buffer *b)
{
    // The last owner needs no atomic subtraction: no other thread can read the count.
    if (b && (atomic_load_explicit(&b->refs, memory_order_acquire) == 1 ||
              atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1))
        bd_buffer_destroy(b);
}
// True when the caller holds the only reference and may write in place.
static inline bool bd_buffer_is_unique(const bd_buffer *b)
{
    return atomic_load_explicit(&((bd_buffer *)b)->refs, memory_order_acquire) == 1;
}

typedef struct bd_buffer_pool_stats {
    uint64_t system_allocs; // times the pool asked the system for memory
    size_t bytes_in_use;
    size_t bytes_free;  // held in free lists
    size_t bytes_most;  // the most that were held in all at a time, used and free ones
    size_t bytes_limit; // SIZE_MAX: none
} bd_buffer_pool_stats;
bd_buffer_pool_stats bd_buffer_pool_get_stats(void);

// Gives free buffers back to the system until at most `keep_bytes` are held free.
void bd_buffer_pool_trim(size_t keep_bytes);

// Gives free buffers of more than 1 MiB back to the system that were free all the time since the call before.
void bd_buffer_pool_give_unused(void);
// Does so when the last time is 10 s ago: call it at the end of each step.
void bd_buffer_pool_step_ended(void);

// Counts memory that is not the pool's (tensor/charge.h) against the pool's limit. False when that allows no
// more, also without the free buffers: nothing is counted.
bool bd_buffer_pool_reserve(size_t bytes);
void bd_buffer_pool_unreserve(size_t bytes);

// The most bytes the pool takes from the system in all; beyond it bd_buffer_new returns NULL. At first there
// is no limit.
void bd_buffer_pool_set_limit(size_t bytes);

#endif

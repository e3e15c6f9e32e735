// An order of memory that ThreadSanitizer cannot see, stated: what happened before bd_tsan_release(p) on one
// thread happened before what follows bd_tsan_acquire(p) on another one.
#ifndef BD_BASE_TSAN_H
#define BD_BASE_TSAN_H

#include <stdatomic.h>

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BD_SEEN_BY_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define BD_SEEN_BY_TSAN 1
#endif

#ifdef BD_SEEN_BY_TSAN
#include <sanitizer/tsan_interface.h>
#define bd_tsan_release(p) __tsan_release(p)
#define bd_tsan_acquire(p) __tsan_acquire(p)
#else
#define bd_tsan_release(p) ((void)(p))
#define bd_tsan_acquire(p) ((void)(p))
#endif

// A sequentially consistent fence. ThreadSanitizer knows none: it gets a change of an atomic variable.
static inline void bd_fence(void)
{
#ifdef BD_SEEN_BY_TSAN
    static atomic_int order;
    atomic_fetch_add(&order, 0);
#else
    atomic_thread_fence(memory_order_seq_cst);
#endif
}

#endif

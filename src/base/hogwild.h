// Marks code that races by design.
//
// A variable that is updated with use_locking=false has no lock: its readers and writers access the same
// memory at the same time (Niu et al., "Hogwild!", 2011). Its elements are naturally aligned words, so each
// is old or new, never torn. Only functions that do so carry BD_HOGWILD: ThreadSanitizer does not check them.
#ifndef BD_BASE_HOGWILD_H
#define BD_BASE_HOGWILD_H

#include <stddef.h>

#if defined(__SANITIZE_THREAD__)
#define BD_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BD_UNDER_TSAN 1
#endif
#endif
#ifdef BD_UNDER_TSAN
#define BD_HOGWILD __attribute__((no_sanitize("thread"), noinline))
#else
#define BD_HOGWILD
#endif

// Copies memory that other threads may be writing.
void bd_copy_racing(void *to, const void *from, size_t len);

#endif

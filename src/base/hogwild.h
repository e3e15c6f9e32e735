// The one mark of code that races by design.
//
// A variable that is updated with use_locking=false has no lock: whoever updates it and
// whoever reads it go over the same memory at the same time (Niu et al., "Hogwild!", 2011).
// Its elements are naturally aligned words, so each is old or new, never torn. Functions that
// do so carry BD_HOGWILD, and nothing else does: ThreadSanitizer does not look into them.
#ifndef BD_BASE_HOGWILD_H
#define BD_BASE_HOGWILD_H

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

#endif

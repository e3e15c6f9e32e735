// The platform: clock, entropy, and threads as a struct of functions, so that a deterministic simulation can
// replace the operating system. The rest of Braid uses clock.h, random.h and thread.h, which call through it.
#ifndef BD_BASE_PLATFORM_H
#define BD_BASE_PLATFORM_H

#include "base/status.h"
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// `native` belongs to the POSIX platform, `other` to any other one. Zero bytes in
// `other` and the static initializers of thread.h are a valid unlocked mutex
// (condition) for every platform: one made without init gets its state on first use.
typedef struct bd_mutex {
    pthread_mutex_t native;
    void *other;
} bd_mutex;

typedef struct bd_cond {
    pthread_cond_t native;
    void *other;
} bd_cond;

typedef struct bd_thread {
    pthread_t native;
    void *other;
} bd_thread;

typedef void (*bd_thread_fn)(void *arg);

// The contracts are those of the functions with the same names in clock.h, random.h and thread.h. No member
// is NULL.
typedef struct bd_platform {
    int64_t (*now_ns)(void);
    int64_t (*thread_time_ns)(void);
    int64_t (*wall_micros)(void);
    void (*random_bytes)(void *out, size_t len);
    int (*cpu_count)(void);

    void (*mutex_init)(bd_mutex *m);
    void (*mutex_fini)(bd_mutex *m);
    void (*mutex_lock)(bd_mutex *m);
    bool (*mutex_trylock)(bd_mutex *m);
    void (*mutex_unlock)(bd_mutex *m);

    void (*cond_init)(bd_cond *c);
    void (*cond_fini)(bd_cond *c);
    void (*cond_signal)(bd_cond *c);
    void (*cond_broadcast)(bd_cond *c);
    // True when the deadline passed. BD_FOREVER: no deadline.
    bool (*cond_wait_until)(bd_cond *c, bd_mutex *m, int64_t deadline_ns);

    braid_code (*thread_start)(bd_thread *t, const char *name, bd_thread_fn fn, void *arg, braid_status *st);
    void (*thread_join)(bd_thread *t);
    void (*thread_detach)(bd_thread *t); // NULL: it cannot
} bd_platform;

extern const bd_platform bd_platform_posix;

// The platform in use. Read only.
extern const bd_platform *bd_platform_current;

// Puts another platform in place (every member set: asserted). Once, before anything else of Braid is used.
void bd_platform_set(const bd_platform *platform);

static inline bool bd_platform_is_posix(void)
{
    return __builtin_expect(bd_platform_current == &bd_platform_posix, 1);
}

#endif

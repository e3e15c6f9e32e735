// A cache of primitives: oneDNN's primitives and memory objects that are prepared for one shape.
//
// An execution takes a primitive of its shape out of its kernel's cache, or makes one, and gives it back. So
// concurrent steps do not share one, and in the steady state none is made.
#ifndef BD_KERNELS_PRIMITIVE_CACHE_H
#define BD_KERNELS_PRIMITIVE_CACHE_H

#include "base/team.h"
#include "base/thread.h"
#include <stdbool.h>
#include <stddef.h>

// First member of prepared objects.
typedef struct bd_primitive {
    struct bd_primitive *next; // of the cache
    void (*free)(struct bd_primitive *p);
    const void *shape; // within the object
    size_t shape_size;
    // Bytes that a run needs besides, aligned to 64: of all threads together, and of each thread. They need
    // not be kept between runs. See bd_primitive_scratch.
    size_t scratch_size, thread_scratch_size;
    int64_t threads_max; // that may share a run, at least 1
    // Runs it over `data`, of the kind of object; one run at a time. `team`: threads that may share the run;
    // NULL: this thread alone. The result does not depend on it. False when oneDNN fails.
    bool (*run)(struct bd_primitive *p, const void *data, void *scratch, const bd_team *team);
} bd_primitive;

// The number of threads of `team` that a run is for.
static inline int64_t bd_primitive_threads(const bd_primitive *p, const bd_team *team)
{
    if (!team) return 1;
    return team->threads < p->threads_max ? team->threads : p->threads_max;
}

// The bytes that a run with `team` needs besides.
static inline size_t bd_primitive_scratch(const bd_primitive *p, const bd_team *team)
{
    return p->scratch_size + (size_t)bd_primitive_threads(p, team) * p->thread_scratch_size;
}

typedef struct bd_primitive_cache {
    bd_mutex mu;
    bd_primitive *idle; // guarded by mu; the most recently used one is first
} bd_primitive_cache;

void bd_primitive_cache_init(bd_primitive_cache *c);
void bd_primitive_cache_fini(bd_primitive_cache *c); // all objects have been given back

// Takes the primitive with this shape from the cache; it then belongs to the caller. NULL when there is none.
// Any thread.
bd_primitive *bd_primitive_take(bd_primitive_cache *c, const void *shape, size_t shape_size);
// Returns it to the cache, and frees the least recently used one when there are too many.
void bd_primitive_give(bd_primitive_cache *c, bd_primitive *p);

#endif

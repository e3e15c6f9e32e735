// A cache of primitives: oneDNN's primitives and memory objects that are prepared for one shape.
//
// An execution takes a primitive of its shape out of its kernel's cache, or makes one, and gives it back. So
// concurrent steps do not share one, and in the steady state none is made.
#ifndef BD_KERNELS_PRIMITIVE_CACHE_H
#define BD_KERNELS_PRIMITIVE_CACHE_H

#include "base/thread.h"
#include <stdbool.h>
#include <stddef.h>

// First member of prepared objects.
typedef struct bd_primitive {
    struct bd_primitive *next; // of the cache
    void (*free)(struct bd_primitive *p);
    const void *shape; // within the object
    size_t shape_size;
    size_t scratch_size; // bytes that a run needs besides, aligned to 64; they need not be kept between runs
    // Runs it over `data`, of the kind of object, on this thread alone, on one thread at a time. False when
    // oneDNN fails.
    bool (*run)(struct bd_primitive *p, const void *data, void *scratch);
} bd_primitive;

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

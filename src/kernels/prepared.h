// What is prepared for one shape and worth keeping: oneDNN's primitives and memory objects.
//
// A run takes an object of its shape out of its kernel's cache, or makes one, and gives it back; so steps
// that run at the same time do not share one, and in the steady state none is made.
#ifndef BD_KERNELS_PREPARED_H
#define BD_KERNELS_PREPARED_H

#include "base/thread.h"
#include <stdbool.h>
#include <stddef.h>

// First member of prepared objects.
typedef struct bd_client_graph {
    struct bd_client_graph *next; // of the cache
    void (*free)(struct bd_client_graph *p);
    const void *shape; // within the object
    size_t shape_size;
    size_t scratch_size; // bytes that a run needs besides, aligned to 64; they need not be kept between runs
    // Runs it over `data`, of the kind of object, on this thread alone, on one thread at a time. False when
    // oneDNN fails.
    bool (*run)(struct bd_client_graph *p, const void *data, void *scratch);
} bd_client_graph;

typedef struct bd_prepared_cache {
    bd_mutex mu;
    bd_client_graph *idle; // guarded by mu; the one used last comes first
} bd_prepared_cache;

void bd_prepared_cache_init(bd_prepared_cache *c);
void bd_prepared_cache_fini(bd_prepared_cache *c); // all objects have been given back

// An object whose shape is that memory, now the caller's; NULL when there is none. Any thread.
bd_client_graph *bd_prepared_take(bd_prepared_cache *c, const void *shape, size_t shape_size);
// Keeps it, and frees the one that was used the longest ago when there are too many.
void bd_prepared_give(bd_prepared_cache *c, bd_client_graph *p);

#endif

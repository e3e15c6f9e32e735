// Slab memory: free lists by size class for the structures of a step or a call and their small arrays, so
// that a step in the steady state allocates nothing from the system. Tensors have a pool of their own
// (tensor/buffer.h). Any thread.
#ifndef BD_BASE_SLAB_H
#define BD_BASE_SLAB_H

#include <stddef.h>

// Larger pieces are allocated from the system. Each size class keeps at most this many free bytes, and each
// thread so many more, which it takes without a lock: the memory of a burst is returned to the system.
#define BD_SLAB_SIZE_MAX ((size_t)16 << 10)
#define BD_SLAB_CACHE_BYTES_MAX ((size_t)256 << 10)
#define BD_SLAB_THREAD_BYTES_MAX ((size_t)8 << 10)

// Memory full of zeros, aligned to 16 bytes; freed with bd_slab_free.
void *bd_slab_alloc(size_t size) __attribute__((returns_nonnull));
// The same, uninitialized.
void *bd_slab_alloc_raw(size_t size) __attribute__((returns_nonnull));
// Uninitialized; NULL when the system has no memory. For sizes that a peer, a file or a user determines.
void *bd_slab_try_alloc(size_t size);
// NULL is accepted.
void bd_slab_free(void *p);

#endif

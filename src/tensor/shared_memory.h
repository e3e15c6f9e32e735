// Memory of tensors that other processes of the host may read: a file without a name, mapped by this
// process and by those that it gives the file to. They map it for reading only.
#ifndef BD_TENSOR_SHARED_MEMORY_H
#define BD_TENSOR_SHARED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

// From now on bd_buffer_new takes its memory from here for buffers of these sizes. Smaller ones are
// cheaper within a message, and larger ones gain more from huge pages. Any number of times; there is no
// way back. Nothing happens where the system does not allow it. A child of fork reads the tensors that its
// parent had, until the parent frees or changes them; what it makes itself is not shared.
#define BD_SHARED_MEMORY_MIN ((size_t)64 << 10)
#define BD_SHARED_MEMORY_MAX ((size_t)32 << 20)
void bd_shared_memory_start(void);

typedef struct bd_shared_region {
    int fd;
    uint64_t base, bytes; // the addresses of the process that has made it
} bd_shared_region;

// False: there is none.
bool bd_shared_memory_region(bd_shared_region *out);
// Memory of which all pages exist, aligned to a page. NULL: there is none left.
void *bd_shared_memory_take(size_t bytes);
bool bd_shared_memory_has(const void *memory);
// Whether the process that this one was forked from has made it.
bool bd_shared_memory_is_of_parent(const void *memory);
// Returns whether it was from here: then it is freed.
bool bd_shared_memory_give(void *memory, size_t bytes);

// A cell of BD_SHARED_CELL_BYTES bytes, full of zeros: shared, where there is a region with room.
#define BD_SHARED_CELL_BYTES ((size_t)64)
void *bd_shared_cell_new(void);
void bd_shared_cell_free(void *cell); // NULL is accepted

typedef struct bd_peer_memory bd_peer_memory;

// Whether a file is memory of this size that no process can take away from those that map it.
bool bd_shared_memory_is_sealed(int fd, uint64_t bytes);
// Maps the region of a process; the descriptor is not needed any more. NULL: it is no such region, or this
// process has none: then it reads no tensors. One
// reference, for bd_peer_memory_remove.
bd_peer_memory *bd_peer_memory_add(pid_t pid, const bd_shared_region *region);
void bd_peer_memory_remove(bd_peer_memory *m); // NULL is accepted
// The region of a process that has these bytes; NULL: it is not mapped. Return the reference.
bd_peer_memory *bd_peer_memory_find(pid_t pid, uint64_t address, size_t bytes);
// Where this process sees bytes of it; NULL: they are outside of the region.
const void *bd_peer_memory_at(const bd_peer_memory *m, uint64_t address, size_t bytes);
void bd_peer_memory_unref(bd_peer_memory *m);
bool bd_peer_memory_is_mapped(pid_t pid);

#endif

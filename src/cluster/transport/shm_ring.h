// What two processes share: memory, a ring of bytes in it that one process writes and the other one reads,
// and a bell by which a process wakes the other one.
//
// The other process may write anything to the shared memory at any time. So each end keeps its own position,
// checks what it reads of the other's, and copies bytes out of the ring before it looks at them.
#ifndef BD_CLUSTER_SHM_RING_H
#define BD_CLUSTER_SHM_RING_H

#include "base/status.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// ---- Memory: a file without a name that can be neither shrunk nor grown ----

// New memory full of zeros, mapped; *fd is to be passed to the other process and closed. NULL on an error.
void *bd_shm_create(size_t bytes, int *fd, braid_status *st);
// Maps the memory that another process has created. NULL and an error when it is not of that kind and size.
void *bd_shm_map(int fd, size_t bytes, braid_status *st);
void bd_shm_unmap(void *memory, size_t bytes); // NULL is accepted

// ---- The ring ----

#define BD_SHM_RING_BYTES ((size_t)256 << 10)

typedef struct bd_shm_ring {
    _Alignas(64) _Atomic uint64_t written; // bytes in all, by the writer
    _Alignas(64) _Atomic uint64_t read;    // by the reader
    _Alignas(64) atomic_uint wants_space;  // the writer waits for space
    _Alignas(64) uint8_t bytes[BD_SHM_RING_BYTES];
} bd_shm_ring;

// An end of a ring: of one thread at a time.
typedef struct bd_shm_end {
    bd_shm_ring *ring;
    uint64_t at; // bytes that this end has written, or read
} bd_shm_end;

// How many bytes can be written. False: the other process has broken the ring.
bool bd_shm_space(const bd_shm_end *writer, size_t *bytes);
// Writes bytes for which there is space; the reader sees them once they are published.
void bd_shm_write(bd_shm_end *writer, const void *bytes, size_t len);
void bd_shm_publish(const bd_shm_end *writer);

// How many bytes can be read. False: the other process has broken the ring.
bool bd_shm_available(const bd_shm_end *reader, size_t *bytes);
// Reads bytes that are there; their space can be written again once they are released. The release returns
// whether the writer waits for the space, and is to be woken.
void bd_shm_read(bd_shm_end *reader, void *bytes, size_t len);
bool bd_shm_release(const bd_shm_end *reader);

// ---- The bell of a process ----

typedef struct bd_shm_bell {
    _Alignas(64) atomic_uint rings;
    atomic_uint is_awaited;
} bd_shm_bell;

// After something was published: wakes a thread that waits, if there is one. A process that ends in the
// middle of this leaves a bell that no other one rings: its end is noticed, and all threads are woken.
void bd_shm_ring_bell(bd_shm_bell *bell);
void bd_shm_wake_all(bd_shm_bell *bell); // all threads that wait
// A thread that wants to wait reads `rings`, arms the bell, looks whether there is something to do, and
// waits if not: until there have been more rings than it has read, or for `ns` nanoseconds (BD_FOREVER:
// without an end). A bell that is not armed does not ring.
void bd_shm_arm_bell(bd_shm_bell *bell);
void bd_shm_disarm_bell(bd_shm_bell *bell);
void bd_shm_await_bell(bd_shm_bell *bell, unsigned rings, int64_t ns);

#endif

// Shared memory, rings and bells: see shm_ring.h.
#include "cluster/transport/shm_ring.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/tsan.h"
#include "tensor/shared_memory.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

// ---- Memory ----

static void *map(int fd, size_t bytes, braid_status *st)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (memory != MAP_FAILED) return memory;
    bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "Cannot map shared memory: %s", strerror(errno));
    return NULL;
}

// Allocates all pages: when there is no memory for one of them later, the process that touches it is killed.
static int create_file(size_t bytes, braid_status *st)
{
    const int fd = memfd_create("braid", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 && ftruncate(fd, (off_t)bytes) == 0 && fallocate(fd, 0, 0, (off_t)bytes) == 0 &&
        fcntl(fd, F_ADD_SEALS, SEALS) == 0)
        return fd;
    bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "Cannot create shared memory: %s", strerror(errno));
    if (fd >= 0) close(fd);
    return -1;
}

void *bd_shm_create(size_t bytes, int *fd, braid_status *st)
{
    *fd = create_file(bytes, st);
    void *memory = *fd >= 0 ? map(*fd, bytes, st) : NULL;
    if (*fd >= 0 && !memory) close(*fd);
    return memory;
}

void *bd_shm_map(int fd, size_t bytes, braid_status *st)
{
    if (bd_shared_memory_is_sealed(fd, bytes)) return map(fd, bytes, st);
    bd_fail(st, BRAID_INVALID_ARGUMENT, "A peer has passed no shared memory of %zu bytes", bytes);
    return NULL;
}

void bd_shm_unmap(void *memory, size_t bytes)
{
    if (memory) munmap(memory, bytes);
}

// ---- The ring ----

bool bd_shm_space(const bd_shm_end *writer, size_t *bytes)
{
    const uint64_t used = writer->at - atomic_load_explicit(&writer->ring->read, memory_order_acquire);
    *bytes = used <= BD_SHM_RING_BYTES ? BD_SHM_RING_BYTES - (size_t)used : 0;
    return used <= BD_SHM_RING_BYTES;
}

void bd_shm_write(bd_shm_end *writer, const void *bytes, size_t len)
{
    if (!len) return;
    const size_t at = writer->at % BD_SHM_RING_BYTES;
    const size_t first = (size_t)bd_min((int64_t)len, (int64_t)(BD_SHM_RING_BYTES - at));
    memcpy(writer->ring->bytes + at, bytes, first);
    if (first < len) memcpy(writer->ring->bytes, (const uint8_t *)bytes + first, len - first);
    writer->at += len;
}

void bd_shm_publish(const bd_shm_end *writer)
{
    atomic_store_explicit(&writer->ring->written, writer->at, memory_order_release);
}

bool bd_shm_available(const bd_shm_end *reader, size_t *bytes)
{
    const uint64_t there = atomic_load_explicit(&reader->ring->written, memory_order_acquire) - reader->at;
    *bytes = there <= BD_SHM_RING_BYTES ? (size_t)there : 0;
    return there <= BD_SHM_RING_BYTES;
}

void bd_shm_read(bd_shm_end *reader, void *bytes, size_t len)
{
    if (!len) return;
    const size_t at = reader->at % BD_SHM_RING_BYTES;
    const size_t first = (size_t)bd_min((int64_t)len, (int64_t)(BD_SHM_RING_BYTES - at));
    memcpy(bytes, reader->ring->bytes + at, first);
    if (first < len) memcpy((uint8_t *)bytes + first, reader->ring->bytes, len - first);
    reader->at += len;
}

bool bd_shm_release(const bd_shm_end *reader)
{
    bd_shm_ring *ring = reader->ring;
    atomic_store(&ring->read, reader->at); // before the look at wants_space
    return atomic_load(&ring->wants_space) && atomic_exchange(&ring->wants_space, 0);
}

// ---- The bell ----

static long futex(atomic_uint *word, int op, unsigned value, const struct timespec *timeout)
{
    return syscall(SYS_futex, word, op, value, timeout, NULL, 0);
}

void bd_shm_ring_bell(bd_shm_bell *bell)
{
    bd_fence(); // what was published is before the look
    if (!atomic_load_explicit(&bell->is_awaited, memory_order_relaxed) ||
        !atomic_exchange(&bell->is_awaited, 0))
        return;
    atomic_fetch_add(&bell->rings, 1);
    futex(&bell->rings, FUTEX_WAKE, 1, NULL);
}

void bd_shm_wake_all(bd_shm_bell *bell)
{
    atomic_fetch_add(&bell->rings, 1);
    futex(&bell->rings, FUTEX_WAKE, INT_MAX, NULL);
}

void bd_shm_arm_bell(bd_shm_bell *bell)
{
    atomic_store(&bell->is_awaited, 1);
    bd_fence(); // before the look for something to do
}

void bd_shm_disarm_bell(bd_shm_bell *bell)
{
    atomic_store_explicit(&bell->is_awaited, 0, memory_order_relaxed);
}

void bd_shm_await_bell(bd_shm_bell *bell, unsigned rings, int64_t ns)
{
    const struct timespec timeout = {ns / 1000000000, ns % 1000000000};
    while (atomic_load(&bell->rings) == rings)
        if (futex(&bell->rings, FUTEX_WAIT, rings, ns == BD_FOREVER ? NULL : &timeout) != 0 &&
            errno != EINTR && errno != EAGAIN)
            return;
}

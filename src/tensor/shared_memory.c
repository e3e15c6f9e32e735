// Tensor memory that other processes of the host may read: see shared_memory.h.
#include "tensor/shared_memory.h"
#include "base/alloc.h"
#include "base/array.h"
#include "base/fork.h"
#include "base/system_memory.h"
#include "base/thread.h"
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
#define PAGE_BYTES ((size_t)4096)

typedef struct extent {
    size_t at, bytes;
} extent;

typedef union cell {
    union cell *next; // of a free one
    uint8_t bytes[BD_SHARED_CELL_BYTES];
} cell;

static bd_mutex mu = BD_MUTEX_INIT;
static uint8_t *base;                 // NULL: not started; set once
static size_t region_bytes;           // constant then
static int region_fd;                 // constant then
static BD_ARRAY(extent) free_extents; // in order, never adjacent; guarded by mu
static cell *free_cells;              // guarded by mu
static atomic_bool has_started;
static bool is_of_parent; // this process was forked after the start

static void close_to_child(void)
{
    (void)bd_mutex_renew(&mu);
    if (is_of_parent) return; // a child of a child has a copy already
    free_cells = NULL;
    is_of_parent = true;
    // In place of its parent's mapping the child gets one of its own: pages that it writes to become its own.
    // Had it none until now (MADV_DONTFORK), something else could be mapped there first.
    const void *copy = mmap(base, region_bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED, region_fd, 0);
    if (copy == MAP_FAILED) (void)mprotect(base, region_bytes, PROT_READ); // rather than the parent's content
}

static void start(void *arg)
{
    (void)arg;
    struct rlimit space;
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        return; // it takes address space
    const size_t bytes = (size_t)bd_system_memory() / 2 / PAGE_BYTES * PAGE_BYTES;
    const int fd = memfd_create("braid-tensors", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return;
    void *memory = MAP_FAILED;
    if (ftruncate(fd, (off_t)bytes) == 0 && fcntl(fd, F_ADD_SEALS, SEALS) == 0)
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (memory == MAP_FAILED) {
        close(fd);
        return;
    }
    base = memory;
    region_bytes = bytes;
    region_fd = fd;
    bd_array_push(&free_extents, (extent){0, bytes});
    bd_at_fork(NULL, NULL, close_to_child);
    atomic_store_explicit(&has_started, true, memory_order_release);
}

void bd_shared_memory_start(void)
{
    static bd_once once = BD_ONCE_INIT;
    bd_once_run(&once, start, NULL);
}

static bool is_started(void)
{
    return atomic_load_explicit(&has_started, memory_order_acquire);
}

bool bd_shared_memory_region(bd_shared_region *out)
{
    if (!is_started() || is_of_parent) return false;
    *out = (bd_shared_region){region_fd, (uintptr_t)base, region_bytes};
    return true;
}

static size_t whole_pages(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

static void remove_extent_locked(size_t i)
{
    memmove(free_extents.items + i, free_extents.items + i + 1,
            (--free_extents.len - i) * sizeof *free_extents.items);
}

// The first extent that is large enough. SIZE_MAX: none is.
static size_t take_extent_locked(size_t bytes)
{
    for (size_t i = 0; i < free_extents.len; i++) {
        extent *e = &free_extents.items[i];
        if (e->bytes < bytes) continue;
        const size_t at = e->at;
        *e = (extent){at + bytes, e->bytes - bytes};
        if (e->bytes == 0) remove_extent_locked(i);
        return at;
    }
    return SIZE_MAX;
}

static void give_extent_locked(extent given)
{
    size_t i = 0;
    while (i < free_extents.len && free_extents.items[i].at < given.at)
        i++;
    extent *items = free_extents.items;
    const bool joins_before = i > 0 && items[i - 1].at + items[i - 1].bytes == given.at;
    const bool joins_after = i < free_extents.len && given.at + given.bytes == items[i].at;
    if (joins_before && joins_after) {
        items[i - 1].bytes += given.bytes + items[i].bytes;
        remove_extent_locked(i);
    } else if (joins_before) {
        items[i - 1].bytes += given.bytes;
    } else if (joins_after) {
        items[i] = (extent){given.at, given.bytes + items[i].bytes};
    } else {
        bd_array_reserve(&free_extents, free_extents.len + 1);
        memmove(free_extents.items + i + 1, free_extents.items + i,
                (free_extents.len++ - i) * sizeof *free_extents.items);
        free_extents.items[i] = given;
    }
}

static void give_extent(size_t at, size_t bytes)
{
    bd_mutex_lock(&mu);
    give_extent_locked((extent){at, bytes});
    bd_mutex_unlock(&mu);
}

void *bd_shared_memory_take(size_t wanted)
{
    if (!is_started() || is_of_parent) return NULL;
    const size_t bytes = whole_pages(wanted);
    bd_mutex_lock(&mu);
    const size_t at = take_extent_locked(bytes);
    bd_mutex_unlock(&mu);
    if (at == SIZE_MAX) return NULL;
    // All pages now: when the system has none for one of them later, it ends the process that touches it.
    if (fallocate(region_fd, 0, (off_t)at, (off_t)bytes) == 0) return base + at;
    give_extent(at, bytes);
    return NULL;
}

bool bd_shared_memory_has(const void *memory)
{
    const uint8_t *p = memory;
    return is_started() && p >= base && p < base + region_bytes;
}

bool bd_shared_memory_is_of_parent(const void *memory)
{
    return is_of_parent && bd_shared_memory_has(memory);
}

bool bd_shared_memory_give(void *memory, size_t given)
{
    if (!bd_shared_memory_has(memory)) return false;
    if (is_of_parent) return true;
    const size_t at = (size_t)((uint8_t *)memory - base), bytes = whole_pages(given);
    fallocate(region_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)bytes);
    give_extent(at, bytes);
    return true;
}

#define CELLS_AT_ONCE 1024

static void add_cells(void)
{
    cell *cells = bd_shared_memory_take(CELLS_AT_ONCE * sizeof *cells);
    if (!cells) return;
    bd_mutex_lock(&mu);
    for (int i = 0; i < CELLS_AT_ONCE; i++) {
        cells[i].next = free_cells;
        free_cells = &cells[i];
    }
    bd_mutex_unlock(&mu);
}

static cell *take_cell(void)
{
    bd_mutex_lock(&mu);
    cell *c = free_cells;
    if (c) free_cells = c->next;
    bd_mutex_unlock(&mu);
    return c;
}

void *bd_shared_cell_new(void)
{
    cell *c = take_cell();
    if (!c) add_cells();
    if (!c) c = take_cell();
    if (!c) c = bd_malloc(sizeof *c);
    memset(c, 0, sizeof *c);
    return c;
}

void bd_shared_cell_free(void *memory)
{
    cell *c = memory;
    if (!c) return;
    if (!bd_shared_memory_has(c)) {
        bd_free(c);
        return;
    }
    bd_mutex_lock(&mu);
    c->next = free_cells;
    free_cells = c;
    bd_mutex_unlock(&mu);
}

struct bd_peer_memory {
    pid_t pid;
    uint64_t base, bytes;
    const uint8_t *local;
    int refs;             // guarded by mu
    bd_peer_memory *next; // guarded by mu
};

static bd_peer_memory *peers; // guarded by mu

bool bd_shared_memory_is_sealed(int fd, uint64_t bytes)
{
    struct stat file;
    struct statfs system;
    const int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & SEALS) == SEALS && fstat(fd, &file) == 0 &&
           (uint64_t)file.st_size == bytes && fstatfs(fd, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

static bool is_region(const bd_shared_region *region)
{
    return region->bytes > 0 && region->base <= UINT64_MAX - region->bytes &&
           bd_shared_memory_is_sealed(region->fd, region->bytes);
}

bd_peer_memory *bd_peer_memory_add(pid_t pid, const bd_shared_region *region)
{
    if (!is_region(region) || !is_started()) return NULL;
    void *local = mmap(NULL, region->bytes, PROT_READ, MAP_SHARED | MAP_NORESERVE, region->fd, 0);
    if (local == MAP_FAILED) return NULL;
    bd_peer_memory *m = bd_calloc(1, sizeof *m);
    *m =
        (bd_peer_memory){.pid = pid, .base = region->base, .bytes = region->bytes, .local = local, .refs = 1};
    bd_mutex_lock(&mu);
    m->next = peers;
    peers = m;
    bd_mutex_unlock(&mu);
    return m;
}

void bd_peer_memory_unref(bd_peer_memory *m)
{
    bd_mutex_lock(&mu);
    const bool is_last = --m->refs == 0;
    bd_mutex_unlock(&mu);
    if (!is_last) return;
    munmap((void *)m->local, m->bytes);
    bd_free(m);
}

void bd_peer_memory_remove(bd_peer_memory *m)
{
    if (!m) return;
    bd_mutex_lock(&mu);
    bd_peer_memory **link = &peers;
    while (*link != m)
        link = &(*link)->next;
    *link = m->next;
    bd_mutex_unlock(&mu);
    bd_peer_memory_unref(m);
}

const void *bd_peer_memory_at(const bd_peer_memory *m, uint64_t address, size_t bytes)
{
    const uint64_t at = address - m->base;
    return address >= m->base && at <= m->bytes && bytes <= m->bytes - at ? m->local + at : NULL;
}

bool bd_peer_memory_is_mapped(pid_t pid)
{
    bd_mutex_lock(&mu);
    const bd_peer_memory *m = peers;
    while (m && m->pid != pid)
        m = m->next;
    bd_mutex_unlock(&mu);
    return m != NULL;
}

bd_peer_memory *bd_peer_memory_find(pid_t pid, uint64_t address, size_t bytes)
{
    bd_mutex_lock(&mu);
    bd_peer_memory *m = peers;
    while (m && (m->pid != pid || !bd_peer_memory_at(m, address, bytes)))
        m = m->next;
    if (m) m->refs++;
    bd_mutex_unlock(&mu);
    return m;
}

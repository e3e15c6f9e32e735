// Cross-memory attach: offers, and the reading of another process's memory.
#include "cluster/rpc/cross_memory.h"
#include "base/alloc.h"
#include "base/log.h"
#include "base/random.h"
#include "base/shared_memory_variables.h"
#include "base/thread.h"
#include "base/tsan.h"
#include "cluster/transport/host_identity.h"
#include "tensor/shared_memory.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

// An offer: the host, the process, the key.
#define HOST_BYTES 8
#define PID_BYTES 4
#define KEY_BYTES 16
#define KEY_AT (HOST_BYTES + PID_BYTES)
_Static_assert(KEY_AT + KEY_BYTES == BD_CROSS_MEMORY_OFFER_BYTES, "an offer");
#define PIECES_MAX 2

struct bd_cross_memory {
    uint64_t host; // 0: not known
    pid_t process;
    // The receiver's side.
    uint8_t key[KEY_BYTES];
    _Atomic pid_t refused; // the process of which the kernel allows no reading; 0: none
    atomic_bool has_told;
    // The sender's side.
    bd_mutex mu;
    uint8_t *accepted; // the peer's key, which the peer reads here; written under mu
    atomic_bool is_accepted, has_asked;
};

// ---- Beginning and end ----

bd_cross_memory *bd_cross_memory_new(void)
{
    const char *variable = getenv(BD_CROSS_MEMORY_VARIABLE);
    if (variable && strcmp(variable, "0") == 0) return NULL;
    bd_cross_memory *m = bd_calloc(1, sizeof *m);
    m->host = bd_host_identity();
    m->process = getpid();
    m->accepted = bd_shared_cell_new();
    bd_random_bytes(m->key, sizeof m->key);
    bd_mutex_init(&m->mu);
    return m;
}

void bd_cross_memory_free(bd_cross_memory *m)
{
    if (!m) return;
    bd_shared_cell_free(m->accepted);
    bd_mutex_fini(&m->mu);
    bd_free(m);
}

// ---- The receiver's side ----

size_t bd_cross_memory_offer(const bd_cross_memory *m, uint8_t offer[BD_CROSS_MEMORY_OFFER_BYTES])
{
    if (!m || m->host == 0) return 0;
    const pid_t refused = atomic_load_explicit(&m->refused, memory_order_relaxed);
    if (refused && !bd_peer_memory_is_mapped(refused)) return 0;
    memcpy(offer, &m->host, HOST_BYTES);
    memcpy(offer + HOST_BYTES, &(uint32_t){(uint32_t)m->process}, PID_BYTES);
    memcpy(offer + KEY_AT, m->key, KEY_BYTES);
    return BD_CROSS_MEMORY_OFFER_BYTES;
}

// The kernel refuses to read the memory of this process: only memory that both have mapped can be read.
static void give_up_kernel(bd_cross_memory *m, pid_t pid)
{
    atomic_store(&m->refused, pid);
    if (atomic_exchange(&m->has_told, true)) return;
    bd_log(
        BRAID_LOG_INFO,
        "Tensors of a task on this host come over the connection, except from memory that is shared: the "
        "kernel does not allow this process to read its memory (kernel.yama.ptrace_scope, or a container's "
        "seccomp profile)");
}

// A piece of the other process's memory, and where to copy it.
typedef struct piece {
    void *to;
    uint64_t from;
    size_t bytes;
} piece;

// Reads by the kernel: all of the pieces, or none that counts.
static bool read_by_kernel(bd_cross_memory *m, pid_t pid, const piece *pieces, int count)
{
    struct iovec to[PIECES_MAX], from[PIECES_MAX];
    size_t bytes = 0;
    if (atomic_load_explicit(&m->refused, memory_order_relaxed) == pid) return false;
    for (int i = 0; i < count; i++) {
        to[i] = (struct iovec){pieces[i].to, pieces[i].bytes};
        from[i] = (struct iovec){(void *)(uintptr_t)pieces[i].from, pieces[i].bytes};
        bytes += pieces[i].bytes;
    }
    const ssize_t n = process_vm_readv(pid, to, (unsigned long)count, from, (unsigned long)count, 0);
    if (n < 0 && (errno == EPERM || errno == ENOSYS)) give_up_kernel(m, pid);
    return n >= 0 && (size_t)n == bytes;
}

// Copies from memory that both processes have mapped. False: one of the pieces is not in it.
static bool read_shared(pid_t pid, const piece *pieces, int count)
{
    bd_peer_memory *shared = bd_peer_memory_find(pid, pieces[0].from, pieces[0].bytes);
    if (!shared) return false;
    bool is_whole = true;
    for (int i = 0; i < count && is_whole; i++) {
        const void *from = bd_peer_memory_at(shared, pieces[i].from, pieces[i].bytes);
        is_whole = from != NULL;
        if (is_whole) memcpy(pieces[i].to, from, pieces[i].bytes);
    }
    bd_peer_memory_unref(shared);
    return is_whole;
}

static bool read_pieces(bd_cross_memory *m, const Braid__TensorMemory *from, const piece *pieces, int count)
{
    return read_shared((pid_t)from->pid, pieces, count) || read_by_kernel(m, (pid_t)from->pid, pieces, count);
}

static bool read_data(bd_cross_memory *m, const Braid__TensorMemory *from, uint64_t data, void *to,
                      size_t bytes)
{
    uint8_t key[KEY_BYTES];
    const piece pieces[] = {{key, from->key_at, sizeof key}, {to, data, bytes}};
    if (!read_pieces(m, from, pieces, 2)) return false;
    return memcmp(key, m->key, sizeof key) == 0; // another one: from before this task was started again
}

bool bd_cross_memory_read(bd_cross_memory *m, const Braid__TensorMemory *from, size_t at, void *to,
                          size_t bytes)
{
    if (!m || from->pid == 0 || from->pid > INT32_MAX || m->host == 0) return false;
    if ((pid_t)from->pid == m->process) return false; // this process has the key itself
    return read_data(m, from, from->data_at + at, to, bytes);
}

bool bd_cross_memory_is_held(bd_cross_memory *m, const Braid__TensorMemory *from, uint64_t id)
{
    uint64_t now = 0;
    const piece shown = {&now, from->id_at, sizeof now};
    bd_fence();
    return read_pieces(m, from, &shown, 1) && now == id;
}

// ---- The sender's side ----

// ... of this host.
static bool is_from_another_process(const bd_cross_memory *m, const uint8_t *offer, size_t len)
{
    uint32_t pid;
    if (len != BD_CROSS_MEMORY_OFFER_BYTES || m->host == 0 || memcmp(offer, &m->host, HOST_BYTES) != 0)
        return false;
    memcpy(&pid, offer + HOST_BYTES, sizeof pid);
    return (pid_t)pid != m->process;
}

void bd_cross_memory_accept(bd_cross_memory *m, const uint8_t *offer, size_t len)
{
    if (!m) return;
    const bool is_offer = is_from_another_process(m, offer, len);
    bd_mutex_lock(&m->mu);
    if (is_offer && memcmp(m->accepted, offer + KEY_AT, KEY_BYTES) != 0)
        memcpy(m->accepted, offer + KEY_AT, KEY_BYTES);
    atomic_store_explicit(&m->is_accepted, is_offer, memory_order_relaxed);
    bd_mutex_unlock(&m->mu);
}

bool bd_cross_memory_is_accepted(const bd_cross_memory *m)
{
    return m && atomic_load_explicit(&m->is_accepted, memory_order_relaxed);
}

bool bd_cross_memory_asks(bd_cross_memory *m)
{
    return m && m->host != 0 && !bd_cross_memory_is_accepted(m) && !atomic_exchange(&m->has_asked, true);
}

void bd_cross_memory_describe(const bd_cross_memory *m, const _Atomic uint64_t *id, const void *data,
                              Braid__TensorMemory *out)
{
    out->pid = (uint32_t)m->process;
    out->key_at = (uintptr_t)m->accepted;
    out->id_at = (uintptr_t)id;
    out->data_at = (uintptr_t)data;
}

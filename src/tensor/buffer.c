// Reference-counted tensor memory and its pool.
//
// Sizes are rounded up to a class: multiples of 64 bytes up to 256, then four steps to each power of two. A
// free block is in one of two places:
//   - a shard: a few small blocks of each class. A thread always uses the same shard, under a flag that it
//     tries once: when another thread uses the shard it goes on to the list, so no thread waits for a shard.
//   - the class's list, under a mutex.
// A block is allocated from the system only when its class has no free block anywhere: own shard, list, other
// shards. Shards belong to the process, not to threads, so that an ending thread leaves no blocks behind.
//
// Under AddressSanitizer free blocks are poisoned, and so is the padding between a buffer's size and its
// class's.
#include "tensor/buffer.h"

#include "base/account.h"
#include "base/alloc.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/fork.h"
#include "base/thread.h"
#include "tensor/shared_memory.h"

#if defined(__SANITIZE_ADDRESS__)
#define POISONS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISONS 1
#endif
#endif
#ifdef POISONS
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

// A block of the pool: the buffer, what stays readable when the block is free and poisoned, and the data.
// Data in shared memory is apart: a child of fork would see its parent's counts and links change.
struct block {
    bd_buffer buffer;
    struct block *next; // of a free list
    void *data;
};
#define HEADER_BYTES ((size_t)BD_ALIGNMENT)
_Static_assert(sizeof(struct block) <= HEADER_BYTES, "the data starts a cache line after the block");

// ---- Size classes ----

#define SIZE_BITS_MAX 46 // 64 TiB: more than any memory
#define SIZE_MOST ((size_t)1 << SIZE_BITS_MAX)
#define CLASS_COUNT (4 + 4 * (SIZE_BITS_MAX - 8))
#define SHARD_CLASS_COUNT (4 + 4 * (14 - 8)) // blocks of up to 16 KiB may lie in shards

static unsigned class_of(size_t size)
{
    if (size <= 256) return size ? (unsigned)((size - 1) / 64) : 0;
    unsigned bits = 63 - (unsigned)__builtin_clzll(size - 1); // 2^bits < size <= 2^(bits+1)
    return 4 + 4 * (bits - 8) + (unsigned)((size - 1) >> (bits - 2) & 3);
}

static size_t class_bytes(unsigned c)
{
    if (c < 4) return (c + 1) * 64;
    unsigned bits = 8 + (c - 4) / 4;
    return ((size_t)1 << bits) + ((size_t)((c - 4) % 4 + 1) << (bits - 2));
}

// ---- Lists and shards ----

static struct list {
    bd_mutex mu;
    struct block *first; // guarded by mu
    size_t count;        // guarded by mu
    size_t least;        // count at its least since the last look for unused blocks; guarded by mu
} lists[CLASS_COUNT] = {[0 ... CLASS_COUNT - 1] = {.mu = BD_MUTEX_INIT}};

#define LARGE_CLASS (4 + 4 * (20 - 8)) // the first class of blocks of more than 1 MiB
static atomic_size_t large_free;       // how many of these are free

#define SHARD_COUNT 16
#define MAGAZINE_SIZE 16

struct magazine {
    atomic_uint count; // changed by the owner of `busy`, read by anyone
    struct block *blocks[MAGAZINE_SIZE];
};

static struct shard {
    _Alignas(BD_ALIGNMENT) atomic_bool busy;
    struct magazine magazines[SHARD_CLASS_COUNT];
} shards[SHARD_COUNT];

static atomic_uint_fast64_t system_allocs;
static atomic_size_t system_bytes; // of all blocks, without their headers, and what is reserved
static atomic_size_t reserved_bytes;
static atomic_size_t system_bytes_most; // system_bytes at its greatest
static atomic_size_t system_bytes_max = SIZE_MAX;

static bool shard_enter(struct shard *s)
{
    return !atomic_exchange_explicit(&s->busy, true, memory_order_acquire);
}

static void shard_leave(struct shard *s)
{
    atomic_store_explicit(&s->busy, false, memory_order_release);
}

static unsigned magazine_count(const struct magazine *m)
{
    return atomic_load_explicit(&((struct magazine *)m)->count, memory_order_relaxed);
}

static struct shard *own_shard(void)
{
    static atomic_uint threads;
    static _Thread_local struct shard *mine;
    if (!mine) mine = &shards[atomic_fetch_add_explicit(&threads, 1, memory_order_relaxed) % SHARD_COUNT];
    return mine;
}

// Takes up to `max` blocks off a list. Returns how many.
static unsigned list_take(unsigned c, struct block **out, unsigned max)
{
    struct list *list = &lists[c];
    unsigned n = 0;
    bd_mutex_lock(&list->mu);
    for (; n < max && list->first; n++) {
        out[n] = list->first;
        list->first = out[n]->next;
    }
    list->count -= n;
    if (list->least > list->count) list->least = list->count;
    if (c >= LARGE_CLASS) atomic_fetch_sub_explicit(&large_free, n, memory_order_relaxed);
    bd_mutex_unlock(&list->mu);
    return n;
}

static void list_put(unsigned c, struct block **blocks, unsigned n)
{
    struct list *list = &lists[c];
    bd_mutex_lock(&list->mu);
    for (unsigned i = 0; i < n; i++) {
        blocks[i]->next = list->first;
        list->first = blocks[i];
    }
    list->count += n;
    if (c >= LARGE_CLASS) atomic_fetch_add_explicit(&large_free, n, memory_order_relaxed);
    bd_mutex_unlock(&list->mu);
}

// A block from a shard; `refill`: from the list through the shard, half a magazine at a time.
static struct block *shard_take(struct shard *s, unsigned c, bool refill)
{
    if (!shard_enter(s)) return NULL;
    struct magazine *m = &s->magazines[c];
    unsigned n = magazine_count(m);
    if (n == 0 && refill) n = list_take(c, m->blocks, MAGAZINE_SIZE / 2);
    struct block *b = n ? m->blocks[--n] : NULL;
    atomic_store_explicit(&m->count, n, memory_order_relaxed);
    shard_leave(s);
    return b;
}

// False when another thread is in the shard.
static bool shard_put(struct shard *s, unsigned c, struct block *b)
{
    if (!shard_enter(s)) return false;
    struct magazine *m = &s->magazines[c];
    unsigned n = magazine_count(m);
    if (n == MAGAZINE_SIZE) {
        n /= 2;
        list_put(c, m->blocks + n, MAGAZINE_SIZE - n);
    }
    m->blocks[n] = b;
    atomic_store_explicit(&m->count, n + 1, memory_order_relaxed);
    shard_leave(s);
    return true;
}

static struct block *steal(unsigned c)
{
    for (unsigned i = 0; i < SHARD_COUNT; i++) {
        if (magazine_count(&shards[i].magazines[c]) == 0) continue;
        struct block *b = shard_take(&shards[i], c, false);
        if (b) return b;
    }
    return NULL;
}

static struct block *take_free(unsigned c)
{
    struct block *b = NULL;
    if (c >= SHARD_CLASS_COUNT) return list_take(c, &b, 1) ? b : NULL;
    b = shard_take(own_shard(), c, true);
    if (!b) list_take(c, &b, 1);
    return b ? b : steal(c);
}

static void give_back(struct block *b)
{
    unsigned c = b->buffer.size_class;
    ASAN_POISON_MEMORY_REGION(b->data, class_bytes(c));
    ASAN_POISON_MEMORY_REGION(&b->buffer, sizeof b->buffer);
    if (c < SHARD_CLASS_COUNT && shard_put(own_shard(), c, b)) return;
    list_put(c, &b, 1);
}

// ---- The system ----

static void drop_shared(unsigned c)
{
    for (struct block **at = &lists[c].first; *at;) {
        if (!bd_shared_memory_has((*at)->data)) {
            at = &(*at)->next;
            continue;
        }
        *at = (*at)->next;
        lists[c].count--;
        atomic_fetch_sub_explicit(&system_bytes, class_bytes(c), memory_order_relaxed);
    }
}

// A shard that another thread was in stays entered in a child of fork, and the blocks of a list that one was
// changing are lost to it. So are free blocks whose data is its parent's.
static void renew_lists(void)
{
    for (unsigned c = 0; c < CLASS_COUNT; c++) {
        if (bd_mutex_renew(&lists[c].mu)) {
            lists[c].first = NULL;
            lists[c].count = 0;
        }
        drop_shared(c);
        lists[c].least = 0;
    }
}

static void watch_forks(void *arg)
{
    (void)arg;
    bd_at_fork(NULL, NULL, renew_lists);
}

static bool reserve_bytes(size_t bytes)
{
    size_t max = atomic_load_explicit(&system_bytes_max, memory_order_relaxed);
    size_t before = atomic_fetch_add_explicit(&system_bytes, bytes, memory_order_relaxed);
    if (before <= max && bytes <= max - before) {
        size_t most = atomic_load_explicit(&system_bytes_most, memory_order_relaxed);
        while (most < before + bytes &&
               !atomic_compare_exchange_weak_explicit(&system_bytes_most, &most, before + bytes,
                                                      memory_order_relaxed, memory_order_relaxed)) {}
        return true;
    }
    atomic_fetch_sub_explicit(&system_bytes, bytes, memory_order_relaxed);
    return false;
}

static struct block *new_block(size_t bytes)
{
    const bool may_share = bytes >= BD_SHARED_MEMORY_MIN && bytes <= BD_SHARED_MEMORY_MAX;
    void *shared = may_share ? bd_shared_memory_take(bytes) : NULL;
    struct block *b = bd_try_aligned(HEADER_BYTES + (shared ? 0 : bytes));
    if (b)
        b->data = shared ? shared : (char *)b + HEADER_BYTES;
    else if (shared)
        bd_shared_memory_give(shared, bytes);
    return b;
}

static struct block *system_take(unsigned c)
{
    static bd_once once = BD_ONCE_INIT;
    bd_once_run(&once, watch_forks, NULL);
    size_t bytes = class_bytes(c);
    if (!reserve_bytes(bytes)) return NULL;
    struct block *b = new_block(bytes);
    if (!b) {
        atomic_fetch_sub_explicit(&system_bytes, bytes, memory_order_relaxed);
        return NULL;
    }
    atomic_fetch_add_explicit(&system_allocs, 1, memory_order_relaxed);
    ASAN_POISON_MEMORY_REGION(b->data, bytes);
    return b;
}

static void system_give(unsigned c, struct block *b)
{
    ASAN_UNPOISON_MEMORY_REGION(&b->buffer, sizeof b->buffer);
    ASAN_UNPOISON_MEMORY_REGION(b->data, class_bytes(c));
    atomic_fetch_sub_explicit(&system_bytes, class_bytes(c), memory_order_relaxed);
    bd_shared_memory_give(b->data, class_bytes(c));
    bd_free(b);
}

// ---- Buffers ----

static _Thread_local size_t size_max __attribute__((tls_model("initial-exec"))) = SIZE_MOST;

size_t bd_buffer_set_size_max(size_t bytes)
{
    const size_t before = size_max;
    size_max = bytes < SIZE_MOST ? bytes : SIZE_MOST;
    return before;
}

bd_buffer *bd_buffer_new(size_t size)
{
    if (size > size_max) return NULL;
    bd_account *account = bd_account_current;
    if (account && !bd_account_take(account, size)) return NULL;
    unsigned c = class_of(size);
    struct block *b = take_free(c);
    if (!b) b = system_take(c);
    if (!b) {
        bd_buffer_pool_trim(0); // free blocks of other classes may be the missing memory
        b = system_take(c);
    }
    if (!b) {
        if (account) bd_account_give(account, size);
        return NULL;
    }
    ASAN_UNPOISON_MEMORY_REGION(&b->buffer, sizeof b->buffer);
    ASAN_UNPOISON_MEMORY_REGION(b->data, size);
    b->buffer = (bd_buffer){.refs = 1,
                            .size_class = (uint16_t)c,
                            .size = size,
                            .data = b->data,
                            .account = bd_account_ref(account)};
    return &b->buffer;
}

bool bd_buffer_charge(bd_buffer *b)
{
    bd_account *account = bd_account_current;
    if (!account || b->account) return true;
    if (!bd_account_take(account, b->size)) return false;
    b->account = bd_account_ref(account);
    return true;
}

// A buffer over foreign memory.
struct foreign {
    bd_buffer buffer;
    void (*release)(void *arg);
};

static void release_foreign(bd_buffer *b)
{
    struct foreign *f = (struct foreign *)b;
    if (f->release) f->release(b->release_arg);
}

bd_buffer *bd_buffer_wrap(void *data, size_t size, void (*release)(void *arg), void *arg)
{
    struct foreign *f = bd_malloc(sizeof *f);
    *f = (struct foreign){
        .buffer = {.refs = 1,
                   .size_class = BD_BUFFER_FOREIGN,
                   .size = size,
                   .data = data,
                   .release = release_foreign,
                   .release_arg = arg},
        .release = release,
    };
    return &f->buffer;
}

void bd_buffer_destroy(bd_buffer *b)
{
    const bool is_foreign = b->size_class == BD_BUFFER_FOREIGN;
    // The parent may have put other content there.
    const bool is_of_parent = !is_foreign && bd_shared_memory_is_of_parent(b->data);
    if (b->release && !is_of_parent) b->release(b);
    if (b->account) {
        bd_account_give(b->account, b->size);
        bd_account_unref(b->account);
    }
    if (is_foreign)
        bd_free(b);
    else if (is_of_parent)
        system_give(b->size_class, (struct block *)b);
    else
        give_back((struct block *)b);
}

// ---- The pool as a whole ----

// Bytes of the free blocks of a class.
static size_t class_free_bytes(unsigned c)
{
    bd_mutex_lock(&lists[c].mu);
    size_t count = lists[c].count;
    bd_mutex_unlock(&lists[c].mu);
    for (unsigned i = 0; c < SHARD_CLASS_COUNT && i < SHARD_COUNT; i++)
        count += magazine_count(&shards[i].magazines[c]);
    return count * class_bytes(c);
}

bd_buffer_pool_stats bd_buffer_pool_get_stats(void)
{
    bd_buffer_pool_stats stats = {
        .system_allocs = atomic_load_explicit(&system_allocs, memory_order_relaxed),
        .bytes_most = atomic_load_explicit(&system_bytes_most, memory_order_relaxed),
        .bytes_limit = atomic_load_explicit(&system_bytes_max, memory_order_relaxed),
    };
    for (unsigned c = 0; c < CLASS_COUNT; c++)
        stats.bytes_free += class_free_bytes(c);
    const size_t reserved = atomic_load_explicit(&reserved_bytes, memory_order_relaxed);
    size_t all = atomic_load_explicit(&system_bytes, memory_order_relaxed);
    all = all > reserved ? all - reserved : 0; // the two are not read at the same moment
    stats.bytes_in_use = all > stats.bytes_free ? all - stats.bytes_free : 0;
    return stats;
}

void bd_buffer_pool_trim(size_t keep_bytes)
{
    size_t bytes_free = bd_buffer_pool_get_stats().bytes_free;
    for (unsigned c = CLASS_COUNT; c-- > 0 && bytes_free > keep_bytes;) { // the largest first
        struct block *b;
        while (bytes_free > keep_bytes &&
               (list_take(c, &b, 1) || (c < SHARD_CLASS_COUNT && (b = steal(c))))) {
            system_give(c, b);
            bytes_free -= class_bytes(c) < bytes_free ? class_bytes(c) : bytes_free;
        }
    }
}

#define UNUSED_NS (10 * (int64_t)1000000000)

void bd_buffer_pool_give_unused(void)
{
    for (unsigned c = LARGE_CLASS; c < CLASS_COUNT; c++) {
        struct list *list = &lists[c];
        bd_mutex_lock(&list->mu);
        size_t unused = list->least;
        list->least = list->count;
        bd_mutex_unlock(&list->mu);
        struct block *b;
        for (; unused > 0 && list_take(c, &b, 1); unused--)
            system_give(c, b);
    }
}

void bd_buffer_pool_step_ended(void)
{
    static _Atomic int64_t next_ns;
    if (atomic_load_explicit(&large_free, memory_order_relaxed) == 0) return;
    const int64_t now = bd_now_ns();
    int64_t next = atomic_load_explicit(&next_ns, memory_order_relaxed);
    if (now < next) return;
    if (atomic_compare_exchange_strong_explicit(&next_ns, &next, now + UNUSED_NS, memory_order_relaxed,
                                                memory_order_relaxed))
        bd_buffer_pool_give_unused();
}

bool bd_buffer_pool_reserve(size_t bytes)
{
    if (!reserve_bytes(bytes)) {
        bd_buffer_pool_trim(0);
        if (!reserve_bytes(bytes)) return false;
    }
    atomic_fetch_add_explicit(&reserved_bytes, bytes, memory_order_relaxed);
    return true;
}

void bd_buffer_pool_unreserve(size_t bytes)
{
    atomic_fetch_sub_explicit(&reserved_bytes, bytes, memory_order_relaxed);
    atomic_fetch_sub_explicit(&system_bytes, bytes, memory_order_relaxed);
}

void bd_buffer_pool_set_limit(size_t bytes)
{
    atomic_store_explicit(&system_bytes_max, bytes, memory_order_relaxed);
}

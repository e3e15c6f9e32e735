// Free lists, one for each power of two: short ones of each thread, and those of all. Under AddressSanitizer
// every piece is allocated and freed, so that it sees each use.
#include "base/slab.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/fork.h"
#include <pthread.h>
#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#define KEEPS 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define KEEPS 0
#endif
#endif
#ifndef KEEPS
#define KEEPS BD_SLAB_CACHE_BYTES_MAX
#endif

#define SIZE_BITS_MIN 6
#define SIZE_BITS_MAX 14
#define LISTS (SIZE_BITS_MAX - SIZE_BITS_MIN + 1)
_Static_assert(BD_SLAB_SIZE_MAX == (size_t)1 << SIZE_BITS_MAX, "the last list is that of the largest pieces");

// Before each piece.
typedef union block {
    struct {
        union block *next; // of a free one
        int list;          // LISTS: not recycled
    };
    max_align_t aligns;
} block;

// The mutexes are not those of the platform: a thread gives back what it keeps when it ends, and a simulated
// one is then none of the simulation's any more.
static struct list {
    pthread_mutex_t mu;
    block *first; // guarded by mu
    size_t bytes; // guarded by mu; of the free ones
} lists[LISTS] = {[0 ... LISTS - 1] = {.mu = PTHREAD_MUTEX_INITIALIZER}};

static size_t list_size(int list)
{
    return (size_t)1 << (SIZE_BITS_MIN + list);
}

static int list_of(size_t size)
{
    if (KEEPS == 0) return LISTS; // each piece ends where it was asked to
    int list = 0;
    while (list < LISTS && list_size(list) < size)
        list++;
    return list;
}

// ---- The lists of all threads ----

// The pieces of a list that another thread was changing are lost to a child of fork.
static void renew_lists(void)
{
    for (int i = 0; i < LISTS; i++) {
        struct list *l = &lists[i];
        if (pthread_mutex_trylock(&l->mu) == 0) {
            pthread_mutex_unlock(&l->mu);
        } else {
            *l = (struct list){.mu = PTHREAD_MUTEX_INITIALIZER};
        }
    }
}

static void watch_forks(void)
{
    bd_at_fork(NULL, NULL, renew_lists);
}

static struct list *lock_shared(int list)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&lists[list].mu);
    return &lists[list];
}

static block *take_shared(int list, size_t size)
{
    struct list *l = lock_shared(list);
    block *b = l->first;
    if (b) {
        l->first = b->next;
        l->bytes -= size;
    }
    pthread_mutex_unlock(&l->mu);
    return b;
}

static bool keep_shared(int list, size_t size, block *b)
{
    struct list *l = lock_shared(list);
    const bool is_kept = l->bytes + size <= KEEPS;
    if (is_kept) {
        b->next = l->first;
        l->first = b;
        l->bytes += size;
    }
    pthread_mutex_unlock(&l->mu);
    return is_kept;
}

// ---- Those of this thread ----

typedef struct own_list {
    block *first;
    size_t bytes;
} own_list;

static _Thread_local own_list own[LISTS];
static _Thread_local void *gives_back; // set: `own` is given back when the thread ends
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_end;

static void give_back(void *arg)
{
    (void)arg;
    gives_back = NULL;
    for (int i = 0; i < LISTS; i++) {
        while (own[i].first) {
            block *b = own[i].first;
            own[i].first = b->next;
            if (!keep_shared(i, list_size(i), b)) bd_free(b);
        }
        own[i].bytes = 0;
    }
}

static void make_key(void)
{
    BD_ASSERT(pthread_key_create(&thread_end, give_back) == 0);
}

// False: this thread cannot give back what it keeps.
static bool watch_end(void)
{
    pthread_once(&once, make_key);
    if (pthread_setspecific(thread_end, &gives_back) == 0) gives_back = &gives_back;
    return gives_back != NULL;
}

static block *take(int list, size_t size)
{
    own_list *l = &own[list];
    block *b = l->first;
    if (!b) return take_shared(list, size);
    l->first = b->next;
    l->bytes -= size;
    return b;
}

static bool keep(int list, size_t size, block *b)
{
    own_list *l = &own[list];
    if (l->bytes + size > BD_SLAB_THREAD_BYTES_MAX || (!gives_back && !watch_end()))
        return keep_shared(list, size, b);
    b->next = l->first;
    l->first = b;
    l->bytes += size;
    return true;
}

// ---- Pieces ----

static void *new_piece(size_t size, void *(*alloc)(size_t size))
{
    if (size == 0) size = 1; // a leak checker ignores a pointer past the end of a block
    const int list = list_of(size);
    block *b = list < LISTS ? take(list, list_size(list)) : NULL;
    if (!b && size > SIZE_MAX - sizeof *b) return NULL;
    if (!b) b = alloc(sizeof *b + (list < LISTS ? list_size(list) : size));
    if (!b) return NULL;
    b->list = list;
    return b + 1;
}

void *bd_slab_alloc_raw(size_t size)
{
    void *p = new_piece(size, bd_malloc);
    BD_ASSERT(p);
    return p;
}

void *bd_slab_try_alloc(size_t size)
{
    return bd_alloc_is_to_fail() ? NULL : new_piece(size, bd_try_malloc);
}

void *bd_slab_alloc(size_t size)
{
    return memset(bd_slab_alloc_raw(size), 0, size);
}

void bd_slab_free(void *p)
{
    if (!p) return;
    block *b = (block *)p - 1;
    if (b->list == LISTS || !keep(b->list, list_size(b->list), b)) bd_free(b);
}

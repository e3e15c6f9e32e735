// Allocation with a count and with failures on demand.
#include "base/alloc.h"
#include "base/check.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)

static atomic_uint_fast64_t count;
static _Atomic int64_t failure_in = -1; // successful try_ allocations left before they fail; negative: never

uint64_t bd_alloc_count(void)
{
    return atomic_load_explicit(&count, memory_order_relaxed);
}

void bd_alloc_fail_after(int64_t n)
{
    atomic_store(&failure_in, n < 0 ? -1 : n);
}

// Whether this try_ allocation is to fail.
bool bd_alloc_is_to_fail(void)
{
    int64_t left = atomic_load_explicit(&failure_in, memory_order_relaxed);
    while (left > 0 && !atomic_compare_exchange_weak(&failure_in, &left, left - 1)) {}
    return left == 0;
}

static void *counted(void *p)
{
    atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
    return p;
}

static void *need(void *p, size_t size)
{
    if (!p) {
        fprintf(stderr, "out of memory: cannot allocate %zu bytes\n", size);
        abort();
    }
    return counted(p);
}

void *bd_malloc(size_t size)
{
    return need(malloc(size ? size : 1), size);
}

void *bd_calloc(size_t n, size_t size)
{
    return need(calloc(n ? n : 1, size ? size : 1), size);
}

void *bd_realloc(void *p, size_t size)
{
    return need(realloc(p, size ? size : 1), size);
}

void bd_free(void *p)
{
    free(p);
}

char *bd_strdup(const char *text)
{
    return bd_memdup(text, strlen(text) + 1);
}

char *bd_strndup(const char *text, size_t len_max)
{
    size_t len = strnlen(text, len_max);
    char *copy = bd_malloc(len + 1);
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

void *bd_memdup(const void *data, size_t size)
{
    void *copy = bd_malloc(size);
    if (size) memcpy(copy, data, size);
    return copy;
}

char *bd_asprintf(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = bd_vasprintf(format, args);
    va_end(args);
    return text;
}

char *bd_vasprintf(const char *format, va_list args)
{
    char *text = NULL;
    int len = vasprintf(&text, format, args);
    return need(len < 0 ? NULL : text, strlen(format));
}

void *bd_try_malloc(size_t size)
{
    if (bd_alloc_is_to_fail()) return NULL;
    return counted(malloc(size ? size : 1));
}

void *bd_try_calloc(size_t n, size_t size)
{
    if (bd_alloc_is_to_fail()) return NULL;
    return counted(calloc(n ? n : 1, size ? size : 1)); // calloc checks the product
}

void *bd_try_realloc(void *p, size_t size)
{
    if (bd_alloc_is_to_fail()) return NULL;
    return counted(realloc(p, size ? size : 1));
}

// The whole huge pages of a large block, which begins with one.
static void advise_huge(void *p, size_t size)
{
#ifdef MADV_HUGEPAGE
    (void)madvise(p, size / HUGE_PAGE * HUGE_PAGE, MADV_HUGEPAGE); // else small pages
#endif
}

void *bd_try_aligned(size_t size)
{
    if (bd_alloc_is_to_fail() || size > SIZE_MAX / 2) return NULL;
    size_t rounded = (size + BD_ALIGNMENT - 1) / BD_ALIGNMENT * BD_ALIGNMENT;
    if (size < HUGE_PAGE) return counted(aligned_alloc(BD_ALIGNMENT, rounded ? rounded : BD_ALIGNMENT));
    void *p; // aligned_alloc would want a multiple of the alignment
    if (posix_memalign(&p, HUGE_PAGE, rounded)) return NULL;
    advise_huge(p, size);
    return counted(p);
}

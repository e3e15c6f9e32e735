// Allocation: the one place where Braid asks the system for memory, so that it can be counted and made to
// fail.
//
// The plain forms are for small control structures: they never return NULL, they end the process with a
// message. The try_ forms are for sizes that come from a peer, a file or a user: they return NULL and the
// caller reports ResourceExhausted. A size of 0 gives a valid pointer. All memory is given back with bd_free.
// Any thread.
#ifndef BD_BASE_ALLOC_H
#define BD_BASE_ALLOC_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *bd_malloc(size_t size) __attribute__((malloc, returns_nonnull));
void *bd_calloc(size_t n, size_t size) __attribute__((malloc, returns_nonnull)); // n * size is checked
void *bd_realloc(void *p, size_t size) __attribute__((returns_nonnull));
void bd_free(void *p); // NULL is accepted

char *bd_strdup(const char *text) __attribute__((returns_nonnull));
char *bd_strndup(const char *text, size_t len_max) __attribute__((returns_nonnull)); // zero-terminated
void *bd_memdup(const void *data, size_t size) __attribute__((returns_nonnull));
char *bd_asprintf(const char *format, ...) __attribute__((format(printf, 1, 2), returns_nonnull));
char *bd_vasprintf(const char *format, va_list args) __attribute__((returns_nonnull));

void *bd_try_malloc(size_t size);
void *bd_try_calloc(size_t n, size_t size); // NULL too when n * size overflows
void *bd_try_realloc(void *p, size_t size); // on NULL, `p` is as it was

// Alignment of bd_try_aligned: a cache line, and the widest vector register.
#define BD_ALIGNMENT 64
// Uninitialized. From 2 MiB on in huge pages, if the system allows them (transparent_hugepage is madvise or
// always): the processor fetches ahead beyond 4 KB, and access to single rows of a large table costs what it
// costs in a small one.
void *bd_try_aligned(size_t size);

// Allocations (and reallocations) since the process started.
uint64_t bd_alloc_count(void);

// For tests: after `n` more successful ones, every allocation of the try_ forms in any thread fails.
// Negative: never.
void bd_alloc_fail_after(int64_t n);
// For code between the try_ forms and their users: whether this allocation has to fail.
bool bd_alloc_is_to_fail(void);

#endif

// Assertions for our own bugs (on in release) and a few helpers that every file wants.
#ifndef BD_BASE_CHECK_H
#define BD_BASE_CHECK_H

#include <stddef.h>
#include <stdint.h>

// Prints the failed condition and its place to stderr, then aborts.
_Noreturn void bd_assert_failed(const char *file, int line, const char *what);

// For conditions that only a bug of Braid can violate, never for input. Active in every build.
#define BD_ASSERT(cond) (__builtin_expect(!(cond), 0) ? bd_assert_failed(__FILE__, __LINE__, #cond) : (void)0)

// A place that control cannot reach.
#define BD_UNREACHABLE() bd_assert_failed(__FILE__, __LINE__, "reached unreachable code")

#define BD_COUNTOF(arr) (sizeof(arr) / sizeof((arr)[0]))

// The struct of type `type` whose member `member` is at `ptr`.
#define BD_CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static inline int64_t bd_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t bd_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif

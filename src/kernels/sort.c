// Sorts by merging runs, which qsort_r sorts: it cannot be interrupted itself.
#include "kernels/sort.h"

#include "base/alloc.h"
#include "base/interrupt.h"
#include <stdlib.h>
#include <string.h>

// The items of a run: they are sorted in some milliseconds.
#define RUN BD_INTERRUPT_BLOCK

typedef struct sorting {
    int64_t count;
    size_t size;
    int (*compare)(const void *a, const void *b, void *arg);
    void *arg;
} sorting;

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// Merges the sorted items [begin, middle) and [middle, end).
static void merge(const sorting *s, const char *from, char *to, int64_t begin, int64_t middle, int64_t end)
{
    const char *a = from + (size_t)begin * s->size, *b = from + (size_t)middle * s->size;
    const char *a_end = b, *b_end = from + (size_t)end * s->size;
    char *out = to + (size_t)begin * s->size;
    for (int64_t i = 0; a < a_end && b < b_end; i++, out += s->size) {
        if (bd_interrupted_at(i)) return;
        const char **next = s->compare(a, b, s->arg) <= 0 ? &a : &b;
        memcpy(out, *next, s->size);
        *next += s->size;
    }
    memcpy(out, a, (size_t)(a_end - a));
    memcpy(out + (a_end - a), b, (size_t)(b_end - b));
}

void bd_sort(void *items, int64_t count, size_t size, int (*compare)(const void *a, const void *b, void *arg),
             void *arg)
{
    const sorting s = {count, size, compare, arg};
    char *room = count > RUN ? bd_try_malloc((size_t)count * size) : NULL, *from = items, *to = room;
    const int64_t run = room ? RUN : count;
    for (int64_t i = 0; i < count && !bd_interrupted(); i += run)
        qsort_r(from + (size_t)i * size, (size_t)lesser(run, count - i), size, compare, arg);
    for (int64_t len = run; len < count && !bd_interrupted(); len *= 2) {
        for (int64_t i = 0; i < count && !bd_interrupted(); i += 2 * len)
            merge(&s, from, to, i, lesser(i + len, count), lesser(i + 2 * len, count));
        char *merged = to;
        to = from;
        from = merged;
    }
    if (from != items && !bd_interrupted()) memcpy(items, from, (size_t)count * size);
    bd_free(room);
}

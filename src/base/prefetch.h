// Rows of a large table on their way to the cache before they are used. Of a table that fits into no cache,
// each row is a wait for the memory; in a loop over rows whose order is known these waits overlap.
#ifndef BD_BASE_PREFETCH_H
#define BD_BASE_PREFETCH_H

#include <stddef.h>

// How many rows before its use a row is fetched.
#define BD_ROWS_AHEAD 16

// The beginning of a row: what follows it the processor fetches by itself. The row goes to the second cache,
// which waits for more lines at once than the first one. The empty asm has an effect in gcc's eyes: it drops
// the calls of a function that does nothing but prefetch.
static inline void bd_prefetch_row(const void *row, size_t bytes)
{
    enum {
        LINE = 64,
        BYTES_MAX = 512,
        FOR_READING = 0, // a line that no other processor has is as good for writing
        SECOND_CACHE = 2
    };
    const char *at = row;
    __asm__ volatile("");
    for (size_t i = 0; i < bytes && i < BYTES_MAX; i += LINE)
        __builtin_prefetch(at + i, FOR_READING, SECOND_CACHE);
}

#endif

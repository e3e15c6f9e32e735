// Rows of a large table on their way to the cache before they are used. Of a table that fits into no cache,
// each row is a wait for the memory; in a loop over rows whose order is known these waits overlap.
#ifndef BD_BASE_PREFETCH_H
#define BD_BASE_PREFETCH_H

#include <stdbool.h>
#include <stddef.h>

// How many rows before its use a row is fetched.
#define BD_ROWS_AHEAD 8

// The beginning of a row: what follows it the processor fetches by itself.
static inline void bd_prefetch_row(const void *row, size_t bytes, bool to_write)
{
    enum {
        LINE = 64,
        BYTES_MAX = 512
    };
    const char *at = row;
    for (size_t i = 0; i < bytes && i < BYTES_MAX; i += LINE) {
        if (to_write)
            __builtin_prefetch(at + i, 1);
        else
            __builtin_prefetch(at + i, 0);
    }
}

#endif

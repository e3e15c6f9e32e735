// Arena: memory that is taken piece by piece and given back all at once. Not thread safe.
#ifndef BD_BASE_ARENA_H
#define BD_BASE_ARENA_H

#include <stddef.h>

typedef struct bd_arena_chunk bd_arena_chunk;

// Zero-initialized is a valid empty arena.
typedef struct bd_arena {
    bd_arena_chunk *first, *current;
    char *next, *end; // free part of the current chunk
    size_t used;      // bytes handed out since the last reset
    size_t held;      // bytes of all chunks
} bd_arena;

void bd_arena_init(bd_arena *a);
void bd_arena_fini(bd_arena *a); // the arena is empty and usable afterwards

// Makes everything handed out invalid; the chunks stay for reuse.
void bd_arena_reset(bd_arena *a);

// A point in an arena, which has not been reset since.
typedef struct bd_arena_mark {
    bd_arena_chunk *chunk; // NULL: the arena was empty
    char *next;
    size_t used;
} bd_arena_mark;
bd_arena_mark bd_arena_get_mark(const bd_arena *a);
// Makes what was handed out since invalid, and frees the chunks that were added.
void bd_arena_rewind(bd_arena *a, bd_arena_mark mark);

// All pieces are aligned to 16 bytes and never NULL.
void *bd_arena_alloc(bd_arena *a, size_t size);            // uninitialized
void *bd_arena_calloc(bd_arena *a, size_t n, size_t size); // zeros; n * size is checked
char *bd_arena_strdup(bd_arena *a, const char *text);
char *bd_arena_strndup(bd_arena *a, const char *text, size_t len); // exactly `len` bytes and a zero
void *bd_arena_memdup(bd_arena *a, const void *data, size_t size);
char *bd_arena_asprintf(bd_arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define BD_ARENA_NEW(arena, type) ((type *)bd_arena_calloc((arena), 1, sizeof(type)))
#define BD_ARENA_ARRAY(arena, type, n) ((type *)bd_arena_calloc((arena), (n), sizeof(type)))

#endif

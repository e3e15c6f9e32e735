// A bump allocator over a list of growing chunks.
#include "base/arena.h"
#include "base/alloc.h"
#include "base/check.h"
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    ALIGN = 16
};
// The first chunk suits a small graph; doubling stops where a larger chunk saves nothing any more.
#define CHUNK_MIN ((size_t)4096)
#define CHUNK_MAX ((size_t)1 << 20)

struct bd_arena_chunk {
    bd_arena_chunk *next;
    size_t size; // of data
    _Alignas(ALIGN) char data[];
};

void bd_arena_init(bd_arena *a)
{
    *a = (bd_arena){0};
}

void bd_arena_fini(bd_arena *a)
{
    for (bd_arena_chunk *chunk = a->first; chunk;) {
        bd_arena_chunk *next = chunk->next;
        bd_free(chunk);
        chunk = next;
    }
    *a = (bd_arena){0};
}

static void use_chunk(bd_arena *a, bd_arena_chunk *chunk)
{
    a->current = chunk;
    a->next = chunk->data;
    a->end = chunk->data + chunk->size;
}

void bd_arena_reset(bd_arena *a)
{
    a->used = 0;
    if (a->first) use_chunk(a, a->first);
}

bd_arena_mark bd_arena_get_mark(const bd_arena *a)
{
    return (bd_arena_mark){a->current, a->next, a->used};
}

void bd_arena_rewind(bd_arena *a, bd_arena_mark mark)
{
    if (!mark.chunk) {
        bd_arena_fini(a);
        return;
    }
    for (bd_arena_chunk *chunk; (chunk = mark.chunk->next);) {
        mark.chunk->next = chunk->next;
        a->held -= sizeof(bd_arena_chunk) + chunk->size;
        bd_free(chunk);
    }
    use_chunk(a, mark.chunk);
    a->next = mark.next;
    a->used = mark.used;
}

// Makes a chunk with room for `size` bytes the current one: the next that was kept at a reset, or a new one
// before it.
static void next_chunk(bd_arena *a, size_t size)
{
    bd_arena_chunk *kept = a->current ? a->current->next : NULL;
    if (kept && kept->size >= size) {
        use_chunk(a, kept);
        return;
    }
    size_t chunk_size = a->current ? a->current->size * 2 : CHUNK_MIN;
    if (chunk_size > CHUNK_MAX) chunk_size = CHUNK_MAX;
    if (chunk_size < size) chunk_size = size;
    BD_ASSERT(chunk_size <= SIZE_MAX - sizeof(bd_arena_chunk));
    bd_arena_chunk *chunk = bd_malloc(sizeof(bd_arena_chunk) + chunk_size);
    chunk->size = chunk_size;
    a->held += sizeof(bd_arena_chunk) + chunk_size;
    chunk->next = kept;
    if (a->current)
        a->current->next = chunk;
    else
        a->first = chunk;
    use_chunk(a, chunk);
}

void *bd_arena_alloc(bd_arena *a, size_t size)
{
    BD_ASSERT(size <= SIZE_MAX / 2);
    size_t rounded = (size + ALIGN - 1) / ALIGN * ALIGN;
    if (rounded == 0) rounded = ALIGN;
    if (!a->next || (size_t)(a->end - a->next) < rounded) next_chunk(a, rounded);
    void *piece = a->next;
    a->next += rounded;
    a->used += rounded;
    return piece;
}

void *bd_arena_calloc(bd_arena *a, size_t n, size_t size)
{
    size_t bytes;
    bool overflow = __builtin_mul_overflow(n, size, &bytes);
    BD_ASSERT(!overflow);
    return memset(bd_arena_alloc(a, bytes), 0, bytes);
}

void *bd_arena_memdup(bd_arena *a, const void *data, size_t size)
{
    void *copy = bd_arena_alloc(a, size);
    if (size) memcpy(copy, data, size);
    return copy;
}

char *bd_arena_strdup(bd_arena *a, const char *text)
{
    return bd_arena_memdup(a, text, strlen(text) + 1);
}

char *bd_arena_strndup(bd_arena *a, const char *text, size_t len)
{
    char *copy = bd_arena_alloc(a, len + 1);
    if (len) memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

char *bd_arena_asprintf(bd_arena *a, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    char *text = bd_vasprintf(format, args);
    va_end(args);
    char *copy = bd_arena_strdup(a, text);
    bd_free(text);
    return copy;
}

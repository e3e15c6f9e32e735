// Copies to memory that is not read soon: past the caches, which a plain store would first fill with the old
// content of that memory.
#ifndef BD_BASE_STREAM_COPY_H
#define BD_BASE_STREAM_COPY_H

#include <stddef.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

// As memcpy. Fast when `to` is aligned to 16 bytes and the copy goes on where the last one ended.
static inline void bd_stream_copy(void *to, const void *from, size_t size)
{
#ifdef __SSE2__
    __m128i *out = to;
    const __m128i *in = from;
    const size_t count = (size_t)to % sizeof *out == 0 ? size / sizeof *out : 0;
    for (size_t i = 0; i < count; i++)
        _mm_stream_si128(out + i, _mm_loadu_si128(in + i));
    memcpy(out + count, in + count, size - count * sizeof *out);
#else
    memcpy(to, from, size);
#endif
}

// Makes the copies of this thread visible to a thread that it then synchronizes with.
static inline void bd_stream_copy_end(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

#endif

// Varints in files: seven bits a byte, lowest first.
#ifndef BD_IO_VARINT_H
#define BD_IO_VARINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BD_VARINT_BYTES_MAX 10

// Writes `value`, at most BD_VARINT_BYTES_MAX bytes; returns how many.
static inline size_t bd_put_varint(uint8_t *at, uint64_t value)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        at[n++] = (uint8_t)(value | 0x80);
    at[n++] = (uint8_t)value;
    return n;
}

// Reads at *at and moves past the value. Returns false when it does not end before `end` or has more than 64
// bits.
static inline bool bd_get_varint(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
    uint64_t result = 0;
    const uint8_t *p = *at;
    for (unsigned shift = 0; shift < 64 && p < end; shift += 7) {
        uint8_t byte = *p++;
        if (shift == 63 && byte > 1) return false;
        result |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *value = result;
            *at = p;
            return true;
        }
    }
    return false;
}

#endif

// Numbers in files: little-endian, at any address.
#ifndef BD_IO_LITTLE_ENDIAN_H
#define BD_IO_LITTLE_ENDIAN_H

#include <stdint.h>

static inline void bd_put_le32(void *at, uint32_t value)
{
    uint8_t *p = at;
    for (int i = 0; i < 4; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

static inline void bd_put_le64(void *at, uint64_t value)
{
    uint8_t *p = at;
    for (int i = 0; i < 8; i++)
        p[i] = (uint8_t)(value >> (8 * i));
}

static inline uint32_t bd_get_le32(const void *at)
{
    const uint8_t *p = at;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t bd_get_le64(const void *at)
{
    const uint8_t *p = at;
    return (uint64_t)bd_get_le32(p) | (uint64_t)bd_get_le32(p + 4) << 32;
}

#endif

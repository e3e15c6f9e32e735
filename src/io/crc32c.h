// CRC32C (Castagnoli), and the masked form in which TensorFlow's files store it.
#ifndef BD_IO_CRC32C_H
#define BD_IO_CRC32C_H

#include <stddef.h>
#include <stdint.h>

// The checksum of bytes that follow bytes with checksum `crc`; 0 is that of no bytes.
uint32_t bd_crc32c_extend(uint32_t crc, const void *data, size_t len);

// The checksum of bytes with checksum `first` and, after them, `second_len` bytes with checksum `second`.
uint32_t bd_crc32c_join(uint32_t first, uint32_t second, size_t second_len);

static inline uint32_t bd_crc32c(const void *data, size_t len)
{
    return bd_crc32c_extend(0, data, len);
}

// The checksum of data that itself holds checksums is weak, so files store them masked.
static inline uint32_t bd_crc32c_mask(uint32_t crc)
{
    return ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
}

static inline uint32_t bd_crc32c_unmask(uint32_t masked)
{
    uint32_t rotated = masked - 0xa282ead8u;
    return (rotated >> 17) | (rotated << 15);
}

#endif

// CRC32C by ISA-L.
#include "io/crc32c.h"

#include <isa-l/crc.h>

uint32_t bd_crc32c_extend(uint32_t crc, const void *data, size_t len)
{
    const size_t call_max = (size_t)1 << 30; // the library counts in int
    unsigned char *p = (unsigned char *)data;
    uint32_t state = ~crc;
    while (len > 0) {
        size_t n = len < call_max ? len : call_max;
        state = crc32_iscsi(p, (int)n, state);
        p += n;
        len -= n;
    }
    return ~state;
}

// ---- Joining ----

// A checksum is a polynomial modulo the code's: bit 31 is the coefficient of x^0, bit 0 that of x^31.
#define POLYNOMIAL 0x82f63b78u
#define ONE (UINT32_C(1) << 31)
#define BYTE (ONE >> 8) // x^8

static uint32_t multiply(uint32_t a, uint32_t b)
{
    uint32_t product = 0;
    for (; a; a <<= 1) {
        if (a & ONE) product ^= b;
        b = (b >> 1) ^ (b & 1 ? POLYNOMIAL : 0);
    }
    return product;
}

uint32_t bd_crc32c_join(uint32_t first, uint32_t second, size_t second_len)
{
    uint32_t shifted = first;
    for (uint32_t power = BYTE; second_len > 0; second_len >>= 1) {
        if (second_len & 1) shifted = multiply(shifted, power);
        power = multiply(power, power);
    }
    return shifted ^ second;
}

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

// Copies of memory that changes meanwhile.
#include "base/hogwild.h"

#include <string.h>

BD_HOGWILD void bd_copy_racing(void *to, const void *from, size_t len)
{
#ifdef BD_UNDER_TSAN
    // memcpy would be looked into; volatile keeps the compiler from making one.
    volatile char *out = to;
    const volatile char *in = from;
    for (size_t i = 0; i < len; i++)
        out[i] = in[i];
#else
    if (len > 0) memcpy(to, from, len);
#endif
}

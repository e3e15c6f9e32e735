// Growth of the arrays of array.h.
#include "base/array.h"
#include "base/check.h"
#include <stdint.h>

void *bd_array_grow(void *items, size_t item_size, size_t *cap, size_t need)
{
    size_t new_cap = *cap ? *cap * 2 : 4;
    if (new_cap < need) new_cap = need;
    BD_ASSERT(new_cap <= SIZE_MAX / 2 / item_size);
    *cap = new_cap;
    return bd_realloc(items, new_cap * item_size);
}

// Copies the intersection of slices of a tensor.
#include "io/slice_copy.h"

#include "base/alloc.h"

// Elements of strings are owned: the places of the source are copied, then the strings at them.
static void copy_strings(const bd_tensor_slice *common, const braid_tensor *from,
                         const bd_tensor_slice *from_slice, braid_tensor *to, const bd_tensor_slice *to_slice)
{
    int64_t from_count = bd_tensor_count(from), to_count = bd_tensor_count(to);
    int64_t *places = bd_malloc((size_t)from_count * sizeof *places);
    int64_t *taken = bd_calloc((size_t)to_count, sizeof *taken);
    for (int64_t i = 0; i < from_count; i++)
        places[i] = i + 1;
    bd_tensor_slice_copy(common, places, from_slice, taken, to_slice, sizeof *places);
    for (int64_t i = 0; i < to_count; i++) {
        if (!taken[i]) continue;
        const bd_string *s = &bd_tensor_str(from)[taken[i] - 1];
        bd_tensor_string_try_set(to, i, s->data, s->len);
    }
    bd_free(places);
    bd_free(taken);
}

void bd_slice_copy(const bd_tensor_slice *common, const braid_tensor *from, const bd_tensor_slice *from_slice,
                   braid_tensor *to, const bd_tensor_slice *to_slice)
{
    if (from->dtype == BRAID_STRING)
        copy_strings(common, from, from_slice, to, to_slice);
    else
        bd_tensor_slice_copy(common, from->data, from_slice, to->data, to_slice,
                             braid_dtype_size(from->dtype));
}

// Copies the intersection of two slices of a tensor, for elements of any type.
#ifndef BD_IO_SLICE_COPY_H
#define BD_IO_SLICE_COPY_H

#include "io/tensor_slice.h"
#include "tensor/tensor.h"

// Copies the elements of `common`, which lies in both, from `from`, which holds the slice `from_slice`, to
// `to`, which holds `to_slice`: resolved slices. Strings become copies.
void bd_slice_copy(const bd_tensor_slice *common, const braid_tensor *from, const bd_tensor_slice *from_slice,
                   braid_tensor *to, const bd_tensor_slice *to_slice);

#endif

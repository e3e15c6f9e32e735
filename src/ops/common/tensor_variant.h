// A tensor as an element of a tensor of variants.
#ifndef BD_OPS_COMMON_TENSOR_VARIANT_H
#define BD_OPS_COMMON_TENSOR_VARIANT_H

#include "tensor/tensor.h"

// Makes element `i` of `to` hold `t`. False: memory is short.
bool bd_tensor_variant_put(braid_tensor *to, int64_t i, const braid_tensor *t);

// Returns the tensor in element `i`, borrowed; NULL: the element is not a tensor.
const braid_tensor *bd_tensor_variant_get(const braid_tensor *from, int64_t i);

#endif

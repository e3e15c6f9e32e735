// Variants as inputs and outputs of kernels.
#ifndef BD_OPS_COMMON_VARIANT_H
#define BD_OPS_COMMON_VARIANT_H

#include "op/kernel.h"

// The object in input `i`, a scalar variant of that type; the input keeps the reference. NULL: the kernel has
// failed.
bd_variant *bd_input_variant(bd_op_ctx *c, int i, const bd_variant_type *type);

// Makes output `i` a scalar that holds `v`, and takes over the caller's reference. Returns false when the
// kernel has failed.
bool bd_output_variant(bd_op_ctx *c, int i, bd_variant *v);

#endif

// Optionals: variants that hold an element of a dataset, or no value.
#ifndef BD_OPS_DATASET_OPTIONAL_H
#define BD_OPS_DATASET_OPTIONAL_H

#include "ops/common/variant.h"

// Makes output `i` an optional with these tensors, which are moved ("no tensor" remains), or an empty one for
// NULL. Returns false when the kernel has failed.
bool bd_output_optional(bd_op_ctx *c, int i, braid_tensor *tensors, int count);

// The same as an object with one reference.
bd_variant *bd_optional_new(braid_tensor *tensors, int count);

// Whether `v` is an optional; its tensors, borrowed: *tensors is NULL when it has no value.
bool bd_optional_get(const bd_variant *v, const braid_tensor **tensors, int *count);

// Fails the kernel unless the tensors are of the types and shapes in attrs output_types and output_shapes.
bool bd_check_optional(bd_op_ctx *c, const braid_tensor *tensors, int count);

#endif

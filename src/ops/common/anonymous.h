// Anonymous resources: their names are never used to find them. A variant beside the handle deletes the
// resource with the last reference.
#ifndef BD_OPS_COMMON_ANONYMOUS_H
#define BD_OPS_COMMON_ANONYMOUS_H

#include "op/kernel.h"

// Makes a resource with create(arg) in the default container, under a new name. Output 0 is its handle;
// output 1, if the op has one, is the variant. Returns false when the kernel has failed.
bool bd_output_anonymous(bd_op_ctx *c, const char *name, const bd_resource_type *type,
                         braid_code (*create)(void *arg, bd_resource **out, braid_status *st), void *arg);

// For ops whose resource input is optional: bd_output_dummy makes output 0 a handle of that type that names
// no resource; bd_input_is_dummy returns whether input `i` is such a handle.
bool bd_output_dummy(bd_op_ctx *c, const bd_resource_type *type);
bool bd_input_is_dummy(bd_op_ctx *c, int i);

// Removes the resource of the handle in input 0 from its container. A missing resource is not an error.
void bd_delete_anonymous(bd_op_ctx *c, const bd_resource_type *type);

#endif

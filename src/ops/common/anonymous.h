// Anonymous resources: their names are never used to find them. A variant beside the handle deletes the
// resource with the last reference.
#ifndef BD_OPS_COMMON_ANONYMOUS_H
#define BD_OPS_COMMON_ANONYMOUS_H

#include "op/kernel.h"

// Makes a resource with create(arg) in the default container, under a new name; outputs are its handle and,
// where there is a second one, the variant. False: the kernel has failed.
bool bd_output_anonymous(bd_op_ctx *c, const char *name, const bd_resource_type *type,
                         braid_code (*create)(void *arg, bd_resource **out, braid_status *st), void *arg);

// For ops whose user may leave a resource out: makes output 0 a handle of that type that names no resource;
// and whether input `i` is such a handle.
bool bd_output_dummy(bd_op_ctx *c, const bd_resource_type *type);
bool bd_input_is_dummy(bd_op_ctx *c, int i);

// Removes the resource whose handle is input 0 from its container; it may be gone already.
void bd_delete_anonymous(bd_op_ctx *c, const bd_resource_type *type);

#endif

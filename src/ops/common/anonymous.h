// Resources without a name that anybody knows: they come with a variant that ends them when nobody holds it
// any more.
#ifndef BD_OPS_COMMON_ANONYMOUS_H
#define BD_OPS_COMMON_ANONYMOUS_H

#include "op/kernel.h"

// Makes a resource with create(arg) in the default container, under a new name; outputs are its handle and,
// where there is a second one, the variant. False: the kernel has failed.
bool bd_output_anonymous(bd_op_ctx *c, const char *name, const bd_resource_type *type,
                         braid_code (*create)(void *arg, bd_resource **out, braid_status *st), void *arg);

// For what may be left to its user: output 0 is a handle of that type which names nothing; whether input `i`
// is such a one.
bool bd_output_dummy(bd_op_ctx *c, const bd_resource_type *type);
bool bd_input_is_dummy(bd_op_ctx *c, int i);

// Takes the resource whose handle is input 0 out of its container; it may be gone.
void bd_delete_anonymous(bd_op_ctx *c, const bd_resource_type *type);

#endif

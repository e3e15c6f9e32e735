// Handles: how a node that makes a resource (a queue, an accumulator) names it to the nodes that use it.
//
// A handle is a resource tensor, or in older ops a string vector of container and name, or a reference to
// one. A resource without a shared_name is private: its name is drawn anew for each bound kernel, which lives
// as long as its session and takes the resource out of its container at the end.
#ifndef BD_OPS_COMMON_HANDLE_H
#define BD_OPS_COMMON_HANDLE_H

#include "graph/shape_fn.h"
#include "op/kernel.h"

// State of the kernel that makes the resource.
typedef struct bd_handle_source {
    const bd_resource_type *type;
    const char *container; // not owned: of the node; "": the default one
    char *name;            // owned
    bool is_private;
    bd_mutex mu;
    bd_resources *resources; // guarded by mu; where a private resource lies, NULL before the first run
    braid_tensor handle;     // guarded by mu; of a V2 op
    bd_variable *ref;        // guarded by mu; of an older op
} bd_handle_source;

void bd_handle_source_init(bd_handle_source *s, const braid_op *node, const bd_resource_type *type);
void bd_handle_source_fini(bd_handle_source *s);

// Finds the resource or makes it with create(arg) (see bd_resources_lookup_or_create), and makes output 0 its
// handle. The caller gets a reference; NULL: the kernel has failed.
bd_resource *bd_handle_source_output(bd_op_ctx *c, bd_handle_source *s,
                                     braid_code (*create)(void *arg, bd_resource **out, braid_status *st),
                                     void *arg);

// Makes output 0 a handle of the resource of that container ("", NULL: the default one) and name: a resource
// tensor, or the string pair of older ops. False: the kernel has failed.
bool bd_output_handle(bd_op_ctx *c, const char *container, const char *name, const bd_resource_type *type);

// Adds a resource, with the caller's reference, to the step's own container under a new name that begins with
// `name`. Makes output 0 its handle. *stored (NULL: not wanted) is the name; the caller frees it. Returns
// false when the kernel has failed.
bool bd_output_step_resource(bd_op_ctx *c, const char *name, bd_resource *r, char **stored);

// The resource that input `i` is a handle of; the caller gets a reference. NULL: the kernel has failed.
bd_resource *bd_input_resource(bd_op_ctx *c, int i, const bd_resource_type *type);

// Returns whether a handle is of that kind or has no kind. bd_input_resource checks this itself. Returns
// false when the kernel has failed.
bool bd_handle_check_kind(bd_op_ctx *c, const bd_resource_handle *h, const bd_resource_type *type);

// Returns container and name of the handle in input `i`; the caller frees both. False: the input is not a
// handle; the kernel has not failed.
bool bd_input_handle(bd_op_ctx *c, int i, char **container, char **name);

// Shape functions: a handle's own shape, and its check where input 0 is one: a scalar resource, or a vector
// of two strings. The check takes a resource of shape [2], too.
braid_code bd_shape_fn_handle(bd_shape_ctx *c, braid_status *st);
braid_code bd_shape_ctx_handle(bd_shape_ctx *c, braid_status *st);
// The shape of a resource that TensorFlow gives that of two strings: TensorArrays, stacks, accumulators.
braid_code bd_shape_fn_handle_of_2(bd_shape_ctx *c, braid_status *st);
// The check for ops with at most one output besides the handle, a scalar.
braid_code bd_shape_fn_handle_to_scalar(bd_shape_ctx *c, braid_status *st);

#endif

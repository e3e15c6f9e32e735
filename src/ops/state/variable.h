// Shared by ops on reference variables and on resource variables: finding a variable and updating it in
// place.
#ifndef BD_OPS_STATE_VARIABLE_H
#define BD_OPS_STATE_VARIABLE_H

#include "graph/shape_fn.h"
#include "op/kernel.h"

// Which variable a node names.
typedef struct bd_variable_binding {
    const char *container, *name; // not owned: of the node
    braid_dtype dtype;
    braid_shape shape; // declared, perhaps partly known
    bool is_reference;
} bd_variable_binding;

// Reads attrs container, shared_name, dtype and shape. `node` outlives the binding.
void bd_variable_bind(const braid_op *node, bool is_reference, bd_variable_binding *b);

// Finds the variable or makes it, uninitialized; the caller gets a reference. InvalidArgument when the name
// is of a variable of another type or kind.
braid_code bd_variable_find(const bd_variable_binding *b, bd_resources *rs, bd_variable **v,
                            braid_status *st);

// Returns the resource variable that the handle in input `i` names, of type `dtype` (BRAID_INVALID: any),
// with a reference. NULL: the kernel has failed, with NotFound if there is no such variable. A kernel that
// reads the value reports FailedPrecondition instead: the variable is uninitialized.
bd_variable *bd_input_variable(bd_op_ctx *c, int i, braid_dtype dtype);
bd_variable *bd_input_variable_to_read(bd_op_ctx *c, int i, braid_dtype dtype);

// The shape of the variable in input `i`, for shape functions: for a reference the shape of the edge, for a
// handle the shape that its VarHandleOp declares.
braid_shape bd_shape_ctx_variable(const bd_shape_ctx *c, int i);

typedef enum bd_update_op {
    BD_UPDATE_ADD,
    BD_UPDATE_SUB,
    BD_UPDATE_MUL,
    BD_UPDATE_DIV, // integers divided by 0 give 0: refuse that before
    BD_UPDATE_MIN,
    BD_UPDATE_MAX,
    BD_UPDATE_SET
} bd_update_op;

// Updates `count` elements: value[i] += delta[i], ...
typedef void (*bd_update_fn)(void *value, const void *delta, int64_t count);
#define BD_UPDATE_REAL_TYPES_OF(ATTR) ATTR "=float|double|int8|int16|int32|int64|uint8|uint16|half|bfloat16"
#define BD_UPDATE_TYPES_OF(ATTR) BD_UPDATE_REAL_TYPES_OF(ATTR) "|complex64|complex128"
// NULL for an unsupported type: bool has no products, quotients and extremes, complex numbers have no minimum
// and maximum.
bd_update_fn bd_update_function(braid_dtype dtype, bd_update_op op);

// Updates a variable by a tensor of its shape. Without `lock` (and for a reference variable) other kernels
// may read and write it meanwhile. Returns false when the kernel has failed.
bool bd_variable_update(bd_op_ctx *c, bd_variable *v, const braid_tensor *delta, bd_update_fn update,
                        bool lock);

#endif

// Kernels of element-wise ops: binding an op to its numeric loop, shapes, in-place outputs.
#ifndef BD_OPS_COMMON_ELEMENTWISE_H
#define BD_OPS_COMMON_ELEMENTWISE_H

#include "kernels/loops.h"
#include "op/kernel.h"

// Values of a kernel's `types`.
#define BD_FLOATS "T=float|double"
#define BD_NUMBERS "T=float|double|int32|int64"
#define BD_INTEGERS "T=int32|int64"
#define BD_AND_COMPLEX "|complex64|complex128" // behind one of these

// Returns the kernels' enumerator for a type. Asserts that the kernels have the type.
bd_number bd_number_of(braid_dtype dtype);

typedef struct bd_unary_state {
    bd_unary_fn fn;
    bool gives_bool;
} bd_unary_state;

// Prepares y = op(x) for a node (attr T; bool without one).
void bd_unary_bind(const braid_op *node, bd_unary_op op, bd_unary_state *state);
void bd_unary_run(bd_op_ctx *c);

typedef struct bd_binary_state {
    bd_binary_fn fn;
    bd_binary_op op;
} bd_binary_state;

// Prepares z = op(x, y), broadcasting unless it is a gradient.
void bd_binary_bind(const braid_op *node, bd_binary_op op, bd_binary_state *state);
void bd_binary_run(bd_op_ctx *c);

// Fails the kernel of an activation's gradient unless both inputs have one shape.
bool bd_check_same_size(bd_op_ctx *c);

// The `create` of a kernel of one of these ops: BD_UNARY(neg, BD_NEG) defines it for BD_UNARY_KERNEL(neg,
// BD_NUMBERS).
#define BD_UNARY(NAME, OP)                                                                                   \
    static braid_code create_##NAME(const braid_op *node, void *state, braid_status *st)                     \
    {                                                                                                        \
        (void)st;                                                                                            \
        bd_unary_bind(node, OP, state);                                                                      \
        return BRAID_OK;                                                                                     \
    }
#define BD_UNARY_KERNEL(NAME, TYPES)                                                                         \
    BD_KERNELS({.types = (TYPES),                                                                            \
                .flags = BD_KERNEL_WIDENS,                                                                   \
                .state_size = sizeof(bd_unary_state),                                                        \
                .create = create_##NAME,                                                                     \
                .run = bd_unary_run})

#define BD_BINARY(NAME, OP)                                                                                  \
    static braid_code create_##NAME(const braid_op *node, void *state, braid_status *st)                     \
    {                                                                                                        \
        (void)st;                                                                                            \
        bd_binary_bind(node, OP, state);                                                                     \
        return BRAID_OK;                                                                                     \
    }
#define BD_BINARY_KERNEL_ITEM(NAME, TYPES)                                                                   \
    {                                                                                                        \
        .types = (TYPES), .flags = BD_KERNEL_WIDENS, .state_size = sizeof(bd_binary_state),                  \
        .create = create_##NAME, .run = bd_binary_run                                                        \
    }
#define BD_BINARY_KERNEL(NAME, TYPES) BD_KERNELS(BD_BINARY_KERNEL_ITEM(NAME, TYPES))

// Allocates output 0 of a binary op, over an input where that may be. False: the kernel has failed.
braid_tensor *bd_output_over_either(bd_op_ctx *c, braid_dtype dtype, const braid_shape *shape);

#endif

// Products of two matrices, shared by MatMul, _FusedMatMul and BatchMatMul.
#ifndef BD_OPS_LINALG_MATMUL_H
#define BD_OPS_LINALG_MATMUL_H

#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "kernels/primitive_cache.h"
#include "ops/common/elementwise.h"

typedef struct bd_matmul_state {
    bool transpose_a, transpose_b;
    bd_number type;
    bd_primitive_cache cache; // of MatMul and _FusedMatMul
} bd_matmul_state;

#define BD_MATMUL_ATTRS "transpose_a:bool=false; transpose_b:bool=false; "

// The shape of the product of inputs 0 and 1; further inputs are ignored.
braid_code bd_matmul_shape(bd_shape_ctx *c, braid_status *st);

// Reads the attrs into *s; ended by bd_matmul_unbind.
void bd_matmul_bind(const braid_op *node, bd_matmul_state *s);
void bd_matmul_unbind(bd_matmul_state *s);

// Computes output 0 from inputs 0 and 1. NULL: the kernel has failed.
braid_tensor *bd_matmul_compute(bd_op_ctx *c, bd_matmul_state *s);

// The index of the matrix of an operand of shape `x` that belongs to matrix `i` of a result with batch
// dimensions `batch`.
int64_t bd_matmul_batch_at(const braid_shape *x, const braid_shape *batch, int64_t i);

// Sets the gradients of the product of inputs 0 and 1, which the product reads transposed if transpose_a (b);
// with `adjoint` transposed operands are also conjugated. The gradients are further products.
void bd_matmul_gradient(bd_grad_ctx *c, bool adjoint, bool transpose_a, bool transpose_b);

#endif

// Batches of square matrices, computed in double (complex types in double complex). Shared by linear systems,
// determinants and decompositions.
#ifndef BD_OPS_LINALG_LINEAR_ALGEBRA_H
#define BD_OPS_LINALG_LINEAR_ALGEBRA_H

#include "graph/shape_fn.h"
#include "op/kernel.h"

// The bytes of a number in the type of computation: double or double complex.
size_t bd_wide_size(braid_dtype dtype);
// Convert elements of a tensor to the type of computation, and back.
void bd_wide_load(const braid_tensor *t, int64_t at, int64_t count, void *to);
void bd_wide_store(const void *from, int64_t count, const braid_tensor *t, int64_t at);
// Converts real numbers to elements of a tensor, which may be complex.
void bd_wide_store_real(const double *from, int64_t count, const braid_tensor *t, int64_t at);

// Loads matrix `m` of a batch of [n, n], or its conjugate transpose.
void bd_matrix_load(const braid_tensor *t, int64_t m, int64_t n, bool adjoint, void *to);

// Checks that the inputs are matrices with equal batch dimensions. False: the kernel has failed.
bool bd_matrices_check_batch(bd_op_ctx *c);
bool bd_matrices_check_first(bd_op_ctx *c, int count); // for the first inputs only
// The same, and checks that input 0 is [.., n, n].
bool bd_matrices_check(bd_op_ctx *c);
// The same checks in a shape function, as far as shapes are known.
braid_code bd_shape_ctx_square(bd_shape_ctx *c, braid_status *st);

// Nodes of gradients. The product of matrices, or of their adjoints:
braid_out bd_grad_matmul(braid_graph *g, braid_out a, bool adjoint_a, braid_out b, bool adjoint_b);

// a + b, where either may be missing (op NULL).
braid_out bd_grad_sum(braid_graph *g, braid_out a, braid_out b);
// From numbers x [.., N]: 1 / (x[j] - x[i]) in row i and column j, and 0 on the diagonal.
braid_out bd_grad_inverse_differences(braid_graph *g, braid_out x);

#define BD_MATRIX_TYPES "T:type{complex128,complex64,double,float,half}"
#define BD_MATRIX_KERNELS(RUN)                                                                               \
    BD_KERNELS({.types = "T=float|double|complex64|complex128", .flags = BD_KERNEL_EXPENSIVE, .run = (RUN)})

#endif

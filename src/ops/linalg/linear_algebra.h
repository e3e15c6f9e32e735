// Batches of square matrices, computed in double (of complex numbers: in double complex): what linear
// systems, determinants and decompositions share.
#ifndef BD_OPS_LINALG_LINEAR_ALGEBRA_H
#define BD_OPS_LINALG_LINEAR_ALGEBRA_H

#include "graph/shape_fn.h"
#include "op/kernel.h"

// The size of a number that elements of that type are computed in.
size_t bd_wide_size(braid_dtype dtype);
// Elements of a tensor as such numbers, and back.
void bd_wide_load(const braid_tensor *t, int64_t at, int64_t count, void *to);
void bd_wide_store(const void *from, int64_t count, const braid_tensor *t, int64_t at);

// Matrix `m` of a batch of [n, n], or its conjugate transpose.
void bd_matrix_load(const braid_tensor *t, int64_t m, int64_t n, bool adjoint, void *to);

// Checks that the inputs are matrices, of the same batch. False: the kernel has failed.
bool bd_matrices_check_batch(bd_op_ctx *c);
// The same, and that input 0 is [.., n, n].
bool bd_matrices_check(bd_op_ctx *c);
// The same of what a shape function knows.
braid_code bd_shape_ctx_square(bd_shape_ctx *c, braid_status *st);

#define BD_MATRIX_TYPES "T:type{complex128,complex64,double,float,half}"
#define BD_MATRIX_KERNELS(RUN)                                                                               \
    BD_KERNELS({.types = "T=float|double|complex64|complex128", .flags = BD_KERNEL_EXPENSIVE, .run = (RUN)})

#endif

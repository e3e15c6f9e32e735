// Batches of square matrices, computed in double: what linear systems, determinants and decompositions share.
#ifndef BD_OPS_LINEAR_ALGEBRA_H
#define BD_OPS_LINEAR_ALGEBRA_H

#include "graph/shape_fn.h"
#include "op/kernel.h"

// Elements of a tensor of float or double as doubles, and back.
void bd_doubles_load(const braid_tensor *t, int64_t at, int64_t count, double *to);
void bd_doubles_store(const double *from, int64_t count, const braid_tensor *t, int64_t at);

// Matrix `m` of a batch of [n, n], or its transpose.
void bd_matrix_load(const braid_tensor *t, int64_t m, int64_t n, bool transposed, double *to);

// Checks that input 0 is [.., n, n]. False: the kernel has failed.
bool bd_matrices_check(bd_op_ctx *c);
// The same of what a shape function knows.
braid_code bd_shape_ctx_square(bd_shape_ctx *c, braid_status *st);

#define BD_MATRIX_TYPES "T:type{complex128,complex64,double,float,half}"
#define BD_MATRIX_KERNELS(RUN)                                                                               \
    BD_KERNELS({.types = "T=float|double", .flags = BD_KERNEL_EXPENSIVE, .run = (RUN)})

#endif

// Batches of matrices whose computation takes long: one matrix after the other on several threads. A step
// that is cancelled ends after the matrices that have begun.
#ifndef BD_OPS_LINALG_MATRIX_BATCH_H
#define BD_OPS_LINALG_MATRIX_BATCH_H

#include "kernels/lapack.h"
#include "op/kernel.h"

typedef struct bd_matrix_batch {
    int64_t count, rows, columns; // `count` matrices [rows, columns]
    int64_t numbers;              // that one matrix needs as memory, of the type of computation
    // Computes matrix `m` with memory for `numbers` in `work`; runs on several threads.
    bd_lapack_result (*compute)(const bd_op_ctx *c, const void *arg, int64_t m, void *work);
    const void *arg;
    const char *failure; // what the kernel fails with where a matrix gives BD_LAPACK_FAILED
} bd_matrix_batch;

// Fails the kernel (InvalidArgument) where matrices are too large for LAPACK. Callers check before they
// allocate outputs.
bool bd_matrix_batch_fits(bd_op_ctx *c, int64_t rows, int64_t columns);
void bd_matrix_batch_run(bd_op_ctx *c, const bd_matrix_batch *b);

#endif

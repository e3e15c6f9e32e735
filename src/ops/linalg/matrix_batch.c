// Batches of matrices whose computation takes long.
#include "ops/linalg/matrix_batch.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/float_mode.h"
#include "base/interrupt.h"
#include "ops/linalg/linear_algebra.h"

#include <stdatomic.h>

// Multiplications that are worth a thread.
#define WORK_PER_THREAD 100000

typedef struct job {
    const bd_op_ctx *c;
    const bd_matrix_batch *batch;
    size_t bytes;      // of a thread's memory
    atomic_int result; // the first bd_lapack_result that is not OK
} job;

static void fail(job *j, bd_lapack_result result)
{
    int expected = BD_LAPACK_OK;
    atomic_compare_exchange_strong(&j->result, &expected, (int)result);
}

static void compute_some(void *arg, int64_t from, int64_t to)
{
    job *j = arg;
    void *work = bd_try_malloc(j->bytes);
    if (!work) {
        fail(j, BD_LAPACK_NO_MEMORY);
        return;
    }
    const uint64_t mode = bd_float_mode_keep_denormals();
    for (int64_t m = from; m < to && atomic_load(&j->result) == BD_LAPACK_OK && !bd_interrupted(); m++) {
        const bd_lapack_result result = j->batch->compute(j->c, j->batch->arg, m, work);
        if (result != BD_LAPACK_OK) fail(j, result);
    }
    bd_float_mode_restore(mode);
    bd_free(work);
}

bool bd_matrix_batch_fits(bd_op_ctx *c, int64_t rows, int64_t columns)
{
    if (bd_lapack_fits(rows, columns)) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Matrices of %lld by %lld numbers are too large for LAPACK",
               (long long)rows, (long long)columns);
    return false;
}

void bd_matrix_batch_run(bd_op_ctx *c, const bd_matrix_batch *b)
{
    const int64_t cost = b->rows * b->columns * (bd_min(b->rows, b->columns) + 10) + 1;
    job j = {.c = c, .batch = b, .bytes = (size_t)(b->numbers + 1) * bd_wide_size(bd_input(c, 0)->dtype)};
    bd_parallel_for(c, b->count, WORK_PER_THREAD / cost + 1, compute_some, &j);
    const bd_lapack_result result = (bd_lapack_result)atomic_load(&j.result);
    if (result == BD_LAPACK_NO_MEMORY) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when decomposing a matrix of %lld by %lld",
                   (long long)b->rows, (long long)b->columns);
    } else if (result != BD_LAPACK_OK) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s", b->failure);
    }
}

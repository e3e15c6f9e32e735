// Softmax and cross entropy of rows.
//
// Rows are often short (10 classes), so one loop takes the exponentials of a whole block of rows: the kernel
// writes each row minus its maximum to the output, takes exp of the block, and then sums up each row.
#include "base/interrupt.h"
#include "kernels/math_simd.h"
#include "kernels/simd.h"
#include "kernels/simd_loop.h"

#define BLOCK 4096 // elements of a block of rows: 16 KB of float, half of a first cache
#define LANES 8    // partial sums side by side
#define WIDE 64    // partial maxima side by side

static inline int64_t block_rows(int64_t rows, int64_t cols)
{
    int64_t block = cols < BLOCK ? BLOCK / cols : 1;
    return rows < block ? rows : block;
}

// Asks within a block only when its one row is long.
static inline bool is_over(int64_t cols)
{
    return cols > BD_INTERRUPT_BLOCK && bd_interrupted();
}

#define T float
#define NAME(x) x##_f32
#define EXP exp_f32
#define LOG log_f32
#include "kernels/softmax_loops.h"

#define T double
#define NAME(x) x##_f64
#define EXP exp
#define LOG log
#include "kernels/softmax_loops.h"

const bd_softmax_fns BD_SIMD_NAME(bd_softmax_table)[BD_F64 + 1] = {
    {softmax_f32, log_softmax_f32, cross_entropy_f32, sparse_cross_entropy_f32},
    {softmax_f64, log_softmax_f64, cross_entropy_f64, sparse_cross_entropy_f64},
};

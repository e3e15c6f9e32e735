// Reductions of the middle dimension of x [outer, count, inner].
//
// Along contiguous memory (inner = 1) WIDE partial results run side by side; across rows a tile of columns
// collects ROWS rows. Longer ones are halved and the halves' results joined, so a float sum's error grows
// with BLOCK / WIDE (ROWS) and the logarithm of the count, not with the count; and each loop is one the
// compiler vectorizes.
#include "base/interrupt.h"
#include "kernels/simd.h"
#include "kernels/simd_loop.h"
#include <math.h>
#include <string.h>

#define WIDE 64    // results side by side along a long row: some registers of each instruction set
#define LANES 8    // the same along a short row
#define BLOCK 4096 // elements of a row
#define ROWS 128   // rows of a tile
#define TILE 256   // columns of a tile: at most 2 KB, in the first cache
#define NARROW 32  // rows shorter than this are taken several at a time

// The reductions. Integers are added and multiplied as unsigned numbers, so that they wrap around.

#define JOIN(a, b) ((a) + (b))
#define START 0
#define REDUCTION sum_f32
#define T float
#include "kernels/reduce_loops.h"
#define REDUCTION sum_f64
#define T double
#include "kernels/reduce_loops.h"
#define REDUCTION sum_i32
#define T uint32_t
#include "kernels/reduce_loops.h"
#define REDUCTION sum_i64
#define T uint64_t
#include "kernels/reduce_loops.h"
#undef JOIN
#undef START

#define JOIN(a, b) ((a) + (b))
#define TERM(x) ((x) * (x))
#define START 0
#define REDUCTION sum_squares_f32
#define T float
#include "kernels/reduce_loops.h"
#define REDUCTION sum_squares_f64
#define T double
#include "kernels/reduce_loops.h"
#undef JOIN
#undef TERM
#undef START

#define JOIN(a, b) ((a) * (b))
#define START 1
#define REDUCTION prod_f32
#define T float
#include "kernels/reduce_loops.h"
#define REDUCTION prod_f64
#define T double
#include "kernels/reduce_loops.h"
#define REDUCTION prod_i32
#define T uint32_t
#include "kernels/reduce_loops.h"
#define REDUCTION prod_i64
#define T uint64_t
#include "kernels/reduce_loops.h"
#undef JOIN
#undef START

#define JOIN(a, b) ((a) < (b) ? (b) : (a))
#define REDUCTION max_f32
#define T float
#define START -INFINITY
#include "kernels/reduce_loops.h"
#undef START
#define REDUCTION max_f64
#define T double
#define START -(double)INFINITY
#include "kernels/reduce_loops.h"
#undef START
#define REDUCTION max_i32
#define T int32_t
#define START INT32_MIN
#include "kernels/reduce_loops.h"
#undef START
#define REDUCTION max_i64
#define T int64_t
#define START INT64_MIN
#include "kernels/reduce_loops.h"
#undef START
#undef JOIN

#define JOIN(a, b) ((b) < (a) ? (b) : (a))
#define REDUCTION min_f32
#define T float
#define START INFINITY
#include "kernels/reduce_loops.h"
#undef START
#define REDUCTION min_f64
#define T double
#define START (double)INFINITY
#include "kernels/reduce_loops.h"
#undef START
#define REDUCTION min_i32
#define T int32_t
#define START INT32_MAX
#include "kernels/reduce_loops.h"
#undef START
#define REDUCTION min_i64
#define T int64_t
#define START INT64_MAX
#include "kernels/reduce_loops.h"
#undef START
#undef JOIN

#define JOIN(a, b) ((a) & (b))
#define START 1
#define REDUCTION all
#define T uint8_t
#include "kernels/reduce_loops.h"
#undef JOIN
#undef START

#define JOIN(a, b) ((a) | (b))
#define START 0
#define REDUCTION any
#define T uint8_t
#include "kernels/reduce_loops.h"
#undef JOIN
#undef START

#define FI(NAME)                                                                                             \
    {                                                                                                        \
        NAME##_f32, NAME##_f64, NAME##_i32, NAME##_i64, NULL                                                 \
    }

const bd_reduce_fn BD_SIMD_NAME(bd_reduce_table)[BD_REDUCE_COUNT][BD_SIMD_NUMBER_COUNT] = {
    [BD_REDUCE_SUM] = FI(sum),
    [BD_REDUCE_SUM_SQUARES] = {sum_squares_f32, sum_squares_f64, NULL, NULL, NULL},
    [BD_REDUCE_PROD] = FI(prod),
    [BD_REDUCE_MAX] = FI(max),
    [BD_REDUCE_MIN] = FI(min),
    [BD_REDUCE_ALL] = {[BD_B8] = all},
    [BD_REDUCE_ANY] = {[BD_B8] = any},
};

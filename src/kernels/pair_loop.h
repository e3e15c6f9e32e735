// Loops of element-wise functions that are compiled once, unlike those of simd.h.
#ifndef BD_KERNELS_PAIR_LOOP_H
#define BD_KERNELS_PAIR_LOOP_H

#include "kernels/simd.h"
#include "kernels/simd_loop.h"

// Defines NAME, a bd_binary_fn: z[i] = EXPR, an expression of `x` and `y` of type T that gives an R.
#define BD_PAIR_LOOP(NAME, T, R, EXPR)                                                                       \
    static void NAME(const void *xs, const void *ys, void *zs, int64_t n, bd_single single)                  \
    {                                                                                                        \
        int64_t x_step = single != BD_SINGLE_X, y_step = single != BD_SINGLE_Y;                              \
        BD_VECTORIZE                                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const T x = ((const T *)xs)[i * x_step], y = ((const T *)ys)[i * y_step];                        \
            ((R *)zs)[i] = (R)(EXPR);                                                                        \
        }                                                                                                    \
    }

// Defines NAME, a bd_unary_fn: y[i] = EXPR, an expression of `x` of type T that gives an R.
#define BD_SINGLE_LOOP(NAME, T, R, EXPR)                                                                     \
    static void NAME(const void *xs, void *ys, int64_t n)                                                    \
    {                                                                                                        \
        BD_VECTORIZE                                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const T x = ((const T *)xs)[i];                                                                  \
            ((R *)ys)[i] = (R)(EXPR);                                                                        \
        }                                                                                                    \
    }

#endif

// Where the greatest (or least) elements are: one pass in the order of memory, row after row.
#include "kernels/argmax.h"

#include "base/interrupt.h"
#include <math.h>

// WORST is less than or equal to each element; NaN never wins.
#define ARGMAX(NAME, T, BETTER, WORST)                                                                       \
    static void NAME(const T *x, int64_t *at, int64_t outer, int64_t count, int64_t inner)                   \
    {                                                                                                        \
        for (int64_t i = 0; i < outer; i++, x += count * inner, at += inner) {                               \
            for (int64_t k = 0; k < inner && !bd_interrupted(); k++) {                                       \
                T best = (WORST);                                                                            \
                int64_t best_at = 0;                                                                         \
                for (int64_t j = 0; j < count && !bd_interrupted_at(j); j++) {                               \
                    T candidate = x[j * inner + k];                                                          \
                    if (candidate BETTER best) {                                                             \
                        best = candidate;                                                                    \
                        best_at = j;                                                                         \
                    }                                                                                        \
                }                                                                                            \
                at[k] = best_at;                                                                             \
            }                                                                                                \
        }                                                                                                    \
    }

ARGMAX(max_f32, float, >, -INFINITY)
ARGMAX(max_f64, double, >, -INFINITY)
ARGMAX(max_i32, int32_t, >, INT32_MIN)
ARGMAX(max_i64, int64_t, >, INT64_MIN)
ARGMAX(min_f32, float, <, INFINITY)
ARGMAX(min_f64, double, <, INFINITY)
ARGMAX(min_i32, int32_t, <, INT32_MAX)
ARGMAX(min_i64, int64_t, <, INT64_MAX)

void bd_argmax(bd_number type, bool least, const void *x, int64_t *at, int64_t outer, int64_t count,
               int64_t inner)
{
    switch (type) {
    case BD_F32: (least ? min_f32 : max_f32)(x, at, outer, count, inner); break;
    case BD_F64: (least ? min_f64 : max_f64)(x, at, outer, count, inner); break;
    case BD_I32: (least ? min_i32 : max_i32)(x, at, outer, count, inner); break;
    default: (least ? min_i64 : max_i64)(x, at, outer, count, inner); break;
    }
}

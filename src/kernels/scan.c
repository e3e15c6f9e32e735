// Running sums and products along an axis: one pass over memory, row by row.
#include "kernels/scan.h"

#include "base/interrupt.h"
#include <complex.h>

#define DEFINE_SCAN(NAME, T, START, OP)                                                                      \
    static void NAME(const bd_scan *s, const T *x, T *y)                                                     \
    {                                                                                                        \
        int64_t step = s->reverse ? -s->inner : s->inner;                                                    \
        for (int64_t i = 0; i < s->outer * s->inner && !bd_interrupted(); i++) {                             \
            int64_t at = i / s->inner * s->count * s->inner + i % s->inner;                                  \
            T sum = START;                                                                                   \
            if (s->reverse) at += (s->count - 1) * s->inner;                                                 \
            for (int64_t j = 0; j < s->count; j++, at += step) {                                             \
                if (j % BD_INTERRUPT_BLOCK == BD_INTERRUPT_BLOCK - 1 && bd_interrupted()) return;            \
                T before = sum;                                                                              \
                sum = sum OP x[at];                                                                          \
                y[at] = s->exclusive ? before : sum;                                                         \
            }                                                                                                \
        }                                                                                                    \
    }

// Integers wrap around, so they are computed without sign.
DEFINE_SCAN(sum_f32, float, 0, +)
DEFINE_SCAN(sum_f64, double, 0, +)
DEFINE_SCAN(sum_32, uint32_t, 0, +)
DEFINE_SCAN(sum_64, uint64_t, 0, +)
DEFINE_SCAN(sum_c64, float complex, 0, +)
DEFINE_SCAN(sum_c128, double complex, 0, +)
DEFINE_SCAN(product_f32, float, 1, *)
DEFINE_SCAN(product_f64, double, 1, *)
DEFINE_SCAN(product_32, uint32_t, 1, *)
DEFINE_SCAN(product_64, uint64_t, 1, *)
DEFINE_SCAN(product_c64, float complex, 1, *)
DEFINE_SCAN(product_c128, double complex, 1, *)

void bd_scan_run(const bd_scan *s, bd_number type, const void *x, void *y)
{
    switch (type) {
    case BD_F32: (s->product ? product_f32 : sum_f32)(s, x, y); break;
    case BD_F64: (s->product ? product_f64 : sum_f64)(s, x, y); break;
    case BD_I32: (s->product ? product_32 : sum_32)(s, x, y); break;
    case BD_C64: (s->product ? product_c64 : sum_c64)(s, x, y); break;
    case BD_C128: (s->product ? product_c128 : sum_c128)(s, x, y); break;
    default: (s->product ? product_64 : sum_64)(s, x, y); break;
    }
}

// Matrix products of the types that the BLAS does not have, and of float where there is none.
//
// B is packed in panels of NR columns; MR rows of A at a time run along a panel with MR x NR sums in
// registers (Goto and van de Geijn 2008, without the outer two levels: these types are not where the time
// goes).
#include "kernels/simd.h"
#include "kernels/simd_loop.h"
#include <string.h>

#if defined(__AVX512F__)
#define VECTOR 64
#elif defined(__AVX__)
#define VECTOR 32
#else
#define VECTOR 16 // bytes of a register
#endif
#define MR 4   // with two vectors a row, 8 sums hide the latency of a multiplication
#define KC 256 // of the inner dimension at a time: a panel stays in the first cache

// Sums of integers wrap around, so T is unsigned for them.
#define GEMM(NAME, T)                                                                                        \
    enum {                                                                                                   \
        NR_##NAME = 2 * VECTOR / sizeof(T)                                                                   \
    };                                                                                                       \
    /* Packs b[0, kc) x [0, nr) into panel [kc, NR], zeros behind the last column. */                        \
    static void pack_##NAME(const T *b, int64_t row, int64_t column, int64_t kc, int64_t nr, T *panel)       \
    {                                                                                                        \
        for (int64_t k = 0; k < kc; k++, b += row, panel += NR_##NAME) {                                     \
            for (int64_t j = 0; j < NR_##NAME; j++)                                                          \
                panel[j] = j < nr ? b[j * column] : 0;                                                       \
        }                                                                                                    \
    }                                                                                                        \
    /* c [mr, nr] += a [mr, kc] panel. */                                                                    \
    static void tile_##NAME(const T *a, int64_t row, int64_t column, const T *panel, int64_t kc, T *c,       \
                            int64_t c_row, int64_t mr, int64_t nr)                                           \
    {                                                                                                        \
        typedef T vector __attribute__((vector_size(VECTOR)));                                               \
        vector left[MR] = {0}, right[MR] = {0}, p, q;                                                        \
        int64_t rows[MR]; /* a row that is not there reads row 0 again */                                    \
        for (int i = 0; i < MR; i++)                                                                         \
            rows[i] = i < mr ? i * row : 0;                                                                  \
        for (int64_t k = 0; k < kc; k++, a += column, panel += NR_##NAME) {                                  \
            memcpy(&p, panel, VECTOR);                                                                       \
            memcpy(&q, panel + NR_##NAME / 2, VECTOR);                                                       \
            for (int i = 0; i < MR; i++) {                                                                   \
                left[i] += a[rows[i]] * p;                                                                   \
                right[i] += a[rows[i]] * q;                                                                  \
            }                                                                                                \
        }                                                                                                    \
        for (int64_t i = 0; i < mr; i++, c += c_row) {                                                       \
            T sums[NR_##NAME];                                                                               \
            memcpy(sums, &left[i], VECTOR);                                                                  \
            memcpy(sums + NR_##NAME / 2, &right[i], VECTOR);                                                 \
            for (int64_t j = 0; j < nr; j++)                                                                 \
                c[j] += sums[j];                                                                             \
        }                                                                                                    \
    }                                                                                                        \
    static void NAME(const bd_gemm_operands *o)                                                              \
    {                                                                                                        \
        const T *a = o->a, *b = o->b;                                                                        \
        T *c = o->c, panel[KC * NR_##NAME];                                                                  \
        for (int64_t i = 0; i < o->m * o->n; i++)                                                            \
            c[i] = 0;                                                                                        \
        for (int64_t k = 0; k < o->k; k += KC) {                                                             \
            int64_t kc = o->k - k < KC ? o->k - k : KC;                                                      \
            for (int64_t j = 0; j < o->n; j += NR_##NAME) {                                                  \
                int64_t nr = o->n - j < NR_##NAME ? o->n - j : NR_##NAME;                                    \
                pack_##NAME(b + k * o->b_row + j * o->b_column, o->b_row, o->b_column, kc, nr, panel);       \
                for (int64_t i = 0; i < o->m; i += MR) {                                                     \
                    int64_t mr = o->m - i < MR ? o->m - i : MR;                                              \
                    tile_##NAME(a + i * o->a_row + k * o->a_column, o->a_row, o->a_column, panel, kc,        \
                                c + i * o->n + j, o->n, mr, nr);                                             \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }

GEMM(gemm_f32, float)
GEMM(gemm_f64, double)
GEMM(gemm_i32, uint32_t)
GEMM(gemm_i64, uint64_t)

const bd_gemm_fn BD_SIMD_NAME(bd_gemm_table)[BD_I64 + 1] = {gemm_f32, gemm_f64, gemm_i32, gemm_i64};

// Matrix products: float by oneDNN, the other types by our own loops.
#include "kernels/gemm.h"

#include "base/check.h"
#include "base/interrupt.h"
#include "kernels/dnnl.h"
#include "kernels/simd.h"
#include <complex.h>
#include <string.h>

// A large product is made block by block, each by one call of oneDNN. Blocks are cubes where the sizes allow
// it: for flat ones oneDNN (2.6) takes a kernel that is half as fast when rows are a multiple of 4 KB long.
#define CALL_SIDE 1024

// The size of the blocks of a dimension, if those of the others have `others` elements together.
static int64_t block_size(int64_t size, int64_t others)
{
    const int64_t most = BD_DNNL_CALL_MULTIPLICATIONS / others;
    return size < most ? size : most;
}

static int64_t side(int64_t size)
{
    return size < CALL_SIDE ? size : CALL_SIDE;
}

// A part of c.
typedef struct part {
    int64_t row, row_end, column, column_end;
} part;

// True when oneDNN did it; it does not for dimensions beyond its integers.
static bool dnnl_product(const bd_gemm_shape *s, const float *a, const float *b, float *c, const part *p)
{
    const int64_t a_row = s->transpose_a ? 1 : s->k, a_column = s->transpose_a ? s->m : 1;
    const int64_t b_row = s->transpose_b ? 1 : s->n, b_column = s->transpose_b ? s->k : 1;
    const int64_t n = p->column_end - p->column, m = p->row_end - p->row,
                  columns = block_size(n, side(m) * side(s->k)), rows = block_size(m, columns * side(s->k)),
                  depth = block_size(s->k, rows * columns);
    bool ok = true;
    sigset_t before;
    bd_dnnl_one_thread();
    for (int64_t i = p->row; i < p->row_end; i += rows) {
        for (int64_t j = p->column; j < p->column_end; j += columns) {
            for (int64_t l = 0; l < s->k && ok && !bd_interrupted(); l += depth) {
                bd_dnnl_begin_call(&before);
                ok = dnnl_sgemm(s->transpose_a ? 'T' : 'N', s->transpose_b ? 'T' : 'N',
                                bd_min(p->row_end - i, rows), bd_min(p->column_end - j, columns),
                                s->k - l < depth ? s->k - l : depth, 1.0f, a + i * a_row + l * a_column,
                                s->transpose_a ? s->m : s->k, b + l * b_row + j * b_column,
                                s->transpose_b ? s->k : s->n, l > 0 ? 1.0f : 0.0f, c + i * s->n + j,
                                s->n) == dnnl_success;
                bd_dnnl_end_call(&before);
            }
        }
    }
    return ok;
}

// Row by row of c: the rows of b, each times an element of a, are added up. Products of complex matrices are
// rare.
#define COMPLEX_PRODUCT(NAME, T, CONJ)                                                                       \
    static void NAME(const bd_gemm_shape *s, const bd_gemm_operands *o)                                      \
    {                                                                                                        \
        const T *as = o->a, *bs = o->b;                                                                      \
        T *c = o->c;                                                                                         \
        memset(c, 0, (size_t)(o->m * o->n) * sizeof *c);                                                     \
        for (int64_t i = 0; i < o->m; i++, c += o->n) {                                                      \
            for (int64_t l = 0; l < o->k && !bd_interrupted(); l++) {                                        \
                T a = as[i * o->a_row + l * o->a_column];                                                    \
                if (s->conjugate_a) a = CONJ(a);                                                             \
                for (int64_t j = 0; j < o->n; j++) {                                                         \
                    T b = bs[l * o->b_row + j * o->b_column];                                                \
                    c[j] += a * (s->conjugate_b ? CONJ(b) : b);                                              \
                }                                                                                            \
            }                                                                                                \
        }                                                                                                    \
    }
COMPLEX_PRODUCT(product_c64, float complex, conjf)
COMPLEX_PRODUCT(product_c128, double complex, conj)

// ---- Parts for threads ----

// What is worth another thread, some 0.2 ms: it may have to be woken, and be waited for. Smaller products are
// often one of several that run at the same time; those of an LSTM, of 10 million multiplications, became
// slower when they were shared.
#define PART_MULTIPLICATIONS ((double)(32 << 20))
// The larger dimension is cut at multiples of these, the width of oneDNN's own blocks.
#define PART_STEP 64

typedef struct shared {
    const bd_gemm_shape *shape;
    const float *a, *b;
    float *c;
    int64_t step; // rows or columns of a part
    _Atomic int64_t next;
    int64_t parts;
    atomic_bool failed;
} shared;

static bool is_wide(const bd_gemm_shape *s)
{
    return s->n >= s->m;
}

static void take_parts(void *arg, int64_t thread)
{
    (void)thread;
    shared *h = arg;
    const bd_gemm_shape *s = h->shape;
    for (int64_t i; (i = atomic_fetch_add_explicit(&h->next, 1, memory_order_relaxed)) < h->parts;) {
        part p = {0, s->m, 0, s->n};
        int64_t *from = is_wide(s) ? &p.column : &p.row, *to = is_wide(s) ? &p.column_end : &p.row_end;
        *from = i * h->step;
        *to = bd_min(*to, *from + h->step);
        if (!dnnl_product(s, h->a, h->b, h->c, &p)) h->failed = true;
    }
}

static bool product_of_floats(const bd_gemm_shape *s, const float *a, const float *b, float *c,
                              const bd_team *team)
{
    const double all = (double)s->m * (double)s->n * (double)s->k;
    const int64_t size = is_wide(s) ? s->n : s->m, threads = team ? team->threads : 1;
    const double worth = all / PART_MULTIPLICATIONS;
    int64_t parts = worth < (double)(2 * threads) ? (int64_t)worth : 2 * threads;
    if (threads < 2 || parts < 2 || size < 2 * PART_STEP)
        return dnnl_product(s, a, b, c, &(part){0, s->m, 0, s->n});
    shared h = {.shape = s, .a = a, .b = b, .c = c};
    h.step = (size / parts + PART_STEP - 1) / PART_STEP * PART_STEP;
    h.parts = (size + h.step - 1) / h.step;
    team->share(team, bd_min(threads, h.parts), take_parts, &h);
    return !h.failed;
}

void bd_gemm(bd_number type, const bd_gemm_shape *s, const void *a, const void *b, void *c)
{
    bd_gemm_shared(type, s, a, b, c, NULL);
}

void bd_gemm_shared(bd_number type, const bd_gemm_shape *s, const void *a, const void *b, void *c,
                    const bd_team *team)
{
    if (s->m == 0 || s->n == 0 || bd_interrupted()) return;
    if (s->k == 0) {
        memset(c, 0, (size_t)(s->m * s->n) * bd_number_size(type));
        return;
    }
    if (type == BD_F32 && product_of_floats(s, a, b, c, team)) return;
    bd_gemm_operands o = {
        .a = a,
        .b = b,
        .c = c,
        .m = s->m,
        .n = s->n,
        .k = s->k,
        .a_row = s->transpose_a ? 1 : s->k,
        .a_column = s->transpose_a ? s->m : 1,
        .b_row = s->transpose_b ? 1 : s->n,
        .b_column = s->transpose_b ? s->k : 1,
        .c_row = s->n,
        .scale = 1,
    };
    switch (type) {
    case BD_C64: product_c64(s, &o); break;
    case BD_C128: product_c128(s, &o); break;
    default: bd_kernels()->gemm[type](&o);
    }
}

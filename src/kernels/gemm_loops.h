// A matrix product for one type of number. gemm_simd.c includes this file once for each type.
//
// Parameters: T, the type (unsigned for integers, so that sums wrap around); NAME(x), the name of function x
// for the type.

#define NR ((int64_t)(2 * VECTOR / sizeof(T)))

// Packs scale * b[0, kc) x [0, nr) into panel [kc, NR], zeros behind the last column.
static void NAME(pack)(const T *b, int64_t row, int64_t column, int64_t kc, int64_t nr, T scale, T *panel)
{
    for (int64_t k = 0; k < kc; k++, b += row, panel += NR) {
        for (int64_t j = 0; j < NR; j++)
            panel[j] = j < nr ? scale * b[j * column] : 0;
    }
}

// c [mr, nr] += a [mr, kc] panel.
static void NAME(tile)(const T *a, int64_t row, int64_t column, const T *panel, int64_t kc, T *c,
                       int64_t c_row, int64_t mr, int64_t nr)
{
    typedef T vector __attribute__((vector_size(VECTOR)));
    vector left[MR] = {0}, right[MR] = {0}, p, q;
    int64_t rows[MR]; // a missing row reads row 0
    for (int i = 0; i < MR; i++)
        rows[i] = i < mr ? i * row : 0;
    for (int64_t k = 0; k < kc; k++, a += column, panel += NR) {
        memcpy(&p, panel, VECTOR);
        memcpy(&q, panel + NR / 2, VECTOR);
        for (int i = 0; i < MR; i++) {
            left[i] += a[rows[i]] * p;
            right[i] += a[rows[i]] * q;
        }
    }
    for (int64_t i = 0; i < mr; i++, c += c_row) {
        T sums[NR];
        memcpy(sums, &left[i], VECTOR);
        memcpy(sums + NR / 2, &right[i], VECTOR);
        for (int64_t j = 0; j < nr; j++)
            c[j] += sums[j];
    }
}

static void NAME(gemm)(const bd_gemm_operands *o)
{
    const T *a = o->a, *b = o->b;
    T *c = o->c, panel[KC * NR];
    for (int64_t i = 0; i < o->m && !o->adds; i++)
        memset(c + i * o->c_row, 0, (size_t)o->n * sizeof *c);
    for (int64_t k = 0; k < o->k; k += KC) {
        int64_t kc = o->k - k < KC ? o->k - k : KC;
        for (int64_t j = 0; j < o->n; j += NR) {
            int64_t nr = o->n - j < NR ? o->n - j : NR;
            NAME(pack)(b + k * o->b_row + j * o->b_column, o->b_row, o->b_column, kc, nr, (T)o->scale, panel);
            for (int64_t i = 0; i < o->m && !bd_interrupted(); i += MR) {
                int64_t mr = o->m - i < MR ? o->m - i : MR;
                NAME(tile)
                (a + i * o->a_row + k * o->a_column, o->a_row, o->a_column, panel, kc, c + i * o->c_row + j,
                 o->c_row, mr, nr);
            }
        }
    }
}

#undef NR
#undef T
#undef NAME

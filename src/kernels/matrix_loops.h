// The algorithms of matrix.h for one type of number, which the file that includes this has defined: NUMBER,
// NAME(x) for the functions' names, SIZE_OF(x) for the absolute value, CONJUGATE(x) and REAL(x).

static int NAME(lu)(NUMBER *a, int64_t *perm, int64_t n)
{
    int sign = 1;
    for (int64_t i = 0; i < n; i++)
        perm[i] = i;
    for (int64_t k = 0; k < n && !bd_interrupted(); k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            if (SIZE_OF(a[i * n + k]) > SIZE_OF(a[pivot * n + k])) pivot = i;
        if (!(SIZE_OF(a[pivot * n + k]) > 0)) return 0; // also NaN
        if (pivot != k) {
            for (int64_t j = 0; j < n; j++)
                NAME(swap)(&a[k * n + j], &a[pivot * n + j]);
            int64_t row = perm[k];
            perm[k] = perm[pivot];
            perm[pivot] = row;
            sign = -sign;
        }
        for (int64_t i = k + 1; i < n && !bd_interrupted(); i++) {
            NUMBER factor = a[i * n + k] /= a[k * n + k];
            for (int64_t j = k + 1; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return sign;
}

static bool NAME(substitute)(const NUMBER *a, int64_t n, bool lower, bool unit, NUMBER *x, int64_t count)
{
    for (int64_t step = 0; step < n; step++) {
        int64_t i = lower ? step : n - 1 - step;
        int64_t from = lower ? 0 : i + 1, to = lower ? i : n;
        for (int64_t j = from; j < to && !bd_interrupted(); j++)
            for (int64_t k = 0; k < count; k++)
                x[i * count + k] -= a[i * n + j] * x[j * count + k];
        if (unit) continue;
        if (bd_interrupted()) return true;
        if (a[i * n + i] == 0) return false;
        for (int64_t k = 0; k < count; k++)
            x[i * count + k] /= a[i * n + i];
    }
    return true;
}

static bool NAME(cholesky)(NUMBER *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        if (bd_interrupted()) return true;
        for (int64_t j = 0; j <= i && !bd_interrupted(); j++) {
            NUMBER sum = a[i * n + j];
            for (int64_t k = 0; k < j; k++)
                sum -= a[i * n + k] * CONJUGATE(a[j * n + k]);
            if (i == j && REAL(sum) <= 0) return false; // a NaN goes on into L
            a[i * n + j] = i == j ? sqrt(REAL(sum)) : sum / a[j * n + j];
        }
        for (int64_t j = i + 1; j < n; j++)
            a[i * n + j] = 0;
    }
    return true;
}

static void NAME(adjoint)(NUMBER *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < i && !bd_interrupted(); j++)
            NAME(swap)(&a[i * n + j], &a[j * n + i]);
    }
    for (int64_t i = 0; i < n * n; i++)
        a[i] = CONJUGATE(a[i]);
}

static bool NAME(tridiagonal)(NUMBER *upper, NUMBER *main, NUMBER *lower, NUMBER *fill, int64_t n,
                              bool pivoting, NUMBER *x, int64_t count)
{
    // Forward: row i has main[i], upper[i] and, after an exchange, fill[i] two places on.
    for (int64_t i = 0; i < n; i++)
        fill[i] = 0;
    for (int64_t i = 0; i + 1 < n && !bd_interrupted_at(i); i++) {
        if (pivoting && SIZE_OF(lower[i + 1]) > SIZE_OF(main[i])) { // exchange rows i and i + 1
            NAME(swap)(&main[i], &lower[i + 1]);
            NAME(swap)(&upper[i], &main[i + 1]);
            NAME(swap)(&fill[i], &upper[i + 1]);
            for (int64_t k = 0; k < count; k++)
                NAME(swap)(&x[i * count + k], &x[(i + 1) * count + k]);
        }
        if (main[i] == 0) return false;
        NUMBER factor = lower[i + 1] / main[i];
        main[i + 1] -= factor * upper[i];
        upper[i + 1] -= factor * fill[i];
        for (int64_t k = 0; k < count; k++)
            x[(i + 1) * count + k] -= factor * x[i * count + k];
    }
    if (n > 0 && main[n - 1] == 0) return false;
    for (int64_t i = n - 1; i >= 0 && !bd_interrupted(); i--) {
        for (int64_t k = 0; k < count; k++) {
            NUMBER sum = x[i * count + k];
            if (i + 1 < n) sum -= upper[i] * x[(i + 1) * count + k];
            if (i + 2 < n) sum -= fill[i] * x[(i + 2) * count + k];
            x[i * count + k] = sum / main[i];
        }
    }
    return true;
}

// Adds `factor` times the `count` numbers of x to y.
static void NAME(add_row)(NUMBER *y, NUMBER factor, const NUMBER *x, int64_t count)
{
    for (int64_t j = 0; j < count; j++)
        y[j] += factor * x[j];
}

// B -= factor v (v^H B) for rows [k, m) of B [m, n], columns from `from` on; v is 1 and then column k of `a`
// below the diagonal. `row` is memory for n numbers.
static void NAME(reflect)(const NUMBER *a, int64_t stride, int64_t m, int64_t k, NUMBER factor, NUMBER *b,
                          int64_t n, int64_t from, NUMBER *row)
{
    for (int64_t j = from; j < n; j++)
        row[j] = 0;
    for (int64_t i = k; i < m && !bd_interrupted(); i++)
        NAME(add_row)(row + from, i == k ? 1 : CONJUGATE(a[i * stride + k]), b + i * n + from, n - from);
    for (int64_t i = k; i < m && !bd_interrupted(); i++)
        NAME(add_row)(b + i * n + from, -factor * (i == k ? 1 : a[i * stride + k]), row + from, n - from);
}

static void NAME(qr)(NUMBER *a, int64_t m, int64_t n, NUMBER *q, int64_t columns, NUMBER *work)
{
    int64_t pivots = m < n ? m : n;
    NUMBER *factors = work, *row = work + pivots;
    for (int64_t k = 0; k < pivots && !bd_interrupted(); k++) {
        NUMBER first = a[k * n + k];
        double below = 0, imaginary = SIZE_OF(first - REAL(first));
        for (int64_t i = k + 1; i < m; i++)
            below = hypot(below, SIZE_OF(a[i * n + k]));
        factors[k] = 0;
        if (below == 0 && imaginary == 0) continue;
        double length = hypot(SIZE_OF(first), below), pivot = REAL(first) >= 0 ? -length : length;
        for (int64_t i = k + 1; i < m; i++)
            a[i * n + k] /= first - pivot;
        factors[k] = (pivot - first) / pivot;
        NAME(reflect)(a, n, m, k, CONJUGATE(factors[k]), a, n, k + 1, row);
        a[k * n + k] = pivot;
    }
    for (int64_t i = 0; i < m * columns; i++)
        q[i] = i / columns == i % columns;
    for (int64_t k = pivots - 1; k >= 0; k--)
        NAME(reflect)(a, n, m, k, factors[k], q, columns, 0, row);
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n && j < i; j++)
            a[i * n + j] = 0;
    }
}

// Decompositions of small matrices of doubles, and triangular systems.
#include "kernels/matrix.h"

#include <math.h>

int bd_matrix_lu(double *a, int64_t *perm, int64_t n)
{
    int sign = 1;
    for (int64_t i = 0; i < n; i++)
        perm[i] = i;
    for (int64_t k = 0; k < n; k++) {
        int64_t pivot = k;
        for (int64_t i = k + 1; i < n; i++)
            if (fabs(a[i * n + k]) > fabs(a[pivot * n + k])) pivot = i;
        if (a[pivot * n + k] == 0 || isnan(a[pivot * n + k])) return 0;
        if (pivot != k) {
            for (int64_t j = 0; j < n; j++) {
                double swap = a[k * n + j];
                a[k * n + j] = a[pivot * n + j];
                a[pivot * n + j] = swap;
            }
            int64_t swap = perm[k];
            perm[k] = perm[pivot];
            perm[pivot] = swap;
            sign = -sign;
        }
        for (int64_t i = k + 1; i < n; i++) {
            double factor = a[i * n + k] /= a[k * n + k];
            for (int64_t j = k + 1; j < n; j++)
                a[i * n + j] -= factor * a[k * n + j];
        }
    }
    return sign;
}

bool bd_matrix_substitute(const double *a, int64_t n, bool lower, bool unit, double *x, int64_t count)
{
    for (int64_t step = 0; step < n; step++) {
        int64_t i = lower ? step : n - 1 - step;
        int64_t from = lower ? 0 : i + 1, to = lower ? i : n;
        for (int64_t j = from; j < to; j++)
            for (int64_t k = 0; k < count; k++)
                x[i * count + k] -= a[i * n + j] * x[j * count + k];
        if (unit) continue;
        if (a[i * n + i] == 0) return false;
        for (int64_t k = 0; k < count; k++)
            x[i * count + k] /= a[i * n + i];
    }
    return true;
}

bool bd_matrix_cholesky(double *a, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double sum = a[i * n + j];
            for (int64_t k = 0; k < j; k++)
                sum -= a[i * n + k] * a[j * n + k];
            if (i == j && !(sum > 0)) return false; // also NaN
            a[i * n + j] = i == j ? sqrt(sum) : sum / a[j * n + j];
        }
        for (int64_t j = i + 1; j < n; j++)
            a[i * n + j] = 0;
    }
    return true;
}

static void swap(double *a, double *b)
{
    double t = *a;
    *a = *b;
    *b = t;
}

bool bd_matrix_tridiagonal(double *upper, double *main, double *lower, double *fill, int64_t n, bool pivoting,
                           double *x, int64_t count)
{
    // Forward: row i has main[i], upper[i] and, after an exchange, fill[i] two places on.
    for (int64_t i = 0; i < n; i++)
        fill[i] = 0;
    for (int64_t i = 0; i + 1 < n; i++) {
        if (pivoting && fabs(lower[i + 1]) > fabs(main[i])) { // exchange rows i and i + 1
            swap(&main[i], &lower[i + 1]);
            swap(&upper[i], &main[i + 1]);
            swap(&fill[i], &upper[i + 1]);
            for (int64_t k = 0; k < count; k++)
                swap(&x[i * count + k], &x[(i + 1) * count + k]);
        }
        if (main[i] == 0) return false;
        double factor = lower[i + 1] / main[i];
        main[i + 1] -= factor * upper[i];
        upper[i + 1] -= factor * fill[i];
        for (int64_t k = 0; k < count; k++)
            x[(i + 1) * count + k] -= factor * x[i * count + k];
    }
    if (n > 0 && main[n - 1] == 0) return false;
    for (int64_t i = n - 1; i >= 0; i--) {
        for (int64_t k = 0; k < count; k++) {
            double sum = x[i * count + k];
            if (i + 1 < n) sum -= upper[i] * x[(i + 1) * count + k];
            if (i + 2 < n) sum -= fill[i] * x[(i + 2) * count + k];
            x[i * count + k] = sum / main[i];
        }
    }
    return true;
}

// Gains and values of nodes, and the QR factorization for full hessians.
#include "ops/gradient_trees/node_stats.h"

#include "base/interrupt.h"
#include "ops/gradient_trees/learner.h"
#include <float.h>
#include <math.h>
#include <string.h>

static const float EPSILON = 1e-6f;

// Sums of squares are made of products of floats, in double, as TensorFlow makes them.
static double square_sum(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (double)(x[i] * x[i]);
    return sum;
}

static bool is_small(const float *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += (double)(x[i] * x[i]);
        if (sum > (double)(EPSILON * EPSILON)) return false;
    }
    return true;
}

bool bd_gbt_is_almost_zero(const bd_gbt_node_rule *r, const float *sums)
{
    return is_small(sums, r->gradients) && is_small(sums + r->gradients, r->hessians);
}

// ---- The sum of products, in the order of vectors of 8 ----

enum {
    LANES = 8
};

// -g . w, added up as Eigen does with AVX, so that ties between splits are the same.
static float negative_dot(const float *g, const float *w, int32_t n)
{
    float lanes[2][LANES] = {{0}}, sum;
    const int32_t whole = n / LANES * LANES, paired = n / (2 * LANES) * (2 * LANES);
    int32_t i = 0;
    if (whole == 0) {
        if (n == 0) return 0;
        sum = -g[0] * w[0];
        i = 1;
    } else {
        for (; i < (paired ? paired : LANES); i++) {
            float *lane = &lanes[i / LANES % 2][i % LANES];
            *lane = i < 2 * LANES ? -g[i] * w[i] : *lane + -g[i] * w[i];
        }
        float *p = lanes[0];
        for (int k = 0; k < LANES && paired > 0; k++)
            p[k] += lanes[1][k];
        for (; i < whole; i++)
            p[i % LANES] += -g[i] * w[i];
        for (int k = 0; k < LANES / 2; k++)
            p[k] += p[k + LANES / 2];
        sum = (p[0] + p[2]) + (p[1] + p[3]);
    }
    for (; i < n; i++)
        sum += -g[i] * w[i];
    return sum;
}

// ---- QR with exchange of columns ----

static float column_norm2(const float *a, int32_t n, int32_t column, int32_t from)
{
    float sum = 0;
    for (int32_t i = from; i < n; i++)
        sum += a[column * n + i] * a[column * n + i];
    return sum;
}

static void swap_columns(float *a, int32_t n, int32_t i, int32_t k)
{
    for (int32_t row = 0; row < n && i != k; row++) {
        const float x = a[i * n + row];
        a[i * n + row] = a[k * n + row];
        a[k * n + row] = x;
    }
}

// Applies I - tau v v^T with v = (1, essential) to x[0, n).
static void reflect(const float *essential, float tau, float *x, int32_t n)
{
    float dot = x[0];
    for (int32_t i = 1; i < n; i++)
        dot += essential[i - 1] * x[i];
    x[0] -= tau * dot;
    for (int32_t i = 1; i < n; i++)
        x[i] -= tau * dot * essential[i - 1];
}

// Makes a column's part below the diagonal the reflection that clears it. Returns tau.
static float make_reflection(float *x, int32_t n)
{
    float tail = 0;
    for (int32_t i = 1; i < n; i++)
        tail += x[i] * x[i];
    if (tail <= FLT_MIN) {
        for (int32_t i = 1; i < n; i++)
            x[i] = 0;
        return 0;
    }
    const float first = x[0], norm = sqrtf(first * first + tail), beta = first >= 0 ? -norm : norm;
    for (int32_t i = 1; i < n; i++)
        x[i] /= first - beta;
    x[0] = beta;
    return (beta - first) / beta;
}

void bd_gbt_solve(float *a, float *b, int32_t n, float *x, float *scratch)
{
    float *order = scratch; // of the columns: whole numbers
    float largest = 0;
    for (int32_t k = 0; k < n; k++) {
        order[k] = (float)k;
        largest = fmaxf(largest, column_norm2(a, n, k, 0));
    }
    const float least = largest * FLT_EPSILON * FLT_EPSILON / (float)n;
    int32_t rank = n;
    for (int32_t k = 0; k < n && !bd_interrupted(); k++) {
        int32_t best = k;
        float best_norm = column_norm2(a, n, k, k);
        for (int32_t j = k + 1; j < n; j++) {
            const float norm = column_norm2(a, n, j, k);
            if (norm > best_norm) {
                best = j;
                best_norm = norm;
            }
        }
        if (rank == n && best_norm < least * (float)(n - k)) rank = k;
        swap_columns(a, n, k, best);
        const float was = order[k];
        order[k] = order[best];
        order[best] = was;
        float *column = a + (size_t)k * n + k;
        const float tau = make_reflection(column, n - k);
        for (int32_t j = k + 1; j < n; j++)
            reflect(column + 1, tau, a + (size_t)j * n + k, n - k);
        if (k < rank) reflect(column + 1, tau, b + k, n - k);
    }
    for (int32_t k = rank - 1; k >= 0; k--) {
        for (int32_t j = k + 1; j < rank; j++)
            b[k] -= a[(size_t)j * n + k] * b[j];
        b[k] /= a[(size_t)k * n + k];
    }
    for (int32_t k = 0; k < n; k++)
        x[(int32_t)order[k]] = k < rank ? b[k] : 0;
}

// ---- Gains ----

size_t bd_gbt_scratch_size(const bd_gbt_node_rule *r)
{
    const size_t n = (size_t)r->gradients;
    return r->strategy == BD_GBT_FULL_HESSIAN ? n * n + 4 * n + 2 : n + 2;
}

static float gain_of_class(const bd_gbt_node_rule *r, const float *sums, float *value)
{
    float g = sums ? sums[0] : 0;
    *value = 0;
    if (!sums) return 0;
    const float h = sums[r->gradients];
    if (bd_gbt_is_almost_zero(r, sums) || h <= r->min_weight) return 0;
    if (r->l1 > 0) {
        if (g > r->l1)
            g -= r->l1;
        else if (g < -r->l1)
            g += r->l1;
        else
            return 0;
    }
    *value = -g / (h + r->l2);
    return *value * -g;
}

// Solves (H + l2) w = -g.
static void solve(const bd_gbt_node_rule *r, const float *sums, float *values)
{
    const int32_t n = r->gradients;
    float *matrix = r->scratch, *right = matrix + (size_t)n * n, *rest = right + n;
    memcpy(matrix, sums + n, sizeof *matrix * (size_t)n * n);
    memcpy(right, sums, sizeof *right * (size_t)n);
    for (int32_t i = 0; i < n; i++)
        matrix[(size_t)i * n + i] += r->l2;
    bd_gbt_solve(matrix, right, n, values, rest);
    for (int32_t i = 0; i < n; i++)
        values[i] = -values[i];
}

// The same of a diagonal hessian with zeros, which give no value.
static void solve_diagonal(const bd_gbt_node_rule *r, const float *sums, float *values)
{
    const int32_t n = r->gradients;
    const float *h = sums + n;
    float largest = 0;
    for (int32_t i = 0; i < n; i++)
        largest = fmaxf(largest, fabsf(h[i] + r->l2));
    for (int32_t i = 0; i < n; i++) {
        const float own = h[i] + r->l2;
        values[i] = fabsf(own) < largest * FLT_EPSILON / sqrtf((float)n) ? 0 : -(sums[i] / own);
    }
}

static bool is_invertible(const bd_gbt_node_rule *r, const float *h)
{
    for (int32_t i = 0; i < r->gradients; i++)
        if (h[i] + r->l2 == 0) return false;
    return true;
}

float bd_gbt_node_gain(const bd_gbt_node_rule *r, const float *sums, bd_gbt_node_values *out)
{
    const int32_t n = r->gradients;
    float *values = out ? out->values : r->scratch + bd_gbt_scratch_size(r) - n;
    if (r->strategy == BD_GBT_TREE_PER_CLASS) {
        float value;
        const float gain = gain_of_class(r, sums, &value);
        if (out) {
            out->values[0] = value;
            out->count = 1;
        }
        return gain;
    }
    if (out) out->count = 0;
    if (!sums || n == 0 || bd_gbt_is_almost_zero(r, sums) ||
        (float)sqrt(square_sum(sums + n, r->hessians)) <= r->min_weight)
        return 0;
    if (r->strategy == BD_GBT_DIAGONAL_HESSIAN && is_invertible(r, sums + n)) {
        for (int32_t i = 0; i < n; i++)
            values[i] = -(1.0f / (sums[n + i] + r->l2)) * sums[i];
    } else if (r->strategy == BD_GBT_DIAGONAL_HESSIAN) {
        solve_diagonal(r, sums, values);
    } else {
        solve(r, sums, values);
    }
    if (out) out->count = n;
    return negative_dot(sums, values, n);
}

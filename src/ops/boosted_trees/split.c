// Weights of leaves of several logits.
#include "ops/boosted_trees/split.h"

#include "kernels/lapack.h"
#include <float.h>
#include <math.h>
#include <string.h>

int64_t bd_leaf_scratch(const bd_split_rule *rule)
{
    if (rule->logits == 1) return 0;
    return bd_lapack_fits(rule->logits, rule->logits) ? rule->logits * (rule->logits + 1) : -1;
}

static float gain_of(const float *g, const float *weight, int64_t n)
{
    float gain = 0;
    for (int64_t i = 0; i < n; i++)
        gain -= g[i] * weight[i];
    return gain;
}

static bool solve_diagonal(const bd_split_rule *rule, const float *g, const float *h, float *weight)
{
    for (int64_t i = 0; i < rule->logits; i++) {
        if (h[i] + rule->l2 == 0) return false;
        weight[i] = -(1 / (h[i] + rule->l2)) * g[i];
    }
    return true;
}

// The least weights where the matrix is singular.
static bool solve_matrix(const bd_split_rule *rule, const float *g, const float *h, float *weight,
                         double *scratch)
{
    const int64_t n = rule->logits;
    double *a = scratch, *b = scratch + n * n;
    memset(a, 0, sizeof *a * (size_t)(n * n));
    for (int64_t i = 0; i < rule->hessians; i++) {
        if (!isfinite(h[i])) return false;
        a[rule->hessians == n ? i * (n + 1) : i] = (double)h[i];
    }
    for (int64_t i = 0; i < n; i++) {
        if (!isfinite(g[i])) return false;
        a[i * (n + 1)] += (double)rule->l2;
        b[i] = (double)g[i];
    }
    if (bd_lapack_least_squares(false, a, n, n, b, 1, (double)FLT_EPSILON * (double)n) != BD_LAPACK_OK)
        return false;
    for (int64_t i = 0; i < n; i++)
        weight[i] = (float)-b[i];
    return true;
}

float bd_leaf_weights(const bd_split_rule *rule, const float *g, const float *h, float *weight,
                      double *scratch)
{
    float gain;
    if (rule->logits == 1) {
        weight[0] = bd_leaf_weight(g[0], h[0], rule->l1, rule->l2, &gain);
        return gain;
    }
    if (rule->hessians == rule->logits && solve_diagonal(rule, g, h, weight))
        return gain_of(g, weight, rule->logits);
    if (!solve_matrix(rule, g, h, weight, scratch)) return NAN;
    return gain_of(g, weight, rule->logits);
}

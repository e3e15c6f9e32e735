// Local response normalization, row by row.
#include "kernels/lrn.h"

#include <math.h>

// The neighbours of element `i`: [*from, *to).
static void reach(const bd_lrn *n, int64_t i, int64_t *from, int64_t *to)
{
    *from = i > n->radius ? i - n->radius : 0;
    *to = n->depth - i > n->radius ? i + n->radius + 1 : n->depth;
}

static float norm(const bd_lrn *n, const float *x, int64_t i)
{
    int64_t from, to;
    float sum = 0;
    reach(n, i, &from, &to);
    for (int64_t k = from; k < to; k++)
        sum += x[k] * x[k];
    return n->bias + n->alpha * sum;
}

void bd_lrn_rows(const bd_lrn *n, const float *x, float *y, int64_t from, int64_t to)
{
    for (int64_t row = from; row < to; row++) {
        const float *in = x + row * n->depth;
        float *out = y + row * n->depth;
        for (int64_t i = 0; i < n->depth; i++)
            out[i] = in[i] * powf(norm(n, in, i), -n->beta);
    }
}

// Each element has a part in the norms of its neighbours.
static void grad_row(const bd_lrn *n, const float *dy, const float *x, const float *y, float *dx)
{
    for (int64_t i = 0; i < n->depth; i++)
        dx[i] = 0;
    for (int64_t i = 0; i < n->depth; i++) {
        int64_t from, to;
        float base = norm(n, x, i), shared = -2 * n->alpha * n->beta * y[i] / base * dy[i];
        reach(n, i, &from, &to);
        for (int64_t k = from; k < to; k++)
            dx[k] += shared * x[k];
        dx[i] += powf(base, -n->beta) * dy[i];
    }
}

void bd_lrn_grad_rows(const bd_lrn *n, const float *dy, const float *x, const float *y, float *dx,
                      int64_t from, int64_t to)
{
    for (int64_t row = from; row < to; row++) {
        int64_t at = row * n->depth;
        grad_row(n, dy + at, x + at, y + at, dx + at);
    }
}

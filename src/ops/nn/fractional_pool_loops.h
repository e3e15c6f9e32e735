// Fractional pooling and its gradients for one type of number. fractional_pool.c includes this file once for
// each type.
//
// Parameters: T, the type; U, the type of sums (unsigned for integers, so that they wrap around); NAME(x),
// the name of function x for the type.

static void NAME(cell)(const cells *p, pooling kind, int64_t b, int64_t h, int64_t w, int64_t c, const T *x,
                       T *y, T *dx, double *sums)
{
    int64_t row, row_to, from, to, found = -1;
    reach(p, 0, h, &row, &row_to);
    reach(p, 1, w, &from, &to);
    T *out = y + ((b * p->out[0] + h) * p->out[1] + w) * p->depth + c, sum = 0;
    int64_t count = (row_to - row) * (to - from);
    for (; row < row_to; row++) {
        for (int64_t column = from; column < to; column++) {
            int64_t i = ((b * p->in[0] + row) * p->in[1] + column) * p->depth + c;
            if (kind == POOL_MEAN) {
                sum = (T)((U)sum + (U)x[i]);
            } else if (kind == POOL_MEAN_GRAD) {
                sums[i] += (double)*out / (double)count;
            } else if (found < 0 || x[found] < x[i]) {
                found = i;
            }
        }
    }
    if (kind == POOL_MAX && found >= 0) *out = x[found];
    if (kind == POOL_MEAN && count > 0) *out = sum / (T)count;
    if (kind == POOL_MAX_GRAD && found >= 0) dx[found] = (T)((U)dx[found] + (U)*out);
}

static void NAME(pool)(const cells *p, pooling kind, const void *x, void *y, void *dx, double *sums)
{
    for (int64_t b = 0; b < p->batch; b++) {
        for (int64_t h = 0; h < p->out[0]; h++) {
            for (int64_t w = 0; w < p->out[1] && !bd_interrupted(); w++) {
                for (int64_t c = 0; c < p->depth; c++)
                    NAME(cell)(p, kind, b, h, w, c, x, y, dx, sums);
            }
        }
    }
    for (int64_t i = 0;
         kind == POOL_MEAN_GRAD && i < p->batch * p->in[0] * p->in[1] * p->depth && !bd_interrupted_at(i);
         i++)
        ((T *)dx)[i] = (T)sums[i];
}

#undef T
#undef U
#undef NAME

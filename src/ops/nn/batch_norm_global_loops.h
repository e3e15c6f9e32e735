// Batch normalization with global moments and its gradient over [outer, channels], for one type of number.
// batch_norm_global.c includes this file once for each type.
//
// Parameters: T, the type; SQRT(x); NAME(x), the name of function x for the type.

static T NAME(inverse)(const global_state *s, T variance)
{
    return 1 / SQRT(variance + (T)s->epsilon);
}

static void NAME(normalize)(const global_state *s, const bd_channels *v, const T *x, const T *mean,
                            const T *variance, const T *beta, const T *gamma, T *y)
{
    for (int64_t k = 0; k < v->channels; k++) {
        T factor = NAME(inverse)(s, variance[k]) * (s->scales ? gamma[k] : 1);
        for (int64_t r = 0; r < v->outer && !bd_interrupted_at(r); r++) {
            const int64_t i = r * v->channels + k;
            y[i] = (x[i] - mean[k]) * factor + beta[k];
        }
    }
}

// out: dx, dm, dv, db, dg; dx may be x or dy
static void NAME(gradients)(const global_state *s, const bd_channels *v, const T *x, const T *mean,
                            const T *variance, const T *gamma, const T *dy, T *const out[5])
{
    for (int64_t k = 0; k < v->channels; k++) {
        T inverse = NAME(inverse)(s, variance[k]), scale = s->scales ? gamma[k] : 1;
        double sum = 0, product = 0;
        for (int64_t r = 0; r < v->outer && !bd_interrupted_at(r); r++) {
            const int64_t i = r * v->channels + k;
            sum += (double)dy[i];
            product += (double)(dy[i] * (x[i] - mean[k]));
            out[0][i] = dy[i] * inverse * scale;
        }
        out[1][k] = -(T)sum * inverse * scale;
        out[2][k] = (T)product * scale * inverse * (T)-0.5 / (variance[k] + (T)s->epsilon);
        out[3][k] = (T)sum;
        out[4][k] = s->scales ? (T)product * inverse : 0;
    }
}

#undef T
#undef SQRT
#undef NAME

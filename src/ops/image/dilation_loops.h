// Dilation for one type of number. dilation.c includes this file once for each type.
//
// Parameters: T, the type; U, the type of sums (unsigned for integers, so that they wrap around); LEAST, the
// least number; NAME(x), the name of function x for the type.

// Returns the greatest sum of the window at output position `at`, and its place in *f.
static T NAME(greatest)(const dilation *d, const T *x, const T *filter, int64_t first, const int64_t at[2],
                        found *f)
{
    T best = (LEAST);
    int64_t row = at[0] * d->stride[0] - d->fit[0].before, column = at[1] * d->stride[1] - d->fit[1].before;
    f->in = first + ((row < 0 ? 0 : row) * d->in[1] + (column < 0 ? 0 : column)) * d->depth;
    f->filter = 0;
    for (int64_t i = 0; i < d->filter[0]; i++) {
        int64_t h = row + i * d->rate[0];
        if (h < 0 || h >= d->in[0]) continue;
        for (int64_t j = 0; j < d->filter[1]; j++) {
            int64_t w = column + j * d->rate[1];
            if (w < 0 || w >= d->in[1]) continue;
            int64_t in = first + (h * d->in[1] + w) * d->depth, k = (i * d->filter[1] + j) * d->depth;
            T sum = (T)((U)x[in] + (U)filter[k]);
            if (!(sum > best)) continue;
            best = sum;
            *f = (found){in, k};
        }
    }
    return best;
}

// Runs over all windows. `op` 0 stores the maxima to out; 1 (2) adds `grad` to the gradient of the image's
// (filter's) maximal element. Windows without an element have the least number, and as in TensorFlow their
// first place gets the gradient.
static void NAME(dilate)(const dilation *d, int op, const void *x, const void *filter, const void *grad,
                         void *out)
{
    T *outs = out;
    int64_t i = 0;
    for (int64_t b = 0; b < d->batch; b++) {
        for (int64_t h = 0; h < d->fit[0].out; h++) {
            for (int64_t w = 0; w < d->fit[1].out && !bd_interrupted(); w++) {
                for (int64_t c = 0; c < d->depth; c++, i++) {
                    found f;
                    T best =
                        NAME(greatest)(d, x, (const T *)filter + c, b * d->in[0] * d->in[1] * d->depth + c,
                                       (const int64_t[]){h, w}, &f);
                    if (op == 0) outs[i] = best;
                    if (op == 1) outs[f.in] = (T)((U)outs[f.in] + (U)((const T *)grad)[i]);
                    if (op == 2) outs[f.filter + c] = (T)((U)outs[f.filter + c] + (U)((const T *)grad)[i]);
                }
            }
        }
    }
}

#undef T
#undef U
#undef LEAST
#undef NAME

// Resampling for one type of number. resampler.c includes this file once for each type.
//
// Parameters: T, the type; NAME(x), the name of function x for the type.

// The place of a sample between four pixels: their corner, and its distances from the far ones. False: it is
// outside of the image and the pixel of zeros around it.
static bool NAME(place)(const resampling *r, const void *warp, int64_t sample, int64_t *x, int64_t *y, T *dx,
                        T *dy)
{
    const T *at = (const T *)warp + 2 * sample;
    if (!(at[0] > -1 && at[1] > -1 && at[0] < (T)r->width && at[1] < (T)r->height)) return false;
    *x = (int64_t)floor((double)at[0]);
    *y = (int64_t)floor((double)at[1]);
    *dx = (T)(*x + 1) - at[0];
    *dy = (T)(*y + 1) - at[1];
    return true;
}

// Samples [from, to), which are numbered over the whole batch.
static void NAME(resample)(const resampling *r, int64_t from, int64_t to)
{
    const T *data = r->data;
    for (int64_t s = from; s < to && !bd_interrupted_at(s); s++) {
        T *out = (T *)r->out + s * r->channels;
        int64_t x, y;
        T dx, dy;
        for (int64_t c = 0; c < r->channels; c++)
            out[c] = 0;
        if (!NAME(place)(r, r->warp, s, &x, &y, &dx, &dy)) continue;
        const T weights[4] = {dx * dy, (1 - dx) * dy, dx * (1 - dy), (1 - dx) * (1 - dy)};
        for (int k = 0; k < 4; k++) {
            const int64_t at = pixel(r, s / r->samples, x + k % 2, y + k / 2);
            for (int64_t c = 0; at >= 0 && c < r->channels; c++)
                out[c] += weights[k] * data[at + c];
        }
    }
}

// The gradients by the data, which is zeros before, and by the places, of the samples of images [from, to).
static void NAME(resample_grad)(const resampling *r, int64_t from, int64_t to)
{
    const T *data = r->data;
    T *by_data = r->grad_data;
    for (int64_t s = from * r->samples; s < to * r->samples && !bd_interrupted_at(s); s++) {
        const T *grad = (const T *)r->grad + s * r->channels;
        T *by_warp = (T *)r->grad_warp + 2 * s;
        int64_t x, y;
        T dx, dy;
        by_warp[0] = by_warp[1] = 0;
        if (!NAME(place)(r, r->warp, s, &x, &y, &dx, &dy)) continue;
        const T weights[4] = {dx * dy, (1 - dx) * dy, dx * (1 - dy), (1 - dx) * (1 - dy)};
        const T along_x[4] = {-dy, dy, -(1 - dy), 1 - dy}, along_y[4] = {-dx, -(1 - dx), dx, 1 - dx};
        for (int k = 0; k < 4; k++) {
            const int64_t at = pixel(r, s / r->samples, x + k % 2, y + k / 2);
            for (int64_t c = 0; at >= 0 && c < r->channels; c++) {
                by_data[at + c] += grad[c] * weights[k];
                by_warp[0] += grad[c] * along_x[k] * data[at + c];
                by_warp[1] += grad[c] * along_y[k] * data[at + c];
            }
        }
    }
}

#undef T
#undef NAME

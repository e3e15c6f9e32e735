// The gradient of the greatest element of windows, for one type of number, channels last. pooling_simd.c
// includes this file once for each type.
//
// Parameters: T, the type; I, the signed integer of its size; NAME(x), the name of function x for the type.
//
// A register has a channel in each lane. It runs over the elements of a window twice: to find the number of
// the first maximum, and to send the gradient there.

typedef T NAME(vector) __attribute__((vector_size(VECTOR)));
typedef I NAME(mask) __attribute__((vector_size(VECTOR)));

static inline NAME(vector) NAME(load)(const T *from)
{
    NAME(vector) v;
    memcpy(&v, from, sizeof v);
    return v;
}

// One vector of channels. `at`: from x (and dx) to each of the `count` elements of the window.
static inline __attribute__((always_inline)) void
NAME(vector_grad)(const T *x, const int64_t *at, int count, const T *dy, T *dx, bool adds, bool positive)
{
    const NAME(mask) zeros = {0};
    NAME(vector) best = NAME(load)(x + at[0]), grad = NAME(load)(dy);
    NAME(mask) found = zeros;
    for (int k = 1; k < count; k++) {
        const NAME(vector) next = NAME(load)(x + at[k]);
        const NAME(mask) is_greater = best < next;
        best = (NAME(vector))((is_greater & (NAME(mask))next) | (~is_greater & (NAME(mask))best));
        found = (is_greater & (zeros + k)) | (~is_greater & found);
    }
    if (positive) grad = (NAME(vector))((NAME(mask))grad & (best > (NAME(vector))zeros));
    for (int k = 0; k < count; k++) {
        NAME(vector) part = (NAME(vector))((NAME(mask))grad & (found == zeros + k));
        if (adds) part += NAME(load)(dx + at[k]);
        memcpy(dx + at[k], &part, sizeof part);
    }
}

// One channel.
static inline void NAME(single_grad)(const T *x, const int64_t *at, int count, T grad, T *dx, bool adds,
                                     bool positive)
{
    int found = 0;
    for (int k = 1; k < count; k++)
        if (x[at[found]] < x[at[k]]) found = k;
    if (positive && !(x[at[found]] > 0)) grad = 0;
    for (int k = 0; k < count; k++) {
        const T part = k == found ? grad : 0;
        dx[at[k]] = adds ? dx[at[k]] + part : part;
    }
}

static inline __attribute__((always_inline)) void NAME(channels_grad)(const T *x, const int64_t *at,
                                                                      int count, const T *dy, T *dx,
                                                                      int64_t channels, bool adds,
                                                                      bool positive)
{
    const int64_t lanes = VECTOR / sizeof(T);
    int64_t c = 0;
    for (; c + lanes <= channels; c += lanes)
        NAME(vector_grad)(x + c, at, count, dy + c, dx + c, adds, positive);
    for (; c < channels; c++)
        NAME(single_grad)(x + c, at, count, dy[c], dx + c, adds, positive);
}

// The usual ones with code of their own.
static void NAME(window_grad)(const T *x, const reached *r, const T *dy, T *dx, int64_t channels, bool adds,
                              bool positive)
{
    if (r->count == 4 && !adds)
        NAME(channels_grad)(x, r->at, 4, dy, dx, channels, false, positive);
    else
        NAME(channels_grad)(x, r->at, r->count, dy, dx, channels, adds, positive);
}

static void NAME(max_grad)(const bd_pooling_shape *s, const void *x_p, const void *dy_p, void *dx_p,
                           bool positive, int64_t from, int64_t to)
{
    const int64_t in = bd_volume(s->in) * s->channels, out = bd_volume(s->out) * s->channels;
    const int64_t below = s->stride[1] * s->in[2] * s->channels; // from a window to the next one below it
    const int64_t bytes = s->channels * (int64_t)sizeof(T);
    const bool adds = !bd_pooling_is_tiled(s);
    const T *dy = (const T *)dy_p + from * out;
    if (adds) memset((T *)dx_p + from * in, 0, (size_t)((to - from) * in) * sizeof(T));
    for (int64_t image = from; image < to; image++) {
        const T *x = (const T *)x_p + image * in;
        T *dx = (T *)dx_p + image * in;
        int64_t at[3];
        reached r = {0};
        for (at[0] = 0; at[0] < s->out[0]; at[0]++) {
            for (at[1] = 0; at[1] < s->out[1] && !bd_interrupted(); at[1]++) {
                for (at[2] = 0; at[2] < s->out[2]; at[2]++, dy += s->channels) {
                    reach(s, at, &r);
                    fetch((const char *)(x + r.from + below), &r, sizeof(T), bytes);
                    if (x != dx) fetch((const char *)(dx + r.from + below), &r, sizeof(T), bytes);
                    NAME(window_grad)(x + r.from, &r, dy, dx + r.from, s->channels, adds, positive);
                }
            }
        }
    }
}

#undef T
#undef I
#undef NAME

// Pooling by its definition, for one type of number. pooling_plain.c includes this file once for each type.
//
// Parameters: T, the type; U, the type of sums (unsigned for integers, so that they wrap around); NAME(x),
// the name of function x for the type.

static void NAME(window)(bd_pooling_kind kind, const bd_pooling_shape *s, const plane *p, const int64_t at[3],
                         const bd_pooling_data *d)
{
    const box b = reach(s, p, at);
    const T *xs = d->x, *dys = d->dy;
    T *dxs = d->dx, sum = 0, count = 1;
    int64_t found = -1;
    for (int k = 0; k < 3; k++)
        count = (T)(count * (T)(b.to[k] - b.from[k]));
    for (int64_t depth = b.from[0]; depth < b.to[0]; depth++) {
        for (int64_t row = b.from[1]; row < b.to[1]; row++) {
            int64_t x = p->x + depth * p->x_step[0] + row * p->x_step[1] + b.from[2] * p->x_step[2];
            for (int64_t column = b.from[2]; column < b.to[2]; column++, x += p->x_step[2]) {
                if (kind == BD_POOLING_MEAN) {
                    sum = (T)((U)sum + (U)xs[x]);
                } else if (kind == BD_POOLING_MEAN_GRAD) {
                    dxs[x] += dys[b.y] / count;
                } else if (found < 0 || xs[found] < xs[x]) {
                    found = x;
                }
            }
        }
    }
    if (kind == BD_POOLING_MEAN) ((T *)d->y)[b.y] = sum / count;
    if (kind == BD_POOLING_MAX) ((T *)d->y)[b.y] = xs[found];
    if (kind == BD_POOLING_MAX_GRAD || (kind == BD_POOLING_MAX_RELU_GRAD && xs[found] > 0))
        dxs[found] = (T)((U)dxs[found] + (U)dys[b.y]);
    if (kind == BD_POOLING_MAX_PICK) ((T *)d->dy)[b.y] = dxs[found];
}

// Adds the gradients of one position's windows, a channel each, to the elements `x` that are their maxima.
// The channels lie side by side.
static __attribute__((noinline)) void NAME(spread)(int64_t channels, const T *restrict x, const T *restrict y,
                                                   const T *restrict dy, T *restrict dx)
{
    enum {
        BLOCK = 16 // a length that the compiler knows: it computes a block in vector registers
    };
    for (; channels >= BLOCK; channels -= BLOCK, x += BLOCK, y += BLOCK, dy += BLOCK, dx += BLOCK) {
        for (int i = 0; i < BLOCK; i++) {
            const T grad = dy[i];
            dx[i] = (T)((U)dx[i] + (U)(x[i] == y[i] ? grad : (T)0));
        }
    }
    for (int64_t c = 0; c < channels; c++)
        if (x[c] == y[c]) dx[c] = (T)((U)dx[c] + (U)dy[c]);
}

// The same for channels that lie apart.
static void NAME(spread_apart)(const bd_pooling_shape *s, const T *x, const T *y, const T *dy, T *dx)
{
    int64_t x_step = bd_volume(s->in), y_step = bd_volume(s->out);
    for (int64_t c = 0; c < s->channels; c++, x += x_step, dx += x_step, y += y_step, dy += y_step)
        if (*x == *y) *dx = (T)((U)*dx + (U)*dy);
}

// The channels are in the innermost loop, where they are last in memory.
static void NAME(spread_all)(const bd_pooling_shape *s, const bd_pooling_data *d, const plane *p,
                             const int64_t at[3])
{
    const box b = reach(s, p, at);
    const T *ys = (const T *)d->y + b.y, *dys = (const T *)d->dy + b.y;
    for (int64_t depth = b.from[0]; depth < b.to[0]; depth++) {
        for (int64_t row = b.from[1]; row < b.to[1]; row++) {
            for (int64_t column = b.from[2]; column < b.to[2]; column++) {
                int64_t i = p->x + depth * p->x_step[0] + row * p->x_step[1] + column * p->x_step[2];
                const T *x = (const T *)d->x + i;
                T *dx = (T *)d->dx + i;
                if (s->channels_first) {
                    NAME(spread_apart)(s, x, ys, dys, dx);
                } else {
                    NAME(spread)(s->channels, x, ys, dys, dx);
                }
            }
        }
    }
}

static void NAME(pool)(bd_pooling_kind kind, const bd_pooling_shape *s, const bd_pooling_data *d)
{
    const int64_t channels = kind == BD_POOLING_MAX_GRAD_ALL ? 1 : s->channels; // that are walked over here
    for (int64_t image = 0; image < s->batch * channels; image++) {
        const plane p = plane_at(s, image / channels, image % channels);
        int64_t at[3];
        for (at[0] = 0; at[0] < s->out[0]; at[0]++) {
            for (at[1] = 0; at[1] < s->out[1]; at[1]++) {
                for (at[2] = 0; at[2] < s->out[2] && !bd_interrupted(); at[2]++) {
                    if (kind == BD_POOLING_MAX_GRAD_ALL) {
                        NAME(spread_all)(s, d, &p, at);
                    } else {
                        NAME(window)(kind, s, &p, at, d);
                    }
                }
            }
        }
    }
}

#undef T
#undef U
#undef NAME

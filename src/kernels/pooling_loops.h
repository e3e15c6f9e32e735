// Pooling by its definition, for one type of number. pooling_plain.c includes this file once for each type.
//
// Parameters: T, the type; U, the type of sums (unsigned for integers, so that they wrap around); NAME(x),
// the name of function x for the type.

static void NAME(window)(bd_pooling_kind kind, const bd_pooling_shape *s, const plane *p, int64_t h,
                         int64_t w, const bd_pooling_data *d)
{
    int64_t row, row_to, from, to, y = p->y + h * p->y_step[0] + w * p->y_step[1], found = -1;
    const T *xs = d->x;
    T *dxs = d->dx, sum = 0;
    reach(s, 0, h, &row, &row_to);
    reach(s, 1, w, &from, &to);
    T count = (T)((row_to - row) * (to - from));
    for (; row < row_to; row++) {
        for (int64_t column = from; column < to; column++) {
            int64_t x = p->x + row * p->x_step[0] + column * p->x_step[1];
            if (kind == BD_POOLING_MEAN) {
                sum = (T)((U)sum + (U)xs[x]);
            } else if (kind == BD_POOLING_MEAN_GRAD) {
                dxs[x] += ((T *)d->dy)[y] / count;
            } else if (found < 0 || xs[found] < xs[x]) {
                found = x;
            }
        }
    }
    if (kind == BD_POOLING_MEAN) ((T *)d->y)[y] = sum / count;
    if (kind == BD_POOLING_MAX) ((T *)d->y)[y] = xs[found];
    if (kind == BD_POOLING_MAX_GRAD) dxs[found] = (T)((U)dxs[found] + (U)((T *)d->dy)[y]);
    if (kind == BD_POOLING_MAX_PICK) ((T *)d->dy)[y] = dxs[found];
}

static void NAME(pool)(bd_pooling_kind kind, const bd_pooling_shape *s, const bd_pooling_data *d)
{
    for (int64_t image = 0; image < s->batch; image++) {
        for (int64_t channel = 0; channel < s->channels; channel++) {
            plane p = plane_at(s, image, channel);
            for (int64_t h = 0; h < s->out[0]; h++) {
                for (int64_t w = 0; w < s->out[1] && !bd_interrupted(); w++)
                    NAME(window)(kind, s, &p, h, w, d);
            }
        }
    }
}

#undef T
#undef U
#undef NAME

// Convolution by its definition, for one type of number. conv_plain.c includes this file once for each type.
//
// Parameters: T, the type; NAME(x), the name of function x for the type.

static void NAME(point)(bd_conv_kind kind, const bd_conv_shape *s, const layout *l, T *in, T *filter, T *out)
{
    int64_t of_group = s->in_channels / s->groups, own = s->out_channels / s->groups;
    for (int64_t i = 0; i < s->in_channels; i++) {
        int64_t first = i / of_group * own;
        T *x = in + i * l->in_channel, *f = filter + i % of_group * s->out_channels + first;
        T sum = 0;
        for (int64_t o = 0; o < own; o++) {
            T *y = out + (first + o) * l->out_channel;
            if (kind == BD_CONV_OUTPUT) {
                *y += *x * f[o];
            } else if (kind == BD_CONV_INPUT_GRAD) {
                sum += *y * f[o];
            } else {
                f[o] += *x * *y;
            }
        }
        if (kind == BD_CONV_INPUT_GRAD) *x += sum;
    }
}

static void NAME(row)(bd_conv_kind kind, const bd_conv_shape *s, const layout *l, T *in, T *filter, T *out)
{
    for (int64_t w = 0; w < s->out[2] && !bd_interrupted(); w++, out += l->out_step[2]) {
        T *f = filter;
        for (int64_t k = 0; k < s->filter[2]; k++, f += filter_channels(s)) {
            int64_t at = input_at(s, 2, w, k);
            if (at >= 0) NAME(point)(kind, s, l, in + at * l->in_step[2], f, out);
        }
    }
}

static void NAME(plane)(bd_conv_kind kind, const bd_conv_shape *s, const layout *l, T *in, T *filter, T *out)
{
    int64_t filter_row = s->filter[2] * filter_channels(s);
    for (int64_t h = 0; h < s->out[1]; h++) {
        for (int64_t k = 0; k < s->filter[1]; k++) {
            int64_t at = input_at(s, 1, h, k);
            if (at >= 0) NAME(row)
            (kind, s, l, in + at * l->in_step[1], filter + k * filter_row, out + h * l->out_step[1]);
        }
    }
}

static void NAME(conv)(bd_conv_kind kind, const bd_conv_shape *s, T *input, T *filter, T *output)
{
    layout l = layout_of(s);
    int64_t filter_plane = s->filter[1] * s->filter[2] * filter_channels(s);
    for (int64_t n = 0; n < s->batch; n++, input += l.in_image, output += l.out_image) {
        for (int64_t d = 0; d < s->out[0]; d++) {
            for (int64_t k = 0; k < s->filter[0]; k++) {
                int64_t at = input_at(s, 0, d, k);
                if (at >= 0) NAME(plane)
                (kind, s, &l, input + at * l.in_step[0], filter + k * filter_plane,
                 output + d * l.out_step[0]);
            }
        }
    }
}

#undef T
#undef NAME

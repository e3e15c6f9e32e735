// Quantization to integers and back for one type of number. quantize_dequantize.c includes this file once for
// each type.
//
// Parameters: T, the type, also of products and quotients, as in TensorFlow; LIMIT, its largest number;
// FLOOR(x) and RINT(x); NAME(x), the name of function x for the type.

static void NAME(find_scale)(T min, T max, T lowest, T highest, quantization *q)
{
    T by_min = lowest * min > 0 ? lowest / min : (LIMIT);
    T by_max = highest * max > 0 ? highest / max : (LIMIT);
    T inverse;
    if (by_min < by_max) {
        inverse = min / lowest;
        max = highest * inverse;
    } else {
        inverse = max / highest;
        min = lowest * inverse;
    }
    *q = (quantization){(double)min, (double)max, (double)(by_min < by_max ? by_min : by_max),
                        (double)inverse};
}

static void NAME(quantize)(const quantize_state *s, const quantization *q, const T *x, T *y, int64_t n)
{
    T min = (T)q->min, max = (T)q->max, scale = (T)q->scale, inverse = (T)q->inverse;
    for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++) {
        T v = x[i];
        if (s->is_given) {
            v = v > max ? max : v;
            v = v < min ? min : v;
        }
        v *= scale;
        y[i] = (s->rounds_up ? FLOOR(v + (T)0.5) : RINT(v)) * inverse;
    }
}

static void NAME(find_range)(const T *x, int64_t n, T *min, T *max)
{
    for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++) {
        if (x[i] < *min) *min = x[i];
        if (x[i] > *max) *max = x[i];
    }
}

// The part of all that has the range of place `p`: `outer` pieces of `inner` elements.
static void NAME(run)(const quantize_state *s, const places *p, int64_t place, int64_t bits, T min, T max,
                      const T *x, T *y)
{
    int64_t half = INT64_C(1) << (bits - 1), piece = p->count * p->inner;
    int64_t lowest = s->is_signed ? -half + s->is_narrow : 0;
    int64_t highest = s->is_signed ? half - 1 : half - 1 + half;
    quantization q;
    x += place * p->inner;
    y += place * p->inner;
    if (!s->is_given) {
        min = (T)INFINITY;
        max = (T)-INFINITY;
        for (int64_t i = 0; i < p->outer; i++)
            NAME(find_range)(x + i * piece, p->inner, &min, &max);
    }
    NAME(find_scale)(min, max, (T)lowest, (T)highest, &q);
    for (int64_t i = 0; i < p->outer; i++)
        NAME(quantize)(s, &q, x + i * piece, y + i * piece, p->inner);
}

#undef T
#undef LIMIT
#undef FLOOR
#undef RINT
#undef NAME

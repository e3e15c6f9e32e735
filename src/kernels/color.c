// Colors, by the hexagon of hues (Smith, Color Gamut Transform Pairs, 1978).
#include "kernels/color.h"

#include <math.h>

// ---- To and from HSV ----

#define CONVERSIONS(S, T, MIN, MAX, ABS)                                                                     \
    static void to_hsv_##S(const T *rgb, T *hsv)                                                             \
    {                                                                                                        \
        T r = rgb[0], g = rgb[1], b = rgb[2], value = MAX(r, MAX(g, b)), range = value - MIN(r, MIN(g, b));  \
        T norm = 1 / range * ((T)1 / 6), hue;                                                                \
        if (r == value) {                                                                                    \
            hue = norm * (g - b);                                                                            \
        } else if (g == value) {                                                                             \
            hue = norm * (b - r) + (T)2 / 6;                                                                 \
        } else {                                                                                             \
            hue = norm * (r - g) + (T)4 / 6;                                                                 \
        }                                                                                                    \
        if (!(range > 0)) hue = 0;                                                                           \
        hsv[0] = hue < 0 ? hue + 1 : hue;                                                                    \
        hsv[1] = value > 0 ? range / value : 0;                                                              \
        hsv[2] = value;                                                                                      \
    }                                                                                                        \
    static T ramp_##S(T x)                                                                                   \
    {                                                                                                        \
        return MIN(MAX(x, 0), 1);                                                                            \
    }                                                                                                        \
    static void to_rgb_##S(const T *hsv, T *rgb)                                                             \
    {                                                                                                        \
        T hue = hsv[0] * 6, saturation = hsv[1], value = hsv[2], rest = 1 - saturation;                      \
        T part[3] = {ramp_##S(ABS(hue - 3) - 1), ramp_##S(2 - ABS(hue - 2)), ramp_##S(2 - ABS(hue - 4))};    \
        for (int i = 0; i < 3; i++)                                                                          \
            rgb[i] = (rest + saturation * part[i]) * value;                                                  \
    }                                                                                                        \
    void bd_rgb_to_hsv_##S(const T *x, T *y, int64_t from, int64_t to)                                       \
    {                                                                                                        \
        for (int64_t i = from; i < to; i++)                                                                  \
            to_hsv_##S(x + 3 * i, y + 3 * i);                                                                \
    }                                                                                                        \
    void bd_hsv_to_rgb_##S(const T *x, T *y, int64_t from, int64_t to)                                       \
    {                                                                                                        \
        for (int64_t i = from; i < to; i++)                                                                  \
            to_rgb_##S(x + 3 * i, y + 3 * i);                                                                \
    }

CONVERSIONS(f32, float, fminf, fmaxf, fabsf)
CONVERSIONS(f64, double, fmin, fmax, fabs)

// ---- Hue ----

// The six parts of the circle: which channel is the greatest, the middle and the least, and the middle one
// rises in even parts.
static const struct {
    int high, middle, low;
} parts[] = {{0, 1, 2}, {1, 0, 2}, {1, 2, 0}, {2, 1, 0}, {2, 0, 1}, {0, 2, 1}};

static int part_of(const float *rgb)
{
    float r = rgb[0], g = rgb[1], b = rgb[2];
    if (r < g) return b < r ? 1 : b > g ? 3 : 2;
    return b < g ? 0 : b > r ? 4 : 5;
}

// In [0, 6); what is no number goes to 0.
static float wrapped(float hue)
{
    hue = fmodf(hue, 6);
    if (hue < 0) hue += 6;
    return hue >= 0 && hue < 6 ? hue : 0;
}

void bd_adjust_hue(const float *x, float delta, float *y, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        const float *in = x + 3 * i;
        float *out = y + 3 * i, hue = 0;
        int part = part_of(in);
        float high = in[parts[part].high], low = in[parts[part].low];
        if (high != low) {
            float ratio = (in[parts[part].middle] - low) / (high - low);
            hue = (float)part + (part % 2 == 0 ? ratio : 1 - ratio);
        }
        hue = wrapped(hue + delta * 6);
        part = (int)hue;
        float ratio = hue - (float)part;
        if (part % 2 != 0) ratio = 1 - ratio;
        out[parts[part].high] = high;
        out[parts[part].middle] = low + ratio * (high - low);
        out[parts[part].low] = low;
    }
}

// ---- Saturation ----

// A color of a hue in [0, 6), by its chroma and what all channels have in common.
static void put_color(float hue, float chroma, float base, float *rgb)
{
    int part = hue >= 0 && hue < 6 ? (int)hue : 6;
    float middle = chroma * (1 - fabsf(fmodf(hue, 2) - 1));
    rgb[0] = rgb[1] = rgb[2] = base;
    if (part == 6) return;
    rgb[parts[part].high] += chroma;
    rgb[parts[part].middle] += middle;
}

void bd_adjust_saturation(const float *x, float scale, float *y, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        float hsv[3];
        to_hsv_f32(x + 3 * i, hsv);
        float chroma = fminf(1, fmaxf(0, hsv[1] * scale)) * hsv[2];
        put_color(hsv[0] * 6, chroma, hsv[2] - chroma, y + 3 * i);
    }
}

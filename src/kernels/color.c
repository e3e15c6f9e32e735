// Colors, by the hexagon of hues (Smith, Color Gamut Transform Pairs, 1978).
#include "kernels/color.h"

#include <math.h>

// ---- To and from HSV ----

#define T float
#define NAME(x) x##_f32
#define MIN fminf
#define MAX fmaxf
#define ABS fabsf
#include "kernels/color_loops.h"

#define T double
#define NAME(x) x##_f64
#define MIN fmin
#define MAX fmax
#define ABS fabs
#include "kernels/color_loops.h"

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

// Maps a hue to [0, 6); NaN and infinities to 0.
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

// Computes the color of a hue in [0, 6) from its chroma and the common part of all channels.
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

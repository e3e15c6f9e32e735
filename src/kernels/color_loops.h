// RGB to HSV and back, for one type of number. color.c includes this file once for each type.
//
// Parameters: T, the type; NAME(x), the name of function x for the type; MIN(x, y), MAX(x, y) and ABS(x).

static void NAME(to_hsv)(const T *rgb, T *hsv)
{
    T r = rgb[0], g = rgb[1], b = rgb[2], value = MAX(r, MAX(g, b)), range = value - MIN(r, MIN(g, b));
    T norm = 1 / range * ((T)1 / 6), hue;
    if (r == value) {
        hue = norm * (g - b);
    } else if (g == value) {
        hue = norm * (b - r) + (T)2 / 6;
    } else {
        hue = norm * (r - g) + (T)4 / 6;
    }
    if (!(range > 0)) hue = 0;
    hsv[0] = hue < 0 ? hue + 1 : hue;
    hsv[1] = value > 0 ? range / value : 0;
    hsv[2] = value;
}

static T NAME(ramp)(T x)
{
    return MIN(MAX(x, 0), 1);
}

static void NAME(to_rgb)(const T *hsv, T *rgb)
{
    T hue = hsv[0] * 6, saturation = hsv[1], value = hsv[2], rest = 1 - saturation;
    T part[3] = {NAME(ramp)(ABS(hue - 3) - 1), NAME(ramp)(2 - ABS(hue - 2)), NAME(ramp)(2 - ABS(hue - 4))};
    for (int i = 0; i < 3; i++)
        rgb[i] = (rest + saturation * part[i]) * value;
}

void NAME(bd_rgb_to_hsv)(const T *x, T *y, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++)
        NAME(to_hsv)(x + 3 * i, y + 3 * i);
}

void NAME(bd_hsv_to_rgb)(const T *x, T *y, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++)
        NAME(to_rgb)(x + 3 * i, y + 3 * i);
}

#undef T
#undef NAME
#undef MIN
#undef MAX
#undef ABS

// Colors of pixels [red, green, blue]: to and from hue, saturation and value, and changes of hue and
// saturation.
#ifndef BD_KERNELS_COLOR_H
#define BD_KERNELS_COLOR_H

#include <stdint.h>

// For pixels [from, to). Any thread. y may be x.
void bd_rgb_to_hsv_f32(const float *x, float *y, int64_t from, int64_t to);
void bd_rgb_to_hsv_f64(const double *x, double *y, int64_t from, int64_t to);
void bd_hsv_to_rgb_f32(const float *x, float *y, int64_t from, int64_t to);
void bd_hsv_to_rgb_f64(const double *x, double *y, int64_t from, int64_t to);

// Turns the hue by `delta` of a full circle.
void bd_adjust_hue(const float *x, float delta, float *y, int64_t from, int64_t to);
// Multiplies the saturation, which stays in [0, 1].
void bd_adjust_saturation(const float *x, float scale, float *y, int64_t from, int64_t to);

#endif

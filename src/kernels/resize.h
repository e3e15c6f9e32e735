// Resizing images: [batch, height, width, channels] of float, by the rules of TensorFlow's ops.
//
// Where an output pixel takes its value from is worked out for each axis first, then rows of output are made
// one by one.
#ifndef BD_KERNELS_RESIZE_H
#define BD_KERNELS_RESIZE_H

#include <stdbool.h>
#include <stdint.h>

typedef enum bd_resize_method {
    BD_RESIZE_NEAREST,
    BD_RESIZE_BILINEAR,
    BD_RESIZE_BICUBIC
} bd_resize_method;

// The input pixels of an axis that an output pixel depends on, and their weights; nearest has one, bilinear
// two.
typedef struct bd_resize_tap {
    int64_t index[4];
    float weight[4];
} bd_resize_tap;

// The axis: `in` pixels become `out`.
typedef struct bd_resize_axis {
    int64_t in, out;
    float scale; // from output to input
    bool align_corners, half_pixel_centers;
} bd_resize_axis;

// Sets the scale. Sizes are above 0.
bd_resize_axis bd_resize_axis_of(int64_t in, int64_t out, bool align_corners, bool half_pixel_centers);

// Fills `taps` [out].
void bd_resize_taps(bd_resize_method method, const bd_resize_axis *axis, bd_resize_tap *taps);

typedef struct bd_resize {
    int64_t channels;
    bd_resize_axis axis[2];       // height, width
    const bd_resize_tap *taps[2]; // not of bd_resize_area_rows
} bd_resize;

// Makes rows [from, to) of the output, numbered through all images of the batch. Any thread.
void bd_resize_bilinear_rows(const bd_resize *r, const float *x, float *y, int64_t from, int64_t to);
void bd_resize_bicubic_rows(const bd_resize *r, const float *x, float *y, int64_t from, int64_t to);
// The mean of the input area under each output pixel.
void bd_resize_area_rows(const bd_resize *r, const float *x, float *y, int64_t from, int64_t to);

// Adds to `dx`, the gradient of one image in double or float, the contribution of `dy`; for a method with
// `count` weights.
void bd_resize_grad_f32(const bd_resize *r, int count, const float *dy, float *dx);
void bd_resize_grad_f64(const bd_resize *r, int count, const float *dy, double *dx);

#endif

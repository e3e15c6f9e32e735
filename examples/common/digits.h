// Handwritten-like digits made by the program itself, for when no data set is at hand.
//
// A digit is a few strokes through known points. Each image draws its own hand: points moved, the whole
// slanted, turned, stretched, shifted and bent, thick or thin ink, noise. The same seed and number give the
// same image, so any part of an endless data set can be made when it is needed.
#ifndef DIGITS_H
#define DIGITS_H

#include <stdint.h>

#define DIGITS_SIDE 28
#define DIGITS_PIXELS (DIGITS_SIDE * DIGITS_SIDE)

// How far hands differ from the model. Lengths are in units of the digit's height unless said otherwise.
typedef struct digits_style {
    uint64_t seed;
    float jitter;   // standard deviation of each point
    float turn;     // largest rotation, radians
    float slant;    // largest shear
    float size_min; // smallest height and width, of the largest
    float shift;    // largest shift of the middle, pixels
    float bend;     // largest displacement by a smooth wave
    float ink_min;  // half width of the stroke, pixels
    float ink_max;
    float noise; // standard deviation of each pixel, of 255
} digits_style;

// The style of training images and that of test images: other hands, other seed.
extern const digits_style digits_train, digits_test;

// Draws image `number` of a style: pixels from 0 (paper) to 255 (ink), row by row. Returns the digit it
// shows. Any thread.
int digits_draw(const digits_style *style, uint64_t number, uint8_t pixels[DIGITS_PIXELS]);

#endif

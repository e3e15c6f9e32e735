// Reading BMP files: a header, and rows from the bottom up (of a negative height: from the top down), padded
// to four bytes.
#include "io/bmp.h"

#include "io/little_endian.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_MIN = 32, // up to the bits a pixel
    AT_PIXELS = 10,
    AT_WIDTH = 18,
    AT_HEIGHT = 22,
    AT_BITS = 28
};

static int32_t number_at(bd_image_file file, size_t at)
{
    return (int32_t)bd_get_le32(file.data + at);
}

static void copy_row(const uint8_t *from, uint8_t *to, int64_t width, int64_t channels)
{
    if (channels == 1) {
        memcpy(to, from, (size_t)width);
        return;
    }
    for (int64_t i = 0; i < width; i++, from += channels, to += channels) {
        to[0] = from[2]; // the file has blue first
        to[1] = from[1];
        to[2] = from[0];
        if (channels == 4) to[3] = from[3];
    }
}

static braid_code check_header(bd_image_file file, int channels, bd_image_form *form, braid_status *st)
{
    if (file.len < HEADER_MIN)
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "Incomplete bmp content, requires at least %d bytes to find the header size, width, height, "
            "and bpp, got %zu bytes",
            HEADER_MIN, file.len);
    int64_t height = number_at(file, AT_HEIGHT), depth = number_at(file, AT_BITS) / 8;
    *form = (bd_image_form){
        .frames = 1, .height = llabs(height), .width = number_at(file, AT_WIDTH), .channels = depth};
    if (channels != 0 && channels != depth)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "channels attribute %d does not match bits per pixel from file %lld", channels,
                       (long long)depth);
    if (depth != 1 && depth != 3 && depth != 4)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Number of channels must be 1, 3 or 4, was %lld",
                       (long long)depth);
    if (form->width <= 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Width must be positive, is %lld", (long long)form->width);
    if (height == 0) return bd_fail(st, BRAID_INVALID_ARGUMENT, "Height must be nonzero");
    if (number_at(file, AT_PIXELS) < 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "header size must be nonnegative");
    if (form->width * form->height >= INT32_MAX / 8)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Total possible pixel bytes must be less than 2^30");
    return BRAID_OK;
}

braid_code bd_bmp_decode(bd_image_file file, int channels, const bd_image_sink *sink, braid_status *st)
{
    bd_image_form form;
    braid_code code = check_header(file, channels, &form, st);
    if (code) return code;
    bool from_top = number_at(file, AT_HEIGHT) < 0;
    int64_t row_len = form.width * form.channels, stride = (row_len + 3) / 4 * 4;
    int64_t needed = number_at(file, AT_PIXELS) + (form.height - 1) * stride + row_len;
    if ((uint64_t)needed > file.len)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Incomplete bmp content, requires at least %lld bytes, got %zu bytes",
                       (long long)needed, file.len);
    uint8_t *samples = sink->allocate(sink->arg, &form);
    if (!samples) return bd_image_refused(st);
    const uint8_t *pixels = file.data + number_at(file, AT_PIXELS);
    for (int64_t i = 0; i < form.height; i++) {
        int64_t row = from_top ? i : form.height - 1 - i;
        copy_row(pixels + row * stride, samples + i * row_len, form.width, form.channels);
    }
    return BRAID_OK;
}

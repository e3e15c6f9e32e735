// JPEG images.
#ifndef BD_IO_JPEG_H
#define BD_IO_JPEG_H

#include "io/image.h"

typedef struct bd_jpeg_decoding {
    int channels; // 1 or 3; 0: gray or RGB, as the file is
    int ratio;    // 1, 2, 4 or 8: the image is made that much smaller
    bool fancy_upscaling, accurate_dct;
    // Rows that are missing are made like the last one (the first: black).
    bool recover_truncated;
    // For an image that is damaged or truncated: the fraction of its rows that must be readable; the other
    // rows are black.
    float acceptable_fraction;
    bool crop; // decodes only this window of the scaled image
    int64_t crop_y, crop_x, crop_height, crop_width;
} bd_jpeg_decoding;

braid_code bd_jpeg_decode(bd_image_file file, const bd_jpeg_decoding *how, const bd_image_sink *sink,
                          braid_status *st);

// The form an image is decoded to.
braid_code bd_jpeg_form(bd_image_file file, bd_image_form *form, braid_status *st);

typedef struct bd_jpeg_encoding {
    int channels; // 1 (gray) or 3 (RGB)
    int quality;  // 0 to 100
    bool progressive, optimize_size, chroma_downsampling;
    bool density_in_cm; // else in inches
    int x_density, y_density;
    const char *xmp_metadata; // `xmp_len` bytes; no metadata when that is 0
    size_t xmp_len;
} bd_jpeg_encoding;

// Encodes samples [height, width, channels] into new memory (bd_free). Internal when it cannot be: the image
// is larger than JPEG has them, the metadata do not fit, memory is short. On an error *jpeg is NULL.
braid_code bd_jpeg_encode(const uint8_t *samples, int64_t height, int64_t width, const bd_jpeg_encoding *how,
                          uint8_t **jpeg, size_t *len, braid_status *st);

#endif

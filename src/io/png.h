// PNG images.
#ifndef BD_IO_PNG_H
#define BD_IO_PNG_H

#include "io/image.h"

// An image to be encoded: samples [height, width, depth] of 8 or 16 bits in the order of the machine, where
// depth is 1 (gray), 2 (gray, alpha), 3 (RGB) or 4 (RGB, alpha).
typedef struct bd_png_image {
    const void *samples;
    int64_t height, width;
    int depth, bits;
    int compression; // of zlib, 0 to 9; -1: its default
} bd_png_image;

// Encodes into new memory (bd_free). ResourceExhausted when memory is short; InvalidArgument for sizes that
// PNG does not have. On an error *png is NULL.
braid_code bd_png_encode(const bd_png_image *image, uint8_t **png, size_t *len, braid_status *st);

// Decodes to samples of 8 or 16 bits and 1 to 4 channels (0: as many as the file has; see `depth` above). The
// number of channels decides whether colors become gray and whether an alpha channel is added or removed.
braid_code bd_png_decode(bd_image_file file, int channels, int bits, const bd_image_sink *sink,
                         braid_status *st);

#endif

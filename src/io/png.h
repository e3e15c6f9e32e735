// PNG images.
#ifndef BD_IO_PNG_H
#define BD_IO_PNG_H

#include "base/status.h"
#include <stddef.h>
#include <stdint.h>

// Encodes an image of 8-bit samples, `pixels` [height, width, depth], where depth is 1 (gray), 2 (gray, alpha), 3 (RGB) or 4
// (RGB, alpha), into new memory (bd_free). ResourceExhausted when memory is short; InvalidArgument for sizes that PNG does not
// have. On an error *png is NULL.
braid_code bd_png_encode(const uint8_t *pixels, int32_t height, int32_t width, int32_t depth, uint8_t **png,
                         size_t *len, braid_status *st);

#endif

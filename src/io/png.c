// PNG images by libpng, in memory.
#include "io/png.h"

#include "base/alloc.h"
#include <png.h>

// By depth.
static const uint32_t formats[] = {0, PNG_FORMAT_GRAY, PNG_FORMAT_GA, PNG_FORMAT_RGB, PNG_FORMAT_RGBA};

braid_code bd_png_encode(const uint8_t *pixels, int32_t height, int32_t width, int32_t depth, uint8_t **png,
                         size_t *len, braid_status *st)
{
    *png = NULL;
    *len = 0;
    if (height <= 0 || width <= 0 || depth < 1 || depth > 4)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "no PNG image is %d x %d of %d samples a pixel", height,
                       width, depth);
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (uint32_t)width,
                       .height = (uint32_t)height,
                       .format = formats[depth]};
    png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
    uint8_t *out = bd_try_malloc(size);
    if (!out)
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for a PNG image of %d x %d", height, width);
    if (!png_image_write_to_memory(&image, out, &size, 0, pixels, 0, NULL)) {
        bd_fail(st, BRAID_INTERNAL, "PNG encoding failed: %s", image.message);
        png_image_free(&image);
        bd_free(out);
        return BRAID_INTERNAL;
    }
    *png = out;
    *len = size;
    return BRAID_OK;
}

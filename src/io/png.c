// Writing PNG images by libpng, in memory.
#include "io/png.h"

#include "base/alloc.h"
#include <png.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

// The output so far. Errors of libpng jump out of it, so all memory to be freed is here.
typedef struct output {
    png_structp png;
    png_infop info;
    uint8_t *data;
    size_t len, capacity;
    char error[128];
} output;

static _Noreturn void on_error(png_structp png, png_const_charp message)
{
    output *o = png_get_error_ptr(png);
    strncpy(o->error, message, sizeof o->error - 1);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void append(png_structp png, png_bytep data, png_size_t len)
{
    output *o = png_get_io_ptr(png);
    if (o->capacity - o->len < len) {
        size_t capacity = 2 * (o->len + len) + 1024;
        uint8_t *larger = bd_try_realloc(o->data, capacity);
        if (!larger) png_error(png, "no memory for the file");
        o->data = larger;
        o->capacity = capacity;
    }
    memcpy(o->data + o->len, data, len);
    o->len += len;
}

static void flush(png_structp png)
{
    (void)png;
}

// Returns false with o->error set.
static bool write_image(output *o, const bd_png_image *image)
{
    static const int colors[] = {0, PNG_COLOR_TYPE_GRAY, PNG_COLOR_TYPE_GRAY_ALPHA, PNG_COLOR_TYPE_RGB,
                                 PNG_COLOR_TYPE_RGB_ALPHA};
    if (setjmp(png_jmpbuf(o->png))) return false;
    png_set_write_fn(o->png, o, append, flush);
    png_set_compression_level(o->png, image->compression < 0 ? Z_DEFAULT_COMPRESSION : image->compression);
    png_set_compression_mem_level(o->png, MAX_MEM_LEVEL);
    png_set_IHDR(o->png, o->info, (uint32_t)image->width, (uint32_t)image->height, image->bits,
                 colors[image->depth], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    png_write_info(o->png, o->info);
    if (image->bits > 8) png_set_swap(o->png);
    size_t row = (size_t)(image->width * image->depth * image->bits / 8);
    for (int64_t i = 0; i < image->height; i++)
        png_write_row(o->png, (png_const_bytep)image->samples + (size_t)i * row);
    png_write_end(o->png, NULL);
    return true;
}

braid_code bd_png_encode(const bd_png_image *image, uint8_t **png, size_t *len, braid_status *st)
{
    *png = NULL;
    *len = 0;
    if (image->height <= 0 || image->width <= 0 || image->height > INT32_MAX || image->width > INT32_MAX ||
        image->depth < 1 || image->depth > 4)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "no PNG image is %lld x %lld of %d samples a pixel",
                       (long long)image->height, (long long)image->width, image->depth);
    output o = {0};
    o.png = png_create_write_struct(PNG_LIBPNG_VER_STRING, &o, on_error, on_warning);
    if (o.png) o.info = png_create_info_struct(o.png);
    bool ok = o.info && write_image(&o, image);
    if (o.png) png_destroy_write_struct(&o.png, &o.info);
    if (!ok) {
        bd_free(o.data);
        if (!o.error[0])
            return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory for a PNG image of %lld x %lld",
                           (long long)image->height, (long long)image->width);
        return bd_fail(st, BRAID_INTERNAL, "PNG encoding failed: %s", o.error);
    }
    *png = o.data;
    *len = o.len;
    return BRAID_OK;
}

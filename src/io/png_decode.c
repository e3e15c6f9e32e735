// Reading PNG images by libpng, in memory.
#include "io/png.h"

#include <png.h>
#include <stdlib.h>
#include <string.h>

// A file that is being read, with the requested form. Errors of libpng jump out of reading, so the state is
// here and not in local variables.
typedef struct input {
    png_structp png;
    png_infop info;
    bd_image_file rest;
    const bd_image_sink *sink;
    int channels, bits; // wanted
    bd_image_form form;
    uint8_t *samples;
    bool is_refused;
    char error[128];
} input;

static _Noreturn void on_error(png_structp png, png_const_charp message)
{
    input *in = png_get_error_ptr(png);
    strncpy(in->error, message, sizeof in->error - 1);
    png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message)
{
    (void)png;
    (void)message;
}

static void take(png_structp png, png_bytep data, png_size_t len)
{
    input *in = png_get_io_ptr(png);
    if (len > in->rest.len) png_error(png, "the file ends too early");
    memcpy(data, in->rest.data, len);
    in->rest.data += len;
    in->rest.len -= len;
}

// Has libpng add, fill in or drop the channel of transparency.
static void want_alpha(input *in, int color, int bit_depth, bool has_transparency)
{
    bool has_alpha = (color & PNG_COLOR_MASK_ALPHA) != 0;
    if (in->channels % 2 == 1) {
        if (has_alpha || has_transparency) png_set_strip_alpha(in->png);
    } else if (!has_alpha && has_transparency) {
        png_set_tRNS_to_alpha(in->png);
    } else if (!has_alpha) {
        png_set_add_alpha(in->png, (1u << bit_depth) - 1, PNG_FILLER_AFTER);
    }
}

// Has libpng turn colors to gray, by the weights of ITU-R BT.601, or gray to colors.
static void want_colors(input *in, int color, int bit_depth)
{
    bool is_gray = (color & PNG_COLOR_MASK_COLOR) == 0, want_gray = in->channels < 3;
    if (color == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(in->png);
    if (is_gray && bit_depth < 8) png_set_expand_gray_1_2_4_to_8(in->png);
    if (want_gray && !is_gray) png_set_rgb_to_gray(in->png, 1, 0.299, 0.587);
    if (!want_gray && is_gray) png_set_gray_to_rgb(in->png);
}

static bool is_too_large(const bd_image_form *f)
{
    const int64_t side_max = (int64_t)1 << 27;
    return f->width <= 0 || f->width >= side_max || f->height <= 0 || f->height >= side_max ||
           f->width * f->height >= BD_IMAGE_PIXELS_MAX;
}

// Reads the header and sets the transformations. Stores the number of passes over the rows.
static void read_header(input *in, int *passes, int *bit_depth)
{
    uint32_t width, height;
    int color;
    png_set_read_fn(in->png, in, take);
    png_read_info(in->png, in->info);
    png_get_IHDR(in->png, in->info, &width, &height, bit_depth, &color, NULL, NULL, NULL);
    bool has_transparency = png_get_valid(in->png, in->info, PNG_INFO_tRNS) != 0;
    if (in->channels == 0)
        in->channels = color == PNG_COLOR_TYPE_PALETTE ? (has_transparency ? 4 : 3)
                                                       : png_get_channels(in->png, in->info);
    want_alpha(in, color, *bit_depth, has_transparency);
    if (*bit_depth > 8 && in->bits == 8) png_set_strip_16(in->png);
    png_set_packing(in->png);
    *passes = png_set_interlace_handling(in->png);
    if (*bit_depth > 8 && in->bits == 16) png_set_swap(in->png);
    want_colors(in, color, *bit_depth);
    in->form = (bd_image_form){.frames = 1, .height = height, .width = width, .channels = in->channels};
    if (is_too_large(&in->form)) png_error(in->png, "PNG size too large for int");
    png_read_update_info(in->png, in->info);
}

// Makes samples of 8 bits at the start of a row samples of 16, from the last to the first.
static void widen_row(uint8_t *row, int64_t samples)
{
    for (int64_t i = samples - 1; i >= 0; i--) {
        uint16_t wide = (uint16_t)(row[i] * 0x101);
        memcpy(row + 2 * i, &wide, sizeof wide);
    }
}

// Returns false with in->error or in->is_refused set.
static bool read_image(input *in)
{
    int passes, bit_depth;
    if (setjmp(png_jmpbuf(in->png))) return false;
    read_header(in, &passes, &bit_depth);
    int64_t samples = in->form.width * in->form.channels;
    size_t row = (size_t)(samples * in->bits / 8);
    if (png_get_rowbytes(in->png, in->info) > row) png_error(in->png, "rows are longer than they should be");
    in->samples = in->sink->allocate(in->sink->arg, &in->form);
    in->is_refused = in->samples == NULL;
    if (in->is_refused) return false;
    for (int p = 0; p < passes; p++) {
        for (int64_t i = 0; i < in->form.height; i++)
            png_read_row(in->png, in->samples + (size_t)i * row, NULL);
    }
    png_read_end(in->png, in->info);
    for (int64_t i = 0; in->bits == 16 && bit_depth <= 8 && i < in->form.height; i++)
        widen_row(in->samples + (size_t)i * row, samples);
    return true;
}

braid_code bd_png_decode(bd_image_file file, int channels, int bits, const bd_image_sink *sink,
                         braid_status *st)
{
    input in = {.rest = file, .sink = sink, .channels = channels, .bits = bits};
    in.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &in, on_error, on_warning);
    if (in.png) in.info = png_create_info_struct(in.png);
    bool ok = in.info && read_image(&in);
    if (in.png) png_destroy_read_struct(&in.png, &in.info, NULL);
    if (ok) return BRAID_OK;
    if (in.is_refused || !in.error[0]) return bd_image_refused(st);
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Invalid PNG %s %zu: %s",
                   in.samples ? "data, size" : "header, data size", file.len, in.error);
}

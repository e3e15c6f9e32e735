// Fuzzes the decoders of images: any bytes are refused with words, or give as many samples as was said
// before.
#include "base/alloc.h"
#include "base/check.h"
#include "io/bmp.h"
#include "io/gif.h"
#include "io/jpeg.h"
#include "io/png.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// The first byte says which decoder reads the others, and how; the second, the ratio and window of JPEG.
enum {
    DECODERS = 4,
    CHANNELS_SHIFT = 2,
    SHORT_SAMPLES = 16,
    RECOVER = 32,
    CROP = 64,
    ACCURATE = 128
};

// Larger images take too long to be of use here.
#define SAMPLES_MAX ((int64_t)1 << 20)

// The form that a decoder said, and the memory that it got for it.
typedef struct given {
    void *samples;
    size_t sample_size;
} given;

static void *give(void *arg, const bd_image_form *form)
{
    given *g = arg;
    BD_ASSERT(!g->samples);
    BD_ASSERT(form->frames > 0 && form->height > 0 && form->width > 0);
    BD_ASSERT(form->channels >= 1 && form->channels <= 4);
    BD_ASSERT(form->height * form->width <= BD_IMAGE_PIXELS_MAX / form->frames);
    int64_t count = form->frames * form->height * form->width * form->channels;
    if (count > SAMPLES_MAX) return NULL;
    // exactly: a sanitizer detects writes past the end
    g->samples = bd_malloc((size_t)count * g->sample_size);
    return g->samples;
}

static bd_jpeg_decoding jpeg_options(uint8_t mode, uint8_t more, int channels)
{
    return (bd_jpeg_decoding){.channels = channels == 4 ? 0 : channels,
                              .ratio = 1 << (more & 3),
                              .fancy_upscaling = (more & 4) != 0,
                              .accurate_dct = (mode & ACCURATE) != 0,
                              .recover_truncated = (mode & RECOVER) != 0,
                              .acceptable_fraction = (more & 8) ? 0.1f : 1,
                              .crop = (mode & CROP) != 0,
                              .crop_y = more >> 6,
                              .crop_x = more >> 4 & 3,
                              .crop_height = 3,
                              .crop_width = 4};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int channels_of[] = {0, 1, 3, 4};
    if (size < 2) return 0;
    BD_STATUS(st);
    uint8_t mode = data[0];
    int channels = channels_of[mode >> CHANNELS_SHIFT & 3], bits = mode & SHORT_SAMPLES ? 16 : 8;
    given g = {.sample_size = (mode % DECODERS == 0 && bits == 16) ? 2 : 1};
    bd_image_sink sink = {give, &g};
    uint8_t *copy = bd_memdup(data + 2, size - 2);
    bd_image_file file = {copy, size - 2};
    bd_jpeg_decoding jpeg = jpeg_options(mode, data[1], channels);
    bd_image_form form;
    braid_code code = BRAID_OK;
    switch (mode % DECODERS) {
    case 0: code = bd_png_decode(file, channels, bits, &sink, st); break;
    case 1:
        bd_jpeg_form(file, &form, st);
        braid_status_clear(st);
        code = bd_jpeg_decode(file, &jpeg, &sink, st);
        break;
    case 2: code = bd_gif_decode(file, &sink, st); break;
    default: code = bd_bmp_decode(file, channels, &sink, st); break;
    }
    BD_ASSERT(code == st->code);
    BD_ASSERT(code == BRAID_OK || code == BRAID_INVALID_ARGUMENT || code == BRAID_RESOURCE_EXHAUSTED);
    BD_ASSERT(code ? st->message[0] != 0 : g.samples != NULL);
    bd_free(g.samples);
    bd_free(copy);
    return 0;
}

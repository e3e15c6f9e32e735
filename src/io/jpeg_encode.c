// Writing JPEG images by libjpeg-turbo, in memory.
#include "io/jpeg.h"

#include "base/alloc.h"
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
// It wants size_t and FILE before it.
#include <jpeglib.h>

#define BUFFER_MIN 4096

// The output so far. Errors of libjpeg jump out of writing, so all memory to be freed is here.
typedef struct output {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_destination_mgr destination;
    jmp_buf jump;
    uint8_t *data;
    size_t capacity;
    uint8_t *metadata;
    char error[JMSG_LENGTH_MAX];
} output;

static _Noreturn void on_error(j_common_ptr jpeg)
{
    output *o = jpeg->client_data;
    jpeg->err->format_message(jpeg, o->error);
    longjmp(o->jump, 1);
}

static void on_message(j_common_ptr jpeg)
{
    (void)jpeg;
}

static _Noreturn void give_up(output *o, const char *why)
{
    snprintf(o->error, sizeof o->error, "%s", why);
    longjmp(o->jump, 1);
}

// ---- The destination: memory that grows ----

static void grow(output *o)
{
    size_t used = o->capacity, capacity = 2 * used + BUFFER_MIN;
    uint8_t *larger = bd_try_realloc(o->data, capacity);
    if (!larger) give_up(o, "no memory for the file");
    o->data = larger;
    o->capacity = capacity;
    o->destination.next_output_byte = larger + used;
    o->destination.free_in_buffer = capacity - used;
}

static void begin_destination(j_compress_ptr jpeg)
{
    grow(jpeg->client_data);
}

static boolean fill_destination(j_compress_ptr jpeg)
{
    grow(jpeg->client_data);
    return TRUE;
}

static void end_destination(j_compress_ptr jpeg)
{
    (void)jpeg;
}

// ---- Writing ----

static void set_parameters(output *o, int64_t height, int64_t width, const bd_jpeg_encoding *how)
{
    struct jpeg_compress_struct *j = &o->jpeg;
    j->image_width = (JDIMENSION)width;
    j->image_height = (JDIMENSION)height;
    j->input_components = how->channels;
    j->in_color_space = how->channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    jpeg_set_defaults(j);
    j->optimize_coding = how->optimize_size;
    j->density_unit = how->density_in_cm ? 2 : 1;
    j->X_density = (UINT16)how->x_density;
    j->Y_density = (UINT16)how->y_density;
    jpeg_set_quality(j, how->quality, TRUE);
    if (how->progressive) jpeg_simple_progression(j);
    for (int i = 0; i < j->num_components && !how->chroma_downsampling; i++)
        j->comp_info[i].h_samp_factor = j->comp_info[i].v_samp_factor = 1;
}

// The metadata are preceded by the name of their kind, with its zero.
static void write_metadata(output *o, const bd_jpeg_encoding *how)
{
    static const char name[] = "http://ns.adobe.com/xap/1.0/";
    if (how->xmp_len == 0) return;
    if (how->xmp_len > 65533 - sizeof name) give_up(o, "the metadata are too long");
    o->metadata = bd_try_malloc(sizeof name + how->xmp_len);
    if (!o->metadata) give_up(o, "no memory for the metadata");
    memcpy(o->metadata, name, sizeof name);
    memcpy(o->metadata + sizeof name, how->xmp_metadata, how->xmp_len);
    jpeg_write_marker(&o->jpeg, JPEG_APP0 + 1, o->metadata, (unsigned)(sizeof name + how->xmp_len));
}

// Returns false with o->error set.
static bool write_image(output *o, const uint8_t *samples, int64_t height, int64_t width,
                        const bd_jpeg_encoding *how)
{
    if (setjmp(o->jump)) return false;
    jpeg_create_compress(&o->jpeg);
    o->jpeg.client_data = o; // which creating has cleared
    o->jpeg.dest = &o->destination;
    set_parameters(o, height, width, how);
    jpeg_start_compress(&o->jpeg, TRUE);
    write_metadata(o, how);
    while (o->jpeg.next_scanline < o->jpeg.image_height) {
        JSAMPROW row = (JSAMPROW)samples + (size_t)o->jpeg.next_scanline * (size_t)(width * how->channels);
        jpeg_write_scanlines(&o->jpeg, &row, 1);
    }
    jpeg_finish_compress(&o->jpeg);
    return true;
}

braid_code bd_jpeg_encode(const uint8_t *samples, int64_t height, int64_t width, const bd_jpeg_encoding *how,
                          uint8_t **jpeg, size_t *len, braid_status *st)
{
    *jpeg = NULL;
    *len = 0;
    if (height <= 0 || width <= 0 || height > JPEG_MAX_DIMENSION || width > JPEG_MAX_DIMENSION ||
        height * width >= BD_IMAGE_PIXELS_MAX)
        return bd_fail(st, BRAID_INTERNAL, "JPEG encoding failed: no JPEG image is %lld x %lld",
                       (long long)height, (long long)width);
    output o = {.destination = {.init_destination = begin_destination,
                                .empty_output_buffer = fill_destination,
                                .term_destination = end_destination}};
    o.jpeg.err = jpeg_std_error(&o.errors);
    o.errors.error_exit = on_error;
    o.errors.output_message = on_message;
    o.jpeg.client_data = &o;
    bool ok = write_image(&o, samples, height, width, how);
    size_t used = o.capacity - o.destination.free_in_buffer;
    jpeg_destroy_compress(&o.jpeg);
    bd_free(o.metadata);
    if (!ok) {
        bd_free(o.data);
        return bd_fail(st, BRAID_INTERNAL, "JPEG encoding failed: %s", o.error);
    }
    *jpeg = o.data;
    *len = used;
    return BRAID_OK;
}

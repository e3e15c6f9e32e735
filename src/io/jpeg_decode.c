// Reading JPEG images by libjpeg-turbo, in memory.
#include "io/jpeg.h"

#include "base/alloc.h"
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
// It wants size_t and FILE before it.
#include <jpeglib.h>
// It wants jpeglib.h before it.
#include <jerror.h>

// A file that is read. Errors of libjpeg jump out of reading, so the state lies here and not in variables of
// the functions that are left.
typedef struct input {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr errors;
    struct jpeg_source_mgr source;
    struct jpeg_progress_mgr progress;
    jmp_buf jump;
    bd_image_file file;
    const bd_jpeg_decoding *how;
    const bd_image_sink *sink;
    bd_image_form form;
    uint8_t *samples;
    uint8_t *
        // for pixels that must be converted or moved; NULL when none must
        line;
    int64_t rows_read; // before the data ended
    bool is_refused;
    char error[JMSG_LENGTH_MAX];
} input;

// ---- Errors ----

static input *input_of(j_common_ptr jpeg)
{
    return jpeg->client_data;
}

static _Noreturn void on_error(j_common_ptr jpeg)
{
    input *in = input_of(jpeg);
    jpeg->err->format_message(jpeg, in->error);
    longjmp(in->jump, 1);
}

static void on_message(j_common_ptr jpeg)
{
    (void)jpeg;
}

// The limit of scans of a progressive image; each decodes the whole image. Real files have ten.
#define SCANS_MAX 500

static void on_progress(j_common_ptr jpeg)
{
    input *in = input_of(jpeg);
    if (in->jpeg.input_scan_number <= SCANS_MAX) return;
    snprintf(in->error, sizeof in->error, "more than %d scans", SCANS_MAX);
    longjmp(in->jump, 1);
}

// ---- The source ----

static const JOCTET end_of_image[] = {0xff, JPEG_EOI};

static void begin_source(j_decompress_ptr jpeg)
{
    input *in = jpeg->client_data;
    in->source.next_input_byte = in->file.data;
    in->source.bytes_in_buffer = in->file.len;
}

// All bytes are in memory from the start. FALSE ends the reading of rows; the end marker makes libjpeg fill
// in missing rows.
static boolean fill_source(j_decompress_ptr jpeg)
{
    input *in = jpeg->client_data;
    struct jpeg_source_mgr *s = &in->source;
    if (s->bytes_in_buffer == 0 && s->next_input_byte == in->file.data) ERREXIT(jpeg, JERR_INPUT_EMPTY);
    if (!in->how->recover_truncated) {
        // The decoder has consumed less than it looked at: its current segment exceeds the data.
        if (s->bytes_in_buffer > 0) return FALSE;
        ERREXIT(jpeg, JERR_FILE_READ);
    }
    s->next_input_byte = end_of_image;
    s->bytes_in_buffer = sizeof end_of_image;
    return TRUE;
}

static void skip_source(j_decompress_ptr jpeg, long len)
{
    input *in = jpeg->client_data;
    if (len <= 0) return;
    if ((size_t)len > in->source.bytes_in_buffer) {
        in->source.bytes_in_buffer = 0;
        fill_source(jpeg);
        return;
    }
    in->source.bytes_in_buffer -= (size_t)len;
    in->source.next_input_byte += len;
}

static void end_source(j_decompress_ptr jpeg)
{
    (void)jpeg;
}

static void open_input(input *in)
{
    in->jpeg.err = jpeg_std_error(&in->errors);
    in->errors.error_exit = on_error;
    in->errors.output_message = on_message;
    in->jpeg.client_data = in;
    in->source = (struct jpeg_source_mgr){.init_source = begin_source,
                                          .fill_input_buffer = fill_source,
                                          .skip_input_data = skip_source,
                                          .resync_to_restart = jpeg_resync_to_restart,
                                          .term_source = end_source};
}

static _Noreturn void give_up(input *in, const char *why)
{
    snprintf(in->error, sizeof in->error, "%s", why);
    longjmp(in->jump, 1);
}

static void start_reading(input *in)
{
    jpeg_create_decompress(&in->jpeg);
    in->jpeg.client_data = in; // which creating has cleared
    in->jpeg.src = &in->source;
    in->progress.progress_monitor = on_progress;
    in->jpeg.progress = &in->progress;
    if (jpeg_read_header(&in->jpeg, TRUE) != JPEG_HEADER_OK) give_up(in, "the header ends too early");
}

// ---- Decoding ----

// CMYK is decoded as such, and converted to RGB here.
static void choose_colors(input *in)
{
    struct jpeg_decompress_struct *j = &in->jpeg;
    bool has_inks = j->jpeg_color_space == JCS_CMYK || j->jpeg_color_space == JCS_YCCK;
    in->form.channels = in->how->channels ? in->how->channels : j->num_components < 3 ? j->num_components : 3;
    if (in->form.channels != 1 && in->form.channels != 3) give_up(in, "it has neither 1 nor 3 colors");
    j->out_color_space = in->form.channels == 1 ? JCS_GRAYSCALE : has_inks ? JCS_CMYK : JCS_RGB;
    j->do_fancy_upsampling = in->how->fancy_upscaling;
    j->scale_num = 1;
    j->scale_denom = (unsigned)in->how->ratio;
    j->dct_method = in->how->accurate_dct ? JDCT_ISLOW : JDCT_IFAST;
}

static void check_size(input *in)
{
    struct jpeg_decompress_struct *j = &in->jpeg;
    const bd_jpeg_decoding *how = in->how;
    jpeg_calc_output_dimensions(j);
    int64_t height = j->output_height, width = j->output_width;
    if (height <= 0 || width <= 0 || height * width * j->num_components >= BD_IMAGE_PIXELS_MAX)
        give_up(in, "the image is too large");
    in->form.frames = 1;
    in->form.height = how->crop ? how->crop_height : height;
    in->form.width = how->crop ? how->crop_width : width;
    if (how->crop && (how->crop_height <= 0 || how->crop_width <= 0 || how->crop_y < 0 || how->crop_x < 0 ||
                      how->crop_y > height - how->crop_height || how->crop_x > width - how->crop_width))
        give_up(in, "the crop window is not within the image");
}

// Where in a line the row begins: libjpeg cuts lines where its blocks begin.
static int64_t crop_lines(input *in)
{
    struct jpeg_decompress_struct *j = &in->jpeg;
    if (!in->how->crop) return 0;
    JDIMENSION x = (JDIMENSION)in->how->crop_x, width = (JDIMENSION)in->how->crop_width;
    jpeg_crop_scanline(j, &x, &width);
    if (in->how->crop_y > 0) jpeg_skip_scanlines(j, (JDIMENSION)in->how->crop_y);
    return in->how->crop_x - x;
}

// One pixel of four inks; Adobe writes them inverted.
static void ink_to_rgb(const uint8_t *ink, bool is_inverted, uint8_t *rgb)
{
    int k = is_inverted ? ink[3] : 255 - ink[3];
    for (int c = 0; c < 3; c++)
        rgb[c] = (uint8_t)(k * (is_inverted ? ink[c] : 255 - ink[c]) / 255);
}

static void line_to_row(const input *in, int64_t offset, uint8_t *row)
{
    int64_t components = in->jpeg.output_components;
    const uint8_t *from = in->line + offset * components;
    if (in->jpeg.out_color_space != JCS_CMYK) {
        memcpy(row, from, (size_t)(in->form.width * in->form.channels));
        return;
    }
    for (int64_t i = 0; i < in->form.width; i++)
        ink_to_rgb(from + 4 * i, in->jpeg.saw_Adobe_marker, row + 3 * i);
}

// Reads rows up to the end of the image or of the data; libjpeg makes up the others.
static void read_rows(input *in, int64_t offset, size_t row_len)
{
    int64_t i = 0;
    for (; i < in->form.height; i++) {
        uint8_t *row = in->samples + (size_t)i * row_len;
        JSAMPROW to = in->line ? in->line : row;
        if (jpeg_read_scanlines(&in->jpeg, &to, 1) == 0) break;
        if (in->line) line_to_row(in, offset, row);
    }
    in->rows_read = in->how->recover_truncated ? in->form.height : i;
    for (; i < in->form.height; i++) {
        uint8_t *row = in->samples + (size_t)i * row_len;
        if (in->how->recover_truncated && i > 0) {
            memcpy(row, row - row_len, row_len);
        } else {
            memset(row, 0, row_len);
        }
    }
}

// Returns false with in->error or in->is_refused set.
static bool read_image(input *in)
{
    if (setjmp(in->jump)) return false;
    start_reading(in);
    choose_colors(in);
    check_size(in);
    // Before libjpeg takes memory for the image, too.
    in->samples = in->sink->allocate(in->sink->arg, &in->form);
    in->is_refused = in->samples == NULL;
    if (in->is_refused) return false;
    if (!jpeg_start_decompress(&in->jpeg)) give_up(in, "the data end too early");
    int64_t offset = crop_lines(in);
    if (in->jpeg.output_width != in->form.width || in->jpeg.out_color_space == JCS_CMYK) {
        in->line = bd_try_malloc((size_t)in->jpeg.output_width * (size_t)in->jpeg.output_components);
        if (!in->line) give_up(in, "no memory for a line");
    } else if (in->jpeg.output_components != in->form.channels) {
        give_up(in, "its colors are not those that were asked for");
    }
    read_rows(in, offset, (size_t)(in->form.width * in->form.channels));
    float wanted = in->how->acceptable_fraction < 1.0f ? in->how->acceptable_fraction : 1.0f;
    if ((float)in->rows_read / (float)in->form.height < wanted) give_up(in, "the data end too early");
    // Data after the last requested row are not checked.
    return true;
}

braid_code bd_jpeg_decode(bd_image_file file, const bd_jpeg_decoding *how, const bd_image_sink *sink,
                          braid_status *st)
{
    input in = {.file = file, .how = how, .sink = sink};
    open_input(&in);
    bool ok = read_image(&in);
    jpeg_destroy_decompress(&in.jpeg);
    bd_free(in.line);
    if (ok) return BRAID_OK;
    if (in.is_refused) return bd_image_refused(st);
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Invalid JPEG data or crop window, data size %zu: %s",
                   file.len, in.error);
}

// ---- The form alone ----

static bool read_form(input *in)
{
    if (setjmp(in->jump)) return false;
    start_reading(in);
    jpeg_calc_output_dimensions(&in->jpeg);
    in->form = (bd_image_form){.frames = 1,
                               .height = in->jpeg.output_height,
                               .width = in->jpeg.output_width,
                               .channels = in->jpeg.output_components};
    return true;
}

braid_code bd_jpeg_form(bd_image_file file, bd_image_form *form, braid_status *st)
{
    static const bd_jpeg_decoding plain = {.ratio = 1};
    input in = {.file = file, .how = &plain};
    open_input(&in);
    bool ok = read_form(&in);
    jpeg_destroy_decompress(&in.jpeg);
    *form = in.form;
    if (ok) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Invalid JPEG data, size %zu: %s", file.len, in.error);
}

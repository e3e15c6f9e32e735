// Reading GIF files (GIF89a specification, CompuServe 1990).
//
// A file is a header, an optional table of colors, and blocks: extensions, which are skipped, and frames. It
// is gone through twice: to count the frames and find their extent, which gives the size of the image, and to
// draw them.
#include "io/gif.h"

#include <stdbool.h>
#include <string.h>

enum {
    EXTENSION = 0x21,
    FRAME = 0x2c,
    TRAILER = 0x3b,
    HAS_COLORS = 0x80,
    INTERLACED = 0x40,
    CODE_BITS_MAX = 12,
    CODES_MAX = 1 << CODE_BITS_MAX
};

typedef struct reader {
    const uint8_t *data;
    size_t at, len;
} reader;

typedef struct frame {
    int64_t left, top, width, height;
    bool is_interlaced;
    const uint8_t *colors; // RGB triples; NULL: no table
    int color_count;
    size_t codes_at; // where its pixels begin
} frame;

typedef struct gif {
    const uint8_t *colors; // of frames without a table of their own; NULL: no table
    int color_count;
    reader blocks; // from the first block on
} gif;

// ---- Blocks ----

static bool skip(reader *r, size_t len)
{
    if (r->len - r->at < len) return false;
    r->at += len;
    return true;
}

static int64_t le16(const uint8_t *p)
{
    return p[0] | p[1] << 8;
}

// Reads a table of colors if the flags announce one.
static bool read_colors(reader *r, int flags, const uint8_t **colors, int *count)
{
    if (!(flags & HAS_COLORS)) return true;
    *count = 2 << (flags & 7);
    *colors = r->data + r->at;
    return skip(r, 3 * (size_t)*count);
}

// Pieces of at most 255 bytes, up to an empty one.
static bool skip_pieces(reader *r)
{
    for (;;) {
        if (r->at >= r->len) return false;
        size_t len = r->data[r->at++];
        if (len == 0) return true;
        if (!skip(r, len)) return false;
    }
}

static bool open_gif(bd_image_file file, gif *g)
{
    reader r = {file.data, 0, file.len};
    *g = (gif){0};
    if (!skip(&r, 13)) return false;
    if (memcmp(file.data, "GIF87a", 6) != 0 && memcmp(file.data, "GIF89a", 6) != 0) return false;
    if (!read_colors(&r, file.data[10], &g->colors, &g->color_count)) return false;
    g->blocks = r;
    return true;
}

typedef enum next {
    NEXT_FRAME,
    NEXT_END,
    NEXT_BROKEN
} next;

// Moves to the next frame and past its pixels.
static next next_frame(const gif *g, reader *r, frame *f)
{
    while (r->at < r->len) {
        uint8_t kind = r->data[r->at++];
        if (kind == TRAILER) return NEXT_END;
        if (kind == EXTENSION) {
            if (!skip(r, 1) || !skip_pieces(r)) return NEXT_BROKEN;
            continue;
        }
        const uint8_t *p = r->data + r->at;
        if (kind != FRAME || !skip(r, 9)) return NEXT_BROKEN;
        *f = (frame){.left = le16(p),
                     .top = le16(p + 2),
                     .width = le16(p + 4),
                     .height = le16(p + 6),
                     .is_interlaced = (p[8] & INTERLACED) != 0,
                     .colors = g->colors,
                     .color_count = g->color_count};
        if (!read_colors(r, p[8], &f->colors, &f->color_count)) return NEXT_BROKEN;
        f->codes_at = r->at;
        return skip(r, 1) && skip_pieces(r) ? NEXT_FRAME : NEXT_BROKEN;
    }
    return NEXT_BROKEN;
}

// ---- Pixels: LZW codes of growing width in pieces ----

typedef struct codes {
    reader r;
    size_t piece_left;
    uint32_t bits;
    int bit_count;
} codes;

// The next code; -1 at the end of the bytes.
static int next_code(codes *c, int width)
{
    while (c->bit_count < width) {
        if (c->piece_left == 0) c->piece_left = c->r.data[c->r.at++];
        if (c->piece_left == 0) {
            c->r.at--; // the empty piece stays the end
            return -1;
        }
        c->bits |= (uint32_t)c->r.data[c->r.at++] << c->bit_count;
        c->bit_count += 8;
        c->piece_left--;
    }
    int code = (int)(c->bits & ((1u << width) - 1));
    c->bits >>= width;
    c->bit_count -= width;
    return code;
}

// Each code is the string of an earlier one and a last color more.
typedef struct table {
    uint16_t before[CODES_MAX];
    uint8_t last[CODES_MAX];
    uint8_t string[CODES_MAX]; // the string of a code, from its end
} table;

// Where the pixels of a frame go, in the order in which they come.
typedef struct canvas {
    uint8_t *image; // of all frames' size
    const bd_image_form *form;
    const frame *f;
    int64_t x, y, left; // the next pixel in the frame; pixels that are missing
    int pass;           // of an interlaced frame
} canvas;

static void next_row(canvas *c)
{
    static const int first[] = {0, 4, 2, 1}, step[] = {8, 8, 4, 2};
    c->x = 0;
    c->y += c->f->is_interlaced ? step[c->pass] : 1;
    while (c->f->is_interlaced && c->y >= c->f->height && c->pass < 3)
        c->y = first[++c->pass];
}

// False: there is no such color.
static bool put(canvas *c, int color)
{
    int64_t x = c->f->left + c->x, y = c->f->top + c->y;
    if (color >= c->f->color_count) return false;
    if (x < c->form->width && y < c->form->height)
        memcpy(c->image + (y * c->form->width + x) * 3, c->f->colors + (size_t)3 * (size_t)color, 3);
    c->left--;
    if (++c->x == c->f->width) next_row(c);
    return true;
}

// Draws the string of a code: `len` colors of t->string, the last first. Surplus ones are left out.
static bool put_string(canvas *c, const table *t, int len)
{
    while (len > 0 && c->left > 0) {
        if (!put(c, t->string[--len])) return false;
    }
    return true;
}

// Spells the string of `code` into t->string from its end; returns its length.
static int spell(table *t, int code, int clear)
{
    int len = 0;
    for (; code > clear; code = t->before[code])
        t->string[len++] = t->last[code];
    t->string[len++] = (uint8_t)code;
    return len;
}

// NULL when all is well, else what is wrong.
static const char *draw_codes(const gif *g, canvas *c, table *t)
{
    codes in = {.r = g->blocks};
    in.r.at = c->f->codes_at;
    int root = in.r.data[in.r.at++];
    if (root < 1 || root > 8) return "a code width that there is not";
    int clear = 1 << root, width = root + 1, count = clear + 2, last = -1;
    while (c->left > 0) {
        int code = next_code(&in, width);
        if (code < 0 || code == clear + 1) return "a frame ends too early";
        if (code == clear) {
            width = root + 1;
            count = clear + 2;
            last = -1;
            continue;
        }
        if (code > count || (code == count && last < 0) || (last < 0 && code > clear))
            return "a code that was not defined";
        // A code that is only being defined begins as the one before it, and ends as it begins.
        int len = spell(t, code == count ? last : code, clear);
        uint8_t begin = t->string[len - 1];
        if (last >= 0 && count < CODES_MAX) {
            t->before[count] = (uint16_t)last;
            t->last[count] = begin;
            if (code == count) len = spell(t, code, clear);
            count++;
            if (count == 1 << width && width < CODE_BITS_MAX) width++;
        } else if (code == count) {
            return "a code that was not defined";
        }
        last = code;
        if (!put_string(c, t, len)) return "a color outside of the color map";
    }
    return NULL;
}

// ---- Frames ----

static const char *draw_frame(const gif *g, const frame *f, const bd_image_form *form, int64_t number,
                              uint8_t *samples)
{
    size_t size = (size_t)(form->height * form->width * 3);
    canvas c = {.image = samples + (size_t)number * size, .form = form, .f = f, .left = f->width * f->height};
    bool is_whole = f->left == 0 && f->top == 0 && f->width == form->width && f->height == form->height;
    if (!is_whole && number == 0) memset(c.image, 0, size);
    if (!is_whole && number > 0) memcpy(c.image, c.image - size, size);
    if (!f->colors) return "a frame has no color map";
    table t;
    return draw_codes(g, &c, &t);
}

static const char *measure(const gif *g, bd_image_form *form)
{
    reader r = g->blocks;
    frame f;
    next found;
    *form = (bd_image_form){.channels = 3};
    while ((found = next_frame(g, &r, &f)) == NEXT_FRAME) {
        form->frames++;
        if (f.width > form->width) form->width = f.width;
        if (f.height > form->height) form->height = f.height;
    }
    if (found == NEXT_BROKEN) return "it is truncated, or contains an invalid block";
    if (form->frames == 0) return "gif file does not contain any image";
    if (form->width == 0 || form->height == 0) return "frames without pixels";
    if (form->width * form->height > BD_IMAGE_PIXELS_MAX / form->frames) return "the image is too large";
    return NULL;
}

braid_code bd_gif_decode(bd_image_file file, const bd_image_sink *sink, braid_status *st)
{
    gif g;
    bd_image_form form;
    const char *wrong = open_gif(file, &g) ? measure(&g, &form) : "it has no header";
    if (!wrong) {
        uint8_t *samples = sink->allocate(sink->arg, &form);
        reader r = g.blocks;
        frame f;
        if (!samples) return bd_image_refused(st);
        for (int64_t i = 0; i < form.frames && !wrong; i++) {
            next_frame(&g, &r, &f);
            wrong = draw_frame(&g, &f, &form, i, samples);
        }
    }
    if (!wrong) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Invalid GIF data (size %zu): %s", file.len, wrong);
}

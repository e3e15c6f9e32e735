// Buffered, possibly decompressing input from a file.
#include "io/input.h"

#include "base/alloc.h"
#include "base/check.h"
#include <inttypes.h>
#include <string.h>

// As much as a disk likes to be asked for at once.
#define BUFFER_BYTES ((size_t)256 << 10)

struct bd_input {
    bd_file *file; // owned
    bd_compression kind;
    z_stream *inflater; // owned; NULL without compression
    bool between;       // members: before the first byte of a compressed stream, where the file may end
    uint64_t offset;    // of the next byte in the content
    uint64_t file_next; // offset in the file of the byte after the buffer
    size_t pos, len;    // bytes of the file in the buffer: [pos, len) is unread
    uint8_t buffer[BUFFER_BYTES];
};

static braid_code start_inflater(bd_input *in, braid_status *st)
{
    in->inflater = bd_zlib_stream_new();
    in->between = true;
    if (inflateInit2(in->inflater, bd_compression_window_bits(in->kind)) == Z_OK) return BRAID_OK;
    bd_zlib_stream_free(in->inflater);
    in->inflater = NULL;
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory to decompress %s", in->file->path);
}

braid_code bd_input_open(const bd_fs *fs, const char *path, bd_compression kind, bd_input **in,
                         braid_status *st)
{
    *in = NULL;
    bd_file *file;
    braid_code code = bd_file_open(fs, path, BD_FILE_READ, &file, st);
    if (code) return code;
    bd_input *i = bd_malloc(sizeof *i);
    i->file = file;
    i->kind = kind;
    i->inflater = NULL;
    i->between = true;
    i->offset = i->file_next = 0;
    i->pos = i->len = 0;
    if (kind != BD_COMPRESSION_NONE) code = start_inflater(i, st);
    if (code) {
        bd_input_close(i);
        return code;
    }
    *in = i;
    return BRAID_OK;
}

void bd_input_close(bd_input *in)
{
    if (!in) return;
    BD_STATUS(ignored); // it was only read
    if (in->inflater) inflateEnd(in->inflater);
    bd_zlib_stream_free(in->inflater);
    bd_file_close(in->file, ignored);
    bd_free(in);
}

uint64_t bd_input_offset(const bd_input *in)
{
    return in->offset;
}

const char *bd_input_path(const bd_input *in)
{
    return in->file->path;
}

// Fills the empty buffer; it stays empty where the file ends.
static braid_code fill(bd_input *in, braid_status *st)
{
    in->pos = in->len = 0;
    braid_code code = bd_file_read_at(in->file, in->file_next, in->buffer, BUFFER_BYTES, &in->len, st);
    in->file_next += in->len;
    return code;
}

// ---- Plain ----

static braid_code read_plain(bd_input *in, uint8_t *out, size_t len, size_t *got, braid_status *st)
{
    while (*got < len) {
        size_t left = in->len - in->pos, want = len - *got;
        if (left == 0 && want >= BUFFER_BYTES) { // directly to the caller's memory
            size_t n;
            braid_code code = bd_file_read_at(in->file, in->file_next, out + *got, want, &n, st);
            in->file_next += n;
            *got += n;
            return code;
        }
        if (left == 0) {
            braid_code code = fill(in, st);
            if (code || in->len == 0) return code;
            continue;
        }
        size_t n = left < want ? left : want;
        memcpy(out + *got, in->buffer + in->pos, n);
        in->pos += n;
        *got += n;
    }
    return BRAID_OK;
}

// ---- Compressed ----

static braid_code damaged(bd_input *in, const char *why, braid_status *st)
{
    return bd_fail(st, BRAID_DATA_LOSS, "%s: the compressed content is %s at byte %" PRIu64, in->file->path,
                   why, in->file_next - (in->len - in->pos));
}

// Makes one call of zlib. *starved is set when it needs more bytes of the file.
static braid_code inflate_some(bd_input *in, uint8_t *out, size_t len, size_t *got, bool *starved,
                               braid_status *st)
{
    z_stream *z = in->inflater;
    const size_t call_max = (size_t)1 << 30; // zlib counts in unsigned int
    size_t want = len - *got < call_max ? len - *got : call_max, have = in->len - in->pos;
    z->next_in = in->buffer + in->pos;
    z->avail_in = (uInt)have;
    z->next_out = out + *got;
    z->avail_out = (uInt)want;
    int rc = inflate(z, Z_NO_FLUSH);
    in->pos = in->len - z->avail_in;
    *got += want - z->avail_out;
    *starved = rc == Z_BUF_ERROR && z->avail_in == 0;
    if (z->avail_in < have) in->between = false;
    switch (rc) {
    case Z_OK: return BRAID_OK;
    case Z_STREAM_END: // another member may follow
        in->between = true;
        inflateReset(z);
        return BRAID_OK;
    case Z_MEM_ERROR:
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory to decompress %s", in->file->path);
    default: return *starved ? BRAID_OK : damaged(in, "damaged", st);
    }
}

static braid_code read_compressed(bd_input *in, uint8_t *out, size_t len, size_t *got, braid_status *st)
{
    while (*got < len) {
        bool starved;
        braid_code code = inflate_some(in, out, len, got, &starved, st);
        if (code) return code;
        if (!starved) continue;
        code = fill(in, st);
        if (code) return code;
        if (in->len == 0) return in->between ? BRAID_OK : damaged(in, "cut off", st);
    }
    return BRAID_OK;
}

braid_code bd_input_read(bd_input *in, void *out, size_t len, size_t *got, braid_status *st)
{
    *got = 0;
    braid_code code =
        in->inflater ? read_compressed(in, out, len, got, st) : read_plain(in, out, len, got, st);
    in->offset += *got;
    return code;
}

// ---- Seeking ----

static braid_code skip_to(bd_input *in, uint64_t offset, braid_status *st)
{
    uint8_t scratch[4096];
    while (in->offset < offset) {
        uint64_t left = offset - in->offset;
        size_t want = left < sizeof scratch ? (size_t)left : sizeof scratch, got;
        braid_code code = bd_input_read(in, scratch, want, &got, st);
        if (code || got < want) return code;
    }
    return BRAID_OK;
}

braid_code bd_input_seek(bd_input *in, uint64_t offset, braid_status *st)
{
    if (!in->inflater) {
        uint64_t start = in->file_next - in->len; // of the buffer
        if (offset >= start && offset <= in->file_next) {
            in->pos = (size_t)(offset - start);
        } else {
            in->file_next = offset;
            in->pos = in->len = 0;
        }
        in->offset = offset;
        return BRAID_OK;
    }
    if (offset < in->offset) {
        inflateReset(in->inflater);
        in->between = true;
        in->offset = in->file_next = 0;
        in->pos = in->len = 0;
    }
    return skip_to(in, offset, st);
}

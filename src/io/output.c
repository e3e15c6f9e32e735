// Buffered, possibly compressed output to a file.
//
// `buffer` holds bytes until they are written: the bytes themselves, or the output of zlib.
#include "io/output.h"

#include "base/alloc.h"
#include "base/check.h"
#include "base/fork.h"
#include <string.h>

// Large enough that a write costs little beside it, small enough to stay in the cache.
#define BUFFER_BYTES ((size_t)256 << 10)

struct bd_output {
    bd_file *file; // owned
    bd_compression kind;
    z_stream *deflater; // owned; NULL without compression, or while it is being replaced
    braid_zlib_options zlib;
    size_t unflushed; // bytes that the deflater got since it flushed, where the options say that it does
    uint64_t offset;  // bytes put
    size_t used;      // of the buffer
    unsigned forks;   // bd_fork_count() of the process that has put what is in the buffer
    bool broken;      // a write failed: the content of the file is undefined
    uint8_t buffer[BUFFER_BYTES];
};

static braid_code start_deflater(bd_output *out, braid_status *st)
{
    const braid_zlib_options *o = &out->zlib;
    out->deflater = bd_zlib_stream_new();
    int rc = deflateInit2(out->deflater, o->level, Z_DEFLATED,
                          o->window_bits ? o->window_bits : bd_compression_window_bits(out->kind),
                          o->mem_level, o->strategy);
    if (rc == Z_OK) return BRAID_OK;
    bd_zlib_stream_free(out->deflater);
    out->deflater = NULL;
    if (rc == Z_STREAM_ERROR)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "%s: zlib does not take level %d, window bits %d, memory level %d and strategy %d",
                       out->file->path, o->level, o->window_bits, o->mem_level, o->strategy);
    return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "no memory to compress %s", out->file->path);
}

braid_code bd_output_open(const bd_fs *fs, const char *path, bd_file_mode mode, bd_compression kind,
                          bd_output **out, braid_status *st)
{
    BD_ASSERT(mode != BD_FILE_READ && (mode != BD_FILE_APPEND || kind == BD_COMPRESSION_NONE));
    *out = NULL;
    bd_file *file;
    braid_code code = bd_file_open(fs, path, mode, &file, st);
    if (code) return code;
    bd_output *o = bd_malloc(sizeof *o);
    o->file = file;
    o->kind = kind;
    o->deflater = NULL;
    o->zlib = BRAID_ZLIB_DEFAULTS;
    o->unflushed = 0;
    o->offset = 0;
    o->used = 0;
    o->forks = bd_fork_count();
    o->broken = false;
    if (kind != BD_COMPRESSION_NONE) code = start_deflater(o, st);
    if (code) {
        bd_output_abandon(o);
        return code;
    }
    *out = o;
    return BRAID_OK;
}

static void end_deflater(bd_output *out)
{
    if (out->deflater) deflateEnd(out->deflater);
    bd_zlib_stream_free(out->deflater);
    out->deflater = NULL;
}

braid_code bd_output_set_zlib(bd_output *out, const braid_zlib_options *options, braid_status *st)
{
    BD_ASSERT(out->offset == 0);
    if (out->kind == BD_COMPRESSION_NONE) return BRAID_OK;
    if (options->flush_mode < Z_NO_FLUSH || options->flush_mode > Z_FULL_FLUSH)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s: there is no flush mode %d", out->file->path,
                       options->flush_mode);
    end_deflater(out);
    out->zlib = *options;
    braid_code code = start_deflater(out, st);
    out->broken = code != BRAID_OK;
    return code;
}

uint64_t bd_output_offset(const bd_output *out)
{
    return out->offset;
}

static braid_code write_out(bd_output *out, const void *data, size_t len, braid_status *st)
{
    if (out->broken) {
        return bd_fail(st, BRAID_FAILED_PRECONDITION,
                       "writing to %s failed before, or it is compressed and was opened before a fork",
                       out->file->path);
    }
    if (len == 0) return BRAID_OK;
    braid_code code = bd_file_write(out->file, data, len, st);
    if (code) out->broken = true;
    return code;
}

// What the buffer of a child of fork holds is its parent's to write. The child goes on behind what both have
// written, but not in a compressed stream, in which one must know all that came before.
static void drop_inherited(bd_output *out)
{
    const unsigned forks = bd_fork_count();
    if (out->forks == forks) return;
    out->forks = forks;
    out->used = 0;
    if (!out->deflater) return;
    end_deflater(out);
    out->broken = true;
}

static braid_code empty_buffer(bd_output *out, braid_status *st)
{
    braid_code code = write_out(out, out->buffer, out->used, st);
    out->used = 0;
    return code;
}

// Runs zlib over `len` bytes until it has taken them all and, for another `flush` than Z_NO_FLUSH, has given
// all.
static braid_code deflate_all(bd_output *out, const void *data, size_t len, int flush, braid_status *st)
{
    z_stream *z = out->deflater;
    const size_t call_max = (size_t)1 << 30; // zlib counts in unsigned int
    do {
        size_t n = len < call_max ? len : call_max;
        bool last = n == len;
        z->next_in = (Bytef *)data;
        z->avail_in = (uInt)n;
        bool more = true;
        while (more) {
            z->next_out = out->buffer + out->used;
            z->avail_out = (uInt)(BUFFER_BYTES - out->used);
            int rc = deflate(z, last ? flush : Z_NO_FLUSH);
            BD_ASSERT(rc != Z_STREAM_ERROR);
            out->used = BUFFER_BYTES - z->avail_out;
            more = z->avail_out == 0 && rc != Z_STREAM_END;
            braid_code code = out->used == BUFFER_BYTES ? empty_buffer(out, st) : BRAID_OK;
            if (code) return code;
        }
        if (n > 0) data = (const char *)data + n; // NULL may come with nothing
        len -= n;
    } while (len > 0);
    return BRAID_OK;
}

// Flushes as the options say: when the bytes and those before would fill the buffer of flush_bytes.
static braid_code deflate_put(bd_output *out, const void *data, size_t len, braid_status *st)
{
    const int flush = out->zlib.flush_mode;
    const size_t most = out->zlib.flush_bytes;
    if (flush == Z_NO_FLUSH) return deflate_all(out, data, len, Z_NO_FLUSH, st);
    braid_code code = BRAID_OK;
    if (out->unflushed && len > most - out->unflushed) {
        code = deflate_all(out, NULL, 0, flush, st);
        out->unflushed = 0;
    }
    if (code) return code;
    const bool fits = len <= most;
    out->unflushed = fits ? out->unflushed + len : 0;
    return deflate_all(out, data, len, fits ? Z_NO_FLUSH : flush, st);
}

braid_code bd_output_put(bd_output *out, const void *data, size_t len, braid_status *st)
{
    drop_inherited(out);
    if (out->broken) return write_out(out, data, len, st);
    out->offset += len;
    if (out->deflater) return deflate_put(out, data, len, st);
    if (len > BUFFER_BYTES - out->used) {
        braid_code code = empty_buffer(out, st);
        if (code) return code;
        if (len >= BUFFER_BYTES / 2) return write_out(out, data, len, st);
    }
    if (len) memcpy(out->buffer + out->used, data, len);
    out->used += len;
    return BRAID_OK;
}

braid_code bd_output_flush(bd_output *out, braid_status *st)
{
    braid_code code = BRAID_OK;
    drop_inherited(out);
    if (out->deflater && !out->broken) code = deflate_all(out, NULL, 0, Z_SYNC_FLUSH, st);
    return code ? code : empty_buffer(out, st);
}

braid_code bd_output_sync(bd_output *out, braid_status *st)
{
    braid_code code = bd_output_flush(out, st);
    return code ? code : bd_file_sync(out->file, st);
}

static braid_code release(bd_output *out, braid_status *st)
{
    end_deflater(out);
    braid_code code = bd_file_close(out->file, st);
    bd_free(out);
    return code;
}

static braid_code finish(bd_output *out, bool synced, braid_status *st)
{
    if (!out) return BRAID_OK;
    BD_STATUS(close_st);
    braid_code code = BRAID_OK;
    drop_inherited(out);
    if (out->deflater && !out->broken) code = deflate_all(out, NULL, 0, Z_FINISH, st);
    if (!code) code = empty_buffer(out, st);
    if (!code && synced) code = bd_file_sync(out->file, st);
    braid_code close_code = release(out, close_st);
    return code || !close_code ? code : bd_status_copy(st, close_st);
}

braid_code bd_output_close(bd_output *out, braid_status *st)
{
    return finish(out, false, st);
}

braid_code bd_output_close_synced(bd_output *out, braid_status *st)
{
    return finish(out, true, st);
}

void bd_output_abandon(bd_output *out)
{
    BD_STATUS(ignored);
    if (out) release(out, ignored);
}

// Reading TFRecord files.
#include "base/alloc.h"
#include "io/crc32c.h"
#include "io/input.h"
#include "io/little_endian.h"
#include "io/record.h"
#include <inttypes.h>

// A record's memory grows as its bytes arrive, from this: a length that lies costs no more than the file
// holds.
#define FIRST_BYTES ((size_t)64 << 10)

struct bd_record_reader {
    bd_input *in;  // owned
    uint8_t *data; // of the last record, with its trailing checksum
    size_t cap;
};

braid_code bd_record_reader_open(const bd_fs *fs, const char *path, bd_compression kind, bd_record_reader **r,
                                 braid_status *st)
{
    *r = NULL;
    bd_input *in;
    braid_code code = bd_input_open(fs, path, kind, &in, st);
    if (code) return code;
    *r = bd_calloc(1, sizeof **r);
    (*r)->in = in;
    return BRAID_OK;
}

void bd_record_reader_close(bd_record_reader *r)
{
    if (!r) return;
    bd_input_close(r->in);
    bd_free(r->data);
    bd_free(r);
}

uint64_t bd_record_reader_offset(const bd_record_reader *r)
{
    return bd_input_offset(r->in);
}

braid_code bd_record_reader_seek(bd_record_reader *r, uint64_t offset, braid_status *st)
{
    return bd_input_seek(r->in, offset, st);
}

static braid_code lost(bd_record_reader *r, const char *what, uint64_t start, const char *why,
                       braid_status *st)
{
    return bd_fail(st, BRAID_DATA_LOSS, "%s record at %" PRIu64 " of %s: %s", what, start,
                   bd_input_path(r->in), why);
}

static bool crc_matches(const void *data, size_t len, const uint8_t *stored)
{
    return bd_crc32c_mask(bd_crc32c(data, len)) == bd_get_le32(stored);
}

static braid_code read_length(bd_record_reader *r, uint64_t start, size_t *len, braid_status *st)
{
    uint8_t head[12];
    size_t got;
    braid_code code = bd_input_read(r->in, head, sizeof head, &got, st);
    if (code) return code;
    if (got == 0) return bd_fail(st, BRAID_OUT_OF_RANGE, "end of file %s", bd_input_path(r->in));
    if (got < sizeof head) return lost(r, "truncated", start, "the file ends within its length", st);
    if (!crc_matches(head, 8, head + 8)) {
        return lost(r, "corrupted", start, "the checksum of its length is wrong", st);
    }
    uint64_t length = bd_get_le64(head);
    if (length > BD_RECORD_BYTES_MAX) {
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED,
                       "the record at %" PRIu64 " of %s is %" PRIu64
                       " bytes long; no more than %zu can be read",
                       start, bd_input_path(r->in), length, BD_RECORD_BYTES_MAX);
    }
    *len = (size_t)length;
    return BRAID_OK;
}

// Reads `len` bytes into r->data.
static braid_code read_data(bd_record_reader *r, uint64_t start, size_t len, braid_status *st)
{
    size_t have = 0;
    while (have < len) {
        if (have == r->cap) {
            size_t cap = r->cap ? 2 * r->cap : FIRST_BYTES;
            if (cap > len) cap = len;
            uint8_t *grown = bd_try_realloc(r->data, cap);
            if (!grown) {
                return bd_fail(st, BRAID_RESOURCE_EXHAUSTED,
                               "no memory for the record at %" PRIu64 " of %s (%zu bytes)", start,
                               bd_input_path(r->in), len);
            }
            r->data = grown;
            r->cap = cap;
        }
        size_t want = (len < r->cap ? len : r->cap) - have, got;
        braid_code code = bd_input_read(r->in, r->data + have, want, &got, st);
        if (code) return code;
        if (got < want) return lost(r, "truncated", start, "the file ends within its data", st);
        have += got;
    }
    return BRAID_OK;
}

static braid_code read_record(bd_record_reader *r, uint64_t start, size_t *len, braid_status *st)
{
    braid_code code = read_length(r, start, len, st);
    if (!code) code = read_data(r, start, *len + 4, st);
    if (!code && !crc_matches(r->data, *len, r->data + *len)) {
        code = lost(r, "corrupted", start, "the checksum of its data is wrong", st);
    }
    return code;
}

braid_code bd_record_read(bd_record_reader *r, const uint8_t **data, size_t *len, braid_status *st)
{
    BD_STATUS(ignored);
    uint64_t start = bd_input_offset(r->in);
    braid_code code = read_record(r, start, len, st);
    if (code) {
        bd_input_seek(r->in, start, ignored); // the next call fails with the same error
        return code;
    }
    *data = r->data;
    return BRAID_OK;
}

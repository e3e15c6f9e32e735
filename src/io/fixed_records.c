// Files of records of one length. The window holds a record and the bytes after it that the footer needs,
// without which it is not a record. The part that the next record shares with it is not read again, so that
// compressed files are read in one pass.
#include "io/fixed_records.h"

#include "base/alloc.h"
#include "io/input.h"
#include <string.h>

struct bd_fixed_records {
    bd_fixed_format format;
    bd_input *in;    // owned
    uint64_t number; // of the next record
    size_t len;      // bytes in the window
    char *window;    // owned; from the beginning of the last record on
};

braid_code bd_fixed_records_open(const bd_fs *fs, const char *path, const bd_fixed_format *format,
                                 bd_fixed_records **r, braid_status *st)
{
    *r = NULL;
    bd_input *in;
    braid_code code = bd_input_open(fs, path, format->compression, &in, st);
    if (code) return code;
    bd_fixed_records *made = bd_malloc(sizeof *made);
    *made = (bd_fixed_records){.format = *format, .in = in};
    made->window = bd_try_malloc((size_t)(format->record + format->footer));
    code = made->window ? bd_input_seek(in, (uint64_t)format->header, st)
                        : bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "%s: no memory for records of %lld bytes",
                                  path, (long long)(format->record + format->footer));
    if (code)
        bd_fixed_records_close(made);
    else
        *r = made;
    return code;
}

void bd_fixed_records_close(bd_fixed_records *r)
{
    if (!r) return;
    bd_input_close(r->in);
    bd_free(r->window);
    bd_free(r);
}

// Moves to the next record, first within the window.
static braid_code hop(bd_fixed_records *r, braid_status *st)
{
    size_t by = (size_t)r->format.hop;
    if (by <= r->len) {
        memmove(r->window, r->window + by, r->len - by);
        r->len -= by;
        return BRAID_OK;
    }
    uint64_t to = bd_input_offset(r->in) + (by - r->len);
    r->len = 0;
    return bd_input_seek(r->in, to, st);
}

braid_code bd_fixed_records_next(bd_fixed_records *r, const char **data, uint64_t *number, braid_status *st)
{
    size_t want = (size_t)(r->format.record + r->format.footer), got;
    *data = NULL;
    braid_code code = r->number > 0 ? hop(r, st) : BRAID_OK;
    if (!code) code = bd_input_read(r->in, r->window + r->len, want - r->len, &got, st);
    if (code) return code;
    r->len += got;
    if (r->len < want) return BRAID_OK;
    *data = r->window;
    *number = r->number++;
    return BRAID_OK;
}

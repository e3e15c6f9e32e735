// Fields of comma-separated values in a file.
#include "io/csv.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "io/input.h"

#define BUFFER_SIZE 65536

struct bd_csv {
    bd_csv_format format;
    bd_input *in;
    size_t at, len; // of the buffer
    bd_strbuf field;
    braid_status broken; // the error of reading, until it is reported; no more is read after it
    bool is_broken;
    char buffer[BUFFER_SIZE];
};

// The value that is read at the end in place of a byte.
#define AT_END (-1)

braid_code bd_csv_open(const bd_fs *fs, const char *path, const bd_csv_format *format, bd_csv **csv,
                       braid_status *st)
{
    bd_input *in;
    *csv = NULL;
    if (bd_input_open(fs, path, format->compression, &in, st)) return st->code;
    bd_csv *c = bd_calloc(1, sizeof *c);
    c->format = *format;
    c->in = in;
    *csv = c;
    return BRAID_OK;
}

void bd_csv_close(bd_csv *c)
{
    if (!c) return;
    bd_input_close(c->in);
    bd_strbuf_fini(&c->field);
    bd_status_fini(&c->broken);
    bd_free(c);
}

// ---- Bytes ----

static int peek(bd_csv *c)
{
    if (c->at == c->len && !c->is_broken) {
        c->at = c->len = 0;
        c->is_broken = bd_input_read(c->in, c->buffer, BUFFER_SIZE, &c->len, &c->broken) != BRAID_OK;
        if (c->is_broken) c->len = 0;
    }
    return c->at < c->len ? (unsigned char)c->buffer[c->at] : AT_END;
}

static int take(bd_csv *c)
{
    int byte = peek(c);
    if (byte != AT_END) c->at++;
    return byte;
}

static void keep(bd_csv *c, int byte)
{
    if (c->field.len < BD_CSV_FIELD_MAX) {
        bd_strbuf_append_char(&c->field, (char)byte);
    } else if (!c->is_broken) {
        bd_fail(&c->broken, BRAID_RESOURCE_EXHAUSTED, "A field of %s is longer than %zu bytes",
                bd_input_path(c->in), BD_CSV_FIELD_MAX);
        c->is_broken = true;
        c->at = c->len;
    }
}

bool bd_csv_is_over(bd_csv *c)
{
    return peek(c) == AT_END && !c->broken.code;
}

// ---- Fields ----

// Whether a byte that was taken ends a record; a carriage return and a line feed are one end.
static bool ends_record(bd_csv *c, int byte)
{
    if (byte == '\r' && peek(c) == '\n') c->at++;
    return byte == AT_END || byte == '\n' || byte == '\r';
}

static void complain(braid_status *st, const char *what)
{
    if (!st->code) bd_fail(st, BRAID_INVALID_ARGUMENT, "%s", what);
}

// These read a field without its end; true: the record ends with it.

static bool read_quoted(bd_csv *c, braid_status *st)
{
    c->at++; // the opening quote
    for (int byte; (byte = take(c)) != AT_END;) {
        if (byte != '"') {
            keep(c, byte);
            continue;
        }
        int next = take(c);
        if (next == (unsigned char)c->format.delimiter) return false;
        if (ends_record(c, next)) return true;
        if (next == '"')
            keep(c, next);
        else
            complain(st, "Quote inside a string has to be escaped by another quote");
    }
    complain(st, "Reached end of file without closing quoted field in record");
    return true;
}

static bool read_plain(bd_csv *c, braid_status *st)
{
    for (;;) {
        int byte = take(c);
        if (byte == (unsigned char)c->format.delimiter) return false;
        if (ends_record(c, byte)) return true;
        if (c->format.quotes && byte == '"') complain(st, "Unquoted fields cannot have quotes inside");
        keep(c, byte);
    }
}

braid_code bd_csv_field(bd_csv *c, const char **data, size_t *len, bool *ends, braid_status *st)
{
    bd_strbuf_clear(&c->field);
    *ends = c->format.quotes && peek(c) == '"' ? read_quoted(c, st) : read_plain(c, st);
    *data = bd_strbuf_str(&c->field);
    *len = c->field.len;
    if (!c->broken.code) return st->code;
    *ends = true;
    braid_status_clear(st);
    bd_status_move(st, &c->broken);
    return st->code;
}

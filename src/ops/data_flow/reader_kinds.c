// The kinds of readers: whole files, lines, records of a fixed length, TFRecords, LMDB databases, and names
// of files themselves.
#include "ops/common/handle.h"
#include "ops/data_flow/reader.h"

#include "base/alloc.h"
#include "io/fixed_records.h"
#include "io/lines.h"
#include "io/lmdb.h"
#include "io/record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

// ---- What all share ----

static braid_code copy_string(bd_string *s, const void *data, size_t len, braid_status *st)
{
    if (len == 0) return BRAID_OK; // an empty line
    s->data = bd_try_malloc(len);
    if (!s->data) return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when reading a record of %zu bytes", len);
    memcpy(s->data, data, len);
    s->len = len;
    return BRAID_OK;
}

// A record with the key "PATH:NUMBER".
static braid_code give(bd_record *record, const char *path, uint64_t number, const void *data, size_t len,
                       braid_status *st)
{
    braid_code code = copy_string(&record->value, data, len, st);
    if (code) return code;
    record->key.data = bd_asprintf("%s:%" PRIu64, path, number);
    record->key.len = strlen(record->key.data);
    return BRAID_OK;
}

typedef struct source_state {
    bd_handle_source handle;
    const bd_reader_kind *kind;
    const char *node; // its name, not owned
    void *options;    // owned
} source_state;

static braid_code source_create(const braid_op *node, source_state *s, const bd_reader_kind *kind,
                                const void *options)
{
    bd_handle_source_init(&s->handle, node, &bd_reader_type);
    s->kind = kind;
    s->node = node->name;
    s->options = kind->options_size > 0 ? bd_memdup(options, kind->options_size) : NULL;
    return BRAID_OK;
}

static void source_destroy(void *state)
{
    source_state *s = state;
    bd_handle_source_fini(&s->handle);
    bd_free(s->options);
}

static braid_code make_reader(void *arg, bd_resource **out, braid_status *st)
{
    const source_state *s = arg;
    (void)st;
    *out = &bd_reader_new(s->kind, s->node, s->options)->base;
    return BRAID_OK;
}

static void source_run(bd_op_ctx *c)
{
    source_state *s = c->state;
    bd_resource *r = bd_handle_source_output(c, &s->handle, make_reader, s);
    if (!r) return;
    const bd_reader_kind *is = BD_CONTAINER_OF(r, bd_reader, base)->kind;
    if (is != s->kind)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Shared reader '%s' is a %s, not a %s", s->handle.name,
                   is->name, s->kind->name);
    bd_resource_unref(r);
}

// An op that makes a reader, in either form: a reference to a string vector, or a resource.
#define READER_OP(HANDLE, ATTRS, CREATE, DOC)                                                                \
    {                                                                                                        \
        .signature = "() -> (reader_handle: " HANDLE ")",                                                    \
        .attrs = ATTRS "container:string=''; shared_name:string=''",                                         \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = bd_shape_fn_handle,                     \
        .kernels = BD_KERNELS({.state_size = sizeof(source_state),                                           \
                               .create = CREATE,                                                             \
                               .destroy = source_destroy,                                                    \
                               .run = source_run}),                                                          \
        .doc = DOC,                                                                                          \
    }

// ---- IdentityReader ----

static braid_code identity_read(void *state, const bd_fs *fs, const char *path, bd_record *record,
                                bool *found, bool *is_last, braid_status *st)
{
    (void)fs;
    (void)state;
    *found = *is_last = true;
    braid_code code = copy_string(&record->key, path, strlen(path), st);
    return code ? code : copy_string(&record->value, path, strlen(path), st);
}

static const bd_reader_kind identity_kind = {
    .name = "IdentityReader", .has_state = true, .read = identity_read};

static braid_code identity_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    return source_create(node, state, &identity_kind, NULL);
}

#define IDENTITY_DOC "A reader whose records are the names of files themselves, as key and as value."

BD_OP(IdentityReader) = READER_OP("Ref(string)", "", identity_create, IDENTITY_DOC);
BD_OP(IdentityReaderV2) = READER_OP("resource", "", identity_create, IDENTITY_DOC);

// ---- WholeFileReader ----

static braid_code whole_file_read(void *state, const bd_fs *fs, const char *path, bd_record *record,
                                  bool *found, bool *is_last, braid_status *st)
{
    char *data;
    size_t len;
    (void)state;
    braid_code code = bd_file_read_all(fs, path, PTRDIFF_MAX - 1, &data, &len, st);
    if (code) return code;
    *found = *is_last = true;
    if (len == 0) bd_free(data); // an empty string owns no memory
    record->value = (bd_string){len > 0 ? data : NULL, len};
    record->key = (bd_string){*path ? bd_strdup(path) : NULL, strlen(path)};
    return BRAID_OK;
}

static const bd_reader_kind whole_file_kind = {
    .name = "WholeFileReader", .has_state = true, .read = whole_file_read};

static braid_code whole_file_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    return source_create(node, state, &whole_file_kind, NULL);
}

#define WHOLE_FILE_DOC "A reader whose records are the contents of files; the key is the file's name."

BD_OP(WholeFileReader) = READER_OP("Ref(string)", "", whole_file_create, WHOLE_FILE_DOC);
BD_OP(WholeFileReaderV2) = READER_OP("resource", "", whole_file_create, WHOLE_FILE_DOC);

// ---- TextLineReader ----

typedef struct text_line_options {
    int64_t skip;
} text_line_options;

typedef struct text_line_state {
    text_line_options options;
    bd_lines *lines;
    uint64_t number; // of the last line, from 1, including skipped lines
} text_line_state;

static void text_line_close(void *state)
{
    text_line_state *s = state;
    bd_lines_close(s->lines);
    s->lines = NULL;
}

// A file that ends within its header is as good as empty.
static braid_code text_line_open(void *state, const bd_fs *fs, const char *path, braid_status *st)
{
    text_line_state *s = state;
    BD_STATUS(why);
    const char *line;
    size_t len;
    text_line_close(s); // of a file that could not be read to its end
    braid_code code = bd_lines_open(fs, path, BD_COMPRESSION_NONE, &s->lines, st);
    s->number = 0;
    while (!code && (int64_t)s->number < s->options.skip && !bd_lines_next(s->lines, &line, &len, why))
        s->number++;
    if (why->code && why->code != BRAID_OUT_OF_RANGE) {
        text_line_close(s);
        return bd_status_copy(st, why);
    }
    return code;
}

static braid_code text_line_read(void *state, const bd_fs *fs, const char *path, bd_record *record,
                                 bool *found, bool *is_last, braid_status *st)
{
    (void)fs;
    text_line_state *s = state;
    BD_STATUS(why);
    const char *line;
    size_t len;
    braid_code code = bd_lines_next(s->lines, &line, &len, why);
    *is_last = code == BRAID_OUT_OF_RANGE;
    if (*is_last) return BRAID_OK;
    if (code) return bd_status_copy(st, why);
    *found = true;
    return give(record, path, ++s->number, line, len, st);
}

static const bd_reader_kind text_line_kind = {.name = "TextLineReader",
                                              .state_size = sizeof(text_line_state),
                                              .options_size = sizeof(text_line_options),
                                              .open = text_line_open,
                                              .read = text_line_read,
                                              .close = text_line_close};

static braid_code text_line_create(const braid_op *node, void *state, braid_status *st)
{
    text_line_options options = {bd_node_attr_int(node, "skip_header_lines")};
    if (options.skip < 0)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "skip_header_lines must be >= 0 not %lld",
                       (long long)options.skip);
    return source_create(node, state, &text_line_kind, &options);
}

#define TEXT_LINE_ATTRS "skip_header_lines:int=0; "
#define TEXT_LINE_DOC                                                                                        \
    "A reader whose records are the lines of text files, without their ends; the key is `FILE:LINE`."

BD_OP(TextLineReader) = READER_OP("Ref(string)", TEXT_LINE_ATTRS, text_line_create, TEXT_LINE_DOC);
BD_OP(TextLineReaderV2) = READER_OP("resource", TEXT_LINE_ATTRS, text_line_create, TEXT_LINE_DOC);

// ---- FixedLengthRecordReader ----

typedef struct fixed_state {
    bd_fixed_format format;
    bd_fixed_records *records;
} fixed_state;

static void fixed_close(void *state)
{
    fixed_state *s = state;
    bd_fixed_records_close(s->records);
    s->records = NULL;
}

static braid_code fixed_open(void *state, const bd_fs *fs, const char *path, braid_status *st)
{
    fixed_state *s = state;
    fixed_close(s);
    return bd_fixed_records_open(fs, path, &s->format, &s->records, st);
}

static braid_code fixed_read(void *state, const bd_fs *fs, const char *path, bd_record *record, bool *found,
                             bool *is_last, braid_status *st)
{
    (void)fs;
    fixed_state *s = state;
    const char *data;
    uint64_t number;
    braid_code code = bd_fixed_records_next(s->records, &data, &number, st);
    *found = !code && data;
    *is_last = !*found;
    return *found ? give(record, path, number, data, (size_t)s->format.record, st) : code;
}

static const bd_reader_kind fixed_kind = {.name = "FixedLengthRecordReader",
                                          .state_size = sizeof(fixed_state),
                                          .options_size = sizeof(bd_fixed_format),
                                          .open = fixed_open,
                                          .read = fixed_read,
                                          .close = fixed_close};

static braid_code read_bytes_attr(const braid_op *node, const char *name, int64_t min, int64_t *bytes,
                                  braid_status *st)
{
    *bytes = bd_node_attr_int(node, name);
    if (*bytes >= min && *bytes <= BD_FIXED_BYTES_MAX) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s must be >= %lld and at most %lld, not %lld", name,
                   (long long)min, (long long)BD_FIXED_BYTES_MAX, (long long)*bytes);
}

static braid_code fixed_create(const braid_op *node, void *state, braid_status *st)
{
    bd_fixed_format o = {.compression = BD_COMPRESSION_NONE};
    const bd_attr *encoding = bd_node_attr(node, "encoding"); // of the second form
    const char *word = encoding ? encoding->s.data : "";
    braid_code code = read_bytes_attr(node, "header_bytes", 0, &o.header, st);
    if (!code) code = read_bytes_attr(node, "record_bytes", 1, &o.record, st);
    if (!code) code = read_bytes_attr(node, "footer_bytes", 0, &o.footer, st);
    if (!code) code = read_bytes_attr(node, "hop_bytes", 0, &o.hop, st);
    if (code) return code;
    if (o.hop == 0) o.hop = o.record;
    code = bd_compression_parse(word, &o.compression, st);
    return code ? code : source_create(node, state, &fixed_kind, &o);
}

#define FIXED_ATTRS "header_bytes:int=0; record_bytes:int; footer_bytes:int=0; hop_bytes:int=0; "
#define FIXED_DOC                                                                                                                \
    "A reader whose records are pieces of `record_bytes` of files, between a header and a footer, one each `hop_bytes` (0: one " \
    "after the other); the key is `FILE:NUMBER`."

BD_OP(FixedLengthRecordReader) = READER_OP("Ref(string)", FIXED_ATTRS, fixed_create, FIXED_DOC);
BD_OP(FixedLengthRecordReaderV2) = READER_OP("resource", FIXED_ATTRS "encoding:string=''; ", fixed_create,
                                             FIXED_DOC);

// ---- TFRecordReader ----

typedef struct record_options {
    bd_compression compression;
} record_options;

typedef struct record_state {
    record_options options;
    bd_record_reader *reader;
} record_state;

static void record_close(void *state)
{
    record_state *s = state;
    bd_record_reader_close(s->reader);
    s->reader = NULL;
}

static braid_code record_open(void *state, const bd_fs *fs, const char *path, braid_status *st)
{
    record_state *s = state;
    record_close(s);
    return bd_record_reader_open(fs, path, s->options.compression, &s->reader, st);
}

static braid_code record_read(void *state, const bd_fs *fs, const char *path, bd_record *record, bool *found,
                              bool *is_last, braid_status *st)
{
    (void)fs;
    record_state *s = state;
    BD_STATUS(why);
    const uint8_t *data;
    size_t len;
    uint64_t at = bd_record_reader_offset(s->reader);
    braid_code code = bd_record_read(s->reader, &data, &len, why);
    *is_last = code == BRAID_OUT_OF_RANGE;
    if (*is_last) return BRAID_OK;
    if (code) return bd_status_copy(st, why);
    *found = true;
    return give(record, path, at, data, len, st);
}

static const bd_reader_kind record_kind = {.name = "TFRecordReader",
                                           .state_size = sizeof(record_state),
                                           .options_size = sizeof(record_options),
                                           .open = record_open,
                                           .read = record_read,
                                           .close = record_close};

static braid_code record_create(const braid_op *node, void *state, braid_status *st)
{
    record_options options;
    braid_code code =
        bd_compression_parse(bd_node_attr_string(node, "compression_type"), &options.compression, st);
    return code ? code : source_create(node, state, &record_kind, &options);
}

#define RECORD_DOC "A reader whose records are those of TFRecord files; the key is `FILE:OFFSET`."

// TensorFlow's definition has this attribute last; the order does not matter.
BD_OP(TFRecordReader) = READER_OP("Ref(string)", "compression_type:string=''; ", record_create, RECORD_DOC);
BD_OP(TFRecordReaderV2) = READER_OP("resource", "compression_type:string=''; ", record_create, RECORD_DOC);

// ---- LMDBReader ----

typedef struct lmdb_state {
    bd_lmdb *db;
} lmdb_state;

static void lmdb_close(void *state)
{
    lmdb_state *s = state;
    bd_lmdb_close(s->db);
    s->db = NULL;
}

static braid_code lmdb_open(void *state, const bd_fs *fs, const char *path, braid_status *st)
{
    lmdb_close(state);
    return bd_lmdb_open(fs, path, &((lmdb_state *)state)->db, st);
}

static braid_code lmdb_read(void *state, const bd_fs *fs, const char *path, bd_record *record, bool *found,
                            bool *is_last, braid_status *st)
{
    (void)fs, (void)path;
    bd_lmdb_record r;
    braid_code code = bd_lmdb_next(((lmdb_state *)state)->db, &r, found, st);
    *is_last = !code && !*found;
    if (code || !*found) return code;
    code = copy_string(&record->key, r.key, r.key_len, st);
    return code ? code : copy_string(&record->value, r.value, r.value_len, st);
}

static const bd_reader_kind lmdb_kind = {.name = "LMDBReader",
                                         .state_size = sizeof(lmdb_state),
                                         .open = lmdb_open,
                                         .read = lmdb_read,
                                         .close = lmdb_close};

static braid_code lmdb_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    return source_create(node, state, &lmdb_kind, NULL);
}

// TensorFlow has no LMDBReaderV2.
BD_OP(LMDBReader) =
    READER_OP("Ref(string)", "", lmdb_create,
              "A reader whose records are those of LMDB databases, in the order of their keys.");

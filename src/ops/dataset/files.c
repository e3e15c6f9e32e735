// Datasets of the content of files: TFRecordDataset, TextLineDataset, FixedLengthRecordDataset.
//
// An iterator reads the files one after another and opens each when it is needed. It reads on an I/O thread.
#include "ops/dataset/files.h"

#include "base/alloc.h"
#include "base/strbuf.h"
#include "io/fixed_records.h"
#include "io/lines.h"
#include "io/record.h"
#include "ops/common/file_arg.h"
#include <string.h>

typedef struct files_dataset {
    bd_dataset base;
    bd_file_names names;
    int64_t *offsets; // [names.count] where to begin; owned; NULL: at the beginning
    bd_compression compression;
    bd_fixed_format format; // of records of fixed length
} files_dataset;

typedef struct files_iterator {
    bd_iterator base;
    int64_t at; // the file that is read, or the next one
    bd_record_reader *records;
    bd_lines *lines;
    bd_fixed_records *fixed;
    bd_strbuf text; // of a line
} files_iterator;

static files_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, files_dataset, base);
}

static files_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, files_iterator, base);
}

static void destroy(bd_dataset *base)
{
    bd_file_names_fini(&dataset_of(base)->names);
    bd_free(dataset_of(base)->offsets);
}

static void close_file(files_iterator *f)
{
    bd_record_reader_close(f->records);
    bd_lines_close(f->lines);
    bd_fixed_records_close(f->fixed);
    f->records = NULL;
    f->lines = NULL;
    f->fixed = NULL;
}

static void close_iterator(bd_iterator *it)
{
    close_file(iterator_of(it));
    bd_strbuf_fini(&iterator_of(it)->text);
}

static const char *file_name(bd_iterator *it)
{
    return dataset_of(it->dataset)->names.items[iterator_of(it)->at];
}

static bool is_over(bd_iterator *it)
{
    return iterator_of(it)->at == dataset_of(it->dataset)->names.count;
}

static void next_file(bd_iterator *it)
{
    close_file(iterator_of(it));
    iterator_of(it)->at++;
}

bd_turn bd_give_bytes(bd_iterator *it, const void *data, size_t len)
{
    braid_tensor *t = &it->answer.tensors[0];
    char *copy = len ? bd_try_malloc(len) : NULL;
    if ((len && !copy) || !bd_tensor_alloc(t, BRAID_STRING, &BD_SCALAR)) {
        bd_free(copy);
        return bd_give_out_of_memory(it);
    }
    if (len) memcpy(copy, data, len);
    bd_tensor_str(t)[0] = (bd_string){.data = copy, .len = len};
    return bd_give(it);
}

void bd_file_names_fini(bd_file_names *names)
{
    for (int64_t i = 0; i < names->count; i++)
        bd_free(names->items[i]);
    bd_free(names->items);
    *names = (bd_file_names){0};
}

bool bd_input_file_names(bd_op_ctx *c, int input, bd_file_names *names)
{
    const braid_tensor *t = bd_input(c, input);
    *names = (bd_file_names){0};
    if (t->shape.rank > 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`filenames` must be a scalar or a vector.");
        return false;
    }
    names->count = bd_tensor_count(t);
    names->items = bd_calloc((size_t)names->count, sizeof *names->items);
    for (int64_t i = 0; i < names->count && !bd_op_failed(c); i++)
        names->items[i] = bd_input_text(c, input, i);
    if (bd_op_failed(c)) bd_file_names_fini(names);
    return !bd_op_failed(c);
}

// Makes a dataset of files from input 0, `filenames`.
static files_dataset *new_dataset(bd_op_ctx *c, const bd_dataset_kind *kind)
{
    static const braid_dtype type = BRAID_STRING;
    BD_STATUS(st);
    bd_dataset *made;
    bd_file_names names;
    if (!bd_input_file_names(c, 0, &names)) return NULL;
    if (bd_dataset_new(kind, (bd_components){1, &type, &BD_SCALAR}, NULL, 0, &made, st)) {
        bd_op_fail_status(c, st);
        bd_file_names_fini(&names);
        return NULL;
    }
    dataset_of(made)->names = names;
    return dataset_of(made);
}

bool bd_input_compression(bd_op_ctx *c, int i, bd_compression *kind)
{
    BD_STATUS(st);
    *kind = BD_COMPRESSION_NONE;
    if (!bd_input_scalar(c, i, "compression_type", BRAID_STRING)) return false;
    char *word = bd_input_text(c, i, 0);
    if (word && bd_compression_parse(word, kind, st))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Unsupported compression_type: \"%s\".", word);
    bd_free(word);
    return !bd_op_failed(c);
}

// How much is read at a time is our own affair; the input is only checked.
static bool check_buffer_size(bd_op_ctx *c, int i, const char *zero_means)
{
    int64_t size;
    if (!bd_input_scalar_int(c, i, "buffer_size", &size)) return false;
    if (size < 0) bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`buffer_size` must be >= 0 (0 == %s)", zero_means);
    return size >= 0;
}

#define FILES_KIND(NAME, READ)                                                                               \
    {                                                                                                        \
        .name = (NAME), .dataset_size = sizeof(files_dataset), .iterator_size = sizeof(files_iterator),      \
        .destroy = destroy, .next = (READ), .close = close_iterator                                          \
    }

// ---- TFRecordDataset ----

static braid_code open_records(bd_iterator *it, braid_status *st)
{
    files_iterator *f = iterator_of(it);
    const files_dataset *d = dataset_of(it->dataset);
    braid_code code =
        bd_record_reader_open(bd_iterator_fs(it), file_name(it), d->compression, &f->records, st);
    if (!code && d->offsets) code = bd_record_reader_seek(f->records, (uint64_t)d->offsets[f->at], st);
    if (code) close_file(f);
    return code;
}

static bd_turn read_record(bd_iterator *it)
{
    files_iterator *f = iterator_of(it);
    while (!is_over(it)) {
        BD_STATUS(st);
        const uint8_t *data;
        size_t len = 0;
        // A file that cannot be opened stays the next one.
        if (!f->records && open_records(it, st)) return bd_give_error(it, st);
        braid_code code = bd_record_read(f->records, &data, &len, st);
        if (!code) return bd_give_bytes(it, data, len);
        next_file(it);
        if (code != BRAID_OUT_OF_RANGE)
            return bd_give_error(it, st); // IgnoreErrorsDataset continues with the next file
    }
    return bd_give_end(it);
}

static bd_turn record_next(bd_iterator *it)
{
    return bd_turn_on_disk(it, read_record);
}

static const bd_dataset_kind record_kind = FILES_KIND("TFRecord", record_next);

// Reads an offset for each file, if the dataset has offsets.
static void read_offsets(bd_op_ctx *c, files_dataset *d)
{
    const braid_tensor *t = bd_input(c, 3);
    int64_t count = bd_tensor_count(t);
    if (t->shape.rank > 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`byte_offsets` must be a scalar or a vector.");
    } else if (count > 0 && count != d->names.count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "`byte_offsets` must be of same size as `filenames`: %lld vs. %lld", (long long)count,
                   (long long)d->names.count);
    } else if (count > 0) {
        d->offsets = bd_memdup(bd_tensor_i64(t), (size_t)count * sizeof *d->offsets);
        for (int64_t i = 0; i < count && !bd_op_failed(c); i++)
            if (d->offsets[i] < 0)
                bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`byte_offsets` must be >= 0, but %lld is not",
                           (long long)d->offsets[i]);
    }
}

static void record_run(bd_op_ctx *c)
{
    bd_compression compression;
    if (!bd_input_compression(c, 1, &compression) || !check_buffer_size(c, 2, "no buffering")) return;
    files_dataset *d = new_dataset(c, &record_kind);
    if (!d) return;
    d->compression = compression;
    if (c->input_count > 3) read_offsets(c, d);
    if (bd_op_failed(c))
        bd_dataset_unref(&d->base);
    else
        bd_output_dataset(c, &d->base);
}

// One file or several; the rest are scalars, but for the offsets that TFRecordDatasetV2 has of the files.
static braid_code files_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < c->input_count; i++) {
        const bool is_of_files = i == 0 || strcmp(c->node->def->inputs[i].name, "byte_offsets") == 0;
        if (is_of_files && c->inputs[i].rank > 1)
            return bd_shape_ctx_fail(c, st, "Shape must be at most rank 1 but is rank %d", c->inputs[i].rank);
        braid_code code = is_of_files ? BRAID_OK : bd_shape_ctx_rank(c, i, 0, st);
        if (code) return code;
    }
    return bd_shape_fn_scalar(c, st);
}

BD_OP(TFRecordDatasetV2) = {
    .signature = "(filenames: string, compression_type: string, buffer_size: int64, byte_offsets: int64) -> "
                 "(handle: variant)",
    .attrs = BD_DATASET_METADATA,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = files_shape,
    .kernels = BD_KERNELS({.run = record_run}),
    .doc = "The records of TFRecord files, one file after the other, each from a byte offset on.",
};

BD_OP(TFRecordDataset) = {
    .signature = "(filenames: string, compression_type: string, buffer_size: int64) -> (handle: variant)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = files_shape,
    .kernels = BD_KERNELS({.run = record_run}),
    .doc = "The records of TFRecord files, one file after the other.",
};

// ---- TextLineDataset ----

// TensorFlow removes carriage returns everywhere in a line.
static bd_turn give_line(bd_iterator *it, const char *line, size_t len)
{
    bd_strbuf *text = &iterator_of(it)->text;
    const char *end = line + len, *cr = memchr(line, '\r', len);
    if (!cr) return bd_give_bytes(it, line, len);
    bd_strbuf_clear(text);
    for (const char *at = line; at < end; at = cr + 1) {
        cr = memchr(at, '\r', (size_t)(end - at));
        if (!cr) cr = end;
        bd_strbuf_append_n(text, at, (size_t)(cr - at));
    }
    return bd_give_bytes(it, bd_strbuf_str(text), text->len);
}

static bd_turn read_line(bd_iterator *it)
{
    files_iterator *f = iterator_of(it);
    while (!is_over(it)) {
        BD_STATUS(st);
        const char *line;
        size_t len = 0;
        if (!f->lines && bd_lines_open(bd_iterator_fs(it), file_name(it),
                                       dataset_of(it->dataset)->compression, &f->lines, st))
            return bd_give_error(it, st);
        braid_code code = bd_lines_next(f->lines, &line, &len, st);
        if (!code) return give_line(it, line, len);
        if (code != BRAID_OUT_OF_RANGE) return bd_give_error(it, st);
        next_file(it);
    }
    return bd_give_end(it);
}

static bd_turn text_next(bd_iterator *it)
{
    return bd_turn_on_disk(it, read_line);
}

static const bd_dataset_kind text_kind = FILES_KIND("TextLine", text_next);

static void text_run(bd_op_ctx *c)
{
    bd_compression compression;
    if (!bd_input_compression(c, 1, &compression) || !check_buffer_size(c, 2, "default")) return;
    files_dataset *d = new_dataset(c, &text_kind);
    if (!d) return;
    d->compression = compression;
    bd_output_dataset(c, &d->base);
}

BD_OP(TextLineDataset) = {
    .signature = "(filenames: string, compression_type: string, buffer_size: int64) -> (handle: variant)",
    .attrs = BD_DATASET_METADATA,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = files_shape,
    .kernels = BD_KERNELS({.run = text_run}),
    .doc = "The lines of text files, one file after the other, without line feeds and carriage returns.",
};

// ---- FixedLengthRecordDataset ----

// Opens a file and checks, where its size is known, that it holds whole records.
static braid_code open_fixed(bd_iterator *it, braid_status *st)
{
    const files_dataset *d = dataset_of(it->dataset);
    const bd_fixed_format *f = &d->format;
    uint64_t size = 0, around = (uint64_t)f->header + (uint64_t)f->footer;
    if (f->compression == BD_COMPRESSION_NONE) {
        braid_code code = bd_file_size(bd_iterator_fs(it), file_name(it), &size, st);
        if (code) return code;
        if (size < around || (size - around) % (uint64_t)f->record != 0)
            return bd_fail(
                st, BRAID_INVALID_ARGUMENT,
                "Excluding the header (%lld bytes) and footer (%lld bytes), input file \"%s\" has body length "
                "%lld bytes, which is not an exact multiple of the record length (%lld bytes).",
                (long long)f->header, (long long)f->footer, file_name(it), (long long)(size - around),
                (long long)f->record);
    }
    return bd_fixed_records_open(bd_iterator_fs(it), file_name(it), f, &iterator_of(it)->fixed, st);
}

static bd_turn read_fixed(bd_iterator *it)
{
    files_iterator *f = iterator_of(it);
    while (!is_over(it)) {
        BD_STATUS(st);
        const char *data;
        uint64_t number;
        if (!f->fixed && open_fixed(it, st)) return bd_give_error(it, st);
        if (bd_fixed_records_next(f->fixed, &data, &number, st)) {
            next_file(it);
            return bd_give_error(it, st);
        }
        if (data) return bd_give_bytes(it, data, (size_t)dataset_of(it->dataset)->format.record);
        next_file(it);
    }
    return bd_give_end(it);
}

static bd_turn fixed_next(bd_iterator *it)
{
    return bd_turn_on_disk(it, read_fixed);
}

static const bd_dataset_kind fixed_kind = FILES_KIND("FixedLengthRecord", fixed_next);

static bool read_sizes(bd_op_ctx *c, int64_t sizes[3])
{
    static const char *const names[] = {"header_bytes", "record_bytes", "footer_bytes"};
    for (int i = 0; i < 3; i++) {
        int64_t least = i == 1;
        if (!bd_input_scalar_int(c, 1 + i, names[i], &sizes[i])) return false;
        if (sizes[i] >= least && sizes[i] <= BD_FIXED_BYTES_MAX) continue;
        if (sizes[i] < least)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`%s` must be %s 0", names[i], least ? ">" : ">=");
        else
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`%s` must be <= %lld", names[i],
                       (long long)BD_FIXED_BYTES_MAX);
        return false;
    }
    return true;
}

static void fixed_run(bd_op_ctx *c)
{
    int64_t sizes[3];
    bd_compression compression = BD_COMPRESSION_NONE;
    if (!read_sizes(c, sizes) || !check_buffer_size(c, 4, "default")) return;
    if (c->input_count > 5 && !bd_input_compression(c, 5, &compression)) return;
    files_dataset *d = new_dataset(c, &fixed_kind);
    if (!d) return;
    d->format = (bd_fixed_format){.header = sizes[0],
                                  .record = sizes[1],
                                  .footer = sizes[2],
                                  .hop = sizes[1],
                                  .compression = compression};
    bd_output_dataset(c, &d->base);
}

BD_OP(FixedLengthRecordDataset) = {
    .signature =
        "(filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, buffer_size: int64) -> "
        "(handle: variant)",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = files_shape,
    .kernels = BD_KERNELS({.run = fixed_run}),
    .doc =
        "Records of `record_bytes` bytes of files, between a header and a footer, one file after the other.",
};

BD_OP(FixedLengthRecordDatasetV2) = {
    .signature =
        "(filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, buffer_size: int64, "
        "compression_type: string) -> (handle: variant)",
    .attrs = BD_DATASET_METADATA,
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = files_shape,
    .kernels = BD_KERNELS({.run = fixed_run}),
    .doc =
        "Records of `record_bytes` bytes of files, which may be compressed, between a header and a footer.",
};

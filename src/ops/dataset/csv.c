// CSVDataset: records of comma-separated values in files (RFC 4180, with another delimiter on request), each
// field as a scalar.
//
// After an error in a record the rest of the record is skipped, so that IgnoreErrorsDataset continues with
// the next one.
#include "io/csv.h"
#include "base/alloc.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"
#include "ops/common/file_arg.h"
#include "ops/common/text_number.h"
#include "ops/dataset/files.h"
#include "ops/dataset/function.h"
#include <string.h>

typedef struct csv_dataset {
    bd_dataset base;
    bd_file_names names;
    bd_csv_format format;
    bool has_header;
    char *na_value; // owned
    size_t na_len;
    int64_t *columns; // [column_count], increasing, owned: the columns to take, or to exclude
    int64_t column_count;
    bool leaves_out;
    braid_tensor *defaults; // [base.count], owned; empty: a value is required
} csv_dataset;

typedef struct csv_iterator {
    bd_iterator base;
    int64_t file; // the file that is read, or the next one
    bd_csv *in;   // owned; NULL: not open
} csv_iterator;

static csv_dataset *dataset_of(const bd_dataset *d)
{
    return BD_CONTAINER_OF(d, csv_dataset, base);
}

static csv_iterator *iterator_of(bd_iterator *it)
{
    return BD_CONTAINER_OF(it, csv_iterator, base);
}

static void destroy(bd_dataset *base)
{
    csv_dataset *d = dataset_of(base);
    bd_file_names_fini(&d->names);
    bd_free(d->na_value);
    bd_free(d->columns);
    if (d->defaults) bd_tensors_fini(d->defaults, base->count);
    bd_free(d->defaults);
}

static void csv_close(bd_iterator *it)
{
    bd_csv_close(iterator_of(it)->in);
}

// ---- Values ----

static braid_code put_default(bd_iterator *it, int i, braid_status *st)
{
    const braid_tensor *d = &dataset_of(it->dataset)->defaults[i];
    if (bd_tensor_count(d) != 1)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Field %d is required but missing in record!", i);
    bd_tensor_view(&it->answer.tensors[i], d, 0, &BD_SCALAR);
    return BRAID_OK;
}

static braid_code put_field(bd_iterator *it, int i, const char *text, size_t len, braid_status *st)
{
    const csv_dataset *d = dataset_of(it->dataset);
    braid_tensor *t = &it->answer.tensors[i];
    if (i >= it->dataset->count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "Expect %d fields but have more in record",
                       it->dataset->count);
    if (len == 0 || (len == d->na_len && memcmp(text, d->na_value, d->na_len) == 0))
        return put_default(it, i, st);
    if (!bd_tensor_alloc(t, it->dataset->types[i], &BD_SCALAR))
        return bd_fail(st, BRAID_RESOURCE_EXHAUSTED, "OOM when reading a field");
    if (t->dtype == BRAID_STRING) {
        bd_tensor_string_set(t, 0, text, len);
        return BRAID_OK;
    }
    if (bd_text_to_number(text, len, t, 0)) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Field %d in record is not a valid %s: %.*s", i,
                   braid_dtype_name(t->dtype), (int)bd_min((int64_t)len, 1024), text);
}

// Whether field `number` of a record is wanted; *listed counts the listed columns that were met.
static bool is_wanted(const csv_dataset *d, int64_t number, int64_t *listed)
{
    if (d->column_count == 0) return true;
    bool is_listed = *listed < d->column_count && d->columns[*listed] == number;
    *listed += is_listed;
    return is_listed != d->leaves_out;
}

// ---- Records ----

// Reads a record as the iterator's answer, or over it. The first error is that of the record.
static braid_code read_record(bd_iterator *it, bool is_header, braid_status *st)
{
    const csv_dataset *d = dataset_of(it->dataset);
    int64_t listed = 0;
    int taken = 0;
    bool ends = false;
    for (int64_t number = 0; !ends; number++) {
        BD_STATUS(bad);
        const char *text;
        size_t len;
        bool wanted = !is_header && is_wanted(d, number, &listed);
        bd_csv_field(iterator_of(it)->in, &text, &len, &ends, bad);
        if (!bad->code && !st->code && wanted) put_field(it, taken, text, len, bad);
        if (bad->code && !st->code) bd_status_move(st, bad);
        taken += wanted;
    }
    if (!st->code && !is_header && taken != it->dataset->count)
        bd_fail(st, BRAID_INVALID_ARGUMENT, "Expect %d fields but have %d in record", it->dataset->count,
                taken);
    return st->code;
}

static braid_code open_next(bd_iterator *it, braid_status *st)
{
    csv_iterator *c = iterator_of(it);
    const csv_dataset *d = dataset_of(it->dataset);
    const char *name = d->names.items[c->file];
    if (bd_csv_open(bd_iterator_fs(it), name, &d->format, &c->in, st) || !d->has_header) return st->code;
    if (!bd_csv_is_over(c->in) && !read_record(it, true, st)) return BRAID_OK;
    braid_status_clear(st);
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Can't read header of file %s", name);
}

static bd_turn read_next(bd_iterator *it)
{
    csv_iterator *c = iterator_of(it);
    while (c->in || c->file < dataset_of(it->dataset)->names.count) {
        BD_STATUS(st);
        if (!c->in && open_next(it, st)) return bd_give_error(it, st);
        if (!bd_csv_is_over(c->in)) return read_record(it, false, st) ? bd_give_error(it, st) : bd_give(it);
        bd_csv_close(c->in);
        c->in = NULL;
        c->file++;
    }
    return bd_give_end(it);
}

static bd_turn csv_next(bd_iterator *it)
{
    return bd_turn_on_disk(it, read_next);
}

static const bd_dataset_kind csv_kind = {
    .name = "CSV",
    .dataset_size = sizeof(csv_dataset),
    .iterator_size = sizeof(csv_iterator),
    .destroy = destroy,
    .next = csv_next,
    .close = csv_close,
};

// ---- The op ----

enum {
    FILENAMES,
    COMPRESSION,
    BUFFER,
    HEADER,
    DELIMITER,
    QUOTES,
    NA_VALUE,
    SELECT,
    DEFAULTS
};

static bool check_columns(bd_op_ctx *c, int input, const char *name)
{
    const braid_tensor *t = bd_input(c, input);
    if (t->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "`%s` must be a vector.", name);
        return false;
    }
    for (int64_t i = 0; i < bd_tensor_count(t); i++) {
        if (i > 0 && bd_tensor_i64(t)[i] <= bd_tensor_i64(t)[i - 1])
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s should be strictly increasing indices", name);
        else if (bd_tensor_i64(t)[i] < 0)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s should be non-negative indices", name);
        if (bd_op_failed(c)) return false;
    }
    return true;
}

// Reads the columns to take, and in the second version the excluded ones, which follow the defaults.
static bool read_columns(bd_op_ctx *c, csv_dataset *d)
{
    int exclude = c->input_count > DEFAULTS + d->base.count ? c->input_count - 1 : -1;
    if (!check_columns(c, SELECT, "select_cols") ||
        (exclude >= 0 && !check_columns(c, exclude, "exclude_cols")))
        return false;
    const braid_tensor *t = bd_input(c, SELECT);
    if (bd_tensor_count(t) > 0 && bd_tensor_count(t) != d->base.count) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "select_cols should match output size");
    } else if (exclude >= 0 && bd_tensor_count(bd_input(c, exclude)) > 0) {
        if (bd_tensor_count(t) > 0)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Either select_cols or exclude_cols should be empty");
        t = bd_input(c, exclude);
        d->leaves_out = true;
    }
    d->column_count = bd_tensor_count(t);
    d->columns = bd_memdup(bd_tensor_i64(t), (size_t)d->column_count * sizeof *d->columns);
    return !bd_op_failed(c);
}

static bool read_defaults(bd_op_ctx *c, csv_dataset *d)
{
    d->defaults = bd_calloc((size_t)d->base.count, sizeof *d->defaults);
    for (int i = 0; i < d->base.count; i++) {
        const braid_tensor *t = bd_input(c, DEFAULTS + i);
        if (t->shape.rank > 1)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Each record default should be at most rank 1");
        else if (bd_tensor_count(t) > 1)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "There should only be 1 default per field but field %d has %lld", i,
                       (long long)bd_tensor_count(t));
        else if (!bd_tensor_keep(&d->defaults[i], t))
            bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when copying a default");
        if (bd_op_failed(c)) return false;
    }
    return true;
}

static bool read_format(bd_op_ctx *c, csv_dataset *d)
{
    int64_t buffer_size;
    if (!bd_input_compression(c, COMPRESSION, &d->format.compression) ||
        !bd_input_scalar_int(c, BUFFER, "buffer_size", &buffer_size) ||
        !bd_input_scalar(c, HEADER, "header", BRAID_BOOL) ||
        !bd_input_scalar(c, DELIMITER, "field_delim", BRAID_STRING) ||
        !bd_input_scalar(c, QUOTES, "use_quote_delim", BRAID_BOOL) ||
        !bd_input_scalar(c, NA_VALUE, "na_value", BRAID_STRING))
        return false;
    const bd_string *delimiter = bd_tensor_str(bd_input(c, DELIMITER)),
                    *na = bd_tensor_str(bd_input(c, NA_VALUE));
    if (buffer_size <= 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "buffer_size should be positive");
    } else if (delimiter->len != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "field_delim should be only 1 char");
    } else {
        d->format.delimiter = delimiter->data[0];
        d->has_header = bd_tensor_bool(bd_input(c, HEADER))[0];
        d->format.quotes = bd_tensor_bool(bd_input(c, QUOTES))[0];
        d->na_value = bd_strndup(na->len ? na->data : "", na->len);
        d->na_len = na->len;
    }
    return !bd_op_failed(c);
}

static void csv_run(bd_op_ctx *c)
{
    bd_dataset *made = bd_dataset_of_attrs(c, &csv_kind, false);
    if (!made) return;
    csv_dataset *d = dataset_of(made);
    if (bd_input_file_names(c, FILENAMES, &d->names) && read_format(c, d) && read_columns(c, d) &&
        read_defaults(c, d))
        bd_output_dataset(c, made);
    else
        bd_dataset_unref(made);
}

static braid_code csv_shape(bd_shape_ctx *c, braid_status *st)
{
    int defaults = bd_node_attr(c->node, "output_types")->list.count;
    for (int i = 0; i < c->input_count; i++) {
        const braid_shape *s = &c->inputs[i];
        bool is_default = i >= DEFAULTS && i < DEFAULTS + defaults;
        if (i == FILENAMES || is_default) {
            if (s->rank > 1)
                return bd_shape_ctx_fail(c, st, "Shape must be at most rank 1 but is rank %d", s->rank);
        } else {
            braid_code code = bd_shape_ctx_rank(c, i, i >= SELECT, st);
            if (code) return code;
        }
        if (is_default && s->rank == 1 && s->dims[0] > 1)
            return bd_shape_ctx_fail(
                c, st, "Shape of a default must be a length-0 or length-1 vector, or a scalar.");
    }
    return bd_shape_fn_scalar(c, st);
}

#define CSV_OP(MORE_INPUTS)                                                                                      \
    {                                                                                                            \
        .signature = "(filenames: string, compression_type: string, buffer_size: int64, header: bool, "          \
                     "field_delim: string, use_quote_delim: bool, na_value: string, select_cols: int64, "        \
                     "record_defaults: output_types..." MORE_INPUTS ") -> (handle: variant)",                    \
        .attrs =                                                                                                 \
            "output_types:list(type){float,double,int32,int64,string}>=1; output_shapes:list(shape)>=1",         \
        .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE, .shape = csv_shape,                                  \
        .kernels = BD_KERNELS({.run = csv_run}),                                                                 \
        .doc =                                                                                                   \
            "Records of comma-separated values in files; a field that is empty or `na_value` takes its default." \
    }

BD_OP(CSVDataset) = CSV_OP("");
BD_OP(ExperimentalCSVDataset) = CSV_OP("");
BD_OP(CSVDatasetV2) = CSV_OP(", exclude_cols: int64");

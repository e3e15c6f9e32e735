// DecodeCSV: lines of comma-separated values as columns (RFC 4180, with another delimiter on request).
#include "base/array.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/string_out.h"
#include "ops/common/text_number.h"

#include <string.h>

typedef struct csv_state {
    char delimiter;
    bool quotes;       // fields may be quoted
    bd_bytes na_value; // of the node, as the columns
    const int64_t *columns;
    int column_count; // 0: all
} csv_state;

static braid_code csv_create(const braid_op *node, void *state, braid_status *st)
{
    csv_state *s = state;
    const bd_bytes *delimiter = &bd_node_attr(node, "field_delim")->s;
    const bd_attr *columns = bd_node_attr(node, "select_cols"), *types = bd_node_attr(node, "OUT_TYPE");
    if (delimiter->len != 1) return bd_fail(st, BRAID_INVALID_ARGUMENT, "field_delim should be only 1 char");
    *s = (csv_state){.delimiter = delimiter->data[0],
                     .quotes = bd_node_attr_bool(node, "use_quote_delim"),
                     .na_value = bd_node_attr(node, "na_value")->s,
                     .columns = columns->list.i,
                     .column_count = columns->list.count};
    if (s->column_count > 0 && s->column_count != types->list.count)
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "select_cols should match output size: %d vs. %d",
                       s->column_count, types->list.count);
    for (int i = 0; i < s->column_count; i++) {
        if (s->columns[i] < 0)
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "select_cols should be non-negative indices");
        if (i > 0 && s->columns[i] <= s->columns[i - 1])
            return bd_fail(st, BRAID_INVALID_ARGUMENT, "select_cols should be strictly increasing indices");
    }
    return BRAID_OK;
}

static braid_code csv_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 1; i < c->input_count; i++) {
        const braid_shape *s = &c->inputs[i];
        if (s->rank > 1)
            return bd_shape_ctx_fail(c, st, "Shape must be at most rank 1 but is rank %d", s->rank);
        if (s->rank == 1 && s->dims[0] > 1)
            return bd_shape_ctx_fail(
                c, st, "Shape of a default must be a length-0 or length-1 vector, or a scalar.");
    }
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = c->inputs[0];
    return BRAID_OK;
}

// ---- The fields of a record ----

typedef struct field_reader {
    const csv_state *s;
    const char *data;
    size_t len, at;
    bd_strbuf field;
    const char *error; // NULL: no error
} field_reader;

static bool is_line_end(char b)
{
    return b == '\n' || b == '\r';
}

static bool is_end_of_quoted(const field_reader *r)
{
    return r->data[r->at] == '"' && (r->at + 1 == r->len || r->data[r->at + 1] == r->s->delimiter);
}

// `at` is behind the opening quote.
static void read_quoted(field_reader *r)
{
    while (r->at < r->len && !is_end_of_quoted(r)) {
        if (r->data[r->at] == '"') {
            if (r->at + 1 < r->len && r->data[r->at + 1] != '"') {
                r->error = "Quote inside a string has to be escaped by another quote";
                return;
            }
            r->at++;
        }
        bd_strbuf_append_char(&r->field, r->data[r->at++]);
    }
    if (r->at >= r->len) r->error = "Quoted field has to end with quote followed by delim or end";
    r->at += 2;
}

static void read_plain(field_reader *r)
{
    size_t from = r->at;
    for (; r->at < r->len && r->data[r->at] != r->s->delimiter; r->at++) {
        char b = r->data[r->at];
        if ((r->s->quotes && b == '"') || is_line_end(b)) {
            r->error = "Unquoted fields cannot have quotes/CRLFs inside";
            return;
        }
    }
    bd_strbuf_append_n(&r->field, r->data + from, r->at - from);
    r->at++;
}

// The next field into r->field; false at the end of the record, or with an error. Ends of lines between
// fields do not count.
static bool next_field(field_reader *r)
{
    bd_strbuf_clear(&r->field);
    while (r->at < r->len && is_line_end(r->data[r->at]))
        r->at++;
    if (r->at >= r->len) {
        // Behind a last delimiter is an empty field.
        bool has_one = r->at == r->len && r->len > 0 && r->data[r->len - 1] == r->s->delimiter;
        r->at = r->len + 1;
        return has_one;
    }
    if (r->s->quotes && r->data[r->at] == '"') {
        r->at++;
        read_quoted(r);
    } else {
        read_plain(r);
    }
    return !r->error;
}

// ---- Columns ----

static void take_default(bd_op_ctx *c, int column, int64_t record)
{
    const braid_tensor *d = bd_input(c, 1 + column), *y = &c->outputs[column].tensor;
    if (bd_tensor_count(d) != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Field %d is required but missing in record %lld!", column,
                   (long long)record);
    } else if (y->dtype == BRAID_STRING) {
        bd_string_put(c, y, record, bd_tensor_str(d)->data, bd_tensor_str(d)->len);
    } else {
        size_t size = braid_dtype_size(y->dtype);
        memcpy((char *)y->data + (size_t)record * size, d->data, size);
    }
}

static void take_field(bd_op_ctx *c, int column, int64_t record, const bd_strbuf *field)
{
    const csv_state *s = c->state;
    const braid_tensor *y = &c->outputs[column].tensor;
    if (field->len == 0 ||
        (field->len == s->na_value.len && memcmp(field->data, s->na_value.data, field->len) == 0))
        take_default(c, column, record);
    else if (y->dtype == BRAID_STRING)
        bd_string_put(c, y, record, field->data, field->len);
    else if (!bd_text_to_number(field->data, field->len, y, record))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Field %d in record %lld is not a valid %s: %.*s", column,
                   (long long)record, braid_dtype_name(y->dtype), (int)bd_min((int64_t)field->len, 1024),
                   field->data);
}

// The output column of a field of a record; -1: it is not selected.
static int column_of(const csv_state *s, int64_t number, int taken)
{
    if (s->column_count == 0) return taken;
    return taken < s->column_count && s->columns[taken] == number ? taken : -1;
}

static void read_record(bd_op_ctx *c, int64_t record, field_reader *r)
{
    const csv_state *s = c->state;
    int taken = 0;
    for (int64_t number = 0; (s->column_count == 0 || taken < s->column_count) && next_field(r); number++) {
        int column = column_of(s, number, taken);
        if (column < 0) continue;
        // Extra fields, and those after an invalid value, are only counted: a wrong number of fields is the
        // better error.
        if (taken++ < c->output_count && !bd_op_failed(c)) take_field(c, column, record, &r->field);
    }
    if (r->error || taken != c->output_count) braid_status_clear(&c->status);
    if (r->error)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s, in record %lld", r->error, (long long)record);
    else if (taken != c->output_count)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expect %d fields but have %d in record %lld", c->output_count,
                   taken, (long long)record);
}

static void csv_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    for (int i = 0; i < c->output_count; i++) {
        int64_t count = bd_tensor_count(bd_input(c, 1 + i));
        if (count > 1) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "There should only be 1 default per field but field %d has %lld", i, (long long)count);
            return;
        }
        if (!bd_output(c, i, c->node->output_types[i], &x->shape)) return;
    }
    field_reader r = {.s = c->state};
    for (int64_t i = 0; i < bd_tensor_count(x) && !bd_op_failed(c) && !bd_interrupted_at(i); i++) {
        const bd_string *s = &bd_tensor_str(x)[i];
        r.data = s->data ? s->data : "";
        r.len = s->len;
        r.at = 0;
        read_record(c, i, &r);
    }
    bd_strbuf_fini(&r.field);
}

BD_OP(DecodeCSV) = {
    .signature = "(records: string, record_defaults: OUT_TYPE...) -> (output: OUT_TYPE...)",
    .attrs = "OUT_TYPE:list(type){double,float,int32,int64,string}>=1; field_delim:string=','; "
             "use_quote_delim:bool=true; na_value:string=''; select_cols:list(int)=[]",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = csv_shape,
    .kernels = BD_KERNELS({.state_size = sizeof(csv_state), .create = csv_create, .run = csv_run}),
    .doc = "Columns of comma-separated records; a field that is empty or `na_value` takes its default.",
};

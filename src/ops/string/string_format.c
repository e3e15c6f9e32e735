// StringFormat, which formats values as text, and PrintV2, which writes a string to a stream.
#include "base/log.h"
#include "graph/shape_fn.h"
#include "io/file.h"
#include "op/io_pool.h"
#include "ops/common/string_out.h"
#include "ops/common/value_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- Tensors as nested lists, with the ends of each dimension shown ----

// The limit of a text.
#define TEXT_BYTES_MAX ((size_t)256 << 20)

typedef struct summary {
    const braid_tensor *tensor;
    int64_t ends; // elements shown at either end of a dimension
    bd_strbuf *out;
} summary;

static void append_gap(const summary *s, int d)
{
    int inner = s->tensor->shape.rank - 1 - d;
    for (int i = 0; i < inner; i++)
        bd_strbuf_append_char(s->out, '\n');
    for (int i = 0; i < (inner == 0 ? 1 : d + 1); i++)
        bd_strbuf_append_char(s->out, ' ');
}

// Appends dimension `d` and the inner dimensions, from element `at` on.
static void append_dim(const summary *s, int d, int64_t at)
{
    const braid_shape *shape = &s->tensor->shape;
    if (d == shape->rank) {
        bd_value_text(s->tensor, at, s->out);
        return;
    }
    int64_t count = shape->dims[d], size = bd_shape_count_range(shape, d + 1, shape->rank);
    bool is_cut = s->ends <= count / 2 && count > 2 * s->ends;
    bd_strbuf_append_char(s->out, '[');
    for (int64_t i = 0; i < count && s->out->len <= TEXT_BYTES_MAX; i++) {
        if (is_cut && i == s->ends) {
            append_gap(s, d);
            bd_strbuf_append(s->out, "...");
            i = count - s->ends;
            if (i == count) break;
        }
        if (i > 0) append_gap(s, d);
        append_dim(s, d + 1, at + i * size);
    }
    bd_strbuf_append_char(s->out, ']');
}

static void append_tensor(const braid_tensor *t, int64_t ends, bd_strbuf *out)
{
    summary s = {t, ends < 0 ? INT64_MAX : ends, out};
    if (t->shape.rank > 0)
        append_dim(&s, 0, 0);
    else if (s.ends == 0)
        bd_strbuf_append(out, "...");
    else
        bd_value_text(t, 0, out);
}

// ---- StringFormat ----

// Takes the text before the next placeholder, or the rest. Returns false at the end.
static bool next_part(const bd_bytes *placeholder, bd_bytes *rest, bd_bytes *part)
{
    if (!rest->data) return false;
    const char *found =
        placeholder->len > 0 ? memmem(rest->data, rest->len, placeholder->data, placeholder->len) : NULL;
    *part = (bd_bytes){rest->data, found ? (size_t)(found - rest->data) : rest->len};
    size_t used = part->len + placeholder->len;
    *rest = found ? (bd_bytes){rest->data + used, rest->len - used} : (bd_bytes){0};
    return true;
}

static braid_code format_create(const braid_op *node, void *state, braid_status *st)
{
    (void)state;
    const bd_bytes *placeholder = &bd_node_attr(node, "placeholder")->s;
    bd_bytes rest = bd_node_attr(node, "template")->s, part;
    int count = bd_node_attr(node, "T")->list.count, found = -1;
    while (next_part(placeholder, &rest, &part))
        found++;
    if (found == count) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "num placeholders in template and num inputs must match: %d vs. %d", found, count);
}

static void format_run(bd_op_ctx *c)
{
    const bd_bytes *placeholder = &bd_node_attr(c->node, "placeholder")->s;
    bd_bytes rest = bd_node_attr(c->node, "template")->s, part;
    bd_strbuf text = {0};
    for (int i = 0; next_part(placeholder, &rest, &part); i++) {
        if (i > 0) append_tensor(bd_input(c, i - 1), bd_node_attr_int(c->node, "summarize"), &text);
        bd_strbuf_append_n(&text, part.data, part.len);
    }
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &BD_SCALAR);
    if (text.len > TEXT_BYTES_MAX)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "The text is longer than %zu bytes: attr summarize limits it",
                   TEXT_BYTES_MAX);
    else if (y)
        bd_string_put(c, y, 0, bd_strbuf_str(&text), text.len);
    bd_strbuf_fini(&text);
}

BD_OP(StringFormat) = {
    .signature = "(inputs: T...) -> (output: string)",
    .attrs = "T:list(type)>=0; template:string='%s'; placeholder:string='%s'; summarize:int=3",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.create = format_create, .run = format_run}),
    .doc =
        "The template with its placeholders replaced by the values of the inputs, of which the first and last `summarize` "
        "of each dimension are shown.",
    .deviation = "A text of more than 256 MiB is refused.",
};

// ---- PrintV2 ----

static bool is_file(const char *stream)
{
    return bd_str_starts_with(stream, "file://");
}

static braid_code print_create(const braid_op *node, void *state, braid_status *st)
{
    static const char *const streams[] = {"stdout", "stderr", "log(info)", "log(warning)", "log(error)"};
    const char *stream = bd_node_attr_string(node, "output_stream");
    (void)state;
    for (size_t i = 0; i < BD_COUNTOF(streams); i++) {
        if (strcmp(stream, streams[i]) == 0) return BRAID_OK;
    }
    if (is_file(stream)) return BRAID_OK;
    return bd_fail(
        st, BRAID_INVALID_ARGUMENT,
        "Unknown output stream: %s, valid streams are: log(info), log(warning), log(error), stderr, stdout "
        "or file://PATH",
        stream);
}

// Appends the input to a file, which may block on the disk.
static void print_to_file(bd_op_ctx *c)
{
    BD_STATUS(st);
    const bd_string *s = bd_tensor_str(bd_input(c, 0));
    const bd_bytes *end = &bd_node_attr(c->node, "end")->s;
    bd_strbuf text = {0};
    bd_file *file;
    bd_strbuf_append_n(&text, s->data, s->len);
    bd_strbuf_append_n(&text, end->data, end->len);
    braid_code code =
        bd_file_open(bd_op_fs(c), bd_node_attr_string(c->node, "output_stream") + strlen("file://"),
                     BD_FILE_APPEND, &file, st);
    if (!code) {
        code = bd_file_write(file, bd_strbuf_str(&text), text.len, st);
        if (code)
            bd_file_close(file, NULL);
        else
            code = bd_file_close(file, st);
    }
    if (code) bd_op_fail_status(c, st);
    bd_strbuf_fini(&text);
}

static void print_start(bd_op_ctx *c)
{
    const char *stream = bd_node_attr_string(c->node, "output_stream");
    const bd_bytes *end = &bd_node_attr(c->node, "end")->s;
    const bd_string *s = bd_tensor_str(bd_input(c, 0));
    if (bd_input(c, 0)->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Input is expected to be scalar, but got %s",
                   bd_shape_str(&bd_input(c, 0)->shape, (char[BD_SHAPE_STR_MAX]){0}));
    } else if (is_file(stream)) {
        bd_op_run_io(c, print_to_file);
        return;
    } else {
        bd_strbuf text = {0};
        bd_strbuf_append_n(&text, s->data, s->len);
        bd_strbuf_append_n(&text, end->data, end->len);
        if (strncmp(stream, "log", 3) == 0)
            bd_log(stream[4] == 'i'   ? BD_INFO
                   : stream[4] == 'w' ? BD_WARNING
                                      : BD_ERROR,
                   "%s", bd_strbuf_str(&text));
        else // one call, so that lines of threads stay whole
            fwrite(bd_strbuf_str(&text), 1, text.len, strcmp(stream, "stdout") == 0 ? stdout : stderr);
        fflush(stdout);
        bd_strbuf_fini(&text);
    }
    bd_op_done(c);
}

static braid_code print_shape(bd_shape_ctx *c, braid_status *st)
{
    if (c->inputs[0].rank <= 0) return BRAID_OK;
    return bd_shape_ctx_fail(c, st, "input must be a scalar, but has rank: %d", c->inputs[0].rank);
}

BD_OP(PrintV2) = {
    .signature = "(input: string) -> ()",
    .attrs = "output_stream:string='stderr'; end:string='\n'",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .shape = print_shape,
    .kernels = BD_KERNELS({.create = print_create, .start = print_start}),
    .doc = "Writes a string and `end` to `output_stream`: stdout, stderr, the log or the end of a file.",
};

// StringSplit and StringSplitV2: the pieces of strings as a sparse matrix, a row a string.
#include "base/alloc.h"
#include "base/array.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/string_out.h"

#include <string.h>

static braid_code split_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 1, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 0, st);
    c->outputs[0] = bd_shape2(-1, 2);
    c->outputs[1] = bd_shape1(-1);
    c->outputs[2] = bd_shape1(2);
    return code;
}

typedef struct piece {
    int64_t row;
    const char *data; // within the input
    size_t len;
} piece;

// The pieces so far. The input determines their number: a text of blanks has as many as bytes.
typedef struct pieces {
    piece *items;
    size_t len, cap;
    int64_t row;
    bool is_full; // memory was short
} pieces;

static void add(pieces *p, const char *data, size_t len)
{
    if (p->len == p->cap) {
        size_t cap = p->cap ? p->cap * 2 : 16;
        piece *items = p->is_full ? NULL : bd_try_realloc(p->items, cap * sizeof *items);
        if (!items) {
            p->is_full = true;
            return;
        }
        p->items = items;
        p->cap = cap;
    }
    p->items[p->len++] = (piece){p->row, data, len};
}

// ---- The two ways to split ----

// At every byte that is one of the separators; without any, into bytes.
static void split_at_bytes(pieces *p, const bd_string *text, const bd_string *separators, bool skip_empty)
{
    if (text->len == 0) return; // has no pieces, not even an empty one
    if (separators->len == 0) {
        for (size_t i = 0; i < text->len; i++)
            add(p, text->data + i, 1);
        return;
    }
    size_t start = 0;
    for (size_t i = 0; i <= text->len; i++) {
        if (i < text->len && !memchr(separators->data, text->data[i], separators->len)) continue;
        if (i > start || !skip_empty) add(p, i > start ? text->data + start : NULL, i - start);
        start = i + 1;
    }
}

static bool is_blank(char b)
{
    return b == ' ' || (b >= '\t' && b <= '\r');
}

// At runs of blanks, as Python's str.split() does.
static void split_at_blanks(pieces *p, const char *at, const char *end, int64_t splits_max)
{
    for (int64_t n = 0;; n++) {
        while (at < end && is_blank(*at))
            at++;
        if (splits_max > 0 && n == splits_max) { // the rest, even if it is empty
            add(p, at, (size_t)(end - at));
            return;
        }
        if (at == end) return;
        const char *from = at;
        while (at < end && !is_blank(*at))
            at++;
        add(p, from, (size_t)(at - from));
    }
}

// At each occurrence of the separator.
static void split_at_text(pieces *p, const char *at, const char *end, const bd_string *separator,
                          int64_t splits_max)
{
    const char *found;
    for (int64_t n = 0; (splits_max <= 0 || n < splits_max) && at < end &&
                        (found = memmem(at, (size_t)(end - at), separator->data, separator->len));
         n++) {
        add(p, at, (size_t)(found - at));
        at = found + separator->len;
    }
    add(p, at, (size_t)(end - at));
}

// ---- Kernels ----

static void output_pieces(bd_op_ctx *c, const pieces *p, int64_t row_count)
{
    braid_shape two = bd_shape1(2), indices_shape = bd_shape2((int64_t)p->len, 2),
                values_shape = bd_shape1((int64_t)p->len);
    braid_tensor *indices = bd_output(c, 0, BRAID_INT64, &indices_shape);
    braid_tensor *values = bd_output(c, 1, BRAID_STRING, &values_shape);
    braid_tensor *shape = bd_output(c, 2, BRAID_INT64, &two);
    if (!indices || !values || !shape) return;
    int64_t column = 0, width = 0;
    for (size_t i = 0; i < p->len && !bd_interrupted_at((int64_t)i); i++) {
        column = i > 0 && p->items[i - 1].row == p->items[i].row ? column + 1 : 0;
        width = bd_max(width, column + 1);
        bd_tensor_i64(indices)[2 * i] = p->items[i].row;
        bd_tensor_i64(indices)[2 * i + 1] = column;
        if (!bd_string_put(c, values, (int64_t)i, p->items[i].data, p->items[i].len)) return;
    }
    bd_tensor_i64(shape)[0] = row_count;
    bd_tensor_i64(shape)[1] = width;
}

static bool check_inputs(bd_op_ctx *c)
{
    for (int i = 0; i < 2; i++) {
        const braid_shape *s = &bd_input(c, i)->shape;
        if (s->rank == 1 - i) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a %s, got shape: %s", c->node->def->inputs[i].name,
                   i == 0 ? "vector" : "scalar", bd_shape_str(s, (char[BD_SHAPE_STR_MAX]){0}));
        return false;
    }
    return true;
}

static void split(bd_op_ctx *c, void (*one)(const bd_op_ctx *c, pieces *p, const bd_string *text))
{
    if (!check_inputs(c)) return;
    const braid_tensor *x = bd_input(c, 0);
    pieces p = {0};
    for (; p.row < bd_tensor_count(x) && !bd_interrupted_at(p.row); p.row++)
        one(c, &p, &bd_tensor_str(x)[p.row]);
    if (p.is_full)
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when splitting strings into more than %zu pieces",
                   p.len);
    else
        output_pieces(c, &p, p.row);
    bd_free(p.items);
}

static void split_v1(const bd_op_ctx *c, pieces *p, const bd_string *text)
{
    split_at_bytes(p, text, bd_tensor_str(bd_input(c, 1)), bd_node_attr_bool(c->node, "skip_empty"));
}

static void split_v2(const bd_op_ctx *c, pieces *p, const bd_string *text)
{
    const bd_string *separator = bd_tensor_str(bd_input(c, 1));
    int64_t splits_max = bd_node_attr_int(c->node, "maxsplit");
    const char *start = text->data ? text->data : "";
    if (splits_max == 0)
        add(p, start, text->len);
    else if (separator->len == 0)
        split_at_blanks(p, start, start + text->len, splits_max);
    else
        split_at_text(p, start, start + text->len, separator, splits_max);
}

static void split_v1_run(bd_op_ctx *c)
{
    split(c, split_v1);
}

static void split_v2_run(bd_op_ctx *c)
{
    split(c, split_v2);
}

BD_OP(StringSplit) = {
    .signature = "(input: string, delimiter: string) -> (indices: int64, values: string, shape: int64)",
    .attrs = "skip_empty:bool=true",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = split_shape,
    .kernels = BD_KERNELS({.run = split_v1_run}),
    .doc =
        "Splits each string at every byte that `delimiter` holds (into bytes, when it is empty); the pieces are rows of a "
        "sparse matrix.",
};

BD_OP(StringSplitV2) = {
    .signature = "(input: string, sep: string) -> (indices: int64, values: string, shape: int64)",
    .attrs = "maxsplit:int=-1",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = split_shape,
    .kernels = BD_KERNELS({.run = split_v2_run}),
    .doc =
        "Splits each string as Python's str.split does: at each `sep`, or at runs of blanks when it is empty.",
};

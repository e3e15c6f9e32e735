// Ops from one string to one: length, upper and lower case, blanks at the ends.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/string_out.h"
#include "ops/string/utf8.h"

#include <string.h>

// ---- StringLength ----

static void length_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    bool chars = strcmp(bd_node_attr_string(c->node, "unit"), "UTF8_CHAR") == 0;
    braid_tensor *y = bd_output(c, 0, BRAID_INT32, &x->shape);
    for (int64_t i = 0; y && i < bd_tensor_count(x) && !bd_interrupted_at(i); i++) {
        const bd_string *s = &bd_tensor_str(x)[i];
        bd_tensor_i32(y)[i] = (int32_t)(chars ? bd_utf8_length(s->data, s->len) : (int64_t)s->len);
    }
}

BD_OP(StringLength) = {
    .signature = "(input: string) -> (output: int32)",
    .attrs = "unit:string{BYTE,UTF8_CHAR}='BYTE'",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = length_run}),
    .doc = "Lengths of strings in bytes or in characters.",
};

// ---- StringLower, StringUpper ----

static bool is_upper(char b)
{
    return b >= 'A' && b <= 'Z';
}

static bool is_lower(char b)
{
    return b >= 'a' && b <= 'z';
}

// Letters of ASCII keep their place; other bytes are not looked at.
static void change_ascii(char *text, size_t len, bool to_upper)
{
    for (size_t i = 0; i < len; i++) {
        if (to_upper ? is_lower(text[i]) : is_upper(text[i])) text[i] = (char)(text[i] ^ 0x20);
    }
}

static void case_run(bd_op_ctx *c, bool to_upper)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &x->shape);
    const char *encoding = bd_node_attr_string(c->node, "encoding");
    for (int64_t i = 0; y && i < bd_tensor_count(x) && !bd_interrupted_at(i); i++) {
        const bd_string *s = &bd_tensor_str(x)[i];
        if (*encoding) {
            if (!bd_utf8_change_case(c, y, i, s, to_upper)) return;
        } else {
            if (!bd_string_put(c, y, i, s->data, s->len)) return;
            change_ascii(bd_tensor_str(y)[i].data, s->len, to_upper);
        }
    }
}

static void lower_run(bd_op_ctx *c)
{
    case_run(c, false);
}

static void upper_run(bd_op_ctx *c)
{
    case_run(c, true);
}

static braid_code case_create(const braid_op *node, void *state, braid_status *st)
{
    (void)state;
    const char *encoding = bd_node_attr_string(node, "encoding");
    if (!*encoding || strcmp(encoding, "utf-8") == 0) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "only utf-8 or '' (no encoding) is supported, received %s",
                   encoding);
}

BD_OP(StringLower) = {
    .signature = "(input: string) -> (output: string)",
    .attrs = "encoding:string=''",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.create = case_create, .run = lower_run}),
    .doc = "Letters in lower case: those of ASCII, or with encoding `utf-8` all of Unicode.",
};

BD_OP(StringUpper) = {
    .signature = "(input: string) -> (output: string)",
    .attrs = "encoding:string=''",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.create = case_create, .run = upper_run}),
    .doc = "Letters in upper case: those of ASCII, or with encoding `utf-8` all of Unicode.",
};

// ---- StringStrip ----

static bool is_blank(char b)
{
    return b == ' ' || (b >= '\t' && b <= '\r');
}

static void strip_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &x->shape);
    for (int64_t i = 0; y && i < bd_tensor_count(x) && !bd_interrupted_at(i); i++) {
        const bd_string *s = &bd_tensor_str(x)[i];
        size_t from = 0, to = s->len;
        while (from < to && is_blank(s->data[from]))
            from++;
        while (to > from && is_blank(s->data[to - 1]))
            to--;
        if (!bd_string_put(c, y, i, to > from ? s->data + from : NULL, to - from)) return;
    }
}

BD_OP(StringStrip) = {
    .signature = "(input: string) -> (output: string)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = strip_run}),
    .doc = "Strings without the blanks at both ends.",
};

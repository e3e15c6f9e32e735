// RegexReplace and RegexFullMatch, with the pattern as an input or (Static...) as an attribute.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/string_out.h"
#include "ops/string/regex.h"

#include <string.h>

// Of the static forms: the pattern, compiled once.
typedef struct regex_state {
    bd_regex *regex;
} regex_state;

static braid_code static_create(const braid_op *node, void *state, braid_status *st)
{
    const bd_bytes *pattern = &bd_node_attr(node, "pattern")->s;
    char why[BD_REGEX_WHY_MAX];
    regex_state *s = state;
    s->regex = bd_regex_new(pattern->data, pattern->len, why);
    if (s->regex) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Invalid pattern: %s, error: %s", pattern->data, why);
}

static void static_destroy(void *state)
{
    bd_regex_free(((regex_state *)state)->regex);
}

static bool check_scalar(bd_op_ctx *c, int input, const char *what)
{
    const braid_shape *s = &bd_input(c, input)->shape;
    if (s->rank == 0) return true;
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be scalar, but received %s", what,
               bd_shape_str(s, (char[BD_SHAPE_STR_MAX]){0}));
    return false;
}

static const char *text_of(const bd_string *s)
{
    return s->data ? s->data : "";
}

// The pattern in input 1; NULL: the kernel has failed.
static bd_regex *input_regex(bd_op_ctx *c)
{
    char why[BD_REGEX_WHY_MAX];
    if (!check_scalar(c, 1, "Pattern")) return NULL;
    const bd_string *pattern = bd_tensor_str(bd_input(c, 1));
    bd_regex *r = bd_regex_new(text_of(pattern), pattern->len, why);
    if (!r)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Invalid pattern: %.*s, error: %s",
                   (int)bd_min((int64_t)pattern->len, 1024), text_of(pattern), why);
    return r;
}

// ---- Matching ----

static void match_all(bd_op_ctx *c, const bd_regex *r)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_tensor *y = bd_output(c, 0, BRAID_BOOL, &x->shape);
    for (int64_t i = 0; y && i < bd_tensor_count(x) && !bd_interrupted_at(i); i++) {
        const bd_string *s = &bd_tensor_str(x)[i];
        bd_tensor_bool(y)[i] = bd_regex_matches(r, text_of(s), s->len);
    }
}

static void match_run(bd_op_ctx *c)
{
    bd_regex *r = input_regex(c);
    if (r) match_all(c, r);
    bd_regex_free(r);
}

static void static_match_run(bd_op_ctx *c)
{
    match_all(c, ((regex_state *)c->state)->regex);
}

// ---- Replacing ----

typedef struct replaced {
    bd_op_ctx *c;
    const braid_tensor *y;
    int64_t i;
} replaced;

static bool put_replaced(void *arg, const char *data, size_t len)
{
    replaced *r = arg;
    return bd_string_put(r->c, r->y, r->i, data, len);
}

static void replace_all(bd_op_ctx *c, const bd_regex *regex, const char *rewrite, size_t rewrite_len)
{
    const braid_tensor *x = bd_input(c, 0);
    bool all = bd_node_attr_bool(c->node, "replace_global");
    replaced r = {.c = c, .y = bd_output(c, 0, BRAID_STRING, &x->shape)};
    for (; r.y && r.i < bd_tensor_count(x) && !bd_interrupted_at(r.i); r.i++) {
        const bd_string *s = &bd_tensor_str(x)[r.i];
        if (bd_regex_replace(regex, text_of(s), s->len, rewrite, rewrite_len, all, put_replaced, &r))
            continue;
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when replacing in a string of %zu bytes", s->len);
        return;
    }
}

static void replace_run(bd_op_ctx *c)
{
    bd_regex *r = check_scalar(c, 2, "Rewrite") ? input_regex(c) : NULL;
    const bd_string *rewrite = bd_tensor_str(bd_input(c, 2));
    if (r) replace_all(c, r, text_of(rewrite), rewrite->len);
    bd_regex_free(r);
}

static void static_replace_run(bd_op_ctx *c)
{
    const bd_bytes *rewrite = &bd_node_attr(c->node, "rewrite")->s;
    replace_all(c, ((regex_state *)c->state)->regex, rewrite->data, rewrite->len);
}

// ---- The ops ----

static braid_code regex_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (int i = 1; i < c->input_count && !code; i++)
        code = bd_shape_ctx_rank(c, i, 0, st);
    c->outputs[0] = c->inputs[0];
    return code;
}

BD_OP(RegexReplace) = {
    .signature = "(input: string, pattern: string, rewrite: string) -> (output: string)",
    .attrs = "replace_global:bool=true",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = regex_shape,
    .kernels = BD_KERNELS({.run = replace_run}),
    .doc =
        "Replaces the matches of a regular expression (RE2's syntax) in each string, all of them or only the first.",
};

BD_OP(StaticRegexReplace) = {
    .signature = "(input: string) -> (output: string)",
    .attrs = "pattern:string; rewrite:string; replace_global:bool=true",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = regex_shape,
    .kernels = BD_KERNELS({.state_size = sizeof(regex_state),
                           .create = static_create,
                           .destroy = static_destroy,
                           .run = static_replace_run}),
    .doc = "RegexReplace with a constant pattern and rewrite.",
};

BD_OP(RegexFullMatch) = {
    .signature = "(input: string, pattern: string) -> (output: bool)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = regex_shape,
    .kernels = BD_KERNELS({.run = match_run}),
    .doc = "Whether a regular expression (RE2's syntax) matches all of each string.",
};

BD_OP(StaticRegexFullMatch) = {
    .signature = "(input: string) -> (output: bool)",
    .attrs = "pattern:string",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = regex_shape,
    .kernels = BD_KERNELS({.state_size = sizeof(regex_state),
                           .create = static_create,
                           .destroy = static_destroy,
                           .run = static_match_run}),
    .doc = "RegexFullMatch with a constant pattern.",
};

// Ops that look at values while a graph runs: Assert and Print.
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/value_text.h"

#include <stdio.h>
#include <string.h>

// The first elements of a tensor, the dimensions but the first in brackets.
typedef struct summary {
    const braid_tensor *tensor;
    int64_t shown, at; // elements to show, and shown
    bd_strbuf *out;
} summary;

static void append_value(summary *s)
{
    if (s->tensor->dtype == BRAID_STRING) { // without quotes
        bd_escaped_text(&bd_tensor_str(s->tensor)[s->at++], s->out);
    } else {
        bd_value_text(s->tensor, s->at++, s->out);
    }
}

// Appends dimension `d` and the inner dimensions. Omitted elements are shown as an ellipsis.
static void append_dim(summary *s, int d)
{
    const braid_shape *shape = &s->tensor->shape;
    const bool is_last = d == shape->rank - 1;
    for (int64_t i = 0; i < shape->dims[d]; i++) {
        if (s->at >= s->shown) {
            if (is_last && d > 0) bd_strbuf_append(s->out, "...");
            return;
        }
        if (is_last) {
            bd_strbuf_append(s->out, i > 0 ? " " : "");
            append_value(s);
        } else {
            bd_strbuf_append_char(s->out, '[');
            append_dim(s, d + 1);
            bd_strbuf_append_char(s->out, ']');
        }
    }
}

static void summarize(const braid_tensor *t, int64_t most, bd_strbuf *out)
{
    const int64_t count = bd_tensor_count(t);
    summary s = {.tensor = t, .shown = most < 0 || most > count ? count : most, .out = out};
    if (t->shape.rank > 0 && count > 0)
        append_dim(&s, 0);
    else if (s.shown > 0)
        append_value(&s);
    if (s.shown < count) bd_strbuf_append(out, "...");
}

// Inputs from `first` on, each in brackets.
static void summarize_inputs(const bd_op_ctx *c, int first, const char *separator, bd_strbuf *out)
{
    for (int i = first; i < c->input_count; i++) {
        bd_strbuf_append(out, i > first ? separator : "");
        bd_strbuf_append_char(out, '[');
        summarize(bd_input(c, i), bd_node_attr_int(c->node, "summarize"), out);
        bd_strbuf_append_char(out, ']');
    }
}

// ---- Assert ----

static void assert_run(bd_op_ctx *c)
{
    const braid_tensor *condition = bd_input(c, 0);
    if (condition->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "In[0] should be a scalar");
        return;
    }
    if (bd_tensor_bool(condition)[0]) return;
    bd_strbuf text = {0};
    summarize_inputs(c, 1, " ", &text);
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "assertion failed: %s", bd_strbuf_str(&text));
    bd_strbuf_fini(&text);
}

BD_OP(Assert) = {
    .signature = "(condition: bool, data: T...) -> ()",
    .attrs = "T:list(type)>=1; summarize:int=3",
    .flags = BD_OP_STATEFUL | BD_OP_NOT_DIFFERENTIABLE,
    .kernels = BD_KERNELS({.run = assert_run}),
    .doc = "Fails with InvalidArgument and the values of `data` unless `condition` is true.",
};

// ---- Print ----

typedef struct print_state {
    atomic_int_fast64_t runs;
} print_state;

static braid_code print_create(const braid_op *node, void *state, braid_status *st)
{
    (void)node;
    (void)st;
    atomic_init(&((print_state *)state)->runs, 0);
    return BRAID_OK;
}

static void print_run(bd_op_ctx *c)
{
    print_state *s = c->state;
    bd_output_set(c, 0, bd_input(c, 0));
    int64_t first_n = bd_node_attr_int(c->node, "first_n");
    if (first_n >= 0 && atomic_fetch_add(&s->runs, 1) >= first_n) return;
    bd_strbuf text = {0};
    bd_strbuf_append(&text, bd_node_attr_string(c->node, "message"));
    summarize_inputs(c, 1, "", &text);
    bd_strbuf_append_char(&text, '\n');
    fwrite(bd_strbuf_str(&text), 1, text.len, stderr); // one call, so that lines of threads stay whole
    bd_strbuf_fini(&text);
}

static void print_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = c->output_grads[0];
}

BD_OP(Print) = {
    .signature = "(input: T, data: U...) -> (output: T)",
    .attrs = "T:type; U:list(type)>=0; message:string=''; first_n:int=-1; summarize:int=3",
    .flags = BD_OP_STATEFUL,
    .shape = bd_shape_fn_unchanged,
    .gradient = print_gradient,
    .kernels = BD_KERNELS({.state_size = sizeof(print_state), .create = print_create, .run = print_run}),
    .doc =
        "Forwards its input and writes `message` and the values of `data` to stderr, the first first_n times.",
};

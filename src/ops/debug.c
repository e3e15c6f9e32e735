// Ops that look at values while a graph runs: Assert and Print.
#include "graph/grad.h"
#include "ops/element.h"

#include <stdio.h>
#include <string.h>

// The first elements of a tensor as messages show them: strings as they are, numbers in a row.
static void summarize(const braid_tensor *t, int64_t most, bd_strbuf *out)
{
    int64_t n = bd_tensor_count(t), shown = most < 0 || most > n ? n : most;
    if (t->dtype == BRAID_STRING) {
        for (int64_t i = 0; i < shown; i++) {
            const bd_string *s = &bd_tensor_str(t)[i];
            if (i > 0) bd_strbuf_append_char(out, ' ');
            bd_strbuf_append_n(out, s->data ? s->data : "", s->len);
        }
        if (shown < n) bd_strbuf_append(out, "...");
        return;
    }
    // `float[2,3] [1 2 3]...` without type, shape and brackets.
    bd_strbuf text = {0};
    bd_tensor_print(t, shown > INT32_MAX ? INT32_MAX : (int)shown, &text);
    const char *values = strchr(bd_strbuf_str(&text), ' ');
    const char *open = values ? strchr(values, '[') : NULL, *close = values ? strrchr(values, ']') : NULL;
    if (open && close) {
        bd_strbuf_append_n(out, open + 1, (size_t)(close - open - 1));
        bd_strbuf_append(out, close + 1);
    }
    bd_strbuf_fini(&text);
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
        "Hands on its input and writes `message` and the values of `data` to stderr, the first first_n times.",
};

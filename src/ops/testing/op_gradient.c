// Compares symbolic gradients of single ops with central differences in double.
//
// Complex numbers are pairs of doubles: the gradient of a sum weighted by both parts of a complex weight is,
// by TensorFlow's convention, complex with the derivatives by the real and by the imaginary part as its own
// parts.
#include "base/alloc.h"
#include "ops/testing/op_case.h"
#include "ops/testing/op_test.h"
// cmocka wants these before it.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define STEP 1e-5      // of the differences: their error is about STEP^2 and 1e-16 / STEP
#define TOLERANCE 2e-7 // relative, or absolute below 1

// The op over double placeholders, its gradients for the outputs' weights, and the present values of all of
// them.
typedef struct gradient_run {
    const op_grad_case *c;
    op_text texts[OP_TEXT_MAX];
    int input_count;
    braid_graph *g;
    braid_op *node;
    braid_out inputs[OP_TEXT_MAX], weights[OP_TEXT_MAX];
    braid_out grads[OP_TEXT_MAX]; // of each input; op is NULL for an input without a gradient
    op_binding bindings[2 * OP_TEXT_MAX];
    int binding_count, output_count; // outputs of type double are first in `outputs`
    braid_out outputs[OP_TEXT_MAX];
    char where[256];
} gradient_run;

static bool is_differentiable(braid_dtype dtype)
{
    return dtype == BRAID_DOUBLE || dtype == BRAID_COMPLEX128;
}

// How many doubles a tensor has.
static int64_t count_parts(const braid_tensor *t)
{
    return bd_tensor_count(t) * (t->dtype == BRAID_COMPLEX128 ? 2 : 1);
}

static void evaluate(gradient_run *r, const braid_out *outs, int count, braid_tensor *values)
{
    BD_STATUS(st);
    if (op_test_eval(r->bindings, r->binding_count, outs, count, values, st))
        fail_msg("%s: %s", r->where, braid_status_message(st));
}

// Takes `value` over.
static void bind(gradient_run *r, braid_op *op, braid_tensor *value)
{
    op_binding *b = &r->bindings[r->binding_count++];
    *b = (op_binding){.op = op};
    bd_tensor_move(&b->value.tensor, value);
}

// Weights that are all different, so that two exchanged elements are noticed.
static void add_weights(gradient_run *r)
{
    braid_tensor values[OP_TEXT_MAX];
    evaluate(r, r->outputs, r->output_count, values);
    for (int i = 0; i < r->output_count; i++) {
        op_text like = {.dtype = values[i].dtype, .shape = values[i].shape};
        r->weights[i] = op_case_input(r->g, &like, true);
        braid_tensor w;
        assert_true(bd_tensor_alloc(&w, values[i].dtype, &values[i].shape));
        for (int64_t k = 0; k < count_parts(&w); k++)
            ((double *)w.data)[k] = 0.5 + 0.37 * (double)((k + i) % 7);
        bind(r, r->weights[i].op, &w);
        bd_tensor_fini(&values[i]);
    }
}

// The weighted sum of all elements of the outputs.
static double weighted_sum(gradient_run *r)
{
    braid_tensor values[OP_TEXT_MAX];
    evaluate(r, r->outputs, r->output_count, values);
    double sum = 0;
    for (int i = 0; i < r->output_count; i++) {
        const double *w = r->bindings[r->input_count + i].value.tensor.data, *y = values[i].data;
        for (int64_t k = 0; k < count_parts(&values[i]); k++)
            sum += w[k] * y[k];
        bd_tensor_fini(&values[i]);
    }
    return sum;
}

static void compare(gradient_run *r, int input, const braid_tensor *grad)
{
    braid_tensor *x = &r->bindings[input].value.tensor;
    if (grad->dtype != x->dtype || !bd_shape_equal(&grad->shape, &x->shape))
        fail_msg("%s: the gradient of input %d has another type or shape", r->where, input);
    for (int64_t k = 0; k < count_parts(x); k++) {
        double *at = (double *)x->data + k, middle = *at;
        *at = middle + STEP;
        double above = weighted_sum(r);
        *at = middle - STEP;
        double below = weighted_sum(r);
        *at = middle;
        double want = (above - below) / (2 * STEP), got = ((double *)grad->data)[k];
        if (!(fabs(want - got) <= TOLERANCE * fmax(1, fabs(want))))
            fail_msg("%s: d/d(input %d)[%d] is %.9g, by differences %.9g", r->where, input, (int)k, got,
                     want);
    }
}

static bool wants_none(const op_grad_case *c, int input)
{
    char digit[2] = {(char)('0' + input), 0};
    return c->no_gradient && strstr(c->no_gradient, digit);
}

static void build(gradient_run *r, bool with_shapes)
{
    BD_STATUS(st);
    r->g = braid_graph_new();
    r->binding_count = r->output_count = 0;
    for (int i = 0; i < r->input_count; i++) {
        r->inputs[i] = op_case_input(r->g, &r->texts[i], with_shapes);
        braid_tensor value;
        op_text_tensor(&r->texts[i], &value);
        bind(r, r->inputs[i].op, &value);
    }
    r->node = op_test_node(r->g, r->c->op, r->c->attrs, r->inputs, r->input_count);
    if (braid_graph_status(r->g, st)) fail_msg("%s: %s", r->where, braid_status_message(st));
    // One output is differentiated, the first that can be unless the case says otherwise: further ones are
    // often by-products (a loss's backprop).
    int first = r->c->output;
    while (first + 1 < r->node->output_count && !is_differentiable(r->node->output_types[first]))
        first++;
    r->outputs[r->output_count++] = braid_output(r->node, first);
    add_weights(r);
    braid_gradients(r->g, r->outputs, r->output_count, r->inputs, r->input_count, r->weights, r->grads);
    if (braid_graph_status(r->g, st)) fail_msg("%s: %s", r->where, braid_status_message(st));
}

static void check(gradient_run *r, bool with_shapes)
{
    build(r, with_shapes);
    for (int i = 0; i < r->input_count; i++) {
        bool none = !is_differentiable(r->texts[i].dtype) || wants_none(r->c, i);
        if (none != (r->grads[i].op == NULL))
            fail_msg("%s: input %d has %s gradient", r->where, i, none ? "a" : "no");
        if (none) continue;
        braid_tensor grad;
        evaluate(r, &r->grads[i], 1, &grad);
        compare(r, i, &grad);
        bd_tensor_fini(&grad);
    }
    for (int i = 0; i < r->binding_count; i++)
        bd_value_fini(&r->bindings[i].value);
    braid_graph_free(r->g);
}

void op_test_gradients(const op_grad_case *cases, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gradient_run *r = bd_calloc(1, sizeof *r);
        r->c = &cases[i];
        snprintf(r->where, sizeof r->where, "gradient of %s(%s) {%s}", r->c->op, r->c->inputs,
                 r->c->attrs ? r->c->attrs : "");
        r->input_count = op_text_read(r->c->inputs, r->texts);
        if (!r->c->known_shapes_only) check(r, false);
        check(r, true);
        op_text_fini(r->texts, r->input_count);
        bd_free(r);
    }
}

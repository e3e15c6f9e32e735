// The gradient of Einsum.
//
// The gradient of operand A in "A,B->C": if all labels of A are in C or B, it is "C,B->A" of the incoming
// gradient and B. Otherwise it takes three steps: "C,B->...a", where `a` holds each label of A that is in C
// or B once; then a sum over the dimensions of `...` that were broadcast; then "...a,m->A" with ones, where
// `m` holds the labels of A alone: this repeats the gradient along `m`, and writes it to the diagonal of
// labels that A repeats.
#include "graph/grad.h"
#include "ops/common/grad_math.h"
#include "ops/common/grad_steps.h"
#include "ops/linalg/einsum.h"

#include <string.h>

enum {
    TEXT_MAX = 128 // an equation that was parsed has fewer characters
};

typedef struct part {
    char text[TEXT_MAX];
} part;

typedef struct differentiation {
    braid_graph *g;
    part in[BD_EINSUM_INPUTS_MAX], out;
    bool has_dots; // whether a subscript has `...`
} differentiation;

static void set_part(part *p, const char *from, size_t len)
{
    len = len < TEXT_MAX - 1 ? len : TEXT_MAX - 1;
    memcpy(p->text, from, len);
    p->text[len] = 0;
}

// False: the equation does not fit the number of inputs; while shapes were unknown this was not checked.
static bool read_equation(const char *equation, int inputs, differentiation *d)
{
    const char *arrow = strstr(equation, "->"), *comma = strchr(equation, ',');
    if (!arrow || inputs > BD_EINSUM_INPUTS_MAX || (inputs == 2) != (comma && comma < arrow)) return false;
    d->has_dots = strstr(equation, "...") != NULL;
    if (inputs == 1) comma = NULL;
    const char *end = comma ? comma : arrow;
    set_part(&d->in[0], equation, (size_t)(end - equation));
    if (comma) set_part(&d->in[1], comma + 1, (size_t)(arrow - comma - 1));
    set_part(&d->out, arrow + 2, strlen(arrow + 2));
    return true;
}

static braid_out einsum(braid_graph *g, const char *equation, const braid_out *inputs, int count)
{
    braid_op_desc *d = braid_op_begin(g, "Einsum", NULL);
    braid_op_input_list(d, inputs, count);
    braid_op_attr_string(d, "equation", equation);
    return braid_op_end_out(d);
}

// ---- Labels ----

// Splits the labels of an operand, each once, into those that the output or the other operand has, and those
// of this operand alone.
static void cut_labels(const part *operand, const part *out, const part *other, part *shared, part *own)
{
    size_t shared_count = 0, own_count = 0;
    for (const char *c = operand->text; *c; c++) {
        if (*c == '.' || memchr(operand->text, *c, (size_t)(c - operand->text))) continue;
        const bool is_shared = strchr(out->text, *c) || (other && strchr(other->text, *c));
        if (is_shared)
            shared->text[shared_count++] = *c;
        else
            own->text[own_count++] = *c;
    }
    shared->text[shared_count] = own->text[own_count] = 0;
}

// The dimension of label `c` in an operand; it counts from the end (negative) if the label follows `...`.
static int place_of(const part *operand, char c)
{
    const char *at = strchr(operand->text, c), *dots = strchr(operand->text, '.');
    return dots && dots < at ? -(int)strlen(at) : (int)(at - operand->text);
}

// ---- Steps ----

// Elements [from, to) of a vector; `to` = 0 means the end.
static braid_out part_of(braid_graph *g, braid_out vector, int from, int to)
{
    const bd_grad_index index = {.count = 1, .begin = {from}, .end = {to}, .end_mask = to == 0};
    return bd_grad_slice(g, vector, &index);
}

// The dimensions of `...` in an operand; an empty vector without `...`.
static braid_out dots_shape(braid_graph *g, const part *operand, braid_out shape)
{
    const char *dots = strchr(operand->text, '.');
    if (!dots) return bd_b_const_i32_vector(g, "Const", NULL, 0);
    return part_of(g, shape, (int)(dots - operand->text), -(int)strlen(dots + 3));
}

// x has labels "...a". Sums over the dimensions of `...` that were broadcast from the operand's.
static braid_out sum_dots(differentiation *d, braid_out x, braid_out operand, const part *labels, int shared)
{
    braid_graph *g = d->g;
    const braid_out own = dots_shape(g, labels, bd_b1(g, "Shape", NULL, operand));
    const braid_out shape = bd_b1(g, "Shape", NULL, x);
    const braid_out inputs[] = {own, part_of(g, shape, 0, -shared)};
    braid_op *axes = braid_op_add(g, "BroadcastGradientArgs", NULL, inputs, 2);
    const braid_out sum = bd_b2(g, "Sum", NULL, x, braid_output(axes, 0));
    if (!shared) return bd_b2(g, "Reshape", NULL, sum, own);
    const braid_out parts[] = {own, part_of(g, shape, -shared, 0)};
    return bd_b2(g, "Reshape", NULL, sum, bd_grad_concat(g, parts, 2, 0));
}

// A tensor of ones for the labels that only this operand has; there must be at least one.
static braid_out ones_for(differentiation *d, braid_out operand, const part *labels, const part *own)
{
    braid_graph *g = d->g;
    const braid_out shape = bd_b1(g, "Shape", NULL, operand);
    braid_out sizes[BRAID_RANK_MAX] = {{0}};
    int count = 0;
    for (const char *c = own->text; *c && count < BRAID_RANK_MAX; c++) {
        const int at = place_of(labels, *c);
        sizes[count++] = part_of(g, shape, at, at + 1);
    }
    const braid_out all = count > 1 ? bd_grad_concat(g, sizes, count, 0) : sizes[0];
    return bd_b2(g, "Fill", "ones", all,
                 bd_b_const_f(g, "Const", bd_dtype_base(braid_out_dtype(operand)), 1));
}

static const char *dots_of(const part *p)
{
    return strchr(p->text, '.') ? "..." : "";
}

// The gradient of operand `i`, from `grad` and the other operand.
static braid_out gradient_of(differentiation *d, const bd_grad_ctx *c, int i)
{
    bd_arena *arena = &d->g->arena;
    const part *labels = &d->in[i], *other = c->op->input_count == 2 ? &d->in[!i] : NULL;
    part shared, own;
    cut_labels(labels, &d->out, other, &shared, &own);
    const char *equation = bd_arena_asprintf(arena, "%s%s%s->%s%s", d->out.text, other ? "," : "",
                                             other ? other->text : "", d->has_dots ? "..." : "", shared.text);
    braid_out inputs[] = {c->output_grads[0], {0}};
    if (other) inputs[1] = bd_grad_conj(d->g, c->op->inputs[!i]);
    braid_out grad = einsum(d->g, equation, inputs, c->op->input_count);
    if (d->has_dots) grad = sum_dots(d, grad, c->op->inputs[i], labels, (int)strlen(shared.text));
    if (!own.text[0]) {
        equation = bd_arena_asprintf(arena, "%s%s->%s", dots_of(labels), shared.text, labels->text);
        const char *same = strstr(equation, "->");
        const bool is_same =
            strncmp(equation, labels->text, (size_t)(same - equation)) == 0 && !labels->text[same - equation];
        return is_same ? grad : einsum(d->g, equation, &grad, 1);
    }
    equation = bd_arena_asprintf(arena, "%s%s,%s->%s", dots_of(labels), shared.text, own.text, labels->text);
    const braid_out with_ones[] = {grad, ones_for(d, c->op->inputs[i], labels, &own)};
    return einsum(d->g, equation, with_ones, 2);
}

void bd_einsum_gradient(bd_grad_ctx *c)
{
    differentiation d = {.g = c->graph};
    const char *equation = bd_node_attr_string(c->op, "equation");
    if (!read_equation(equation, c->op->input_count, &d)) {
        braid_graph_fail(c->graph, BRAID_INVALID_ARGUMENT,
                         "Expected %d inputs in einsum equation '%s' ('%s')", c->op->input_count, equation,
                         c->op->name);
        return;
    }
    for (int i = 0; i < c->op->input_count; i++)
        c->input_grads[i] = gradient_of(&d, c, i);
}

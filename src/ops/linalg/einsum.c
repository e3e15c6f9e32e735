// Einsum: products of tensors, summed over the labels that the output lacks.
//
// Two operands are transposed to [batch, free, contracted] (labels of one operand only that are not in the
// output are summed at that time) and multiplied as batches of matrices; the result is transposed to the
// order of the output. A single operand is transposed to that order directly.
#include "ops/linalg/einsum.h"
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "kernels/gemm.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"
#include "ops/state/variable.h"

#include <string.h>

static braid_code einsum_shape(bd_shape_ctx *c, braid_status *st)
{
    bd_einsum e;
    BD_STATUS(why);
    for (int i = 0; i < c->input_count; i++) {
        if (c->inputs[i].rank < 0) return BRAID_OK;
    }
    if (bd_einsum_read(&e, bd_node_attr_string(c->node, "equation"), c->inputs, c->input_count, why))
        return bd_shape_ctx_fail(c, st, "%s", why->message);
    c->outputs[0] = bd_einsum_shape(&e);
    return BRAID_OK;
}

// ---- One tensor's labels to another's ----

typedef struct moving {
    char *to;
    const char *from;
    int64_t size;
    bd_update_fn update;
} moving;

static void move_run(void *arg, int64_t to_at, int64_t to_stride, int64_t from_at, int64_t from_stride,
                     int64_t n)
{
    const moving *m = arg;
    char *to = m->to + to_at * m->size;
    const char *from = m->from + from_at * m->size;
    if (to_stride == 1 && from_stride == 1) {
        m->update(to, from, n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        m->update(to + i * to_stride * m->size, from + i * from_stride * m->size, 1);
}

// The stride in `t` of label `label`; 0 for a dimension of size 1 that is broadcast.
static int64_t stride_of(const bd_einsum *e, const bd_einsum_labels *labels, const braid_tensor *t, int label)
{
    int64_t strides[BRAID_RANK_MAX], sum = 0;
    bd_row_strides(&t->shape, strides);
    for (int d = 0; d < labels->count; d++) {
        if (labels->label[d] == label && t->shape.dims[d] == e->size[label]) sum += strides[d];
    }
    return sum;
}

static bool has_label(const bd_einsum_labels *labels, int label)
{
    for (int d = 0; d < labels->count; d++) {
        if (labels->label[d] == label) return true;
    }
    return false;
}

// Copies the elements of x to y by label: a label repeated in x takes a diagonal, a label missing in y is
// summed.
static void move_labels(const bd_einsum *e, const braid_tensor *x, const bd_einsum_labels *x_labels,
                        const braid_tensor *y, const bd_einsum_labels *y_labels)
{
    bd_strided walk = {0};
    for (int label = 0; label < BD_EINSUM_LABELS_MAX; label++) {
        if (!has_label(x_labels, label) && !has_label(y_labels, label)) continue;
        walk.dims[walk.rank] = e->size[label];
        walk.to_strides[walk.rank] = stride_of(e, y_labels, y, label);
        walk.from_strides[walk.rank++] = stride_of(e, x_labels, x, label);
        if (e->size[label] == 0) walk.rank = -1;
        if (walk.rank < 0) break;
    }
    size_t size = braid_dtype_size(y->dtype);
    memset(y->data, 0, (size_t)bd_tensor_count(y) * size);
    if (walk.rank < 0) return; // no elements to move or to sum
    moving m = {.to = y->data,
                .from = x->data,
                .size = (int64_t)size,
                .update = bd_update_function(y->dtype, BD_UPDATE_ADD)};
    bd_strided_walk(&walk, move_run, &m);
}

// ---- Two operands ----

// The labels of an operand as [batch, free, contracted], and the number of elements of each of the three
// groups.
typedef struct operand {
    bd_einsum_labels labels;
    int64_t batch, free, contracted;
} operand;

static void put_label(const bd_einsum *e, bd_einsum_labels *labels, int label, int64_t *count)
{
    labels->label[labels->count++] = label;
    *count *= e->size[label];
}

// Batch labels are the labels of both operands and the output, and all of `...`, which are broadcast.
// Contracted labels are those of both operands but not the output. False when an operand has too many
// dimensions.
static bool sort_labels(const bd_einsum *e, int i, operand *o)
{
    *o = (operand){.batch = 1, .free = 1, .contracted = 1};
    for (int part = 0; part < 3; part++) {
        for (int label = 0; label < BD_EINSUM_LABELS_MAX; label++) {
            bool mine = has_label(&e->in[i], label), other = has_label(&e->in[!i], label),
                 out = has_label(&e->out, label), is_dots = label >= 2 * BRAID_RANK_MAX && (mine || other);
            bool belongs = part == 0   ? out && ((mine && other) || is_dots)
                           : part == 1 ? out && mine && !other && !is_dots
                                       : !out && mine && other;
            if (!belongs) continue;
            if (o->labels.count == BRAID_RANK_MAX) return false;
            put_label(e, &o->labels, label, part == 0 ? &o->batch : part == 1 ? &o->free : &o->contracted);
        }
    }
    return true;
}

static braid_shape shape_of(const bd_einsum *e, const bd_einsum_labels *labels)
{
    braid_shape shape = {.rank = labels->count};
    for (int d = 0; d < labels->count; d++)
        shape.dims[d] = e->size[labels->label[d]];
    return shape;
}

// Allocates a temporary tensor with these labels. False: the kernel has failed.
static bool make(bd_op_ctx *c, const bd_einsum *e, const bd_einsum_labels *labels, braid_tensor *t)
{
    BD_STATUS(st);
    braid_shape shape = shape_of(e, labels);
    if (bd_tensor_init(t, bd_input(c, 0)->dtype, &shape, st) == BRAID_OK) return true;
    bd_op_fail_status(c, st);
    return false;
}

// The labels of the product: [batch, free of a, free of b].
static bool product_labels(const bd_einsum *e, const operand o[2], bd_einsum_labels *labels)
{
    *labels = (bd_einsum_labels){0};
    for (int i = 0; i < 2; i++) {
        for (int d = 0; d < o[i].labels.count; d++) {
            int label = o[i].labels.label[d];
            if (has_label(labels, label) || !has_label(&e->out, label)) continue;
            if (labels->count == BRAID_RANK_MAX) return false;
            labels->label[labels->count++] = label;
        }
    }
    return true;
}

static void multiply(const operand o[2], const braid_tensor t[2], braid_tensor *product)
{
    bd_gemm_shape g = {.m = o[0].free, .n = o[1].free, .k = o[0].contracted, .transpose_b = true};
    int64_t size = (int64_t)braid_dtype_size(product->dtype);
    for (int64_t i = 0; i < o[0].batch && bd_tensor_count(product) > 0 && !bd_interrupted_at(i); i++)
        bd_gemm(bd_number_of(product->dtype), &g, (char *)t[0].data + i * g.m * g.k * size,
                (char *)t[1].data + i * g.n * g.k * size, (char *)product->data + i * g.m * g.n * size);
}

static void contract(bd_op_ctx *c, const bd_einsum *e, const braid_tensor *y)
{
    operand o[2];
    bd_einsum_labels labels;
    braid_tensor t[2] = {0}, product = {0};
    if (!sort_labels(e, 0, &o[0]) || !sort_labels(e, 1, &o[1]) || !product_labels(e, o, &labels)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "einsum '%s' needs more than %d dimensions",
                   bd_node_attr_string(c->node, "equation"), BRAID_RANK_MAX);
        return;
    }
    bool ok = true;
    for (int i = 0; ok && i < 2; i++) {
        ok = make(c, e, &o[i].labels, &t[i]);
        if (ok) move_labels(e, bd_input(c, i), &e->in[i], &t[i], &o[i].labels);
    }
    if (ok && make(c, e, &labels, &product)) {
        multiply(o, t, &product);
        move_labels(e, &product, &labels, y, &e->out);
    }
    bd_tensor_fini(&t[0]);
    bd_tensor_fini(&t[1]);
    bd_tensor_fini(&product);
}

static void einsum_run(bd_op_ctx *c)
{
    bd_einsum e;
    BD_STATUS(st);
    braid_shape shapes[BD_EINSUM_INPUTS_MAX];
    int64_t count;
    for (int i = 0; i < c->input_count && i < BD_EINSUM_INPUTS_MAX; i++)
        shapes[i] = bd_input(c, i)->shape;
    braid_code code =
        bd_einsum_read(&e, bd_node_attr_string(c->node, "equation"), shapes, c->input_count, st);
    braid_shape shape = code ? BD_SCALAR : bd_einsum_shape(&e);
    if (!code) code = bd_shape_checked_count(&shape, &count, st);
    if (code) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *y = bd_output(c, 0, bd_input(c, 0)->dtype, &shape);
    if (!y) return;
    if (e.inputs == 1) {
        move_labels(&e, bd_input(c, 0), &e.in[0], y, &e.out);
    } else {
        contract(c, &e, y);
    }
}

BD_OP(Einsum) = {
    .signature = "(inputs: N*T) -> (output: T)",
    .attrs = "equation:string; N:int>=1; T:type",
    .shape = einsum_shape,
    .gradient = bd_einsum_gradient,
    .kernels = BD_KERNELS({.types = BD_NUMBERS BD_AND_COMPLEX,
                           .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS,
                           .run = einsum_run}),
    .doc = "Contracts one or two tensors by an equation in Einstein's notation, such as \"ij,jk->ik\".",
};

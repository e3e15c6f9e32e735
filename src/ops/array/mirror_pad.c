// MirrorPad and its gradient: pads a tensor with mirror images, one dimension after the other.
#include "graph/grad.h"
#include "ops/array/pad.h"
#include "ops/common/element.h"
#include "ops/state/variable.h"

#include <string.h>

static braid_code grown_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_paddings_shape(c, true, st);
}

static braid_code shrunk_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_paddings_shape(c, false, st);
}

// REFLECT does not repeat the border element in the mirror image (1); SYMMETRIC does (0).
static int64_t border_of(const braid_op *node)
{
    return strcmp(bd_node_attr_string(node, "mode"), "REFLECT") == 0;
}

static bool check_mirror(bd_op_ctx *c, const bd_paddings *p, const braid_shape *inner)
{
    int64_t border = border_of(c->node);
    for (int d = 0; d < inner->rank; d++) {
        int64_t most = inner->dims[d] - border;
        if (p->before[d] <= most && p->after[d] <= most) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "paddings must be %s the dimension size: %lld, %lld for %lld",
                   border ? "less than" : "no greater than", (long long)p->before[d], (long long)p->after[d],
                   (long long)inner->dims[d]);
        return false;
    }
    return true;
}

// One dimension of a tensor with its mirror images: [outer, before + size + after, inner].
typedef struct mirrored {
    int64_t outer, size, inner, before, after, border;
} mirrored;

static mirrored mirrored_along(const braid_shape *unpadded, int d, const bd_paddings *p, int64_t border)
{
    return (mirrored){.outer = bd_shape_count_range(unpadded, 0, d),
                      .size = unpadded->dims[d],
                      .inner = bd_shape_count_range(unpadded, d + 1, unpadded->rank),
                      .before = p->before[d],
                      .after = p->after[d],
                      .border = border};
}

// One of the three parts of the dimension: its start in the padded and in the original tensor, its length,
// and whether it is read backwards.
typedef struct part {
    int64_t padded_at, plain_at, count, step;
} part;

static void parts_of(const mirrored *m, part parts[3])
{
    parts[0] = (part){0, m->before - 1 + m->border, m->before, -1};
    parts[1] = (part){m->before, 0, m->size, 1};
    parts[2] = (part){m->before + m->size, m->size - 1 - m->border, m->after, -1};
}

// A walk over one part; `to` is the padded tensor, `from` the original one.
static bd_strided walk_of(const mirrored *m, const part *p)
{
    int64_t padded = (m->before + m->size + m->after) * m->inner, plain = m->size * m->inner;
    return (bd_strided){.rank = 3,
                        .dims = {m->outer, p->count, m->inner},
                        .to_strides = {padded, m->inner, 1},
                        .from_strides = {plain, p->step * m->inner, 1}};
}

static void pad_along(const mirrored *m, const braid_tensor *x, const braid_tensor *y)
{
    part parts[3];
    parts_of(m, parts);
    for (int i = 0; i < 3; i++) {
        bd_strided walk = walk_of(m, &parts[i]);
        if (parts[i].count > 0 && m->outer > 0 && m->inner > 0)
            bd_elements_copy_block(y, parts[i].padded_at * m->inner, x, parts[i].plain_at * m->inner, &walk);
    }
}

typedef struct adding {
    char *plain;
    const char *padded;
    size_t size;
    bd_update_fn add;
} adding;

static void add_run(void *arg, int64_t to_at, int64_t to_stride, int64_t from_at, int64_t from_stride,
                    int64_t n)
{
    const adding *a = arg;
    char *plain = a->plain + from_at * (int64_t)a->size;
    const char *padded = a->padded + to_at * (int64_t)a->size;
    if (to_stride == 1 && from_stride == 1) {
        a->add(plain, padded, n);
        return;
    }
    for (int64_t i = 0; i < n; i++)
        a->add(plain + i * from_stride * (int64_t)a->size, padded + i * to_stride * (int64_t)a->size, 1);
}

// The inverse: adds the elements of the mirror images to the elements they were copied from.
static void fold_along(const mirrored *m, const braid_tensor *padded, const braid_tensor *plain)
{
    part parts[3];
    parts_of(m, parts);
    size_t size = braid_dtype_size(plain->dtype);
    memset(plain->data, 0, (size_t)bd_tensor_count(plain) * size);
    for (int i = 0; i < 3; i++) {
        bd_strided walk = walk_of(m, &parts[i]);
        adding a = {.plain = (char *)plain->data + parts[i].plain_at * m->inner * (int64_t)size,
                    .padded = (const char *)padded->data + parts[i].padded_at * m->inner * (int64_t)size,
                    .size = size,
                    .add = bd_update_function(plain->dtype, BD_UPDATE_ADD)};
        if (parts[i].count > 0 && m->outer > 0 && m->inner > 0) bd_strided_walk(&walk, add_run, &a);
    }
}

// Pads (or folds) the dimensions one after the other; the last result is output 0.
static void mirror_all(bd_op_ctx *c, const bd_paddings *p, bool folds)
{
    braid_tensor now;
    bd_tensor_ref(&now, bd_input(c, 0));
    for (int d = 0; d < now.shape.rank && !bd_op_failed(c); d++) {
        int64_t both = p->before[d] + p->after[d];
        if (both == 0) continue;
        braid_shape shape = now.shape;
        shape.dims[d] += folds ? -both : both;
        mirrored m = mirrored_along(folds ? &shape : &now.shape, d, p, border_of(c->node));
        braid_tensor next;
        if (!bd_tensor_alloc(&next, now.dtype, &shape)) {
            char text[BD_SHAPE_STR_MAX];
            bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when allocating tensor with shape%s",
                       bd_shape_str(&shape, text));
            break;
        }
        if (folds) {
            fold_along(&m, &now, &next);
        } else {
            pad_along(&m, &now, &next);
        }
        bd_tensor_fini(&now);
        bd_tensor_move(&now, &next);
    }
    if (!bd_op_failed(c)) bd_output_set(c, 0, &now);
    bd_tensor_fini(&now);
}

static void mirror_pad_run(bd_op_ctx *c)
{
    bd_paddings p = {0};
    braid_shape out;
    if (bd_paddings_read(c, &p) && check_mirror(c, &p, &bd_input(c, 0)->shape) &&
        bd_paddings_grow(c, &p, &out))
        mirror_all(c, &p, false);
}

static void mirror_pad_grad_run(bd_op_ctx *c)
{
    bd_paddings p = {0};
    if (!bd_paddings_read(c, &p)) return;
    braid_shape inner = bd_input(c, 0)->shape;
    for (int d = 0; d < inner.rank; d++) {
        int64_t both;
        if (__builtin_add_overflow(p.before[d], p.after[d], &both) || both > inner.dims[d]) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "paddings %lld and %lld are more than dimension %d has: %lld", (long long)p.before[d],
                       (long long)p.after[d], d, (long long)inner.dims[d]);
            return;
        }
        inner.dims[d] -= both;
    }
    if (check_mirror(c, &p, &inner)) mirror_all(c, &p, true);
}

static void mirror_by(bd_grad_ctx *c, const char *op)
{
    braid_op_desc *d = braid_op_begin(c->graph, op, NULL);
    braid_op_input(d, c->output_grads[0]);
    braid_op_input(d, c->op->inputs[1]);
    braid_op_attr_string(d, "mode", bd_node_attr_string(c->op, "mode"));
    c->input_grads[0] = braid_op_end_out(d);
}

static void mirror_pad_gradient(bd_grad_ctx *c)
{
    mirror_by(c, "MirrorPadGrad");
}

static void mirror_pad_grad_gradient(bd_grad_ctx *c)
{
    mirror_by(c, "MirrorPad");
}

#define MIRROR_ATTRS "T:type; Tpaddings:type{int32,int64}=int32; mode:string{REFLECT,SYMMETRIC}"

BD_OP(MirrorPad) = {
    .signature = "(input: T, paddings: Tpaddings) -> (output: T)",
    .attrs = MIRROR_ATTRS,
    .shape = grown_shape,
    .gradient = mirror_pad_gradient,
    .kernels = BD_KERNELS({.run = mirror_pad_run}),
    .doc =
        "Pads a tensor with mirror images, with (SYMMETRIC) or without (REFLECT) the elements at its borders.",
};

BD_OP(MirrorPadGrad) = {
    .signature = "(input: T, paddings: Tpaddings) -> (output: T)",
    .attrs = MIRROR_ATTRS,
    .shape = shrunk_shape,
    .gradient = mirror_pad_grad_gradient,
    .kernels = BD_KERNELS({.types = BD_UPDATE_TYPES_OF("T"), .run = mirror_pad_grad_run}),
    .doc =
        "The gradient of MirrorPad: adds the elements of the mirror images to the elements they were copied from.",
};

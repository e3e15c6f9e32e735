// Runs a kernel of a wider type for a narrow one: inputs are converted, the kernel runs on a copy of the node
// that has the wider types, and its outputs are converted back.
//
// Results are those of the wider type, rounded once (to the 16-bit floating types) or taken modulo the narrow
// type's range, which is the result of arithmetic that wraps around. A kernel whose results may leave the
// range for another reason has BD_KERNEL_CLAMPS.
#include "op/kernel_widen.h"

#include "base/half.h"

#include <math.h>

typedef struct widened {
    const bd_kernel *kernel;
    void *state;   // of the kernel
    braid_op node; // the node for the kernel; its arrays of attrs and types are owned here
} widened;

// ---- Types ----

typedef void (*convert_fn)(const void *from, void *to, int64_t n);

#define CONVERT(NAME, F, T, EXPR)                                                                            \
    static void NAME(const void *from, void *to, int64_t n)                                                  \
    {                                                                                                        \
        const F *restrict xs = from;                                                                         \
        T *restrict ys = to;                                                                                 \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            F x = xs[i];                                                                                     \
            ys[i] = (T)(EXPR);                                                                               \
        }                                                                                                    \
    }
#define CONVERT_INTEGER(NAME, T, LEAST, GREATEST)                                                            \
    CONVERT(widen_##NAME, T, int32_t, x)                                                                     \
    CONVERT(narrow_##NAME, int32_t, T, x)                                                                    \
    CONVERT(clamp_##NAME, int32_t, T, x<(LEAST) ? (LEAST) : x>(GREATEST) ? (GREATEST) : x)

#define HALF_MAX 65504.0f
#define BFLOAT16_MAX 0x1.fep127f

CONVERT(widen_half, uint16_t, float, bd_float_of_half(x))
CONVERT(narrow_half, float, uint16_t, bd_half_of_float(x))
CONVERT(widen_bfloat16, uint16_t, float, bd_float_of_bfloat16(x))
CONVERT(narrow_bfloat16, float, uint16_t, bd_bfloat16_of_float(x))
// Infinities stay.
CONVERT(clamp_half, float, uint16_t, bd_half_of_float(isfinite(x) ? fmaxf(-HALF_MAX, fminf(x, HALF_MAX)) : x))
CONVERT(clamp_bfloat16, float, uint16_t,
        bd_bfloat16_of_float(isfinite(x) ? fmaxf(-BFLOAT16_MAX, fminf(x, BFLOAT16_MAX)) : x))
CONVERT_INTEGER(u8, uint8_t, 0, UINT8_MAX)
CONVERT_INTEGER(i8, int8_t, INT8_MIN, INT8_MAX)
CONVERT_INTEGER(u16, uint16_t, 0, UINT16_MAX)
CONVERT_INTEGER(i16, int16_t, INT16_MIN, INT16_MAX)

static const struct {
    braid_dtype narrow, wide;
    convert_fn widen, wrap, clamp;
} types[] = {
    {BRAID_HALF, BRAID_FLOAT, widen_half, narrow_half, clamp_half},
    {BRAID_BFLOAT16, BRAID_FLOAT, widen_bfloat16, narrow_bfloat16, clamp_bfloat16},
    {BRAID_UINT8, BRAID_INT32, widen_u8, narrow_u8, clamp_u8},
    {BRAID_INT8, BRAID_INT32, widen_i8, narrow_i8, clamp_i8},
    {BRAID_UINT16, BRAID_INT32, widen_u16, narrow_u16, clamp_u16},
    {BRAID_INT16, BRAID_INT32, widen_i16, narrow_i16, clamp_i16},
};

// The row of a narrow type; -1: it is not narrow.
static int find_type(braid_dtype dtype)
{
    for (int i = 0; i < (int)BD_COUNTOF(types); i++) {
        if (types[i].narrow == dtype) return i;
    }
    return -1;
}

braid_dtype bd_dtype_widened(braid_dtype dtype)
{
    int i = find_type(dtype);
    return i < 0 ? dtype : types[i].wide;
}

// ---- Binding ----

// A number of the narrow type that is nearest, for attr T of a floating type.
static float rounded(const braid_op *node, float x)
{
    const bd_attr *type = bd_node_attr(node, "T");
    if (type && type->type == BRAID_HALF) return bd_float_of_half(bd_half_of_float(x));
    if (type && type->type == BRAID_BFLOAT16) return bd_float_of_bfloat16(bd_bfloat16_of_float(x));
    return x;
}

static void widen_attrs(braid_op *node, bool rounds)
{
    bd_named_attr *attrs = bd_calloc((size_t)node->attr_count + 1, sizeof *attrs);
    for (int i = 0; i < node->attr_count; i++) {
        attrs[i] = node->attrs[i];
        bd_attr *value = &attrs[i].value;
        if (value->kind == BD_ATTR_TYPE) value->type = bd_dtype_widened(value->type);
        if (value->kind == BD_ATTR_FLOAT && rounds) value->f = rounded(node, value->f);
    }
    node->attrs = attrs;
}

static braid_dtype *widen_types(const braid_dtype *from, int count)
{
    braid_dtype *wide = bd_calloc((size_t)count + 1, sizeof *wide);
    for (int i = 0; i < count; i++)
        wide[i] = bd_dtype_widened(from[i]);
    return wide;
}

static void destroy_widened(void *state)
{
    widened *w = state;
    if (w->state && w->kernel->destroy) w->kernel->destroy(w->state);
    bd_free(w->state);
    bd_free(w->node.attrs);
    bd_free(w->node.input_types);
    bd_free(w->node.output_types);
}

static braid_code create_widened(const braid_op *node, void *state, braid_status *st)
{
    widened *w = state;
    w->kernel = bd_kernel_fitting(node, "CPU", true);
    w->node = *node;
    widen_attrs(&w->node, w->kernel->flags & BD_KERNEL_ROUNDS_ATTRS);
    w->node.input_types = widen_types(node->input_types, node->input_count);
    w->node.output_types = widen_types(node->output_types, node->output_count);
    void *made = bd_calloc(1, w->kernel->state_size + 1);
    braid_code code = w->kernel->create ? w->kernel->create(&w->node, made, st) : BRAID_OK;
    if (code) {
        bd_free(made);
        destroy_widened(w);
        return code;
    }
    w->state = made;
    return BRAID_OK;
}

// ---- Running ----

static bool convert(bd_op_ctx *c, const braid_tensor *from, braid_dtype dtype, convert_fn fn,
                    braid_tensor *to)
{
    if (!bd_tensor_alloc(to, dtype, &from->shape)) {
        char text[BD_SHAPE_STR_MAX] = {0};
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when allocating tensor with shape%s and type %s",
                   bd_shape_str(&from->shape, text), braid_dtype_name(dtype));
        return false;
    }
    fn(from->data, to->data, bd_tensor_count(from));
    return true;
}

// Inputs that are not converted are lent: the executor keeps them.
static bool widen_inputs(bd_op_ctx *c, bd_value *inputs)
{
    for (int i = 0; i < c->input_count; i++) {
        const braid_tensor *x = bd_input(c, i);
        int type = find_type(x->dtype);
        if (type < 0) {
            inputs[i] = c->inputs[i];
        } else if (!convert(c, x, types[type].wide, types[type].widen, &inputs[i].tensor)) {
            return false;
        }
    }
    return true;
}

static void end_inputs(bd_op_ctx *c, bd_value *inputs)
{
    for (int i = 0; i < c->input_count; i++) {
        if (find_type(bd_input(c, i)->dtype) >= 0) bd_value_fini(&inputs[i]);
    }
}

static void narrow_outputs(bd_op_ctx *c, const bd_kernel *kernel, bd_value *outputs)
{
    for (int i = 0; i < c->output_count; i++) {
        int type = find_type(c->node->output_types[i]);
        if (type < 0 || outputs[i].tensor.dtype == types[type].narrow) { // of that type, independent of T
            c->outputs[i] = outputs[i];
            outputs[i] = (bd_value){0};
        } else if (!bd_op_failed(c)) {
            convert_fn fn = kernel->flags & BD_KERNEL_CLAMPS ? types[type].clamp : types[type].wrap;
            convert(c, &outputs[i].tensor, types[type].narrow, fn, &c->outputs[i].tensor);
        }
        bd_value_fini(&outputs[i]);
    }
}

static void run_widened(bd_op_ctx *c)
{
    widened *w = c->state;
    bd_value *values = bd_calloc((size_t)c->input_count + (size_t)c->output_count, sizeof *values);
    bd_op_ctx inner = *c;
    inner.node = &w->node;
    inner.state = w->state;
    inner.inputs = values;
    inner.outputs = values + c->input_count;
    if (widen_inputs(c, inner.inputs)) {
        w->kernel->run(&inner);
        bd_op_fail_status(c, &inner.status);
        narrow_outputs(c, w->kernel, inner.outputs);
    }
    end_inputs(c, inner.inputs);
    bd_status_fini(&inner.status);
    bd_free(values);
}

const bd_kernel *bd_kernel_widening(const bd_kernel *kernel)
{
    static const bd_kernel cheap = {.state_size = sizeof(widened),
                                    .create = create_widened,
                                    .destroy = destroy_widened,
                                    .run = run_widened},
                           expensive = {.flags = BD_KERNEL_EXPENSIVE,
                                        .state_size = sizeof(widened),
                                        .create = create_widened,
                                        .destroy = destroy_widened,
                                        .run = run_widened};
    return kernel->flags & BD_KERNEL_EXPENSIVE ? &expensive : &cheap;
}

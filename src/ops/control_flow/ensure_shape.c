// EnsureShape and CheckNumerics: they check their input and forward it.
#include "base/strbuf.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"

#include <math.h>

// ---- EnsureShape ----

static braid_code ensure_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape want = bd_node_attr_shape(c->node, "shape");
    if (bd_shape_merge(&want, &c->inputs[0], &c->outputs[0])) return BRAID_OK;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    return bd_shape_ctx_fail(c, st, "Shapes must be equal, but are %s and %s", bd_shape_str(&c->inputs[0], a),
                             bd_shape_str(&want, b));
}

static void ensure_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_shape want = bd_node_attr_shape(c->node, "shape"), merged;
    if (!bd_shape_merge(&want, &x->shape, &merged)) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        const braid_op *source = c->node->input_count > 0 ? c->node->inputs[0].op : NULL;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Shape of tensor %s %s is not compatible with expected shape %s.",
                   source ? source->name : "", bd_shape_str(&x->shape, a), bd_shape_str(&want, b));
        return;
    }
    bd_output_set(c, 0, x);
}

static void pass_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = c->output_grads[0];
}

BD_OP(EnsureShape) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "shape:shape; T:type",
    .shape = ensure_shape,
    .gradient = pass_gradient,
    .kernels = BD_KERNELS({.run = ensure_run}),
    .doc = "Forwards its input if it has the shape of attr `shape`, which may be partly known.",
};

// ---- CheckNumerics ----

typedef struct findings {
    bool nan, negative, positive; // of infinities
} findings;

static findings look_at(double value, findings so_far)
{
    so_far.nan |= isnan(value) != 0;
    so_far.negative |= isinf(value) && value < 0;
    so_far.positive |= isinf(value) && value > 0;
    return so_far;
}

// In half and bfloat16 all exponent bits are set in infinities and NaNs; the fraction tells these apart.
static findings look_at_bits(unsigned bits, unsigned exponent, unsigned fraction, findings so_far)
{
    if ((bits & exponent) != exponent) return so_far;
    so_far.nan |= (bits & fraction) != 0;
    bool is_infinite = (bits & fraction) == 0, is_negative = (bits & 0x8000) != 0;
    so_far.negative |= is_infinite && is_negative;
    so_far.positive |= is_infinite && !is_negative;
    return so_far;
}

static findings look_at_all(const braid_tensor *x)
{
    findings f = {0};
    int64_t n = bd_tensor_count(x);
    const uint16_t *bits = x->data;
    switch (x->dtype) {
    case BRAID_FLOAT:
        for (int64_t i = 0; i < n; i++)
            f = look_at((double)bd_tensor_f32(x)[i], f);
        break;
    case BRAID_DOUBLE:
        for (int64_t i = 0; i < n; i++)
            f = look_at(bd_tensor_f64(x)[i], f);
        break;
    case BRAID_HALF:
        for (int64_t i = 0; i < n; i++)
            f = look_at_bits(bits[i], 0x7c00, 0x03ff, f);
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            f = look_at_bits(bits[i], 0x7f80, 0x007f, f);
        break;
    }
    return f;
}

static void check_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    findings f = look_at_all(x);
    bool inf = f.negative || f.positive;
    if (f.nan || inf) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s : Tensor had %s values",
                   bd_node_attr_string(c->node, "message"),
                   !f.nan ? "Inf"
                   : inf  ? "Inf and NaN"
                          : "NaN");
        return;
    }
    bd_output_set(c, 0, x);
}

// Names the kinds of infinities that occur.
static void check_v2_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    findings f = look_at_all(x);
    const char *names[3];
    int count = 0;
    if (f.negative) names[count++] = "-Inf";
    if (f.positive) names[count++] = "+Inf";
    if (f.nan) names[count++] = "NaN";
    if (count == 0) {
        bd_output_set(c, 0, x);
        return;
    }
    bd_strbuf text = {0};
    for (int i = 0; i < count; i++)
        bd_strbuf_appendf(&text, "%s%s",
                          i == 0          ? ""
                          : i + 1 < count ? ", "
                          : count == 2    ? " and "
                                          : ", and ",
                          names[i]);
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s : Tensor had %s values",
               bd_node_attr_string(c->node, "message"), bd_strbuf_str(&text));
    bd_strbuf_fini(&text);
}

static void check_gradient(bd_grad_ctx *c)
{
    braid_op_desc *d = braid_op_begin(c->graph, c->op->op_type, NULL);
    braid_op_input(d, c->output_grads[0]);
    braid_op_attr_string(d, "message", "Not a number (NaN) or infinity (Inf) values detected in gradient.");
    c->input_grads[0] = braid_op_end_out(d);
}

BD_OP(CheckNumerics) = {
    .signature = "(tensor: T) -> (output: T)",
    .attrs = "T:type{bfloat16,double,float,half}; message:string",
    .flags = BD_OP_STATEFUL,
    .shape = bd_shape_fn_unchanged,
    .gradient = check_gradient,
    .kernels = BD_KERNELS({.run = check_run}),
    .doc = "Forwards its input; NaN or an infinity in it is an error with attr `message`.",
};

BD_OP(CheckNumericsV2) = {
    .signature = "(tensor: T) -> (output: T)",
    .attrs = "T:type{bfloat16,double,float,half}; message:string",
    .flags = BD_OP_STATEFUL,
    .shape = bd_shape_fn_unchanged,
    .gradient = check_gradient,
    .kernels = BD_KERNELS({.run = check_v2_run}),
    .doc = "CheckNumerics whose error distinguishes the signs of infinities.",
};

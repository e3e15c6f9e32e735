// Incomplete gamma and beta functions, zeta and polygamma, scaled Bessel functions. All types are computed in
// double.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "kernels/special.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"
#include "ops/common/pairwise.h"

BD_FLOAT_PAIR(igamma, bd_igamma(x, y))
BD_FLOAT_PAIR(igammac, bd_igammac(x, y))
BD_FLOAT_PAIR(igamma_grad_a, bd_igamma_grad_a(x, y))
BD_FLOAT_PAIR(zeta, bd_zeta(x, y))
BD_FLOAT_PAIR(polygamma, bd_polygamma(x, y))

BD_SINGLE_LOOP(i0e_f32, float, float, bd_bessel_i0e(x))
BD_SINGLE_LOOP(i0e_f64, double, double, bd_bessel_i0e(x))
BD_SINGLE_LOOP(i1e_f32, float, float, bd_bessel_i1e(x))
BD_SINGLE_LOOP(i1e_f64, double, double, bd_bessel_i1e(x))

static void i0e_run(bd_op_ctx *c)
{
    static const bd_single_table table = {[BRAID_FLOAT] = i0e_f32, [BRAID_DOUBLE] = i0e_f64};
    bd_singly_run(c, table, bd_input(c, 0)->dtype);
}

static void i1e_run(bd_op_ctx *c)
{
    static const bd_single_table table = {[BRAID_FLOAT] = i1e_f32, [BRAID_DOUBLE] = i1e_f64};
    bd_singly_run(c, table, bd_input(c, 0)->dtype);
}

// ---- Betainc: all of one shape, or scalars ----

static braid_code betainc_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape shape = BD_SCALAR;
    bool is_known = true;
    for (int i = 0; i < 3; i++) {
        is_known &= c->inputs[i].rank >= 0;
        if (c->inputs[i].rank <= 0) continue;
        if (shape.rank == 0) shape = c->inputs[i];
        if (!bd_shape_merge(&shape, &c->inputs[i], &shape))
            return bd_shape_ctx_fail(c, st, "Shapes of a, b and x must be equal, but for scalars");
    }
    c->outputs[0] = is_known || shape.rank > 0 ? shape : BD_SHAPE_UNKNOWN;
    return BRAID_OK;
}

static double element(const braid_tensor *t, int64_t i)
{
    if (t->shape.rank == 0) i = 0;
    return t->dtype == BRAID_FLOAT ? (double)bd_tensor_f32(t)[i] : bd_tensor_f64(t)[i];
}

static void betainc_run(bd_op_ctx *c)
{
    static const char names[] = "abx";
    int largest = 0;
    for (int i = 1; i < 3; i++) {
        const braid_shape *s = &bd_input(c, largest)->shape, *t = &bd_input(c, i)->shape;
        if (s->rank > 0 && t->rank > 0 && !bd_shape_equal(s, t)) {
            char u[BD_SHAPE_STR_MAX], v[BD_SHAPE_STR_MAX];
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Shapes of %c and %c are inconsistent: %s vs. %s",
                       names[largest], names[i], bd_shape_str(s, u), bd_shape_str(t, v));
            return;
        }
        if (s->rank == 0) largest = i;
    }
    const braid_tensor *a = bd_input(c, 0), *b = bd_input(c, 1), *x = bd_input(c, 2);
    braid_tensor *z = bd_output(c, 0, a->dtype, &bd_input(c, largest)->shape);
    for (int64_t i = 0; z && i < bd_tensor_count(z) && !bd_interrupted_at(i); i++) {
        double value = bd_betainc(element(a, i), element(b, i), element(x, i));
        if (z->dtype == BRAID_FLOAT) {
            bd_tensor_f32(z)[i] = (float)value;
        } else {
            bd_tensor_f64(z)[i] = value;
        }
    }
}

// ---- Gradients ----

static braid_out less_one(braid_graph *g, braid_out x)
{
    return bd_grad_number_right(g, "Sub", "sub", x, 1);
}

static braid_out log_of(braid_graph *g, braid_out x)
{
    return bd_b1(g, "Log", NULL, x);
}

// d/dx P(a, x) = e^(-x + (a - 1) log x - lgamma a); logarithms avoid the overflow of Gamma.
static void igamma_gradients(bd_grad_ctx *c, bool negative)
{
    bd_grad_pair p;
    bd_grad_pair_begin(c, &p);
    braid_graph *g = p.g;
    bd_grad_after_begin(g, p.grad);
    braid_out da = bd_b2(g, "IgammaGradA", NULL, p.x, p.y);
    braid_out power = bd_grad_mul(g, less_one(g, p.x), log_of(g, p.y));
    braid_out exponent = bd_b2(g, "Sub", "sub", bd_b2(g, "Add", "add", bd_b1(g, "Neg", NULL, p.y), power),
                               bd_b1(g, "Lgamma", NULL, p.x));
    braid_out dx = bd_b1(g, "Exp", NULL, exponent), grad = negative ? bd_b1(g, "Neg", NULL, p.grad) : p.grad;
    bd_grad_pair_x(c, &p, bd_grad_mul(g, da, grad));
    bd_grad_pair_y(c, &p, bd_grad_mul(g, dx, grad));
    bd_grad_after_end(g);
}

static void igamma_gradient(bd_grad_ctx *c)
{
    igamma_gradients(c, false);
}

static void igammac_gradient(bd_grad_ctx *c)
{
    igamma_gradients(c, true);
}

// Only x has a gradient: e^((b - 1) log(1 - x) + (a - 1) log x - log B(a, b)).
static void betainc_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out a = c->op->inputs[0], b = c->op->inputs[1], x = c->op->inputs[2], grad = c->output_grads[0];
    braid_out x_shape = bd_b_shape(g, "Shape", x);
    braid_out axes = bd_b2(g, "BroadcastGradientArgs", NULL, bd_b_shape(g, "Shape", a), x_shape);
    braid_out both = bd_b1(g, "Lgamma", NULL, bd_b2(g, "Add", "add", a, b));
    braid_out log_beta =
        bd_b2(g, "Sub", "sub",
              bd_b2(g, "Add", "add", bd_b1(g, "Lgamma", NULL, a), bd_b1(g, "Lgamma", NULL, b)), both);
    braid_out rest = bd_grad_mul(g, less_one(g, b), log_of(g, bd_grad_number_left(g, "Sub", "sub", 1, x)));
    braid_out power = bd_grad_mul(g, less_one(g, a), log_of(g, x));
    braid_out exponent = bd_b2(g, "Sub", "sub", bd_b2(g, "Add", "add", rest, power), log_beta);
    braid_out dx = bd_grad_mul(g, bd_b1(g, "Exp", NULL, exponent), grad);
    braid_out sum = bd_b2(g, "Sum", NULL, dx, braid_output(axes.op, 1));
    c->input_grads[2] = bd_b2(g, "Reshape", NULL, sum, x_shape);
}

// Only q has a gradient: -x zeta(x + 1, q).
static void zeta_gradient(bd_grad_ctx *c)
{
    bd_grad_pair p;
    bd_grad_pair_begin(c, &p);
    braid_graph *g = p.g;
    bd_grad_after_begin(g, p.grad);
    braid_out next = bd_b2(g, "Zeta", NULL, bd_grad_number_right(g, "Add", "add", p.x, 1), p.y);
    bd_grad_pair_y(c, &p, bd_grad_mul(g, bd_grad_mul(g, bd_b1(g, "Neg", NULL, p.x), next), p.grad));
    bd_grad_after_end(g);
}

// Only x has a gradient: the next derivative.
static void polygamma_gradient(bd_grad_ctx *c)
{
    bd_grad_pair p;
    bd_grad_pair_begin(c, &p);
    braid_graph *g = p.g;
    bd_grad_after_begin(g, p.grad);
    braid_out next = bd_b2(g, "Polygamma", NULL, bd_grad_number_right(g, "Add", "add", p.x, 1), p.y);
    bd_grad_pair_y(c, &p, bd_grad_mul(g, next, p.grad));
    bd_grad_after_end(g);
}

// i1e(x) - sign(x) i0e(x)
static void i0e_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = c->op->inputs[0], y = braid_output(c->op, 0), grad = c->output_grads[0];
    bd_grad_after_begin(g, grad);
    braid_out damping = bd_grad_mul(g, bd_b1(g, "Sign", NULL, x), y);
    braid_out slope = bd_b2(g, "Sub", "sub", bd_b1(g, "BesselI1e", NULL, x), damping);
    c->input_grads[0] = bd_grad_mul(g, grad, slope);
    bd_grad_after_end(g);
}

// i0e(x) - i1e(x) (sign(x) + 1/x); 1/2 at 0, where the formula gives NaN.
static void i1e_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = c->op->inputs[0], y = braid_output(c->op, 0), grad = c->output_grads[0];
    braid_dtype dtype = bd_dtype_base(braid_out_dtype(x));
    bd_grad_after_begin(g, grad);
    braid_out is_zero = bd_b2(g, "Equal", NULL, x, bd_b_const_f(g, "zero", dtype, 0));
    braid_out safe = bd_b3(g, "SelectV2", NULL, is_zero, bd_b_const_f(g, "one", dtype, 1), x);
    braid_out sum = bd_b2(g, "Add", "add", bd_b1(g, "Sign", NULL, safe), bd_b1(g, "Reciprocal", NULL, safe));
    braid_out slope = bd_b2(g, "Sub", "sub", bd_b1(g, "BesselI0e", NULL, safe), bd_grad_mul(g, y, sum));
    slope = bd_b3(g, "SelectV2", NULL, is_zero, bd_b_const_f(g, "half", dtype, 0.5), slope);
    c->input_grads[0] = bd_grad_mul(g, grad, slope);
    bd_grad_after_end(g);
}

// ---- Definitions ----

#define SPECIAL_KERNELS(RUN) BD_KERNELS({.types = BD_FLOATS, .flags = BD_KERNEL_EXPENSIVE, .run = (RUN)})

BD_OP(Igamma) = {
    .signature = "(a: T, x: T) -> (z: T)",
    .attrs = "T:type{double,float}",
    .shape = bd_shape_fn_broadcast,
    .gradient = igamma_gradient,
    .kernels = SPECIAL_KERNELS(igamma_run),
    .doc = "The lower regularized incomplete gamma function P(a, x).",
};

BD_OP(Igammac) = {
    .signature = "(a: T, x: T) -> (z: T)",
    .attrs = "T:type{double,float}",
    .shape = bd_shape_fn_broadcast,
    .gradient = igammac_gradient,
    .kernels = SPECIAL_KERNELS(igammac_run),
    .doc = "The upper regularized incomplete gamma function Q(a, x).",
};

BD_OP(IgammaGradA) = {
    .signature = "(a: T, x: T) -> (z: T)",
    .attrs = "T:type{double,float}",
    .shape = bd_shape_fn_broadcast,
    .kernels = SPECIAL_KERNELS(igamma_grad_a_run),
    .doc = "The derivative of Igamma by a.",
};

BD_OP(Betainc) = {
    .signature = "(a: T, b: T, x: T) -> (z: T)",
    .attrs = "T:type{double,float}",
    .shape = betainc_shape,
    .gradient = betainc_gradient,
    .kernels = SPECIAL_KERNELS(betainc_run),
    .doc = "The regularized incomplete beta function I_x(a, b); operands have one shape or are scalars.",
};

BD_OP(Zeta) = {
    .signature = "(x: T, q: T) -> (z: T)",
    .attrs = "T:type{double,float}",
    .shape = bd_shape_fn_broadcast,
    .gradient = zeta_gradient,
    .kernels = SPECIAL_KERNELS(zeta_run),
    .doc = "Hurwitz' zeta function: the sum of (q + k)^-x over all k from 0 on.",
};

BD_OP(Polygamma) = {
    .signature = "(a: T, x: T) -> (z: T)",
    .attrs = "T:type{double,float}",
    .shape = bd_shape_fn_broadcast,
    .gradient = polygamma_gradient,
    .kernels = SPECIAL_KERNELS(polygamma_run),
    .doc = "Polygamma: the a-th derivative of Digamma at x.",
};

#define BESSEL_KERNELS(RUN)                                                                                  \
    BD_KERNELS({.types = BD_FLOATS, .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS, .run = (RUN)})

BD_OP(BesselI0e) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = i0e_gradient,
    .kernels = BESSEL_KERNELS(i0e_run),
    .doc = "The modified Bessel function of order 0 times e^-|x|.",
};

BD_OP(BesselI1e) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type{bfloat16,double,float,half}",
    .shape = bd_shape_fn_unchanged,
    .gradient = i1e_gradient,
    .kernels = BESSEL_KERNELS(i1e_run),
    .doc = "The modified Bessel function of order 1 times e^-|x|.",
};

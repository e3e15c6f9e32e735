// Conversions between real and complex numbers: Complex, Real, Imag, Conj, ComplexAbs, Angle.
#include "ops/math/complex_ops.h"

#include "base/complex.h"
#include "graph/shape_fn.h"
#include "ops/common/grad_math.h"
#include "ops/common/pairwise.h"

BD_PAIR_LOOP(complex_f32, float, float complex, CMPLXF(x, y))
BD_PAIR_LOOP(complex_f64, double, double complex, CMPLX(x, y))

// Defines NAME_run by the C library's functions for complex64 and complex128.
#define PART(NAME, FN, T64, T128)                                                                            \
    BD_SINGLE_LOOP(NAME##_c64, float complex, T64, FN##f(x))                                                 \
    BD_SINGLE_LOOP(NAME##_c128, double complex, T128, FN(x))                                                 \
    static void NAME##_run(bd_op_ctx *c)                                                                     \
    {                                                                                                        \
        static const bd_single_table table = {                                                               \
            [BRAID_COMPLEX64] = NAME##_c64, [BRAID_COMPLEX128] = NAME##_c128};                               \
        bd_singly_run(c, table, c->node->output_types[0]);                                                   \
    }
PART(real, creal, float, double)
PART(imag, cimag, float, double)
PART(abs, cabs, float, double)
PART(angle, carg, float, double)
PART(conj, conj, float complex, double complex)

void bd_conjugate(const braid_tensor *x, braid_tensor *y)
{
    (x->dtype == BRAID_COMPLEX64 ? conj_c64 : conj_c128)(x->data, y->data, bd_tensor_count(x));
}

static void complex_run(bd_op_ctx *c)
{
    bool is_double = bd_input(c, 0)->dtype == BRAID_DOUBLE;
    bd_pairwise_run_of(c, is_double ? complex_f64 : complex_f32, 0, 1, c->node->output_types[0]);
}

// ---- Gradients ----

// A node of type `op` with attr Tout.
static braid_out converting(braid_graph *g, const char *op, const braid_out *inputs, int count,
                            braid_dtype to)
{
    braid_op_desc *d = braid_op_begin(g, op, NULL);
    for (int i = 0; i < count; i++)
        braid_op_input(d, inputs[i]);
    braid_op_attr_type(d, "Tout", to);
    return braid_op_end_out(d);
}

// Real or Imag of x.
static braid_out part_of(braid_graph *g, const char *op, braid_out x)
{
    bool is_wide = bd_dtype_base(braid_out_dtype(x)) == BRAID_COMPLEX128;
    return converting(g, op, &x, 1, is_wide ? BRAID_DOUBLE : BRAID_FLOAT);
}

static braid_out complex_of(braid_graph *g, braid_out real, braid_out imag)
{
    bool is_wide = bd_dtype_base(braid_out_dtype(real)) == BRAID_DOUBLE;
    return converting(g, "Complex", (braid_out[]){real, imag}, 2,
                      is_wide ? BRAID_COMPLEX128 : BRAID_COMPLEX64);
}

static braid_out zero_like(braid_graph *g, braid_out x)
{
    return bd_b_const_f(g, "Const", bd_dtype_base(braid_out_dtype(x)), 0);
}

static void complex_gradient(bd_grad_ctx *c)
{
    bd_grad_pair p;
    bd_grad_pair_begin(c, &p);
    bd_grad_pair_x(c, &p, part_of(p.g, "Real", p.grad));
    bd_grad_pair_y(c, &p, part_of(p.g, "Imag", p.grad));
}

static void real_gradient(bd_grad_ctx *c)
{
    braid_out grad = c->output_grads[0], zero = zero_like(c->graph, grad);
    c->input_grads[0] = complex_of(c->graph, grad, zero);
}

static void imag_gradient(bd_grad_ctx *c)
{
    braid_out grad = c->output_grads[0], zero = zero_like(c->graph, grad);
    c->input_grads[0] = complex_of(c->graph, zero, grad);
}

static void conj_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = bd_grad_conj(c->graph, c->output_grads[0]);
}

static braid_out widened(braid_graph *g, braid_out real)
{
    return complex_of(g, real, bd_grad_zeros_like(g, real));
}

// grad * x / |x|, which has a derivative: Sign's is 0.
static void abs_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out product = bd_grad_mul(g, widened(g, c->output_grads[0]), c->op->inputs[0]);
    c->input_grads[0] = bd_b2(g, "DivNoNan", "div_no_nan", product, widened(g, braid_output(c->op, 0)));
}

// -grad / (imag + i real)
static void angle_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = c->op->inputs[0], grad = c->output_grads[0];
    bd_grad_after_begin(g, grad);
    braid_out real = part_of(g, "Real", x), imag = part_of(g, "Imag", x);
    braid_out slope = bd_b1(g, "Reciprocal", NULL, complex_of(g, imag, real));
    braid_out wide = complex_of(g, grad, zero_like(g, grad));
    c->input_grads[0] = bd_grad_mul(g, bd_b1(g, "Neg", NULL, wide), slope);
    bd_grad_after_end(g);
}

// ---- Definitions ----

#define PART_ATTRS "T:type{complex128,complex64}=complex64; Tout:type{double,float}=float"
// The kernel for one precision.
#define PART_KERNELS(RUN)                                                                                    \
    BD_KERNELS({.types = "T=complex64; Tout=float", .run = (RUN)},                                           \
               {.types = "T=complex128; Tout=double", .run = (RUN)})

BD_OP(Complex) = {
    .signature = "(real: T, imag: T) -> (out: Tout)",
    .attrs = "T:type{double,float}=float; Tout:type{complex128,complex64}=complex64",
    .shape = bd_shape_fn_broadcast,
    .gradient = complex_gradient,
    .kernels = BD_KERNELS({.types = "T=float; Tout=complex64", .run = complex_run},
                          {.types = "T=double; Tout=complex128", .run = complex_run}),
    .doc = "Makes complex numbers from their real and imaginary parts.",
};

BD_OP(Real) = {
    .signature = "(input: T) -> (output: Tout)",
    .attrs = PART_ATTRS,
    .shape = bd_shape_fn_unchanged,
    .gradient = real_gradient,
    .kernels = PART_KERNELS(real_run),
    .doc = "Gives the real part of each element.",
};

BD_OP(Imag) = {
    .signature = "(input: T) -> (output: Tout)",
    .attrs = PART_ATTRS,
    .shape = bd_shape_fn_unchanged,
    .gradient = imag_gradient,
    .kernels = PART_KERNELS(imag_run),
    .doc = "Gives the imaginary part of each element.",
};

BD_OP(ComplexAbs) = {
    .signature = "(x: T) -> (y: Tout)",
    .attrs = PART_ATTRS,
    .shape = bd_shape_fn_unchanged,
    .gradient = abs_gradient,
    .kernels = PART_KERNELS(abs_run),
    .doc = "Gives the absolute value of each element.",
};

BD_OP(Angle) = {
    .signature = "(input: T) -> (output: Tout)",
    .attrs = PART_ATTRS,
    .shape = bd_shape_fn_unchanged,
    .gradient = angle_gradient,
    .kernels = PART_KERNELS(angle_run),
    .doc = "The argument (angle) of each element, from -pi to pi.",
};

BD_OP(Conj) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "T:type{complex128,complex64,variant}=complex64",
    .shape = bd_shape_fn_unchanged,
    .gradient = conj_gradient,
    .kernels = BD_KERNELS({.types = "T=complex64|complex128", .run = conj_run}),
    .doc = "Gives the complex conjugate of each element.",
};

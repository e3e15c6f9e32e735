// Element-wise arithmetic of two arguments, with broadcasting.
#include "graph/shape_fn.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"
#include "ops/math/string_binary.h"

BD_BINARY(add, BD_ADD)
BD_BINARY(sub, BD_SUB)
BD_BINARY(mul, BD_MUL)
BD_BINARY(div, BD_DIV)
BD_BINARY(floor_div, BD_FLOOR_DIV)
BD_BINARY(mod, BD_MOD)
BD_BINARY(floor_mod, BD_FLOOR_MOD)
BD_BINARY(max, BD_MAX)
BD_BINARY(min, BD_MIN)
BD_BINARY(pow, BD_POW)
BD_BINARY(squared_difference, BD_SQUARED_DIFFERENCE)

// ---- Add, Sub, Mul ----

static void add_gradient(bd_grad_ctx *c)
{
    if (bd_grad_pair_is_equal(c)) {
        c->input_grads[0] = c->input_grads[1] = c->output_grads[0];
        return;
    }
    bd_grad_pair p;
    bd_grad_pair_begin_static(c, &p);
    bd_grad_pair_x(c, &p, p.grad);
    bd_grad_pair_y(c, &p, p.grad);
}

BD_OP(Add) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int16,int32,int64,int8,string,uint8}",
    .shape = bd_shape_fn_broadcast,
    .gradient = add_gradient,
    .kernels = BD_KERNELS(BD_BINARY_KERNEL_ITEM(add, BD_NUMBERS BD_AND_COMPLEX),
                          {.types = "T=string", .run = bd_strings_add_run}),
    .doc = "Computes x + y; concatenates strings.",
};

BD_OP(AddV2) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int16,int32,int64,int8,uint8}",
    .flags = BD_OP_COMMUTATIVE | BD_OP_AGGREGATE,
    .shape = bd_shape_fn_broadcast,
    .gradient = add_gradient,
    .kernels = BD_BINARY_KERNEL(add, BD_NUMBERS BD_AND_COMPLEX),
    .doc = "Computes x + y.",
};

static void sub_gradient(bd_grad_ctx *c)
{
    if (bd_grad_pair_is_equal(c)) {
        c->input_grads[0] = c->output_grads[0];
        c->input_grads[1] = bd_b1(c->graph, "Neg", NULL, c->output_grads[0]);
        return;
    }
    bd_grad_pair p;
    bd_grad_pair_begin_static(c, &p);
    bd_grad_pair_x(c, &p, p.grad);
    bd_grad_pair_y(c, &p, bd_b1(c->graph, "Neg", NULL, p.grad));
}

BD_OP(Sub) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int16,int32,int64,int8,uint16,uint8}",
    .shape = bd_shape_fn_broadcast,
    .gradient = sub_gradient,
    .kernels = BD_BINARY_KERNEL(sub, BD_NUMBERS BD_AND_COMPLEX),
    .doc = "Computes x - y.",
};

static void mul_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    const braid_out x = c->op->inputs[0], y = c->op->inputs[1], grad = c->output_grads[0];
    const braid_dtype type = bd_dtype_base(braid_out_dtype(grad));
    if (bd_grad_pair_is_equal(c) && (type == BRAID_FLOAT || type == BRAID_INT32)) {
        c->input_grads[0] = bd_b2(g, "Mul", NULL, grad, y);
        c->input_grads[1] = bd_b2(g, "Mul", NULL, grad, x);
        return;
    }
    bd_grad_pair p;
    bd_grad_pair_begin_static(c, &p);
    bd_grad_pair_conj(&p);
    bd_grad_pair_x(c, &p, bd_b2(g, "Mul", NULL, p.grad, p.y));
    bd_grad_pair_y(c, &p, bd_b2(g, "Mul", NULL, p.x, p.grad));
}

BD_OP(Mul) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int16,int32,int64,int8,uint16,uint8}",
    .flags = BD_OP_COMMUTATIVE,
    .shape = bd_shape_fn_broadcast,
    .gradient = mul_gradient,
    .kernels = BD_BINARY_KERNEL(mul, BD_NUMBERS BD_AND_COMPLEX),
    .doc = "Computes x * y.",
};

// ---- Division ----

// d(x/y): grad / y for x and grad * (-x / y / y) for y, by nodes of type RealDiv with TensorFlow's names.
static void quotient_gradient(bd_grad_ctx *c, const char *name)
{
    braid_graph *g = c->graph;
    bd_grad_pair p;
    bd_grad_pair_begin(c, &p);
    bd_grad_pair_conj(&p);
    bd_grad_pair_x(c, &p, bd_b2(g, "RealDiv", name, p.grad, p.y));
    braid_out ratio = bd_b2(g, "RealDiv", name, bd_b1(g, "Neg", NULL, p.x), p.y);
    ratio = bd_b2(g, "RealDiv", name, ratio, p.y);
    bd_grad_pair_y(c, &p, bd_grad_mul(g, p.grad, ratio));
}

static void real_div_gradient(bd_grad_ctx *c)
{
    quotient_gradient(c, "RealDiv");
}

BD_OP(RealDiv) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int16,int32,int64,int8,uint16,uint8}",
    .shape = bd_shape_fn_broadcast,
    .gradient = real_div_gradient,
    .kernels = BD_BINARY_KERNEL(div, BD_FLOATS BD_AND_COMPLEX),
    .doc = "Computes x / y of real numbers.",
};

static void div_gradient(bd_grad_ctx *c)
{
    quotient_gradient(c, "truediv");
}

BD_OP(Div) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int16,int32,int64,int8,uint16,uint8}",
    .shape = bd_shape_fn_broadcast,
    .gradient = div_gradient,
    .kernels = BD_BINARY_KERNEL(div, BD_NUMBERS BD_AND_COMPLEX),
    .doc = "Computes x / y; of integers, rounded toward zero.",
};

static void no_gradient(bd_grad_ctx *c)
{
    (void)c;
}

BD_OP(FloorDiv) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int16,int32,int64,int8,uint16,uint8}",
    .shape = bd_shape_fn_broadcast,
    .gradient = no_gradient,
    .kernels = BD_BINARY_KERNEL(floor_div, BD_NUMBERS),
    .doc = "Computes x / y, rounded toward negative infinity.",
};

BD_OP(TruncateDiv) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int16,int32,int64,int8,uint16,uint8}",
    .shape = bd_shape_fn_broadcast,
    .gradient = no_gradient,
    .kernels = BD_BINARY_KERNEL(div, BD_INTEGERS),
    .doc = "Computes x / y of integers, rounded toward zero.",
};

// grad, and grad * -floor(x / y)
static void floor_mod_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    bd_grad_pair p;
    bd_grad_pair_begin(c, &p);
    braid_out quotient = bd_b2(g, "FloorDiv", NULL, p.x, p.y);
    bd_grad_pair_x(c, &p, p.grad);
    bd_grad_pair_y(c, &p, bd_grad_mul(g, p.grad, bd_b1(g, "Neg", NULL, quotient)));
}

BD_OP(FloorMod) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = "T:type{bfloat16,double,float,half,int32,int64}",
    .shape = bd_shape_fn_broadcast,
    .gradient = floor_mod_gradient,
    .kernels = BD_BINARY_KERNEL(floor_mod, BD_NUMBERS),
    .doc = "Computes the remainder of x / y that has the sign of y.",
};

BD_OP(Mod) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = "T:type{bfloat16,double,float,half,int32,int64}",
    .shape = bd_shape_fn_broadcast,
    .kernels = BD_BINARY_KERNEL(mod, BD_NUMBERS),
    .doc = "Computes the remainder of x / y that has the sign of x.",
};

BD_OP(TruncateMod) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = "T:type{bfloat16,double,float,half,int32,int64}",
    .shape = bd_shape_fn_broadcast,
    .kernels = BD_BINARY_KERNEL(mod, BD_NUMBERS),
    .doc = "Computes the remainder of x / y that has the sign of x.",
};

// ---- Maximum, Minimum ----

// The gradient flows to x where `selector` (x, y) holds, and to y elsewhere.
static void selection_gradient(bd_grad_ctx *c, const char *selector)
{
    braid_graph *g = c->graph;
    bd_grad_pair p;
    bd_grad_pair_shapes(c, &p);
    braid_out grad_shape = bd_b_shape(g, "Shape", p.grad);
    braid_out zeros = bd_b_zeros(g, grad_shape, bd_dtype_base(braid_out_dtype(p.grad)));
    braid_out mask = bd_b2(g, selector, NULL, p.x, p.y);
    bd_grad_pair_axes(&p);
    bd_grad_pair_x(c, &p, bd_b3(g, "Select", NULL, mask, p.grad, zeros));
    bd_grad_pair_y(c, &p, bd_b3(g, "Select", NULL, mask, zeros, p.grad));
}

static void maximum_gradient(bd_grad_ctx *c)
{
    selection_gradient(c, "GreaterEqual");
}

BD_OP(Maximum) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = "T:type{bfloat16,double,float,half,int32,int64}",
    .shape = bd_shape_fn_broadcast,
    .gradient = maximum_gradient,
    .kernels = BD_BINARY_KERNEL(max, BD_NUMBERS),
    .doc = "The greater of x and y.",
};

static void minimum_gradient(bd_grad_ctx *c)
{
    selection_gradient(c, "LessEqual");
}

BD_OP(Minimum) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = "T:type{bfloat16,double,float,half,int32,int64}",
    .shape = bd_shape_fn_broadcast,
    .gradient = minimum_gradient,
    .kernels = BD_BINARY_KERNEL(min, BD_NUMBERS),
    .doc = "The lesser of x and y.",
};

// ---- Pow, SquaredDifference ----

// For x: grad * y * x^(y-1). For y: grad * z * log(x), where log(x) is replaced by 0 unless x > 0 (complex
// numbers: unless x != 0); log takes 1 there, so that its own gradient is finite.
static void pow_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    bd_grad_pair p;
    bd_grad_pair_begin_static(c, &p);
    bd_grad_pair_conj(&p);
    braid_out left = bd_grad_mul(g, p.grad, p.y);
    braid_out power = bd_b2(g, "Pow", NULL, p.x, bd_grad_number_right(g, "Sub", "sub", p.y, 1));
    bd_grad_pair_x(c, &p, bd_grad_mul(g, left, power));
    braid_out z = bd_grad_conj(g, braid_output(c->op, 0));
    bool is_complex = bd_dtype_is_complex(bd_dtype_base(braid_out_dtype(p.x)));
    const char *has_log = is_complex ? "NotEqual" : "Greater";
    braid_out choice = bd_grad_number_right(g, has_log, has_log, p.x, 0);
    braid_out safe = bd_b3(g, "Select", NULL, choice, p.x, bd_grad_ones_like(g, p.x));
    braid_out log = bd_b1(g, "Log", NULL, safe);
    log = bd_b3(g, "Select", NULL, choice, log, bd_grad_zeros_like(g, p.x));
    braid_out right = bd_grad_mul(g, p.grad, z);
    bd_grad_pair_y(c, &p, bd_grad_mul(g, right, log));
}

BD_OP(Pow) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int32,int64}",
    .shape = bd_shape_fn_broadcast,
    .gradient = pow_gradient,
    .kernels = BD_BINARY_KERNEL(pow, BD_NUMBERS BD_AND_COMPLEX),
    .doc = "Computes x to the power of y.",
};

// For x: 2 * grad * (x - y). For y: the negative of that.
static void squared_difference_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    const braid_out x = c->op->inputs[0], y = c->op->inputs[1], arrived = c->output_grads[0];
    bd_grad_after_begin(g, arrived);
    braid_out two = bd_b_const_f(g, "scalar", bd_dtype_base(braid_out_dtype(arrived)), 2);
    braid_out twice = bd_b2(g, "Mul", NULL, two, arrived);
    braid_out grad = bd_grad_mul(g, twice, bd_b2(g, "Sub", "sub", x, y));
    bd_grad_after_end(g);
    if (bd_grad_pair_is_equal(c)) {
        c->input_grads[0] = grad;
        c->input_grads[1] = bd_b1(g, "Neg", NULL, grad);
        return;
    }
    bd_grad_pair p;
    bd_grad_pair_begin_static(c, &p);
    bd_grad_pair_x(c, &p, grad);
    bd_grad_pair_y(c, &p, grad);
    c->input_grads[1] = bd_b1(g, "Neg", NULL, c->input_grads[1]);
}

BD_OP(SquaredDifference) = {
    .signature = "(x: T, y: T) -> (z: T)",
    .attrs = "T:type{bfloat16,complex128,complex64,double,float,half,int32,int64}",
    .flags = BD_OP_COMMUTATIVE,
    .shape = bd_shape_fn_broadcast,
    .gradient = squared_difference_gradient,
    .kernels = BD_BINARY_KERNEL(squared_difference, BD_NUMBERS BD_AND_COMPLEX),
    .doc = "Computes (x - y)^2.",
};

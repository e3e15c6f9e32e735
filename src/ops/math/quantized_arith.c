// QuantizedAdd and QuantizedMul: sums and products of quantized numbers, broadcast, as qint32.
#include "base/interrupt.h"
#include "kernels/broadcast.h"
#include "kernels/simd.h"
#include "ops/common/quantized.h"

// ---- Operands ----

typedef struct operands {
    bd_quant_range x, y;
} operands;

static bool read_ranges(bd_op_ctx *c, operands *r)
{
    return bd_quant_input_wide_range(c, 2, "x", &r->x) && bd_quant_input_wide_range(c, 4, "y", &r->y);
}

// Output 0 is fn(x, y) of two tensors of int32, which end here.
static void combine(bd_op_ctx *c, bd_binary_op op, braid_tensor *x, braid_tensor *y)
{
    braid_shape shape;
    bd_broadcast b;
    if (!bd_shape_broadcast(&x->shape, &y->shape, &shape) ||
        !bd_broadcast_init(&b, x->shape.dims, x->shape.rank, y->shape.dims, y->shape.rank)) {
        char s[BD_SHAPE_STR_MAX], t[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Incompatible shapes: %s vs. %s", bd_shape_str(&x->shape, s),
                   bd_shape_str(&y->shape, t));
    } else {
        braid_tensor *z = bd_output(c, 0, BRAID_QINT32, &shape);
        if (z) bd_broadcast_run(&b, bd_kernels()->binary[op][BD_I32], x->data, y->data, 4, z->data, 4);
    }
    bd_tensor_fini(x);
    bd_tensor_fini(y);
}

static braid_code arith_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_fn_broadcast(c, st);
    return code ? code : bd_quant_shape_ranges(c, 2, 6, st);
}

// ---- QuantizedAdd ----

#define SUM_BITS 14 // TensorFlow's

static int32_t in_sum_range(braid_dtype dtype, int32_t value, bd_quant_range from, bd_quant_range to)
{
    return bd_quant_from_float(BRAID_QINT32, bd_quant_to_float(dtype, value, from), to);
}

// The numbers of an operand as integers of the range of the sum. As in TensorFlow a scalar is converted by
// itself, while those of a tensor lie on a line through what 0 and 1 become, whose slope is rounded to an
// integer.
static bool terms(bd_op_ctx *c, int i, bool is_scalar, bd_quant_range from, bd_quant_range to,
                  braid_tensor *out)
{
    const braid_tensor *x = bd_input(c, i);
    if (!bd_quant_ints(c, x, 0, out)) return false;
    int32_t *ints = bd_tensor_i32(out);
    if (is_scalar) {
        ints[0] = in_sum_range(x->dtype, ints[0], from, to);
        return true;
    }
    uint32_t zero = (uint32_t)in_sum_range(x->dtype, 0, from, to),
             slope = (uint32_t)in_sum_range(x->dtype, 1, from, to) - zero;
    for (int64_t k = 0; k < bd_tensor_count(out) && !bd_interrupted_at(k); k++)
        ints[k] = (int32_t)(zero + (uint32_t)ints[k] * slope);
    return true;
}

static void add_run(bd_op_ctx *c)
{
    operands r;
    if (!read_ranges(c, &r)) return;
    bd_quant_range sum = bd_quant_sum_range(r.x, r.y, SUM_BITS);
    braid_tensor x, y;
    bool scalar_x = bd_tensor_count(bd_input(c, 0)) == 1,
         scalar_y = !scalar_x && bd_tensor_count(bd_input(c, 1)) == 1;
    if (!bd_quant_output_range(c, 1, sum) || !terms(c, 0, scalar_x, r.x, sum, &x)) return;
    if (terms(c, 1, scalar_y, r.y, sum, &y)) {
        combine(c, BD_ADD, &x, &y);
    } else {
        bd_tensor_fini(&x);
    }
}

// ---- QuantizedMul ----

static void mul_run(bd_op_ctx *c)
{
    operands r;
    if (!read_ranges(c, &r)) return;
    const braid_tensor *a = bd_input(c, 0), *b = bd_input(c, 1);
    bd_quant_range product = bd_quant_product_range(a->dtype, r.x, b->dtype, r.y, BRAID_QINT32);
    braid_tensor x, y;
    if (!bd_quant_output_range(c, 1, product) || !bd_quant_ints(c, a, bd_quant_zero(a->dtype, r.x), &x))
        return;
    if (bd_quant_ints(c, b, bd_quant_zero(b->dtype, r.y), &y)) {
        combine(c, BD_MUL, &x, &y);
    } else {
        bd_tensor_fini(&x);
    }
}

#define ARITH_SIGNATURE                                                                                      \
    "(x: T1, y: T2, min_x: float, max_x: float, min_y: float, max_y: float) -> (z: Toutput, min_z: float, "  \
    "max_z: float)"
#define ARITH_ATTRS                                                                                          \
    "T1:type" BD_QUANT_TYPES "; T2:type" BD_QUANT_TYPES "; Toutput:type" BD_QUANT_TYPES "=qint32"
#define ARITH_KERNELS(RUN)                                                                                   \
    BD_KERNELS({.types = "T1=quint8|qint8; T2=quint8|qint8; Toutput=qint32",                                 \
                .flags = BD_KERNEL_EXPENSIVE,                                                                \
                .run = (RUN)})

BD_OP(QuantizedAdd) = {
    .signature = ARITH_SIGNATURE,
    .attrs = ARITH_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = arith_shape,
    .kernels = ARITH_KERNELS(add_run),
    .doc = "x + y of quantized numbers, broadcast.",
};

BD_OP(QuantizedMul) = {
    .signature = ARITH_SIGNATURE,
    .attrs = ARITH_ATTRS,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = arith_shape,
    .kernels = ARITH_KERNELS(mul_run),
    .doc = "x * y of quantized numbers, broadcast.",
};

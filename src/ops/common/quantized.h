// Quantized numbers: integers of 8, 16 or 32 bits that stand for the floats of a range. The least integer
// stands for the range's minimum, the greatest for its maximum (mode MIN_FIRST of QuantizeV2: 0 is
// represented exactly).
//
// The ops of quantized graphs pass a tensor of integers and the two ends of its range, scalars of float.
#ifndef BD_OPS_COMMON_QUANTIZED_H
#define BD_OPS_COMMON_QUANTIZED_H

#include "graph/shape_fn.h"
#include "op/kernel.h"

typedef struct bd_quant_range {
    float min, max;
} bd_quant_range;

// ---- Numbers ----

// The least and the greatest integer of a quantized type.
void bd_quant_limits(braid_dtype dtype, int64_t *lowest, int64_t *highest);

int32_t bd_quant_get(const braid_tensor *t, int64_t i);
void bd_quant_set(const braid_tensor *t, int64_t i, int32_t value);
// Elements [from, from + n) minus `offset`.
void bd_quant_get_many(const braid_tensor *t, int64_t from, int64_t n, int32_t offset, int32_t *out);

float bd_quant_to_float(braid_dtype dtype, int32_t value, bd_quant_range range);
// The nearest integer; outside of the range the nearest end of the type's integers.
int32_t bd_quant_from_float(braid_dtype dtype, float x, bd_quant_range range);
// The integer that stands for 0, also where it is none of the type's: products subtract it from operands.
// Wraps around where it does not fit 32 bits.
int32_t bd_quant_zero(braid_dtype dtype, bd_quant_range range);

// Makes *out, a tensor of int32, from the elements of `x` minus `offset`. False: the kernel has failed;
// else the caller ends it with bd_tensor_fini.
bool bd_quant_ints(bd_op_ctx *c, const braid_tensor *x, int32_t offset, braid_tensor *out);

// Converts all elements of `x` from one range to another, in float.
void bd_requantize(const braid_tensor *x, bd_quant_range from, const braid_tensor *y, bd_quant_range to);

// The range of products of two quantized numbers, summed as integers of type `out`.
bd_quant_range bd_quant_product_range(braid_dtype a, bd_quant_range of_a, braid_dtype b, bd_quant_range of_b,
                                      braid_dtype out);
// The range of sums as qint32: symmetric, 2^bits times the terms' greatest magnitude.
bd_quant_range bd_quant_sum_range(bd_quant_range a, bd_quant_range b, int bits);

// ---- Ops ----

// Reads a range from inputs `i` and `i + 1`. False: the kernel has failed.
bool bd_quant_input_range(bd_op_ctx *c, int i, bd_quant_range *range);
// The same of an op that wants the maximum to be the greater one; `name` is the operand's in messages.
bool bd_quant_input_wide_range(bd_op_ctx *c, int i, const char *name, bd_quant_range *range);
// Sets outputs `i` and `i + 1`. False: the kernel has failed.
bool bd_quant_output_range(bd_op_ctx *c, int i, bd_quant_range range);

// For shape functions: inputs [from, to) are scalars, and so are outputs 1 and 2.
braid_code bd_quant_shape_ranges(bd_shape_ctx *c, int from, int to, braid_status *st);
// Shape function: output 0 is like input 0, the other inputs and outputs are scalars.
braid_code bd_quant_unary_shape(bd_shape_ctx *c, braid_status *st);

#define BD_QUANT_TYPES "{qint16,qint32,qint8,quint16,quint8}"

#endif

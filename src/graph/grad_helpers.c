// Short forms over the builder that gradient functions are written in; gradients of rows.
#include "graph/grad.h"

#include "base/check.h"
#include <stdlib.h>
#include <string.h>

static braid_out add(braid_graph *g, const char *op, const char *name, const braid_out *inputs, int count)
{
    return braid_output(braid_op_add(g, op, name, inputs, count), 0);
}

braid_out bd_b1(braid_graph *g, const char *op, const char *name, braid_out a)
{
    return add(g, op, name, (braid_out[]){a}, 1);
}

braid_out bd_b2(braid_graph *g, const char *op, const char *name, braid_out a, braid_out b)
{
    return add(g, op, name, (braid_out[]){a, b}, 2);
}

braid_out bd_b3(braid_graph *g, const char *op, const char *name, braid_out a, braid_out b, braid_out c)
{
    return add(g, op, name, (braid_out[]){a, b, c}, 3);
}

braid_out bd_b_const(braid_graph *g, const char *name, const braid_tensor *value)
{
    braid_op_desc *d = braid_op_begin(g, "Const", name);
    braid_op_attr_type(d, "dtype", value->dtype);
    braid_op_attr_tensor(d, "value", value);
    return braid_op_end_out(d);
}

// Makes a Const of `value` and frees `value`.
static braid_out own_const(braid_graph *g, const char *name, braid_tensor *value)
{
    if (!value) {
        braid_graph_fail(g, BRAID_RESOURCE_EXHAUSTED, "No memory for the constant '%s'",
                         name ? name : "Const");
        return (braid_out){0};
    }
    braid_out out = bd_b_const(g, name, value);
    braid_tensor_free(value);
    return out;
}

braid_out bd_b_const_i32(braid_graph *g, const char *name, int32_t value)
{
    return own_const(g, name, braid_tensor_int32(value));
}

braid_out bd_b_const_i32_vector(braid_graph *g, const char *name, const int32_t *values, int count)
{
    return own_const(g, name, braid_tensor_from(BRAID_INT32, bd_shape1(count), values, NULL));
}

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// The bits of the half-precision float nearest to `value` (ties to even).
static uint16_t half_bits(double value)
{
    uint32_t x = float_bits((float)value);
    uint16_t sign = (uint16_t)(x >> 16 & 0x8000);
    x &= 0x7fffffff;
    if (x > 0x7f800000) return sign | 0x7e00;  // not a number
    if (x >= 0x477ff000) return sign | 0x7c00; // rounds to infinity
    if (x < 0x38800000) {                      // subnormal: the addition of 0.5 shifts and rounds
        float magnitude;
        memcpy(&magnitude, &x, sizeof magnitude);
        return (uint16_t)(sign | (float_bits(magnitude + 0.5f) - float_bits(0.5f)));
    }
    uint32_t odd = x >> 13 & 1;
    return (uint16_t)(sign | ((x - ((127 - 15) << 23) + 0xfff + odd) >> 13));
}

static uint16_t bfloat16_bits(double value)
{
    uint32_t bits = float_bits((float)value);
    return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static bool set_number(braid_tensor *t, double value)
{
    void *to = t->data;
    switch (t->dtype) {
    case BRAID_FLOAT: *(float *)to = (float)value; return true;
    case BRAID_DOUBLE: *(double *)to = value; return true;
    case BRAID_INT8: *(int8_t *)to = (int8_t)value; return true;
    case BRAID_UINT8: *(uint8_t *)to = (uint8_t)value; return true;
    case BRAID_INT16: *(int16_t *)to = (int16_t)value; return true;
    case BRAID_UINT16: *(uint16_t *)to = (uint16_t)value; return true;
    case BRAID_INT32: *(int32_t *)to = (int32_t)value; return true;
    case BRAID_UINT32: *(uint32_t *)to = (uint32_t)value; return true;
    case BRAID_INT64: *(int64_t *)to = (int64_t)value; return true;
    case BRAID_UINT64: *(uint64_t *)to = (uint64_t)value; return true;
    case BRAID_HALF: *(uint16_t *)to = half_bits(value); return true;
    case BRAID_BFLOAT16: *(uint16_t *)to = bfloat16_bits(value); return true;
    case BRAID_COMPLEX64: memcpy(to, (float[]){(float)value, 0}, 8); return true;
    case BRAID_COMPLEX128: memcpy(to, (double[]){value, 0}, 16); return true;
    default: return false;
    }
}

braid_out bd_b_const_f(braid_graph *g, const char *name, braid_dtype dtype, double value)
{
    dtype = bd_dtype_base(dtype);
    if (braid_graph_status(g, NULL)) return (braid_out){0}; // then the type may be invalid
    braid_tensor *t = braid_tensor_new(dtype, BD_SCALAR, NULL);
    if (t && !set_number(t, value)) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT, "A constant of type %s cannot be made from a number",
                         braid_dtype_name(dtype));
        braid_tensor_free(t);
        return (braid_out){0};
    }
    return own_const(g, name, t);
}

braid_out bd_b_const_zeros(braid_graph *g, const char *name, braid_dtype dtype, const braid_shape *shape)
{
    if (braid_graph_status(g, NULL)) return (braid_out){0};
    braid_tensor *t = braid_tensor_new(bd_dtype_base(dtype), *shape, NULL);
    if (t) memset(t->data, 0, bd_tensor_bytes(t));
    return own_const(g, name, t);
}

static braid_out fill_zeros(braid_graph *g, const char *scope, braid_out shape, braid_dtype dtype)
{
    const braid_out zero = bd_b_const_f(g, "Const", dtype, 0);
    return bd_b2(g, "Fill", scope, shape, zero);
}

braid_out bd_b_zeros(braid_graph *g, braid_out shape, braid_dtype dtype)
{
    const char *scope = braid_push_name_scope(g, "zeros");
    const braid_out out = fill_zeros(g, scope, shape, dtype);
    braid_pop_name_scope(g);
    return out;
}

braid_out bd_b_zeros_of(braid_graph *g, const braid_shape *shape, braid_dtype dtype)
{
    const int64_t small = 1000;
    if (bd_shape_count(shape) < small) return bd_b_const_zeros(g, "zeros", dtype, shape);
    const char *scope = braid_push_name_scope(g, "zeros");
    int32_t dims[BRAID_RANK_MAX];
    for (int d = 0; d < shape->rank; d++)
        dims[d] = (int32_t)shape->dims[d];
    const braid_out of = bd_b_const_i32_vector(g, "shape_as_tensor", dims, shape->rank);
    const braid_out out = fill_zeros(g, scope, of, dtype);
    braid_pop_name_scope(g);
    return out;
}

braid_out bd_b_shape(braid_graph *g, const char *name, braid_out x)
{
    if (!name) name = "Shape";
    braid_shape shape = braid_out_shape(x);
    if (!x.op || !bd_shape_is_known(&shape)) return bd_b1(g, "Shape", name, x);
    int32_t dims[BRAID_RANK_MAX];
    for (int d = 0; d < shape.rank; d++) {
        if (shape.dims[d] > INT32_MAX) return bd_b1(g, "Shape", name, x);
        dims[d] = (int32_t)shape.dims[d];
    }
    return bd_b_const_i32_vector(g, name, dims, shape.rank);
}

// ---- Gradients of rows ----

void bd_grad_pass(bd_grad_ctx *c, int to, int from)
{
    c->input_grads[to] = c->output_grads[from];
    c->input_rows[to] = c->output_rows[from];
}

braid_out bd_grad_part_of(braid_graph *g, braid_out vector, int32_t begin, int32_t end, const char *mask)
{
    const char *scope = braid_push_name_scope(g, "strided_slice");
    const braid_out stack = bd_b_const_i32_vector(g, "stack", &begin, 1);
    const braid_out stack_1 = bd_b_const_i32_vector(g, "stack_1", &end, 1);
    const braid_out stack_2 = bd_b_const_i32_vector(g, "stack_2", (int32_t[]){1}, 1);
    braid_op_desc *d = braid_op_begin(g, "StridedSlice", scope);
    braid_op_input(d, vector);
    braid_op_input(d, stack);
    braid_op_input(d, stack_1);
    braid_op_input(d, stack_2);
    braid_op_attr_int(d, mask, 1);
    const braid_out out = braid_op_end_out(d);
    braid_pop_name_scope(g);
    return out;
}

braid_out braid_gradient_to_dense(braid_graph *g, const braid_gradient *gradient)
{
    if (!gradient->values.op || !gradient->indices.op) return gradient->values;
    if (!gradient->dense_shape.op) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "The gradient '%s' of rows has no dense_shape, which its whole needs",
                         gradient->values.op->name);
        return (braid_out){0};
    }
    return bd_b3(g, "UnsortedSegmentSum", NULL, gradient->values, gradient->indices,
                 bd_grad_part_of(g, gradient->dense_shape, 0, 1, "shrink_axis_mask"));
}

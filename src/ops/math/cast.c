// Cast: conversion between element types.
#include "ops/math/cast.h"

#include "base/check.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "kernels/loops.h"
#include "op/kernel.h"

#include <math.h>
#include <string.h>

typedef struct cast_state {
    braid_dtype from, to;
    bool truncates;
    bd_cast_fn convert; // NULL: the types are equal, nothing is converted
} cast_state;

// Quantized types are converted as the integers that they hold.
static bool find_cast_type(braid_dtype dtype, bd_cast_type *type)
{
    switch (dtype) {
    case BRAID_FLOAT: *type = BD_CAST_F32; return true;
    case BRAID_DOUBLE: *type = BD_CAST_F64; return true;
    case BRAID_QINT8:
    case BRAID_INT8: *type = BD_CAST_I8; return true;
    case BRAID_QINT16:
    case BRAID_INT16: *type = BD_CAST_I16; return true;
    case BRAID_QINT32:
    case BRAID_INT32: *type = BD_CAST_I32; return true;
    case BRAID_INT64: *type = BD_CAST_I64; return true;
    case BRAID_QUINT8:
    case BRAID_UINT8: *type = BD_CAST_U8; return true;
    case BRAID_QUINT16:
    case BRAID_UINT16: *type = BD_CAST_U16; return true;
    case BRAID_UINT32: *type = BD_CAST_U32; return true;
    case BRAID_UINT64: *type = BD_CAST_U64; return true;
    case BRAID_BOOL: *type = BD_CAST_BOOL; return true;
    case BRAID_HALF: *type = BD_CAST_HALF; return true;
    case BRAID_BFLOAT16: *type = BD_CAST_BFLOAT16; return true;
    case BRAID_COMPLEX64: *type = BD_CAST_C64; return true;
    case BRAID_COMPLEX128: *type = BD_CAST_C128; return true;
    default: return false;
    }
}

bd_cast_type bd_cast_type_of(braid_dtype dtype)
{
    bd_cast_type type;
    bool is_known = find_cast_type(dtype, &type);
    BD_ASSERT(is_known);
    return type;
}

// ---- Attr Truncate: toward zero where the result has fewer bits ----

// The bits of the significand (for complex types, of one part); 0: not a floating type.
static int significand_bits(braid_dtype dtype)
{
    switch (dtype) {
    case BRAID_COMPLEX128:
    case BRAID_DOUBLE: return 53;
    case BRAID_COMPLEX64:
    case BRAID_FLOAT: return 24;
    case BRAID_HALF: return 11;
    case BRAID_BFLOAT16: return 8;
    default: return 0;
    }
}

// Clears the last `bits` bits of every number that is not NaN.
static void clear_bits_f32(void *numbers, int64_t n, int bits)
{
    for (int64_t i = 0; i < n; i++) {
        char *at = (char *)numbers + (size_t)i * sizeof(float);
        float x;
        uint32_t word;
        memcpy(&x, at, sizeof x);
        memcpy(&word, at, sizeof word);
        word &= UINT32_MAX << bits;
        if (!isnan(x)) memcpy(at, &word, sizeof word);
    }
}

static void clear_bits_f64(void *numbers, int64_t n, int bits)
{
    for (int64_t i = 0; i < n; i++) {
        char *at = (char *)numbers + (size_t)i * sizeof(double);
        double x;
        uint64_t word;
        memcpy(&x, at, sizeof x);
        memcpy(&word, at, sizeof word);
        word &= UINT64_MAX << bits;
        if (!isnan(x)) memcpy(at, &word, sizeof word);
    }
}

// The number of bits that attr Truncate clears in each number. TensorFlow truncates to bfloat16 from float
// only.
static int bits_to_clear(const cast_state *s)
{
    int from = significand_bits(s->from), to = significand_bits(s->to);
    if (!s->truncates || to == 0 || from < 24 || from <= to) return 0;
    return s->to == BRAID_BFLOAT16 && s->from != BRAID_FLOAT ? 0 : from - to;
}

// Copies the input piece by piece and truncates the copy, because the input may have other consumers.
static void cast_truncating(const cast_state *s, const braid_tensor *x, const braid_tensor *y)
{
    double piece[512]; // half as many complex numbers
    size_t from_size = braid_dtype_size(x->dtype), to_size = braid_dtype_size(y->dtype);
    bool is_double = significand_bits(x->dtype) == 53;
    int64_t room = (int64_t)(sizeof piece / from_size), n = bd_tensor_count(x);
    for (int64_t at = 0; at < n && !bd_interrupted(); at += room) {
        int64_t len = n - at < room ? n - at : room;
        size_t size = (size_t)len * from_size;
        memcpy(piece, (const char *)x->data + (size_t)at * from_size, size);
        if (is_double) {
            clear_bits_f64(piece, (int64_t)(size / sizeof(double)), bits_to_clear(s));
        } else {
            clear_bits_f32(piece, (int64_t)(size / sizeof(float)), bits_to_clear(s));
        }
        s->convert(piece, (char *)y->data + (size_t)at * to_size, len);
    }
}

// ---- Cast ----

static braid_code create_cast(const braid_op *node, void *state, braid_status *st)
{
    cast_state *s = state;
    bd_cast_type from, to;
    *s = (cast_state){.from = bd_dtype_base(bd_node_attr_type(node, "SrcT")),
                      .to = bd_dtype_base(bd_node_attr_type(node, "DstT")),
                      .truncates = bd_node_attr_bool(node, "Truncate")};
    if (s->from == s->to) return BRAID_OK;
    if (!find_cast_type(s->from, &from) || !find_cast_type(s->to, &to))
        return bd_fail(st, BRAID_UNIMPLEMENTED, "Cast %s to %s is not supported", braid_dtype_name(s->from),
                       braid_dtype_name(s->to));
    s->convert = bd_cast(from, to);
    return BRAID_OK;
}

static void cast_run(bd_op_ctx *c)
{
    const cast_state *s = c->state;
    const braid_tensor *x = bd_input(c, 0);
    if (!s->convert) {
        bd_output_set(c, 0, x);
        return;
    }
    braid_tensor *y = bd_output(c, 0, s->to, &x->shape);
    if (!y) return;
    if (bits_to_clear(s)) {
        cast_truncating(s, x, y);
    } else {
        bd_unary_blocks(s->convert, x->data, braid_dtype_size(x->dtype), y->data, braid_dtype_size(y->dtype),
                        bd_tensor_count(x));
    }
}

static bool is_real(braid_dtype t)
{
    return t == BRAID_FLOAT || t == BRAID_DOUBLE || t == BRAID_HALF || t == BRAID_BFLOAT16 ||
           t == BRAID_COMPLEX64 || t == BRAID_COMPLEX128;
}

// The gradient is cast back to the argument's type if both types are floating; else there is none.
static void cast_gradient(bd_grad_ctx *c)
{
    braid_out grad = c->output_grads[0];
    braid_dtype from = bd_dtype_base(braid_out_dtype(c->op->inputs[0])),
                to = bd_dtype_base(braid_out_dtype(grad));
    if (!is_real(from) || !is_real(to)) return;
    bd_grad_pass(c, 0, 0);
    if (from == to) return;
    braid_op_desc *d = braid_op_begin(c->graph, "Cast", NULL);
    braid_op_input(d, grad);
    braid_op_attr_type(d, "DstT", from);
    c->input_grads[0] = braid_op_end_out(d);
}

BD_OP(Cast) = {
    .signature = "(x: SrcT) -> (y: DstT)",
    .attrs = "SrcT:type; DstT:type; Truncate:bool=false",
    .flags = BD_OP_SPARSE_GRAD,
    .shape = bd_shape_fn_unchanged,
    .gradient = cast_gradient,
    .kernels = BD_KERNELS({.state_size = sizeof(cast_state), .create = create_cast, .run = cast_run}),
    .doc =
        "Converts elements to another type: to integers toward zero, to bool true unless 0. To shorter floating types it rounds to the nearest value, or with attr Truncate toward zero.",
};

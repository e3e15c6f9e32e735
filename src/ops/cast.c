// Cast: conversion between element types.
#include "ops/cast.h"

#include "base/check.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"

#define CAST_TYPES                                                                                           \
    "float|double|int8|int16|int32|int64|uint8|uint16|uint32|uint64|bool|half|bfloat16|complex64|complex128"

bd_cast_type bd_cast_type_of(braid_dtype dtype)
{
    switch (dtype) {
    case BRAID_FLOAT: return BD_CAST_F32;
    case BRAID_DOUBLE: return BD_CAST_F64;
    case BRAID_INT8: return BD_CAST_I8;
    case BRAID_INT16: return BD_CAST_I16;
    case BRAID_INT32: return BD_CAST_I32;
    case BRAID_INT64: return BD_CAST_I64;
    case BRAID_UINT8: return BD_CAST_U8;
    case BRAID_UINT16: return BD_CAST_U16;
    case BRAID_UINT32: return BD_CAST_U32;
    case BRAID_UINT64: return BD_CAST_U64;
    case BRAID_BOOL: return BD_CAST_BOOL;
    case BRAID_HALF: return BD_CAST_HALF;
    case BRAID_BFLOAT16: return BD_CAST_BFLOAT16;
    case BRAID_COMPLEX64: return BD_CAST_C64;
    case BRAID_COMPLEX128: return BD_CAST_C128;
    default: BD_UNREACHABLE();
    }
}

static void cast_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_dtype to = bd_node_attr_type(c->node, "DstT");
    if (to == x->dtype) {
        bd_output_set(c, 0, x);
        return;
    }
    braid_tensor *y = bd_output(c, 0, to, &x->shape);
    if (y) bd_cast(bd_cast_type_of(x->dtype), bd_cast_type_of(to))(x->data, y->data, bd_tensor_count(x));
}

static bool is_real(braid_dtype t)
{
    return t == BRAID_FLOAT || t == BRAID_DOUBLE || t == BRAID_HALF || t == BRAID_BFLOAT16 ||
           t == BRAID_COMPLEX64 || t == BRAID_COMPLEX128;
}

// Back to the argument's type, between floating types; none to or from integers.
static void cast_gradient(bd_grad_ctx *c)
{
    braid_out grad = c->output_grads[0];
    braid_dtype from = bd_dtype_base(braid_out_dtype(c->op->inputs[0])),
                to = bd_dtype_base(braid_out_dtype(grad));
    if (!is_real(from) || !is_real(to)) return;
    c->input_grads[0] = grad;
    if (from == to) return;
    braid_op_desc *d = braid_op_begin(c->graph, "Cast", NULL);
    braid_op_input(d, grad);
    braid_op_attr_type(d, "DstT", from);
    c->input_grads[0] = braid_op_end_out(d);
}

BD_OP(Cast) = {
    .signature = "(x: SrcT) -> (y: DstT)",
    .attrs = "SrcT:type; DstT:type; Truncate:bool=false",
    .shape = bd_shape_fn_unchanged,
    .gradient = cast_gradient,
    .kernels = BD_KERNELS({.types = "SrcT=" CAST_TYPES "; DstT=" CAST_TYPES, .run = cast_run}),
    .doc = "Converts elements to another type: toward zero to integers, and not 0 is true.",
};

// ParseTensor and SerializeTensor: tensors as strings that hold a TensorProto.
#include "graph/shape_fn.h"
#include "ops/common/string_out.h"
#include "tensor/tensor_list.h"
#include "tensor/tensor_proto.h"

// The number of bytes that an error shows of a malformed string.
#define SHOWN_BYTES 1024

static void parse_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    const braid_tensor *x = bd_input(c, 0);
    braid_dtype want = bd_node_attr_type(c->node, "out_type");
    braid_tensor t;
    if (x->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected `serialized` to be a scalar, got shape: %s",
                   bd_shape_str(&x->shape, (char[BD_SHAPE_STR_MAX]){0}));
        return;
    }
    const bd_string *s = bd_tensor_str(x);
    if (bd_tensor_proto_parse(s->data ? s->data : "", s->len, &t, st)) {
        bd_op_fail(c, st->code, "Could not parse `serialized` as TensorProto: '%.*s': %s",
                   (int)bd_min((int64_t)s->len, SHOWN_BYTES), s->data ? s->data : "", st->message);
        return;
    }
    if (t.dtype == want)
        bd_output_set(c, 0, &t);
    else
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Type mismatch between parsed tensor (%s) and dtype (%s)",
                   braid_dtype_name(t.dtype), braid_dtype_name(want));
    bd_tensor_fini(&t);
}

static braid_code parse_shape(bd_shape_ctx *c, braid_status *st)
{
    c->outputs[0] = BD_SHAPE_UNKNOWN;
    return bd_shape_ctx_rank(c, 0, 0, st);
}

BD_OP(ParseTensor) = {
    .signature = "(serialized: string) -> (output: out_type)",
    .attrs = "out_type:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = parse_shape,
    .kernels = BD_KERNELS({.run = parse_run}),
    .doc = "The tensor that a serialized TensorProto holds.",
};

static void serialize_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    for (int64_t i = 0; x->dtype == BRAID_VARIANT && i < bd_tensor_count(x); i++) {
        bd_variant *v = bd_tensor_variant(x)[i];
        if (!v || bd_tensor_list_of(v)) continue;
        bd_op_fail(c, BRAID_UNIMPLEMENTED, "A value of type %s cannot be serialized", v->type->name);
        return;
    }
    braid_tensor *y = bd_output(c, 0, BRAID_STRING, &BD_SCALAR);
    if (y) bd_string_put_tensor(c, y, 0, bd_input(c, 0));
}

BD_OP(SerializeTensor) = {
    .signature = "(tensor: T) -> (serialized: string)",
    .attrs = "T:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = serialize_run}),
    .doc = "A tensor as a serialized TensorProto.",
};

// Bitcast: the same bits read as elements of another type.
#include "graph/shape_fn.h"
#include "op/kernel.h"

// The shape of a tensor of shape `in` and elements of `from` bytes, read as elements of `to` bytes: a last
// dimension is added or removed. Returns false and sets the required size of the last dimension when the
// sizes do not match.
static bool cast_shape(const braid_shape *in, size_t from, size_t to, braid_shape *out, int64_t *needed)
{
    *out = *in;
    *needed = (int64_t)(to > from ? to / from : from / to);
    if (from == to || in->rank < 0) return true;
    if (from > to) {
        if (in->rank == BRAID_RANK_MAX) return false;
        out->dims[out->rank++] = *needed;
        return true;
    }
    if (in->rank == 0 || (in->dims[in->rank - 1] >= 0 && in->dims[in->rank - 1] != *needed)) return false;
    out->rank--;
    return true;
}

static braid_code bitcast_shape(bd_shape_ctx *c, braid_status *st)
{
    size_t from = braid_dtype_size(bd_node_attr_type(c->node, "T")),
           to = braid_dtype_size(bd_node_attr_type(c->node, "type"));
    braid_shape out;
    int64_t needed;
    if (!cast_shape(&c->inputs[0], from, to, &out, &needed))
        return bd_shape_ctx_fail(c, st, "Cannot bitcast due to shape: the last dimension must be %lld",
                                 (long long)needed);
    c->outputs[0] = out;
    return BRAID_OK;
}

static void bitcast_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_dtype type = c->node->output_types[0];
    braid_tensor y;
    braid_shape shape;
    int64_t needed;
    if (!cast_shape(&x->shape, braid_dtype_size(x->dtype), braid_dtype_size(type), &shape, &needed)) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Cannot bitcast from %s to %s: shape %s: the last dimension must be %lld",
                   braid_dtype_name(x->dtype), braid_dtype_name(type), bd_shape_str(&x->shape, text),
                   (long long)needed);
        return;
    }
    bd_tensor_ref(&y, x);
    y.dtype = type;
    y.shape = shape;
    bd_output_set(c, 0, &y);
    bd_tensor_fini(&y);
}

#define BITCAST_TYPES                                                                                        \
    "{bfloat16,complex128,complex64,double,float,half,int16,int32,int64,int8,qint16,qint32,qint8,quint16,"   \
    "quint8,uint16,uint32,uint64,uint8}"

BD_OP(Bitcast) = {
    .signature = "(input: T) -> (output: type)",
    .attrs = "T:type" BITCAST_TYPES "; type:type" BITCAST_TYPES,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bitcast_shape,
    .kernels = BD_KERNELS({.run = bitcast_run}),
    .doc =
        "The same bits as elements of another type; a narrower type adds a dimension, a wider type removes the last one.",
};

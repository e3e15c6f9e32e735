// Ops on shapes: Shape, Size, Rank, and ops that give the same elements another shape.
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/grad_steps.h"
#include "ops/common/quantized.h"

// ---- Shape, ShapeN, Size, Rank ----

static braid_code shape_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    for (int i = 0; i < c->input_count; i++)
        c->outputs[i] = bd_shape1(c->inputs[i].rank); // -1: unknown length
    return BRAID_OK;
}

// Stores an integer as element `i` of an int32 or int64 tensor. False when an int32 cannot hold it.
static bool put_int(braid_tensor *t, int64_t i, int64_t value)
{
    if (t->dtype == BRAID_INT64) {
        bd_tensor_i64(t)[i] = value;
        return true;
    }
    bd_tensor_i32(t)[i] = (int32_t)value;
    return value <= INT32_MAX;
}

static void shape_run(bd_op_ctx *c)
{
    for (int i = 0; i < c->input_count; i++) {
        const braid_shape *s = &bd_input(c, i)->shape;
        braid_shape vector = bd_shape1(s->rank);
        braid_tensor *y = bd_output(c, i, c->node->output_types[i], &vector);
        if (!y) return;
        for (int d = 0; d < s->rank; d++) {
            if (put_int(y, d, s->dims[d])) continue;
            if (bd_node_attr(c->node, "N"))
                bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                           "ShapeN output type is 32-bit but shape %d dim %d is %lld", i, d,
                           (long long)s->dims[d]);
            else
                bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Shape output type is 32-bit  but dim %d is %lld", d,
                           (long long)s->dims[d]);
            return;
        }
    }
}

BD_OP(Shape) = {
    .signature = "(input: T) -> (output: out_type)",
    .attrs = "T:type; out_type:type{int32,int64}=int32",
    .role = BD_ROLE_METADATA,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = shape_shape,
    .kernels = BD_KERNELS({.run = shape_run}),
    .doc = "The shape of a tensor, as a vector.",
};

BD_OP(ShapeN) = {
    .signature = "(input: N*T) -> (output: N*out_type)",
    .attrs = "N:int>=1; T:type; out_type:type{int32,int64}=int32",
    .role = BD_ROLE_METADATA,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = shape_shape,
    .kernels = BD_KERNELS({.run = shape_run}),
    .doc = "The shapes of several tensors.",
};

static void size_run(bd_op_ctx *c)
{
    int64_t count = bd_tensor_count(bd_input(c, 0));
    braid_tensor *y = bd_output(c, 0, c->node->output_types[0], &BD_SCALAR);
    if (y && !put_int(y, 0, count)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Number of elements was larger than representable by 32-bit output type");
    }
}

BD_OP(Size) = {
    .signature = "(input: T) -> (output: out_type)",
    .attrs = "T:type; out_type:type{int32,int64}=int32",
    .role = BD_ROLE_METADATA,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = size_run}),
    .doc = "The number of elements of a tensor.",
};

static void rank_run(bd_op_ctx *c)
{
    braid_tensor *y = bd_output(c, 0, BRAID_INT32, &BD_SCALAR);
    if (y) bd_tensor_i32(y)[0] = bd_input(c, 0)->shape.rank;
}

BD_OP(Rank) = {
    .signature = "(input: T) -> (output: int32)",
    .attrs = "T:type",
    .role = BD_ROLE_METADATA,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_scalar,
    .kernels = BD_KERNELS({.run = rank_run}),
    .doc = "The number of dimensions of a tensor.",
};

// ---- Reshape ----

// Output 0: the elements of input 0 in another shape, without a copy.
static void output_reshaped(bd_op_ctx *c, const braid_shape *shape)
{
    braid_tensor t;
    bd_tensor_reshape(&t, bd_input(c, 0), shape);
    bd_output_set(c, 0, &t);
    bd_tensor_fini(&t);
}

static braid_code reshape_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape out, in = c->inputs[0];
    if (!bd_shape_ctx_constant_shape(c, 1, &out)) {
        if (c->inputs[1].rank == 1 && c->inputs[1].dims[0] >= 0 && c->inputs[1].dims[0] <= BRAID_RANK_MAX) {
            out = (braid_shape){.rank = (int)c->inputs[1].dims[0]};
            for (int i = 0; i < out.rank; i++)
                out.dims[i] = -1;
            c->outputs[0] = out;
        }
        return bd_shape_ctx_rank(c, 1, 1, st);
    }
    if (out.rank < 0 || !bd_shape_is_known(&in)) {
        c->outputs[0] = out;
        return BRAID_OK;
    }
    int64_t have = bd_shape_count(&in), known = 1;
    int unknown = -1, unknown_count = 0;
    for (int i = 0; i < out.rank; i++) {
        if (out.dims[i] < 0) {
            unknown = i;
            unknown_count++;
        } else if (__builtin_mul_overflow(known, out.dims[i], &known)) {
            return bd_shape_ctx_fail(c, st,
                                     "Cannot reshape a tensor with %lld elements: the new shape is too large",
                                     (long long)have);
        }
    }
    char text[BD_SHAPE_STR_MAX];
    if (unknown_count == 0 && known != have) {
        return bd_shape_ctx_fail(c, st,
                                 "Cannot reshape a tensor with %lld elements to shape %s (%lld elements)",
                                 (long long)have, bd_shape_str(&out, text), (long long)known);
    }
    if (unknown_count == 1 && known > 0) {
        if (have % known) {
            return bd_shape_ctx_fail(
                c, st, "Dimension size must be evenly divisible by %lld but is %lld: cannot reshape to %s",
                (long long)known, (long long)have, bd_shape_str(&out, text));
        }
        out.dims[unknown] = have / known;
    }
    c->outputs[0] = out;
    return BRAID_OK;
}

// Reads input 1 as a shape. *product is the product of its sizes without zeros; *unknown is the index of the
// size -1, which does not count, or -1.
static bool read_sizes(bd_op_ctx *c, braid_shape *shape, int64_t *product, int *unknown, bool *has_zero)
{
    const braid_tensor *sizes = bd_input(c, 1);
    char text[BD_SHAPE_STR_MAX];
    if (sizes->shape.rank != 1 || sizes->shape.dims[0] > BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "sizes input must be 1-D with at most %d elements, not shape %s", BRAID_RANK_MAX,
                   bd_shape_str(&sizes->shape, text));
        return false;
    }
    shape->rank = (int)sizes->shape.dims[0];
    *unknown = -1;
    *product = 1;
    *has_zero = false;
    for (int d = 0; d < shape->rank; d++) {
        int64_t size = shape->dims[d] = bd_tensor_index(sizes, d);
        if (size == 0) *has_zero = true;
        if (size == -1 && *unknown < 0) {
            *unknown = d;
        } else if (size == -1) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "only one input size may be -1, not both %d and %d",
                       *unknown, d);
        } else if (size < 0) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "size %d must be non-negative, not %lld", d,
                       (long long)size);
        } else if (size > 0 && __builtin_mul_overflow(*product, size, product)) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "the requested shape has too many elements");
        }
        if (bd_op_failed(c)) return false;
    }
    return true;
}

// The missing size next to sizes of product `product`. If one of these is 0, zeros are left out on both
// sides, so that [0, 6] can become [0, -1, 3].
static int64_t missing_size(bd_op_ctx *c, int64_t product, bool has_zero)
{
    const braid_shape *x = &bd_input(c, 0)->shape;
    int64_t count = 1;
    bool left_out = false;
    for (int d = 0; d < x->rank; d++) {
        if (x->dims[d] == 0 && has_zero) {
            left_out = true;
        } else if (__builtin_mul_overflow(count, x->dims[d], &count)) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "the sizes of the tensor to reshape are too large");
            return 0;
        }
    }
    if (!left_out && count % product)
        bd_op_fail(
            c, BRAID_INVALID_ARGUMENT,
            "Input to reshape is a tensor with %lld values, but the requested shape requires a multiple of %lld",
            (long long)count, (long long)product);
    return count / product;
}

// Reads input 1 as the new shape of input 0 and replaces a -1.
static bool read_new_shape(bd_op_ctx *c, braid_shape *shape)
{
    int unknown;
    int64_t product, count = bd_tensor_count(bd_input(c, 0)), total;
    bool has_zero;
    if (!read_sizes(c, shape, &product, &unknown, &has_zero)) return false;
    if (unknown >= 0) shape->dims[unknown] = missing_size(c, product, has_zero);
    if (bd_op_failed(c)) return false;
    total = has_zero ? 0 : unknown >= 0 ? product * shape->dims[unknown] : product;
    if (total != count)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Input to reshape is a tensor with %lld values, but the requested shape has %lld",
                   (long long)count, (long long)total);
    return !bd_op_failed(c);
}

static void reshape_run(bd_op_ctx *c)
{
    braid_shape shape;
    if (read_new_shape(c, &shape)) output_reshaped(c, &shape);
}

static void reshape_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = bd_grad_reshape_like(c->graph, c->output_grads[0], braid_op_get_input(c->op, 0));
}

BD_OP(Reshape) = {
    .signature = "(tensor: T, shape: Tshape) -> (output: T)",
    .attrs = "T:type; Tshape:type{int32,int64}=int32",
    .shape = reshape_shape,
    .gradient = reshape_gradient,
    .kernels = BD_KERNELS({.run = reshape_run}),
    .doc =
        "The same elements in another shape, without a copy; one size may be -1 and follows from the others.",
};

// ---- QuantizedReshape ----

static braid_code quantized_reshape_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = reshape_shape(c, st);
    return code ? code : bd_quant_shape_ranges(c, 2, 4, st);
}

static void quantized_reshape_run(bd_op_ctx *c)
{
    bd_quant_range range;
    if (bd_quant_input_range(c, 2, &range) && bd_quant_output_range(c, 1, range)) reshape_run(c);
}

BD_OP(QuantizedReshape) = {
    .signature =
        "(tensor: T, shape: Tshape, input_min: float, input_max: float) -> (output: T, output_min: float, "
        "output_max: float)",
    .attrs = "T:type; Tshape:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = quantized_reshape_shape,
    .kernels = BD_KERNELS({.run = quantized_reshape_run}),
    .doc = "Reshape of quantized numbers, whose range stays.",
};

// ---- ExpandDims ----

static void insert_dim(braid_shape *s, int64_t axis)
{
    for (int d = s->rank; d > axis; d--)
        s->dims[d] = s->dims[d - 1];
    s->dims[axis] = 1;
    s->rank++;
}

static braid_code expand_dims_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t axis;
    braid_shape s = c->inputs[0];
    const braid_tensor *dim = bd_shape_ctx_constant(c, 1);
    if (dim && bd_tensor_count(dim) != 1)
        return bd_shape_ctx_fail(c, st, "'dim' input must be a tensor with a single value");
    if (s.rank < 0) return BRAID_OK;
    if (s.rank == BRAID_RANK_MAX)
        return bd_shape_ctx_fail(c, st, "ExpandDims: more than %d dimensions", BRAID_RANK_MAX);
    if (!bd_shape_ctx_constant_int(c, 1, &axis)) {
        for (int d = 0; d <= s.rank; d++)
            s.dims[d] = -1;
        s.rank++;
        c->outputs[0] = s;
        return BRAID_OK;
    }
    braid_code code = bd_shape_ctx_axis(c, s.rank + 1, &axis, st);
    if (code) return code;
    insert_dim(&s, axis);
    c->outputs[0] = s;
    return BRAID_OK;
}

static void expand_dims_run(bd_op_ctx *c)
{
    braid_shape s = bd_input(c, 0)->shape;
    int64_t axis;
    if (bd_tensor_count(bd_input(c, 1)) != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "'dim' must be a tensor with a single value");
        return;
    }
    axis = bd_tensor_index(bd_input(c, 1), 0);
    if (axis < -s.rank - 1 || axis > s.rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Tried to expand dim index %lld for tensor with %d dimensions.",
                   (long long)axis, s.rank);
        return;
    }
    if (s.rank == BRAID_RANK_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "ExpandDims: more than %d dimensions", BRAID_RANK_MAX);
        return;
    }
    insert_dim(&s, axis < 0 ? axis + s.rank + 1 : axis);
    output_reshaped(c, &s);
}

BD_OP(ExpandDims) = {
    .signature = "(input: T, dim: Tdim) -> (output: T)",
    .attrs = "T:type; Tdim:type{int32,int64}=int32",
    .shape = expand_dims_shape,
    .gradient = reshape_gradient,
    .kernels = BD_KERNELS({.run = expand_dims_run}),
    .doc = "Inserts a dimension of size 1 before axis `dim`; a negative axis counts from the end.",
};

// ---- Squeeze ----

// Reads attr squeeze_dims as a bit set of axes of a tensor of rank `rank`; 0 when the attr is empty. False
// when an axis is out of range; *bad is that axis.
static bool squeeze_axes(const braid_op *node, int rank, unsigned *axes, int64_t *bad)
{
    const bd_attr *dims = bd_node_attr(node, "squeeze_dims");
    *axes = 0;
    for (int i = 0; dims && i < dims->list.count; i++) {
        int64_t axis = dims->list.i[i];
        if (axis < -rank || axis >= rank) {
            *bad = axis;
            return false;
        }
        *axes |= 1u << (axis < 0 ? axis + rank : axis);
    }
    return true;
}

static braid_code squeeze_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape in = c->inputs[0], out = {.rank = 0};
    unsigned axes;
    int64_t bad;
    if (in.rank < 0) return BRAID_OK;
    if (!squeeze_axes(c->node, in.rank, &axes, &bad)) {
        return bd_shape_ctx_fail(c, st, "Tried to squeeze dim index %lld for tensor with %d dimensions",
                                 (long long)bad, in.rank);
    }
    for (int d = 0; d < in.rank; d++) {
        // removed only if it is 1, so the output's rank is unknown
        if (axes == 0 && in.dims[d] < 0) return BRAID_OK;
        bool goes = axes ? axes >> d & 1 : in.dims[d] == 1;
        if (!goes) {
            out.dims[out.rank++] = in.dims[d];
        } else if (in.dims[d] >= 0 && in.dims[d] != 1) {
            return bd_shape_ctx_fail(c, st, "Can not squeeze dim[%d], expected a dimension of 1, got %lld", d,
                                     (long long)in.dims[d]);
        }
    }
    c->outputs[0] = out;
    return BRAID_OK;
}

static void squeeze_run(bd_op_ctx *c)
{
    const braid_shape *in = &bd_input(c, 0)->shape;
    braid_shape out = {.rank = 0};
    unsigned axes;
    int64_t bad;
    if (!squeeze_axes(c->node, in->rank, &axes, &bad)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Tried to squeeze dim index %lld for tensor with %d dimensions.", (long long)bad,
                   in->rank);
        return;
    }
    for (int d = 0; d < in->rank; d++) {
        bool goes = axes ? axes >> d & 1 : in->dims[d] == 1;
        if (!goes) {
            out.dims[out.rank++] = in->dims[d];
        } else if (in->dims[d] != 1) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Can not squeeze dim[%d], expected a dimension of 1, got %lld", d,
                       (long long)in->dims[d]);
            return;
        }
    }
    output_reshaped(c, &out);
}

static void squeeze_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = bd_grad_reshape_like(c->graph, c->output_grads[0], braid_op_get_input(c->op, 0));
}

BD_OP(Squeeze) = {
    .signature = "(input: T) -> (output: T)",
    .attrs = "T:type; squeeze_dims:list(int)>=0=[]",
    .shape = squeeze_shape,
    .gradient = squeeze_gradient,
    .kernels = BD_KERNELS({.run = squeeze_run}),
    .doc = "Removes the dimensions of size 1, or only the ones in attr `squeeze_dims`.",
};

// Sources of values: constants, placeholders, and tensors filled with one value.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/grad_steps.h"
#include "ops/tensor_array/tensor_list_math.h"

#include <string.h>

// ---- Const ----

static braid_code const_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = bd_node_attr_tensor(c->node, "value")->shape;
    return BRAID_OK;
}

typedef struct const_state {
    braid_tensor value; // a second reference, so that no consumer overwrites the constant
} const_state;

static braid_code const_create(const braid_op *node, void *state, braid_status *st)
{
    const braid_tensor *value = bd_node_attr_tensor(node, "value");
    braid_dtype dtype = bd_node_attr_type(node, "dtype");
    if (value->dtype != dtype) {
        return bd_fail(st, BRAID_INVALID_ARGUMENT, "%s '%s': Type mismatch between value (%s) and dtype (%s)",
                       node->op_type, node->name, braid_dtype_name(value->dtype), braid_dtype_name(dtype));
    }
    bd_tensor_ref(&((const_state *)state)->value, value);
    return BRAID_OK;
}

static void const_destroy(void *state)
{
    bd_tensor_fini(&((const_state *)state)->value);
}

static void const_run(bd_op_ctx *c)
{
    bd_output_set(c, 0, &((const_state *)c->state)->value);
}

BD_OP(Const) = {
    .signature = "() -> (output: dtype)",
    .attrs = "value:tensor; dtype:type",
    .role = BD_ROLE_CONST,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = const_shape,
    .kernels = BD_KERNELS({.state_size = sizeof(const_state),
                           .create = const_create,
                           .destroy = const_destroy,
                           .run = const_run}),
    .doc = "Outputs the tensor in attr `value`.",
};

BD_OP(HostConst) = {
    .signature = "() -> (output: dtype)",
    .attrs = "value:tensor; dtype:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = const_shape,
    .kernels = BD_KERNELS({.state_size = sizeof(const_state),
                           .create = const_create,
                           .destroy = const_destroy,
                           .run = const_run}),
    .doc = "Const in host memory; on the CPU the same as Const.",
};

// ---- Placeholders ----

// The last GraphDef version in which an empty shape attr of a placeholder meant "unknown shape" as well as
// "scalar".
#define LAST_PRODUCER_WITH_LEGACY_SHAPE 21

static braid_code placeholder_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    braid_shape shape = bd_node_attr_shape(c->node, "shape");
    int producer = c->node->graph ? c->node->graph->producer : 0;
    if (shape.rank == 0 && producer > 0 && producer <= LAST_PRODUCER_WITH_LEGACY_SHAPE)
        shape = BD_SHAPE_UNKNOWN;
    c->outputs[0] = shape;
    return BRAID_OK;
}

static void placeholder_run(bd_op_ctx *c)
{
    braid_shape shape = bd_node_attr_shape(c->node, "shape");
    const char *dtype = braid_dtype_name(bd_node_attr_type(c->node, "dtype"));
    if (shape.rank > 0) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "You must feed a value for placeholder tensor '%s' with dtype %s and shape %s",
                   c->node->name, dtype, bd_shape_str(&shape, text));
    } else {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "You must feed a value for placeholder tensor '%s' with dtype %s", c->node->name, dtype);
    }
}

BD_OP(Placeholder) = {
    .signature = "() -> (output: dtype)",
    .attrs = "dtype:type; shape:shape=?",
    .role = BD_ROLE_PLACEHOLDER,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = placeholder_shape,
    .kernels = BD_KERNELS({.run = placeholder_run}),
    .doc = "A tensor that each run must feed; running it without a feed is an error.",
};

BD_OP(PlaceholderV2) = {
    .signature = "() -> (output: dtype)",
    .attrs = "dtype:type; shape:shape",
    .role = BD_ROLE_PLACEHOLDER,
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_from_attr,
    .kernels = BD_KERNELS({.run = placeholder_run}),
    .doc = "A tensor of a given shape that each run must feed; deprecated, see Placeholder.",
};

static braid_code placeholder_with_default_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape shape = bd_node_attr_shape(c->node, "shape"), merged;
    if (!bd_shape_merge(&c->inputs[0], &shape, &merged)) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        return bd_shape_ctx_fail(c, st, "The default's shape %s does not fit the placeholder's shape %s",
                                 bd_shape_str(&c->inputs[0], a), bd_shape_str(&shape, b));
    }
    // A fed tensor must only be compatible with attr `shape`.
    c->outputs[0] = shape;
    return BRAID_OK;
}

static void forward_run(bd_op_ctx *c)
{
    bd_output_set(c, 0, bd_input(c, 0));
}

static void pass_gradient(bd_grad_ctx *c)
{
    c->input_grads[0] = c->output_grads[0];
}

BD_OP(PlaceholderWithDefault) = {
    .signature = "(input: dtype) -> (output: dtype)",
    .attrs = "dtype:type; shape:shape",
    .flags = BD_OP_MAY_BE_FED,
    .shape = placeholder_with_default_shape,
    .gradient = pass_gradient,
    .kernels = BD_KERNELS({.run = forward_run}),
    .doc = "Passes its input through unless a run feeds its output.",
};

// ---- ZerosLike, OnesLike, Fill ----

static void zeros_like_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    size_t size = braid_dtype_size(x->dtype);
    braid_tensor *y = bd_output(c, 0, x->dtype, &x->shape); // new strings and handles are empty already
    if (y && size) memset(y->data, 0, (size_t)bd_tensor_count(y) * size);
}

BD_OP(ZerosLike) = {
    .signature = "(x: T) -> (y: T)",
    .attrs = "T:type",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.types = "T=variant", .run = bd_variant_zeros_like}, {.run = zeros_like_run}),
    .doc = "Zeros (or empty strings) in the shape of the input; for a TensorList, a list of zeros.",
};

// Writes the value 1 of a numeric type; false for other types.
static bool write_one(braid_dtype dtype, void *to)
{
    switch (dtype) {
    case BRAID_FLOAT: *(float *)to = 1; return true;
    case BRAID_DOUBLE: *(double *)to = 1; return true;
    // sign 0, biased exponent 15 (bias 15), mantissa 0
    case BRAID_HALF: *(uint16_t *)to = 0x3c00; return true;
    case BRAID_BFLOAT16: *(uint16_t *)to = 0x3f80; return true; // the upper half of 1.0f
    case BRAID_INT8:
    case BRAID_UINT8:
    case BRAID_BOOL: *(uint8_t *)to = 1; return true;
    case BRAID_INT16:
    case BRAID_UINT16: *(uint16_t *)to = 1; return true;
    case BRAID_INT32: *(int32_t *)to = 1; return true;
    case BRAID_INT64: *(int64_t *)to = 1; return true;
    case BRAID_COMPLEX64: memcpy(to, (float[2]){1, 0}, sizeof(float[2])); return true;
    case BRAID_COMPLEX128: memcpy(to, (double[2]){1, 0}, sizeof(double[2])); return true;
    default: return false;
    }
}

// Repeats the element at `value` over `count` elements, doubling the filled part in each step.
static void fill_plain(void *to, const void *value, size_t size, int64_t count)
{
    size_t total = (size_t)count * size, done = size;
    if (count == 0) return;
    memcpy(to, value, size);
    while (done < total && !bd_interrupted()) {
        // Copying a piece that stays in the cache is faster than doubling further.
        size_t part = done < 16384 ? done : 16384 / size * size;
        if (part > total - done) part = total - done;
        memcpy((char *)to + done, to, part);
        done += part;
    }
}

static void ones_like_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    _Alignas(16) unsigned char one[16];
    if (!write_one(x->dtype, one)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "OnesLike '%s': there is no 1 of type %s", c->node->name,
                   braid_dtype_name(x->dtype));
        return;
    }
    braid_tensor *y = bd_output(c, 0, x->dtype, &x->shape);
    if (y) fill_plain(y->data, one, braid_dtype_size(y->dtype), bd_tensor_count(y));
}

BD_OP(OnesLike) = {
    .signature = "(x: T) -> (y: T)",
    .attrs =
        "T:type{bfloat16,bool,complex128,complex64,double,float,half,int16,int32,int64,int8,uint16,uint8}",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.run = ones_like_run}),
    .doc = "Ones in the shape of the input.",
};

static braid_code fill_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 1, st);
    if (code) return code;
    code = bd_shape_ctx_rank(c, 1, 0, st);
    const braid_tensor *dims = bd_shape_ctx_constant(c, 0);
    for (int64_t i = 0; !code && dims && i < bd_tensor_count(dims); i++) {
        if (bd_tensor_index(dims, i) < 0) code = bd_shape_ctx_fail(c, st, "Fill dimensions must be >= 0");
    }
    return code ? code : bd_shape_fn_from_input0(c, st);
}

static void fill_run(bd_op_ctx *c)
{
    const braid_tensor *value = bd_input(c, 1);
    if (value->shape.rank != 0) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "value must be a scalar, got shape %s",
                   bd_shape_str(&value->shape, text));
        return;
    }
    braid_shape shape;
    if (!bd_input_shape(c, 0, "dims", &shape)) return;
    braid_tensor *y = bd_output(c, 0, value->dtype, &shape);
    if (!y) return;
    size_t size = braid_dtype_size(value->dtype);
    if (size) {
        fill_plain(y->data, value->data, size, bd_tensor_count(y));
    } else {
        for (int64_t i = 0; i < bd_tensor_count(y) && !bd_interrupted_at(i); i++)
            bd_elements_copy(y, i, value, 0, 1);
    }
}

static void fill_gradient(bd_grad_ctx *c)
{
    c->input_grads[1] = bd_grad_sum_all(c->graph, c->output_grads[0]);
}

BD_OP(Fill) = {
    .signature = "(dims: index_type, value: T) -> (output: T)",
    .attrs = "T:type; index_type:type{int32,int64}=int32",
    .shape = fill_shape,
    .gradient = fill_gradient,
    .kernels = BD_KERNELS({.run = fill_run}),
    .doc = "A tensor of shape `dims` filled with the scalar `value`.",
};

// Numbers of features: ReinterpretStringToFloat. Additions at coordinates: ScatterAddNdim.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "op/kernel.h"
#include <string.h>

// ---- ReinterpretStringToFloat ----

// std::hash<std::string> of GNU's C++ library on machines of 64 bits (MurmurHash64A with another start): the
// numbers stand in trees of checkpoints.
static uint64_t hash_string(const uint8_t *data, size_t len)
{
    const uint64_t mul = 0xc6a4a7935bd1e995U;
    uint64_t hash = 0xc70f6907U ^ (len * mul);
    size_t i = 0;
    for (; i + 8 <= len; i += 8) {
        uint64_t word;
        memcpy(&word, data + i, 8);
        word *= mul;
        hash = (hash ^ (word ^ word >> 47) * mul) * mul;
    }
    if (i < len) {
        uint64_t word = 0;
        memcpy(&word, data + i, len - i);
        hash = (hash ^ word) * mul;
    }
    hash = (hash ^ hash >> 47) * mul;
    return hash ^ hash >> 47;
}

static void reinterpret_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0), *y = bd_output(c, 0, BRAID_FLOAT, &x->shape);
    if (!y) return;
    const bd_string *strings = bd_tensor_str(x);
    const int64_t count = bd_tensor_count(x);
    for (int64_t i = 0; i < count && !bd_interrupted_at(i); i++)
        bd_tensor_f32(y)[i] = (float)hash_string((const uint8_t *)strings[i].data, strings[i].len);
}

// ---- ScatterAddNdim ----

// The offset of the slice at `index` [depth] of a tensor whose slices have `size` elements; -1: it has none.
static int64_t slice_offset(const braid_shape *s, const int32_t *index, int64_t depth, int64_t size)
{
    int64_t offset = 0;
    for (int64_t d = 0; d < depth; d++) {
        if (index[d] < 0 || index[d] >= s->dims[d]) return -1;
        offset = offset * s->dims[d] + index[d];
    }
    return offset * size;
}

static bool check_shapes(bd_op_ctx *c, const braid_shape *input)
{
    const braid_shape *indices = &bd_input(c, 1)->shape, *deltas = &bd_input(c, 2)->shape;
    if (indices->rank != 2)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "indices should be two-dimensional");
    else if (indices->dims[1] + deltas->rank != input->rank + 1)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Number of indices dimensions should be the same as input rank.");
    else if (deltas->rank < 1 || deltas->dims[0] != indices->dims[0])
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Number of updates should be same as number of indices.");
    else
        for (int d = 1; d < deltas->rank; d++)
            if (deltas->dims[d] != input->dims[indices->dims[1] + d - 1])
                bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Updates of shape %s do not fit an input of shape %s",
                           bd_shape_str(deltas, (char[BD_SHAPE_STR_MAX]){0}),
                           bd_shape_str(input, (char[BD_SHAPE_STR_MAX]){0}));
    return !bd_op_failed(c);
}

static bool check_indices(bd_op_ctx *c, const braid_shape *input, int64_t size)
{
    const braid_shape *shape = &bd_input(c, 1)->shape;
    const int32_t *indices = bd_tensor_i32(bd_input(c, 1));
    for (int64_t i = 0; i < shape->dims[0]; i++) {
        if (slice_offset(input, indices + i * shape->dims[1], shape->dims[1], size) >= 0) continue;
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "indices[%lld] is not within the input of shape %s",
                   (long long)i, bd_shape_str(input, (char[BD_SHAPE_STR_MAX]){0}));
        return false;
    }
    return true;
}

static void add_slices(bd_op_ctx *c, const braid_tensor *input)
{
    const int64_t count = bd_input(c, 1)->shape.dims[0], depth = bd_input(c, 1)->shape.dims[1];
    int64_t size = 1;
    for (int64_t d = depth; d < input->shape.rank; d++)
        size *= input->shape.dims[d];
    if (!check_indices(c, &input->shape, size)) return;
    const int32_t *indices = bd_tensor_i32(bd_input(c, 1));
    const float *deltas = bd_tensor_f32(bd_input(c, 2));
    for (int64_t i = 0; i < count; i++) {
        float *to = bd_tensor_f32(input) + slice_offset(&input->shape, indices + i * depth, depth, size);
        for (int64_t k = 0; k < size; k++)
            to[k] += deltas[i * size + k];
    }
}

static void scatter_run(bd_op_ctx *c)
{
    BD_STATUS(st);
    bd_variable_change change;
    const braid_shape *indices = &bd_input(c, 1)->shape;
    if (indices->rank > 0 && indices->dims[0] == 0) return;
    if (bd_variable_begin_change(&change, bd_input_ref(c, 0), BD_VARIABLE_ELEMENTS, true, st))
        bd_op_fail_status(c, st);
    else if (!bd_tensor_is_set(&change.value))
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                   c->node->inputs[0].op->name);
    else if (check_shapes(c, &change.value.shape))
        add_slices(c, &change.value);
    bd_variable_end_change(&change, true);
}

static braid_code scatter_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)c;
    (void)st;
    return BRAID_OK;
}

BD_OP(ReinterpretStringToFloat) = {
    .signature = "(input_data: string) -> (output_data: float)",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_unchanged,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = reinterpret_run}),
    .doc = "A number for each string, by which strings can be compared for equality.",
};

BD_OP(ScatterAddNdim) = {
    .signature = "(input: Ref(float), indices: int32, deltas: float) -> ()",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = scatter_shape,
    .kernels = BD_KERNELS({.run = scatter_run}),
    .doc =
        "Adds deltas[i] to the element of the variable at the coordinates indices[i], or to the slice, where there "
        "are fewer coordinates than dimensions.",
    .deviation =
        "Each coordinate must be within its dimension, and the deltas of a slice must have its shape.",
};

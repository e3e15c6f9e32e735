// DynamicPartition: the slices of a tensor dealt out to several by a number each.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/grad_steps.h"

static braid_code partition_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *data = &c->inputs[0], *numbers = &c->inputs[1];
    if (data->rank < 0 || numbers->rank < 0) return BRAID_OK;
    braid_shape part = bd_shape1(-1);
    for (int d = 0; d < numbers->rank; d++) {
        bool fits = d < data->rank &&
                    (data->dims[d] < 0 || numbers->dims[d] < 0 || data->dims[d] == numbers->dims[d]);
        if (!fits) {
            char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
            return bd_shape_ctx_fail(c, st,
                                     "data of shape %s does not begin with the dimensions of partitions, %s",
                                     bd_shape_str(data, a), bd_shape_str(numbers, b));
        }
    }
    for (int d = numbers->rank; d < data->rank && part.rank < BRAID_RANK_MAX; d++)
        part.dims[part.rank++] = data->dims[d];
    for (int i = 0; i < c->output_count; i++)
        c->outputs[i] = part;
    return BRAID_OK;
}

// Counts the slices of each part. False: the kernel has failed.
static bool count_slices(bd_op_ctx *c, int64_t *counts)
{
    const braid_tensor *numbers = bd_input(c, 1);
    for (int64_t i = 0; i < bd_tensor_count(numbers) && !bd_interrupted_at(i); i++) {
        int32_t part = bd_tensor_i32(numbers)[i];
        if (part >= 0 && part < c->output_count) {
            counts[part]++;
            continue;
        }
        char place[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "partitions%s = %d is not in [0, %d)",
                   bd_element_place(&numbers->shape, i, place), part, c->output_count);
        return false;
    }
    return true;
}

static void deal_out(bd_op_ctx *c, int64_t *counts)
{
    const braid_tensor *data = bd_input(c, 0), *numbers = bd_input(c, 1);
    braid_shape part = bd_shape1(0);
    for (int d = numbers->shape.rank; d < data->shape.rank && part.rank < BRAID_RANK_MAX; d++)
        part.dims[part.rank++] = data->shape.dims[d];
    int64_t len = bd_shape_count_range(&part, 1, part.rank);
    for (int i = 0; i < c->output_count; i++) {
        part.dims[0] = counts[i];
        if (!bd_output(c, i, data->dtype, &part)) return;
        counts[i] = 0;
    }
    for (int64_t i = 0; i < bd_tensor_count(numbers) && len > 0 && !bd_interrupted_at(i); i++) {
        int32_t number = bd_tensor_i32(numbers)[i];
        if (number < 0 || number >= c->output_count) continue; // a variable's may change between two looks
        const braid_tensor *to = &c->outputs[number].tensor;
        if (counts[number] < to->shape.dims[0])
            bd_elements_copy(to, counts[number]++ * len, data, i * len, len);
    }
}

static void partition_run(bd_op_ctx *c)
{
    const braid_shape *data = &bd_input(c, 0)->shape, *numbers = &bd_input(c, 1)->shape;
    bool fits = numbers->rank <= data->rank;
    for (int d = 0; fits && d < numbers->rank; d++)
        fits = data->dims[d] == numbers->dims[d];
    if (!fits) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "data.shape must start with partitions.shape, got data.shape = %s, partitions.shape = %s",
                   bd_shape_str(data, a), bd_shape_str(numbers, b));
        return;
    }
    int64_t *counts = bd_calloc((size_t)c->output_count, sizeof *counts);
    if (count_slices(c, counts)) deal_out(c, counts);
    bd_free(counts);
}

// The places of the slices are dealt out the same way, and the gradients put back there.
static void partition_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out numbers = c->op->inputs[1], shape = bd_b_shape(g, "Shape", numbers);
    int parts = c->op->output_count;
    braid_out zero = bd_b_const_i32_vector(g, "Const", (int32_t[]){0}, 1);
    braid_out count = bd_b2(g, "Prod", NULL, shape, zero);
    braid_out places = bd_b2(g, "Reshape", NULL, bd_grad_range(g, count, 1), shape);
    braid_op_desc *d = braid_op_begin(g, "DynamicPartition", NULL);
    braid_op_input(d, places);
    braid_op_input(d, numbers);
    braid_op_attr_int(d, "num_partitions", parts);
    braid_op *dealt = braid_op_end(d);
    braid_out *indices = bd_calloc((size_t)parts, sizeof *indices);
    for (int i = 0; i < parts; i++)
        indices[i] = braid_output(dealt, i);
    d = braid_op_begin(g, "DynamicStitch", NULL);
    braid_op_input_list(d, indices, parts);
    braid_op_input_list(d, c->output_grads, parts);
    braid_out rows = braid_op_end_out(d);
    c->input_grads[0] = bd_b2(g, "Reshape", NULL, rows, bd_b_shape(g, "Shape", c->op->inputs[0]));
    bd_free(indices);
}

BD_OP(DynamicPartition) = {
    .signature = "(data: T, partitions: int32) -> (outputs: num_partitions*T)",
    .attrs = "num_partitions:int>=1; T:type",
    .shape = partition_shape,
    .gradient = partition_gradient,
    .kernels = BD_KERNELS({.run = partition_run}),
    .doc =
        "Distributes the slices of `data`: output i gets those whose number in `partitions` is i, in order.",
};

// Gather, GatherV2 and ResourceGather: pick slices of a tensor by indices along an axis.
#include "base/interrupt.h"
#include "base/prefetch.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/grad_steps.h"
#include "ops/state/variable.h"

// ---- Gather ----

// The shape of `params` with dimension `axis` replaced by the shape of `indices` without its first `batch`
// dimensions, which both tensors share. False when the result has too many dimensions.
static bool gathered_shape(const braid_shape *params, const braid_shape *indices, int axis, int batch,
                           braid_shape *out)
{
    out->rank = 0;
    if (params->rank - 1 + indices->rank - batch > BRAID_RANK_MAX) return false;
    for (int d = 0; d < axis; d++)
        out->dims[out->rank++] = params->dims[d];
    for (int d = batch; d < indices->rank; d++)
        out->dims[out->rank++] = indices->dims[d];
    for (int d = axis + 1; d < params->rank; d++)
        out->dims[out->rank++] = params->dims[d];
    return true;
}

// Attr batch_dims; a negative value counts from the end of the indices' dimensions. Gather has no such attr.
static int64_t batch_dims_of(const braid_op *node, int indices_rank)
{
    const bd_attr *attr = bd_node_attr(node, "batch_dims");
    int64_t batch = attr ? attr->i : 0;
    return batch < 0 ? batch + indices_rank : batch;
}

static braid_code gather_shape_along(bd_shape_ctx *c, const braid_shape *params, int64_t axis,
                                     braid_status *st)
{
    const braid_shape *indices = &c->inputs[1];
    if (params->rank < 0) return BRAID_OK;
    int64_t rank_min = axis < 0            ? (axis == INT64_MIN ? INT64_MAX : -axis)
                       : axis == INT64_MAX ? axis
                                           : axis + 1;
    if (params->rank < rank_min || params->rank == 0)
        return bd_shape_ctx_fail(c, st, "Shape must be at least rank %lld but is rank %d",
                                 (long long)rank_min, params->rank);
    if (axis < 0) axis += params->rank;
    if (indices->rank < 0) return BRAID_OK;
    int64_t batch = batch_dims_of(c->node, indices->rank);
    if (batch < 0 || batch > indices->rank || batch > axis)
        return bd_shape_ctx_fail(
            c, st, "batch_dims (%lld) must be less than or equal to axis (%lld) and the rank of indices",
            (long long)batch, (long long)axis);
    for (int d = 0; d < batch; d++) {
        if (params->dims[d] >= 0 && indices->dims[d] >= 0 && params->dims[d] != indices->dims[d])
            return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld",
                                     (long long)params->dims[d], (long long)indices->dims[d]);
    }
    if (gathered_shape(params, indices, (int)axis, (int)batch, &c->outputs[0])) return BRAID_OK;
    c->outputs[0] = BD_SHAPE_UNKNOWN;
    return bd_shape_ctx_fail(c, st, "Gather: more than %d dimensions", BRAID_RANK_MAX);
}

static braid_code gather_shape(bd_shape_ctx *c, braid_status *st)
{
    return gather_shape_along(c, &c->inputs[0], 0, st);
}

static braid_code gather_v2_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *params = &c->inputs[0], *indices = &c->inputs[1];
    int64_t axis;
    braid_code code = bd_shape_ctx_rank(c, 2, 0, st);
    if (code) return code;
    if (bd_shape_ctx_constant_int(c, 2, &axis)) return gather_shape_along(c, params, axis, st);
    if (params->rank == 0) return bd_shape_ctx_fail(c, st, "Shape must be at least rank 1 but is rank 0");
    if (params->rank < 0 || indices->rank < 0) return BRAID_OK;
    // While the axis is unknown only the rank can be inferred.
    int64_t batch = batch_dims_of(c->node, indices->rank), rank = params->rank + indices->rank - 1 - batch;
    if (batch < 0 || batch > indices->rank || rank < 0 || rank > BRAID_RANK_MAX) return BRAID_OK;
    c->outputs[0].rank = (int)rank;
    for (int d = 0; d < rank; d++)
        c->outputs[0].dims[d] = -1;
    return BRAID_OK;
}

// Reports a bad index with its position: "indices[0,2] = 5 is not in [0, 3)".
static void fail_index(bd_op_ctx *c, int input, int64_t at, int64_t limit)
{
    const braid_tensor *indices = bd_input(c, input);
    char place[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "indices%s = %lld is not in [0, %lld)",
               bd_element_place(&indices->shape, at, place), (long long)bd_tensor_index(indices, at),
               (long long)limit);
}

// The source of a gather: `params` along an axis; its first `batch` dimensions are also those of the indices.
typedef struct gathering {
    int axis, batch;
    braid_shape out;
} gathering;

// Checks shapes and attrs. False: the kernel has failed.
static bool plan_gather(bd_op_ctx *c, const braid_shape *params, const braid_shape *indices, int64_t axis,
                        gathering *g)
{
    int rank = params->rank;
    int64_t batch = batch_dims_of(c->node, indices->rank);
    if (rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "params must be at least 1 dimensional");
    } else if (axis < -rank || axis >= rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected axis in the range [%d, %d), but got %lld", -rank,
                   rank, (long long)axis);
    } else if (batch < 0 || batch > indices->rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Expected batch_dims in the range [%d, %d], but got %lld",
                   -indices->rank, indices->rank, (long long)bd_node_attr_int(c->node, "batch_dims"));
    } else if (batch > (axis < 0 ? axis + rank : axis)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "batch_dims (%lld) must be less than or equal to axis (%lld).",
                   (long long)batch, (long long)axis);
    }
    for (int d = 0; !bd_op_failed(c) && d < batch; d++) {
        if (params->dims[d] != indices->dims[d])
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "params.shape[%d]: %lld should be equal to indices.shape[%d]: %lld", d,
                       (long long)params->dims[d], d, (long long)indices->dims[d]);
    }
    if (bd_op_failed(c)) return false;
    *g = (gathering){.axis = (int)(axis < 0 ? axis + rank : axis), .batch = (int)batch};
    if (!gathered_shape(params, indices, g->axis, g->batch, &g->out))
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Gather: more than %d dimensions", BRAID_RANK_MAX);
    return !bd_op_failed(c);
}

// The rows of `params` that lie one after the other: `limit` of `inner` elements.
typedef struct row_source {
    const braid_tensor *params, *indices;
    int64_t limit, inner;
} row_source;

// Copies rows [first, first + n) that the indices name, of the rows from `base` on, to `to_at` and behind it.
static void copy_rows(const row_source *s, int64_t base, int64_t first, int64_t n, const braid_tensor *y,
                      int64_t to_at)
{
    const size_t bytes = (size_t)s->inner * braid_dtype_size(s->params->dtype);
    for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++) {
        const int64_t ahead =
            i + BD_ROWS_AHEAD < n ? bd_tensor_index(s->indices, first + i + BD_ROWS_AHEAD) : -1;
        if (ahead >= 0 && ahead < s->limit)
            bd_prefetch_row((const char *)s->params->data + (size_t)(base + ahead) * bytes, bytes);
        const int64_t at = bd_tensor_index(s->indices, first + i);
        // the indices may be a variable's and change between two reads
        if (at < 0 || at >= s->limit) continue;
        bd_elements_copy(y, to_at + i * s->inner, s->params, (base + at) * s->inner, s->inner);
    }
}

static void gather_along(bd_op_ctx *c, const braid_tensor *params, int64_t axis)
{
    const braid_tensor *indices = bd_input(c, 1);
    gathering g;
    if (!plan_gather(c, &params->shape, &indices->shape, axis, &g)) return;
    int64_t limit = params->shape.dims[g.axis];
    for (int64_t i = 0; i < bd_tensor_count(indices) && !bd_interrupted_at(i); i++) {
        int64_t at = bd_tensor_index(indices, i);
        if (at >= 0 && at < limit) continue;
        fail_index(c, 1, i, limit);
        return;
    }
    braid_tensor *y = bd_output(c, 0, params->dtype, &g.out);
    if (!y || bd_tensor_count(y) == 0) return;
    int64_t per_batch = bd_shape_count_range(&params->shape, g.batch, g.axis),
            outer = bd_shape_count_range(&params->shape, 0, g.axis),
            inner = bd_shape_count_range(&params->shape, g.axis + 1, params->shape.rank),
            n = bd_shape_count_range(&indices->shape, g.batch, indices->shape.rank);
    const row_source source = {.params = params, .indices = indices, .limit = limit, .inner = inner};
    for (int64_t o = 0; o < outer && !bd_interrupted_at(o); o++)
        copy_rows(&source, o * limit, o / per_batch * n, n, y, o * n * inner);
}

static void gather_run(bd_op_ctx *c)
{
    gather_along(c, bd_input(c, 0), 0);
}

static void gather_v2_run(bd_op_ctx *c)
{
    int64_t axis;
    if (bd_input_int(c, 2, "axis", &axis)) gather_along(c, bd_input(c, 0), axis);
}

// x[1:]
static braid_out tail(braid_graph *g, braid_out x)
{
    return bd_grad_slice(g, x, &(bd_grad_index){.count = 1, .begin = {1}, .end_mask = 1});
}

// The gradient of rows gathered from a tensor of shape `shape`.
static void gradient_of_rows(bd_grad_ctx *c, braid_out shape)
{
    braid_graph *g = c->graph;
    braid_out indices = braid_op_get_input(c->op, 1);
    braid_out count = bd_grad_size(g, indices);
    const char *scope = braid_push_name_scope(g, "ExpandDims");
    braid_out axis = bd_b_const_i32(g, "dim", 0);
    braid_out size = bd_b2(g, "ExpandDims", scope, count, axis);
    braid_pop_name_scope(g);
    braid_out sizes[2] = {size, tail(g, shape)};
    braid_out values = bd_b2(g, "Reshape", "Reshape", c->output_grads[0], bd_grad_concat(g, sizes, 2, 0));
    c->input_grads[0] = values;
    c->input_rows[0] = (bd_indexed_slices){bd_b2(g, "Reshape", "Reshape", indices, size), shape};
}

static void gather_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out params = braid_op_get_input(c->op, 0);
    braid_push_colocate(g, params.op); // params can be large: its shape is computed on its device
    braid_out wide = bd_grad_shape(g, params, BRAID_INT64);
    braid_op_desc *d = braid_op_begin(g, "Cast", NULL);
    braid_op_input(d, wide);
    braid_op_attr_type(d, "DstT", BRAID_INT32);
    braid_out shape = braid_op_end_out(d);
    braid_pop_colocate(g);
    gradient_of_rows(c, shape);
}

BD_OP(Gather) = {
    .signature = "(params: Tparams, indices: Tindices) -> (output: Tparams)",
    .attrs = "validate_indices:bool=true; Tparams:type; Tindices:type{int32,int64}",
    .shape = gather_shape,
    .gradient = gather_gradient,
    .kernels = BD_KERNELS({.run = gather_run}),
    .doc = "The slices params[i] for each i in `indices`; an index out of range is an error.",
};

static braid_out ints(braid_graph *g, int32_t value)
{
    return bd_b_const_i32_vector(g, "Const", &value, 1);
}

// The gradient along any axis: transposes so that the indexed dimension is first, sums the rows of equal
// index, and transposes back.
static void gather_gradient_along(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out params = braid_op_get_input(c->op, 0), indices = braid_op_get_input(c->op, 1);
    braid_out shape = bd_b_shape(g, "Shape", params), rank = bd_grad_rank(g, params);
    braid_op_desc *d = braid_op_begin(g, "Cast", NULL);
    braid_op_input(d, braid_op_get_input(c->op, 2));
    braid_op_attr_type(d, "DstT", BRAID_INT32);
    braid_out axis = bd_b2(g, "FloorMod", "axis", braid_op_end_out(d), rank);
    braid_out axis1 = bd_b2(g, "Reshape", NULL, axis, ints(g, 1)),
              behind1 = bd_b2(g, "Add", "add", axis1, ints(g, 1));
    braid_out size = bd_b2(g, "Reshape", NULL, bd_grad_size(g, indices), ints(g, 1));
    braid_out sizes[3] = {bd_b3(g, "Slice", NULL, shape, ints(g, 0), axis1), size,
                          bd_b3(g, "Slice", NULL, shape, behind1, ints(g, -1))};
    braid_out values = bd_b2(g, "Reshape", NULL, c->output_grads[0], bd_grad_concat(g, sizes, 3, 0));
    braid_out one = bd_b_const_i32(g, "one", 1);
    braid_out axes[3] = {axis1, bd_grad_range(g, axis, 1),
                         bd_b3(g, "Range", NULL, bd_b2(g, "Add", "add", axis, one), rank, one)};
    braid_out perm = bd_grad_concat(g, axes, 3, 0);
    braid_out sums = bd_b3(g, "UnsortedSegmentSum", NULL, bd_b2(g, "Transpose", "transpose", values, perm),
                           bd_b2(g, "Reshape", NULL, indices, size), bd_b2(g, "Gather", NULL, shape, axis));
    c->input_grads[0] = bd_b2(g, "Transpose", "transpose", sums, bd_b1(g, "InvertPermutation", NULL, perm));
}

// The product of the sizes of `shape` from `begin` on, `count` of them; -1: all.
static braid_out part(braid_graph *g, braid_out shape, braid_out begin, braid_out count)
{
    return bd_b2(g, "Prod", NULL, bd_b3(g, "Slice", NULL, shape, begin, count), ints(g, 0));
}

static braid_out pack(braid_graph *g, const braid_out *sizes, int count)
{
    braid_op_desc *d = braid_op_begin(g, "Pack", NULL);
    braid_op_input_list(d, sizes, count);
    return braid_op_end_out(d);
}

// The number of batch dimensions, [1].
static braid_out batch_dims(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    const int32_t batch = (int32_t)bd_node_attr_int(c->op, "batch_dims");
    if (batch >= 0) return ints(g, batch);
    return bd_b2(g, "Add", "add", bd_grad_rank(g, braid_op_get_input(c->op, 1)), ints(g, batch));
}

// The gradient with batch dimensions. Of params [batches, between, size, after], row (b * between + m) * size
// + indices[b, i] has been taken for output [b, m, i]. `axis` is [1].
static void gather_gradient_of_batches(bd_grad_ctx *c, braid_out shape, braid_out first, braid_out axis)
{
    braid_graph *g = c->graph;
    braid_out indices = braid_op_get_input(c->op, 1), zero = bd_b_const_i32(g, "zero", 0),
              one = bd_b_const_i32(g, "one", 1);
    braid_out batches = part(g, shape, ints(g, 0), first),
              between = part(g, shape, first, bd_b2(g, "Sub", "sub", axis, first)),
              size = part(g, shape, axis, ints(g, 1)),
              after = part(g, shape, bd_b2(g, "Add", "add", axis, ints(g, 1)), ints(g, -1)),
              count = part(g, bd_b_shape(g, "Shape", indices), first, ints(g, -1));
    braid_out rows = bd_b2(g, "Mul", "mul", batches, between);
    braid_out begins = bd_b2(g, "Mul", "mul", bd_b3(g, "Range", NULL, zero, rows, one), size);
    braid_op_desc *d = braid_op_begin(g, "Cast", NULL);
    braid_op_input(d, indices);
    braid_op_attr_type(d, "DstT", BRAID_INT32);
    braid_out number =
        bd_b2(g, "Reshape", NULL, braid_op_end_out(d), pack(g, (braid_out[]){batches, one, count}, 3));
    begins = bd_b2(g, "Reshape", NULL, begins, pack(g, (braid_out[]){batches, between, one}, 3));
    braid_out ids = bd_b2(g, "Reshape", NULL, bd_b2(g, "Add", "add", begins, number), ints(g, -1));
    braid_out gathered = bd_b2(g, "Mul", "mul", rows, count);
    braid_out values =
        bd_b2(g, "Reshape", NULL, c->output_grads[0], pack(g, (braid_out[]){gathered, after}, 2));
    braid_out sums = bd_b3(g, "UnsortedSegmentSum", NULL, values, ids, bd_b2(g, "Mul", "mul", rows, size));
    c->input_grads[0] = bd_b2(g, "Reshape", NULL, sums, shape);
}

static void gather_v2_gradient(bd_grad_ctx *c)
{
    if (bd_node_attr_int(c->op, "batch_dims") != 0) {
        braid_graph *g = c->graph;
        braid_out params = braid_op_get_input(c->op, 0);
        braid_op_desc *d = braid_op_begin(g, "Cast", NULL);
        braid_op_input(d, braid_op_get_input(c->op, 2));
        braid_op_attr_type(d, "DstT", BRAID_INT32);
        braid_out axis = bd_b2(g, "FloorMod", "axis", braid_op_end_out(d), bd_grad_rank(g, params));
        gather_gradient_of_batches(c, bd_b_shape(g, "Shape", params), batch_dims(c),
                                   bd_b2(g, "Reshape", NULL, axis, ints(g, 1)));
        return;
    }
    bd_shape_ctx known = {.node = c->op, .input_count = c->op->input_count};
    int64_t axis;
    if (bd_shape_ctx_constant_int(&known, 2, &axis) && axis == 0) {
        gather_gradient(c);
    } else {
        gather_gradient_along(c);
    }
}

BD_OP(GatherV2) = {
    .signature = "(params: Tparams, indices: Tindices, axis: Taxis) -> (output: Tparams)",
    .attrs = "batch_dims:int=0; Tparams:type; Tindices:type{int16,int32,int64}; Taxis:type{int32,int64}",
    .shape = gather_v2_shape,
    .gradient = gather_v2_gradient,
    .kernels = BD_KERNELS({.types = "Tindices=int32|int64", .flags = BD_KERNEL_WIDENS, .run = gather_v2_run}),
    .doc = "Slices along an axis, selected by `indices`.",
};

// ---- ResourceGather ----

static braid_code resource_gather_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape params = bd_shape_ctx_variable(c, 0);
    int64_t batch = c->inputs[1].rank < 0 ? 0 : batch_dims_of(c->node, c->inputs[1].rank);
    return gather_shape_along(c, &params, batch, st);
}

static void resource_gather_run(bd_op_ctx *c)
{
    bd_variable *v = bd_input_variable(c, 0, c->node->output_types[0]);
    if (!v) return;
    braid_tensor value = {0};
    if (bd_variable_begin_rows(v, &value)) {
        // the axis follows the batch dimensions
        gather_along(c, &value, batch_dims_of(c->node, bd_input(c, 1)->shape.rank));
        bd_variable_end_rows(v, &value);
    } else {
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                   bd_tensor_handle(bd_input(c, 0))->name);
    }
    bd_resource_unref(&v->base);
}

static void resource_gather_gradient(bd_grad_ctx *c)
{
    braid_out shape = bd_grad_variable_shape(c->graph, braid_op_get_input(c->op, 0));
    if (bd_node_attr_int(c->op, "batch_dims") == 0) {
        gradient_of_rows(c, shape);
        return;
    }
    braid_out first = batch_dims(c);
    gather_gradient_of_batches(c, shape, first, first);
}

BD_OP(ResourceGather) = {
    .signature = "(resource: resource, indices: Tindices) -> (output: dtype)",
    .attrs = "batch_dims:int=0; validate_indices:bool=true; dtype:type; Tindices:type{int32,int64}",
    .flags = BD_OP_STATEFUL,
    .shape = resource_gather_shape,
    .gradient = resource_gather_gradient,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_INTERRUPTIBLE, .run = resource_gather_run}),
    .doc = "Gather of the rows of a resource variable, without reading the whole variable.",
};

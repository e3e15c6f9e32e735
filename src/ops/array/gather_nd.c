// GatherNd, ResourceGatherNd and ScatterNd: slices of a tensor, each addressed by several indices.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/grad_steps.h"
#include "ops/state/scatter.h"

#include <string.h>

static braid_code fail_misfit(bd_shape_ctx *c, const braid_shape *indices, const braid_shape *of,
                              braid_status *st)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    return bd_shape_ctx_fail(c, st, "indices of shape %s do not fit a tensor of shape %s",
                             bd_shape_str(indices, a), bd_shape_str(of, b));
}

// ---- GatherNd ----

static braid_code gather_nd_shape(bd_shape_ctx *c, braid_status *st)
{
    if (bd_slices_known_shape(true, &c->inputs[0], &c->inputs[1], &c->outputs[0])) return BRAID_OK;
    return fail_misfit(c, &c->inputs[1], &c->inputs[0], st);
}

static void gather_from(bd_op_ctx *c, const braid_tensor *params)
{
    const braid_tensor *indices = bd_input(c, 1);
    bd_slices s;
    braid_shape out;
    if (params->shape.rank == 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "params must be at least a vector");
        return;
    }
    if (!bd_slices_init(c, &s, true, &params->shape, indices) ||
        !bd_slices_shape(c, &s, &params->shape, &indices->shape, &out))
        return;
    s.shape_name = "param shape";
    char text[BD_SHAPE_STR_MAX];
    braid_tensor *y = bd_output(c, 0, params->dtype, &out);
    if (s.count > 0 && bd_tensor_count(params) == 0 && !s.ignores)
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Requested more than 0 entries, but params is empty.  Params shape: %s",
                   bd_shape_str(&params->shape, text));
    if (bd_op_failed(c)) return;
    // Elements that no index addresses are zero; strings are empty already.
    if (y && s.ignores && y->dtype != BRAID_STRING && braid_dtype_size(y->dtype) > 0)
        memset(y->data, 0, bd_tensor_bytes(y));
    for (int64_t i = 0; y && i < s.count && !bd_interrupted_at(i); i++) {
        int64_t at = bd_slices_at(c, &s, &params->shape, indices, i);
        if (at < 0 && !s.ignores) return;
        if (at >= 0 && s.len > 0) bd_elements_copy(y, i * s.len, params, at, s.len);
    }
}

static void gather_nd_run(bd_op_ctx *c)
{
    gather_from(c, bd_input(c, 0));
}

// Returns whether each index is known to address one row, and none of them is out of range and ignored.
static bool are_rows(const bd_grad_ctx *c, braid_out indices)
{
    const braid_shape shape = braid_out_shape(indices);
    const bd_attr *policy = bd_node_attr(c->op, "bad_indices_policy");
    const bool ignores = policy && policy->s.len > 0 && strcmp(policy->s.data, "IGNORE") == 0;
    return shape.rank == 2 && shape.dims[1] == 1 && !ignores &&
           bd_dtype_base(braid_out_dtype(indices)) != BRAID_INT16;
}

// The gradient for a tensor of shape `shape`.
static void scatter_gradient(bd_grad_ctx *c, braid_out indices, braid_out shape)
{
    if (!are_rows(c, indices)) {
        c->input_grads[0] = bd_grad_by_slices(c, "ScatterNd", indices, c->output_grads[0], &shape);
        return;
    }
    braid_op_desc *d = braid_op_begin(c->graph, "Squeeze", NULL);
    braid_op_input(d, indices);
    braid_op_attr_int_list(d, "squeeze_dims", (int64_t[]){-1}, 1);
    c->input_grads[0] = c->output_grads[0];
    c->input_rows[0] = (bd_indexed_slices){braid_op_end_out(d), shape};
}

static void gather_nd_gradient(bd_grad_ctx *c)
{
    braid_out params = c->op->inputs[0], indices = c->op->inputs[1];
    braid_out shape = bd_grad_shape(c->graph, params, bd_dtype_base(braid_out_dtype(indices)));
    scatter_gradient(c, indices, shape);
}

BD_OP(GatherNd) = {
    .signature = "(params: Tparams, indices: Tindices) -> (output: Tparams)",
    .attrs = "Tparams:type; Tindices:type{int16,int32,int64}" BD_BAD_INDICES_ATTR,
    .shape = gather_nd_shape,
    .gradient = gather_nd_gradient,
    .kernels = BD_KERNELS({.types = "Tindices=int32|int64", .flags = BD_KERNEL_WIDENS, .run = gather_nd_run}),
    .doc = "Gathers slices of `params`; each row of `indices` addresses one slice.",
};

// ---- ResourceGatherNd ----

static braid_code resource_gather_nd_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_shape params = bd_shape_ctx_variable(c, 0);
    if (bd_slices_known_shape(true, &params, &c->inputs[1], &c->outputs[0])) return BRAID_OK;
    return fail_misfit(c, &c->inputs[1], &params, st);
}

static void resource_gather_nd_run(bd_op_ctx *c)
{
    bd_variable *v = bd_input_variable(c, 0, c->node->output_types[0]);
    if (!v) return;
    braid_tensor value = {0};
    if (bd_variable_begin_rows(v, &value)) {
        gather_from(c, &value);
        bd_variable_end_rows(v, &value);
    } else {
        bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
                   bd_tensor_handle(bd_input(c, 0))->name);
    }
    bd_resource_unref(&v->base);
}

static void resource_gather_nd_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out indices = c->op->inputs[1];
    braid_op_desc *d = braid_op_begin(g, "VariableShape", NULL);
    braid_op_input(d, c->op->inputs[0]);
    braid_op_attr_type(d, "out_type", bd_dtype_base(braid_out_dtype(indices)));
    scatter_gradient(c, indices, braid_op_end_out(d));
}

BD_OP(ResourceGatherNd) = {
    .signature = "(resource: resource, indices: Tindices) -> (output: dtype)",
    .attrs = "dtype:type; Tindices:type{int32,int64}",
    .flags = BD_OP_STATEFUL,
    .shape = resource_gather_nd_shape,
    .gradient = resource_gather_nd_gradient,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_INTERRUPTIBLE, .run = resource_gather_nd_run}),
    .doc = "GatherNd of a resource variable, without reading the whole variable.",
};

// ---- ScatterNd ----

static braid_code scatter_nd_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_from_input(c, 2, st);
    return code ? code : bd_shape_ctx_updates(c, &c->outputs[0], 0, 1, st);
}

static bd_update_fn adding(const braid_tensor *t)
{
    return bd_update_function(t->dtype, BD_UPDATE_ADD);
}

// Strings with the same index are concatenated.
static void join_strings(bd_op_ctx *c, const bd_slices *s, const braid_tensor *y)
{
    const braid_tensor *indices = bd_input(c, 0), *updates = bd_input(c, 1);
    if (!bd_scatter_fits(c, s, &y->shape, indices, updates)) return;
    for (int64_t i = 0; i < s->count && !bd_interrupted_at(i); i++) {
        int64_t at = bd_slices_at(c, s, &y->shape, indices, i);
        if (at < 0 && !s->ignores) return;
        for (int64_t k = 0; at >= 0 && k < s->len; k++) {
            const bd_string *from = &bd_tensor_str(updates)[i * s->len + k];
            bd_string *to = &bd_tensor_str(y)[at + k];
            char *longer = from->len ? bd_try_malloc(to->len + from->len) : to->data;
            if (from->len && !longer) {
                bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when joining strings");
                return;
            }
            if (from->len && to->len) memcpy(longer, to->data, to->len);
            if (from->len) memcpy(longer + to->len, from->data, from->len);
            if (from->len) bd_free(to->data);
            *to = (bd_string){.data = longer, .len = to->len + from->len};
        }
    }
}

static void scatter_nd_run(bd_op_ctx *c)
{
    const braid_tensor *indices = bd_input(c, 0), *updates = bd_input(c, 1);
    braid_shape shape;
    bd_slices s;
    if (!bd_input_shape(c, 2, "shape", &shape) || !bd_slices_init(c, &s, true, &shape, indices)) return;
    braid_tensor *y = bd_output(c, 0, updates->dtype, &shape);
    if (!y) return;
    if (y->dtype == BRAID_STRING) {
        join_strings(c, &s, y);
        return;
    }
    memset(y->data, 0, (size_t)bd_tensor_count(y) * braid_dtype_size(y->dtype));
    bd_scatter(c, y, &s, indices, updates, adding(y));
}

static void scatter_nd_gradient(bd_grad_ctx *c)
{
    c->input_grads[1] = bd_grad_by_slices(c, "GatherNd", c->output_grads[0], c->op->inputs[0], NULL);
}

BD_OP(ScatterNd) = {
    .signature = "(indices: Tindices, updates: T, shape: Tindices) -> (output: T)",
    .attrs = "T:type; Tindices:type{int16,int32,int64}" BD_BAD_INDICES_ATTR,
    .shape = scatter_nd_shape,
    .gradient = scatter_nd_gradient,
    .kernels = BD_KERNELS({.types = BD_UPDATE_TYPES_OF("T") "|bool|string", .run = scatter_nd_run}),
    .doc = "A tensor of zeros with updates added to the slices that rows of `indices` address.",
};

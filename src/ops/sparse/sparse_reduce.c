// SparseReduceSum and SparseReduceMax: sums and maxima over dimensions of a sparse tensor, dense or sparse
// again.
#include "base/alloc.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/grad_steps.h"
#include "ops/sparse/sparse.h"
#include "ops/state/variable.h"

#include <string.h>

// The removed and the remaining dimensions.
typedef struct reduction {
    bool is_reduced[BRAID_RANK_MAX];
    int order[BRAID_RANK_MAX]; // the remaining dimensions, then the removed ones
    int kept;
    bool keeps_dims;
    braid_shape shape; // of the result
} reduction;

static void plan_reduction(reduction *r, const braid_shape *of, bool keep_dims)
{
    int gone = 0;
    r->kept = 0;
    r->keeps_dims = keep_dims;
    r->shape.rank = 0;
    for (int d = 0; d < of->rank; d++) {
        if (!r->is_reduced[d]) r->order[r->kept++] = d;
        if (keep_dims || !r->is_reduced[d])
            r->shape.dims[r->shape.rank++] = r->is_reduced[d] ? 1 : of->dims[d];
    }
    for (int d = 0; d < of->rank; d++)
        if (r->is_reduced[d]) r->order[r->kept + gone++] = d;
}

static braid_code reduce_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    reduction r = {0};
    braid_shape shape;
    const braid_tensor *axes = bd_shape_ctx_constant(c, 3);
    if (!axes || !bd_shape_ctx_constant_shape(c, 2, &shape) || shape.rank < 0) return BRAID_OK;
    for (int64_t i = 0; i < bd_tensor_count(axes); i++) {
        int64_t axis = bd_tensor_index(axes, i);
        if (axis < -shape.rank || axis >= shape.rank) return BRAID_OK; // refused when it runs
        r.is_reduced[axis < 0 ? axis + shape.rank : axis] = true;
    }
    plan_reduction(&r, &shape, bd_node_attr_bool(c->node, "keep_dims"));
    c->outputs[0] = r.shape;
    return BRAID_OK;
}

static bool read_axes(bd_op_ctx *c, int rank, reduction *r)
{
    const braid_tensor *axes = bd_input(c, 3);
    if (axes->shape.rank > 1) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Expected reduction_axes to be a scalar or a vector; got shape: %s",
                   bd_shape_str(&axes->shape, text));
        return false;
    }
    for (int64_t i = 0; i < bd_tensor_count(axes); i++) {
        int64_t axis = bd_tensor_index(axes, i);
        if (axis < -rank || axis >= rank) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Invalid reduction dimension %lld, for input with %d dimensions.", (long long)axis,
                       rank);
            return false;
        }
        r->is_reduced[axis < 0 ? axis + rank : axis] = true;
    }
    return true;
}

// ---- Groups ----

// Entries that are reduced to one element: rows[from] to rows[to - 1], alike in the dimensions that stay.
typedef struct groups {
    const bd_sparse *s;
    const reduction *r;
    const int64_t *rows; // all entries, by the dimensions that stay
    bd_update_fn update;
} groups;

static int64_t group_end(const groups *g, int64_t from)
{
    int64_t to = from + 1;
    for (; to < g->s->count && !bd_interrupted_at(to); to++) {
        const int64_t *a = bd_sparse_row(g->s, g->rows[from]), *b = bd_sparse_row(g->s, g->rows[to]);
        for (int k = 0; k < g->r->kept; k++)
            if (a[g->r->order[k]] != b[g->r->order[k]]) return to;
    }
    return to;
}

static void reduce_group(const groups *g, int64_t from, int64_t to, const braid_tensor *y, int64_t at)
{
    const braid_tensor *values = g->s->values;
    size_t size = braid_dtype_size(values->dtype);
    bd_elements_copy(y, at, values, g->rows[from], 1);
    for (int64_t i = from + 1; i < to && !bd_interrupted_at(i); i++)
        g->update((char *)y->data + (size_t)at * size, (const char *)values->data + (size_t)g->rows[i] * size,
                  1);
}

static void output_dense(bd_op_ctx *c, const groups *g)
{
    const reduction *r = g->r;
    int64_t strides[BRAID_RANK_MAX];
    if (!bd_sparse_check_bounds(c, g->s)) return;
    braid_tensor *y = bd_output(c, 0, g->s->values->dtype, &r->shape);
    if (!y) return;
    if (bd_tensor_count(y) > 0) memset(y->data, 0, (size_t)bd_tensor_count(y) * braid_dtype_size(y->dtype));
    bd_row_strides(&r->shape, strides);
    for (int64_t from = 0, to; from < g->s->count && !bd_interrupted(); from = to) {
        const int64_t *index = bd_sparse_row(g->s, g->rows[from]);
        int64_t at = 0;
        to = group_end(g, from);
        for (int k = 0; k < r->kept; k++)
            at += index[r->order[k]] * strides[r->keeps_dims ? r->order[k] : k];
        reduce_group(g, from, to, y, at);
    }
}

static void output_sparse(bd_op_ctx *c, const groups *g)
{
    const reduction *r = g->r;
    int64_t count = 0;
    for (int64_t from = 0; from < g->s->count && !bd_interrupted(); from = group_end(g, from))
        count++;
    int64_t *at = bd_output_sparse_indices(c, 0, count, r->shape.rank);
    braid_tensor *y = at ? bd_output_sparse_values(c, 1, g->s->values->dtype, count) : NULL;
    if (!y || !bd_output_sparse_shape(c, 2, &r->shape)) return;
    for (int64_t from = 0, to, i = 0; from < g->s->count && !bd_interrupted();
         from = to, i++, at += r->shape.rank) {
        const int64_t *index = bd_sparse_row(g->s, g->rows[from]);
        to = group_end(g, from);
        for (int d = 0; d < r->shape.rank; d++)
            at[d] = 0;
        for (int k = 0; k < r->kept; k++)
            at[r->keeps_dims ? r->order[k] : k] = index[r->order[k]];
        reduce_group(g, from, to, y, i);
    }
}

static void reduce_run(bd_op_ctx *c, bd_update_op op, void (*output)(bd_op_ctx *c, const groups *g))
{
    BD_SPARSE(s);
    reduction r = {0};
    if (!bd_sparse_input(c, 0, 1, 2, &s) || !read_axes(c, s.shape.rank, &r) ||
        !bd_sparse_check_size(c, &s.shape))
        return;
    plan_reduction(&r, &s.shape, bd_node_attr_bool(c->node, "keep_dims"));
    int64_t *rows = bd_sparse_order(c, &s, r.order);
    if (rows)
        output(c,
               &(groups){.s = &s, .r = &r, .rows = rows, .update = bd_update_function(s.values->dtype, op)});
    bd_free(rows);
}

static void sum_run(bd_op_ctx *c)
{
    reduce_run(c, BD_UPDATE_ADD, output_dense);
}

static void max_run(bd_op_ctx *c)
{
    reduce_run(c, BD_UPDATE_MAX, output_dense);
}

static void sum_sparse_run(bd_op_ctx *c)
{
    reduce_run(c, BD_UPDATE_ADD, output_sparse);
}

static void max_sparse_run(bd_op_ctx *c)
{
    reduce_run(c, BD_UPDATE_MAX, output_sparse);
}

// ---- Gradient ----

static braid_out cast(braid_graph *g, braid_out x, const char *name, braid_dtype to)
{
    braid_op_desc *d = braid_op_begin(g, "Cast", name);
    braid_op_input(d, x);
    braid_op_attr_type(d, "DstT", to);
    return braid_op_end_out(d);
}

// The shape with 1 for reduced dimensions (TensorFlow's reduced_shape): stitched from the shape and ones at
// the axes.
static braid_out reduced_shape(braid_graph *g, braid_out shape, braid_out axes)
{
    braid_out sizes = cast(g, shape, "ToInt32", BRAID_INT32);
    braid_out rank = bd_grad_size(g, sizes);
    axes = bd_b2(g, "FloorMod", "mod", bd_b2(g, "Add", "add", axes, rank), rank);
    braid_out places[2] = {bd_grad_range(g, rank, 1), axes};
    braid_out ones = bd_b2(g, "Fill", NULL, bd_b_shape(g, "Shape", axes), bd_b_const_i32(g, "Fill/value", 1));
    braid_op_desc *d = braid_op_begin(g, "DynamicStitch", NULL);
    braid_op_input_list(d, places, 2);
    braid_op_input_list(d, (braid_out[]){sizes, ones}, 2);
    return braid_op_end_out(d);
}

// Each entry gets the gradient of the element it went to.
static void sum_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out shape = braid_op_get_input(c->op, 2);
    braid_out kept = reduced_shape(g, shape, braid_op_get_input(c->op, 3));
    braid_out grad = bd_b2(g, "Reshape", NULL, c->output_grads[0], kept);
    braid_out scale = bd_b2(g, "FloorDiv", "floordiv", shape, cast(g, kept, NULL, BRAID_INT64));
    braid_out indices = bd_b2(g, "FloorDiv", "floordiv", braid_op_get_input(c->op, 0), scale);
    c->input_grads[1] = bd_b2(g, "GatherNd", NULL, grad, indices);
}

#define INPUTS "(input_indices: int64, input_values: T, input_shape: int64, reduction_axes: int32) -> "
#define SPARSE_OUTPUTS "(output_indices: int64, output_values: T, output_shape: int64)"
#define KERNEL(TYPES, RUN) BD_KERNELS({.types = TYPES("T"), .flags = BD_KERNEL_EXPENSIVE, .run = (RUN)})

BD_OP(SparseReduceSum) = {
    .signature = INPUTS "(output: T)",
    .attrs = "keep_dims:bool=false; T:type{number}",
    .shape = reduce_shape,
    .gradient = sum_gradient,
    .kernels = KERNEL(BD_UPDATE_TYPES_OF, sum_run),
    .doc = "The sums of a sparse tensor's entries over some dimensions, as a dense tensor.",
    .deviation = "An index out of bounds is an error.",
};

BD_OP(SparseReduceMax) = {
    .signature = INPUTS "(output: T)",
    .attrs = "keep_dims:bool=false; T:type{realnumber}",
    .shape = reduce_shape,
    .kernels = KERNEL(BD_UPDATE_REAL_TYPES_OF, max_run),
    .doc = "The largest of a sparse tensor's entries over some dimensions, as a dense tensor; 0 where there "
           "is no entry.",
    .deviation = "An index out of bounds is an error.",
};

BD_OP(SparseReduceSumSparse) = {
    .signature = INPUTS SPARSE_OUTPUTS,
    .attrs = "keep_dims:bool=false; T:type{number}",
    .shape = bd_shape_fn_none,
    .kernels = KERNEL(BD_UPDATE_TYPES_OF, sum_sparse_run),
    .doc = "The sums of a sparse tensor's entries over some dimensions, as a sparse tensor.",
};

BD_OP(SparseReduceMaxSparse) = {
    .signature = INPUTS SPARSE_OUTPUTS,
    .attrs = "keep_dims:bool=false; T:type{realnumber}",
    .shape = bd_shape_fn_none,
    .kernels = KERNEL(BD_UPDATE_REAL_TYPES_OF, max_sparse_run),
    .doc = "The largest of a sparse tensor's entries over some dimensions, as a sparse tensor.",
};

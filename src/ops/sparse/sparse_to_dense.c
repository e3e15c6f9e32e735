// SparseToDense: a tensor from the places and values of some of its elements.
#include "base/interrupt.h"
#include "base/strbuf.h"
#include "graph/grad.h"
#include "ops/common/element.h"
#include "ops/common/grad_steps.h"

static braid_code sparse_to_dense_shape(bd_shape_ctx *c, braid_status *st)
{
    return bd_shape_ctx_from_input(c, 1, st);
}

// How the indices are laid out: a scalar is one place in a vector, a vector several, a matrix one place a
// row.
typedef struct places {
    int64_t count, width;
} places;

static bool read_places(bd_op_ctx *c, int rank, places *p)
{
    const braid_tensor *indices = bd_input(c, 0), *values = bd_input(c, 2);
    const braid_shape *s = &indices->shape;
    *p = (places){s->rank > 0 ? s->dims[0] : 1, s->rank > 1 ? s->dims[1] : 1};
    if (s->rank > 2) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "sparse_indices should be a scalar, vector, or matrix, got shape %s",
                   bd_shape_str(s, text));
    } else if (p->width != rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "output_shape has incorrect number of elements: %d should be: %lld", rank,
                   (long long)p->width);
    } else if (values->shape.rank > 1 || (values->shape.rank == 1 && values->shape.dims[0] != p->count)) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "sparse_values has incorrect shape %s, should be [] or [%lld]",
                   bd_shape_str(&values->shape, text), (long long)p->count);
    } else if (bd_input(c, 3)->shape.rank != 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "default_value should be a scalar.");
    }
    return !bd_op_failed(c);
}

// An error about row `i` of the indices: "indices[1] = [10] is out of bounds".
static void fail_place(bd_op_ctx *c, const places *p, int64_t i, const char *what, const braid_shape *bounds)
{
    char text[BD_SHAPE_STR_MAX];
    bd_strbuf index = {0};
    for (int64_t d = 0; d < p->width; d++)
        bd_strbuf_appendf(&index, "%s%lld", d > 0 ? "," : "",
                          (long long)bd_tensor_index(bd_input(c, 0), i * p->width + d));
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "indices[%lld] = [%s] is %s%s", (long long)i, bd_strbuf_str(&index),
               what, bounds ? bd_shape_str(bounds, text) : "");
    bd_strbuf_fini(&index);
}

// The element that row `i` of the indices names; -1: out of bounds, the kernel has failed.
static int64_t place_at(bd_op_ctx *c, const places *p, const braid_shape *out, int64_t i)
{
    int64_t at = 0;
    for (int d = 0; d < out->rank; d++) {
        int64_t index = bd_tensor_index(bd_input(c, 0), i * p->width + d);
        if (index < 0 || index >= out->dims[d]) {
            fail_place(c, p, i, "out of bounds: need 0 <= index < ", out);
            return -1;
        }
        at = at * out->dims[d] + index;
    }
    return at;
}

static void sparse_to_dense_run(bd_op_ctx *c)
{
    const braid_tensor *values = bd_input(c, 2);
    bool in_order = bd_node_attr_bool(c->node, "validate_indices");
    braid_shape out;
    places p;
    char text[BD_SHAPE_STR_MAX];
    if (bd_input(c, 1)->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "output_shape should be a vector, got shape %s",
                   bd_shape_str(&bd_input(c, 1)->shape, text));
        return;
    }
    if (!bd_input_shape(c, 1, "output_shape", &out) || !read_places(c, out.rank, &p)) return;
    braid_tensor *y = bd_output(c, 0, values->dtype, &out);
    if (!y) return;
    for (int64_t i = 0; i < bd_tensor_count(y) && !bd_interrupted_at(i); i++)
        bd_elements_copy(y, i, bd_input(c, 3), 0, 1);
    for (int64_t i = 0, last = -1; i < p.count && !bd_interrupted_at(i); i++) {
        int64_t at = place_at(c, &p, &out, i);
        if (at < 0) return;
        if (in_order && at <= last) {
            fail_place(c, &p, i, at == last ? "repeated" : "out of order", NULL);
            return;
        }
        last = at;
        bd_elements_copy(y, at, values, values->shape.rank ? i : 0, 1);
    }
}

// Reshapes the indices to one place a row: each has as many numbers as the output has dimensions.
static braid_out places_by_row(braid_graph *g, braid_out indices, braid_out output_shape)
{
    const braid_out layout[2] = {bd_b_const_i32(g, NULL, -1), bd_grad_size(g, output_shape)};
    braid_op_desc *d = braid_op_begin(g, "Pack", "stack");
    braid_op_input_list(d, layout, 2);
    return bd_b2(g, "Reshape", NULL, indices, braid_op_end_out(d));
}

// The values where they went; the default value everywhere else.
static void sparse_to_dense_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    const braid_out *in = c->op->inputs, grad = c->output_grads[0];
    braid_out values = bd_b2(g, "GatherNd", NULL, grad, places_by_row(g, in[0], in[1]));
    c->input_grads[2] = bd_grad_reshape_like(g, values, in[2]);
    c->input_grads[3] = bd_b2(g, "Sub", "sub", bd_grad_sum_all(g, grad), bd_grad_sum_all(g, values));
}

BD_OP(SparseToDense) = {
    .signature =
        "(sparse_indices: Tindices, output_shape: Tindices, sparse_values: T, default_value: T) -> (dense: T)",
    .attrs = "validate_indices:bool=true; T:type; Tindices:type{int32,int64}",
    .shape = sparse_to_dense_shape,
    .gradient = sparse_to_dense_gradient,
    .kernels = BD_KERNELS({.run = sparse_to_dense_run}),
    .doc = "A tensor of default_value but for the elements at sparse_indices, which are sparse_values.",
};

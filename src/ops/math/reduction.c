// Reductions over axes: Sum, Mean, Prod, Max, Min, All, Any.
#include "base/check.h"
#include "base/interrupt.h"
#include "graph/builder.h"
#include "graph/shape_fn.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"
#include "ops/common/grad_steps.h"

// ---- Which axes, and how the tensor is gone through ----

// Marks the axes that input 1 names. False: the kernel has failed.
static bool read_axes(bd_op_ctx *c, bool reduced[BRAID_RANK_MAX])
{
    const braid_tensor *axes = bd_input(c, 1);
    int rank = bd_input(c, 0)->shape.rank;
    int64_t n = bd_tensor_count(axes);
    for (int64_t i = 0; i < n; i++) {
        int64_t axis = bd_tensor_index(axes, i);
        if (axis < -rank || axis >= rank) {
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Invalid reduction dimension (%lld for input with %d dimension(s))", (long long)axis,
                       rank);
            return false;
        }
        reduced[axis < 0 ? axis + rank : axis] = true; // an axis may be named twice
    }
    return true;
}

// Runs of neighbouring axes that are all reduced or all kept. Axes of size 1 are left out.
typedef struct axis_runs {
    int count;
    int64_t sizes[BRAID_RANK_MAX];
    bool reduced[BRAID_RANK_MAX];
} axis_runs;

static axis_runs runs_of(const braid_shape *shape, const bool *reduced)
{
    axis_runs r = {0};
    for (int d = 0; d < shape->rank; d++) {
        if (shape->dims[d] == 1) continue;
        if (r.count == 0 || r.reduced[r.count - 1] != reduced[d]) {
            r.sizes[r.count] = 1;
            r.reduced[r.count++] = reduced[d];
        }
        r.sizes[r.count - 1] *= shape->dims[d];
    }
    return r;
}

static bool any_reduced(const axis_runs *r)
{
    for (int i = 0; i < r->count; i++) {
        if (r->reduced[i]) return true;
    }
    return false;
}

static int64_t product(const int64_t *sizes, int from, int to)
{
    int64_t p = 1;
    for (int i = from; i < to; i++)
        p *= sizes[i];
    return p;
}

static braid_shape reduced_shape(const braid_shape *in, const bool *reduced, bool keep_dims)
{
    braid_shape out = BD_SCALAR;
    for (int d = 0; d < in->rank; d++) {
        if (!reduced[d]) {
            out.dims[out.rank++] = in->dims[d];
        } else if (keep_dims) {
            out.dims[out.rank++] = 1;
        }
    }
    return out;
}

// ---- Kernels ----

typedef struct reduction_state {
    bd_reduce_fn fn;
    bd_binary_fn divide; // for Mean
    bool keep_dims;
    bool is_wide; // Mean of int32 is computed in int64, so that the sum does not overflow
} reduction_state;

static void bind_reduction(const braid_op *node, bd_reduce_op op, bool is_mean, reduction_state *s)
{
    bd_number type = bd_number_of(bd_node_attr(node, "T") ? bd_node_attr_type(node, "T") : BRAID_BOOL);
    s->is_wide = is_mean && type == BD_I32;
    if (s->is_wide) type = BD_I64;
    s->fn = bd_reduce_loop(op, type);
    s->divide = is_mean ? bd_binary_loop(BD_DIV, type) : NULL;
    s->keep_dims = bd_node_attr_bool(node, "keep_dims");
    BD_ASSERT(s->fn);
}

// Reduces one run of axes after another, from the last: each pass is [outer, count, inner] -> [outer, inner].
// All passes but the last write to temporary tensors. Returns false when memory is exhausted.
static bool reduce_runs(const reduction_state *s, const braid_tensor *x, axis_runs r, braid_tensor *y)
{
    braid_tensor part = {0};
    const void *from = x->data;
    int left = 0;
    for (int i = 0; i < r.count; i++)
        left += r.reduced[i];
    bool ok = true;
    for (int i = r.count - 1; i >= 0 && ok; i--) {
        if (!r.reduced[i]) continue;
        int64_t outer = product(r.sizes, 0, i), inner = product(r.sizes, i + 1, r.count), count = r.sizes[i];
        braid_tensor next = {0};
        braid_shape next_shape = bd_shape1(outer * inner);
        ok = --left == 0 || bd_tensor_alloc(&next, x->dtype, &next_shape);
        if (ok) s->fn(from, left == 0 ? y->data : next.data, outer, count, inner);
        r.sizes[i] = 1;
        bd_tensor_fini(&part);
        bd_tensor_move(&part, &next);
        from = part.data;
    }
    bd_tensor_fini(&part);
    return ok;
}

static void divide_by_count(const reduction_state *s, int64_t count, braid_tensor *y)
{
    union {
        float f32;
        double f64;
        int64_t i64;
        float c64[2];
        double c128[2];
    } n = {.c128 = {0}};
    switch (y->dtype) {
    case BRAID_FLOAT: n.f32 = (float)count; break;
    case BRAID_DOUBLE: n.f64 = (double)count; break;
    case BRAID_COMPLEX64: n.c64[0] = (float)count; break;
    case BRAID_COMPLEX128: n.c128[0] = (double)count; break;
    default: n.i64 = count; break;
    }
    if (y->dtype != BRAID_INT64 || count != 0)
        s->divide(y->data, &n, y->data, bd_tensor_count(y), BD_SINGLE_Y);
}

// Returns false when memory is exhausted.
static bool reduce_to(const reduction_state *s, const braid_tensor *x, axis_runs runs, braid_tensor *y)
{
    if (!reduce_runs(s, x, runs, y)) return false;
    if (s->divide && bd_tensor_count(y) > 0) divide_by_count(s, bd_tensor_count(x) / bd_tensor_count(y), y);
    return true;
}

// The same for int32, computed in int64.
static bool reduce_wide(const reduction_state *s, const braid_tensor *x, axis_runs runs, braid_tensor *y)
{
    braid_tensor wide_x = {0}, wide_y = {0};
    bool ok =
        bd_tensor_alloc(&wide_x, BRAID_INT64, &x->shape) && bd_tensor_alloc(&wide_y, BRAID_INT64, &y->shape);
    for (int64_t i = 0; ok && i < bd_tensor_count(x) && !bd_interrupted_at(i); i++)
        bd_tensor_i64(&wide_x)[i] = bd_tensor_i32(x)[i];
    ok = ok && reduce_to(s, &wide_x, runs, &wide_y);
    for (int64_t i = 0; ok && i < bd_tensor_count(y) && !bd_interrupted_at(i); i++)
        bd_tensor_i32(y)[i] = (int32_t)bd_tensor_i64(&wide_y)[i];
    bd_tensor_fini(&wide_x);
    bd_tensor_fini(&wide_y);
    return ok;
}

static void reduction_run(bd_op_ctx *c)
{
    const reduction_state *s = c->state;
    const braid_tensor *x = bd_input(c, 0);
    bool reduced[BRAID_RANK_MAX] = {0};
    if (!read_axes(c, reduced)) return;
    braid_shape shape = reduced_shape(&x->shape, reduced, s->keep_dims);
    axis_runs runs = runs_of(&x->shape, reduced);
    if (!any_reduced(&runs)) { // only the shape changes
        braid_tensor same;
        bd_tensor_reshape(&same, x, &shape);
        bd_output_set(c, 0, &same);
        bd_tensor_fini(&same);
        return;
    }
    braid_tensor *y = bd_output(c, 0, x->dtype, &shape);
    if (!y) return;
    if (!(s->is_wide ? reduce_wide : reduce_to)(s, x, runs, y))
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when reducing a tensor");
}

#define REDUCTION(NAME, OP, IS_MEAN)                                                                         \
    static braid_code create_##NAME(const braid_op *node, void *state, braid_status *st)                     \
    {                                                                                                        \
        (void)st;                                                                                            \
        bind_reduction(node, OP, IS_MEAN, state);                                                            \
        return BRAID_OK;                                                                                     \
    }
REDUCTION(sum, BD_REDUCE_SUM, false)
REDUCTION(mean, BD_REDUCE_SUM, true)
REDUCTION(prod, BD_REDUCE_PROD, false)
REDUCTION(max, BD_REDUCE_MAX, false)
REDUCTION(min, BD_REDUCE_MIN, false)
REDUCTION(all, BD_REDUCE_ALL, false)
REDUCTION(any, BD_REDUCE_ANY, false)

// Max and Min of no elements are the least and the greatest value of the type.
#define REDUCTION_KERNEL(NAME, TYPES, FLAGS)                                                                 \
    BD_KERNELS({.types = (TYPES),                                                                            \
                .flags = BD_KERNEL_WIDENS | (FLAGS),                                                         \
                .state_size = sizeof(reduction_state),                                                       \
                .create = create_##NAME,                                                                     \
                .run = reduction_run})

// ---- Gradients ----

static braid_out product_of_all(braid_graph *g, braid_out x)
{
    return bd_b2(g, "Prod", NULL, x, bd_b_const_i32_vector(g, "Const", (int32_t[]){0}, 1));
}

static braid_out cast_to_int32(braid_graph *g, const char *name, braid_out x)
{
    if (bd_dtype_base(braid_out_dtype(x)) == BRAID_INT32) return x;
    braid_op_desc *cast = braid_op_begin(g, "Cast", name);
    braid_op_input(cast, x);
    braid_op_attr_type(cast, "DstT", BRAID_INT32);
    return braid_op_end_out(cast);
}

// math_ops.reduced_shape: the output's shape as if the reduced axes (of int32) were kept with size 1.
static braid_out kept_dims(braid_graph *g, braid_out input_shape, braid_out axes)
{
    braid_out rank = bd_grad_size(g, input_shape);
    axes = bd_b2(g, "FloorMod", "mod", bd_b2(g, "AddV2", "add", axes, rank), rank);
    braid_out axes_shape = bd_b_shape(g, "Shape", axes);
    braid_out indices[2] = {bd_grad_range(g, rank, 1), axes};
    const char *scope = braid_push_name_scope(g, "Fill");
    braid_out ones = bd_b2(g, "Fill", scope, axes_shape, bd_b_const_i32(g, "value", 1));
    braid_pop_name_scope(g);
    braid_out data[2] = {input_shape, ones};
    braid_op_desc *stitch = braid_op_begin(g, "DynamicStitch", NULL);
    braid_op_input_list(stitch, indices, 2);
    braid_op_input_list(stitch, data, 2);
    return braid_op_end_out(stitch);
}

static braid_out kept_dims_shape(bd_grad_ctx *c, braid_out input_shape)
{
    return kept_dims(c->graph, input_shape, cast_to_int32(c->graph, "Cast", c->op->inputs[1]));
}

// math_grad._safe_shape_div: x // maximum(y, 1)
static braid_out safe_divide(braid_graph *g, braid_out x, braid_out y)
{
    return bd_b2(g, "FloorDiv", "floordiv", x, bd_grad_number_right(g, "Maximum", "Maximum", y, 1));
}

static bool reduces_all(bd_grad_ctx *c)
{
    int rank = braid_out_shape(c->op->inputs[0]).rank;
    bd_shape_ctx shape = {.node = c->op, .input_count = c->op->input_count};
    const braid_tensor *axes = rank < 0 ? NULL : bd_shape_ctx_constant(&shape, 1);
    if (!axes || axes->shape.rank != 1 || axes->shape.dims[0] != rank) return false;
    for (int i = 0; i < rank; i++) {
        if (bd_tensor_index(axes, i) != i) return false;
    }
    return true;
}

// Full reduction of a tensor of known rank: tile(reshape(grad, [1, 1, ..]), shape)
static braid_out spread_over_all(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = c->op->inputs[0];
    braid_shape shape = braid_out_shape(x);
    int32_t sizes[BRAID_RANK_MAX];
    for (int i = 0; i < shape.rank; i++)
        sizes[i] = 1;
    const char *scope = braid_push_name_scope(g, "Reshape");
    braid_out ones = bd_b_const_i32_vector(g, "shape", sizes, shape.rank);
    braid_out grad = bd_b2(g, "Reshape", scope, c->output_grads[0], ones);
    braid_pop_name_scope(g);
    if (!bd_shape_is_known(&shape)) return bd_b2(g, "Tile", NULL, grad, bd_b_shape(g, "Shape", x));
    for (int i = 0; i < shape.rank; i++)
        sizes[i] = (int32_t)shape.dims[i];
    return bd_b2(g, "Tile", NULL, grad, bd_b_const_i32_vector(g, "Const", sizes, shape.rank));
}

// A shape known before the graph runs, whose reduction along `axes` keeps `kept`.
typedef struct static_reduction {
    braid_shape input, kept;
    const braid_tensor *axes;
} static_reduction;

static bool is_static(bd_grad_ctx *c, static_reduction *r)
{
    bd_shape_ctx shape = {.node = c->op, .input_count = c->op->input_count};
    r->input = r->kept = braid_out_shape(c->op->inputs[0]);
    r->axes = bd_shape_is_known(&r->input) ? bd_shape_ctx_constant(&shape, 1) : NULL;
    for (int64_t i = 0; r->axes && i < bd_tensor_count(r->axes); i++) {
        const int64_t axis = bd_tensor_index(r->axes, i);
        if (axis < -r->input.rank || axis >= r->input.rank) return false;
        r->kept.dims[axis < 0 ? axis + r->input.rank : axis] = 1;
    }
    return r->axes != NULL;
}

// The first reduction of a shape along axes in a graph adds the nodes that compute the kept shape and the
// multiples, as TensorFlow does; nothing reads them.
static void note_reduction(braid_graph *g, const static_reduction *r)
{
    bd_strbuf key = {0};
    bd_strbuf_append(&key, "reduced_shape ");
    bd_shape_print(&r->input, &key);
    const int count = (int)bd_tensor_count(r->axes);
    int32_t axes[BRAID_RANK_MAX] = {0};
    for (int i = 0; i < count && i < BRAID_RANK_MAX; i++) {
        axes[i] = (int32_t)bd_tensor_index(r->axes, i);
        bd_strbuf_appendf(&key, " %d", axes[i]);
    }
    const bool is_first = count <= BRAID_RANK_MAX && bd_builder_is_first(g, bd_strbuf_str(&key));
    bd_strbuf_fini(&key);
    if (!is_first) return;
    braid_push_name_scope(g, "Cast");
    const braid_out input = bd_grad_const_shape(g, "x", &r->input);
    braid_pop_name_scope(g);
    braid_push_name_scope(g, "Cast");
    const braid_out reduced = bd_b_const_i32_vector(g, "x", axes, count);
    braid_pop_name_scope(g);
    kept_dims(g, input, reduced);
    const char *scope = braid_push_name_scope(g, "Maximum");
    const braid_out kept = bd_grad_const_shape(g, "x", &r->kept);
    const braid_out least = bd_b2(g, "Maximum", scope, kept, bd_b_const_i32(g, "y", 1));
    braid_pop_name_scope(g);
    scope = braid_push_name_scope(g, "floordiv");
    bd_b2(g, "FloorDiv", scope, bd_grad_const_shape(g, "x", &r->input), least);
    braid_pop_name_scope(g);
}

// tile(reshape(grad, kept), input / kept)
static braid_out spread_static(bd_grad_ctx *c, const static_reduction *r)
{
    braid_graph *g = c->graph;
    int32_t kept[BRAID_RANK_MAX] = {0}, multiples[BRAID_RANK_MAX] = {0};
    for (int d = 0; d < r->input.rank; d++) {
        kept[d] = (int32_t)r->kept.dims[d];
        multiples[d] = (int32_t)(r->input.dims[d] / (kept[d] > 1 ? kept[d] : 1));
    }
    note_reduction(g, r);
    const braid_out grad = bd_grad_with_ints(g, "Reshape", c->output_grads[0], "shape", kept, r->input.rank);
    return bd_grad_with_ints(g, "Tile", grad, "multiples", multiples, r->input.rank);
}

static void sum_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    static_reduction fixed;
    if (reduces_all(c)) {
        c->input_grads[0] = spread_over_all(c);
        return;
    }
    if (is_static(c, &fixed)) {
        c->input_grads[0] = spread_static(c, &fixed);
        return;
    }
    braid_out input_shape = bd_b_shape(g, "Shape", c->op->inputs[0]);
    braid_push_colocate(g, input_shape.op);
    braid_out kept = kept_dims_shape(c, input_shape);
    braid_out multiples = safe_divide(g, input_shape, kept);
    braid_pop_colocate(g);
    braid_out grad = bd_b2(g, "Reshape", NULL, c->output_grads[0], kept);
    c->input_grads[0] = bd_b2(g, "Tile", NULL, grad, multiples);
}

// The number of elements in each mean: a Const when both shapes are known.
static braid_out mean_count(bd_grad_ctx *c, braid_dtype type)
{
    braid_graph *g = c->graph;
    const braid_shape input = braid_out_shape(c->op->inputs[0]);
    const braid_shape output = braid_out_shape(braid_output(c->op, 0));
    if (bd_shape_is_known(&input) && bd_shape_is_known(&output)) {
        const int64_t means = bd_shape_count(&output);
        const int64_t each = bd_shape_count(&input) / (means > 1 ? means : 1);
        return bd_b_const_f(g, "Const", type, (double)each);
    }
    braid_out input_shape = bd_b_shape(g, "Shape", c->op->inputs[0]);
    braid_out output_shape = bd_b_shape(g, "Shape", braid_output(c->op, 0));
    braid_out inputs = product_of_all(g, input_shape);
    braid_op_desc *cast = braid_op_begin(g, "Cast", NULL);
    braid_op_input(cast, safe_divide(g, inputs, product_of_all(g, output_shape)));
    braid_op_attr_type(cast, "DstT", type);
    return braid_op_end_out(cast);
}

// Sum's gradient divided by the number of elements in each mean.
static void mean_gradient(bd_grad_ctx *c)
{
    sum_gradient(c);
    const braid_out count = mean_count(c, bd_dtype_base(braid_out_dtype(c->output_grads[0])));
    c->input_grads[0] = bd_b2(c->graph, "RealDiv", "truediv", c->input_grads[0], count);
}

// The axes, reduced ones first, then the kept ones, and the number of elements of either group.
typedef struct axis_order {
    braid_out perm, reduced_count, other_count;
} axis_order;

static axis_order order_axes(bd_grad_ctx *c, braid_out input_shape, braid_out axes)
{
    braid_graph *g = c->graph;
    axis_order order;
    braid_out rank = bd_grad_rank(g, c->op->inputs[0]);
    braid_out reduced = bd_b2(g, "FloorMod", "mod", bd_b2(g, "Add", "add", axes, rank), rank);
    braid_out other = bd_b2(g, "ListDiff", NULL, bd_grad_range(g, rank, 1), reduced);
    order.perm = bd_grad_concat(g, (braid_out[]){reduced, other}, 2, 0);
    order.reduced_count = product_of_all(g, bd_b2(g, "Gather", NULL, input_shape, reduced));
    order.other_count = product_of_all(g, bd_b2(g, "Gather", NULL, input_shape, other));
    return order;
}

static braid_out exclusive_product(braid_graph *g, braid_out x, bool reverse)
{
    const char *scope = braid_push_name_scope(g, "Cumprod");
    braid_out axis = bd_b_const_i32(g, "axis", 0);
    braid_op_desc *d = braid_op_begin(g, "Cumprod", scope);
    braid_op_input(d, x);
    braid_op_input(d, axis);
    braid_op_attr_bool(d, "exclusive", true);
    braid_op_attr_bool(d, "reverse", reverse);
    braid_out out = braid_op_end_out(d);
    braid_pop_name_scope(g);
    return out;
}

// The gradient of an element is the product of the other elements: (product of those before) * (product of
// those after). This is right also where elements are 0.
static void prod_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = c->op->inputs[0], input_shape = bd_b_shape(g, "Shape", x);
    braid_out axes = cast_to_int32(g, "ToInt32", bd_grad_flatten(g, c->op->inputs[1]));
    braid_out kept = kept_dims_shape(c, input_shape);
    braid_out multiples = safe_divide(g, input_shape, kept);
    braid_out grad = bd_b2(g, "Tile", NULL, bd_b2(g, "Reshape", NULL, c->output_grads[0], kept), multiples);
    axis_order order = order_axes(c, input_shape, axes);
    braid_out permuted = bd_b2(g, "Transpose", "transpose", x, order.perm);
    braid_op_desc *d = braid_op_begin(g, "Pack", "Reshape/shape");
    braid_op_input_list(d, (braid_out[]){order.reduced_count, order.other_count}, 2);
    braid_out columns = bd_b2(g, "Reshape", NULL, permuted, braid_op_end_out(d));
    braid_out others = bd_grad_mul(g, bd_grad_conj(g, exclusive_product(g, columns, false)),
                                   bd_grad_conj(g, exclusive_product(g, columns, true)));
    others = bd_b2(g, "Reshape", NULL, others, bd_b_shape(g, "Shape", permuted));
    others = bd_b2(g, "Transpose", "transpose", others, bd_b1(g, "InvertPermutation", NULL, order.perm));
    c->input_grads[0] = bd_b2(g, "Reshape", NULL, bd_grad_mul(g, grad, others), input_shape);
}

// Elements that are equal to the extreme share the gradient.
static void extreme_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = c->op->inputs[0];
    braid_out kept = kept_dims_shape(c, bd_b_shape(g, "Shape", x));
    braid_out y = bd_b2(g, "Reshape", NULL, braid_output(c->op, 0), kept);
    braid_out grad = bd_b2(g, "Reshape", NULL, c->output_grads[0], kept);
    braid_op_desc *cast = braid_op_begin(g, "Cast", NULL);
    braid_op_input(cast, bd_b2(g, "Equal", NULL, y, x));
    braid_op_attr_type(cast, "DstT", bd_dtype_base(braid_out_dtype(grad)));
    braid_out chosen = braid_op_end_out(cast);
    braid_out count = bd_b2(g, "Reshape", NULL, bd_b2(g, "Sum", NULL, chosen, c->op->inputs[1]), kept);
    c->input_grads[0] = bd_grad_mul(g, bd_b2(g, "RealDiv", "truediv", chosen, count), grad);
}

// ---- Definitions ----

#define REDUCTION_SIGNATURE "(input: T, reduction_indices: Tidx) -> (output: T)"
#define REDUCTION_ATTRS "keep_dims:bool=false; T:type{number}; Tidx:type{int32,int64}=int32"

BD_OP(Sum) = {
    .signature = REDUCTION_SIGNATURE,
    .attrs = REDUCTION_ATTRS,
    .shape = bd_shape_fn_reduction,
    .gradient = sum_gradient,
    .kernels = REDUCTION_KERNEL(sum, BD_NUMBERS BD_AND_COMPLEX, 0),
    .doc = "Sums elements along the given axes.",
};

BD_OP(Mean) = {
    .signature = REDUCTION_SIGNATURE,
    .attrs = REDUCTION_ATTRS,
    .shape = bd_shape_fn_reduction,
    .gradient = mean_gradient,
    .kernels = REDUCTION_KERNEL(mean, BD_NUMBERS BD_AND_COMPLEX, 0),
    .doc = "The mean of elements along the given axes; NaN if there are no elements.",
};

BD_OP(Prod) = {
    .signature = REDUCTION_SIGNATURE,
    .attrs = REDUCTION_ATTRS,
    .shape = bd_shape_fn_reduction,
    .gradient = prod_gradient,
    .kernels = REDUCTION_KERNEL(prod, BD_NUMBERS BD_AND_COMPLEX, 0),
    .doc = "Multiplies elements along the given axes.",
};

BD_OP(Max) = {
    .signature = REDUCTION_SIGNATURE,
    .attrs = REDUCTION_ATTRS,
    .shape = bd_shape_fn_reduction,
    .gradient = extreme_gradient,
    .kernels = REDUCTION_KERNEL(max, BD_NUMBERS, BD_KERNEL_CLAMPS),
    .doc = "The greatest element along the given axes; the least value of the type if there are no elements.",
};

BD_OP(Min) = {
    .signature = REDUCTION_SIGNATURE,
    .attrs = REDUCTION_ATTRS,
    .shape = bd_shape_fn_reduction,
    .gradient = extreme_gradient,
    .kernels = REDUCTION_KERNEL(min, BD_NUMBERS, BD_KERNEL_CLAMPS),
    .doc = "The least element along the given axes; the greatest value of the type if there are no elements.",
};

BD_OP(All) = {
    .signature = "(input: bool, reduction_indices: Tidx) -> (output: bool)",
    .attrs = "keep_dims:bool=false; Tidx:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_reduction,
    .kernels = REDUCTION_KERNEL(all, NULL, 0),
    .doc = "Whether all elements along the given axes are true.",
};

BD_OP(Any) = {
    .signature = "(input: bool, reduction_indices: Tidx) -> (output: bool)",
    .attrs = "keep_dims:bool=false; Tidx:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = bd_shape_fn_reduction,
    .kernels = REDUCTION_KERNEL(any, NULL, 0),
    .doc = "Whether any element along the given axes is true.",
};

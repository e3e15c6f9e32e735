// Compression of gradients between a worker and the parameter servers: rounding to half or bfloat16, and the
// k greatest elements with error feedback. The header has the equations and their sources.
//
// The nodes of top_k for a variable V of n elements, in one step:
//
//     worker:            residual += reshape(gradient, [n])
//                        indices = top_k(|residual|);  values = gather(residual, indices)
//                        residual[indices] = 0, after `values`, which are sent after this
//     parameter server:  gradient = reshape(scatter(indices, values, [n]), shape of V)
#include <braid/gradient_compression.h>

#include "train/common/build.h"
#include "train/variables/variable_internal.h"
#include "train/variables/variable_store.h"
#include <math.h>
#include <string.h>

// The number of elements; -1 when it is not known.
static int64_t size_of(braid_shape shape)
{
    int64_t size = shape.rank < 0 ? -1 : 1;
    for (int i = 0; i < shape.rank && size >= 0; i++) {
        if (shape.dims[i] < 0 || __builtin_mul_overflow(size, shape.dims[i], &size)) size = -1;
    }
    return size;
}

static braid_dtype dtype_of(braid_out value)
{
    return train_base_dtype(braid_out_dtype(value));
}

static bool is_floating(const braid_grad_and_var *pair)
{
    const braid_dtype dtype = dtype_of(pair->grad);
    return dtype == BRAID_FLOAT || dtype == BRAID_DOUBLE;
}

// ---- Rounding ----

static void round_to(braid_graph *g, braid_op *here, braid_dtype wire, braid_grad_and_var *pair)
{
    const braid_dtype dtype = dtype_of(pair->grad);
    braid_push_colocate(g, here);
    const braid_out rounded = braid_cast(g, pair->grad, wire);
    braid_pop_colocate(g);
    braid_push_colocate(g, pair->var.op);
    pair->grad = braid_cast(g, rounded, dtype);
    braid_pop_colocate(g);
}

// ---- The k greatest elements ----

typedef struct sent {
    braid_out indices, values;
} sent;

static braid_out flat(braid_graph *g, braid_out x, int64_t size)
{
    return train_node2(g, "Reshape", NULL, x, train_const_shape(g, "size", BRAID_SHAPE(size)));
}

static braid_variable make_residual(braid_graph *g, braid_dtype dtype, int64_t size)
{
    const char *scope = braid_push_name_scope(g, "residual");
    const train_variable_spec spec = {.collection = BRAID_LOCAL_VARIABLES};
    const braid_variable residual =
        train_make_variable(g, scope, braid_zeros(g, dtype, BRAID_SHAPE(size)), &spec);
    braid_pop_name_scope(g);
    return residual;
}

// The positions of the k greatest elements, in rising order or that of their magnitudes.
static braid_out greatest(braid_graph *g, braid_out x, int64_t k)
{
    braid_op_desc *d = braid_op_begin(g, "TopKV2", NULL);
    braid_op_input(d, train_node1(g, "Abs", NULL, x));
    braid_op_input(d, braid_const_int32(g, "k", (int32_t)k));
    braid_op_attr_bool(d, "sorted", false);
    return braid_output(braid_op_end(d), 1);
}

// Takes the k greatest elements out of the residual, after it got the gradient. Their values are sent when
// the residual has lost them, so that a step that has ended has changed the residual, too.
static sent take(braid_graph *g, braid_out gradient, int64_t size, int64_t k)
{
    const braid_dtype dtype = dtype_of(gradient);
    const braid_variable residual = make_residual(g, dtype, size);
    if (!residual.ref.op) return (sent){0};
    const braid_out sum = braid_assign_add(g, residual.ref, flat(g, gradient, size));
    const braid_out indices = greatest(g, sum, k);
    const braid_out values = train_gather(g, NULL, sum, indices);
    if (!values.op) return (sent){0};
    braid_push_control(g, &values.op, 1);
    const braid_out zeros = braid_zeros(g, dtype, BRAID_SHAPE(k));
    const braid_out cleared = train_node3(g, "ScatterUpdate", NULL, residual.ref, indices, zeros);
    braid_pop_control(g);
    if (!cleared.op) return (sent){0};
    braid_push_control(g, &cleared.op, 1);
    const sent out = {.indices = indices, .values = braid_identity(g, "values", values)};
    braid_pop_control(g);
    return out;
}

static braid_out spread(braid_graph *g, const sent *s, int64_t size, braid_shape shape)
{
    const braid_out places = train_node2(g, "ExpandDims", NULL, s->indices, braid_const_int32(g, "axis", -1));
    const braid_out n = train_const_shape(g, "size", BRAID_SHAPE(size));
    const braid_out dense = train_node3(g, "ScatterNd", NULL, places, s->values, n);
    return train_node2(g, "Reshape", "gradient", dense, train_const_shape(g, "shape", shape));
}

static void take_greatest(braid_graph *g, braid_op *here, double fraction, braid_grad_and_var *pair)
{
    const braid_shape shape = braid_out_shape(train_typed(pair->var));
    const int64_t size = size_of(shape);
    if (size < 0 || size > INT32_MAX) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "compress_gradients: top_k needs a variable of at most 2147483647 elements, and "
                         "'%s' has %s",
                         braid_op_name(pair->var.op), size < 0 ? "a shape that is not fully known" : "more");
        return;
    }
    const int64_t k = (int64_t)ceil(fraction * (double)size);
    if (2 * k >= size) return; // with their positions they would be no smaller
    braid_push_colocate(g, here);
    const sent s = take(g, pair->grad, size, k);
    braid_pop_colocate(g);
    if (!s.values.op) return;
    braid_push_colocate(g, pair->var.op);
    pair->grad = spread(g, &s, size, shape);
    braid_pop_colocate(g);
}

// ---- Methods ----

typedef enum method {
    NONE,
    HALF,
    BFLOAT16,
    TOP_K,
    METHOD_COUNT
} method;

static const char *const names[METHOD_COUNT] = {"none", "half", "bfloat16", "top_k"};

static bool check(braid_graph *g, const braid_compression_options *o, method *m)
{
    *m = NONE;
    while (*m < METHOD_COUNT && o->method && strcmp(names[*m], o->method) != 0)
        ++*m;
    if (*m == METHOD_COUNT) {
        braid_graph_fail(g, BRAID_INVALID_ARGUMENT,
                         "There is no compression of gradients '%s'. There are: none, half, bfloat16, top_k",
                         o->method);
        return false;
    }
    if (*m == TOP_K && !(o->fraction > 0 && o->fraction <= 1)) {
        braid_graph_fail(
            g, BRAID_INVALID_ARGUMENT,
            "compress_gradients: the fraction of top_k must be more than 0 and at most 1, not %g",
            o->fraction);
        return false;
    }
    return true;
}

static void compress(braid_graph *g, braid_op *here, method m, double fraction, braid_grad_and_var *pair)
{
    if (m == HALF) round_to(g, here, BRAID_HALF, pair);
    if (m == BFLOAT16) round_to(g, here, BRAID_BFLOAT16, pair);
    if (m == TOP_K && !pair->indices.op) take_greatest(g, here, fraction, pair);
}

void braid_compress_gradients(braid_graph *g, const braid_compression_options *options,
                              braid_grad_and_var *pairs, int count)
{
    method m;
    if (braid_graph_status(g, NULL) || !check(g, options, &m) || m == NONE) return;
    (void)braid_push_name_scope(g, "compress_gradients");
    braid_op *here = braid_no_op(g, NULL); // it takes the device of nodes that are no variables
    for (int i = 0; i < count; i++) {
        if (!pairs[i].grad.op || !pairs[i].var.op || !is_floating(&pairs[i])) continue;
        (void)braid_push_name_scope(g, braid_op_name(pairs[i].var.op));
        compress(g, here, m, options->fraction, &pairs[i]);
        braid_pop_name_scope(g);
    }
    braid_pop_name_scope(g);
}

// BatchMatMul, V2 and V3: products of the matrices in the last two dimensions; V2 and V3 broadcast the other
// dimensions.
#include "base/check.h"
#include "base/interrupt.h"
#include "graph/grad.h"
#include "kernels/gemm.h"
#include "ops/common/grad_steps.h"
#include "ops/linalg/matmul.h"

static bool broadcasts(const braid_op *node)
{
    return node->op_type[sizeof "BatchMatMul" - 1] == 'V';
}

// Sets the batch of the result; false when the operands' batches are incompatible.
static bool batch_of(const braid_op *node, const braid_shape *x, const braid_shape *y, braid_shape *out)
{
    braid_shape x_batch = *x, y_batch = *y;
    x_batch.rank -= 2;
    y_batch.rank -= 2;
    return broadcasts(node) ? bd_shape_broadcast(&x_batch, &y_batch, out)
                            : bd_shape_merge(&x_batch, &y_batch, out);
}

static braid_code batch_matmul_shape(bd_shape_ctx *c, braid_status *st)
{
    const braid_shape *x = &c->inputs[0], *y = &c->inputs[1];
    for (int i = 0; i < 2; i++) {
        int rank = c->inputs[i].rank;
        if (rank >= 0 && rank < 2)
            return bd_shape_ctx_fail(c, st, "Shape must be at least rank 2 but is rank %d", rank);
    }
    if (x->rank < 0 || y->rank < 0) return BRAID_OK;
    if (x->rank != y->rank && !broadcasts(c->node))
        return bd_shape_ctx_fail(c, st, "Shapes must be equal rank, but are %d and %d", x->rank, y->rank);
    bool tx = bd_node_attr_bool(c->node, "adj_x"), ty = bd_node_attr_bool(c->node, "adj_y");
    int64_t inner_x = x->dims[x->rank - (tx ? 2 : 1)], inner_y = y->dims[y->rank - (ty ? 1 : 2)];
    braid_shape out;
    if (!batch_of(c->node, x, y, &out)) {
        char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but the batches of %s and %s are not",
                                 bd_shape_str(x, a), bd_shape_str(y, b));
    }
    if (inner_x >= 0 && inner_y >= 0 && inner_x != inner_y)
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld", (long long)inner_x,
                                 (long long)inner_y);
    out.dims[out.rank++] = x->dims[x->rank - (tx ? 1 : 2)];
    out.dims[out.rank++] = y->dims[y->rank - (ty ? 2 : 1)];
    c->outputs[0] = out;
    return BRAID_OK;
}

static braid_code batch_matmul_create(const braid_op *node, void *state, braid_status *st)
{
    bd_matmul_state *s = state;
    braid_dtype type = node->output_types[0];
    s->transpose_a = bd_node_attr_bool(node, "adj_x");
    s->transpose_b = bd_node_attr_bool(node, "adj_y");
    s->type = bd_number_of(type);
    if (node->input_types[0] == type && node->input_types[1] == type) return BRAID_OK;
    return bd_fail(st, BRAID_UNIMPLEMENTED, "%s of %s and %s that gives %s: cast them to one type",
                   node->op_type, braid_dtype_name(node->input_types[0]),
                   braid_dtype_name(node->input_types[1]), braid_dtype_name(type));
}

// Checks the shapes and sets *batch to the result's dimensions before the last two.
static bool check_batches(bd_op_ctx *c, const bd_matmul_state *s, braid_shape *batch)
{
    const braid_shape *x = &bd_input(c, 0)->shape, *y = &bd_input(c, 1)->shape;
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    bd_shape_str(x, a);
    bd_shape_str(y, b);
    if (!broadcasts(c->node) && x->rank != y->rank) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "In[0] and In[1] has different ndims: %s vs. %s", a, b);
        return false;
    }
    if (x->rank < 2 || y->rank < 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "In[%d] ndims must be >= 2: In[0]: %s, In[1]: %s", x->rank >= 2,
                   a, b);
        return false;
    }
    int64_t columns = x->dims[x->rank - (s->transpose_a ? 2 : 1)],
            rows = y->dims[y->rank - (s->transpose_b ? 1 : 2)];
    if (!batch_of(c->node, x, y, batch)) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "In[0] and In[1] must have %s batch dimensions: %s vs. %s",
                   broadcasts(c->node) ? "compatible" : "the same", a, b);
    } else if (columns != rows) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "In[0] mismatch In[1] shape: %lld vs. %lld: %s %s %d %d",
                   (long long)columns, (long long)rows, a, b, s->transpose_a, s->transpose_b);
    }
    return !bd_op_failed(c);
}

int64_t bd_matmul_batch_at(const braid_shape *x, const braid_shape *batch, int64_t i)
{
    int64_t at = 0, stride = 1;
    for (int d = batch->rank - 1, k = x->rank - 3; k >= 0; d--, k--) {
        int64_t size = batch->dims[d];
        BD_ASSERT(size > 0); // matrices are not empty here
        if (x->dims[k] != 1) at += i % size * stride;
        i /= size;
        stride *= x->dims[k];
    }
    return at;
}

static void batch_matmul_run(bd_op_ctx *c)
{
    const bd_matmul_state *s = c->state;
    const braid_tensor *x = bd_input(c, 0), *y = bd_input(c, 1);
    braid_shape batch = BD_SCALAR, shape;
    if (!check_batches(c, s, &batch)) return;
    bd_gemm_shape g = {.m = x->shape.dims[x->shape.rank - (s->transpose_a ? 1 : 2)],
                       .k = x->shape.dims[x->shape.rank - (s->transpose_a ? 2 : 1)],
                       .n = y->shape.dims[y->shape.rank - (s->transpose_b ? 2 : 1)],
                       .transpose_a = s->transpose_a,
                       .transpose_b = s->transpose_b,
                       .conjugate_a = s->transpose_a,
                       .conjugate_b = s->transpose_b};
    shape = batch;
    shape.dims[shape.rank++] = g.m;
    shape.dims[shape.rank++] = g.n;
    BD_STATUS(st);
    int64_t count;
    if (bd_shape_checked_count(&shape, &count, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *out = bd_output(c, 0, x->dtype, &shape);
    if (!out || count == 0) return;
    int64_t size = (int64_t)braid_dtype_size(x->dtype);
    for (int64_t i = 0; i < bd_shape_count(&batch) && !bd_interrupted_at(i); i++)
        bd_gemm(s->type, &g, (char *)x->data + bd_matmul_batch_at(&x->shape, &batch, i) * g.m * g.k * size,
                (char *)y->data + bd_matmul_batch_at(&y->shape, &batch, i) * g.k * g.n * size,
                (char *)out->data + i * g.m * g.n * size);
}

// ---- Gradients ----

static void batch_matmul_gradient(bd_grad_ctx *c)
{
    bd_matmul_gradient(c, true, bd_node_attr_bool(c->op, "adj_x"), bd_node_attr_bool(c->op, "adj_y"));
}

static braid_out product(braid_graph *g, braid_out a, braid_out b, bool transpose_a, bool transpose_b)
{
    braid_op_desc *d = braid_op_begin(g, "BatchMatMulV2", "MatMul");
    braid_op_input(d, a);
    braid_op_input(d, b);
    braid_op_attr_bool(d, "adj_x", transpose_a);
    braid_op_attr_bool(d, "adj_y", transpose_b);
    return braid_op_end_out(d);
}

// shape[:-2]
static braid_out batch_part(braid_graph *g, braid_out shape)
{
    return bd_grad_slice(g, shape, &(bd_grad_index){.count = 1, .end = {-2}, .begin_mask = 1});
}

// As for BatchMatMul, then summed over the broadcast dimensions.
static void batch_matmul_v2_gradient(bd_grad_ctx *c)
{
    braid_graph *g = c->graph;
    braid_out x = c->op->inputs[0], y = c->op->inputs[1], grad = c->output_grads[0];
    bool tx = bd_node_attr_bool(c->op, "adj_x"), ty = bd_node_attr_bool(c->op, "adj_y");
    c->input_grads[0] = tx ? product(g, y, grad, ty, true) : product(g, grad, y, false, !ty);
    c->input_grads[1] = ty ? product(g, grad, x, true, tx) : product(g, x, grad, !tx, false);
    braid_shape x_shape = braid_out_shape(x), y_shape = braid_out_shape(y);
    if (bd_shape_is_known(&x_shape) && bd_shape_equal(&x_shape, &y_shape)) return;
    braid_out sx = bd_b_shape(g, "Shape", x), sy = bd_b_shape(g, "Shape", y);
    braid_out axes = bd_b2(g, "BroadcastGradientArgs", NULL, batch_part(g, sx), batch_part(g, sy));
    c->input_grads[0] = bd_b2(g, "Reshape", NULL, bd_b2(g, "Sum", NULL, c->input_grads[0], axes), sx);
    c->input_grads[1] =
        bd_b2(g, "Reshape", NULL, bd_b2(g, "Sum", NULL, c->input_grads[1], braid_output(axes.op, 1)), sy);
}

// ---- Definitions ----

#define BATCH_ATTRS                                                                                          \
    "T:type{bfloat16,complex128,complex64,double,float,half,int16,int32,int64,int8,uint16,uint8}; "          \
    "adj_x:bool=false; adj_y:bool=false; +grad_x:bool=false; +grad_y:bool=false"
#define BATCH_KERNELS                                                                                        \
    BD_KERNELS({.types = BD_NUMBERS BD_AND_COMPLEX,                                                          \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS,                                             \
                .state_size = sizeof(bd_matmul_state),                                                       \
                .create = batch_matmul_create,                                                               \
                .run = batch_matmul_run})

BD_OP(BatchMatMul) = {
    .signature = "(x: T, y: T) -> (output: T)",
    .attrs = BATCH_ATTRS,
    .shape = batch_matmul_shape,
    .gradient = batch_matmul_gradient,
    .kernels = BATCH_KERNELS,
    .doc = "Multiplies corresponding matrices in the last two dimensions of x and y.",
};

BD_OP(BatchMatMulV2) = {
    .signature = "(x: T, y: T) -> (output: T)",
    .attrs = BATCH_ATTRS,
    .shape = batch_matmul_shape,
    .gradient = batch_matmul_v2_gradient,
    .kernels = BATCH_KERNELS,
    .doc =
        "Multiplies the matrices in the last two dimensions of x and y; the other dimensions are broadcast.",
};

#define V3_TYPES "type{bfloat16,complex128,complex64,double,float,half,int16,int32,int64,int8,uint16,uint8}"
#define V3_KERNEL_TYPES "=float|double|int32|int64" BD_AND_COMPLEX

BD_OP(BatchMatMulV3) = {
    .signature = "(x: Ta, y: Tb) -> (output: Tout)",
    .attrs = "Ta:" V3_TYPES "; Tb:" V3_TYPES "; Tout:" V3_TYPES
             "; adj_x:bool=false; adj_y:bool=false; +grad_x:bool=false; +grad_y:bool=false",
    .shape = batch_matmul_shape,
    .gradient = batch_matmul_v2_gradient, // float types, where all inputs and the output have one type
    .kernels = BD_KERNELS({.types = "Ta" V3_KERNEL_TYPES "; Tb" V3_KERNEL_TYPES "; Tout" V3_KERNEL_TYPES,
                           .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS,
                           .state_size = sizeof(bd_matmul_state),
                           .create = batch_matmul_create,
                           .run = batch_matmul_run}),
    .doc = "BatchMatMulV2 whose output may have a wider type than narrow integer inputs.",
    .deviation = "Combinations of types that would need a conversion before the product are refused.",
};

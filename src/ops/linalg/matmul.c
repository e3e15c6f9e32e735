// MatMul: products of matrices, each of which may be transposed.
#include "ops/linalg/matmul.h"
#include "kernels/gemm.h"
#include "ops/common/grad_math.h"
#include "ops/common/window.h"

braid_code bd_matmul_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 2, st);
    if (!code) code = bd_shape_ctx_rank(c, 1, 2, st);
    if (code) return code;
    braid_shape unknown = bd_shape2(-1, -1);
    const braid_shape *a = c->inputs[0].rank < 0 ? &unknown : &c->inputs[0];
    const braid_shape *b = c->inputs[1].rank < 0 ? &unknown : &c->inputs[1];
    bool ta = bd_node_attr_bool(c->node, "transpose_a"), tb = bd_node_attr_bool(c->node, "transpose_b");
    int64_t inner_a = a->dims[ta ? 0 : 1], inner_b = b->dims[tb ? 1 : 0];
    if (inner_a >= 0 && inner_b >= 0 && inner_a != inner_b)
        return bd_shape_ctx_fail(c, st, "Dimensions must be equal, but are %lld and %lld", (long long)inner_a,
                                 (long long)inner_b);
    c->outputs[0] = bd_shape2(a->dims[ta ? 1 : 0], b->dims[tb ? 0 : 1]);
    return BRAID_OK;
}

// tf.matmul: a BatchMatMul unless one operand is known to be a matrix. MatMul transposes, BatchMatMul takes
// the adjoint. If the other is wanted (`adjoint`), complex numbers are conjugated in addition.
static braid_out product(braid_graph *g, bool adjoint, braid_out a, braid_out b, bool transpose_a,
                         bool transpose_b)
{
    bool batch = braid_out_shape(a).rank != 2 && braid_out_shape(b).rank != 2;
    if (batch != adjoint && transpose_a) a = bd_grad_conj(g, a);
    if (batch != adjoint && transpose_b) b = bd_grad_conj(g, b);
    braid_op_desc *d = braid_op_begin(g, batch ? "BatchMatMul" : "MatMul", "MatMul");
    braid_op_input(d, a);
    braid_op_input(d, b);
    braid_op_attr_bool(d, batch ? "adj_x" : "transpose_a", transpose_a);
    braid_op_attr_bool(d, batch ? "adj_y" : "transpose_b", transpose_b);
    return braid_op_end_out(d);
}

// With C = A B: dA = dC B', dB = A' dC; the products read their operands transposed (or adjoint).
void bd_matmul_gradient(bd_grad_ctx *c, bool adjoint, bool ta, bool tb)
{
    braid_graph *g = c->graph;
    braid_out a = c->op->inputs[0], b = c->op->inputs[1], grad = c->output_grads[0];
    if (!adjoint) {
        a = bd_grad_conj(g, a);
        b = bd_grad_conj(g, b);
    }
    c->input_grads[0] =
        ta ? product(g, adjoint, b, grad, tb, true) : product(g, adjoint, grad, b, false, !tb);
    c->input_grads[1] =
        tb ? product(g, adjoint, grad, a, true, ta) : product(g, adjoint, a, grad, !ta, false);
}

static void matmul_gradient(bd_grad_ctx *c)
{
    bool ta = bd_node_attr_bool(c->op, "transpose_a"), tb = bd_node_attr_bool(c->op, "transpose_b");
    bd_matmul_gradient(c, false, ta, tb);
}

void bd_matmul_bind(const braid_op *node, bd_matmul_state *s)
{
    s->transpose_a = bd_node_attr_bool(node, "transpose_a");
    s->transpose_b = bd_node_attr_bool(node, "transpose_b");
    s->type = bd_number_of(bd_node_attr_type(node, "T"));
    bd_primitive_cache_init(&s->cache);
}

void bd_matmul_unbind(bd_matmul_state *s)
{
    bd_primitive_cache_fini(&s->cache);
}

static braid_code matmul_create(const braid_op *node, void *state, braid_status *st)
{
    (void)st;
    bd_matmul_bind(node, state);
    return BRAID_OK;
}

static void matmul_destroy(void *state)
{
    bd_matmul_unbind(state);
}

static void multiply(bd_op_ctx *c, bd_matmul_state *s, const bd_gemm_shape *g, const bd_gemm_data *data)
{
    bd_primitive *p = s->type == BD_F32 ? bd_gemm_take(&s->cache, g) : NULL;
    if (bd_run_primitive(c, &s->cache, p, data)) return;
    const bd_op_team team = bd_op_team_of(c);
    bd_gemm_shared(s->type, g, data->a, data->b, data->c, &team.base);
}

braid_tensor *bd_matmul_compute(bd_op_ctx *c, bd_matmul_state *s)
{
    const braid_tensor *a = bd_input(c, 0), *b = bd_input(c, 1);
    char ta[BD_SHAPE_STR_MAX], tb[BD_SHAPE_STR_MAX];
    if (a->shape.rank != 2 || b->shape.rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "In[%d] is not a matrix: In[0]: %s, In[1]: %s",
                   a->shape.rank == 2, bd_shape_str(&a->shape, ta), bd_shape_str(&b->shape, tb));
        return NULL;
    }
    bd_gemm_shape g = {.m = a->shape.dims[s->transpose_a ? 1 : 0],
                       .k = a->shape.dims[s->transpose_a ? 0 : 1],
                       .n = b->shape.dims[s->transpose_b ? 0 : 1],
                       .transpose_a = s->transpose_a,
                       .transpose_b = s->transpose_b};
    if (g.k != b->shape.dims[s->transpose_b ? 1 : 0]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Matrix size-incompatible: In[0]: %s, In[1]: %s",
                   bd_shape_str(&a->shape, ta), bd_shape_str(&b->shape, tb));
        return NULL;
    }
    braid_shape shape = bd_shape2(g.m, g.n);
    braid_tensor *out = bd_output(c, 0, a->dtype, &shape);
    if (out) multiply(c, s, &g, &(bd_gemm_data){a->data, b->data, out->data});
    return out && !bd_op_failed(c) ? out : NULL;
}

static void matmul_run(bd_op_ctx *c)
{
    bd_matmul_compute(c, c->state);
}

BD_OP(MatMul) = {
    .signature = "(a: T, b: T) -> (product: T)",
    .attrs = BD_MATMUL_ATTRS
    "T:type{bfloat16,complex128,complex64,double,float,half,int16,int32,int64,uint16,uint8}; +grad_a:bool=false; "
    "+grad_b:bool=false",
    .shape = bd_matmul_shape,
    .gradient = matmul_gradient,
    .kernels = BD_KERNELS({.types = BD_NUMBERS BD_AND_COMPLEX,
                           .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS,
                           .state_size = sizeof(bd_matmul_state),
                           .create = matmul_create,
                           .destroy = matmul_destroy,
                           .run = matmul_run}),
    .doc = "Multiplies matrix a by matrix b; each may be transposed first.",
};

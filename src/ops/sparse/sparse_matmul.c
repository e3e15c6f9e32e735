// SparseMatMul: a product of matrices of float or bfloat16 that may be mostly zeros. It is computed as a
// dense product: the attrs about sparseness do not change the result.
#include "base/alloc.h"
#include "graph/grad.h"
#include "kernels/cast.h"
#include "kernels/gemm.h"
#include "ops/linalg/matmul.h"

// Returns the elements as floats; `made` must be freed. NULL: the kernel has failed.
static const float *as_floats(bd_op_ctx *c, int i, float **made)
{
    const braid_tensor *t = bd_input(c, i);
    if (t->dtype == BRAID_FLOAT) return bd_tensor_f32(t);
    int64_t n = bd_tensor_count(t);
    *made = bd_try_malloc((size_t)n * sizeof(float) + 1);
    if (*made) {
        bd_cast(BD_CAST_BFLOAT16, BD_CAST_F32)(t->data, *made, n);
    } else {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when widening a matrix");
    }
    return *made;
}

static void sparse_matmul_run(bd_op_ctx *c)
{
    const braid_shape *a = &bd_input(c, 0)->shape, *b = &bd_input(c, 1)->shape;
    char ta[BD_SHAPE_STR_MAX], tb[BD_SHAPE_STR_MAX];
    if (a->rank != 2 || b->rank != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s is not a matrix: a %s, b %s", a->rank == 2 ? "b" : "a",
                   bd_shape_str(a, ta), bd_shape_str(b, tb));
        return;
    }
    bool transpose_a = bd_node_attr_bool(c->node, "transpose_a"),
         transpose_b = bd_node_attr_bool(c->node, "transpose_b");
    bd_gemm_shape g = {.m = a->dims[transpose_a],
                       .k = a->dims[!transpose_a],
                       .n = b->dims[!transpose_b],
                       .transpose_a = transpose_a,
                       .transpose_b = transpose_b};
    if (g.k != b->dims[transpose_b]) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Matrix size incompatible: a: %s, b: %s", bd_shape_str(a, ta),
                   bd_shape_str(b, tb));
        return;
    }
    braid_shape shape = bd_shape2(g.m, g.n);
    float *made[2] = {0};
    const float *x = as_floats(c, 0, &made[0]), *y = bd_op_failed(c) ? NULL : as_floats(c, 1, &made[1]);
    braid_tensor *out = bd_op_failed(c) ? NULL : bd_output(c, 0, BRAID_FLOAT, &shape);
    if (out) bd_gemm(BD_F32, &g, x, y, out->data);
    bd_free(made[0]);
    bd_free(made[1]);
}

// A product for one operand's gradient. The operands keep their attrs about sparseness; the incoming gradient
// counts as dense unless Relu made it.
static braid_out product(bd_grad_ctx *c, braid_out a, bool a_sparse, bool ta, braid_out b, bool b_sparse,
                         bool tb, braid_dtype dtype)
{
    braid_op_desc *d = braid_op_begin(c->graph, "SparseMatMul", "MatMul");
    braid_op_input(d, a);
    braid_op_input(d, b);
    braid_op_attr_bool(d, "transpose_a", ta);
    braid_op_attr_bool(d, "transpose_b", tb);
    braid_op_attr_bool(d, "a_is_sparse", a_sparse);
    braid_op_attr_bool(d, "b_is_sparse", b_sparse);
    braid_out out = braid_op_end_out(d);
    if (dtype == BRAID_FLOAT) return out;
    d = braid_op_begin(c->graph, "Cast", NULL);
    braid_op_input(d, out);
    braid_op_attr_type(d, "DstT", dtype);
    return braid_op_end_out(d);
}

static void sparse_matmul_gradient(bd_grad_ctx *c)
{
    braid_out a = c->op->inputs[0], b = c->op->inputs[1], grad = c->output_grads[0];
    bool ta = bd_node_attr_bool(c->op, "transpose_a"), tb = bd_node_attr_bool(c->op, "transpose_b");
    bool sa = bd_node_attr_bool(c->op, "a_is_sparse"), sb = bd_node_attr_bool(c->op, "b_is_sparse");
    braid_dtype da = bd_dtype_base(braid_out_dtype(a)), db = bd_dtype_base(braid_out_dtype(b));
    c->input_grads[0] =
        ta ? product(c, b, sb, tb, grad, false, true, da) : product(c, grad, false, false, b, sb, !tb, da);
    c->input_grads[1] =
        tb ? product(c, grad, false, true, a, sa, ta, db) : product(c, a, sa, !ta, grad, false, false, db);
}

BD_OP(SparseMatMul) = {
    .signature = "(a: Ta, b: Tb) -> (product: float)",
    .attrs = BD_MATMUL_ATTRS
    "a_is_sparse:bool=false; b_is_sparse:bool=false; Ta:type{bfloat16,float}=float; Tb:type{bfloat16,float}=float",
    .shape = bd_matmul_shape,
    .gradient = sparse_matmul_gradient,
    .kernels = BD_KERNELS({.flags = BD_KERNEL_EXPENSIVE, .run = sparse_matmul_run}),
    .doc = "Multiplies matrix a by matrix b, of which one may be mostly zeros.",
};

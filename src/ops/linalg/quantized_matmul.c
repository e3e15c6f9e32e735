// QuantizedMatMul: the product of two matrices of quantized numbers, summed exactly in 32 bits.
#include "kernels/gemm.h"
#include "ops/common/quantized.h"
#include "ops/linalg/matmul.h"

static braid_code matmul_shape(bd_shape_ctx *c, braid_status *st)
{
    braid_code code = bd_matmul_shape(c, st);
    return code ? code : bd_quant_shape_ranges(c, 2, 6, st);
}

static bool check_matrix(bd_op_ctx *c, int i)
{
    if (bd_input(c, i)->shape.rank == 2) return true;
    char text[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "In[%d] is not a matrix: %s", i,
               bd_shape_str(&bd_input(c, i)->shape, text));
    return false;
}

// The sizes of the product. False: the kernel has failed.
static bool product_sizes(bd_op_ctx *c, bd_gemm_shape *g)
{
    if (!check_matrix(c, 0) || !check_matrix(c, 1)) return false;
    const braid_shape *a = &bd_input(c, 0)->shape, *b = &bd_input(c, 1)->shape;
    bool ta = bd_node_attr_bool(c->node, "transpose_a"), tb = bd_node_attr_bool(c->node, "transpose_b");
    *g = (bd_gemm_shape){.m = a->dims[ta ? 1 : 0],
                         .k = a->dims[ta ? 0 : 1],
                         .n = b->dims[tb ? 0 : 1],
                         .transpose_a = ta,
                         .transpose_b = tb};
    if (b->dims[tb ? 1 : 0] == g->k) return true;
    char s[BD_SHAPE_STR_MAX], t[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Matrix size-incompatible: In[0]: %s, In[1]: %s",
               bd_shape_str(a, s), bd_shape_str(b, t));
    return false;
}

static void matmul_run(bd_op_ctx *c)
{
    bd_quant_range of_a, of_b;
    bd_gemm_shape g;
    if (!bd_quant_input_wide_range(c, 2, "a", &of_a) || !bd_quant_input_wide_range(c, 4, "b", &of_b) ||
        !product_sizes(c, &g))
        return;
    const braid_tensor *a = bd_input(c, 0), *b = bd_input(c, 1);
    braid_tensor x, y, *out = bd_output(c, 0, BRAID_QINT32, &(braid_shape){.rank = 2, .dims = {g.m, g.n}});
    bd_quant_range range = bd_quant_product_range(a->dtype, of_a, b->dtype, of_b, BRAID_QINT32);
    if (!out || !bd_quant_output_range(c, 1, range) ||
        !bd_quant_ints(c, a, bd_quant_zero(a->dtype, of_a), &x))
        return;
    if (bd_quant_ints(c, b, bd_quant_zero(b->dtype, of_b), &y)) {
        bd_gemm(BD_I32, &g, x.data, y.data, out->data);
        bd_tensor_fini(&y);
    }
    bd_tensor_fini(&x);
}

BD_OP(QuantizedMatMul) = {
    .signature =
        "(a: T1, b: T2, min_a: float, max_a: float, min_b: float, max_b: float) -> (out: Toutput, min_out: "
        "float, max_out: float)",
    .attrs = "T1:type" BD_QUANT_TYPES "; T2:type" BD_QUANT_TYPES "; Toutput:type" BD_QUANT_TYPES
             "=qint32; " BD_MATMUL_ATTRS "Tactivation:type" BD_QUANT_TYPES "=quint8",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = matmul_shape,
    .kernels = BD_KERNELS({.types = "T1=quint8|qint8; T2=quint8|qint8; Toutput=qint32",
                           .flags = BD_KERNEL_EXPENSIVE,
                           .run = matmul_run}),
    .doc = "The product of two matrices of quantized numbers.",
};

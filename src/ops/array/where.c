// Where: the coordinates of nonzero elements.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"

static braid_code where_shape(bd_shape_ctx *c, braid_status *st)
{
    (void)st;
    c->outputs[0] = bd_shape2(-1, c->inputs[0].rank);
    return BRAID_OK;
}

// Returns whether element `i` is not zero. -0.0 is zero; NaN is not zero.
static bool is_true(const braid_tensor *t, int64_t i)
{
    switch (t->dtype) {
    case BRAID_FLOAT: return bd_tensor_f32(t)[i] != 0;
    case BRAID_DOUBLE: return bd_tensor_f64(t)[i] != 0;
    case BRAID_BOOL:
    case BRAID_INT8:
    case BRAID_UINT8: return ((const uint8_t *)t->data)[i] != 0;
    case BRAID_INT16:
    case BRAID_UINT16: return ((const uint16_t *)t->data)[i] != 0;
    case BRAID_COMPLEX64: return bd_tensor_f32(t)[2 * i] != 0 || bd_tensor_f32(t)[2 * i + 1] != 0;
    case BRAID_COMPLEX128: return bd_tensor_f64(t)[2 * i] != 0 || bd_tensor_f64(t)[2 * i + 1] != 0;
    case BRAID_INT32:
    case BRAID_UINT32: return ((const uint32_t *)t->data)[i] != 0;
    default: return ((const uint64_t *)t->data)[i] != 0;
    }
}

static void where_run(bd_op_ctx *c)
{
    const braid_tensor *x = bd_input(c, 0);
    int64_t n = bd_tensor_count(x), found = 0;
    int rank = x->shape.rank;
    for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++)
        found += is_true(x, i);
    braid_shape out = bd_shape2(found, rank);
    braid_tensor *y = bd_output(c, 0, BRAID_INT64, &out);
    if (!y) return;
    int64_t strides[BRAID_RANK_MAX], *row = bd_tensor_i64(y);
    bd_row_strides(&x->shape, strides);
    for (int64_t i = 0; i < n && found > 0 && !bd_interrupted_at(i); i++) {
        if (!is_true(x, i)) continue;
        int64_t rest = i;
        for (int d = 0; d < rank; d++) {
            *row++ = rest / strides[d];
            rest %= strides[d];
        }
        found--;
    }
}

BD_OP(Where) = {
    .signature = "(input: T) -> (index: int64)",
    .attrs =
        "T:type{bfloat16,bool,complex128,complex64,double,float,half,int16,int32,int64,int8,qint32,qint8,quint8,"
        "uint16,uint32,uint64,uint8}=bool",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = where_shape,
    .kernels = BD_KERNELS(
        {.types =
             "T=bool|float|double|int8|uint8|int16|uint16|int32|uint32|int64|uint64|complex64|complex128",
         .flags = BD_KERNEL_WIDENS,
         .run = where_run}),
    .doc =
        "The coordinates of the elements that are true (or not zero), one row for each, in row-major order.",
};

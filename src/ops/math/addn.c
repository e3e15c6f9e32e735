// AddN: the sum of several tensors of one shape.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "graph/shape_fn.h"
#include "ops/common/elementwise.h"
#include "ops/tensor_array/tensor_list_math.h"

#define BLOCK 8192 // Bytes of the sum that stay in the first-level cache while all inputs are added to them.

// The sum replaces the first input that may be overwritten; the others are added to it block by block.
static void add_n_run(bd_op_ctx *c)
{
    const braid_tensor *first = bd_input(c, 0);
    int over = 0;
    for (int i = 0; i < c->input_count; i++) {
        const braid_tensor *x = bd_input(c, i);
        if (!bd_shape_equal(&x->shape, &first->shape)) {
            char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
            bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                       "Inputs to operation %s of type %s must have the same size and shape. "
                       "Input 0: %s != input %d: %s",
                       c->node->name, c->node->op_type, bd_shape_str(&first->shape, a), i,
                       bd_shape_str(&x->shape, b));
            return;
        }
        if (x->buffer && bd_buffer_is_unique(x->buffer) && !bd_buffer_is_unique(bd_input(c, over)->buffer))
            over = i;
    }
    if (c->input_count == 1) {
        bd_output_set(c, 0, first);
        return;
    }
    braid_tensor *sum = bd_output_forward(c, 0, over, first->dtype, &first->shape);
    if (!sum) return;
    bd_binary_fn add = bd_binary_loop(BD_ADD, bd_number_of(first->dtype));
    int64_t size = (int64_t)braid_dtype_size(first->dtype), count = bd_tensor_count(first),
            step = BLOCK / size;
    int second = over == 0 ? 1 : 0;
    for (int64_t at = 0; at < count && !bd_interrupted(); at += step) {
        int64_t n = count - at < step ? count - at : step;
        char *out = (char *)sum->data + at * size;
        add((char *)bd_input(c, over)->data + at * size, (char *)bd_input(c, second)->data + at * size, out,
            n, BD_SINGLE_NONE);
        for (int i = second + 1; i < c->input_count; i++) {
            if (i != over) add(out, (char *)bd_input(c, i)->data + at * size, out, n, BD_SINGLE_NONE);
        }
    }
}

static void add_n_gradient(bd_grad_ctx *c)
{
    for (int i = 0; i < c->op->input_count; i++)
        c->input_grads[i] = c->output_grads[0];
}

BD_OP(AddN) = {
    .signature = "(inputs: N*T) -> (sum: T)",
    .attrs =
        "N:int>=1; T:type{bfloat16,complex128,complex64,double,float,half,int16,int32,int64,int8,qint32,qint8,"
        "quint8,uint16,uint32,uint64,uint8,variant}",
    .flags = BD_OP_COMMUTATIVE | BD_OP_AGGREGATE,
    .shape = bd_shape_fn_merged,
    .gradient = add_n_gradient,
    .kernels = BD_KERNELS({.types = "T=variant", .run = bd_variant_add_n},
                          {.types = BD_NUMBERS BD_AND_COMPLEX, .flags = BD_KERNEL_WIDENS, .run = add_n_run}),
    .doc = "Sums all inputs, which have the same shape; for TensorLists, sums element by element.",
};

BD_OP(AccumulateNV2) = {
    .signature = "(inputs: N*T) -> (sum: T)",
    .attrs = "N:int>=1; T:type{number}; shape:shape",
    .flags = BD_OP_COMMUTATIVE | BD_OP_AGGREGATE,
    .shape = bd_shape_fn_from_attr,
    .gradient = add_n_gradient,
    .kernels = BD_KERNELS({.types = BD_NUMBERS BD_AND_COMPLEX, .flags = BD_KERNEL_WIDENS, .run = add_n_run}),
    .doc = "AddN of inputs whose shape is known in advance.",
};

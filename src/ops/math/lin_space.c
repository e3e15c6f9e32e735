// LinSpace: equally spaced numbers.
#include "base/interrupt.h"
#include "graph/shape_fn.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"

static braid_code lin_space_shape(bd_shape_ctx *c, braid_status *st)
{
    int64_t num;
    for (int i = 0; i < 3; i++) {
        braid_code code = bd_shape_ctx_rank(c, i, 0, st);
        if (code) return code;
    }
    c->outputs[0] = bd_shape1(-1);
    if (!bd_shape_ctx_constant_int(c, 2, &num)) return BRAID_OK;
    if (num <= 0) return bd_shape_ctx_fail(c, st, "Requires num > 0: %lld", (long long)num);
    c->outputs[0].dims[0] = num;
    return BRAID_OK;
}

// The last number is exactly `stop`, without rounding errors of the sum.
#define SPREAD(NAME, T)                                                                                      \
    static void NAME(const T *start, const T *stop, T *y, int64_t num)                                       \
    {                                                                                                        \
        T step = num > 1 ? (*stop - *start) / (T)(num - 1) : 0;                                              \
        for (int64_t i = 0, end; (end = bd_block_end(i, num)) > i;)                                          \
            for (; i < end; i++)                                                                             \
                y[i] = i == 0 ? *start : i == num - 1 ? *stop : *start + step * (T)i;                        \
    }
SPREAD(spread_f32, float)
SPREAD(spread_f64, double)

static void lin_space_run(bd_op_ctx *c)
{
    static const char *const names[] = {"start", "stop", "num"};
    for (int i = 0; i < 3; i++) {
        if (bd_input(c, i)->shape.rank == 0) continue;
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a scalar, not shape %s", names[i],
                   bd_shape_str(&bd_input(c, i)->shape, text));
        return;
    }
    const braid_tensor *start = bd_input(c, 0), *stop = bd_input(c, 1);
    int64_t num = bd_tensor_index(bd_input(c, 2), 0);
    if (num <= 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "Requires num > 0: %lld", (long long)num);
        return;
    }
    braid_shape shape = bd_shape1(num);
    braid_tensor *y = bd_output(c, 0, start->dtype, &shape);
    if (!y) return;
    if (y->dtype == BRAID_FLOAT) {
        spread_f32(start->data, stop->data, y->data, num);
    } else {
        spread_f64(start->data, stop->data, y->data, num);
    }
}

BD_OP(LinSpace) = {
    .signature = "(start: T, stop: T, num: Tidx) -> (output: T)",
    .attrs = "T:type{bfloat16,double,float}; Tidx:type{int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = lin_space_shape,
    .kernels = BD_KERNELS({.types = BD_FLOATS, .flags = BD_KERNEL_WIDENS, .run = lin_space_run}),
    .doc = "`num` equally spaced numbers from start to stop, both included.",
};

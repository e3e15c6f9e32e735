// Range: equally spaced numbers.
#include "base/interrupt.h"
#include "graph/grad.h"
#include "ops/common/element.h"

#include <math.h>

typedef struct range {
    int64_t start, limit, delta; // for integer types
    double fstart, flimit, fdelta;
} range;

// The number of elements; -1 and an error in *st for invalid arguments.
static int64_t range_length(bool is_float, const range *r, braid_status *st)
{
    bool zero = is_float ? r->fdelta == 0 : r->delta == 0, up = is_float ? r->fdelta > 0 : r->delta > 0;
    if (zero) {
        bd_fail(st, BRAID_INVALID_ARGUMENT, "Requires delta != 0: 0");
        return -1;
    }
    bool ordered = is_float ? (up ? r->fstart <= r->flimit : r->fstart >= r->flimit)
                            : (up ? r->start <= r->limit : r->start >= r->limit);
    if (!ordered) {
        const char *op = up ? "<=" : ">=", *sign = up ? ">" : "<";
        if (is_float)
            bd_fail(st, BRAID_INVALID_ARGUMENT, "Requires start %s limit when delta %s 0: %g/%g", op, sign,
                    r->fstart, r->flimit);
        else
            bd_fail(st, BRAID_INVALID_ARGUMENT, "Requires start %s limit when delta %s 0: %lld/%lld", op,
                    sign, (long long)r->start, (long long)r->limit);
        return -1;
    }
    if (is_float) {
        double length = ceil(fabs((r->flimit - r->fstart) / r->fdelta));
        if (length < 0x1p62) return (int64_t)length;
    } else {
        uint64_t span =
            up ? (uint64_t)r->limit - (uint64_t)r->start : (uint64_t)r->start - (uint64_t)r->limit;
        uint64_t step = up ? (uint64_t)r->delta : -(uint64_t)r->delta;
        uint64_t length = span / step + (span % step != 0);
        if (length <= INT64_MAX) return (int64_t)length;
    }
    bd_fail(st, BRAID_INVALID_ARGUMENT, "Requires ((limit - start) / delta) <= %lld", (long long)INT64_MAX);
    return -1;
}

static double real_value(const braid_tensor *t)
{
    return t->dtype == BRAID_FLOAT ? (double)bd_tensor_f32(t)[0] : bd_tensor_f64(t)[0];
}

static bool is_real(braid_dtype dtype)
{
    return dtype == BRAID_FLOAT || dtype == BRAID_DOUBLE;
}

static range read_range(const braid_tensor *start, const braid_tensor *limit, const braid_tensor *delta)
{
    if (is_real(start->dtype))
        return (range){.fstart = real_value(start), .flimit = real_value(limit), .fdelta = real_value(delta)};
    return (range){.start = bd_tensor_index(start, 0),
                   .limit = bd_tensor_index(limit, 0),
                   .delta = bd_tensor_index(delta, 0)};
}

static braid_code range_shape(bd_shape_ctx *c, braid_status *st)
{
    for (int i = 0; i < 3; i++) {
        braid_code code = bd_shape_ctx_rank(c, i, 0, st);
        if (code) return code;
    }
    c->outputs[0] = bd_shape1(-1);
    const braid_tensor *start = bd_shape_ctx_constant(c, 0), *limit = bd_shape_ctx_constant(c, 1);
    const braid_tensor *delta = bd_shape_ctx_constant(c, 2);
    if (!start || !limit || !delta || start->dtype == BRAID_BFLOAT16) return BRAID_OK;
    range r = read_range(start, limit, delta);
    BD_STATUS(why);
    int64_t length = range_length(is_real(start->dtype), &r, why);
    if (length < 0) return bd_shape_ctx_fail(c, st, "%s", why->message);
    c->outputs[0] = bd_shape1(length);
    return BRAID_OK;
}

static void write_range(braid_tensor *y, const range *r, int64_t n)
{
    switch (y->dtype) {
    case BRAID_FLOAT: {
        // The sum is built in the type itself, as in TensorFlow.
        float v = (float)r->fstart;
        for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++, v += (float)r->fdelta)
            bd_tensor_f32(y)[i] = v;
        return;
    }
    case BRAID_DOUBLE: {
        double v = r->fstart;
        for (int64_t i = 0; i < n && !bd_interrupted_at(i); i++, v += r->fdelta)
            bd_tensor_f64(y)[i] = v;
        return;
    }
    case BRAID_INT32:
        for (int64_t i = 0, end; (end = bd_block_end(i, n)) > i;)
            for (; i < end; i++)
                bd_tensor_i32(y)[i] = (int32_t)(r->start + i * r->delta);
        return;
    default:
        for (int64_t i = 0, end; (end = bd_block_end(i, n)) > i;)
            for (; i < end; i++)
                bd_tensor_i64(y)[i] = (int64_t)((uint64_t)r->start + (uint64_t)i * (uint64_t)r->delta);
    }
}

static void range_run(bd_op_ctx *c)
{
    static const char *const names[] = {"start", "limit", "delta"};
    for (int i = 0; i < 3; i++) {
        if (bd_input(c, i)->shape.rank == 0) continue;
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be a scalar, not shape %s", names[i],
                   bd_shape_str(&bd_input(c, i)->shape, text));
        return;
    }
    braid_dtype dtype = bd_input(c, 0)->dtype;
    range r = read_range(bd_input(c, 0), bd_input(c, 1), bd_input(c, 2));
    BD_STATUS(st);
    int64_t n = range_length(is_real(dtype), &r, st);
    if (n < 0) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_shape shape = bd_shape1(n);
    int64_t count;
    if (bd_shape_checked_count(&shape, &count, st)) {
        bd_op_fail_status(c, st);
        return;
    }
    braid_tensor *y = bd_output(c, 0, dtype, &shape);
    if (y) write_range(y, &r, n);
}

BD_OP(Range) = {
    .signature = "(start: Tidx, limit: Tidx, delta: Tidx) -> (output: Tidx)",
    .attrs = "Tidx:type{bfloat16,double,float,int32,int64}=int32",
    .flags = BD_OP_NOT_DIFFERENTIABLE,
    .shape = range_shape,
    .kernels = BD_KERNELS({.types = "Tidx=float|double|int32|int64", .run = range_run}),
    .doc = "start, start + delta, ... below limit (above it, if delta is negative).",
};

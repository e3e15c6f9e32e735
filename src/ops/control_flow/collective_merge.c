// Merging two tensors of a collective, and dividing by the number of members.
#include "ops/control_flow/collective_merge.h"
#include "base/half.h"
#include "kernels/loops.h"
#include "ops/common/elementwise.h"

#define MIN_OF(a, b) ((b) < (a) ? (b) : (a))
#define MAX_OF(a, b) ((b) > (a) ? (b) : (a))

#define EXTREME_FN(NAME, T)                                                                                  \
    static void extreme_##NAME(bd_merge op, T *z, const T *x, const T *y, int64_t count)                     \
    {                                                                                                        \
        for (int64_t i = 0; i < count; i++)                                                                  \
            z[i] = op == BD_MERGE_MIN ? MIN_OF(x[i], y[i]) : MAX_OF(x[i], y[i]);                             \
    }                                                                                                        \
    static void divide_##NAME(T *z, int64_t count, int by)                                                   \
    {                                                                                                        \
        for (int64_t i = 0; i < count; i++)                                                                  \
            z[i] = (T)(z[i] / (T)by);                                                                        \
    }

EXTREME_FN(f32, float)
EXTREME_FN(f64, double)
EXTREME_FN(i32, int32_t)
EXTREME_FN(i64, int64_t)

static float merged(bd_merge op, float x, float y)
{
    switch (op) {
    case BD_MERGE_ADD: return x + y;
    case BD_MERGE_MUL: return x * y;
    case BD_MERGE_MIN: return MIN_OF(x, y);
    default: return MAX_OF(x, y);
    }
}

static void merge_half(bd_merge op, uint16_t *z, const uint16_t *x, const uint16_t *y, int64_t count)
{
    for (int64_t i = 0; i < count; i++)
        z[i] = bd_half_of_float(merged(op, bd_float_of_half(x[i]), bd_float_of_half(y[i])));
}

static void divide_half(uint16_t *z, int64_t count, int by)
{
    for (int64_t i = 0; i < count; i++)
        z[i] = bd_half_of_float(bd_float_of_half(z[i]) / (float)by);
}

void bd_collective_merge(bd_merge op, braid_dtype dtype, void *z, const void *x, const void *y, int64_t count)
{
    const bool is_extreme = op == BD_MERGE_MIN || op == BD_MERGE_MAX;
    if (dtype == BRAID_HALF) {
        merge_half(op, z, x, y, count);
    } else if (!is_extreme) {
        const bd_number number = bd_number_of(dtype);
        bd_binary_loop(op == BD_MERGE_ADD ? BD_ADD : BD_MUL, number)(x, y, z, count, BD_SINGLE_NONE);
    } else {
        switch (dtype) {
        case BRAID_FLOAT: extreme_f32(op, z, x, y, count); break;
        case BRAID_DOUBLE: extreme_f64(op, z, x, y, count); break;
        case BRAID_INT32: extreme_i32(op, z, x, y, count); break;
        default: extreme_i64(op, z, x, y, count); break;
        }
    }
}

void bd_collective_divide(braid_dtype dtype, void *z, int64_t count, int by)
{
    switch (dtype) {
    case BRAID_FLOAT: divide_f32(z, count, by); break;
    case BRAID_DOUBLE: divide_f64(z, count, by); break;
    case BRAID_INT32: divide_i32(z, count, by); break;
    case BRAID_INT64: divide_i64(z, count, by); break;
    default: divide_half(z, count, by); break;
    }
}

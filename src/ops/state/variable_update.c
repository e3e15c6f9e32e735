// Updates of variables in place: with the variable's lock, or as Hogwild does without.
#include "ops/state/variable.h"

#include "base/half.h"
#include "base/stream_copy.h"

#include <complex.h>
#include <string.h>

#define DEFINE_UPDATE(NAME, TYPE, EXPR)                                                                      \
    BD_HOGWILD static void NAME(void *value, const void *delta, int64_t count)                               \
    {                                                                                                        \
        TYPE *vs = value;                                                                                    \
        const TYPE *ds = delta;                                                                              \
        for (int64_t i = 0; i < count; i++) {                                                                \
            TYPE v = vs[i], d = ds[i];                                                                       \
            vs[i] = (TYPE)(EXPR);                                                                            \
        }                                                                                                    \
    }

// Sums, differences and products are computed in WIDE: unsigned for integers, so that they wrap around.
// Callers do not divide integers by 0 (see bd_update_op); dividing the least one by -1 wraps around too.
#define DEFINE_UPDATES(SUFFIX, TYPE, WIDE, QUOTIENT)                                                         \
    DEFINE_UPDATE(add_##SUFFIX, TYPE, (WIDE)v + (WIDE)d)                                                     \
    DEFINE_UPDATE(sub_##SUFFIX, TYPE, (WIDE)v - (WIDE)d)                                                     \
    DEFINE_UPDATE(mul_##SUFFIX, TYPE, (WIDE)v *(WIDE)d)                                                      \
    DEFINE_UPDATE(div_##SUFFIX, TYPE, QUOTIENT)                                                              \
    DEFINE_UPDATE(min_##SUFFIX, TYPE, d < v ? d : v)                                                         \
    DEFINE_UPDATE(max_##SUFFIX, TYPE, d > v ? d : v)                                                         \
    DEFINE_UPDATE(set_##SUFFIX, TYPE, ((void)v, d))

#define SIGNED_QUOTIENT(WIDE) d == -1 ? -(WIDE)v : (WIDE)(d == 0 ? 0 : v / d)

DEFINE_UPDATES(f32, float, float, v / d)
DEFINE_UPDATES(f64, double, double, v / d)
DEFINE_UPDATES(i8, int8_t, uint32_t, SIGNED_QUOTIENT(uint32_t))
DEFINE_UPDATES(u8, uint8_t, uint32_t, d == 0 ? 0 : v / d)
DEFINE_UPDATES(i16, int16_t, uint32_t, SIGNED_QUOTIENT(uint32_t))
DEFINE_UPDATES(u16, uint16_t, uint32_t, d == 0 ? 0 : v / d)
DEFINE_UPDATES(i32, int32_t, uint32_t, SIGNED_QUOTIENT(uint32_t))
DEFINE_UPDATES(i64, int64_t, uint64_t, SIGNED_QUOTIENT(uint64_t))

// 16-bit floating types by way of float.
#define DEFINE_SHORT_UPDATE(NAME, SHORT, EXPR)                                                               \
    BD_HOGWILD static void NAME##_##SHORT(void *value, const void *delta, int64_t count)                     \
    {                                                                                                        \
        uint16_t *vs = value;                                                                                \
        const uint16_t *ds = delta;                                                                          \
        for (int64_t i = 0; i < count; i++) {                                                                \
            float v = bd_float_of_##SHORT(vs[i]), d = bd_float_of_##SHORT(ds[i]);                            \
            vs[i] = bd_##SHORT##_of_float(EXPR);                                                             \
        }                                                                                                    \
    }
#define DEFINE_SHORT_UPDATES(SHORT)                                                                          \
    DEFINE_SHORT_UPDATE(add, SHORT, v + d)                                                                   \
    DEFINE_SHORT_UPDATE(sub, SHORT, v - d)                                                                   \
    DEFINE_SHORT_UPDATE(mul, SHORT, v *d)                                                                    \
    DEFINE_SHORT_UPDATE(div, SHORT, v / d)                                                                   \
    DEFINE_SHORT_UPDATE(min, SHORT, d < v ? d : v)                                                           \
    DEFINE_SHORT_UPDATE(max, SHORT, d > v ? d : v)

DEFINE_SHORT_UPDATES(half)
DEFINE_SHORT_UPDATES(bfloat16)

#define DEFINE_COMPLEX_UPDATES(SUFFIX, TYPE)                                                                 \
    DEFINE_UPDATE(add_##SUFFIX, TYPE, v + d)                                                                 \
    DEFINE_UPDATE(sub_##SUFFIX, TYPE, v - d)                                                                 \
    DEFINE_UPDATE(mul_##SUFFIX, TYPE, v *d)                                                                  \
    DEFINE_UPDATE(div_##SUFFIX, TYPE, v / d)                                                                 \
    DEFINE_UPDATE(set_##SUFFIX, TYPE, ((void)v, d))

DEFINE_COMPLEX_UPDATES(c64, float complex)
DEFINE_COMPLEX_UPDATES(c128, double complex)

// TensorFlow's sums and differences of booleans: any value other than 0 is true.
DEFINE_UPDATE(add_bool, bool, v || d)
DEFINE_UPDATE(sub_bool, bool, v != d)

#define UPDATES_WITH(SUFFIX, SET)                                                                            \
    {                                                                                                        \
        add_##SUFFIX, sub_##SUFFIX, mul_##SUFFIX, div_##SUFFIX, min_##SUFFIX, max_##SUFFIX, SET              \
    }
#define UPDATES(SUFFIX) UPDATES_WITH(SUFFIX, set_##SUFFIX)
#define COMPLEX_UPDATES(SUFFIX)                                                                              \
    {                                                                                                        \
        add_##SUFFIX, sub_##SUFFIX, mul_##SUFFIX, div_##SUFFIX, NULL, NULL, set_##SUFFIX                     \
    }

bd_update_fn bd_update_function(braid_dtype dtype, bd_update_op op)
{
    static const bd_update_fn fns[BRAID_HALF + 1][BD_UPDATE_SET + 1] = {
        [BRAID_FLOAT] = UPDATES(f32),
        [BRAID_DOUBLE] = UPDATES(f64),
        [BRAID_INT8] = UPDATES(i8),
        [BRAID_UINT8] = UPDATES(u8),
        [BRAID_INT16] = UPDATES(i16),
        [BRAID_UINT16] = UPDATES(u16),
        [BRAID_INT32] = UPDATES(i32),
        [BRAID_INT64] = UPDATES(i64),
        [BRAID_BOOL] = {[BD_UPDATE_ADD] = add_bool, [BD_UPDATE_SUB] = sub_bool, [BD_UPDATE_SET] = set_u8},
        [BRAID_HALF] = UPDATES_WITH(half, set_u16),
        [BRAID_BFLOAT16] = UPDATES_WITH(bfloat16, set_u16),
        [BRAID_COMPLEX64] = COMPLEX_UPDATES(c64),
        [BRAID_COMPLEX128] = COMPLEX_UPDATES(c128),
    };
    return (size_t)dtype < BD_COUNTOF(fns) ? fns[dtype][op] : NULL;
}

static bool check_update(bd_op_ctx *c, bool is_reference, const braid_tensor *value,
                         const braid_tensor *delta)
{
    if (value->dtype == delta->dtype && bd_shape_equal(&value->shape, &delta->shape)) return true;
    char v[BD_SHAPE_STR_MAX], d[BD_SHAPE_STR_MAX];
    if (!is_reference) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT,
                   "Cannot update variable with shape %s using a Tensor with shape %s, shapes must be equal.",
                   bd_shape_str(&value->shape, v), bd_shape_str(&delta->shape, d));
        return false;
    }
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Parameters and update must be the same size: the variable is %s%s, the update %s%s",
               braid_dtype_name(value->dtype), bd_shape_str(&value->shape, v), braid_dtype_name(delta->dtype),
               bd_shape_str(&delta->shape, d));
    return false;
}

static void fail_uninitialized(bd_op_ctx *c)
{
    const braid_op *source = c->node->input_count > 0 ? c->node->inputs[0].op : NULL;
    bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
               source ? source->name : c->node->name);
}

#define PIECE_BYTES 8192 // stays in the first cache
#define SHARE_PIECES 32  // at least, for each thread

typedef struct update_run {
    char *to;
    const char *from; // `to` itself: in place
    const char *delta;
    int64_t bytes, size; // of all, of an element
    bd_update_fn update;
} update_run;

// Updates to other memory, piece by piece: the content is read once and written once.
static void update_to(const update_run *r, int64_t from, int64_t to)
{
    _Alignas(BD_ALIGNMENT) char piece[PIECE_BYTES];
    for (int64_t at = from; at < to; at += PIECE_BYTES) {
        const int64_t len = bd_min(to - at, PIECE_BYTES);
        memcpy(piece, r->from + at, (size_t)len);
        r->update(piece, r->delta + at, len / r->size);
        bd_stream_copy(r->to + at, piece, (size_t)len);
    }
    bd_stream_copy_end();
}

// Pieces from..to-1.
static void update_pieces(void *arg, int64_t from, int64_t to)
{
    const update_run *r = arg;
    from *= PIECE_BYTES;
    to = bd_min(to * PIECE_BYTES, r->bytes);
    if (r->to == r->from)
        r->update(r->to + from, r->delta + from, (to - from) / r->size);
    else
        update_to(r, from, to);
}

static void update_change(bd_op_ctx *c, const bd_variable_change *change, const braid_tensor *delta,
                          bd_update_fn update)
{
    update_run r = {.to = change->value.data,
                    .from = change->before.data,
                    .delta = delta->data,
                    .bytes = (int64_t)bd_tensor_bytes(delta),
                    .size = (int64_t)braid_dtype_size(delta->dtype),
                    .update = update};
    bd_parallel_for(c, (r.bytes + PIECE_BYTES - 1) / PIECE_BYTES, SHARE_PIECES, update_pieces, &r);
}

bool bd_variable_update(bd_op_ctx *c, bd_variable *v, const braid_tensor *delta, bd_update_fn update,
                        bool lock)
{
    BD_STATUS(st);
    bd_variable_change change;
    bool ok = false;
    if (bd_variable_begin_change(&change, v, BD_VARIABLE_WHOLE, lock, st))
        bd_op_fail_status(c, st);
    else if (!bd_tensor_is_set(&change.value))
        fail_uninitialized(c);
    else
        ok = check_update(c, v->is_reference, &change.value, delta);
    if (ok) update_change(c, &change, delta, update);
    bd_variable_end_change(&change, ok);
    return ok;
}

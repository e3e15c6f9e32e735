// Updates of variables in place: with the variable's lock, or as Hogwild does without.
#include "ops/variable.h"

#define DEFINE_UPDATE(NAME, TYPE, COMPUTE, OP)                                                               \
    BD_HOGWILD static void NAME(void *value, const void *delta, int64_t count)                               \
    {                                                                                                        \
        TYPE *v = value;                                                                                     \
        const TYPE *d = delta;                                                                               \
        for (int64_t i = 0; i < count; i++)                                                                  \
            v[i] = (TYPE)((COMPUTE)v[i] OP(COMPUTE) d[i]);                                                   \
    }

// Integers wrap around, so they are computed without sign.
DEFINE_UPDATE(add_f32, float, float, +)
DEFINE_UPDATE(sub_f32, float, float, -)
DEFINE_UPDATE(add_f64, double, double, +)
DEFINE_UPDATE(sub_f64, double, double, -)
DEFINE_UPDATE(add_8, uint8_t, uint8_t, +)
DEFINE_UPDATE(sub_8, uint8_t, uint8_t, -)
DEFINE_UPDATE(add_16, uint16_t, uint16_t, +)
DEFINE_UPDATE(sub_16, uint16_t, uint16_t, -)
DEFINE_UPDATE(add_32, uint32_t, uint32_t, +)
DEFINE_UPDATE(sub_32, uint32_t, uint32_t, -)
DEFINE_UPDATE(add_64, uint64_t, uint64_t, +)
DEFINE_UPDATE(sub_64, uint64_t, uint64_t, -)

bd_update_fn bd_update_function(braid_dtype dtype, bool subtract)
{
    switch (dtype) {
    case BRAID_FLOAT: return subtract ? sub_f32 : add_f32;
    case BRAID_DOUBLE: return subtract ? sub_f64 : add_f64;
    case BRAID_INT8:
    case BRAID_UINT8: return subtract ? sub_8 : add_8;
    case BRAID_INT16:
    case BRAID_UINT16: return subtract ? sub_16 : add_16;
    case BRAID_INT32: return subtract ? sub_32 : add_32;
    case BRAID_INT64: return subtract ? sub_64 : add_64;
    default: return NULL;
    }
}

static bool check_update(bd_op_ctx *c, const braid_tensor *value, const braid_tensor *delta)
{
    if (value->dtype == delta->dtype && bd_shape_equal(&value->shape, &delta->shape)) return true;
    char v[BD_SHAPE_STR_MAX], d[BD_SHAPE_STR_MAX];
    bd_op_fail(c, BRAID_INVALID_ARGUMENT,
               "Parameters and update must be the same size: the variable is %s%s, the update %s%s",
               braid_dtype_name(value->dtype), bd_shape_str(&value->shape, v), braid_dtype_name(delta->dtype),
               bd_shape_str(&delta->shape, d));
    return false;
}

static bool fail_uninitialized(bd_op_ctx *c)
{
    const braid_op *source = c->node->input_count > 0 ? c->node->inputs[0].op : NULL;
    bd_op_fail(c, BRAID_FAILED_PRECONDITION, "Attempting to use uninitialized value %s",
               source ? source->name : c->node->name);
    return false;
}

static bool update_locked(bd_op_ctx *c, bd_variable *v, const braid_tensor *delta, bd_update_fn update)
{
    if (!bd_tensor_is_set(&v->tensor)) return fail_uninitialized(c);
    if (!check_update(c, &v->tensor, delta)) return false;
    BD_STATUS(st);
    if (bd_variable_make_writable_locked(v, st)) {
        bd_op_fail_status(c, st);
        return false;
    }
    update(v->tensor.data, delta->data, bd_tensor_count(delta));
    return true;
}

bool bd_variable_update(bd_op_ctx *c, bd_variable *v, const braid_tensor *delta, bd_update_fn update,
                        bool lock)
{
    if (lock || !v->is_reference) {
        bd_mutex_lock(&v->mu);
        bool ok = update_locked(c, v, delta, update);
        bd_mutex_unlock(&v->mu);
        return ok;
    }
    // The memory stays while we hold a reference, also when somebody assigns another shape.
    braid_tensor value = {0};
    if (!bd_variable_read(v, &value)) return fail_uninitialized(c);
    bool ok = check_update(c, &value, delta);
    if (ok) update(value.data, delta->data, bd_tensor_count(delta));
    bd_tensor_fini(&value);
    return ok;
}

// Functions common to the ops on images.
#include "ops/image/image.h"

#include "ops/math/cast.h"

#include <string.h>

bool bd_image_floats(bd_op_ctx *c, const braid_tensor *x, braid_tensor *floats)
{
    if (x->dtype == BRAID_FLOAT) {
        bd_tensor_ref(floats, x);
        return true;
    }
    if (!bd_tensor_alloc(floats, BRAID_FLOAT, &x->shape)) {
        bd_op_fail(c, BRAID_RESOURCE_EXHAUSTED, "OOM when converting images to float");
        return false;
    }
    bd_cast(bd_cast_type_of(x->dtype), BD_CAST_F32)(x->data, floats->data, bd_tensor_count(x));
    return true;
}

bool bd_image_size_input(bd_op_ctx *c, int i, int64_t size[2])
{
    const braid_tensor *t = bd_input(c, i);
    char text[BD_SHAPE_STR_MAX];
    if (t->shape.rank != 1) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "shape_t must be 1-dimensional, but has shape %s",
                   bd_shape_str(&t->shape, text));
    } else if (t->shape.dims[0] != 2) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "shape_t must have two elements, but has shape %s",
                   bd_shape_str(&t->shape, text));
    } else {
        size[0] = bd_tensor_index(t, 0);
        size[1] = bd_tensor_index(t, 1);
        if (size[0] <= 0 || size[1] <= 0)
            bd_op_fail(c, BRAID_INVALID_ARGUMENT, "output dimensions must be positive, but are %lld x %lld",
                       (long long)size[0], (long long)size[1]);
    }
    return !bd_op_failed(c);
}

bool bd_image_check(bd_op_ctx *c, const char *what, const braid_tensor *x)
{
    const braid_shape *s = &x->shape;
    char text[BD_SHAPE_STR_MAX];
    bd_shape_str(s, text);
    if (s->rank != 4) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s must be 4-dimensional, but has shape %s", what, text);
    } else if (s->dims[1] >= INT32_MAX || s->dims[2] >= INT32_MAX) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s sizes must be between 0 and max int32, but its shape is %s",
                   what, text);
    } else if (s->dims[3] <= 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "image must have at least one channel, but has shape %s", text);
    } else if (s->dims[1] <= 0 || s->dims[2] <= 0) {
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "%s image must be of non-zero size, but has shape %s", what,
                   text);
    }
    return !bd_op_failed(c);
}

braid_code bd_image_sized_shape(bd_shape_ctx *c, int i, braid_status *st)
{
    braid_code code = bd_shape_ctx_rank(c, 0, 4, st);
    if (!code) code = bd_shape_ctx_rank(c, i, 1, st);
    if (code) return code;
    if (c->inputs[i].rank == 1 && c->inputs[i].dims[0] >= 0 && c->inputs[i].dims[0] != 2)
        return bd_shape_ctx_fail(c, st, "Dimension must be 2 but is %lld", (long long)c->inputs[i].dims[0]);
    braid_shape out = {.rank = 4, .dims = {-1, -1, -1, -1}};
    if (c->inputs[0].rank == 4) out = c->inputs[0];
    braid_shape size;
    bool known = bd_shape_ctx_constant_shape(c, i, &size) && size.rank == 2;
    out.dims[1] = known ? size.dims[0] : -1;
    out.dims[2] = known ? size.dims[1] : -1;
    c->outputs[0] = out;
    return BRAID_OK;
}

braid_tensor *bd_image_output(bd_op_ctx *c, braid_dtype dtype, const braid_shape *shape)
{
    BD_STATUS(st);
    int64_t count;
    if (bd_shape_checked_count(shape, &count, st)) {
        bd_op_fail_status(c, st);
        return NULL;
    }
    braid_tensor *y = bd_output(c, 0, dtype, shape);
    if (y) memset(y->data, 0, bd_tensor_bytes(y));
    return y;
}

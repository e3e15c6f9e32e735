// Reads and checks the attrs and keys of ParseExample and similar ops.
#include "ops/parsing/example_parser.h"

braid_code bd_example_check_dtype(braid_dtype dtype, braid_status *st)
{
    if (dtype == BRAID_FLOAT || dtype == BRAID_INT64 || dtype == BRAID_STRING) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT, "Received input dtype: %s, must be float, int64 or string",
                   braid_dtype_name(dtype));
}

braid_code bd_example_check_shape(const braid_shape *shape, int i, braid_status *st)
{
    bool ok = shape->rank >= 0 && shape->rank < BRAID_RANK_MAX;
    braid_shape inner = {0};
    for (int d = 1; d < shape->rank && ok; d++)
        inner.dims[inner.rank++] = shape->dims[d];
    int64_t count;
    BD_STATUS(ignored);
    if (ok && bd_shape_checked_count(&inner, &count, ignored) == BRAID_OK) return BRAID_OK;
    return bd_fail(st, BRAID_INVALID_ARGUMENT,
                   "dense_shapes[%d] has unknown rank or unknown inner dimensions: %s", i,
                   bd_shape_str(shape, (char[BD_SHAPE_STR_MAX]){0}));
}

static braid_code check_default(const bd_dense_feature *f, int i, braid_status *st)
{
    char a[BD_SHAPE_STR_MAX], b[BD_SHAPE_STR_MAX];
    const braid_tensor *d = f->default_value;
    braid_shape merged;
    int64_t count;
    if (d->dtype != f->dtype)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "dense_defaults[%d].dtype() == %s != dense_types_[%d] == %s", i,
                       braid_dtype_name(d->dtype), i, braid_dtype_name(f->dtype));
    if (bd_dense_is_variable(f)) {
        if (bd_tensor_count(d) == 1) return BRAID_OK;
        return bd_fail(
            st, BRAID_INVALID_ARGUMENT,
            "dense_shape[%d] is a variable length shape: %s, therefore def_value[%d] must contain a single "
            "element (the padding element).  But its shape is: %s",
            i, bd_shape_str(&f->shape, a), i, bd_shape_str(&d->shape, b));
    }
    if (bd_tensor_count(d) > 0 && !bd_shape_merge(&f->shape, &d->shape, &merged))
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "def_value[%d].shape() == %s is not compatible with dense_shapes_[%d] == %s", i,
                       bd_shape_str(&d->shape, a), i, bd_shape_str(&f->shape, b));
    return bd_shape_checked_count(&f->shape, &count, st);
}

braid_code bd_example_check_defaults(const bd_example_spec *spec, braid_status *st)
{
    braid_code code = BRAID_OK;
    for (int i = 0; i < spec->dense_count && !code; i++)
        code = check_default(&spec->dense[i], i, st);
    return code;
}

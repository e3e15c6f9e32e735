// MaxPool along the depth: reduces each group of channels to one.
#include "ops/nn/pool_depth.h"

#include "ops/common/elementwise.h"

bd_depth_window bd_depth_window_of(const bd_window *w, const int64_t size[4], const int64_t stride[4])
{
    int axis = bd_window_channel_axis(w);
    return (bd_depth_window){.size = size[axis], .stride = stride[axis]};
}

braid_code bd_depth_window_check(const bd_window *w, const int64_t size[4], const int64_t stride[4],
                                 braid_status *st)
{
    bd_depth_window d = bd_depth_window_of(w, size, stride);
    if (size[0] != 1 || stride[0] != 1)
        return bd_fail(st, BRAID_UNIMPLEMENTED, "Pooling is not yet supported on the batch dimension.");
    if (w->channels_first)
        return bd_fail(st, BRAID_INVALID_ARGUMENT,
                       "Default MaxPoolingOp only supports NHWC on device type CPU");
    if (w->size[0] != 1 || w->size[1] != 1)
        return bd_fail(
            st, BRAID_UNIMPLEMENTED,
            "MaxPooling supports exactly one of pooling across depth or pooling across width/height.");
    if (d.size < 1 || d.size != d.stride)
        return bd_fail(
            st, BRAID_UNIMPLEMENTED,
            "Depthwise max pooling requires the depth window to equal the depth stride, not %lld and %lld.",
            (long long)d.size, (long long)d.stride);
    if (w->padding == BD_PADDING_EXPLICIT)
        return bd_fail(st, BRAID_UNIMPLEMENTED, "Depthwise max pooling does not support explicit padding.");
    return BRAID_OK;
}

braid_code bd_shape_ctx_depth_window(bd_shape_ctx *c, const bd_window *w, const bd_depth_window *d,
                                     int64_t channels, int64_t *out, braid_status *st)
{
    if (d->size < 1 || d->stride < 1)
        return bd_shape_ctx_fail(c, st,
                                 "Window and stride along the depth must be > 0, but are %lld and %lld",
                                 (long long)d->size, (long long)d->stride);
    int64_t room = w->padding == BD_PADDING_SAME ? channels - 1 : channels - d->size;
    *out = channels < 0 ? -1 : (room + d->stride) / d->stride;
    if (channels >= 0 && room + d->stride < 0)
        return bd_shape_ctx_fail(c, st, "The window along the depth, %lld, is larger than that: %lld",
                                 (long long)d->size, (long long)channels);
    return BRAID_OK;
}

void bd_depth_pool_run(bd_op_ctx *c, const bd_depth_window *d)
{
    const braid_tensor *x = bd_input(c, 0);
    braid_shape shape = x->shape;
    if (shape.rank != 4) {
        char text[BD_SHAPE_STR_MAX];
        bd_op_fail(c, BRAID_INVALID_ARGUMENT, "tensor_in must be 4-dimensional: %s",
                   bd_shape_str(&shape, text));
        return;
    }
    if (shape.dims[3] % d->size) {
        bd_op_fail(
            c, BRAID_UNIMPLEMENTED,
            "Depthwise max pooling requires the depth window to evenly divide the input depth: %lld, %lld",
            (long long)d->size, (long long)shape.dims[3]);
        return;
    }
    shape.dims[3] /= d->size;
    braid_tensor *y = bd_output(c, 0, x->dtype, &shape);
    if (!y) return;
    bd_reduce_loop(BD_REDUCE_MAX, bd_number_of(x->dtype))(x->data, y->data, bd_tensor_count(y), d->size, 1);
}

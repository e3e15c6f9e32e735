// What the ops of pooling share: MaxPool and AvgPool, with their gradients.
#ifndef BD_OPS_NN_POOL_H
#define BD_OPS_NN_POOL_H

#include "kernels/pooling.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"
#include "ops/common/window.h"

typedef struct bd_pool_state {
    bd_window window; // size and stride come from inputs in the V2 ops
    bd_number type;
    bd_primitive_cache cache;
} bd_pool_state;

#define BD_POOL_WINDOW_ATTRS "ksize:list(int)>=4; strides:list(int)>=4; "
#define BD_POOL_PADDING_ATTRS "padding:string{SAME,VALID}; data_format:string{NHWC,NCHW}='NHWC'; "
#define BD_POOL_KERNELS(TYPES, CREATE, RUN)                                                                  \
    BD_KERNELS({.types = (TYPES),                                                                            \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS,                                             \
                .state_size = sizeof(bd_pool_state),                                                         \
                .create = (CREATE),                                                                          \
                .destroy = bd_pool_destroy,                                                                  \
                .run = (RUN)})

// The shape of images of input 0 after pooling by windows of w->size.
braid_code bd_pool_shape_of(bd_shape_ctx *c, const bd_window *w, braid_status *st);

// `create` and `destroy` of a kernel whose window goes over height and width alone.
braid_code bd_pool_create(const braid_op *node, void *state, braid_status *st);
void bd_pool_destroy(void *state);
// The same without a look at batch and channels.
braid_code bd_pool_bind(const braid_op *node, bd_pool_state *s, braid_status *st);

// How the window `w` goes over images of shape `in`, and the shape that comes out. False: the kernel has
// failed.
bool bd_pool_sizes(bd_op_ctx *c, const bd_window *w, const braid_shape *in, bd_pooling_shape *out,
                   braid_shape *pooled);

// The tensor at input `i` must have this shape: `kind` names it where its rank is wrong, `name` where only a
// size is. False: the kernel has failed.
bool bd_pool_check_shape(bd_op_ctx *c, int i, const char *kind, const char *name, const braid_shape *want);

// Pools by oneDNN or plain loops.
void bd_pool_run(bd_op_ctx *c, bd_pooling_kind kind, const bd_pooling_shape *shape,
                 const bd_pooling_data *data);

// An op of `count` inputs, with the window of the op that is differentiated.
braid_out bd_pool_like(const bd_grad_ctx *c, const char *op, const braid_out *inputs, int count);

#endif

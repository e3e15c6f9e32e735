// Shared by the pooling ops: MaxPool, AvgPool, MaxPool3D, AvgPool3D and their gradients.
#ifndef BD_OPS_NN_POOL_H
#define BD_OPS_NN_POOL_H

#include "kernels/pooling.h"
#include "ops/common/element.h"
#include "ops/common/elementwise.h"
#include "ops/common/grad_math.h"
#include "ops/common/window.h"

typedef struct bd_pool_state {
    bd_window window; // in V2 ops, size and stride come from inputs
    bd_number type;
    bd_primitive_cache cache;
} bd_pool_state;

#define BD_POOL_WINDOW_ATTRS "ksize:list(int)>=4; strides:list(int)>=4; "
#define BD_POOL_PADDING_ATTRS "padding:string{SAME,VALID}; data_format:string{NHWC,NCHW}='NHWC'; "
#define BD_POOL_VOLUME_ATTRS                                                                                 \
    "ksize:list(int)>=5; strides:list(int)>=5; padding:string{SAME,VALID}; "                                 \
    "data_format:string{NDHWC,NCDHW}='NDHWC'"
#define BD_POOL_KERNELS(TYPES, CREATE, RUN)                                                                  \
    BD_KERNELS({.types = (TYPES),                                                                            \
                .flags = BD_KERNEL_EXPENSIVE | BD_KERNEL_WIDENS,                                             \
                .state_size = sizeof(bd_pool_state),                                                         \
                .create = (CREATE),                                                                          \
                .destroy = bd_pool_destroy,                                                                  \
                .run = (RUN)})

// Shape function: the shape of input 0 after pooling by windows of w->size.
braid_code bd_pool_shape_of(bd_shape_ctx *c, const bd_window *w, braid_status *st);

// `create` and `destroy` of a kernel whose window covers the spatial dimensions only.
braid_code bd_pool_create(const braid_op *node, void *state, braid_status *st);
void bd_pool_destroy(void *state);
// The same without the check that the window does not cover batch and channels.
braid_code bd_pool_bind(const braid_op *node, bd_pool_state *s, braid_status *st);

// Computes the positions of window `w` over images of shape `in`, and the output's shape `pooled`. False: the
// kernel has failed.
bool bd_pool_sizes(bd_op_ctx *c, const bd_window *w, const braid_shape *in, bd_pooling_shape *out,
                   braid_shape *pooled);

// Checks that input `i` has shape `want`. The error uses `kind` for a wrong rank, `name` for a wrong size.
// False: the kernel has failed.
bool bd_pool_check_shape(bd_op_ctx *c, int i, const char *kind, const char *name, const braid_shape *want);

// Pools by oneDNN, or by plain loops where oneDNN has no primitive for it.
void bd_pool_run(bd_op_ctx *c, bd_pooling_kind kind, const bd_pooling_shape *shape,
                 const bd_pooling_data *data);

// The shape function of MaxPoolGrad, and its kernel for one of the kinds that compute dx from x and dy. `v2`
// is the input with a V2 op's sizes; 0: they are attrs.
braid_code bd_max_pool_grad_shape(bd_shape_ctx *c, braid_status *st);
void bd_max_pool_grad(bd_op_ctx *c, bd_pooling_kind kind, int v2);

// Whether a pooling op is over volumes.
bool bd_pool_is_3d(const braid_op *node);

static inline const bd_window *bd_pool_window(const bd_op_ctx *c)
{
    return &((const bd_pool_state *)c->state)->window;
}

// The gradient of a maximum's gradient op, and of the second gradient: op `op` gives that of the last input.
void bd_pool_second_gradient(bd_grad_ctx *c, const char *op);

// Adds an op of `count` inputs, with the window of the differentiated op.
braid_out bd_pool_like(const bd_grad_ctx *c, const char *op, const braid_out *inputs, int count);

#endif

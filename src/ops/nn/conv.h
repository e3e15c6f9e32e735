// Shape functions and sizes of convolution, shared by Conv2D, Conv3D and the fused convolution ops.
#ifndef BD_OPS_NN_CONV_H
#define BD_OPS_NN_CONV_H

#include "kernels/conv.h"
#include "ops/common/elementwise.h"
#include "ops/common/window.h"

typedef struct bd_conv_state {
    bd_window window;
    bd_number type;
    bd_primitive_cache cache;
} bd_conv_state;

#define BD_CONV_WINDOW_ATTRS                                                                                 \
    "strides:list(int); padding:string{SAME,VALID,EXPLICIT}; explicit_paddings:list(int)=[]; "               \
    "data_format:string{NHWC,NCHW}='NHWC'; dilations:list(int)=[1,1,1,1]"

// The shape of input 0 convolved with input 1; further inputs are ignored.
braid_code bd_conv_shape_fn(bd_shape_ctx *c, braid_status *st);

braid_code bd_conv_bind(const braid_op *node, bd_conv_state *s, braid_status *st);
void bd_conv_unbind(bd_conv_state *s);

// Sets *shape and *output for the convolution of inputs 0 and 1. False: the kernel has failed.
bool bd_conv_sizes(bd_op_ctx *c, const bd_conv_state *s, bd_conv_shape *shape, braid_shape *output);
// The same for a convolution of tensors with these shapes.
bool bd_conv_sizes_of(bd_op_ctx *c, const bd_window *w, const braid_shape *input, const braid_shape *filter,
                      bd_conv_shape *shape, braid_shape *output);

// Computes by oneDNN. False when it cannot (the kernel may have failed too): nothing has been written then.
bool bd_conv_primitive(bd_op_ctx *c, bd_conv_state *s, bd_conv_kind kind, const bd_conv_shape *shape,
                       const bd_conv_data *data);

#endif

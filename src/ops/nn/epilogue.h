// What a product or a convolution can do with its result while that is in the cache: add a bias, apply an
// activation.
//
// A fused op has TensorFlow's attrs: num_args, the number of inputs behind the first two (the bias), and
// fused_ops, the ops in order, {BiasAdd} or {BiasAdd, Relu}. Beyond TensorFlow's, fused_ops may begin with
// Add: that is made of a sum with what the graph takes to be a vector of the right length, and is a sum of
// any shapes that go together when a run brings others.
#ifndef BD_OPS_NN_EPILOGUE_H
#define BD_OPS_NN_EPILOGUE_H

#include "graph/rewrite.h"
#include "ops/common/elementwise.h"

// The attrs of the fused op besides those of the op that is fused.
#define BD_EPILOGUE_ATTRS "num_args:int>=0; fused_ops:list(string)=[]; epsilon:float=0.0001"

typedef struct bd_epilogue {
    bd_binary_fn add;
    bd_unary_fn activation; // NULL: none
    size_t size;            // bytes of an element
    bool adds_any;          // Add, not BiasAdd
} bd_epilogue;

// Reads attrs T and fused_ops. InvalidArgument for others than {BiasAdd or Add} and {BiasAdd or Add,
// activation}.
braid_code bd_epilogue_bind(const braid_op *node, bd_epilogue *e, braid_status *st);

// The attr's activation; NULL: none.
const char *bd_epilogue_activation(const braid_op *node);

// The bias, input 2, if it fits `features`. NULL: it does not, and the product, output 0, is to be computed
// by itself and handed to bd_epilogue_apart.
const braid_tensor *bd_epilogue_bias(const bd_op_ctx *c, int64_t features);

// Output 0 = activation(output 0 + input 2) with a bias that does not fit: a sum that broadcasts, or the
// error that a BiasAdd gives.
void bd_epilogue_apart(bd_op_ctx *c, const bd_epilogue *e);

// y [rows, features] = activation(y + bias), in place.
void bd_epilogue_run(const bd_epilogue *e, void *y, const void *bias, int64_t rows, int64_t features);

// Puts `fused` in the place of each `op` whose result only a BiasAdd takes (or an Add of a vector), and of
// the activation behind that, if it is one of `activations` (ended by NULL).
typedef struct bd_epilogue_fusion {
    const char *op, *fused;
    const char *const *activations;
} bd_epilogue_fusion;
braid_code bd_epilogue_fuse(bd_rewriter *r, const bd_epilogue_fusion *f, braid_status *st);

#endif

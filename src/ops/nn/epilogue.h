// Epilogues of matrix products and convolutions: a bias and an activation that are applied while the result
// is in the cache.
//
// A fused op has TensorFlow's attrs: num_args, the number of inputs after the first two (the bias), and
// fused_ops, the ops in order, {BiasAdd} or {BiasAdd, Relu}. Unlike TensorFlow's, fused_ops may begin with
// Add: the rewriter uses it for a sum with an input that, by shape inference, is a vector of the right
// length. If the input has another shape at run time, Add broadcasts.
#ifndef BD_OPS_NN_EPILOGUE_H
#define BD_OPS_NN_EPILOGUE_H

#include "graph/rewrite.h"
#include "ops/common/elementwise.h"

// The attrs of a fused op in addition to those of the op that is fused.
#define BD_EPILOGUE_ATTRS "num_args:int>=0; fused_ops:list(string)=[]; epsilon:float=0.0001"

typedef struct bd_epilogue {
    bd_binary_fn add;
    bd_unary_fn activation; // NULL: no activation
    size_t size;            // bytes of an element
    bool adds_any;          // whether the op is Add, which broadcasts, not BiasAdd
} bd_epilogue;

// Reads attrs T and fused_ops. InvalidArgument unless fused_ops is {BiasAdd or Add} or {BiasAdd or Add,
// activation}.
braid_code bd_epilogue_bind(const braid_op *node, bd_epilogue *e, braid_status *st);

// The activation named by attr fused_ops; NULL: no activation.
const char *bd_epilogue_activation(const braid_op *node);

// The bias, input 2, if it is a vector of `features` elements. NULL otherwise: the caller then computes the
// product into output 0 without bias and calls bd_epilogue_apart.
const braid_tensor *bd_epilogue_bias(const bd_op_ctx *c, int64_t features);

// Output 0 = activation(output 0 + input 2) for a bias of another shape: Add broadcasts, BiasAdd reports its
// error.
void bd_epilogue_apart(bd_op_ctx *c, const bd_epilogue *e);

// y [rows, features] = activation(y + bias), in place.
void bd_epilogue_run(const bd_epilogue *e, void *y, const void *bias, int64_t rows, int64_t features);

// Replaces each node `op` by `fused`, together with the BiasAdd (or Add of a vector) that is its only
// consumer, and with the activation that follows if it is in `activations` (terminated by NULL).
typedef struct bd_epilogue_fusion {
    const char *op, *fused;
    const char *const *activations;
} bd_epilogue_fusion;
braid_code bd_epilogue_fuse(bd_rewriter *r, const bd_epilogue_fusion *f, braid_status *st);

#endif

// What a gradient function of an op sees, and short forms for the nodes it adds.
//
// It runs with the op's gradient name scope ("gradients/hid/MatMul_grad") entered and its device or
// colocation set, and adds nodes as TensorFlow's Python does, names and structure included, so that graphs
// agree.
#ifndef BD_GRAPH_GRAD_H
#define BD_GRAPH_GRAD_H

#include "graph/graph.h"

// With rows [n, ...] of a gradient.
typedef struct bd_indexed_slices {
    braid_out indices;     // [n], which ones they are
    braid_out dense_shape; // of the whole
} bd_indexed_slices;

typedef struct bd_grad_ctx {
    braid_graph *graph;
    braid_op *op;
    const braid_out *output_grads; // [outputs of op]; op is NULL where no gradient arrives
    braid_out *input_grads;        // [inputs of op]; all NULL at the start: no gradient
    // What says of which rows a gradient is (TensorFlow's IndexedSlices); `indices.op` is NULL where it is
    // the whole. Of outputs it is for an op with BD_OP_SPARSE_GRAD only: others are given the whole.
    const bd_indexed_slices *output_rows; // [outputs of op]
    bd_indexed_slices *input_rows;        // [inputs of op]
} bd_grad_ctx;

// The gradient of input `to` is that of output `from`, be it the whole or rows.
void bd_grad_pass(bd_grad_ctx *c, int to, int from);

// The gradients of a call of `f` (an attr of type func) with the op's inputs: a SymbolicGradient, which
// computes anew what it needs of `f`.
void bd_grad_call(bd_grad_ctx *c, const bd_attr *f);

// Short forms over the builder: a node with the given inputs, named after its op unless `name` is given,
// output 0.
braid_out bd_b1(braid_graph *g, const char *op, const char *name, braid_out a);
braid_out bd_b2(braid_graph *g, const char *op, const char *name, braid_out a, braid_out b);
braid_out bd_b3(braid_graph *g, const char *op, const char *name, braid_out a, braid_out b, braid_out c);
braid_out bd_b_const(braid_graph *g, const char *name, const braid_tensor *value); // takes a reference more
braid_out bd_b_const_i32(braid_graph *g, const char *name, int32_t value);
braid_out bd_b_const_f(braid_graph *g, const char *name, braid_dtype dtype,
                       double value); // a scalar of a number type
braid_out bd_b_const_i32_vector(braid_graph *g, const char *name, const int32_t *values, int count);
// tf.shape: a Const when the shape is fully known (TensorFlow's optimization), else a Shape node.
braid_out bd_b_shape(braid_graph *g, const char *name, braid_out x);

#endif

// The context of gradient functions, and short forms for the nodes that they add.
//
// A gradient function runs with the op's gradient name scope ("gradients/hid/MatMul_grad") entered and its
// device or colocation set. It adds nodes as TensorFlow's Python does, with the same names and structure, so
// that graphs agree.
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
    // The indices of sparse gradients (TensorFlow's IndexedSlices); `indices.op` is NULL for a dense
    // gradient. For outputs only with BD_OP_SPARSE_GRAD: other ops get dense gradients.
    const bd_indexed_slices *output_rows; // [outputs of op]
    bd_indexed_slices *input_rows;        // [inputs of op]
    const char *call;                     // the name scope of the call for gradients; NULL without a walk
} bd_grad_ctx;

// How the gradients of an op called `name` are made.
braid_gradient_kind bd_op_gradient_kind(const char *name, const bd_op *op);

// The gradient of input `to` is that of output `from`, be it the whole or rows.
void bd_grad_pass(bd_grad_ctx *c, int to, int from);
// A StridedSlice of a vector. With the mask "end_mask" it is the vector from the element `begin` on, with
// "shrink_axis_mask" (and `end` the next element) that element, a scalar.
braid_out bd_grad_part_of(braid_graph *g, braid_out vector, int32_t begin, int32_t end, const char *mask);

// Returns the gradients of a call of `f` (an attr of type func) with the op's inputs: a SymbolicGradient,
// which computes the needed values of `f` again.
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
braid_out bd_b_const_zeros(braid_graph *g, const char *name, braid_dtype dtype, const braid_shape *shape);
// tf.zeros of a shape in an output, and of a shape that is known: a Const of it when it is small.
braid_out bd_b_zeros(braid_graph *g, braid_out shape, braid_dtype dtype);
braid_out bd_b_zeros_of(braid_graph *g, const braid_shape *shape, braid_dtype dtype);
// tf.shape: a Const when the shape is fully known (TensorFlow's optimization), else a Shape node.
braid_out bd_b_shape(braid_graph *g, const char *name, braid_out x);

#endif

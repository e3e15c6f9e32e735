// Declarations shared by the files of the gradient walk.
#ifndef BD_GRAPH_GRADIENTS_INTERNAL_H
#define BD_GRAPH_GRADIENTS_INTERNAL_H

#include "graph/grad.h"

// One op's turn: the gradients of its outputs, and those of its inputs that follow.
typedef struct bd_gradient_turn {
    braid_op *op;
    const char *call; // the name scope of the walk; NULL without one; not owned
    braid_out *output_grads, *input_grads;
    bd_indexed_slices *output_rows, *input_rows;
} bd_gradient_turn;

void bd_gradient_turn_init(bd_gradient_turn *t, braid_op *op);
void bd_gradient_turn_fini(bd_gradient_turn *t);
void bd_gradient_turn_receive(bd_gradient_turn *t, int output, const braid_gradient *grad);
// Outputs of types that have gradients and received none get zeros.
void bd_gradient_turn_fill(bd_gradient_turn *t);
// Rows become the whole, for an op that wants it.
void bd_gradient_turn_make_whole(bd_gradient_turn *t);
// Lets the gradient function of the op, which has one, build the gradients of the inputs.
void bd_gradient_turn_call(bd_gradient_turn *t);
braid_gradient bd_gradient_turn_given(const bd_gradient_turn *t, int output);
void bd_gradient_turn_set_result(bd_gradient_turn *t, int input, const braid_gradient *grad);
braid_gradient bd_gradient_turn_result(const bd_gradient_turn *t, int input);

// Whether the parts of a gradient are outputs of `g`, as far as there are any.
bool bd_gradient_is_of(const braid_graph *g, const braid_gradient *grad);

bool bd_dtype_is_trainable(braid_dtype type); // has gradients

// Rows joined one after the other, and the indices of rows as int64.
braid_out bd_gradients_join(braid_graph *g, const braid_out *parts, size_t count);
braid_out bd_gradients_as_int64(braid_graph *g, braid_out indices);
// The sum of several gradients of one output of `op`.
braid_gradient bd_gradients_sum(const braid_op *op, const braid_gradient *grads, size_t count,
                                braid_aggregation_method method);

#endif

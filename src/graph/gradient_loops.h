// Gradients through loops: finds the forward loops between xs and ys and builds their gradient loops.
//
// For each forward loop between xs and ys there is a gradient loop that runs as many iterations, backward (Yu
// et al., Dynamic Control Flow in Large-Scale Machine Learning, EuroSys 2018, section 5). The forward loop is
// given a counter; the gradient loop counts it down. The forward
// loop pushes the values that an iteration of the gradient loop needs on a stack, and the gradient loop pops
// them; a stack holds the values of all runs of a loop within another loop. A constant input of the forward
// loop is a constant input of the gradient loop, too; its gradients add up from iteration to iteration.
#ifndef BD_GRAPH_GRADIENT_LOOPS_H
#define BD_GRAPH_GRADIENT_LOOPS_H

#include "graph/region.h"

typedef struct bd_gradient_loops bd_gradient_loops;
typedef struct bd_gradient_loop bd_gradient_loop;
typedef struct bd_returns bd_returns;             // gradient_returns.h
typedef struct bd_gradient_turn bd_gradient_turn; // gradients_internal.h

// Makes the loops of `g`, without gradient loops yet. NULL, and the graph fails, when its frames are wrong.
// `returns` outlives it.
bd_gradient_loops *bd_gradient_loops_new(braid_graph *g, const bd_returns *returns);
// The same for a walk through conditionals only: the frames of a loop that is being built may be wrong yet,
// and then the conditionals are not known (NULL).
bd_gradient_loops *bd_gradient_conditionals_new(braid_graph *g, const bd_returns *returns);
void bd_gradient_loops_free(bd_gradient_loops *all); // NULL is accepted

// Makes the gradient loop for the loop that `exit` leaves, and for those around it.
void bd_gradient_loops_add(bd_gradient_loops *all, const braid_op *exit);
// Returns the loop whose gradient loop contains node `n`; for an Exit, the loop that it leaves. NULL: no
// loop.
bd_gradient_loop *bd_gradient_loop_of(const bd_gradient_loops *all, const braid_op *n);
// Returns whether `n` is the Switch of a loop variable of one of these loops.
bool bd_gradient_is_loop_switch(const bd_gradient_loops *all, const braid_op *n);

// The state of a loop's Exits during the walk: their gradients enter the gradient loop together.
typedef struct bd_gradient_exits {
    bd_op_list all;
    bd_op_list ready; // they wait for the other exits
    int begun;        // how many have had their turn without waiting
    // Of a loop whose values are popped on a path (gradient_returns.h):
    bool has_returns;  // also in a loop within it
    int returns;       // pops that have not had their turn
    bool has_returned; // a pop had a gradient
    bool has_begun;    // all had their turn together
} bd_gradient_exits;
// By the numbers of loops, which are below the count; NULL for a number without a loop.
int bd_gradient_loop_count(const bd_gradient_loops *all);
bd_gradient_exits *bd_gradient_exits_at(bd_gradient_loops *all, int i);
bd_gradient_exits *bd_gradient_exits_of(bd_gradient_loops *all, const braid_op *exit);
// Of the loop around; NULL: there is none.
bd_gradient_exits *bd_gradient_exits_around(const bd_gradient_exits *exits);
bd_gradient_exits *bd_gradient_loop_exits(bd_gradient_loop *l);

// The region of the gradients of node `n`: the gradients that an Exit receives are outside of its loop
// (`receives`).
bd_region *bd_gradient_region(const bd_gradient_loops *all, const braid_op *n, bool receives);

// Makes a zero gradient for an Exit without a gradient, within bd_gradient_region of it.
braid_out bd_gradient_zeros_for_exit(bd_gradient_loops *all, braid_op *exit);
// The zero gradient of output `output` of a node in a loop, whose gradient region is current.
braid_out bd_gradient_zeros_in_loop(bd_gradient_loops *all, braid_op *n, int output);

// Builds the gradients of the inputs of a control-flow op of a loop from those of its outputs. Returns false
// for other ops.
bool bd_gradient_of_loop_op(bd_gradient_loops *all, const braid_op *n, const braid_out *output_grads,
                            braid_out *input_grads);
// The same for an op of a conditional. Returns false for other ops, and where the conditional is not known
// from its nodes.
bool bd_gradient_of_cond_op(bd_gradient_loops *all, const braid_op *n, const braid_out *output_grads,
                            braid_out *input_grads);
// The same for an op of either that receives rows and takes them as they are (gradient_rows.c). Returns false
// where it wants the whole.
bool bd_gradient_of_rows(bd_gradient_loops *all, bd_gradient_turn *t);
// Gradients are built within a branch of the conditional of this condition: what comes into the branch is
// known to be of it without its Merge.
void bd_gradient_within_branch(bd_gradient_loops *all, braid_out condition);
// Whether output `output` of a node is a value within a branch of a conditional whose Merge had its turn.
bool bd_gradient_enters_branch(bd_gradient_loops *all, const braid_op *n, int output);
// The gradient of an input of a node in branches of a loop that the input is not in: zeros where they are not
// taken. The values of a gradient loop that are constants of the forward loop get into branches so.
braid_out bd_gradient_leave_branches(bd_gradient_loops *all, const braid_op *n, int input, braid_out grad);
// The zero gradient of an output of such a Switch outside of loops: of the branch without a gradient.
braid_out bd_gradient_zeros_of_branch(bd_gradient_loops *all, const braid_op *n, int output,
                                      braid_dtype dtype);
// Ends the loops: variables that do not depend on themselves get gradient 0 from the iteration after.
void bd_gradient_loops_finish(bd_gradient_loops *all);

#endif

// Gradients through loops: the loops that the walk of gradients meets, and those that it builds for them.
//
// For each forward loop between xs and ys there is a gradient loop that runs as many iterations, backward (Yu
// et al., Dynamic Control Flow in Large-Scale Machine Learning, EuroSys 2018, section 5). The forward loop is
// given a counter; the gradient loop counts it down. What the gradient loop needs of an iteration of the
// forward loop is pushed on a stack there, and popped here: stacks hold the values of all runs of a loop
// within another one. What a forward loop takes in as a constant is taken into the gradient loop in the same
// way; its gradients add up from iteration to iteration.
#ifndef BD_GRAPH_GRADIENT_LOOPS_H
#define BD_GRAPH_GRADIENT_LOOPS_H

#include "graph/region.h"

typedef struct bd_gradient_loops bd_gradient_loops;
typedef struct bd_gradient_loop bd_gradient_loop;

// The loops of `g`, none of which has a gradient loop yet. NULL, and the graph fails, when its frames are
// wrong.
bd_gradient_loops *bd_gradient_loops_new(braid_graph *g);
void bd_gradient_loops_free(bd_gradient_loops *all); // NULL is accepted

// Makes the gradient loop for the one that `exit` leaves, and for those around it.
void bd_gradient_loops_add(bd_gradient_loops *all, const braid_op *exit);
// The loop whose gradient loop that of node `n` is: an Exit's is the one it leaves. NULL: none.
bd_gradient_loop *bd_gradient_loop_of(const bd_gradient_loops *all, const braid_op *n);
// Whether `n` is the Switch of a variable of such a loop.
bool bd_gradient_is_loop_switch(const bd_gradient_loops *all, const braid_op *n);

// What the walk keeps of a loop's Exits: all their gradients go in together.
typedef struct bd_gradient_exits {
    bd_op_list all;
    bd_op_list ready; // they wait for the others
    int begun;        // how many have had their turn without waiting
} bd_gradient_exits;
// By loops' numbers below the count; NULL where there is none.
int bd_gradient_loop_count(const bd_gradient_loops *all);
bd_gradient_exits *bd_gradient_exits_at(bd_gradient_loops *all, int i);
bd_gradient_exits *bd_gradient_exits_of(bd_gradient_loops *all, const braid_op *exit);

// The region where gradients of node `n` are: those that an Exit receives are outside of its loop
// (`receives`).
bd_region *bd_gradient_region(const bd_gradient_loops *all, const braid_op *n, bool receives);

// A gradient 0 for an Exit that has none; within bd_gradient_region of it.
braid_out bd_gradient_zeros_for_exit(bd_gradient_loops *all, braid_op *exit);

// The gradients of the inputs of an op that steers a loop, from those of its outputs. False: it is none.
bool bd_gradient_of_loop_op(bd_gradient_loops *all, const braid_op *n, const braid_out *output_grads,
                            braid_out *input_grads);
// Ends the loops: variables that do not depend on themselves get gradient 0 from the iteration after.
void bd_gradient_loops_finish(bd_gradient_loops *all);

#endif

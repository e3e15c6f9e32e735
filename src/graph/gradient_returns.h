// Gradients of gradients of loops: what a gradient loop pops, the forward loop has pushed, so that the
// gradient of what was popped is a gradient of what was pushed.
//
// Loop P pushes a value in each iteration, and its gradient loop Q pops it, the last one first. Q has a
// gradient loop, too, Q', whose iterations have the order of those of P; and P has one, P', whose iterations
// have the order of those of Q. Q' pushes the gradient of what Q has popped on a stack of its own, and P' pops
// it. P' begins when Q' has ended. Each of these loops may be within others that are the same for both.
//
// For the walk, a pop depends on the value that was pushed. The walk does not go into P before all pops of
// P's values have had their turn: the gradients that its Exits receive do not come from all of them.
#ifndef BD_GRAPH_GRADIENT_RETURNS_H
#define BD_GRAPH_GRADIENT_RETURNS_H

#include "graph/gradient_loops.h"

// A node that pops, within a loop, and the value that another loop has pushed.
typedef struct bd_return {
    braid_op *pop;
    braid_out value;
    int next; // of the same value's node; -1: none
    // Set by bd_returns_connect:
    bd_gradient_loop *pops, *pushed;         // the loops Q and P
    bd_gradient_loop *pops_top, *pushed_top; // those around them that are in the same loop
} bd_return;

struct bd_returns {
    BD_ARRAY(bd_return) items;
    bd_imap of_pop;   // node id of the pop -> its number + 1
    bd_imap of_value; // node id of the value -> the number of its first return + 1
    bd_imap pushes;   // node id of each pop, whatever its type -> the node that has pushed
};

// Finds the pops of the first `count` nodes whose values may have gradients.
void bd_returns_find(const braid_graph *g, int count, bd_returns *out);
void bd_returns_fini(bd_returns *r);

// What the node that pops gets; `out` of any other node. Not where several nodes push.
braid_out bd_returns_pushed(const bd_returns *r, braid_out out);
bd_return *bd_returns_of_pop(const bd_returns *r, const braid_op *n); // NULL: it is no such pop
// The numbers of the returns of a node's values: the first one, then its `next`; -1: none.
int bd_returns_of_value(const bd_returns *r, const braid_op *n);

// Finds the loops of a pop that is on a path, which all->loops has. Returns false for a stack outside of
// loops, through which no gradient goes, and, when the graph fails, where they are no pair of loops as above.
bool bd_return_connect(bd_gradient_loops *all, bd_return *r);
// Makes the gradient loop of the loop that has pushed the value, if there is none. The graph fails when it
// has no Exit.
void bd_return_add_loop(bd_gradient_loops *all, const bd_return *r);
// Takes the gradient of what is popped to the gradient loop of the value, where it is returned.
braid_out bd_return_gradient(bd_gradient_loops *all, const bd_return *r, braid_out grad);

#endif

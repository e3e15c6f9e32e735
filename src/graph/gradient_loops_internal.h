// Declarations shared by the files that build gradient loops.
//
// Order: an iteration of the forward loop pushes before its counter goes to the next iteration, and a push
// comes after the counter's addition. The gradient loop pops before its counter goes on. A nested loop begins
// after the outer counter's addition, and ends before that counter goes on. So stacks are pushed and popped
// in the order of iterations, even if iterations run in parallel. A value of a branch is pushed only when the
// branch is taken, and its stack goes through a Switch with the same predicate before the pop; a trigger,
// which runs in every iteration, then connects it with the counter.
#ifndef BD_GRAPH_GRADIENT_LOOPS_INTERNAL_H
#define BD_GRAPH_GRADIENT_LOOPS_INTERNAL_H

#include "graph/frames.h"
#include "graph/gradient_loops.h"

// The branches that a node is within, the innermost first; in the arena.
typedef struct bd_branch {
    braid_out pred;
    int taken;
    int depth;
    // The same condition for all branches that are taken when this one is: see bd_branch_find_key.
    braid_out key;
    int key_taken;
    const struct bd_branch *outer;
} bd_branch;

typedef struct bd_branch_around bd_branch_around; // gradient_around.c

struct bd_gradient_loop {
    bd_gradient_loops *all;
    bd_gradient_loop *outer;
    int32_t frame;           // of the forward loop
    const bd_branch *around; // the innermost branch outside of all loops that it is in (gradient_around.c)
    const braid_op *condition;
    bd_gradient_exits exits;
    bd_region forward;               // of the nodes that are added to the forward loop
    braid_op *counted, *count_on;    // its counter's addition, and NextIteration
    braid_op *push_sync, *pop_sync;  // triggers; NULL until needed
    bd_region back;                  // the gradient loop
    braid_out goes_on;               // its condition
    braid_op *back_on;               // its counter's NextIteration
    braid_op *back_begin, *back_end; // its counter's Enter and Exit
    bd_imap switches;                // forward Switch -> Merge of its gradient
    bd_op_list merges;               // these Merges, in order
};

// A node that gradients have added to a forward loop.
typedef struct bd_added_node {
    int32_t frame;
    const bd_branch *within;
} bd_added_node;

struct bd_gradient_loops {
    braid_graph *g;
    int count;                 // of nodes of the graph when the walk began
    const bd_returns *returns; // not owned
    bd_consumers consumers;
    bd_frames frames;
    bd_gradient_loop **loops;   // by frame; NULL: no loop
    const bd_branch **branches; // by node
    bool *has_branch;           // by node: `branches` is known
    bd_branch_around *around;   // branches around loops, as far as they were asked for
    bd_imap ended;              // keys of the conditionals whose Merges had their turn
    bd_imap added;              // nodes that were added to forward loops -> bd_added_node, in the arena
    bd_arena arena;
};

static inline bool bd_gradient_has_failed(const bd_gradient_loops *all)
{
    return all->g->status.code != BRAID_OK;
}

// The frame that the output of a node is in; -1 for a node that the gradients made, but for those that were
// added to a forward loop.
int32_t bd_gradient_frame_of(const bd_gradient_loops *all, const braid_op *n);
bool bd_gradient_is_loop_merge(const braid_op *n);

// ---- Branches (gradient_branches.c) ----

// The branches that contain a node, and the branches that contain the consumers of an output.
const bd_branch *bd_branch_of(bd_gradient_loops *all, const braid_op *n);
const bd_branch *bd_branch_of_output(bd_gradient_loops *all, braid_out out);
// The branch of a conditional's Merge that ends with its input `input`; NULL: it is not known.
const bd_branch *bd_branch_ending(bd_gradient_loops *all, const braid_op *merge, int input);
// Sets the key of a branch that has the rest.
void bd_branch_find_key(bd_gradient_loops *all, bd_branch *b);
// The condition by which a Switch chooses.
braid_out bd_branch_condition(const bd_gradient_loops *all, const braid_op *chosen);
bool bd_branch_is_within(const bd_branch *b, const bd_branch *around);
// Whether both are taken at the same time, as far as their keys tell.
bool bd_branch_is_same(const bd_branch *a, const bd_branch *b);

// ---- Branches around loops (gradient_around.c) ----

// The innermost branch outside of all loops that a loop is in; NULL: it is in none, or in one of a loop.
const bd_branch *bd_gradient_branch_around(bd_gradient_loops *all, int32_t frame);
// The region of such a branch; NULL: of none.
bd_region *bd_gradient_region_of_branch(bd_gradient_loops *all, const bd_branch *b);
void bd_gradient_around_free(bd_gradient_loops *all);

// ---- Conditionals (gradient_conds.c) ----

// Whether the data of a Switch of a loop is in the branch of output `output` already.
bool bd_gradient_is_in_branch(bd_gradient_loops *all, const braid_op *n, int output);
// The gradient of a Merge of rows. Returns false where the conditional is not known.
bool bd_gradient_switch_rows(bd_gradient_loops *all, bd_gradient_turn *t);

// ---- Values of the forward loop (gradient_stacks.c) ----

// `n`, which may not run, is over before `goes_on`: by the trigger `*sync` of that region.
void bd_gradient_add_to_trigger(bd_gradient_loop *l, bd_region *r, braid_op **sync, const char *name,
                                braid_op *goes_on, braid_op *n);
// Pushes the value of each iteration on a stack; returns the stack. `within`: the branches that contain the
// value; `is_dead`: of the innermost it has the condition only, and the push is outside of that one.
braid_out bd_gradient_push(bd_gradient_loop *l, braid_out value, const bd_branch *within, bool is_dead);
// Pops, in each iteration of the gradient loop, the value that the forward iteration pushed.
braid_out bd_gradient_pop(bd_gradient_loop *l, braid_out stack, braid_out value, const bd_branch *within);
// A condition of the forward loop as the gradients of its branches have it: always from a stack.
braid_out bd_gradient_condition(bd_gradient_loop *l, braid_out pred);
// Pushes, in each iteration of the gradient loop, a value of it; returns the stack.
braid_out bd_gradient_push_back(bd_gradient_loop *l, braid_out value);
// The shape of a value of the loop around, in its gradient loop.
braid_out bd_gradient_shape_around(bd_gradient_loop *l, braid_out value);
// Zeros of the shape of a value of the loop around, as the start of a gradient within it.
braid_out bd_gradient_zeros_around(bd_gradient_loop *l, braid_out value, braid_dtype dtype);
// A Switch in region `r` (NULL: none) that is where its data is; its output `taken`.
braid_out bd_gradient_switch(bd_region *r, braid_out data, braid_out pred, const char *name, int taken);
// The branches that are in the loop itself.
const bd_branch *bd_gradient_branch_within(bd_gradient_loop *l, const bd_branch *b);
// Makes `n` one of the nodes of the forward loop, of these branches of it.
void bd_gradient_add_forward(bd_gradient_loop *l, braid_op *n, const bd_branch *within);
// For bd_region.moves.
bool bd_gradient_asks_forward(bd_region *r, braid_op *n);
// For bd_region.bring: the value that the forward loop had in the iteration for which the gradient loop runs.
bool bd_gradient_real_value(bd_region *r, braid_out from, braid_out *here);

#endif

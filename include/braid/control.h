// Conditionals and loops within a graph.
//
// The caller's functions build the bodies. A tensor of the outer graph that a body uses is captured
// automatically: as a loop constant in a loop, through a Switch in a branch. Gradients go through
// conditionals and loops. braid_graph_status returns the first error.
//
//     static braid_out below_100(void *arg, braid_graph *g, const braid_out *vars)
//     {
//         return braid_op_end_out(...);  // Less(vars[0], 100)
//     }
//     static void twice(void *arg, braid_graph *g, const braid_out *vars, braid_out *next)
//     {
//         next[0] = braid_add(g, vars[0], vars[0]);
//     }
//     braid_while(g, &(braid_loop){.condition = below_100, .body = twice}, &x, 1, &result);
#ifndef BRAID_CONTROL_H
#define BRAID_CONTROL_H

#include <braid/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A loop: its condition, its body and its options.
typedef struct braid_loop {
    /// Builds the condition, a bool scalar, from the loop's variables.
    braid_out (*condition)(void *arg, braid_graph *graph, const braid_out *vars);
    /// Builds the values of the variables in the next iteration; `next` has room for them.
    void (*body)(void *arg, braid_graph *graph, const braid_out *vars, braid_out *next);
    void *arg;               ///< for both
    int parallel_iterations; ///< the maximum number of iterations in progress; 0: 10
    const char *name;        ///< NULL: "while"
    /// The shapes [count] that the variables have in each iteration, for variables whose shapes change: -1
    /// for a dimension that does. NULL: the shapes of the initial values.
    const braid_shape *shape_invariants;
} braid_loop;

/// Builds a loop over `count` loop variables (at least one) with the initial values `init`, and stores their
/// final values to `results` [count], which may be `init` (tf.while_loop). The type of a loop variable is
/// constant. The graph fails when the body's value for a variable may have a shape outside of its invariant,
/// which is also the shape of its result.
BRAID_API void braid_while(braid_graph *graph, const braid_loop *loop, const braid_out *init, int count,
                           braid_out *results);

/// Builds the values of one branch; `results` has room for them.
typedef void (*braid_branch_fn)(void *arg, braid_graph *graph, braid_out *results);

/// Builds a conditional: `results` [count] are the outputs of `then` when `pred`, a bool scalar, is true,
/// else those of `otherwise`, which have the same types (tf.cond). Only the branch that is taken runs. `name`
/// NULL: "cond".
BRAID_API void braid_cond(braid_graph *graph, const char *name, braid_out pred, braid_branch_fn then,
                          braid_branch_fn otherwise, void *arg, int count, braid_out *results);

#ifdef __cplusplus
}
#endif
#endif

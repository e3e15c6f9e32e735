// Conditionals and loops within a graph.
//
// Bodies are built by functions of yours. What a body takes from outside is brought in by itself: into a loop
// as a constant of it, into a branch when the branch is taken. Gradients go through both; braid_graph_status
// says what went wrong.
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

/// A loop: what its variables become while a condition holds.
typedef struct braid_loop {
    /// Builds the condition, a bool scalar, from the loop's variables.
    braid_out (*condition)(void *arg, braid_graph *graph, const braid_out *vars);
    /// Builds the values of the variables in the next iteration; `next` has room for them.
    void (*body)(void *arg, braid_graph *graph, const braid_out *vars, braid_out *next);
    void *arg;               ///< for both
    int parallel_iterations; ///< so many may run at once; 0: 10
    const char *name;        ///< NULL: "while"
} braid_loop;

/// Builds a loop over `count` variables (at least one) that begin as `init`, and stores to `results` [count],
/// which may be `init`, what they are when the condition no longer holds (tf.while_loop). A variable keeps
/// its type; its shape may change.
BRAID_API void braid_while(braid_graph *graph, const braid_loop *loop, const braid_out *init, int count,
                           braid_out *results);

/// Builds the values of one branch; `results` has room for them.
typedef void (*braid_branch_fn)(void *arg, braid_graph *graph, braid_out *results);

/// Builds a conditional: `results` [count] are those of `then` where `pred`, a bool scalar, is true, else
/// those of `otherwise`, of the same types (tf.cond). Only the branch that is taken runs. `name` NULL:
/// "cond".
BRAID_API void braid_cond(braid_graph *graph, const char *name, braid_out pred, braid_branch_fn then,
                          braid_branch_fn otherwise, void *arg, int count, braid_out *results);

#ifdef __cplusplus
}
#endif
#endif

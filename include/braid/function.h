// Functions of a graph's library, built by a C function: for ops with an attribute of type func, such as
// those of datasets (dataset.h) and PartitionedCall.
//
//     static void twice(void *arg, braid_graph *body, const braid_out *args, braid_out *results)
//     {
//         results[0] = braid_add(body, args[0], args[0]);
//     }
//     const braid_function f = braid_function_build(graph, &(braid_function_spec){
//         .name = "twice", .arg_dtypes = &dtype, .arg_count = 1, .result_count = 1, .build = twice});
//     braid_op_attr_func(desc, "f", f.name);
#ifndef BRAID_FUNCTION_H
#define BRAID_FUNCTION_H

#include <braid/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/// What a function is built from.
typedef struct braid_function_spec {
    const char *name; ///< becomes unique by a number behind it; letters, digits and '_'
    const braid_dtype *arg_dtypes;
    const braid_shape *arg_shapes; ///< [arg_count]; NULL: unknown
    int arg_count, result_count;
    /// Builds the body on `body`, a graph of its own, from the arguments `args` [arg_count], and stores its
    /// results. Called once, before braid_function_build returns. An output of the graph outside that the
    /// body uses, or of a graph around that, becomes an argument (it is captured): its value is computed
    /// where the function is called. Variables, tables, iterators and queues are made outside. Nodes and
    /// memory of `body` live as long as the graph outside.
    void (*build)(void *arg, braid_graph *body, const braid_out *args, braid_out *results);
    void *arg; ///< for `build`
} braid_function_spec;

/// A function: a value. Its arrays are the graph's.
typedef struct braid_function {
    const char *name; ///< in the graph's library; NULL when the graph has failed
    int result_count;
    const braid_dtype *result_dtypes; ///< [result_count]
    const braid_shape *result_shapes; ///< [result_count], as far as inferred
    /// Outputs of the graph that a call passes as arguments behind the `arg_count` of the spec.
    const braid_out *captured;
    int captured_count;
    bool is_stateful; ///< a node of the body has an effect, or a result that changes from call to call
} braid_function;

/// Builds a function and adds it to the graph's library. Random ops of the body get the graph's seed. The
/// graph fails with what made the body fail: an op's error, a result that is nothing, a control input from
/// outside, a variable or a placeholder within the body.
BRAID_API braid_function braid_function_build(braid_graph *graph, const braid_function_spec *spec);

/// Adds a function without arguments whose results are copies of `results` [count] and of all nodes
/// that they need. The graph fails when these include a placeholder, a variable or another stateful op
/// that makes no dataset.
BRAID_API braid_function braid_function_copy(braid_graph *graph, const char *name, const braid_out *results,
                                             int count);

/// Stores the two seeds that a random op gets (tf.get_seed): of the graph, and of the op. `op_seed`
/// NULL: the op has none of its own; both are 0 then, which means any, unless the graph has a seed.
BRAID_API void braid_get_seed(const braid_graph *graph, const int64_t *op_seed, int64_t seeds[2]);

#ifdef __cplusplus
}
#endif
#endif

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

// ---- Functions as messages: for front ends that build bodies as graphs of their own ----

/// A function to be made of a graph.
typedef struct braid_function_body {
    const char *name;        ///< as it is to be
    const char *description; ///< NULL: none
    /// [input_count] outputs of the graph that become the arguments. All outputs of their nodes are
    /// arguments; the nodes are not in the function.
    const braid_out *inputs;
    int input_count;
    const braid_out *outputs; ///< [output_count] the results
    int output_count;
    const char *const *output_names; ///< [output_count]; NULL: from the names of nodes
    braid_op *const *ops;            ///< [op_count] the nodes of the function; NULL: all of the graph
    int op_count;
} braid_function_body;

/// Returns a function made of a graph as a serialized FunctionDef (free() it) and its length
/// (TF_GraphToFunction). Arguments, results without given names, and nodes are called as TensorFlow calls
/// them. The graph stays as it is, and functions that its nodes call are not part of the message. NULL on an
/// error: that of the graph, or InvalidArgument for a name that is none, an input that appears twice or is a
/// reference, a node whose outputs are inputs only in part, an input of a node that is not in the function,
/// an op that Braid does not know, two results of one name.
BRAID_API void *braid_graph_to_function(const braid_graph *graph, const braid_function_body *body,
                                        size_t *len, braid_status *status);
/// Adds a serialized FunctionDef to the graph's library. The same definition may be added again. `gradient`:
/// the name of the function that computes its gradients (GradientDef); NULL: none is named. InvalidArgument,
/// with nothing changed: a malformed message, another definition of the same name, the name of an op, another
/// gradient function.
BRAID_API braid_code braid_graph_add_function(braid_graph *graph, const void *function_def, size_t len,
                                              const char *gradient, braid_status *status);
/// Stores at most `max` names of the functions of the graph's library, in the order in which they were added,
/// and returns how many there are. Owned by the graph.
BRAID_API int braid_graph_functions(const braid_graph *graph, const char **names, int max);
/// Returns a function of the graph's library as a serialized FunctionDef (free() it), with its signature as
/// an OpDef in it, and its length. NULL on an error: NotFound.
BRAID_API void *braid_function_def(const braid_graph *graph, const char *name, size_t *len,
                                   braid_status *status);
/// The name of the gradient function that was given for a function; NULL: none. Owned by the graph, valid
/// until it gets another function.
BRAID_API const char *braid_function_gradient(const braid_graph *graph, const char *name);

/// Stores the two seeds that a random op gets (tf.get_seed): of the graph, and of the op. `op_seed`
/// NULL: the op has none of its own; both are 0 then, which means any, unless the graph has a seed.
BRAID_API void braid_get_seed(const braid_graph *graph, const int64_t *op_seed, int64_t seeds[2]);

#ifdef __cplusplus
}
#endif
#endif

// Variables: state that lives in a session's devices from step to step, and how it gets its first value.
#ifndef BRAID_VARIABLES_H
#define BRAID_VARIABLES_H

#include <braid/graph.h>
#include <braid/initializers.h>

#ifdef __cplusplus
extern "C" {
#endif

/// A variable, as TensorFlow's Python makes it: node NAME with NAME/read, NAME/Assign and the nodes of its
/// initial value. The graph owns the nodes. All members are NULL when the graph has failed.
typedef struct braid_variable {
    braid_out ref;         ///< the variable, a reference or a handle: the input of optimizers and assignments
    braid_out read;        ///< its value: the input of models
    braid_op *initializer; ///< gives it its first value
    braid_out initial_value; ///< that value
    /// Of a partitioned variable (variable_scope.h), the `ref` of its parts, owned by the graph; NULL for any
    /// other. A partitioned variable has no `ref` of its own, and `read` is all of its parts.
    const braid_out *parts;
    int part_count;
} braid_variable;

/// The names of TensorFlow's collections of variables; they hold the `ref` of each.
#define BRAID_GLOBAL_VARIABLES "variables"
#define BRAID_TRAINABLE_VARIABLES "trainable_variables"
#define BRAID_LOCAL_VARIABLES "local_variables"
#define BRAID_GLOBAL_STEP "global_step"
/// A value that sessions and hooks read for the global step in its place (tf.train.get_global_step's read):
/// a worker's own copy of it, for example.
#define BRAID_GLOBAL_STEP_READ "global_step_read_op_cache"

/// Makes a variable of the type and shape of `initial_value`, in the collection "variables", and in
/// "trainable_variables" if optimizers are to train it (tf.Variable). `name` NULL: "Variable". The graph
/// fails when the shape is not fully known.
BRAID_API braid_variable braid_variable_new(braid_graph *graph, const char *name, braid_out initial_value,
                                            bool trainable);
/// The same as a resource variable (use_resource=True): other ops refer to it by the handle `ref`, and a
/// value that was read does not change when the variable does. Nodes NAME,
/// NAME/IsInitialized/VarIsInitializedOp, NAME/Assign and NAME/Read/ReadVariableOp.
BRAID_API braid_variable braid_variable_resource(braid_graph *graph, const char *name,
                                                 braid_out initial_value, bool trainable);
/// The same with a constant for a first value, NAME/initial_value: tf.Variable(0, name=...). `value` stays
/// the caller's.
BRAID_API braid_variable braid_variable_of(braid_graph *graph, const char *name, const braid_tensor *value,
                                           bool trainable);

/// Finds the nodes of the variable whose node is `ref.op`, by their names. A missing node is NULL.
BRAID_API braid_variable braid_variable_find(braid_out ref);

/// Makes a variable with an initializer, or finds it where the variable scope says that it is reused
/// (tf.get_variable): the short form of braid_variable_get_with (variable_scope.h). NAME is relative to the
/// current variable scope. Nodes of the first value, NAME/Initializer/..., lie where the variable does.
BRAID_API braid_variable braid_variable_get(braid_graph *graph, const char *name, braid_dtype dtype,
                                            braid_shape shape, braid_initializer initializer, bool trainable);

// ---- All variables of a graph ----

/// The node that initializes all global (or local) variables, named "init".
BRAID_API braid_op *braid_global_variables_initializer(braid_graph *graph);
BRAID_API braid_op *braid_local_variables_initializer(braid_graph *graph);
/// The names of variables that have no value yet, global and local: a string vector, empty when a session is
/// ready.
BRAID_API braid_out braid_report_uninitialized_variables(braid_graph *graph);

/// The graph's global step (`ref`), which optimizers count up: the collection "global_step", else a variable
/// of that name, else a new int64 one (tf.train.get_or_create_global_step).
BRAID_API braid_out braid_global_step(braid_graph *graph);
/// Finds the global step without making one: the op is NULL when there is none.
BRAID_API braid_out braid_find_global_step(const braid_graph *graph);

#ifdef __cplusplus
}
#endif
#endif

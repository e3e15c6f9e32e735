// Variables: state that lives in a session's devices from step to step, and how it gets its first value.
#ifndef BRAID_VARIABLES_H
#define BRAID_VARIABLES_H

#include <braid/graph.h>

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
} braid_variable;

/// The names of TensorFlow's collections of variables; they hold the `ref` of each.
#define BRAID_GLOBAL_VARIABLES "variables"
#define BRAID_TRAINABLE_VARIABLES "trainable_variables"
#define BRAID_LOCAL_VARIABLES "local_variables"
#define BRAID_GLOBAL_STEP "global_step"

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

// ---- Initializers ----

/// Builds a first value of a given type and shape. A value; make your own by setting `build`.
typedef struct braid_initializer {
    braid_out (*build)(const struct braid_initializer *self, braid_graph *graph, braid_dtype dtype,
                       braid_shape shape);
    float a, b; ///< parameters of `build`
} braid_initializer;

BRAID_API braid_initializer braid_zeros_initializer(void);
BRAID_API braid_initializer braid_ones_initializer(void);
BRAID_API braid_initializer braid_constant_initializer(float value);
BRAID_API braid_initializer braid_random_uniform_initializer(float min, float max);
BRAID_API braid_initializer braid_random_normal_initializer(float mean, float stddev);
BRAID_API braid_initializer braid_truncated_normal_initializer(float mean, float stddev);
/// Uniform in [-r, r], r = sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio, AISTATS 2010, equation 16).
BRAID_API braid_initializer braid_glorot_uniform_initializer(void);

/// Makes a variable with an initializer (tf.get_variable): the nodes NAME/Initializer/... lie where the
/// variable does. The name is relative to the current name scope; a variable of that name must not exist.
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

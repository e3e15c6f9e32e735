// Initializing variables from a checkpoint, under the same or other names (tf.train.init_from_checkpoint).
//
//     const braid_checkpoint_assignment map[] = {{.from = "old_scope/", .to = "encoder/"},
//                                                {.from = "embeddings", .variable = &table}};
//     braid_init_from_checkpoint(graph, "/models/old", map, 2);
//     braid_op *init = braid_global_variables_initializer(graph);
//
// It is called before the node that initializes all variables is made: by sessions, for instance.
#ifndef BRAID_INIT_FROM_CHECKPOINT_H
#define BRAID_INIT_FROM_CHECKPOINT_H

#include <braid/variables.h>

#ifdef __cplusplus
extern "C" {
#endif

/// One entry of an assignment map. Either `to` or `variable` is set.
typedef struct braid_checkpoint_assignment {
    /// The name of a tensor of the checkpoint; or a scope "a/b/" of it, or "/", all of it.
    const char *from;
    /// The name of a global variable; for a scope a scope of variables, or "/", all global variables. A
    /// partitioned variable has the name of the whole. Each variable SCOPE/NAME of the graph gets the tensor
    /// FROM/NAME.
    const char *to;
    const braid_variable *variable; ///< any variable, whole or partitioned
} braid_checkpoint_assignment;

/// Replaces the initializers of variables by nodes that read a checkpoint, so that
/// braid_global_variables_initializer restores them. `prefix_or_dir` is its prefix, or a directory, whose
/// newest checkpoint is taken now. The tasks that have the variables must see it under the same path. A
/// partitioned variable may have other parts than the one that was saved. braid_variable_find returns the new
/// `initializer` and `initial_value`; a braid_variable that the program has keeps the old ones.
///
/// The graph fails when the checkpoint cannot be read; when it has no tensor for a variable of the map
/// (NotFound), or one of another type or shape (InvalidArgument); when the graph has no variable of a name or
/// in a scope (NotFound); and when a name is assigned to a scope (InvalidArgument). Entries are used in the
/// order of `from`; the last one for a variable counts.
BRAID_API void braid_init_from_checkpoint(braid_graph *graph, const char *prefix_or_dir,
                                          const braid_checkpoint_assignment *map, int count);

#ifdef __cplusplus
}
#endif
#endif

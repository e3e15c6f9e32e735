// Scaffolds: the nodes and functions that bring a session's variables and tables to their first values
// (tf.train.Scaffold).
#ifndef BRAID_SCAFFOLD_H
#define BRAID_SCAFFOLD_H

#include <braid/saver.h>
#include <braid/session.h>

#ifdef __cplusplus
extern "C" {
#endif

/// TensorFlow's collection of the ops that fill tables (output 0 of each).
#define BRAID_TABLE_INITIALIZERS "table_initializer"
/// TensorFlow's collection of the paths of files that the graph reads, such as vocabularies: constants that
/// are string scalars. An exported model has copies of the files (assets), and its loader feeds their paths.
#define BRAID_ASSET_FILEPATHS "asset_filepaths"

/// Each empty member gets TensorFlow's default. A copy of a scaffold is one with the same members
/// (copy_from_scaffold). Arrays, tensors and `init_arg` live as long as the session that gets the scaffold.
typedef struct braid_scaffold {
    /// Run by the chief unless the variables have values or are restored. NULL: the initializers of all
    /// global variables.
    braid_op *init_op;
    const braid_feed *init_feeds; ///< of init_op; end with an entry whose op is NULL (BRAID_FEED)
    /// Called after init_op, in the same cases: a model to begin with is restored here, for instance.
    braid_code (*init_fn)(const struct braid_scaffold *scaffold, braid_session *session,
                          braid_status *status);
    void *init_arg; ///< for init_fn
    /// The names [n] of what has no value yet: a session is ready when it is empty. Op NULL:
    /// report_uninitialized_variables of all variables, or of the global ones for ready_for_local_init.
    braid_out ready;
    braid_out ready_for_local_init; ///< local_init_op is run when it is empty
    /// Run in each process. NULL: the initializers of the local variables and of the tables.
    braid_op *local_init_op;
    const braid_feed *local_init_feeds; ///< of local_init_op
    braid_out summary;                  ///< op NULL: all summaries of the collection "summaries"
    /// Op NULL: a sharded one of all global variables, made when a directory for checkpoints is given.
    braid_saver *saver;
} braid_scaffold;

/// Adds the nodes of empty members, but for summary and saver, to the graph and stores them; a second call
/// has no effect. Sessions call it for their scaffold. Errors are the graph's.
BRAID_API void braid_scaffold_finalize(braid_scaffold *scaffold, braid_graph *graph);

#ifdef __cplusplus
}
#endif
#endif

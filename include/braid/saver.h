// Savers: nodes that write variables to checkpoints of TensorFlow's format and read them back.
//
//     braid_saver *saver = braid_saver_new(graph, NULL);
//     ...
//     char *path = braid_saver_save(saver, session, "/tmp/model/model.ckpt", step, status);
//     braid_saver_restore(saver, session, path, status);
//     free(path);
//
// Nodes have the names of tf.train.Saver ("save/SaveV2", "save/restore_all"). Variables are written by the
// tasks that have them, so all tasks and the program must see the directory under the same path.
#ifndef BRAID_SAVER_H
#define BRAID_SAVER_H

#include <braid/checkpoint.h>
#include <braid/session.h>
#include <braid/variables.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_saver braid_saver;

/// All zero is the default of each.
typedef struct braid_saver_options {
    const braid_out *vars; ///< [var_count] variables (`ref`); NULL: all global ones
    int var_count;
    const char *const *names; ///< [var_count] their names in the checkpoint; NULL: their own
    /// Each task writes its variables to a file of its own, all at once; else one task writes all.
    bool sharded;
    /// Adds nodes that copy the variables, so that braid_saver_begin can write in the background. Each task
    /// needs memory for a copy of its variables while a save is in progress.
    bool asynchronous;
    /// Restores a tensor of another shape than its variable's, if it has as many elements.
    bool reshape;
    bool pad_step_number;           ///< steps have eight digits at least in names: "model.ckpt-00000042"
    braid_checkpoint_policy policy; ///< which checkpoints stay, and how they are listed
    bool without_meta;              ///< writes no PREFIX.meta
    const char *name;               ///< the name scope; NULL: "save"
    /// The prefix of a checkpoint, or a directory, whose newest checkpoint is read now: the saver has only
    /// those of its variables that are in this checkpoint. It restores them, and leaves the others as they
    /// are; each restore logs the names of both. The graph fails when the checkpoint cannot be read, has none
    /// of the variables (NotFound), or has one with another type or shape (InvalidArgument). NULL: all.
    const char *present_in;
    bool skip_mismatched; ///< with `present_in`: leaves out variables of another type or shape
} braid_saver_options;

/// Adds the nodes of a saver. `options` NULL: the defaults. The saver belongs to the graph and lives as long.
/// The graph fails without variables, and when two have the same name.
BRAID_API braid_saver *braid_saver_new(braid_graph *graph, const braid_saver_options *options);

/// Writes the variables to the checkpoint PATH-STEP (PATH when `global_step` is negative), durably, makes it
/// the newest of its directory, and removes those that the policy does not keep. What an earlier save left
/// that was interrupted is removed first. Returns its prefix (free() it); NULL on an error, after which the
/// checkpoints that were there are as they were.
BRAID_API char *braid_saver_save(braid_saver *saver, braid_session *session, const char *path,
                                 int64_t global_step, braid_status *status);

/// A save in the background.
typedef struct braid_save braid_save;

/// Begins what braid_saver_save does and returns when it has the values of the variables; a thread writes
/// them. Needs options.asynchronous. One save of a saver is in progress at a time. Meanwhile steps may run,
/// but the graph must not change. NULL on an error; braid_save_finish returns those of the files.
BRAID_API braid_save *braid_saver_begin(braid_saver *saver, braid_session *session, const char *path,
                                        int64_t global_step, braid_status *status);
/// Whether braid_save_finish would return at once.
BRAID_API bool braid_save_is_done(const braid_save *save);
/// Waits for the end of the save and frees it, before the session is freed; closing the session ends the
/// wait. Returns what braid_saver_save would.
BRAID_API char *braid_save_finish(braid_save *save, braid_status *status);

/// Gives the variables the values of the checkpoint `prefix`, other variables keep theirs. Partitioned
/// variables and their slots may be in other parts than they were saved in. For slots that were made within a
/// variable scope, and have the number of their part in their names, the graph gets nodes that put them
/// together; this process reads then which tensors the checkpoint has. Errors: NotFound for a checkpoint or a
/// name that does not exist, InvalidArgument for another type or shape.
BRAID_API braid_code braid_saver_restore(braid_saver *saver, braid_session *session, const char *prefix,
                                         braid_status *status);

#ifdef __cplusplus
}
#endif
#endif

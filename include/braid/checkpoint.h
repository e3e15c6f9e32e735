// Checkpoints as files: finding the newest, keeping a number of them, removing what interrupted saves left.
//
// A checkpoint with the prefix P is P.index and P.data-00000-of-00001 and so on (a tensor bundle, as
// TensorFlow's SaveV2 writes it), and P.meta with the graph. The file `checkpoint` of its directory lists the
// checkpoints. braid_saver (saver.h) writes all of them. A V1 checkpoint, as early versions of TensorFlow
// wrote it, is one file P, or several that match the pattern P (model.ckpt-7-*-of-00002, with
// model.ckpt-7.meta).
//
// All functions block on the disk. Errors name the file.
#ifndef BRAID_CHECKPOINT_H
#define BRAID_CHECKPOINT_H

#include <braid/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// Returns the prefix of the newest checkpoint of a directory (free() it), when its files exist
/// (tf.train.latest_checkpoint). NULL on an error: NotFound when there is none, DataLoss when the file
/// `checkpoint` is damaged.
BRAID_API char *braid_latest_checkpoint(const char *dir, braid_status *status);

/// Waits until a directory has a newest checkpoint other than `last` (a prefix as this function or
/// braid_latest_checkpoint returns it; NULL: any checkpoint), and returns its prefix (free() it), as
/// tf.contrib.training.wait_for_new_checkpoint. Neither the directory nor those above it need to exist yet.
/// At most `timeout_ms`; negative: without a limit. NULL on an error: DeadlineExceeded, naming the directory;
/// DataLoss when the file `checkpoint` is damaged. The wait ends when this host changes the directory; what
/// another host writes to a network file system is seen within 10 seconds.
BRAID_API char *braid_wait_for_new_checkpoint(const char *dir, const char *last, int64_t timeout_ms,
                                              braid_status *status);

/// Returns whether the files of a checkpoint exist: PREFIX.index, or V1 files (tf.train.checkpoint_exists).
BRAID_API bool braid_checkpoint_exists(const char *prefix);

/// Removes a checkpoint, of either format, with its .meta. NotFound.
BRAID_API braid_code braid_checkpoint_remove(const char *prefix, braid_status *status);

/// Which checkpoints stay, and how the file `checkpoint` lists them.
typedef struct braid_checkpoint_policy {
    int max_to_keep; ///< 0: 5; negative: all stay
    /// A checkpoint that would be removed stays for ever when it is this number of hours younger than the
    /// last that stayed so; 0: none does.
    double keep_every_n_hours;
    /// Lists checkpoints by paths relative to their directory, which may then be moved or copied
    /// (tf.train.Saver's save_relative_paths); else by the paths under which they were saved.
    bool save_relative_paths;
} braid_checkpoint_policy;

/// Marks the checkpoint `prefix` as one that is about to be written, by a file beside it, and makes its
/// directory. When the save is interrupted before braid_checkpoint_record has listed the checkpoint,
/// braid_checkpoint_clean removes it. Until braid_checkpoint_end, or the end of the process, the mark is
/// locked, and braid_checkpoint_clean of any process leaves the files of this checkpoint alone.
BRAID_API braid_code braid_checkpoint_begin(const char *prefix, braid_status *status);

/// Ends the lock that braid_checkpoint_begin took; to be called after braid_checkpoint_record, and after a
/// save that failed. Without such a lock it does nothing.
BRAID_API void braid_checkpoint_end(const char *prefix);

/// Makes the checkpoint `prefix`, whose files exist, the newest of its directory: lists it in the file
/// `checkpoint`, durably, and then removes those that the policy (NULL: the defaults) does not keep. The list
/// is read from that file, so that it goes on after a restart.
BRAID_API braid_code braid_checkpoint_record(const char *prefix, const braid_checkpoint_policy *policy,
                                             braid_status *status);

/// Removes what saves that were interrupted left of checkpoints NAME-STEP: temporary files and directories,
/// checkpoints that were begun and not recorded, and data and .meta files without an index. `name` is a
/// prefix without a step, "DIR/model.ckpt". Saves that are in progress, in this process or in another, keep
/// their files. On a shared file system other hosts' saves do only where its locks (flock) hold across hosts,
/// as those of NFS do; without locks no save of that name may be in progress.
BRAID_API braid_code braid_checkpoint_clean(const char *name, braid_status *status);

/// Makes a directory for checkpoints and those above it; one that exists is accepted.
BRAID_API braid_code braid_checkpoint_make_dir(const char *dir, braid_status *status);

/// Writes a serialized MetaGraphDef to PREFIX.meta, all at once.
BRAID_API braid_code braid_checkpoint_write_meta(const char *prefix, const void *data, size_t len,
                                                 braid_status *status);

#ifdef __cplusplus
}
#endif
#endif

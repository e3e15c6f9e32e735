// The file `checkpoint`, which lists the checkpoints of a directory: a CheckpointState in text format, as
// tf.train.update_checkpoint_state writes it and tf.train.get_checkpoint_state reads it.
#ifndef BD_IO_CHECKPOINT_STATE_H
#define BD_IO_CHECKPOINT_STATE_H

#include "io/file.h"

typedef struct bd_checkpoint_state {
    char *latest;          // prefix of the newest checkpoint; owned
    bd_name_list all;      // prefixes of the kept checkpoints, the oldest first
    double *times;         // [all.len], when each was written, in seconds since 1970; owned; NULL: not known
    double last_preserved; // when the last one that is kept for ever was written; 0: not known
} bd_checkpoint_state;

void bd_checkpoint_state_fini(bd_checkpoint_state *s); // all zero is an empty one

// Reads the file; relative prefixes are relative to `dir`. `name` is the file's; NULL: "checkpoint". Errors:
// NotFound when it does not exist, DataLoss, naming file and line, when it is damaged. On an error *s is
// empty. Blocks.
braid_code bd_checkpoint_state_read(const bd_fs *fs, const char *dir, const char *name,
                                    bd_checkpoint_state *s, braid_status *st);

// Writes it, all at once; `latest` is added to `all` unless it is the last there (its time is that of now,
// where there are times). Where `dir` is a relative path, prefixes that are relative too (to the current
// directory, both) are written relative to `dir`; with `relative` absolute ones are too, so that the
// directory may be moved. InvalidArgument when the latest checkpoint has the name of this file. Blocks.
braid_code bd_checkpoint_state_write(const bd_fs *fs, const char *dir, const char *name,
                                     const bd_checkpoint_state *s, bool relative, braid_status *st);

// Returns the prefix of the newest checkpoint (the caller's), if its files exist: tf.train.latest_checkpoint.
// NotFound without one. On an error *prefix is NULL. Blocks.
braid_code bd_checkpoint_latest(const bd_fs *fs, const char *dir, const char *name, char **prefix,
                                braid_status *st);

#endif

// Checkpoints of either format, for the ops that restore and for programs that read checkpoints.
#ifndef BD_IO_CHECKPOINT_H
#define BD_IO_CHECKPOINT_H

#include "io/bundle.h"
#include "io/checkpoint_v1.h"

typedef struct bd_checkpoint {
    bd_bundle *bundle;       // of the second format; NULL
    bd_checkpoint_v1 *first; // of the first; NULL
} bd_checkpoint;

// Whether a checkpoint is there: the index of a bundle with this prefix, or V1 files that match it as a
// pattern. False too when that cannot be found out.
bool bd_checkpoint_exists(const bd_fs *fs, const char *prefix);
// Removes the files of a checkpoint, but for its .meta. NotFound without one.
braid_code bd_checkpoint_remove(const bd_fs *fs, const char *prefix, braid_status *st);

// Opens the bundle of this prefix, or the V1 files that match it as a pattern. NotFound in TensorFlow's words
// when there are neither. On an error it is closed.
braid_code bd_checkpoint_open(const bd_fs *fs, const char *prefix, bd_checkpoint *c, braid_status *st);
// Large tensors are read by the threads of a team, which outlives the checkpoint; those of V1 files are not.
// Before the first tensor is read.
void bd_checkpoint_set_team(bd_checkpoint *c, const bd_team *team);
void bd_checkpoint_close(bd_checkpoint *c); // also one that was never opened, all zero

// Type and whole shape of a tensor. NotFound.
braid_code bd_checkpoint_find(bd_checkpoint *c, const char *name, braid_dtype *dtype, braid_shape *shape,
                              braid_status *st);

// Calls fn for each tensor, in no order.
typedef void (*bd_checkpoint_fn)(void *arg, const char *name, braid_dtype dtype, const braid_shape *shape);
braid_code bd_checkpoint_list(bd_checkpoint *c, bd_checkpoint_fn fn, void *arg, braid_status *st);

// Reads a tensor, or (slice not NULL) a slice of it.
braid_code bd_checkpoint_read(bd_checkpoint *c, const char *name, const bd_tensor_slice *slice,
                              braid_tensor *t, braid_status *st);

#endif

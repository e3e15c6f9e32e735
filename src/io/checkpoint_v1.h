// V1 checkpoints, as TensorFlow's ops Save and SaveSlices write and Restore and RestoreSlice
// read them.
//
// A checkpoint is one file, or several (shards), that are tables (io/sstable.h). Under the empty key each
// says which tensors and slices of them it holds (a SavedTensorSlices message with a SavedTensorSliceMeta);
// under the key of each slice (bd_tensor_slice_key) are its values (the same message with a SavedSlice), in
// the typed fields of a TensorProto.
#ifndef BD_IO_CHECKPOINT_V1_H
#define BD_IO_CHECKPOINT_V1_H

#include "io/file.h"
#include "io/tensor_slice.h"
#include "tensor/tensor.h"

// ---- Writing ----

// A slice of a tensor, or (bd_tensor_slice_all) all of it.
typedef struct bd_saved_slice {
    const char *name; // of the tensor; not owned
    braid_shape full; // of the whole tensor
    bd_tensor_slice slice;
    const braid_tensor *tensor; // not owned; its memory does not change meanwhile
} bd_saved_slice;

// Unimplemented unless tensors of this type can be saved.
braid_code bd_checkpoint_v1_check_dtype(braid_dtype dtype, braid_status *st);

// Writes a checkpoint of one file, which appears under its path when it is on the disk; until then, and after
// an error, the file that was there stays. `is_cancelled` is asked between slices (NULL: never), and then
// Cancelled. InvalidArgument when a slice is there twice or is too large (2 GiB); Internal when slices of a
// tensor say different types or shapes.
braid_code bd_checkpoint_v1_write(const bd_fs *fs, const char *path, const bd_saved_slice *slices,
                                  size_t count, bool (*is_cancelled)(void *arg), void *arg, braid_status *st);

// ---- Reading; one thread at a time ----

// Lists the paths that match the pattern. NotFound without a match; on an error the list is empty.
braid_code bd_checkpoint_v1_files(const bd_fs *fs, const char *pattern, bd_name_list *files,
                                  braid_status *st);

typedef struct bd_checkpoint_v1 bd_checkpoint_v1;

// Opens all files that match the pattern. NotFound without a match; DataLoss, naming the file, when one is
// not a V1 checkpoint. On an error *f is NULL.
braid_code bd_checkpoint_v1_open(const bd_fs *fs, const char *pattern, bd_checkpoint_v1 **f,
                                 braid_status *st);
void bd_checkpoint_v1_close(bd_checkpoint_v1 *f); // NULL is accepted

// Returns the type and whole shape of a tensor; false for an unknown name.
bool bd_checkpoint_v1_find(const bd_checkpoint_v1 *f, const char *name, braid_dtype *dtype,
                           braid_shape *shape);

// Iterates over the tensors, in no order: *pos begins at 0. False at the end.
bool bd_checkpoint_v1_next(const bd_checkpoint_v1 *f, size_t *pos, const char **name, braid_dtype *dtype,
                           braid_shape *shape);

// Reads a slice of a tensor that is there, put together of those that are stored; NULL: all of it.
// InvalidArgument when some of it is not stored; DataLoss, naming the file. On an error `t` is "no tensor".
braid_code bd_checkpoint_v1_read(bd_checkpoint_v1 *f, const char *name, const bd_tensor_slice *slice,
                                 braid_tensor *t, braid_status *st);

#endif

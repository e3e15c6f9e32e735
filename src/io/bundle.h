// Tensor bundles: checkpoints as TensorFlow's SaveV2 writes and RestoreV2 reads them.
//
// A bundle with the prefix P is P.index, a table (io/sstable.h) from the names of tensors to their types,
// shapes and places, and P.data-00000-of-00001 and so on, their elements. A partitioned variable has one
// entry that lists its slices, and one for each slice.
//
// Errors: NotFound for a missing bundle ("Failed to find any matching files for P") or name ("Key NAME not
// found in checkpoint"); DataLoss, naming the file and the damage; those of io/file.h.
#ifndef BD_IO_BUNDLE_H
#define BD_IO_BUNDLE_H

#include "base/team.h"
#include "io/file.h"
#include "io/tensor_slice.h"
#include "tensor/tensor.h"

// ---- Writing; one thread at a time ----

typedef struct bd_bundle_options {
    size_t alignment; // each tensor begins at a multiple of this in the data file; 0: 1
} bd_bundle_options;

typedef struct bd_bundle_writer bd_bundle_writer;

// Begins a bundle; makes the directory if it does not exist. No file appears under the prefix until the
// bundle is finished. `options` may be NULL. On an error *w is NULL.
braid_code bd_bundle_writer_open(const bd_fs *fs, const char *prefix, const bd_bundle_options *options,
                                 bd_bundle_writer **w, braid_status *st);

// Writes a tensor. Its elements go from its buffer to the file without a copy, except those of a reference
// variable, which may change meanwhile. InvalidArgument for an empty name, a name that exists already, and
// for types other than plain types and strings.
braid_code bd_bundle_add(bd_bundle_writer *w, const char *name, const braid_tensor *t, braid_status *st);

// Writes a slice of the tensor `name`, whose whole shape is `full`. A slice that covers the tensor is written
// as by bd_bundle_add. InvalidArgument also when the tensor does not have the slice's shape, or the type and
// whole shape of its other slices.
braid_code bd_bundle_add_slice(bd_bundle_writer *w, const char *name, const braid_shape *full,
                               const bd_tensor_slice *slice, const braid_tensor *t, braid_status *st);

// Makes the bundle appear under its prefix, on the disk when it returns. A crash at any instant leaves the
// bundle that was there before, or this one. (A bundle in the place of another has another number of data
// files, one of which may be empty: so their names never meet.)
braid_code bd_bundle_finish(bd_bundle_writer *w, braid_status *st);

// Frees the writer; removes files of a bundle that was not finished. NULL is accepted.
void bd_bundle_writer_free(bd_bundle_writer *w);

typedef struct bd_bundle_merge_options {
    bool allow_missing; // passes over bundles that are not there, but not over all of them
    bool remove_dirs;   // of the old bundles, if they are empty then and not that of the new one
    // Called before each file is read or synced; when it returns true the merge ends with Cancelled and
    // changes nothing. It is not called after files have been renamed. NULL: never cancelled.
    bool (*is_cancelled)(void *arg);
    void *arg;
} bd_bundle_merge_options;

// Makes one bundle of several, which tasks wrote each for themselves: their data files are renamed, their
// indexes merged and removed. A crash leaves the bundle that was there before, or the new one.
// InvalidArgument when a name is in two of them (but for slices).
braid_code bd_bundle_merge(const bd_fs *fs, const char *const *prefixes, size_t count, const char *prefix,
                           const bd_bundle_merge_options *options, braid_status *st);

// Removes a bundle; its index first. NotFound.
braid_code bd_bundle_remove(const bd_fs *fs, const char *prefix, braid_status *st);

// ---- Reading; any thread, several at a time ----

typedef struct bd_bundle bd_bundle;

// Opens a bundle. Data files are opened when they are needed. On an error *b is NULL.
braid_code bd_bundle_open(const bd_fs *fs, const char *prefix, bd_bundle **b, braid_status *st);
// Large tensors are read from now on by the threads of a team, which outlives the bundle. Before the first
// tensor is read.
void bd_bundle_set_team(bd_bundle *b, const bd_team *team);
void bd_bundle_close(bd_bundle *b); // NULL is accepted; no call is in progress

bool bd_bundle_exists(const bd_fs *fs, const char *prefix);

typedef struct bd_bundle_info {
    const char *name; // of a tensor, whole
    braid_dtype dtype;
    braid_shape shape;
    size_t slice_count; // 0: in one piece
} bd_bundle_info;

// Calls fn for each tensor, in the order of names.
braid_code bd_bundle_list(bd_bundle *b, void (*fn)(const bd_bundle_info *info, void *arg), void *arg,
                          braid_status *st);

// Type and whole shape of a tensor. (info->name is `name`.)
braid_code bd_bundle_find(bd_bundle *b, const char *name, bd_bundle_info *info, braid_status *st);

// Reads a whole tensor, put together of its slices where it has any; elements go from the file to the
// tensor's buffer. On an error `t` is "no tensor". InvalidArgument when slices are missing, ResourceExhausted
// when memory is short.
braid_code bd_bundle_read(bd_bundle *b, const char *name, braid_tensor *t, braid_status *st);

// Reads a slice of a tensor, which may have been written in other slices.
braid_code bd_bundle_read_slice(bd_bundle *b, const char *name, const bd_tensor_slice *slice, braid_tensor *t,
                                braid_status *st);

#endif

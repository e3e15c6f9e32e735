// Reading checkpoints without a graph: which tensors they have, and their values.
//
//     braid_checkpoint_reader *reader = braid_checkpoint_reader_open("/tmp/model", status);
//     braid_tensor *weights = braid_checkpoint_reader_read(reader, "layer1/w", status);
//
// Both formats of TensorFlow's checkpoints are read. Opening and reading block on the disk; errors name the
// checkpoint. A reader is used by one thread at a time.
#ifndef BRAID_CHECKPOINT_READER_H
#define BRAID_CHECKPOINT_READER_H

#include <braid/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct braid_checkpoint_reader braid_checkpoint_reader;

/// What a checkpoint says of a tensor. A partitioned variable is one tensor.
typedef struct braid_checkpoint_entry {
    const char *name; ///< owned by the reader
    braid_dtype dtype;
    braid_shape shape; ///< of the whole
} braid_checkpoint_entry;

/// Opens the checkpoint of this prefix, or the newest one of this directory by its file `checkpoint`, and
/// reads which tensors it has (tf.train.load_checkpoint). Of a checkpoint of the first format the prefix is
/// its file, or a pattern of its files. NULL on an error: NotFound when there is none, DataLoss when it is
/// damaged.
BRAID_API braid_checkpoint_reader *braid_checkpoint_reader_open(const char *prefix_or_dir,
                                                                braid_status *status);
/// NULL is accepted.
BRAID_API void braid_checkpoint_reader_close(braid_checkpoint_reader *reader);

/// The prefix of the checkpoint: of a directory, that of its newest. Owned by the reader.
BRAID_API const char *braid_checkpoint_reader_prefix(const braid_checkpoint_reader *reader);

/// Returns all tensors in the order of their names, and their number (tf.train.list_variables). Owned by the
/// reader.
BRAID_API const braid_checkpoint_entry *braid_checkpoint_reader_list(const braid_checkpoint_reader *reader,
                                                                     int *count);
/// Returns the tensor of that name; NULL when the checkpoint has none (has_tensor). Owned by the reader.
BRAID_API const braid_checkpoint_entry *braid_checkpoint_reader_find(const braid_checkpoint_reader *reader,
                                                                     const char *name);

/// Reads a tensor, put together of its slices where it was saved in some (get_tensor). The caller frees it.
/// NULL on an error: NotFound for a name that the checkpoint does not have, DataLoss for damaged files,
/// InvalidArgument when slices are missing, ResourceExhausted when memory is short.
BRAID_API braid_tensor *braid_checkpoint_reader_read(braid_checkpoint_reader *reader, const char *name,
                                                     braid_status *status);

#ifdef __cplusplus
}
#endif
#endif

// The metadata of a file of a V1 checkpoint: its tensors and their slices.
#ifndef BD_IO_CHECKPOINT_V1_META_H
#define BD_IO_CHECKPOINT_V1_META_H

#include "base/array.h"
#include "base/map.h"
#include "base/wire.h"
#include "io/checkpoint_v1.h"

typedef struct bd_stored_slice {
    bd_tensor_slice slice; // as the key has it
    size_t file;
} bd_stored_slice;

typedef struct bd_stored_tensor {
    braid_dtype dtype;
    braid_shape shape; // whole
    BD_ARRAY(bd_stored_slice) slices;
} bd_stored_tensor;

void bd_stored_tensor_free(bd_stored_tensor *t); // NULL is accepted

// Reads a SavedTensorSliceMeta of file number `file` and adds its tensors to `tensors` (name ->
// bd_stored_tensor, owned), which may contain them from other files. Returns false when it is malformed or
// contradicts another file.
bool bd_checkpoint_v1_meta_read(bd_wire_reader *in, size_t file, bd_map *tensors);

#endif

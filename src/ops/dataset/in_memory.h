// A dataset of elements that are at hand: of a window, of a group.
#ifndef BD_OPS_DATASET_IN_MEMORY_H
#define BD_OPS_DATASET_IN_MEMORY_H

#include "ops/dataset/dataset.h"

// Makes a dataset of `len` elements. The caller sets its tensors ([len * count], element by element). NULL on
// an error.
braid_tensor *bd_held_dataset_new(int count, const braid_dtype *types, const braid_shape *shapes, int64_t len,
                                  bd_dataset **out, braid_status *st);

#endif

// Batches, for datasets that consist of several parts.
#ifndef BD_OPS_DATASET_BATCH_H
#define BD_OPS_DATASET_BATCH_H

#include "ops/dataset/dataset.h"

// Stacks `count` tensors; `first` is the first and each next one is `stride` further. They must have the type
// and shape of component `component`.
braid_code bd_stack_rows(braid_tensor *out, braid_tensor *first, int stride, int64_t count, int component,
                         braid_status *st);

// Returns the shape of a component in a batch of `size` (-1: unknown).
braid_shape bd_batch_shape(const braid_shape *row, int64_t size);

// Batches of `size` elements of `input`, of which an error is one: its batch fails, and the next one begins
// behind the last of its elements. NULL: the kernel has failed.
bd_dataset *bd_batch_of_answers_new(bd_op_ctx *c, bd_dataset *input, int64_t size, bool drop_remainder);

#endif

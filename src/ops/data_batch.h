// Batches, for datasets that are made of several parts.
#ifndef BD_OPS_DATA_BATCH_H
#define BD_OPS_DATA_BATCH_H

#include "ops/dataset.h"

// Batches of `size` elements of `input`. NULL: the kernel has failed.
bd_dataset *bd_batch_dataset_new(bd_op_ctx *c, bd_dataset *input, int64_t size, bool drop_remainder);

#endif

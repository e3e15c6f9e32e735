// Prefetching, for datasets that consist of several parts.
#ifndef BD_OPS_DATASET_PREFETCH_H
#define BD_OPS_DATASET_PREFETCH_H

#include "ops/dataset/dataset.h"

// Makes a dataset that prefetches up to `size` elements of `input`.
braid_code bd_prefetch_dataset_new(bd_dataset *input, int64_t size, bd_dataset **out, braid_status *st);

// An iterator over the dataset starts prefetching, before the first element is wanted.
void bd_prefetch_begin(bd_iterator *it);

// Whether the iterator answers at once when it is pulled.
bool bd_prefetch_is_ready(bd_iterator *it);

#endif

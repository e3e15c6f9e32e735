// The fusion of a shuffle and its repetition.
#ifndef BD_OPS_DATASET_SHUFFLE_H
#define BD_OPS_DATASET_SHUFFLE_H

#include "ops/dataset/dataset.h"

// A new ShuffleAndRepeatDataset that repeats a ShuffleDataset `count` times (-1: without end), with its
// seeds. NULL when `shuffle` is another dataset, gives each pass in the same order, or shares its generator.
bd_dataset *bd_dataset_shuffle_and_repeat(const bd_dataset *shuffle, int64_t count);

#endif

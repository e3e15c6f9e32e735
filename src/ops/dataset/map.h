// Datasets that map elements by a function, for kinds of datasets that are composed of several.
#ifndef BD_OPS_DATASET_MAP_H
#define BD_OPS_DATASET_MAP_H

#include "ops/dataset/function.h"

// Makes a dataset that applies a function to the elements of input 0 of the node, `parallel` at a time (-1:
// the number of processors), with the components in the node's attrs. Takes over the function, also when it
// returns NULL because the kernel has failed.
bd_dataset *bd_parallel_map_new(bd_op_ctx *c, bd_captured *f, int64_t parallel, bd_order order,
                                bool preserve_cardinality);

// The answer of MapDataset for an error of the function: OutOfRange ends the sequence, unless the cardinality
// must be preserved.
bd_turn bd_give_map_error(bd_iterator *it, bool preserve_cardinality, braid_status *st);

#endif

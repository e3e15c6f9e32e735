// Where an iterator is: how much it has given, and the seeds that its datasets have drawn. That is all its
// state, since a dataset gives the same elements each time.
#ifndef BD_OPS_DATASET_ITERATOR_PLACE_H
#define BD_OPS_DATASET_ITERATOR_PLACE_H

#include "ops/dataset/dataset.h"

typedef struct bd_path_seeds {
    uint64_t path;
    int64_t seeds[2];
} bd_path_seeds;

typedef struct bd_iterator_place {
    int64_t given; // elements and errors
    bool has_ended;
    bd_path_seeds *seeds; // [seed_count]
    int64_t seed_count;
} bd_iterator_place;

// Returns the dataset of the elements after a position, or the dataset itself for its start. Its iterators
// have the same paths as the dataset's. With a reference; on an error *out is NULL.
braid_code bd_dataset_rest(bd_dataset *d, const bd_iterator_place *from, bd_dataset **out, braid_status *st);

// As a scalar variant, which can be saved and sent: a list of one tensor. False: the kernel has failed.
bool bd_output_iterator_place(bd_op_ctx *c, const bd_iterator_place *place); // output 0
bool bd_input_iterator_place(bd_op_ctx *c, int i,
                             bd_iterator_place *place); // place->seeds are the caller's (bd_free)

#endif

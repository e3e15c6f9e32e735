// Batches of sparse tensors: single ones, and several combined with one more dimension. For serializing and
// for tensor maps.
#ifndef BD_OPS_SPARSE_SPARSE_BATCH_H
#define BD_OPS_SPARSE_SPARSE_BATCH_H

#include "ops/sparse/sparse.h"

// A sparse tensor that is no input. The indices have as many columns as the shape has dimensions, and a row
// for each value.
typedef struct bd_sparse_part {
    braid_tensor indices, values; // owned
    braid_shape shape;
} bd_sparse_part;

void bd_sparse_part_fini(bd_sparse_part *p);

// Inputs 0 to 2 as one part. False: the kernel has failed.
bool bd_sparse_part_input(bd_op_ctx *c, bd_sparse_part *p);

// The entries [from, to) of a sparse tensor of at least one dimension, without the first dimension.
bool bd_sparse_part_of(bd_op_ctx *c, const bd_sparse *s, int64_t from, int64_t to, bd_sparse_part *p);

// Reads inputs 0 to 2 as a batch of sparse tensors: at least two dimensions, the indices within the shape and
// in order.
bool bd_sparse_input_batch(bd_op_ctx *c, bd_sparse *s);

// The entry after those of row `row` of the first dimension; `from` is the first entry that is not before
// that row.
int64_t bd_sparse_row_end(const bd_sparse *s, int64_t from, int64_t row);

// Combines the sparse tensors (at least one) to outputs 0 to 2: the first dimensions are `batch`, the others
// the largest of the parts'. Parts of different ranks are an error; `what` ("shape", "rank") is its word, and
// `more` is added to the ranks.
void bd_output_sparse_batch(bd_op_ctx *c, const bd_sparse_part *parts, const braid_shape *batch,
                            const char *what, int more);

#endif

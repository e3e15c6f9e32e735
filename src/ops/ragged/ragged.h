// Ragged tensors: rows of different lengths, as values one after the other and splits: row i is
// values[splits[i]] to values[splits[i + 1] - 1]. Several splits nest, the outermost first.
#ifndef BD_OPS_RAGGED_RAGGED_H
#define BD_OPS_RAGGED_RAGGED_H

#include "ops/sparse/sparse.h"

// Nested splits read from inputs. At most as many as sparse tensors have dimensions.
typedef struct bd_splits {
    int count;
    int64_t *of[BRAID_RANK_MAX]; // owned: [len]
    int64_t len[BRAID_RANK_MAX]; // of rows, and one more
} bd_splits;

void bd_splits_fini(bd_splits *s);

// Reads inputs [0, count), vectors of int32 or int64 row splits, the last of which splits `values_count`
// values. Checks that they are not empty, ascend from 0 or above, and stay within what they split; with
// `is_exact` they begin with 0 and end with the number of elements that they split. Call bd_splits_fini also
// after a failure. False: the kernel has failed.
bool bd_splits_input(bd_op_ctx *c, int count, int64_t values_count, bool is_exact, bd_splits *s);

// Reads input `i` alone as splits: not empty, in ascending order from 0 or above. Ends with bd_splits_fini
// also when it fails.
bool bd_splits_vector(bd_op_ctx *c, int i, bd_splits *s);

// Makes output `i` splits of the output's type. False: the kernel has failed.
bool bd_output_splits(bd_op_ctx *c, int i, const int64_t *splits, int64_t len);

#endif

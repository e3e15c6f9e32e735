// Shared by ops on sparse tensors: reading and checking indices, values and shape; order; shape functions.
//
// A sparse tensor is three tensors: the indices of its entries (one row for each entry), their values, and
// the shape of the dense tensor.
#ifndef BD_OPS_SPARSE_SPARSE_H
#define BD_OPS_SPARSE_SPARSE_H

#include "ops/common/element.h"

typedef struct bd_sparse {
    braid_tensor indices;       // owned: an int64 matrix that does not change meanwhile
    const braid_tensor *values; // not owned: an input, a vector; NULL when it has not been asked for
    const int64_t *at;          // [count, shape.rank], the content of `indices`
    int64_t count;
    braid_shape shape; // of the dense tensor; its number of elements need not fit int64
} bd_sparse;

void bd_sparse_fini(bd_sparse *s);

// A sparse tensor on the stack that ends with its scope.
#define BD_SPARSE(name) __attribute__((cleanup(bd_sparse_fini))) bd_sparse name = {0}

// Reads inputs `indices` (int32 or int64), `values` (-1: no such input) and `shape`. Checks that their ranks
// and sizes agree and that no size is negative; it does not check the indices. Returns false when the kernel
// has failed.
bool bd_sparse_input(bd_op_ctx *c, int indices, int values, int shape, bd_sparse *s);

// Reads input `i` as indices alone: a matrix, whose columns give the rank; dimensions stay unknown. Returns
// false when the kernel has failed.
bool bd_sparse_input_indices(bd_op_ctx *c, int i, bd_sparse *s);

// A dense shape in input `i`, an int64 vector: no size is negative. False: the kernel has failed.
bool bd_sparse_input_shape(bd_op_ctx *c, int i, braid_shape *shape);

// Fails the kernel unless all indices are within the shape.
bool bd_sparse_check_bounds(bd_op_ctx *c, const bd_sparse *s);
// Fails the kernel unless all indices are within the shape and each is after the one before it.
bool bd_sparse_check_order(bd_op_ctx *c, const bd_sparse *s);
// Fails the kernel unless the dense tensor's number of elements fits int64.
bool bd_sparse_check_size(bd_op_ctx *c, const braid_shape *shape);

static inline const int64_t *bd_sparse_row(const bd_sparse *s, int64_t i)
{
    return s->at + i * s->shape.rank;
}

// Compares indices by their first `depth` dimensions: negative, 0, positive.
int bd_sparse_compare(const int64_t *a, const int64_t *b, int depth);

// The entry after the last one that agrees with entry `from` in the first `depth` dimensions.
int64_t bd_sparse_group_end(const bd_sparse *s, int64_t from, int depth);

// Returns the numbers of the entries in the order of their indices, compared by dimensions `dims` (all of
// them, in that order; NULL: row-major); equal entries keep their order. The caller frees the array
// (bd_free). NULL: the kernel has failed.
int64_t *bd_sparse_order(bd_op_ctx *c, const bd_sparse *s, const int *dims);
bool bd_sparse_is_ordered(const bd_sparse *s);

// Memory for `count` numbers, the caller's (bd_free). NULL: the kernel has failed.
int64_t *bd_sparse_numbers(bd_op_ctx *c, int64_t count);

// Outputs of new memory: indices [count, rank], values [count], and a shape. NULL, false: the kernel has
// failed.
int64_t *bd_output_sparse_indices(bd_op_ctx *c, int i, int64_t count, int rank);
braid_tensor *bd_output_sparse_values(bd_op_ctx *c, int i, braid_dtype dtype, int64_t count);
bool bd_output_sparse_shape(bd_op_ctx *c, int i, const braid_shape *shape);

// Makes outputs `indices` and `values` the entries `rows` of `s`, in that order.
bool bd_output_sparse_rows(bd_op_ctx *c, int indices, int values, const bd_sparse *s, const int64_t *rows,
                           int64_t count);

// ---- Shape functions ----

// Checks that the inputs are a matrix, a vector (-1: no such input) and a vector.
braid_code bd_shape_ctx_sparse(bd_shape_ctx *c, int indices, int values, int shape, braid_status *st);
// The same, and that their sizes agree; `rank` is the rank of the dense tensor, -1 when it is unknown.
braid_code bd_shape_ctx_sparse_sizes(bd_shape_ctx *c, int indices, int values, int shape, int64_t *rank,
                                     braid_status *st);
// Dimension `d` of a shape; -1 when it is unknown.
int64_t bd_shape_dim(const braid_shape *s, int d);
// Outputs `first` to `first + 2`: the indices, values and shape of a sparse tensor of `rank` (-1: unknown)
// dimensions.
void bd_shape_ctx_sparse_outputs(bd_shape_ctx *c, int first, int64_t count, int64_t rank);

#endif

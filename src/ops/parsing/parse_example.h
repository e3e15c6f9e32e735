// Shared by the forms of ParseExample: their attributes and the shapes of their outputs.
#ifndef BD_OPS_PARSING_PARSE_EXAMPLE_H
#define BD_OPS_PARSING_PARSE_EXAMPLE_H

#include "graph/shape_fn.h"
#include "op/kernel.h"
#include "ops/parsing/example_parser.h"

// The attributes; a single example's keys are attributes, too. `spec` refers to the arrays.
typedef struct bd_parse_attrs {
    bd_dense_feature *dense;
    bd_sparse_feature *sparse;
    bd_example_spec spec;
} bd_parse_attrs;

// Reads Tdense and dense_shapes; after an error, too, bd_parse_attrs_fini is to be called. `s` is all zero.
braid_code bd_parse_attrs_read_dense(const braid_op *node, bd_parse_attrs *s, braid_status *st);
void bd_parse_attrs_fini(void *attrs); // of a bd_parse_attrs

// Sets the shapes of outputs from `first` on: indices, values and shapes of sparse features, with a row index
// if there is a batch.
void bd_parse_sparse_shapes(bd_shape_ctx *c, int first, int count, int columns);
// Sets the shapes of outputs from `first` on, from attr dense_shapes preceded by `rows` (NULL: a single
// example; unknown rows make them unknown).
braid_code bd_parse_dense_shapes(bd_shape_ctx *c, int first, const braid_shape *rows, braid_status *st);

// Returns the keys of a string input, in one block of memory that the caller frees (bd_free), each followed
// by a zero byte. The input must have `want` keys (`what` is their name in messages). Returns NULL when the
// kernel has failed.
bd_bytes *bd_parse_input_keys(bd_op_ctx *c, int input, int want, const char *what);

// Moves `count` results to the outputs from *next on.
void bd_parse_output(bd_op_ctx *c, int *next, braid_tensor *results, int count);

#endif

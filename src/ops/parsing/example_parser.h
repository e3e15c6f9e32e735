// Parses serialized Example messages into tensors, for the ops ParseExample and ParseSingleExample and for
// datasets.
//
// A dense feature has the same number of values in each example, or (its first dimension is -1) is padded to
// the longest one. A sparse feature has any number of values, and may be returned as a ragged tensor.
// Messages may be hostile: a malformed one is InvalidArgument, naming example and feature; memory that cannot
// be allocated is ResourceExhausted.
#ifndef BD_OPS_PARSING_EXAMPLE_PARSER_H
#define BD_OPS_PARSING_EXAMPLE_PARSER_H

#include "graph/attr.h"

struct bd_op_ctx;

typedef struct bd_dense_feature {
    bd_bytes key; // not owned
    braid_dtype dtype;
    braid_shape shape;                 // of one example
    const braid_tensor *default_value; // not owned; an empty tensor: no default
} bd_dense_feature;

typedef struct bd_sparse_feature {
    bd_bytes key; // not owned
    braid_dtype dtype;
    braid_dtype splits; // of a ragged one: the type of its row splits; else BRAID_INVALID
} bd_sparse_feature;

typedef struct bd_example_spec {
    const bd_dense_feature *dense; // not owned
    const bd_sparse_feature *sparse;
    int dense_count, sparse_count;
    bool is_context; // the messages are SequenceExamples, of which this is the context
} bd_example_spec;

// The results: arrays of the caller, [dense_count] and [sparse_count]. They are "no tensor" at the start, and
// the caller frees their content, also after an error.
typedef struct bd_parsed_examples {
    braid_tensor *dense; // [count, shape...], or shape... of a single example
    braid_tensor *indices, *values,
        *shapes; // [n,2] [n] [2] of a matrix with a row an example; [n,1] [n] [1] of a single one
    // A ragged feature has its row splits in `indices`: [count + 1], [0] of a single example; it has no
    // shape.
} bd_parsed_examples;

// Whether examples may have different numbers of its values.
static inline bool bd_dense_is_variable(const bd_dense_feature *f)
{
    return f->shape.rank > 0 && f->shape.dims[0] < 0;
}

// Its values in an example, or in a step of it along the first dimension when that is variable.
static inline int64_t bd_dense_stride(const bd_dense_feature *f)
{
    return bd_shape_count_range(&f->shape, bd_dense_is_variable(f) ? 1 : 0, f->shape.rank);
}

// Row splits: bd_splits_init makes `t` a vector of `count` of them, the last of which is `last`
// (InvalidArgument when their type cannot hold it); bd_splits_set sets one.
braid_code bd_splits_init(braid_tensor *t, braid_dtype dtype, int64_t count, const bd_bytes *key,
                          int64_t last, braid_status *st);
void bd_splits_set(const braid_tensor *t, int64_t i, int64_t value);

// Whether a feature's values may be of this type: float, int64 or string. Otherwise InvalidArgument.
braid_code bd_example_check_dtype(braid_dtype dtype, braid_status *st);
// Whether a dense shape is one: of known rank, with no unknown dimension but the first. `i` names it in the
// error.
braid_code bd_example_check_shape(const braid_shape *shape, int i, braid_status *st);
// Whether the defaults fit types and shapes, as ParseExample checks them before it parses.
braid_code bd_example_check_defaults(const bd_example_spec *spec, braid_status *st);

// Parses `count` messages. `names` are for errors (NULL: "<unknown>"). With `c` the work is spread over the
// step's pool.
braid_code bd_examples_parse(const bd_example_spec *spec, struct bd_op_ctx *c, const bd_string *serialized,
                             const bd_string *names, int64_t count, bd_parsed_examples *out,
                             braid_status *st);

// Parses one message into tensors without the dimension of examples. `name` is for errors (NULL:
// "<unknown>").
braid_code bd_example_parse_one(const bd_example_spec *spec, const bd_string *serialized,
                                const bd_string *name, bd_parsed_examples *out, braid_status *st);

#endif

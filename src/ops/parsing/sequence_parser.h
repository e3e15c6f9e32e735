// Parses the feature lists of serialized SequenceExample messages. Their context is as an Example's features:
// see example_parser.h.
#ifndef BD_OPS_PARSING_SEQUENCE_PARSER_H
#define BD_OPS_PARSING_SEQUENCE_PARSER_H

#include "ops/parsing/example_parser.h"

// A list whose features all have the same number of values.
typedef struct bd_dense_list {
    bd_bytes key; // not owned
    braid_dtype dtype;
    braid_shape shape;   // of one feature, fully known
    bool may_be_missing; // a missing list counts as empty
} bd_dense_list;

typedef struct bd_sequence_spec {
    const bd_dense_list *dense;      // not owned
    const bd_sparse_feature *sparse; // lists of features of any number of values
    int dense_count, sparse_count;
} bd_sequence_spec;

// Where results go: as bd_parsed_examples.
typedef struct bd_parsed_sequences {
    // [count, longest, shape...], or [length, shape...] of a single message; filled up with zeros
    braid_tensor *dense;
    braid_tensor *lengths; // [count] of each dense list; NULL: not wanted
    // [n,3] [n] [3] of a tensor with a matrix a message and a row a feature; [n,2] [n] [2] of a single one
    braid_tensor *indices, *values, *shapes;
    // A ragged list has its inner splits in `indices`, one a feature and one more, and its outer splits in
    // `shapes`: [count + 1], [0] of a single message.
} bd_parsed_sequences;

// Parses `count` messages, or (is_single) one. `names` are for errors (NULL: "<unknown>"). InvalidArgument
// names message and list; ResourceExhausted.
braid_code bd_sequences_parse(const bd_sequence_spec *spec, const bd_string *serialized,
                              const bd_string *names, int64_t count, bool is_single, bd_parsed_sequences *out,
                              braid_status *st);

#endif

// The attributes of the nodes of ParseSequenceExample, ParseSequenceExampleV2 and ParseSingleSequenceExample.
#ifndef BD_OPS_PARSING_SEQUENCE_ATTRS_H
#define BD_OPS_PARSING_SEQUENCE_ATTRS_H

#include "graph/graph.h"
#include "ops/parsing/sequence_parser.h"

// The requested features. Keys and defaults of a single message, and of V2, are inputs, so only executions
// know them.
typedef struct bd_sequence_attrs {
    bd_dense_feature *context_dense;
    bd_sparse_feature *context_sparse, *list_sparse;
    bd_dense_list *list_dense;
    int context_ragged, list_ragged; // how many of the sparse features, the last ones, are ragged
    bd_example_spec context;
    bd_sequence_spec lists;
} bd_sequence_attrs;

// Reads types and shapes; after an error, too, bd_sequence_attrs_fini is to be called. `s` is all zero.
braid_code bd_sequence_attrs_read_types(const braid_op *node, bd_sequence_attrs *s, braid_status *st);
// Reads keys, where they are attributes.
braid_code bd_sequence_attrs_read_keys(const braid_op *node, bd_sequence_attrs *s, braid_status *st);
void bd_sequence_attrs_fini(void *attrs); // of a bd_sequence_attrs

// An execution's own copy, to take keys and defaults.
bd_sequence_attrs bd_sequence_attrs_copy(const bd_sequence_attrs *s);

// Takes defaults of the context from input `first` of an execution on. False: the kernel has failed.
bool bd_sequence_read_defaults(struct bd_op_ctx *c, bd_sequence_attrs *s, int first);

#endif

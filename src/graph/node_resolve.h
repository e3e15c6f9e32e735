// Checks a node against its op's definition and infers attrs, types and shapes.
#ifndef BD_GRAPH_NODE_RESOLVE_H
#define BD_GRAPH_NODE_RESOLVE_H

#include "graph/graph.h"

// More outputs than any op has; a number attr from a file must not make us allocate without bound.
#define BD_NODE_OUTPUTS_MAX 65536

// Sets attrs, input_types and output_types of `n` (whose name, type, def and inputs are set) from
// spec->attrs. An input without op is connected later (a loop's back edge): its type is not checked. An op
// without a definition keeps its attrs and gets no outputs. InvalidArgument names node, op and attr or input.
braid_code bd_node_resolve(braid_graph *g, braid_op *n, const bd_named_attr *attrs, int attr_count,
                           braid_status *st);

// Checks the type of data input `index` against the op's definition.
braid_code bd_node_check_input(const braid_op *n, int index, braid_status *st);

// The number of edges of an argument of a resolved node.
int bd_node_arg_length(const braid_op *n, const bd_arg_def *arg);

// Sets an attr of a node of a graph (NULL: removes it, so that it has its default) and keeps types and
// shapes. InvalidArgument, with nothing changed, as braid_op_set_attr says.
braid_code bd_node_set_attr(braid_op *n, const char *name, const bd_attr *value, braid_status *st);

// Sets output_shapes of a resolved node.
braid_code bd_node_infer_shapes(braid_op *n, braid_status *st);

// The attr of that name to write to (in an unpublished node), NULL when absent.
bd_attr *bd_node_attr_slot(braid_op *n, const char *name);

// TensorFlow's rule for names of nodes; a leading '_' is allowed (nodes that a runtime adds).
bool bd_node_name_is_valid(const char *name);

#endif

// Declarations for making nodes, shared by the files of this module.
#ifndef BD_GRAPH_GRAPH_INTERNAL_H
#define BD_GRAPH_GRAPH_INTERNAL_H

#include "graph/graph.h"

// The version of TensorFlow's GraphDef that Braid writes and understands: that of 1.15.
#define BD_GRAPH_DEF_VERSION 134

// Looks up an op's name in this graph: an op, or a function of its library; NULL: unknown.
const bd_op_def *bd_graph_find_def(const braid_graph *g, const char *op_type);

// Makes a checked node as bd_graph_add does, but does not add it to `nodes` and `by_name`. Inputs without op
// are connected later.
braid_code bd_graph_make_node(braid_graph *g, const bd_node_spec *spec, braid_op **node, braid_status *st);

// Appends the node to the graph. Returns it.
braid_op *bd_graph_append(braid_graph *g, braid_op *n);

// Replaces the control inputs of a node, each once.
void bd_node_set_controls(braid_op *n, braid_op *const *controls, int count);

// Frees the tensors added last, down to `keep`.
void bd_graph_drop_tensors(braid_graph *g, size_t keep);

#endif

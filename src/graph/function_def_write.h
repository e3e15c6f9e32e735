// FunctionDef export: a body that was built as a graph, as a message.
#ifndef BD_GRAPH_FUNCTION_DEF_WRITE_H
#define BD_GRAPH_FUNCTION_DEF_WRITE_H

#include "graph/graph.h"

struct bd_wire_writer;

// A body: a graph in which outputs of some nodes stand for the arguments.
typedef struct bd_built_function {
    const char *name, *description; // description NULL: none
    const braid_graph *body;
    const braid_out *args; // of `body`
    int arg_count;
    const braid_out *results; // of `body`
    int result_count;
    const char *const *arg_names;    // [arg_count]; NULL: names of nodes
    const char *const *result_names; // [result_count]; NULL: "result_0", ...
    // [nodes of `body`] names in the function, NULL for a node that is not in it; NULL: names of nodes, and
    // all nodes but those of arguments
    const char *const *node_names;
    bool is_stateful;
} bd_built_function;

// Writes the content of a FunctionDef message.
void bd_function_def_put(const bd_built_function *f, struct bd_wire_writer *out);
// Makes a FunctionDefLibrary message of the function; the caller frees `out->data` (bd_free).
void bd_function_def_write(const bd_built_function *f, bd_bytes *out);

#endif

// FunctionDef export: a body that was built as a graph, as a message.
#ifndef BD_GRAPH_FUNCTION_DEF_WRITE_H
#define BD_GRAPH_FUNCTION_DEF_WRITE_H

#include "graph/graph.h"

// A body: a graph in which placeholders stand for the arguments.
typedef struct bd_built_function {
    const char *name;
    const braid_graph *body;
    braid_op *const *args; // placeholders
    int arg_count;
    const braid_out *results; // of `body`
    int result_count;
    bool is_stateful;
} bd_built_function;

// Makes a FunctionDefLibrary message of the function; the caller frees `out->data` (bd_free).
void bd_function_def_write(const bd_built_function *f, bd_bytes *out);

#endif

// Graphs as text, for tests that say which nodes something builds.
#ifndef BD_TRAIN_TESTING_GRAPH_TEXT_H
#define BD_TRAIN_TESTING_GRAPH_TEXT_H

#include <braid/graph.h>

// One line for each node whose name begins with `prefix`, in order: `name = Op input:0 ^control
// =colocated_with @device`. The caller frees it (bd_free).
char *graph_text_of(const braid_graph *g, const char *prefix);

// Fail the test unless the graph is well and its text (that of the nodes under `prefix`) is this.
void expect_graph(const braid_graph *g, const char *want);
void expect_nodes(const braid_graph *g, const char *prefix, const char *want);

#endif

// The lines of the program that build: noted by thread (braid_here), remembered by nodes, named by errors.
#ifndef BD_GRAPH_LOCATION_H
#define BD_GRAPH_LOCATION_H

#include "graph/graph.h"

// Gives a new node of a graph that is being built the line that its thread has noted.
void bd_location_remember(braid_op *n);
// Appends "(built at FILE:LINE)" to an error, if this thread has noted a line.
void bd_location_name(braid_status *st);
// Forgets this thread's line: what is built within a run has no line of the program.
void bd_location_forget(void);
// Appends to an error of a run the lines that built the nodes of `g` which it names as {{node NAME}}.
void bd_location_name_nodes(const braid_graph *g, braid_status *st);

#endif

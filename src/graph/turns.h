// Turns of threads at a graph: one builds, and sessions on other threads take new nodes, which they never see
// half made.
//
// A thread has the turn from bd_graph_lock to bd_graph_unlock, any number of times inside each other. When
// it gives the turn up, the nodes that there are by then become visible to sessions, and so does the error
// of the graph. A session that has all visible nodes reads one number and takes no turn.
//
// braid_gradients gives its turn up while a gradient function of the program runs, because that may wait for
// a lock which another builder holds. The graph is half built then: nothing becomes visible, and sessions
// wait with new nodes until the call has the turn back.
#ifndef BD_GRAPH_TURNS_H
#define BD_GRAPH_TURNS_H

#include "graph/graph.h"

// Of a graph that a program has made (braid_graph_new); other graphs are used by one thread, and the
// functions do nothing.
struct bd_graph_turns *bd_graph_turns_new(void);
void bd_graph_turns_free(struct bd_graph_turns *t); // NULL is accepted

// Returns the graph, for BD_GRAPH_TURN. NULL is accepted.
const braid_graph *bd_graph_lock(const braid_graph *g);
void bd_graph_unlock(const braid_graph *g);
// Takes the turn until the end of the block.
#define BD_GRAPH_TURN(g)                                                                                     \
    __attribute__((cleanup(bd_graph_turn_end), unused)) const braid_graph *turn_of_graph = bd_graph_lock(g)
static inline void bd_graph_turn_end(const braid_graph **g)
{
    bd_graph_unlock(*g);
}

// Gives up the turn that this thread has, with the graph half built. Returns what bd_graph_resume needs.
int bd_graph_suspend(const braid_graph *g);
void bd_graph_resume(const braid_graph *g, int depth);
// Takes the turn when the graph is not half built. Not for a thread that has suspended its own turn.
void bd_graph_lock_whole(const braid_graph *g);
// This thread has suspended its turn, at any graph.
bool bd_graph_is_half_built_here(void);

// What sessions may see, on any thread, without a turn: the number of nodes (SIZE_MAX: there are more in a
// graph that is half built), and the code of the graph's error.
size_t bd_graph_visible_nodes(const braid_graph *g);
braid_code bd_graph_visible_error(const braid_graph *g);

// The shape of an output of a node that sessions may see: read by any thread; refined by the builder. A
// reader may get some dimensions from before and some from after.
void bd_node_refine_shape(braid_op *n, int output, const braid_shape *shape);
braid_shape bd_node_read_shape(const braid_op *n, int output);

#endif

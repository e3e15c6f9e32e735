// Which frame each node of a graph runs in: the root, or the body of a loop, between its Enter and Exit
// nodes.
#ifndef BD_GRAPH_FRAMES_H
#define BD_GRAPH_FRAMES_H

#include "graph/graph.h"

typedef struct bd_graph_frame {
    const char *name;            // attr frame_name; "" for the root; of the graph
    int32_t parent;              // -1 for the root
    const braid_op *parent_node; // an Enter of it: runs in the parent; NULL for the root
    int32_t enter_count;
    int32_t parallel_iterations;
} bd_graph_frame;

typedef struct bd_frames {
    bd_graph_frame *items; // 0 is the root
    int count;
    int32_t *of;      // frame that a node runs in, by node id: an Enter in the parent, an Exit in the loop
    int32_t *entered; // by node id: the frame that an Enter leads into; -1 for other nodes
} bd_frames;

// InvalidArgument when edges cross frames otherwise. `out` is to be freed in any case.
braid_code bd_frames_find(const braid_graph *g, const bd_consumers *consumers, bd_frames *out,
                          braid_status *st);
void bd_frames_fini(bd_frames *f);

#endif

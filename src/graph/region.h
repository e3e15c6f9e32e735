// Building within a region, a part of a graph that runs by its own rule: the body of a loop, or a branch of a
// conditional.
//
// While a region is current, new nodes belong to it. Once a node is there, each input from outside is
// captured: into a loop by an Enter that is constant over iterations, into a branch by a Switch, through all
// regions in between; what captures an input is named in the scope of the node's name, as in TensorFlow. A
// node without inputs from the region gets a control input from the region's pivot, so that it runs when the
// region does.
#ifndef BD_GRAPH_REGION_H
#define BD_GRAPH_REGION_H

#include "graph/graph.h"

typedef struct bd_region bd_region;
struct bd_region {
    braid_graph *graph; // not owned
    bd_region *outer;   // not owned; NULL: no region is around it
    bd_imap made;       // ids of nodes whose outputs are within the region -> how they got there (region.c)
    bd_imap brought;    // outputs of outer nodes -> their values within the region
    braid_op *pivot;    // runs when the region does, in a loop once an iteration; NULL: not there yet
    // Of a loop:
    const char *frame; // its name; NULL for a branch
    int parallel_iterations;
    // Of a branch:
    braid_out pred; // outside of it
    int branch;     // 1: runs when `pred` is true
    // Captures `from` in another way: true and *here. NULL: captures by Enter or Switch.
    bool (*bring)(bd_region *r, braid_out from, braid_out *here);
    // Whether a new node has found another place than the region. NULL: none does.
    bool (*moves)(bd_region *r, braid_op *n);
    // Takes a new node, which has its control inputs, in place of the region. NULL: the region does.
    void (*take)(bd_region *r, braid_op *n);
    void *arg;
};

void bd_region_init_loop(bd_region *r, braid_graph *g, bd_region *outer, const char *frame,
                         int parallel_iterations);
void bd_region_init_branch(bd_region *r, braid_graph *g, bd_region *outer, braid_out pred, int branch);
void bd_region_fini(bd_region *r);

// Makes a region current (NULL: none); returns the previous one.
bd_region *bd_region_swap(braid_graph *g, bd_region *r);

// Returns the value of `from` within `r` (NULL: outside of all regions).
braid_out bd_region_bring(bd_region *r, braid_out from);
// What `from` has become within `r`, if it was brought there; makes `here` that.
bool bd_region_knows(const bd_region *r, braid_out from, braid_out *here);
void bd_region_set(bd_region *r, braid_out from, braid_out here);

// The node's outputs are within `r`, NULL is accepted. `stays`: they are the same in every iteration.
void bd_region_add(bd_region *r, const braid_op *n, bool stays);
bool bd_region_has(const bd_region *r, const braid_op *n);

// For the builder: takes a new node in, which has no control inputs yet. Brings its inputs into the region,
// adds those of `controls` that are within, and the pivot where it is needed.
void bd_region_take(bd_region *r, braid_op *n, const bd_op_list *controls);

// Makes nodes of loops, as braid_op_add does, outside of all regions.
braid_out bd_region_enter(bd_region *r, braid_out from, const char *name,
                          bool stays);                                    // `from` is in r->outer
braid_out bd_region_exit(bd_region *r, braid_out from, const char *name); // within r->outer
braid_out bd_region_merge(bd_region *r, braid_out first,
                          const char *name); // its second input is connected later
braid_op *bd_region_switch(bd_region *r, braid_out data, braid_out pred, const char *name);
void bd_region_next(bd_region *r, braid_out merge, braid_out next); // gives a merge its second input

#endif

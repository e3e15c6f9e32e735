// Graphs that programs of TensorFlow 1.3 built, as they were recorded, to compare with what Braid builds.
#ifndef BD_TRAIN_TESTING_RECORDED_H
#define BD_TRAIN_TESTING_RECORDED_H

#include <braid/graph.h>

// Reads a recorded GraphDef up to the node `before` (NULL: all of it), with TensorFlow 1.15's gradients in
// place of those of 1.3 where they lie beside it. Fails the test when there is no file.
braid_graph *recorded_graph(const char *path, const char *before);

// How many differences there are between two nodes, in op, device, inputs and attributes; each is printed.
// Control inputs may come in another order.
int recorded_differences(const braid_op *got, const braid_op *want);

// Fail the test unless every node [from, to) of `want`, but for those whose names begin with `but_for` (NULL:
// none), is in `got` as it is there, and `got` has no node that `want` lacks.
void expect_as_recorded(const braid_graph *got, const braid_graph *want, int from, int to,
                        const char *but_for);

// Fail the test unless these nodes come in the same order in `got`. Within a gradient it may differ: what
// counts there are names and edges.
void expect_recorded_order(const braid_graph *got, const braid_graph *want, int from, int to,
                           const char *but_for);

// The index of the node of that name. Fails the test when there is none.
int recorded_index(const braid_graph *g, const char *name);

#endif

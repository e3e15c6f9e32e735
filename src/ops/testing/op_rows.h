// Records the cases that tests have run of each op, for the test that each op is covered
// (tests/graph/op_coverage_test.c).
//
// Each test program writes a file into the directory that the environment variable BRAID_OP_ROWS names;
// without it no file is written. A line is "Op V ns- e": the result (V: outputs, E: an error, S: inferred
// shapes), then a letter for each input, then one for each output: s scalar, e empty, n another shape, - an
// object without a shape of its own (a handle, a variant).
#ifndef BD_OPS_TESTING_OP_ROWS_H
#define BD_OPS_TESTING_OP_ROWS_H

#include "op/kernel.h"
#include "ops/testing/op_text.h"

// The letters of a run's inputs, which are to be taken before it: kernels may take their inputs over.
typedef struct op_row {
    char inputs[2 * OP_TEXT_MAX + 1];
} op_row;
op_row op_row_of_values(const bd_value *inputs, int count);
op_row op_row_of_texts(const op_text *inputs, int count);

// The row of a node in a session, whose values are not visible: from its inferred input shapes.
op_row op_row_of_node(const braid_op *node);

void op_row_note_outputs(const op_row *row, const char *op, const bd_value *outputs, int count);
void op_row_note_error(const op_row *row, const char *op);
void op_row_note_shapes(const op_row *row, const char *op);

// A session has run `node` and the nodes that it depends on: records outputs for each.
void op_row_note_ran(const braid_op *node);
// A session has failed in a node of the graph: the ones that the message names, and `otherwise` (may be
// NULL).
void op_row_note_failed(const braid_graph *g, const char *message, const char *otherwise);

#endif

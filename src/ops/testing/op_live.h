// Nodes that keep their kernels and resources for a whole test, and executions that may wait: for tests of
// stateful ops.
#ifndef BD_OPS_TESTING_OP_LIVE_H
#define BD_OPS_TESTING_OP_LIVE_H

#include "base/thread.h"
#include "graph/graph.h"
#include "op/kernel.h"
#include "ops/testing/op_rows.h"

// A graph whose nodes are bound when they first run, over one device's resources.
typedef struct op_live {
    braid_graph *graph;
    bd_resources *resources;
    bd_io_pool *io_pool; // of the test; NULL: work that blocks on the disk runs on the thread that starts it
    bd_mutex mu;
    void **states;             // guarded by mu; [nodes]
    const bd_kernel **kernels; // guarded by mu; NULL: not bound yet
    int state_count;
} op_live;

op_live *op_live_new(void);
void op_live_free(op_live *l); // ends the kernels' states, then the resources

// op_live_const makes a Const node of a tensor as op_test.h writes it; in strings `~` is a blank and `^` a
// newline. op_live_placeholder makes a node whose shape and value are unknown before the run.
braid_out op_live_const(op_live *l, const char *text);
braid_out op_live_unknown(op_live *l, const char *text);
// A Placeholder of unknown shape.
braid_out op_live_placeholder(op_live *l, braid_dtype dtype);

// One execution of a node, in a step of its own.
typedef struct op_execution {
    bd_op_ctx ctx; // first member
    bd_step step;
    bd_event ended;
    op_row row; // of its inputs
} op_execution;

// Starts a node whose inputs are made by other nodes of the graph, which run first and must not wait.
// Placeholders among them take the tensors of `feeds` ("int32[] 5; float[2] 1 2") in order. Any thread.
op_execution *op_live_start(op_live *l, braid_op *node, const char *feeds);
bool op_execution_has_ended(op_execution *e);
void op_execution_cancel(op_execution *e);
// Waits for the end; fails the test at a timeout. After it outputs may be read.
void op_execution_wait(op_execution *e);
// Waits, checks the outputs ("float[] 1; int32[] 2") or the error ("Cancelled: words"), and frees the
// execution.
void op_execution_expect(op_execution *e, const char *want);

// Frees an execution that was waited for, whether it succeeded or failed.
void op_execution_free(op_execution *e);

// op_live_start and op_execution_expect.
void op_live_run(op_live *l, braid_op *node, const char *feeds, const char *want);

#endif

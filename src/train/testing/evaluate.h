// Values of a graph, in a session of this process, as doubles.
#ifndef BD_TRAIN_TESTING_EVALUATE_H
#define BD_TRAIN_TESTING_EVALUATE_H

#include <braid/session.h>

// A constant of a number type (float, double, int32, int64 or bool) from doubles.
braid_out evaluate_const(braid_graph *g, braid_dtype dtype, braid_shape shape, const double *values);

// Opens a session and initializes all variables, global and local. Fails the test when the graph has failed.
// `evaluate_close` closes it and frees the graph.
braid_session *evaluate_open(braid_graph *g);
void evaluate_close(braid_session *s, braid_graph *g);

// Runs a node, and fetches a tensor, which is the caller's; fail the test on an error.
void evaluate_run(braid_session *s, braid_op *target);
braid_tensor *evaluate_tensor(braid_session *s, braid_out fetch);

// Runs `fetch` and stores its elements to `values`, `count` of them; fails the test if there are more or
// fewer.
void evaluate(braid_session *s, braid_out fetch, double *values, int64_t count);
// Fails the test unless these are the elements, to within 1e-6.
void expect_evaluates(braid_session *s, braid_out fetch, const double *want, int64_t count);

#endif

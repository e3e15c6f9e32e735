// A small problem to train on, in a session of this process.
#ifndef BD_TRAIN_TESTING_PROBLEM_H
#define BD_TRAIN_TESTING_PROBLEM_H

#include <braid/session.h>
#include <braid/variables.h>

// The loss (w - 3)^2 / 2 + (b - 1)^2 / 2 times `scale`, a placeholder: gradients scale (w - 3) and scale (b -
// 1).
typedef struct problem {
    braid_graph *graph;
    braid_variable w, b; // scalars, from 0.5 and -2
    braid_out scale, loss, step;
} problem;

problem problem_make(void);
// The same with resource variables.
problem problem_make_resource(void);

// Opens a session and gives the variables their first values; `problem_finish` closes it and frees the graph.
braid_session *problem_start(const problem *p);
void problem_finish(braid_session *s, problem *p);

// Feeds `scale` and runs `train`; stores the variables after it.
void problem_step(braid_session *s, const problem *p, braid_op *train, float scale, float *w, float *b);

// The value of a float scalar.
float problem_value(braid_session *s, braid_out x);
int64_t problem_global_step(braid_session *s, const problem *p);

#endif

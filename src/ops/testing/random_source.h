// Random nodes whose kernels stay bound from call to call, as in a session.
#ifndef BD_OPS_TESTING_RANDOM_SOURCE_H
#define BD_OPS_TESTING_RANDOM_SOURCE_H

#include "base/thread_pool.h"
#include "ops/testing/op_test.h"

typedef struct op_random_source {
    braid_graph *graph;
    braid_op *node;
    const bd_kernel *kernel;
    void *state;
    bd_value inputs[5];
    bd_thread_pool *pool;
} op_random_source;

// The results of the calls of an op, one after the other.
typedef struct op_random_case {
    const char *op, *attrs;
    const char *inputs[5];
    int input_count;
    const char *calls[2];
} op_random_case;

// Binds a node of these inputs, written as text. The caller closes it.
void op_random_open(op_random_source *s, const char *op, const char *attrs, const char *inputs[], int count);
// Runs it once more; the caller ends the output.
void op_random_draw(op_random_source *s, braid_tensor *out);
void op_random_close(op_random_source *s);

void op_random_check(const op_random_case *cases, size_t count);

#endif
